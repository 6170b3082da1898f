"""Errors are integrals: they do not depend on where the points lie, and mean what they say for special functions."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iaenet import Discretization, Field, InvalidInputError, relative_l2
from iaenet.metrics import channel_l2, function_l2, relative_max, rmse

MEASURES = [function_l2, channel_l2, relative_max, rmse]


def functions(at):
    """`t = (sin 2 pi x, x)` and `p = t + (x / 10, 0)`."""
    x = at.points[:, :1]
    true = torch.cat([torch.sin(2 * math.pi * x), x], dim=1)
    return Field(at, true + torch.cat([x / 10, 0 * x], dim=1)), Field(at, true)


@pytest.mark.parametrize("kind", ["uniform", "clustered", "random"])
def test_the_points_do_not_matter(kind):
    at = {
        "uniform": Discretization.uniform(2001),
        "clustered": Discretization.tensor_grid(np.linspace(0, 1, 2001) ** 3),
        "random": Discretization.points(np.random.default_rng(0).random((4000, 1))),
    }[kind]
    found, true = functions(at)
    # int x^2 = 1/3, int sin^2 = 1/2
    assert function_l2(found, true).item() == pytest.approx(0.1 * math.sqrt((1 / 3) / (1 / 2 + 1 / 3)), rel=2e-3)
    assert channel_l2(found, true).tolist() == pytest.approx([0.1 * math.sqrt(2 / 3), 0.0], rel=2e-3)
    assert rmse(found, true).tolist() == pytest.approx([0.1 / math.sqrt(3), 0.0], rel=2e-3)
    assert relative_max(found, true).item() == pytest.approx(0.1, rel=2e-3)


def test_rmse_has_the_unit_of_the_channel_and_not_of_the_domain():
    for length in (1.0, 1000.0):
        at = Discretization.uniform(9, bounds=[[0, length]])
        assert rmse(Field(at, torch.full((9, 1), 5.0)), Field(at, torch.full((9, 1), 2.0))).item() == pytest.approx(3)


@pytest.mark.parametrize("measure", MEASURES)
def test_zero_targets_have_absolute_errors(measure):
    at = Discretization.uniform(5)
    zero, two = Field(at, torch.zeros(5, 2)), Field(at, torch.tensor([2.0, 0.0]).expand(5, 2))
    assert measure(zero, zero).abs().max() == 0
    assert measure(two, zero).max().item() == pytest.approx(2)


@given(st.floats(1e-15, 1e15), st.integers(1, 3), st.integers(1, 3))
def test_batches_and_scales(scale, b, c):
    at = Discretization.points(np.random.default_rng(0).random((12, 2)))
    found, true = (torch.randn(b, 12, c, dtype=torch.float64) for _ in range(2))
    for measure in MEASURES:
        together = measure(Field(at, found), Field(at, true))
        for i in range(b):
            assert torch.allclose(together[i], measure(Field(at, found[i]), Field(at, true[i])))
        scaled = measure(Field(at, scale * found), Field(at, scale * true))
        assert torch.allclose(scaled, together * (scale if measure is rmse else 1.0))


def test_same_as_the_loss():
    at = Discretization.uniform((5, 4))
    found, true = (Field(at, torch.randn(3, 20, 2, dtype=torch.float64)) for _ in range(2))
    assert torch.allclose(function_l2(found, true), relative_l2(found, true))


def test_float32_data_are_compared_in_float64():
    at = Discretization.uniform(3)
    true = Field(at, torch.full((3, 1), 1.0))
    found = Field(at, torch.full((3, 1), 1.0 + 2e-12, dtype=torch.float64))
    assert function_l2(found, true).item() == pytest.approx(2e-12, rel=1e-3)


@pytest.mark.parametrize("measure", MEASURES)
def test_different_shapes_are_refused(measure):
    at = Discretization.uniform(3)
    with pytest.raises(InvalidInputError, match=r"\(3, 2\) and target \(3, 1\) differ"):
        measure(Field(at, torch.ones(3, 2)), Field(at, torch.ones(3, 1)))

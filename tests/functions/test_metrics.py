"""Errors are integrals: they do not depend on where the points lie, and mean what they say for special functions."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iaenet import Discretization, Field, InvalidInputError
from iaenet.functions.metrics import channel_l2, relative_l2, relative_max, rmse

MEASURES = [relative_l2, channel_l2, relative_max, rmse]


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
    assert relative_l2(found, true).item() == pytest.approx(0.1 * math.sqrt((1 / 3) / (1 / 2 + 1 / 3)), rel=2e-3)
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


def test_float32_data_are_compared_in_float64():
    at = Discretization.uniform(3)
    true = Field(at, torch.full((3, 1), 1.0))
    found = Field(at, torch.full((3, 1), 1.0 + 2e-12, dtype=torch.float64))
    assert relative_l2(found, true).item() == pytest.approx(2e-12, rel=1e-3)


@pytest.mark.parametrize("measure", MEASURES)
def test_different_shapes_are_refused(measure):
    at = Discretization.uniform(3)
    with pytest.raises(InvalidInputError, match=r"\(3, 2\) and target \(3, 1\) differ"):
        measure(Field(at, torch.ones(3, 2)), Field(at, torch.ones(3, 1)))


def test_does_not_depend_on_the_points():
    def error(where):
        x = where.points
        return relative_l2(Field(where, 1.01 * torch.sin(x) + x**2 / 50), Field(where, torch.sin(x))).item()

    clustered = Discretization.points(torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None] ** 3)
    assert error(clustered) == pytest.approx(error(Discretization.uniform(1001)), rel=1e-5)


def test_one_number_per_function():
    grid = Discretization.uniform(5)
    target = torch.rand(3, 5, 2) + 1
    found = relative_l2(Field(grid, target * torch.tensor([1.0, 1.1, 1.2])[:, None, None]), Field(grid, target))
    torch.testing.assert_close(found, torch.tensor([0.0, 0.1, 0.2]), atol=1e-6, rtol=0)


def test_gradient_is_finite_at_an_exact_prediction():
    grid = Discretization.uniform(5)
    values = torch.ones(5, 1, requires_grad=True)
    relative_l2(Field(grid, values), Field(grid, torch.ones(5, 1))).backward()
    assert torch.isfinite(values.grad).all()


def test_a_zero_target_gives_the_absolute_error():
    grid = Discretization.uniform(5)
    zero = Field(grid, torch.zeros(5, 1))
    assert relative_l2(Field(grid, torch.full((5, 1), 0.5)), zero).item() == pytest.approx(0.5)

"""Integrals over even points of a closed axis, of functions that are not even about its ends."""

import numpy as np
import pytest
import torch

from iaenet import Discretization
from iaenet.domain.basis import Trigonometric
from iaenet.even_rule import closed_rule, is_even
from iaenet.geometry import Geometry

BASIS = Trigonometric(12)


def function(x):
    return torch.exp(x) * torch.sin(5 * x + 1)


def exact(basis=BASIS):
    x = torch.linspace(0, 1, 40_001, dtype=torch.float64)
    weights = torch.full_like(x, 1 / 40_000)
    weights[[0, -1]] /= 2
    return (basis.functions(x, False) * weights[:, None]).T @ function(x)


def miss(found):
    return float((found - exact()).norm() / exact().norm())


@pytest.mark.parametrize("s", [17, 33, 65, 129])
def test_it_is_far_closer_than_the_trapezoidal_rule(s):
    grid = Discretization.uniform(s)
    x = grid.points[:, 0]
    plain = (BASIS.functions(x, False) * grid.weights[:, None]).T @ function(x)
    found = Geometry.of(grid, torch.float64).analyse(BASIS, function(x)[None, :, None])[0, :, 0]
    assert miss(found) < miss(plain) / 50
    assert miss(found) < 1e-3 * (17 / s) ** 3


@pytest.mark.parametrize("s", [32, 64, 256])
def test_points_may_begin_or_end_a_step_inside(s):
    inside = {"end": np.arange(s) / s, "start": np.arange(1, s + 1) / s, "both": (np.arange(s) + 0.5) / s}
    for axis in inside.values():
        grid = Discretization.tensor_grid(axis, bounds=[(0.0, 1.0)])
        x = grid.points[:, 0]
        assert is_even(x, grid.weights)
        assert miss(closed_rule(x, lambda y: BASIS.functions(y, False)) @ function(x)) < 1e-3 * (32 / s) ** 2


def test_noise_is_not_amplified():
    for s in (19, 31, 91, 400):
        x = torch.linspace(0, 1, s, dtype=torch.float64)
        rule = closed_rule(x, lambda y: Trigonometric(16).functions(y, False))
        assert torch.linalg.matrix_norm(rule * np.sqrt(s - 1), 2) < 1.2


def test_other_points_and_weights_of_ones_own_are_left_alone():
    x = torch.linspace(0, 1, 20, dtype=torch.float64)
    weights = Discretization.uniform(20).weights
    assert is_even(x, weights)
    assert not is_even(x, torch.full_like(x, 0.05))
    assert not is_even(x**1.1, weights)
    assert not is_even(x / 2, weights)
    assert not is_even(x[:3], weights[:3])


@pytest.mark.parametrize(("shape", "most"), [((20,), 7), ((20, 15), 70), ((9, 600), 1200)])
def test_pieces_of_a_grid_add_up(shape, most):
    geometry = Geometry.of(Discretization.uniform(shape), torch.float64)
    values = torch.randn(2, geometry.n, 3, dtype=torch.float64)
    basis = Trigonometric(3)
    parts = [piece.analyse(basis, values[:, places]) for places, piece in geometry.chunks(most)]
    assert len(parts) > 2
    torch.testing.assert_close(sum(parts), geometry.analyse(basis, values))
    weights = [piece.sites(1).weights for _, piece in geometry.chunks(most)]
    torch.testing.assert_close(torch.cat(weights), geometry.sites(1).weights)
    assert float(torch.cat(weights).sum()) == pytest.approx(1)

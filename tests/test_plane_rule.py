"""Integrals over points scattered in a square."""

import numpy as np
import pytest
import torch

from iaenet import Discretization
from iaenet.domain.basis import Trigonometric
from iaenet.geometry import Geometry
from iaenet.plane_rule import NEIGHBOURS, ScatteredTaps


def ones(y, _axis):
    return torch.ones_like(y)[:, None]


def wave(points, periodic):
    x, y = points.T
    if periodic:
        return torch.cos(2 * torch.pi * (2 * x + 0.1)) * torch.cos(4 * torch.pi * y) + torch.sin(2 * torch.pi * y)
    return torch.cos(3 * torch.pi * x) * torch.cos(2 * torch.pi * y) + x**2


def coefficients(at, periodic):
    geometry = Geometry.of(at, torch.float64)
    return geometry.analyse(Trigonometric(8), wave(at.points, periodic)[None, :, None]).flatten()


@pytest.mark.parametrize("periodic", [True, False])
def test_coefficients_of_random_points_are_those_of_a_grid(periodic):
    """Weighted sums would be wrong by 80 % and 25 % (periodic), 36 % and 5 % (closed)."""
    truth = coefficients(Discretization.uniform((200, 200), periodic=periodic), periodic)
    rng = np.random.default_rng(0)
    for n, bound in ((300, 0.06), (1000, 0.006)):
        found = coefficients(Discretization.points(rng.random((n, 2)), periodic=periodic), periodic)
        assert (found - truth).norm() < bound * truth.norm()


def test_the_order_is_two_or_better():
    truth = coefficients(Discretization.uniform((200, 200), periodic=True), True)
    errors = []
    for n in (500, 8000):
        rng = np.random.default_rng(1)
        draws = [Discretization.points(rng.random((n, 2)), periodic=True) for _ in range(2)]
        errors.append(np.mean([float((coefficients(at, True) - truth).norm()) for at in draws]))
    assert errors[0] / errors[1] > 16  # points are four times closer


def test_it_is_closer_than_weighted_sums():
    at = Discretization.points(np.random.default_rng(2).random((400, 2)))
    plain = Geometry.of(at, torch.float64)
    plain.__dict__["_is_uneven"] = False
    truth = coefficients(Discretization.uniform((200, 200)), False)
    sums = plain.analyse(Trigonometric(8), wave(at.points, False)[None, :, None]).flatten()
    assert 10 * (coefficients(at, False) - truth).norm() < (sums - truth).norm()


def test_own_weights_are_kept():
    rng = np.random.default_rng(3)
    own = rng.random(100)
    points = rng.random((100, 2))
    for at in (
        Discretization.points(points, weights=own / own.sum()),
        Discretization.points(points, rule="monte-carlo"),
    ):
        assert not Geometry.of(at, torch.float64)._is_uneven


def test_a_grid_in_any_order_is_no_scattered_set():
    grid = Discretization.uniform((12, 10)).points[torch.randperm(120)]
    assert not Geometry.of(Discretization.points(grid), torch.float64)._is_uneven


def test_few_points_are_summed():
    rng = np.random.default_rng(4)
    few, enough = (Discretization.points(rng.random((n, 2))) for n in (NEIGHBOURS - 1, NEIGHBOURS))
    assert not Geometry.of(few, torch.float64)._is_uneven
    assert Geometry.of(enough, torch.float64)._is_uneven


@pytest.mark.parametrize("kind", ["tracks", "diagonal", "pairs"])
def test_points_on_lines_and_points_that_nearly_coincide(kind):
    """Constants stay exact, and no weight runs away."""
    rng = np.random.default_rng(5)
    t = np.linspace(0, 1, 40)
    nodes = {
        "tracks": np.stack([rng.random(60), np.repeat([0.2, 0.5, 0.8], 20)], axis=1),
        "diagonal": np.stack([t, t], axis=1),
        "pairs": np.concatenate([base := rng.random((150, 2)), base + 1e-9]),
    }[kind]
    rule = ScatteredTaps(nodes, (False, False)).rule(ones)[:, 0]
    assert abs(rule.sum() - 1) < 1e-8
    assert rule.abs().sum() < 4


def on_grid(taps, values):
    return np.concatenate([piece.T @ values for piece in taps.pieces])


@pytest.mark.parametrize(("region", "most"), [("square", 1.3), ("disc", 3.0), ("corner", 6.0)])
def test_noise_is_not_amplified_and_nothing_runs_away_outside(region, most):
    """The corner is a tenth of the square, and continued over all of it."""
    rng = np.random.default_rng(6)
    points = rng.random((3000, 2))
    inside = {
        "square": points[:300],
        "disc": points[((points - 0.5) ** 2).sum(axis=1) < 0.2][:300],
        "corner": points[(points < 0.3).all(axis=1)],
    }[region]
    taps = ScatteredTaps(inside, (False, False))
    smooth = on_grid(taps, np.cos(4 * inside[:, 0]) * np.sin(5 * inside[:, 1] + 1))
    assert np.abs(smooth).max() < 1.2
    noise = on_grid(taps, rng.standard_normal(len(inside)))
    assert np.sqrt(np.mean(noise**2)) < most

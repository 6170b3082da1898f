"""Interpolation: exact where it must be, and of the order that it claims."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iaenet import Discretization, Field, InvalidInputError, interpolate
from iaenet.functions.between import KEPT
from iaenet.functions.interpolate import taps
from tests.smooth import mismatch, smooth


def rate(sizes, errors):
    return -np.polyfit(np.log(sizes), np.log(errors), 1)[0]


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("d", [1, 2])
def test_uniform_grids_are_fourth_order(d, periodic):
    goal = Discretization.points(np.random.default_rng(0).random((300, d)), periodic=periodic)
    sizes = np.array([32, 64, 128, 256])
    errors = []
    for s in sizes:
        grid = Discretization.uniform((s,) * d, periodic=periodic)
        found = interpolate(smooth(grid, torch.float64), goal)
        errors.append(mismatch(found.values, smooth(goal, torch.float64).values))
    assert rate(sizes, errors) >= 3.7


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("d", [1, 2])
def test_scattered_points_are_second_order(d, periodic):
    rng = np.random.default_rng(1)
    goal = Discretization.points(0.1 + 0.8 * rng.random((300, d)), periodic=periodic)
    sizes = np.array([250, 1000, 4000, 16000])
    errors = []
    for n in sizes:
        source = Discretization.points(rng.random((n, d)), periodic=periodic, rule="monte-carlo")
        found = interpolate(smooth(source, torch.float64), goal)
        errors.append(mismatch(found.values, smooth(goal, torch.float64).values))
    assert rate(sizes, errors) * d >= (1.9 if d == 1 else 1.6)


@pytest.mark.parametrize("periodic", [True, False])
def test_parabolas_are_exact_on_any_points_of_a_line(periodic):
    x = np.cumsum(np.random.default_rng(3).uniform(1, 4, 20)) / 80  # neighbouring gaps differ by less than 4 times
    source = Discretization.points(x[:, None], periodic=periodic)
    inner = Discretization.points(np.linspace(x[1], x[-2], 50)[:, None], periodic=periodic)
    found = interpolate(Field(source, 3 * source.points**2 - source.points), inner)
    torch.testing.assert_close(found.values, 3 * inner.points**2 - inner.points)


@given(st.integers(0, 1000))
def test_noise_over_tiny_gaps_is_not_blown_up(seed):
    rng = np.random.default_rng(seed)
    source = Discretization.points(np.concatenate([rng.random(20), rng.random(1) + np.array([0, 1e-9])])[:, None] % 1)
    noise = Field(source, torch.tensor(rng.choice([-1.0, 1.0], (22, 1))))
    assert interpolate(noise, Discretization.uniform(500)).values.abs().max() < 4


def test_periodic_points_are_interpolated_across_the_seam():
    rng = np.random.default_rng(2)
    source = Discretization.points(rng.random((4000, 2)), periodic=True, rule="monte-carlo")
    seam = Discretization.points(np.array([[0.0, 0.3], [0.999, 0.001], [0.5, 1.0]]), periodic=True)
    found = interpolate(smooth(source, torch.float64), seam)
    assert mismatch(found.values, smooth(seam, torch.float64).values) < 0.05


@given(st.integers(2, 30), st.integers(1, 2), st.booleans())
def test_points_in_common_keep_their_values(n, d, periodic):
    rng = np.random.default_rng(n)
    source = Discretization.points(rng.random((n, d)), periodic=periodic)
    field = Field(source, torch.tensor(rng.standard_normal((3, n, 2))))
    goal = Discretization.points(source.points[: n // 2 + 1], periodic=periodic)
    torch.testing.assert_close(interpolate(field, goal).values, field.values[:, : n // 2 + 1])


def test_outside_the_hull_the_nearest_point_counts():
    source = Discretization.points([[0.4, 0.4], [0.6, 0.4], [0.5, 0.6]])
    found = interpolate(
        Field(source, torch.tensor([[1.0], [2.0], [3.0]])), Discretization.points([[0.0, 0.0], [1.0, 1.0]])
    )
    assert found.values.flatten().tolist() == [1.0, 3.0]


def test_points_on_a_line_in_the_plane():
    source = Discretization.points([[0.2, 0.5], [0.8, 0.5]])
    found = interpolate(Field(source, torch.tensor([[1.0], [2.0]])), Discretization.points([[0.3, 0.9], [0.9, 0.1]]))
    assert found.values.flatten().tolist() == [1.0, 2.0]


def test_gradients_flow_through():
    coarse, fine = Discretization.uniform((5, 4)), Discretization.uniform((7, 9))
    values = torch.randn(2, 20, 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: interpolate(Field(coarse, v), fine).values, (values,))


def test_what_is_remembered_is_bounded_and_right():
    """Taps are kept with the points that come and go, or with the source on its way to many grids."""
    source = smooth(Discretization.uniform(50), torch.float64)
    grids = [Discretization.uniform(n) for n in range(3, 3 + KEPT + 20)]
    once = [interpolate(source, at).values for at in grids]
    assert len(source.discretization.cache) <= KEPT
    assert all(torch.equal(interpolate(source, at).values, found) for at, found in zip(grids, once, strict=True))
    index, _ = taps(source.discretization, grids[-1])
    assert taps(source.discretization, grids[-1])[0] is index
    before = len(source.discretization.cache)
    interpolate(source, Discretization.points([[0.1], [0.5]]))
    assert len(source.discretization.cache) == before


def test_dimensions_must_agree():
    with pytest.raises(InvalidInputError, match="from 1-D to 2-D"):
        interpolate(Field(Discretization.uniform(4), torch.ones(4, 1)), Discretization.uniform((4, 4)))

"""Cells of the points of a grid that come as scattered points: few of them, rounded, or with both ends of an axis."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from iaenet import Discretization


def nearest_shares(points, periodic, m=120):
    """Part of the unit square that is nearest to each point, by counting; points that are as near share it."""
    at = (np.arange(m) + 0.37) / m
    places = np.stack(np.meshgrid(at, at, indexing="ij"), axis=-1).reshape(-1, 1, 2)
    away = np.abs(places - points)
    away = np.where(periodic, np.minimum(away, np.abs(1 - away)), away)
    distance = np.linalg.norm(away, axis=-1)
    near = distance < distance.min(axis=1, keepdims=True) + 1e-7
    return (near / near.sum(axis=1, keepdims=True)).mean(axis=0)


@pytest.mark.parametrize("periodic", [(True, False), (False, True), (True, True)])
@given(
    shape=st.tuples(st.integers(2, 5), st.integers(2, 5)),
    chosen=st.lists(st.integers(0, 24), min_size=1, max_size=7),
    low=st.integers(-9, 9),
    side=st.integers(1, 19),
)
@settings(max_examples=60, deadline=None)
def test_few_points_of_a_grid_have_the_cells_that_are_nearest_to_them(periodic, shape, chosen, low, side):
    axes = [np.arange(s) / (s - 1) for s in shape]
    unit = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    unit = unit[[i % len(unit) for i in chosen]]
    box = np.array([[low, low + side], [low, low + side]]) / 10
    at = box[:, 0] + unit * (box[:, 1] - box[:, 0])
    made = Discretization.points(at, bounds=box, periodic=periodic, domain="box")
    found = made.weights.numpy() / (side / 10) ** 2
    np.testing.assert_allclose(found, nearest_shares(unit, periodic), atol=0.02)


def shares_of(axis, wraps):
    """Lengths of the cells of an axis of [0, 1]; both ends of a periodic one share theirs."""
    place, index, counts = np.unique(axis % 1 if wraps else axis, return_inverse=True, return_counts=True)
    beyond = [place[-1] - 1, place[0] + 1] if wraps else [-place[0], 2 - place[-1]]
    sides = np.diff(np.concatenate([beyond[:1], place, beyond[1:]])) / 2
    return ((sides[1:] + sides[:-1]) / counts)[index]


AXES = {
    "ends": lambda s: np.arange(s) / (s - 1),
    "centres": lambda s: (np.arange(s) + 0.5) / s,
    "first end": lambda s: np.arange(s) / s,
}


@pytest.mark.parametrize("domain", ["auto", "box"])
@pytest.mark.parametrize("kinds", [*itertools.product(AXES, repeat=2), ("ends", "first end", "centres"), ("ends",) * 3])
@given(noise=st.integers(-14, -7), seed=st.integers(0, 1000), flags=st.tuples(*[st.booleans()] * 3))
@settings(max_examples=12, deadline=None)
def test_noise_far_below_the_spacing_changes_no_cell(kinds, domain, noise, seed, flags):
    flags = flags[: len(kinds)]
    sizes = (7, 6) if len(kinds) == 2 else (5, 4, 3)
    axes = [AXES[kind](s) for kind, s in zip(kinds, sizes, strict=True)]
    exact = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    wanted = np.ones(())
    for axis, wraps in zip(axes, flags, strict=True):
        wanted = np.multiply.outer(wanted, shares_of(axis, wraps))
    moved = np.random.default_rng(seed).choice([-1, 0, 1], exact.shape) * 10.0**noise
    made = Discretization.points(np.clip(exact + moved, 0, 1), periodic=flags, domain=domain)
    # Points that nearly coincide divide their cell as they happen to lie: it is their sum that is known.
    _, place = np.unique(np.where(flags, exact % 1, exact).round(6), axis=0, return_inverse=True)
    off = np.bincount(place.ravel(), made.weights.numpy() - wanted.ravel())
    assert np.abs(off).sum() < 1e-4
    assert (made.weights > 0).all()


@pytest.mark.parametrize(
    ("shape", "periodic"),
    [((6, 1), (False, True)), ((1, 6), (True, True)), ((40, 1), (False, True)), ((4, 1, 5), (False, True, False))],
)
def test_one_place_of_a_periodic_axis_leaves_the_cells_of_the_others(shape, periodic):
    grid = Discretization.uniform(shape, periodic=periodic)
    made = Discretization.points(grid.points, periodic=periodic, domain="box")
    torch.testing.assert_close(made.weights, grid.weights, atol=0, rtol=1e-9)

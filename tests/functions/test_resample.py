"""The same function on other points: some of its own, with weights by the same rule, and others of the domain."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iaenet import Discretization, Field, InvalidInputError
from iaenet.functions.resample import (
    common_points,
    half,
    permuted,
    random_points,
    random_subset,
    refined,
    restrict,
    subset,
    uniform_grid,
)
from tests.smooth import smooth


def chance(seed=0):
    return torch.Generator().manual_seed(seed)


def scattered(n, d, seed=0, **options):
    return Discretization.points(np.random.default_rng(seed).random((n, d)), **options)


TRIANGLE = Discretization.mesh(
    np.array([[0, 0], [1, 0], [0, 1], [0.5, 0], [0.5, 0.5], [0, 0.5]]), [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]
)


# ------------------------------------------------------------------ some of the points


@pytest.mark.parametrize(
    "source",
    [
        Discretization.uniform(12),
        Discretization.uniform(12, periodic=True),
        Discretization.uniform((4, 5), bounds=[(0, 2), (1, 4)]),
        Discretization.uniform((2, 3, 2, 2)),
        scattered(30, 1),
        scattered(30, 2),
        scattered(30, 2, rule="monte-carlo"),
        scattered(30, 5, rule="monte-carlo"),
        Discretization.points(np.random.default_rng(1).random((30, 1)), weights=np.linspace(0.01, 0.02, 30)),
        Discretization.points(np.random.default_rng(1).random((30, 5)), weights=np.linspace(0.01, 0.02, 30)),
        TRIANGLE,
    ],
    ids=str,
)
def test_a_subset_keeps_the_size_of_the_domain(source):
    indices = torch.tensor([0, 2, 3, 5])
    some = subset(source, indices)
    assert torch.equal(some.points, source.points[indices])
    assert some.measure == pytest.approx(source.measure)
    assert (some.weights >= 0).all()
    assert (some.bounds.tolist(), some.periodic) == (source.bounds.tolist(), source.periodic)


def test_weights_follow_the_rule_of_the_whole():
    equal = subset(scattered(40, 2, rule="monte-carlo"), torch.arange(10))
    assert torch.allclose(equal.weights, torch.full((10,), 0.1, dtype=torch.float64))
    periodic = subset(Discretization.uniform(8, periodic=True), torch.tensor([0, 1, 4]))  # equal weights, but a grid
    assert periodic.weights.tolist() == pytest.approx([0.3125, 0.25, 0.4375])
    left = torch.tensor([0, 1, 2, 4])  # of the triangle: a point on an edge leaves its weight to the ends of it
    x, y = subset(TRIANGLE, left).integrate(TRIANGLE.points[left]).tolist()
    assert [x, y] == pytest.approx(TRIANGLE.integrate(TRIANGLE.points).tolist())  # exact for what is linear


@given(st.integers(2, 40), st.integers(1, 2))
def test_random_subsets_are_points_of_the_same_function(n, d):
    fine = smooth(Discretization.uniform((40, 2)[:d]), torch.float64)
    (picked,) = random_subset([fine], n, chance(n))
    assert picked.discretization.n == n
    torch.testing.assert_close(picked.values, smooth(picked.discretization, torch.float64).values)
    assert picked.discretization.measure == pytest.approx(1)
    (again,) = random_subset([fine], n, chance(n))
    assert again.discretization.key == picked.discretization.key
    if d == 1:
        assert picked.discretization.points[[0, -1], 0].tolist() == [0.0, 1.0]


def test_a_subset_of_more_points_than_there_are_is_refused():
    points = Field(Discretization.points([[0.1], [0.5], [0.7]]), torch.ones(3, 1))
    with pytest.raises(InvalidInputError, match="has 2 to 3, not 4"):
        random_subset([points], 4, chance())


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_halves_keep_values_volume_and_domain(d, periodic):
    for at in (Discretization.uniform((6, 5, 4)[:d], periodic=periodic), scattered(41, d, periodic=periodic)):
        kept, coarse = half(at)
        assert len(kept) < at.n
        assert torch.equal(at.points[kept], coarse.points)
        assert coarse.measure == pytest.approx(at.measure)
        assert (coarse.axes is None) == (at.axes is None)
        field = Field(at, torch.rand(3, at.n, 2))
        assert torch.equal(restrict(field, kept, coarse).values, field.values[:, kept])
    _, even = half(Discretization.uniform((8,) * d, periodic=True))
    assert even.key == Discretization.uniform((4,) * d, periodic=True).key


def test_halves_follow_the_seed_and_there_may_be_none():
    at = scattered(20, 2)
    assert torch.equal(half(at, 1)[0], half(at, 1)[0])
    assert not torch.equal(half(at, 1)[0], half(at, 2)[0])
    assert half(Discretization.uniform((2, 2))) is None
    assert half(Discretization.points([[0.5]])) is None


@given(st.integers(1, 30), st.integers(0, 5))
def test_permuted_points_are_the_same_points(n, seed):
    at = scattered(n, 2, seed, rule="monte-carlo")
    order = torch.randperm(n, generator=chance(seed))
    field = permuted(Field(at, at.points), order)
    assert torch.equal(field.values, field.discretization.points)
    assert torch.equal(field.discretization.weights, at.weights[order])


# ------------------------------------------------------------------ other points


@pytest.mark.parametrize(("periodic", "low"), [(True, 0.0), (True, 0.013), (False, 0.0)])
def test_finer_grids_contain_the_coarser(periodic, low):
    axis = low + np.arange(8) / 8
    at = Discretization.tensor_grid(axis if periodic else np.linspace(0, 1, 9) ** 2, periodic=periodic)
    finer = refined(at, 3)
    here, _ = common_points(at, finer)
    assert len(here) == at.n
    assert finer.n == (24 if periodic else 25)
    assert finer.measure == pytest.approx(1)


def test_other_points_lie_in_the_same_domain():
    source = scattered(9, 2, bounds=[(-1, 3), (0, 1)], periodic=(True, False))
    for made in (uniform_grid(source, 6), uniform_grid(source, (6, 4)), random_points(source, 200, chance())):
        assert (made.bounds.tolist(), made.periodic) == (source.bounds.tolist(), source.periodic)
    assert uniform_grid(source, (6, 4)).shape == (6, 4)
    x = random_points(source, 200, chance()).points
    assert (x.amin(0) - source.bounds[:, 0]).abs().max() < 0.2
    assert (x.amax(0) - source.bounds[:, 1]).abs().max() < 0.2

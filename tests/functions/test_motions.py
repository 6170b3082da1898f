"""Motions of a box: an image is the function on the moved points, and what was known of it is moved, too."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, IAENet, InvalidInputError
from iaenet.data.problems.bodies import Bodies
from iaenet.functions.geometry import distance_at, on_nodes, own_distance
from iaenet.functions.latent_grid import LatentGrid
from iaenet.functions.motions import Motion, mirrors_and_swaps
from iaenet.functions.normalizer import Normalizer


def scattered(dim, periodic=False, n=300, seed=0, bounds=None):
    x = torch.rand(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    if bounds is not None:
        low, high = torch.tensor(bounds, dtype=torch.float64).unbind(1)
        x = low + (high - low) * x
    return Discretization.points(x, periodic=periodic, bounds=bounds, rule="monte-carlo")


def holed():
    """A triangulated square around a hole that is not in its middle."""
    x = torch.rand(500, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return Discretization.points(x[(x - torch.tensor([0.4, 0.55])).norm(dim=1) > 0.2])


def without_memory(field):
    """The same function on the same points, of which nothing is known yet."""
    where = field.discretization
    new = Discretization(where.points, where.weights, where.bounds, where.periodic, rule=where.rule, cells=where.cells)
    return Field(new, field.values)


def wavy(where):
    low, high = where.bounds.unbind(1)
    x = (where.points - low) / (high - low)
    angle = 2 * torch.pi * x
    return Field(where, (angle.sin() * torch.arange(1, where.dim + 1) + (angle + 1).cos()).sum(1, keepdim=True))


CASES = [(dim, periodic, motion) for dim in (1, 2, 3) for periodic in (False, True)
         for motion in mirrors_and_swaps(Discretization.uniform((4,) * dim))]  # fmt: skip


@pytest.mark.parametrize(("dim", "periodic", "motion"), CASES)
def test_the_projection_of_an_image_is_the_image_of_the_projection(dim, periodic, motion):
    field = wavy(scattered(dim, periodic))
    grid = LatentGrid([6] * dim, (periodic,) * dim)
    moved = motion.of_field(field)
    assert not torch.equal(moved.discretization.points, field.discretization.points)
    assert torch.allclose(grid.encoded(moved), grid.encoded(without_memory(moved)), atol=1e-9)


@pytest.mark.parametrize(("dim", "periodic", "motion"), CASES)
def test_a_function_keeps_its_values_on_grids_and_on_points(dim, periodic, motion):
    """On a uniform grid values change places; the same nodes as points keep theirs and move."""
    grid = Discretization.uniform((4, 5, 6)[:dim] if max(motion.order) == 0 else (5,) * dim, periodic)
    if not motion.keeps(grid):
        grid = Discretization.uniform((5,) * dim, periodic)
    field = wavy(grid)
    points = Field(Discretization.points(grid.points, periodic=periodic, rule="monte-carlo"), field.values)
    onto, to = motion.of_field(field), motion.of_field(points)
    assert onto.discretization is grid
    gap = (to.discretization.points[:, None] - grid.points).abs()
    gap = torch.minimum(gap, 1 - gap) if periodic else gap
    nearest = gap.amax(-1).min(dim=1)
    assert float(nearest.values.max()) < 1e-12
    assert torch.equal(onto.values[nearest.indices], to.values)


def test_the_box_need_not_be_the_unit_box():
    box = [[-1.0, 3.0], [5.0, 6.0]]
    where = scattered(2, bounds=box)
    moved = Motion.mirror(0, 2).of_discretization(where)
    assert torch.allclose(moved.points[:, 0], 2.0 - where.points[:, 0])
    assert torch.equal(moved.points[:, 1], where.points[:, 1])
    assert [one.order for one in mirrors_and_swaps(where)] == [(0, 1), (0, 1)]  # no exchange of unlike axes


def test_a_mirror_image_of_a_mirror_image_is_the_function():
    field = wavy(scattered(2))
    twice = Motion.mirror(1, 2).of_field(Motion.mirror(1, 2).of_field(field))
    assert torch.allclose(twice.discretization.points, field.discretization.points, atol=1e-15)


@pytest.mark.parametrize("what", ["measure", "distance"])
def test_the_domain_of_an_image_is_the_image_of_the_domain(what):
    where = holed()
    grid = LatentGrid([12, 12], (False, False))
    moved = Motion((1, 0), (True, False)).of_discretization(where)
    alone = without_memory(Field(moved, torch.ones(moved.n, 1))).discretization
    assert torch.allclose(on_nodes(grid, what, moved), on_nodes(grid, what, alone), atol=1e-9)
    assert torch.allclose(own_distance(moved), own_distance(alone), atol=1e-9)


@pytest.mark.parametrize("motion", [Motion.mirror(0, 3), Motion.swap(1, 2, 3), Motion((1, 2, 0), (False, True, True))])
def test_the_inside_of_a_surface_stays_inside(motion):
    surface = Bodies().record(np.random.default_rng(0), [162])[0][162].input_at
    moved = motion.of_discretization(surface)
    middle = torch.full((1, 3), 0.5, dtype=torch.float64)
    assert float(distance_at(moved, middle)) == pytest.approx(float(distance_at(surface, middle)), rel=1e-6)
    assert float(distance_at(moved, middle)) > 0
    assert torch.equal(own_distance(moved), torch.zeros(surface.n, 1, dtype=torch.float64))
    assert float(distance_at(moved, (moved.points + 1) / 2).abs().max()) < 1e-9


def test_a_network_sees_an_image_as_any_function():
    where = holed()
    field = Field(where, where.points.float())
    options = {"head": 8, "geometry": ["measure", "distance"], "grid": 10, "width": 8, "blocks": 1}
    model = IAENet(2, 1, dim=2, **options)
    moved = Normalizer([0.2, 0.1], [2.0, 3.0]).apply(Motion.mirror(0, 2).of_field(field))
    assert moved.moved_from is not None
    found, again = (model(one).values for one in (moved, without_memory(moved)))
    assert torch.allclose(found, again, atol=1e-5 * float(again.detach().abs().max()))


def test_a_tensor_grid_that_is_not_mapped_onto_itself_is_refused():
    grid = Discretization.tensor_grid([0.0, 0.1, 1.0])
    assert not Motion.mirror(0, 1).keeps(grid)
    with pytest.raises(InvalidInputError, match="not moved onto itself"):
        Motion.mirror(0, 1).of_discretization(grid)

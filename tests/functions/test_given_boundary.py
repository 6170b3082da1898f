"""Boundaries that users give: in any order and orientation, pieces within pieces, bodies in a box."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, InvalidInputError, with_boundary
from iaenet.data.problems.bodies import icosphere
from iaenet.functions.geometry import SCALE, distance_at, enclosing

RNG = np.random.default_rng(0)


def circle(radius, n=80, centre=(0.5, 0.5)):
    angle = 2 * np.pi * np.arange(n) / n
    points = np.array(centre) + radius * np.stack([np.cos(angle), np.sin(angle)], 1)
    return points, np.stack([np.arange(n), np.roll(np.arange(n), -1)], 1)


def shuffled(facets):
    """In another order, half of them turned round."""
    facets = RNG.permutation(facets)
    turned = RNG.random(len(facets)) < 0.5
    facets[turned] = facets[turned][:, [1, 0, *range(2, facets.shape[1])]]
    return facets


def both(*pieces):
    starts = np.cumsum([0, *(len(points) for points, _ in pieces)])
    index = [facets + start for (_, facets), start in zip(pieces, starts, strict=False)]
    return np.concatenate([points for points, _ in pieces]), np.concatenate(index)


def test_a_body_in_a_box_and_a_domain_in_a_curve():
    x = torch.rand(3000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    r = (x - 0.5).norm(dim=1)
    points, segments = circle(0.3)
    around = with_boundary(Discretization.points(x[r > 0.3]), points, shuffled(segments))
    inside = with_boundary(Discretization.points(x[r < 0.3]), points, shuffled(segments))
    hole = 80 / 2 * 0.3**2 * np.sin(2 * np.pi / 80)
    assert inside.measure == pytest.approx(hole, rel=1e-6)
    assert around.measure == pytest.approx(1 - hole, rel=1e-6)
    where = torch.tensor([[0.5, 0.5], [0.5, 0.9], [0.5, 0.99]], dtype=torch.float64)
    assert distance_at(inside, where)[:, 0].numpy() / SCALE == pytest.approx([0.3, -0.1, -0.19], abs=1e-3)
    assert distance_at(around, where)[:, 0].numpy() / SCALE == pytest.approx([-0.3, 0.1, 0.01], abs=1e-3)
    assert enclosing(around) is not None


def test_pieces_within_pieces_bound_the_domain_by_turns():
    x = torch.rand(2000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    r = (x - 0.5).norm(dim=1)
    ring = Discretization.points(x[(r > 0.1) & (r < 0.4)])
    points, segments = both(circle(0.4), circle(0.1))
    made = with_boundary(ring, points, shuffled(segments))
    wanted = np.pi * (0.4**2 - 0.1**2)
    assert made.measure == pytest.approx(wanted, rel=5e-3)
    where = torch.tensor([[0.5, 0.5], [0.5, 0.75], [0.05, 0.05]], dtype=torch.float64)
    assert np.sign(distance_at(made, where)[:, 0].numpy()).tolist() == [-1, 1, -1]


def test_triangles_around_a_ball_with_corners_that_are_repeated():
    """As STL files have them: each triangle with three corners of its own."""
    sphere, cells = icosphere(162)
    points = 0.5 * sphere[shuffled(cells)].reshape(-1, 3)
    facets = np.arange(len(points)).reshape(-1, 3)
    box = [[-1, 1]] * 3
    x = RNG.uniform(-1, 1, (200, 3))
    x = x[np.linalg.norm(x, axis=1) > 0.5]
    volume = 8 - np.pi / 6
    made = with_boundary(Discretization.points(x, np.full(len(x), volume / len(x)), bounds=box), points, facets)
    assert len(made.boundary[0]) == 162 + 8
    found = distance_at(made, torch.from_numpy((x + 1) / 2))[:, 0].numpy() / SCALE
    wanted = np.minimum(np.linalg.norm(x, axis=1) - 0.5, 1 - np.abs(x).max(axis=1)) / 2
    assert np.abs(found - wanted).max() < 0.02


def test_periodic_axes_continue_the_boundary():
    x = torch.rand(1000, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    far = ((x[:, 0] - 0.05 + 0.5) % 1 - 0.5) ** 2 + (x[:, 1] - 0.5) ** 2 > 0.04
    points, segments = circle(0.2, centre=(0.05, 0.5))
    made = with_boundary(Discretization.points(x[far], periodic=(True, False)), points, segments)
    where = torch.tensor([[0.95, 0.5], [0.75, 0.5], [0.5, 0.5], [0.5, 0.98]], dtype=torch.float64)
    found = distance_at(made, where)[:, 0].numpy() / SCALE
    assert found == pytest.approx([-0.1, 0.1, 0.25, 0.02], abs=1e-3)


def test_grids_meshes_and_given_weights_keep_theirs():
    points, segments = circle(0.2)
    grid = Discretization.uniform((9, 9))
    made = with_boundary(grid, points, segments)
    assert made.axes is not None
    assert torch.equal(made.weights, grid.weights)
    assert made.key != grid.key


@pytest.mark.parametrize(
    ("points", "facets", "text"),
    [
        ([[0.1, 0.2, 0.3]], [[0, 0]], "lies in 3-D"),
        ([[0.1, 0.2], [0.3, 0.4]], [[0, 2]], "must name points 0 to 1"),
        ([[0.1, 0.2], [0.1, 0.2]], [[0, 1]], "no facet with a size"),
        ([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]], "consists of segments"),
    ],
)
def test_what_is_no_boundary_is_refused(points, facets, text):
    with pytest.raises(InvalidInputError, match=text):
        with_boundary(Discretization.uniform((4, 4)), points, facets)

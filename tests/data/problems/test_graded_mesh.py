import numpy as np
import pytest

from iaenet.data.problems.airfoil import BOX as AIR
from iaenet.data.problems.airfoil import exterior
from iaenet.data.problems.graded_mesh import Region, edges, fills, quality
from iaenet.data.problems.joukowsky import Profile
from iaenet.data.problems.laplace_ring import BOX, LaplaceRing
from iaenet.data.problems.plane_curves import Ellipse, Star
from iaenet.data.problems.plate import NEAR, Plate
from iaenet.errors import InvalidInputError


def plate(count, rng):
    return Plate().draw(rng).mesh(count, NEAR, rng)


def airfoil(count, rng):
    return exterior(Profile(rng.uniform(0.05, 0.25), rng.uniform(-0.06, 0.08)), count, rng)


def ring(count, rng):
    outer, hole = LaplaceRing(bumps=0.45).draw(rng)
    return Region(BOX, (hole,), outer).mesh(count, 0.75, rng)


def signed(points, cells):
    (ax, ay), (bx, by) = ((points[cells[:, k]] - points[cells[:, 0]]).T for k in (1, 2))
    return (ax * by - ay * bx) / 2


@pytest.mark.parametrize(("make", "least"), [(plate, 0.5), (airfoil, 0.1), (ring, 0.4)])
@pytest.mark.parametrize("count", [250, 800, 2000])
@pytest.mark.parametrize("seed", range(4))
def test_triangles_are_upright_well_shaped_and_end_at_the_boundary(make, least, count, seed):
    mesh = make(count, np.random.default_rng(seed))
    assert abs(len(mesh.points) - count) <= 0.02 * count
    assert signed(mesh.points, mesh.cells).min() > 0
    assert quality(mesh.points, mesh.cells).min() > least
    found, uses = edges(mesh.cells, len(mesh.points))
    assert set(map(tuple, found[uses == 1])) == set(map(tuple, np.sort(mesh.boundary, axis=1)))
    assert uses.max() == 2
    assert fills(mesh.points, mesh.cells, mesh.loops)
    assert len(found) - len(mesh.cells) == len(mesh.points)  # Euler: vertices - edges + triangles = 1 - one hole


def test_vertices_lie_on_the_curves_and_the_domain_is_met_with_second_order():
    hole = Ellipse(np.array([0.45, 0.52]), np.array([0.2, 0.1]), 0.7)
    region, exact = Region(((0, 1), (0, 1)), (hole,)), 1 - np.pi * 0.02
    counts, errors = [200, 400, 800, 1600, 3200], []
    for count in counts:
        mesh = region.mesh(count, 0.4, np.random.default_rng(count))
        x = (mesh.points[: mesh.loops[0]] - hole.centre) @ np.array(
            [[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]]
        )
        assert np.abs(((x / hole.axes) ** 2).sum(axis=1) - 1).max() < 1e-9
        errors.append(signed(mesh.points, mesh.cells).sum() - exact)
    order = -2 * np.polyfit(np.log(counts), np.log(errors), 1)[0]  # in the edge length
    assert abs(order - 2) < 0.25, (order, errors)


def test_edges_are_shorter_near_the_hole():
    mesh = plate(900, np.random.default_rng(0))
    found, _ = edges(mesh.cells, len(mesh.points))
    lengths = np.linalg.norm(mesh.points[found[:, 0]] - mesh.points[found[:, 1]], axis=1)
    at_hole = (found < mesh.loops[0]).all(axis=1)
    at_wall = (found >= mesh.loops[0]).all(axis=1) & (found < sum(mesh.loops)).all(axis=1)
    assert 0.3 < np.median(lengths[at_hole]) / np.median(lengths[at_wall]) < 0.5


def test_another_lattice_at_each_call():
    rng = np.random.default_rng(3)
    region = Plate().draw(rng)
    one, other = (region.mesh(400, NEAR, rng) for _ in range(2))
    distance = np.linalg.norm(one.points[sum(one.loops) :, None] - other.points[None], axis=-1).min(axis=1)
    assert np.median(distance) > 1e-3


def test_distance_is_negative_outside_the_region():
    region = Region(
        BOX, (Ellipse(np.zeros(2), np.array([0.2, 0.2]), 0.0),), Star(0.8, np.zeros(1), np.zeros(1)), reach=1.0
    )
    points = np.array([[0.0, 0.1], [0.9, 0.0], [0.5, 0.0], [0.0, 0.7]])
    assert np.allclose(region.distance(points), [-1, -1, 0.3, 0.1], atol=1e-3)


@pytest.mark.parametrize(("count", "near"), [(10, 0.5), (400, 0.0), (400, 1.5)])
def test_meshes_that_cannot_be(count, near):
    region = Region(AIR, (Ellipse(np.array([0.5, 0.0]), np.array([0.2, 0.1]), 0.0),))
    with pytest.raises(InvalidInputError, match="a mesh needs 50 vertices or more"):
        region.mesh(count, near, np.random.default_rng(0))


def test_a_hole_that_no_mesh_fits_is_refused():
    region = Region(AIR, (Ellipse(np.array([1.49, 0.0]), np.array([0.2, 0.1]), 0.0),))  # through the wall
    with pytest.raises(InvalidInputError, match="no mesh of 100 vertices fits"):
        region.mesh(100, 0.5, np.random.default_rng(0))

"""Facets of a domain and distances to them, against shapes whose distance is known."""

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.spatial import Delaunay

from iaenet import Discretization
from iaenet.functions import boundary
from iaenet.functions.facets import boundary_facets
from iaenet.functions.geometry import distance_at
from iaenet.functions.resample import half

RNG = np.random.default_rng(0)


def signed_distance(x, points, facets):
    return boundary.signed_distance(torch.from_numpy(x), torch.from_numpy(points[facets])).numpy()


def disc(n=64, rings=8):
    """A triangulated disc of radius 1, and its boundary's polygon."""
    r = np.arange(rings + 1)[1:] / rings
    angle = 2 * np.pi * np.arange(n) / n
    points = np.concatenate([[[0.0, 0.0]], *(radius * np.stack([np.cos(angle), np.sin(angle)], 1) for radius in r)])
    return points, Delaunay(points).simplices.astype(np.int64)


def ball(subdivisions=6):
    """A mesh of the ball: each cube of a lattice in six tetrahedra, mapped radially."""
    s = 2 * subdivisions + 1
    t = np.linspace(-1, 1, s)
    cube = np.stack(np.meshgrid(t, t, t, indexing="ij"), -1).reshape(-1, 3)
    length = np.linalg.norm(cube, axis=1, keepdims=True)
    points = cube * np.abs(cube).max(axis=1, keepdims=True) / np.where(length > 0, length, 1)
    number = np.arange(s**3).reshape(s, s, s)
    low = number[:-1, :-1, :-1].ravel()
    steps = (s * s, s, 1)
    cells = [
        np.stack([low, low + steps[i], low + steps[i] + steps[j], low + sum(steps)], 1)
        for i, j, _ in permutations(range(3))
    ]
    return points, np.concatenate(cells)


def test_facets_of_a_disc_are_its_polygon_once_around():
    points, cells = disc()
    facets = boundary_facets(points, cells)
    assert len(facets) == 64
    a, b = points[facets[:, 0]], points[facets[:, 1]]
    assert np.allclose(np.linalg.norm(a, axis=1), 1)
    assert np.all(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0] > 0)  # the disc on the left


def test_distance_in_a_disc():
    points, cells = disc(n=256)
    x = RNG.uniform(-1.5, 1.5, (400, 2))
    found = signed_distance(x, points, boundary_facets(points, cells))
    assert np.abs(found - (1 - np.linalg.norm(x, axis=1))).max() < 2e-4  # a chord's height


def test_a_hole_is_outside():
    points, cells = disc(n=64)
    middle = points[cells].mean(axis=1)
    ring = cells[np.linalg.norm(middle, axis=1) > 0.5]
    found = signed_distance(np.array([[0.0, 0.1], [0.75, 0.0]]), points, boundary_facets(points, ring))
    assert found[0] == pytest.approx(-0.4, abs=0.01)
    assert found[1] == pytest.approx(0.25, abs=0.01)


def test_distance_in_a_ball():
    points, cells = ball()
    facets = boundary_facets(points, cells)
    assert np.allclose(np.linalg.norm(points[facets], axis=-1), 1)
    x = RNG.uniform(-1.2, 1.2, (300, 3))
    found = signed_distance(x, points, facets)
    assert np.abs(found - (1 - np.linalg.norm(x, axis=1))).max() < 0.03


def test_intervals_on_a_line():
    points = np.array([[0.0], [0.2], [0.5], [0.8]])
    facets = boundary_facets(points, np.array([[0, 1], [2, 3]]))
    assert sorted(facets[:, 0].tolist()) == [0, 1, 2, 3]
    x = np.array([[0.05], [0.3], [0.6], [1.0]])
    assert np.allclose(signed_distance(x, points, facets), [0.05, -0.1, 0.1, -0.2])


def test_a_surface_is_its_own_boundary():
    points, cells = ball(3)
    skin = boundary_facets(points, cells)
    assert np.array_equal(boundary_facets(points, skin), skin)
    curve = np.array([[0, 1], [1, 2]])
    assert np.array_equal(boundary_facets(np.eye(3)[:, :2], curve), curve)


def test_scale_and_motion_change_nothing():
    points, cells = disc()
    facets = boundary_facets(points, cells)
    x = RNG.uniform(-1.5, 1.5, (50, 2))
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    plain = signed_distance(x, points, facets)
    moved = signed_distance(1e6 * (x @ turn + 3), 1e6 * (points @ turn + 3), facets)
    assert np.allclose(moved, 1e6 * plain, rtol=1e-6)


def test_points_in_pieces_are_points_at_once(monkeypatch):
    points, cells = disc()
    facets = boundary_facets(points, cells)
    x = RNG.uniform(-1.5, 1.5, (50, 2))
    whole = signed_distance(x, points, facets)
    monkeypatch.setattr("iaenet.functions.boundary.AT_ONCE", 7 * len(facets))
    assert np.array_equal(signed_distance(x, points, facets), whole)


def test_some_of_the_points_have_the_domain_of_all_of_them():
    """A network that is told of the domain must not take half of a mesh's nodes for the whole box."""
    points, cells = disc()
    ring = cells[np.linalg.norm(points[cells].mean(axis=1), axis=1) > 0.5]
    mesh = Discretization.mesh(points, ring, bounds=[[-1, 1], [-1, 1]])
    kept, coarse = half(mesh)
    x = torch.rand(50, 2, dtype=torch.float64)
    assert coarse.n < mesh.n
    assert torch.equal(distance_at(coarse, x), distance_at(mesh, x))
    assert coarse.key != Discretization.points(points[kept], coarse.weights, bounds=[[-1, 1], [-1, 1]]).key


def test_stretching_the_box_changes_no_distance():
    points, cells = disc()
    mesh = Discretization.mesh(points, cells, bounds=[[-1, 1], [-1, 1]])
    scale = np.array([1e9, 1e-9])
    other = Discretization.mesh(points * scale, cells, bounds=[[-1e9, 1e9], [-1e-9, 1e-9]])
    x = torch.rand(50, 2, dtype=torch.float64)
    assert torch.allclose(distance_at(mesh, x), distance_at(other, x), atol=1e-9)


@pytest.mark.parametrize("d", [2, 3])
def test_the_facets_near_a_point_are_enough(d, monkeypatch):
    """Small facets and a few large ones, points on them, inside and outside: as if every pair were looked at."""
    corners = torch.rand(300, 1, d, dtype=torch.float64) + 0.03 * torch.randn(300, d, d, dtype=torch.float64)
    x = torch.cat([3 * torch.rand(400, d, dtype=torch.float64) - 1, corners[:20, 0], corners[:20].mean(dim=1)])
    for some in (corners, torch.cat([corners, torch.rand(2, d, d, dtype=torch.float64)])):
        monkeypatch.setattr(boundary, "AT_ONCE", 1000)
        near = boundary.signed_distance(x, some)
        monkeypatch.setattr(boundary, "AT_ONCE", 10**9)
        torch.testing.assert_close(near, boundary.signed_distance(x, some), rtol=0, atol=1e-14)
    monkeypatch.setattr(boundary, "AT_ONCE", 1000)
    assert boundary._near(x, corners) is not None

"""The measure of a domain from its boundary, against sums over fine meshes and against itself on coarse ones."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, LatentGrid, Projection
from iaenet.data.problems.plate import NEAR, Plate
from iaenet.functions.domain_measure import boundary_moments, volume
from iaenet.functions.facets import boundary_facets
from iaenet.functions.geometry import enclosing, on_nodes
from iaenet.functions.latent_grid import unit
from iaenet.functions.resample import half
from tests.functions.test_boundary import ball


def meshes(*counts):
    plate = Plate().draw(np.random.default_rng(0))
    made = [plate.mesh(n, NEAR, np.random.default_rng(n)) for n in counts]
    return [Discretization.mesh(mesh.points, mesh.cells) for mesh in made]


def test_moments_in_a_plate_are_those_of_its_cells():
    (mesh,) = meshes(900)
    projection = Projection([4, 3], (False, False))
    corners = mesh.points[mesh.cells]  # (e, 3, 2), cut into 64 triangles each: the midpoint rule
    size = torch.linalg.det(corners[:, 1:] - corners[:, :1]).abs() / 2
    for _ in range(3):
        a, b, c = corners.unbind(1)
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        corners = torch.cat([torch.stack(parts, 1) for parts in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
        size = torch.cat([size / 4] * 4)
    middles = corners.mean(dim=1)
    wanted = projection.moments(middles, size, torch.ones_like(middles[None, :, :1]))[:, 0, 0]
    found = boundary_moments(projection, enclosing(mesh))
    assert float((found - wanted).norm() / wanted.norm()) < 1e-4
    assert volume(enclosing(mesh)) == pytest.approx(mesh.measure, rel=1e-12)


def test_moments_in_a_ball():
    points, cells = ball(5)
    mesh = Discretization.mesh(points, cells, bounds=[[-1.2, 1.2]] * 3)
    corners = torch.from_numpy((points / 2.4 + 0.5)[boundary_facets(points, cells)])
    found = boundary_moments(Projection([1, 1, 1], (True,) * 3), corners).reshape(3, 3, 3)
    radius, k = 1 / 2.4, 2 * np.pi  # int cos(k x) over a ball, about its middle, where the wave is -1
    wave = 4 * np.pi * (np.sin(k * radius) - k * radius * np.cos(k * radius)) / k**3
    assert volume(corners) == pytest.approx(mesh.measure / mesh.volume, rel=1e-12)
    assert float(found[1, 0, 0]) == pytest.approx(-np.sqrt(2) * wave, rel=0.03)  # a polyhedron is smaller
    assert abs(float(found[2, 0, 0])) < 1e-6


def test_a_coarse_mesh_tells_the_same_domain():
    fine, coarse = meshes(1800, 450)
    grid = LatentGrid((28, 28), (False, False))
    wanted = on_nodes(grid, "measure", fine)

    def off(found):
        return float((found - wanted).norm() / wanted.norm())

    assert off(on_nodes(grid, "measure", coarse)) < 2e-3
    assert off(grid.measure_of(*unit(coarse, coarse))) > 2e-2  # sums over its nodes
    assert off(on_nodes(grid, "measure", half(fine)[1])) < 1e-9  # some of the nodes, in the same domain


def test_what_encloses_something_else_is_not_believed():
    (mesh,) = meshes(450)
    double = Discretization(mesh.points, 2 * mesh.weights, mesh.bounds, mesh.periodic, cells=mesh.cells)
    points, cells = ball(2)
    surface = Discretization.mesh(points, boundary_facets(points, cells), bounds=[[-1, 1]] * 3)
    assert enclosing(mesh) is not None
    assert enclosing(double) is None
    assert enclosing(surface) is None
    assert enclosing(Discretization.uniform((4, 4))) is None

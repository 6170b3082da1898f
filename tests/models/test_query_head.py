"""What a head sees at the query points of the input and of its domain."""

import numpy as np
import pytest
import torch
from scipy.spatial import Delaunay

from iaenet import Discretization, Field, IAENet, SpectralConv
from iaenet.functions import geometry


def points(n, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).random((n, 2)))


def ring():
    """A mesh of the square with a round hole."""
    x = points(300).numpy()
    cells = Delaunay(x).simplices
    cells = cells[np.linalg.norm(x[cells].mean(axis=1) - 0.5, axis=1) > 0.25]
    used, index = np.unique(cells, return_inverse=True)
    return Discretization.mesh(x[used], index.reshape(cells.shape), bounds=[[0.0, 1.0]] * 2)


@pytest.fixture
def network():
    torch.manual_seed(0)
    options = {"grid": 12, "width": 8, "blocks": 1, "branches": [SpectralConv(3)], "head": 8}
    return IAENet(1, 1, 2, geometry=["distance"], **options)


def test_what_it_sees_at_query_points_is_found_once(network, monkeypatch):
    asked, found = [], geometry.distance_at
    monkeypatch.setattr(geometry, "distance_at", lambda source, x: asked.append(len(x)) or found(source, x))
    mesh, at, elsewhere = ring(), Discretization.points(points(50, 1)), Discretization.points(points(60, 2))
    field = Field(mesh, torch.rand(mesh.n, 1))
    first = network(field, at=at).values
    assert torch.equal(network(field, at=at).values, first)
    assert asked.count(50) == 1
    same = Field(Discretization.mesh(mesh.points, mesh.cells, bounds=mesh.bounds), field.values)
    assert torch.equal(network(field, at=elsewhere).values, network(same, at=elsewhere).values)
    assert torch.equal(network(field, at=at).values, first)
    assert not torch.equal(network(Field(mesh, 2 * field.values), at=at).values, first)


def test_in_a_batch_and_after_other_weights_it_is_the_same(network):
    mesh, at = ring(), Discretization.points(points(50, 1))
    fields = [Field(mesh, torch.rand(mesh.n, 1)) for _ in range(3)]
    alone = [network(one, at=at).values for one in fields]
    with torch.no_grad():
        next(network.parameters()).add_(0.1)
    changed = network(fields[0], at=at).values
    assert not torch.equal(changed, alone[0])
    with torch.no_grad():
        next(network.parameters()).sub_(0.1)
    for one, other in zip(network(fields, at=[at] * 3), alone, strict=True):
        assert torch.allclose(one.values, other, atol=1e-5)


def test_gradients_at_query_points_are_their_own(network):
    mesh = ring()
    field = Field(mesh, torch.rand(mesh.n, 1))
    slopes = []
    for _ in range(2):
        x = points(5, 3).requires_grad_()
        network(field, at=Discretization.points(x)).values.sum().backward()
        slopes.append(x.grad)
    assert torch.equal(*slopes)
    assert float(slopes[0].abs().sum()) > 0
    values = field.values.clone().requires_grad_()
    network(Field(mesh, values), at=Discretization.points(points(5, 3))).values.sum().backward()
    assert float(values.grad.abs().sum()) > 0

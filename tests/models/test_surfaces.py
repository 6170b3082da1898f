"""Functions on surfaces in space: given on triangles, read off at points of the surface, whatever its mesh."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, IAENet
from iaenet.data.problems.bodies import BOX, Bodies, icosphere
from iaenet.data.problems.ellipsoid_flow import Ellipsoid


def surface(count, seed=0):
    """A mesh of one ellipsoid, turned by chance."""
    sphere, cells = icosphere(count)
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
    body = Ellipsoid(np.array([0.6, 0.4, 0.3]), np.eye(3))
    return Discretization.mesh(body.surface(sphere @ turn.T), cells, bounds=BOX)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return IAENet.from_preset(
        "small", in_channels=1, out_channels=1, dim=3, grid=8, head=8, geometry=["measure", "distance"]
    ).eval()


def test_weights_are_the_area():
    coarse, fine = surface(162), surface(2562)
    assert coarse.measure == pytest.approx(fine.measure, rel=0.03)


def test_another_mesh_of_the_surface_gives_the_same_function(network):
    at = surface(42, seed=1)
    with torch.no_grad():
        found = [network(Field(on, torch.ones(on.n, 1)), at).values for on in (surface(642), surface(642, 1))]
    assert float((found[0] - found[1]).norm() / found[1].norm()) < 0.02


def test_pressure_on_the_surface_is_learned_and_read_off_elsewhere():
    """A few steps on one body: the pressure at nodes of another mesh of it, which no step saw."""
    problem = Bodies()
    pair = problem.record(np.random.default_rng(0), [162, 362])[0]
    given = Field(pair[162].input_at, torch.from_numpy(pair[162].input).float())
    wanted = torch.from_numpy(pair[162].output).float()
    torch.manual_seed(0)
    network = IAENet.from_preset("small", in_channels=1, out_channels=1, dim=3, grid=8, head=16, geometry=["measure"])
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    for _ in range(60):
        optimizer.zero_grad()
        loss = (network(given).values - wanted).square().mean()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        found = network(given, pair[362].output_at).values
    truth = torch.from_numpy(pair[362].output).float()
    assert float((found - truth).norm() / truth.norm()) < 0.15

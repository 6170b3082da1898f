"""Half of a domain sampled four times denser: the same function, on the same domain, and the same output elsewhere."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, IAENet
from iaenet.data.problems.bodies import Bodies
from iaenet.data.problems.plate import NEAR, Plate
from iaenet.functions.geometry import distance_at, on_nodes
from iaenet.functions.local_refinement import half_refined, low_half
from iaenet.models.transolver import Transolver
from tests.functions.test_boundary import ball


def plate(n=300):
    mesh = Plate().draw(np.random.default_rng(1)).mesh(n, NEAR, np.random.default_rng(2))
    return Discretization.mesh(mesh.points, mesh.cells)


def tetrahedra():
    points, cells = ball(2)
    return Discretization.mesh(points, cells, bounds=[[-1, 1]] * 3)


DOMAINS = {
    "grid": lambda: Discretization.uniform((9, 7)),
    "periodic": lambda: Discretization.uniform(16, periodic=True),
    "plate": plate,
    "ball": tetrahedra,
    "surface": lambda: Bodies().record(np.random.default_rng(0), [162])[0][162].input_at,
    "points": lambda: Discretization.points(np.random.default_rng(0).random((200, 2))),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_the_function_and_the_domain_stay(name):
    at = DOMAINS[name]()
    linear = Field(at, at.points @ torch.arange(1.0, at.dim + 1, dtype=torch.float64)[:, None])
    if any(at.periodic):
        linear = Field(at, torch.sin(2 * torch.pi * at.points))
    fine = half_refined(linear)
    new = fine.discretization
    wanted = new.points @ torch.arange(1.0, at.dim + 1, dtype=torch.float64)[:, None]
    wanted = torch.sin(2 * torch.pi * new.points) if any(at.periodic) else wanted
    assert torch.allclose(fine.values, wanted, atol=1e-3 if any(at.periodic) else 1e-12)
    assert new.measure == pytest.approx(at.measure, rel=1e-9)
    more = int(low_half(new).sum()) / int(low_half(at).sum())
    assert 3 < more < 9  # eight times in tetrahedra
    assert abs(int((~low_half(new)).sum()) - int((~low_half(at)).sum())) < 0.5 * at.n  # along the middle
    x = torch.rand(20, at.dim, dtype=torch.float64)
    assert torch.equal(distance_at(new, x), distance_at(at, x))


def test_the_network_gives_the_same_elsewhere_and_sums_without_weights_do_not():
    at = plate()
    ones = Field(at, torch.ones(at.n, 1))
    fine = half_refined(ones)
    torch.manual_seed(0)
    ours = IAENet.from_preset(
        "small", in_channels=1, out_channels=1, dim=2, head=8, grid=16, geometry=["measure", "distance"]
    )
    other = Transolver(1, 1, dim=2, width=16, layers=2, heads=2, slices=8)
    far = ~low_half(at)
    changes = []
    with torch.no_grad():
        for model in (ours, other):
            before, after = model(ones).values[far], model(fine).values[: at.n][far]
            changes.append(float((after - before).norm() / before.norm()))
    assert changes[0] < 1e-3 < changes[1]


def test_what_a_network_is_told_of_the_domain_stays():
    at = plate()
    fine = half_refined(Field(at, torch.ones(at.n, 1))).discretization
    grid = IAENet(1, 1, 2, grid=16, blocks=1).latent
    for what in ("measure", "distance"):
        assert torch.allclose(on_nodes(grid, what, fine), on_nodes(grid, what, at), atol=1e-9)

"""A latent grid that is coarser than the data's, where that holds them as well."""

import pytest
import torch

from iaenet import Discretization, Field, IAENet
from iaenet.models.presets import LEFT_OF_INPUTS, LEFT_OF_OUTPUTS, coarsest


def pairs(grid, inputs, outputs, count=6):
    """Random functions with so many harmonics."""
    made = []
    for seed in range(count):
        torch.manual_seed(seed)
        given, wanted = (
            sum(
                torch.randn(()) * torch.cos(2 * torch.pi * (k * grid.points.sum(dim=1, keepdim=True) + torch.rand(())))
                for k in range(1, most + 1)
            )
            for most in (inputs, outputs)
        )
        made.append((Field(grid, given.float()), Field(grid, wanted.float())))
    return made


@pytest.mark.parametrize(
    ("inputs", "outputs", "nodes"), [(5, 5, 64), (30, 30, 64), (5, 40, 96), (40, 5, 96), (80, 5, 192), (5, 120, 256)]
)
def test_as_coarse_as_both_functions_allow(inputs, outputs, nodes):
    grid = Discretization.uniform(256, periodic=True)
    assert coarsest(pairs(grid, inputs, outputs), (256,)) == (nodes,)


@pytest.mark.parametrize("periodic", [True, False])
def test_what_it_leaves_is_little_and_its_network_is_as_invariant(periodic):
    fine, coarse = (Discretization.uniform(n, periodic=periodic) for n in (256, 128))
    network = IAENet.for_data(pairs(fine, 3, 3), linear_start=0)
    assert network.grid.shape < (256,)
    given = pairs(fine, 3, 3, count=1)[0][0]
    latent = network.latent
    left = latent.read_off(latent.encode(fine, given.values[None]), fine)[0] - given.values
    assert left.norm() < min(LEFT_OF_INPUTS, LEFT_OF_OUTPUTS) * given.values.norm()
    on_coarse = pairs(coarse, 3, 3, count=1)[0][0]
    with torch.no_grad():
        one, other = network(given, at=coarse), network(on_coarse)
    assert (one.values - other.values).norm() < 1e-4 * other.values.norm()


def test_in_the_plane_each_axis_has_fewer():
    grid = Discretization.uniform((64, 48), periodic=True)
    made = pairs(grid, 3, 3)
    assert coarsest(made, (64, 48)) == (24, 24)
    assert IAENet.for_data(made, grid=[64, 48]).grid.shape == (64, 48)  # unless it is given


def test_points_and_small_grids_stay_as_they_are():
    grid = Discretization.uniform(48, periodic=True)
    assert coarsest(pairs(grid, 3, 3), (48,)) == (48,)
    points = Discretization.points(torch.rand(256, 1, dtype=torch.float64), periodic=True)
    assert coarsest(pairs(points, 3, 3), (128,)) == (128,)

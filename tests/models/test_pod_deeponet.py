"""POD-DeepONet: its modes."""

import math
from itertools import pairwise

import pytest
import torch

from iaenet import Discretization, Field
from iaenet.models import pod_deeponet
from iaenet.models.pod_deeponet import PODDeepONet, pod


def samples(at: Discretization, count: int = 40, channels: int = 1) -> torch.Tensor:
    """`1 + sum_k a_k cos(pi k x_1) / k^2`, the same a_k on all points."""
    k = torch.arange(1, 6).double()
    a = torch.randn(count, channels, 5, generator=torch.Generator().manual_seed(3)).double() / k**2
    waves = torch.cos(math.pi * k * at.points[:, :1])  # (n, 5)
    return 1 + torch.einsum("bck,nk->bnc", a, waves)


def clustered(n: int) -> Discretization:
    return Discretization.tensor_grid(torch.linspace(0, 1, n).double() ** 2)


def data(source: Discretization, target: Discretization, channels: int = 1, count: int = 40):
    outputs = samples(target, count, channels)
    return [(Field(source, torch.randn(source.n, 1)), Field(target, image.float())) for image in outputs]


@pytest.mark.parametrize("at", [Discretization.uniform(50), clustered(50)], ids=["uniform", "clustered"])
def test_modes_are_orthogonal_and_of_the_size_of_their_coefficients(at):
    functions = samples(at, channels=2)
    mean, modes = pod(functions, at.weights, 4)
    products = torch.einsum("n,jnc,knc->jk", at.weights, modes, modes)
    sizes = products.diagonal()
    assert (products - torch.diag(sizes)).abs().max() < 1e-12 * sizes[0]
    assert (sizes[:-1] >= sizes[1:]).all()
    coefficients = torch.einsum("n,bnc,knc->bk", at.weights, functions - mean, modes) / sizes
    torch.testing.assert_close((coefficients**2).mean(0), torch.ones(4).double())


def test_as_many_modes_as_dimensions_give_the_functions_back():
    at = clustered(60)
    functions = samples(at)
    mean, modes = pod(functions, at.weights, 32)
    assert len(modes) == 5
    coefficients = torch.einsum("n,bnc,knc->bk", at.weights, functions - mean, modes)
    coefficients = coefficients / torch.einsum("n,knc->k", at.weights, modes**2)
    torch.testing.assert_close(mean + torch.einsum("bk,knc->bnc", coefficients, modes), functions)


def test_modes_do_not_depend_on_the_points():
    uniform, other = Discretization.uniform(401), clustered(401)
    first, second = (pod(samples(at), at.weights, 3)[1] for at in (uniform, other))
    moved = pod_deeponet.interpolate(Field(other, second), uniform).values
    for one, two in zip(first, moved, strict=True):
        assert min((one - two).norm(), (one + two).norm()) < 1e-3 * one.norm()


def test_without_coefficients_the_output_is_the_mean():
    grid = Discretization.uniform(20)
    pairs = data(grid, grid, channels=2)
    model = PODDeepONet.for_data(pairs, width=8)
    with torch.no_grad():
        for parameter in model.branch.parameters():
            parameter.zero_()
    mean = torch.stack([image.values for _, image in pairs]).mean(0)
    torch.testing.assert_close(model(pairs[0][0]).values, mean)


def test_modes_are_interpolated_to_other_points():
    errors = []
    fine = Discretization.uniform(161)
    for n in (11, 21, 41):
        grid = Discretization.uniform(n)
        torch.manual_seed(0)
        model = PODDeepONet.for_data(data(Discretization.uniform(6), grid), modes=1, width=8)
        field = Field(Discretization.uniform(6), torch.ones(6, 1))
        on_nodes = Field(grid, model(field, at=grid).values)
        found = model(field, at=fine).values
        torch.testing.assert_close(found[:: 160 // (n - 1)], on_nodes.values)
        # The single mode is a combination of waves; so is the output, which is known wherever it is asked for.
        waves = torch.cat([torch.cos(math.pi * k * fine.points) for k in range(6)], dim=1)
        nodes = torch.cat([torch.cos(math.pi * k * grid.points) for k in range(6)], dim=1)
        exact = waves @ torch.linalg.lstsq(nodes, on_nodes.values.double()).solution
        errors.append((found - exact).abs().max().item())
    orders = [math.log2(coarse / finer) for coarse, finer in pairwise(errors)]
    assert min(orders) > 2.5


def test_outputs_on_a_mesh_and_in_another_order():
    points = torch.rand(60, 2).double()
    at = Discretization.points(points)
    model = PODDeepONet.for_data(data(Discretization.uniform(6), at), width=8)
    field = Field(Discretization.uniform(6), torch.randn(6, 1))
    whole = model(field, at=at).values
    order = torch.randperm(60)
    shuffled = model(field, at=Discretization.points(points[order])).values
    torch.testing.assert_close(shuffled, whole[order])
    torch.testing.assert_close(model(field, at=Discretization.points(points[:9])).values, whole[:9])


def test_outputs_on_several_discretizations_share_their_modes():
    coarse, fine = Discretization.uniform(30), Discretization.uniform(50)
    source = Discretization.uniform(6)
    mixed = data(source, coarse)[:20] + data(source, fine)[20:]
    model = PODDeepONet.for_data(mixed, modes=2, width=8)
    alone = PODDeepONet.for_data(data(source, fine), modes=2, width=8)
    for one, two in zip(model.modes, alone.modes, strict=True):
        assert min((one - two).norm(), (one + two).norm()) < 1e-3 * two.norm()


def test_a_single_sample_has_no_modes_but_works():
    grid = Discretization.uniform(12)
    pairs = data(grid, grid)[:1]
    model = PODDeepONet.for_data(pairs, width=8)
    torch.testing.assert_close(model(pairs[0][0]).values, pairs[0][1].values)


def test_many_samples_are_thinned_out(monkeypatch):
    monkeypatch.setattr(pod_deeponet, "SNAPSHOTS", 10)
    grid = Discretization.uniform(12)
    model = PODDeepONet.for_data(data(grid, grid, count=25), width=8)
    kept = samples(grid, 25)[::3].mean(0)
    torch.testing.assert_close(model.mean, kept, rtol=0, atol=1e-6)

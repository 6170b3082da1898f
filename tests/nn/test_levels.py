"""Convolutions on a grid and on coarser ones, and attention on one of them."""

import pytest
import torch

from iaenet import Discretization, Field, Fourier, GridUNet, IAENet, InvalidInputError, SpectralIAE
from iaenet.nn.levels import GridLevels
from iaenet.nn.tokens import TokenLayer


def made(count, periodic, levels=2, attention=1):
    torch.manual_seed(0)
    shape = (count,) * len(periodic)
    return GridLevels(shape, 32, periodic, 3, levels=levels, attention=attention).double()


def net(periodic=False, grid=257, width=16, **options):
    torch.manual_seed(0)
    branches = [SpectralIAE(Fourier(4)), GridUNet(**{"depth": 3, "attention": 1, **options})]
    return IAENet(1, 1, periodic=periodic, grid=grid, width=width, blocks=2, branches=branches).double()


def wave(size, periodic=False):
    grid = Discretization.uniform(size, periodic=periodic)
    return Field(grid, torch.cos(2 * torch.pi * grid.points) - 0.4 * torch.cos(4 * torch.pi * grid.points))


def weight_of(network, place, other):
    """How much a point of the output depends on another of the input, normalisation apart, which sees all points."""
    values = torch.randn(1, 160, 32, dtype=torch.float64)
    for part in network.modules():
        if isinstance(part, torch.nn.GroupNorm):
            part.forward = lambda x: x
    values.requires_grad_()
    network(values)[0, place].sum().backward()
    return float(values.grad[0, other].abs().max())


def test_attention_hears_of_every_point_and_convolutions_of_neighbours():
    assert weight_of(made(160, (False,), attention=1), 0, 159) > 0
    assert weight_of(made(160, (False,), attention=0), 0, 159) == 0
    assert weight_of(made(160, (False,), attention=0), 80, 82) > 0
    reaches = [
        max(n for n in range(80) if weight_of(made(160, (False,), levels, attention=0), 80, 80 + n) > 0)
        for levels in (1, 2)
    ]
    assert reaches[0] < reaches[1] < 79  # coarser grids see further


def test_tokens_are_compared_by_their_angle_alone():
    network = made(32, (False,))
    values = torch.randn(2, 32, 32, dtype=torch.float64)
    before = network(values)
    layers = [part for part in network.modules() if isinstance(part, TokenLayer)]
    with torch.no_grad():
        for layer in layers:
            layer.compare.weight *= 5
    assert layers
    assert torch.allclose(network(values), before, rtol=1e-10)


@pytest.mark.parametrize("dim", [1, 2])
def test_a_shift_by_cells_of_the_coarsest_grid_shifts_what_comes_out(dim):
    network = made(16, (True,) * dim)
    grid = torch.randn(2, *(16,) * dim, 32, dtype=torch.float64)
    shift, axes = (4, 8)[:dim], tuple(range(1, dim + 1))

    def answer(values):
        return network(values.flatten(1, dim)).unflatten(1, (16,) * dim)

    assert torch.allclose(answer(grid.roll(shift, axes)), answer(grid).roll(shift, axes), rtol=0, atol=1e-10)


def test_attention_is_on_the_first_level_that_has_few_points():
    assert [made(count, (False,), levels=6).levels.attended for count in (128, 129, 1001)] == [0, 1, 3]
    assert made(40, (False, False), levels=4).levels.attended == 2  # 10 x 10


def test_channels_double_up_to_eight_times():
    up = made(64, (True,), levels=5, attention=0).levels.down
    assert [layer.path[-1].convolution.out_channels // 32 for layer in up] == [1, 2, 4, 8, 8, 8]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 12}, "a multiple of 32 channels, got 48"),
        ({"depth": 9}, r"\[257\] points cannot be halved 9 times"),
        ({"depth": 0}, "cannot be halved 0 times"),
        ({"depth": -1}, "cannot be halved -1 times"),
        ({"depth": 2}, "at most 128 points, and on the way up: more levels than 2"),
        ({"attention": -1}, "attention must not be negative, got -1"),
        ({"kernel_size": 4}, "kernel_size must be odd, got 4"),
        ({"size": 300}, "a grid of 300 points along each axis is none of 4 to 257"),
        ({"size": 3}, "a grid of 3 points along each axis is none of 4 to 257"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        net(**options)


@pytest.mark.parametrize(("periodic", "grid", "limit"), [(True, 256, 1e-10), (False, 257, 5e-6)])
def test_a_network_with_levels_is_the_same_on_finer_grids(periodic, grid, limit):
    model, at = net(periodic, grid), Discretization.uniform(9, periodic=periodic)
    with torch.no_grad():
        coarse, fine = (model(wave(size, periodic), at=at).values for size in (512, 2048))
    assert (coarse - fine).norm() < limit * fine.norm()

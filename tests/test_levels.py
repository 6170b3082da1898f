"""Convolutions on a raster and on coarser grids, and attention on one of them."""

import pytest
import torch

from iaenet import Discretization, Field, IAENet, InvalidInputError
from iaenet.attention import TokenLayer
from iaenet.levels import RasterLevels


def made(count, periodic, levels=2, attention=1):
    torch.manual_seed(0)
    return RasterLevels(count, 32, periodic, 3, levels=levels, attention=attention).double()


def net(periodic=False, **options):
    torch.manual_seed(0)
    small = {"width": 16, "modes": 4, "blocks": 2, "post_blocks": 0, "domains": ["fourier"], "rasters": [257]}
    return IAENet(1, 1, periodic=periodic, **{**small, "levels": 3, "attention": 1, **options}).double()


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 12}, "a multiple of 32 channels, got 48"),
        ({"levels": 9}, "257 points cannot be halved 9 times"),
        ({"levels": 2}, "at most 128 points, and on the way up: more levels than 2"),
        ({"rasters": []}, "give rasters, too"),
        ({"levels": 0}, "give levels, too"),
        ({"levels": -1}, "must not be negative, got -1 and 1"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        net(**options)


@pytest.mark.parametrize(("periodic", "rasters", "limit"), [(True, [256], 1e-6), (False, [257], 1e-4)])
def test_a_network_with_levels_is_the_same_on_finer_grids(periodic, rasters, limit):
    model, at = net(periodic, rasters=rasters), Discretization.uniform(9, periodic=periodic)
    with torch.no_grad():
        coarse, fine = (model(wave(size, periodic), at=at).values for size in (512, 2048))
    assert (coarse - fine).norm() < limit * fine.norm()

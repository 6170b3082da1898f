"""Attention between patches of a raster."""

import pytest
import torch

from iaenet import Discretization, Field, IAENet, InvalidInputError
from iaenet.attention import RasterAttention


def made(count, periodic, patch=4, channels=3, layers=2):
    torch.manual_seed(0)
    return RasterAttention(count, channels, periodic, 3, patch=patch, width=32, layers=layers).double()


def net(periodic=False, **options):
    torch.manual_seed(0)
    small = {"width": 8, "modes": 4, "blocks": 2, "post_blocks": 0, "domains": ["fourier"], "rasters": [33]}
    return IAENet(1, 1, periodic=periodic, **{**small, "attention": 1, "tokens": 32, **options}).double()


def wave(size, periodic=False):
    grid = Discretization.uniform(size, periodic=periodic)
    return Field(grid, torch.cos(2 * torch.pi * grid.points) - 0.4 * torch.cos(4 * torch.pi * grid.points))


@pytest.mark.parametrize(("count", "patch", "dim"), [(12, 4, 1), (13, 4, 1), (12, 5, 2), (6, 2, 3)])
def test_patches_hold_the_values_and_give_them_back(count, patch, dim):
    attention = made(count, (False,) * dim, patch)
    values = torch.randn(2, count**dim, 3, dtype=torch.float64)
    patches = attention._patches(values)
    assert patches.shape[1] == (-(-count // patch)) ** dim
    assert torch.equal(attention._values(patches), values)
    corner = values.unflatten(1, (count,) * dim)[(0, *(slice(patch),) * dim)]
    assert torch.equal(patches[0, 0], corner.flatten())


def test_every_patch_hears_of_every_other():
    """At once and from any distance: what two layers of convolutions of nine tokens could not."""
    attention = made(160, (False,), patch=2, layers=1)
    values = torch.randn(1, 160, 3, dtype=torch.float64, requires_grad=True)
    attention(values)[0, 0].sum().backward()
    assert (values.grad[0].abs().amax(-1) > 0).all()


def test_tokens_are_compared_by_their_angle_alone():
    attention = made(32, (False,))
    values = torch.randn(2, 32, 3, dtype=torch.float64)
    before = attention(values)
    with torch.no_grad():
        for layer in attention.layers:
            layer.compare.weight *= 5
    assert torch.allclose(attention(values), before, rtol=1e-10)


@pytest.mark.parametrize("dim", [1, 2])
def test_a_shift_by_patches_shifts_what_comes_out(dim):
    attention = made(16, (True,) * dim)
    grid = torch.randn(2, *(16,) * dim, 3, dtype=torch.float64)
    shift, axes = (4, 8)[:dim], tuple(range(1, dim + 1))

    def answer(values):
        return attention(values.flatten(1, dim)).unflatten(1, (16,) * dim)

    assert torch.allclose(answer(grid.roll(shift, axes)), answer(grid).roll(shift, axes), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": 40}, "a multiple of 32 channels, got 40"),
        ({"patch": 34}, "1 to 33 points of the raster, got 34"),
        ({"patch": 0}, "1 to 33 points of the raster, got 0"),
        ({"periodic": True, "patch": 8}, "patches of 8 points do not fill a periodic axis of 33"),
        ({"rasters": []}, "give rasters, too"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        net(**options)


@pytest.mark.parametrize(("periodic", "rasters", "limit"), [(True, [32], 1e-6), (False, [33], 1e-4)])
def test_a_network_with_attention_is_the_same_on_finer_grids(periodic, rasters, limit):
    model, at = net(periodic, rasters=rasters), Discretization.uniform(9, periodic=periodic)
    with torch.no_grad():
        coarse, fine = (model(wave(size, periodic), at=at).values for size in (128, 1024))
    assert (coarse - fine).norm() < limit * fine.norm()

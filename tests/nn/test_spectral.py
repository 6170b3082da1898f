"""The Fourier layer equals the FFT form of FNO on periodic grids, and that of the even extension on closed ones."""

import itertools

import numpy as np
import pytest
import torch

from iaenet.nn.spectral import FourierLayer, SpectralConvolution
from iaenet.nn.transform import Grid

C = 3


def by_fft(layer, values, shape, modes):
    """R_k a_k on the kept frequencies, with torch.fft."""
    d = len(shape)
    axes = tuple(range(1, d + 1))
    spectrum = torch.fft.rfftn(values.reshape(-1, *shape, C), dim=axes, norm="forward")
    out = torch.zeros_like(spectrum)
    signed = [0, *range(1, modes + 1), *range(-1, -modes - 1, -1)]
    places = itertools.product(*[signed] * (d - 1), range(modes + 1))
    weight = torch.view_as_complex(layer.weight.detach().contiguous())
    for number, k in enumerate(places):
        index = (slice(None), *k)
        out[index] = spectrum[index] @ weight[number]
    return torch.fft.irfftn(out, s=shape, dim=axes, norm="forward").reshape(len(values), -1, C)


def random(shape, channels=C, count=2):
    return torch.randn(count, int(np.prod(shape)), channels, dtype=torch.float64)


@pytest.mark.parametrize("shape", [(16,), (17,), (12, 10), (9, 11), (8, 7, 9)])
def test_equals_the_fft(shape):
    modes = 3
    layer = SpectralConvolution(C, C, modes, (True,) * len(shape)).double()
    values = random(shape)
    torch.testing.assert_close(layer(values, shape), by_fft(layer, values, shape, modes), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("shape", "periodic"),
    [((9,), (False,)), ((8, 9), (False, True)), ((9, 8), (True, False)), ((7, 6, 8), (False, False, True))],
)
def test_equals_the_fft_of_the_even_extension_of_closed_axes(shape, periodic):
    modes = 3
    layer = SpectralConvolution(C, C, modes, periodic).double()
    values = random(shape)
    wide = values.unflatten(1, shape)
    for axis, wraps in enumerate(periodic, start=1):
        if not wraps:
            inner = wide.narrow(axis, 1, wide.shape[axis] - 2)
            wide = torch.cat([wide, inner.flip(axis)], dim=axis)
    found = by_fft(layer, wide.flatten(1, -2), wide.shape[1:-1], modes).reshape(wide.shape)
    for axis, size in enumerate(shape, start=1):
        found = found.narrow(axis, 0, size)
    torch.testing.assert_close(layer(values, shape), found.flatten(1, -2), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", [(33,), (33, 34)])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_identity_weights_reproduce_band_limited_functions(shape, first, last):
    periodic = (first, last)[-len(shape) :]
    grid = Grid(shape, periodic)
    layer = SpectralConvolution(1, 1, 3, periodic).double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, 0.0]))
    values = torch.ones(1, dtype=torch.float64)
    for x, wraps in zip(grid.nodes, periodic, strict=True):
        along = torch.cos(2 * np.pi * 2 * x) + 0.5 * torch.sin(2 * np.pi * x) if wraps else torch.cos(2 * np.pi * x)
        values = torch.outer(values, along).flatten()
    found = layer(values[None, :, None], shape)
    torch.testing.assert_close(found[0, :, 0], values, atol=1e-12, rtol=0)


@pytest.mark.parametrize(("shape", "periodic"), [((6,), (True,)), ((5,), (False,)), ((6, 6), (True, False))])
def test_frequencies_that_the_grid_does_not_hold_are_left_out(shape, periodic):
    """They would alias: on 6 points of a period a wave of 4 looks like one of 2."""
    modes = 5
    layer = SpectralConvolution(1, 1, modes, periodic).double()
    transform = layer.transform(shape)
    kept = transform.analyse(random(shape, 1)).unflatten(1, transform.sizes)
    for axis, (size, wraps) in enumerate(zip(shape, periodic, strict=True)):
        most = (size - 1) // 2 if wraps else size - 1
        beyond = [k for k in range(kept.shape[axis + 1]) if (k if k <= modes else k - modes) > most]
        assert beyond or most >= modes
        assert not kept.index_select(axis + 1, torch.tensor(beyond, dtype=torch.long)).any()


def test_linear_layers_and_gelu_are_added():
    shape, periodic = (5, 6), (False, True)
    values = random(shape, 2)
    for last in (True, False):
        layer = FourierLayer(2, 2, periodic, last=last).double()
        total = layer.pointwise(values) + layer.convolution(values, shape)
        wanted = total if last else torch.nn.functional.gelu(total)
        torch.testing.assert_close(layer(values, shape), wanted)


def test_gradcheck():
    layer = FourierLayer(2, 2, (False, True)).double()
    values = random((5, 6), 2, 1).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, *_: layer(a, (5, 6)), (values, *layer.parameters()))

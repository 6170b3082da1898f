"""The Fourier layer equals the FFT form of FNO on periodic grids, and the direct sum elsewhere."""

import itertools

import numpy as np
import pytest
import torch

from iaenet import Discretization
from iaenet.geometry import geometry_of
from iaenet.spectral import FourierLayer, SpectralConvolution

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


@pytest.mark.parametrize("shape", [(16,), (17,), (12, 10), (9, 11), (8, 7, 9)])
def test_equals_the_fft(shape):
    modes = 3
    grid = Discretization.uniform(shape, periodic=True)
    geometry = geometry_of(grid, torch.float64)
    layer = SpectralConvolution(C, C, modes, (True,) * len(shape)).double()
    values = torch.randn(2, grid.n, C, dtype=torch.float64)
    found = layer.expand(layer.latent(layer.reduce(values, geometry)), geometry)
    torch.testing.assert_close(found, by_fft(layer, values, shape, modes), rtol=1e-10, atol=1e-12)


def test_points_in_any_order_are_the_same_sum():
    grid = Discretization.uniform((8, 9), periodic=True)
    scattered = Discretization.points(grid.points, weights=grid.weights, periodic=True)
    layer = SpectralConvolution(C, C, 2, (True, True)).double()
    values = torch.randn(2, grid.n, C, dtype=torch.float64)
    results = []
    for where in (grid, scattered):
        geometry = geometry_of(where, torch.float64)
        results.append(layer.expand(layer.latent(layer.reduce(values, geometry)), geometry))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("periodic", [(True,), (False,), (False, True), (True, False), (False, False)])
def test_identity_weights_reproduce_band_limited_functions(periodic):
    d, modes = len(periodic), 3
    grid = Discretization.uniform((33, 34)[:d], periodic=periodic)
    layer = SpectralConvolution(1, 1, modes, periodic).double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, 0.0]))
    values = torch.ones(grid.n, dtype=torch.float64)
    for i, wraps in enumerate(periodic):
        x = grid.points[:, i]
        values = values * (
            torch.cos(2 * np.pi * 2 * x) + 0.5 * torch.sin(2 * np.pi * x) if wraps else torch.cos(2 * np.pi * x)
        )
    geometry = geometry_of(grid, torch.float64)
    found = layer.expand(layer.latent(layer.reduce(values[None, :, None], geometry)), geometry)
    limit = 1e-10 if all(periodic) else 2e-4  # integrals on closed axes are of a high order, but not spectral
    torch.testing.assert_close(found[0, :, 0], values, atol=limit, rtol=0)


def test_gradcheck():
    grid = geometry_of(Discretization.uniform((5, 6), periodic=(False, True)), torch.float64)
    layer = FourierLayer(2, 2, (False, True)).double()
    values = torch.randn(1, 30, 2, dtype=torch.float64, requires_grad=True)

    def call(a):
        return layer.expand(layer.latent(layer.reduce([a], grid)), [a], grid)

    assert torch.autograd.gradcheck(call, (values,))

"""Factored transforms equal the dense ones, in values and in every gradient."""

import pytest
import torch

from iaenet import Discretization
from iaenet.nn.axiswise import AxiswiseDecoder, AxiswiseEncoder
from iaenet.nn.coordinates import coordinate_features
from iaenet.nn.kernels import IntegralDecoder, IntegralEncoder, Sites
from iaenet.nn.latent import LatentNetwork
from tests.models.dense import densify, kernel_matrix

B, C, RANK = 2, 3, 5


def random_sites(d, dtype):
    """A closed tensor grid with clustered axes."""
    axes = [torch.linspace(0, 1, 5 + i, dtype=torch.float64) ** 1.5 for i in range(d)]
    grid = Discretization.tensor_grid(*axes)
    along = zip(grid.axes, grid.axis_weights, strict=True)
    lines = tuple(Sites(coordinate_features(x[:, None], (False,), 2), w) for x, w in along)
    whole = Sites(coordinate_features(grid.points, grid.periodic, 2), grid.weights, lines)
    return whole.like(torch.empty(0, dtype=dtype))


def pair(kind, d, auxiliary=True, depth=1):
    features, shape = [2] * d, [4, 3, 2][:d]
    options = {"auxiliary": auxiliary, "depth": depth}
    if kind == "axiswise":
        return AxiswiseEncoder(C, features, shape, RANK, **options), AxiswiseDecoder(
            C, features, shape, RANK, **options
        )
    m = torch.tensor(shape).prod().item()
    return IntegralEncoder(C, 2 * d, m, RANK, **options), IntegralDecoder(C, 2 * d, m, RANK, **options)


class Both(torch.nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, values, sites):
        return self.decoder(self.encoder(values, sites), values, sites)


def values_and_gradients(module, call, values):
    values = values.clone().requires_grad_()
    out = call(module, values)
    weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
    gradients = torch.autograd.grad((out * weights).sum(), [values, *module.parameters()])
    return [out.detach(), *gradients]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("kind", ["one layer", "axiswise", "linear kernels", "deep kernels"])
def test_factored_equals_dense(kind, d, dtype):
    options = {"auxiliary": kind != "linear kernels", "depth": 3 if kind == "deep kernels" else 1}
    encoder, decoder = pair(kind, d, **options)
    sites = random_sites(d, dtype)
    n = len(sites.weights)
    values = torch.randn(B, n, C, dtype=dtype)
    tolerance = 1e-10 if dtype == torch.float64 else 1e-5
    latent = torch.randn(B, encoder(values.float(), random_sites(d, torch.float32)).shape[1], C, dtype=dtype)
    for wrapped, call in (
        (torch.nn.ModuleList([encoder]), lambda module, v: module[0](v, sites)),
        (torch.nn.ModuleList([decoder]), lambda module, v: module[0](latent, v, sites)),
    ):
        if options["auxiliary"] is False and call(wrapped.to(dtype), values).shape[1] == n:
            continue  # a decoder with linear kernels does not look at the values: compared through the pair below
        found = values_and_gradients(wrapped.to(dtype), call, values)
        truth = values_and_gradients(densify(wrapped), call, values)
        for ours, dense in zip(found, truth, strict=True):
            assert (ours - dense).norm() <= tolerance * dense.norm()
    both = Both(*pair(kind, d, **options)).to(dtype)
    found = values_and_gradients(both, lambda module, v: module(v, sites), values)
    truth = values_and_gradients(densify(both), lambda module, v: module(v, sites), values)
    for ours, dense in zip(found, truth, strict=True):
        assert (ours - dense).norm() <= tolerance * dense.norm()


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("kind", ["one layer", "axiswise"])
def test_gradcheck(kind, d):
    module = Both(*pair(kind, d)).double()
    sites = random_sites(d, torch.float64)
    values = torch.randn(1, len(sites.weights), C, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: module(v, sites), (values,))
    parameter = next(p for name, p in module.named_parameters() if name.endswith("weight"))
    assert torch.autograd.gradcheck(lambda _: module(values.detach(), sites), (parameter,))


@pytest.mark.parametrize("dense", [True, False])
def test_latent_network(dense):
    network = LatentNetwork((3, 4), dense=dense, depth=2).double()
    v = torch.randn(2, 12, 3, dtype=torch.float64, requires_grad=True)
    assert network(v).shape == v.shape
    assert torch.autograd.gradcheck(network, (v,))


def test_axiswise_is_the_product_of_its_axes():
    encoder, decoder = pair("axiswise", 3, auxiliary=False)
    sites = random_sites(3, torch.float64)
    encoder.double(), decoder.double()
    values = torch.randn(1, len(sites.weights), C, dtype=torch.float64)
    K = [
        kernel_matrix(axis, None, where)[0] * where.weights[:, None]
        for axis, where in zip(encoder.axes, sites.axes, strict=True)
    ]
    grid = values.reshape(5, 6, 7, C)
    v = torch.einsum("xu,yv,zw,xyzc->uvwc", *K, grid).reshape(1, -1, C)
    torch.testing.assert_close(encoder(values, sites), v)
    L = [kernel_matrix(axis, None, where)[0] for axis, where in zip(decoder.axes, sites.axes, strict=True)]
    b = torch.einsum("xu,yv,zw,uvwc->xyzc", *L, v.reshape(4, 3, 2, C)).reshape(1, -1, C) / 24**0.5
    torch.testing.assert_close(decoder(v, values, sites), b)


def test_axis_mix_is_a_kronecker_product():
    mix = LatentNetwork((3, 4)).double().linear
    v = torch.randn(2, 12, 5, dtype=torch.float64)
    dense = torch.kron(*mix.axes) @ v + mix.bias
    torch.testing.assert_close(mix(v), dense)

"""An integral autoencoder with tables for kernels can be any linear map of functions in the band."""

import pytest
import torch

from iaenet import Discretization
from iaenet.block import DomainBranch
from iaenet.coefficients import CoefficientIAE
from iaenet.domain import Fourier
from iaenet.geometry import geometry_of


def branch(modes: int, periodic: bool, **options: bool | int) -> DomainBranch:
    domain = Fourier(modes)
    return DomainBranch(domain, CoefficientIAE(domain.sizes((periodic,)), 6, channels=2, **options)).double()


@pytest.mark.parametrize("periodic", [True, False])
def test_it_can_be_a_reflection(periodic):
    """`f(x) -> f(1 - x)` is no convolution: its table is diagonal, with -1 for what is odd about the middle."""
    made = branch(5, periodic, channel_mlp=False)
    signs = [1.0] * 6 + [-1.0] * 5 if periodic else [(-1.0) ** k for k in range(6)]
    with torch.no_grad():
        made.iae.linear.weight[0] = torch.diag(torch.tensor(signs))
        made.iae.gain.fill_(1)
        for zero in (made.iae.each, made.iae.decoder.weight):
            zero.zero_()
    geometry = geometry_of(Discretization.uniform(41, periodic=periodic), torch.float64)
    code = torch.randn(3, len(signs), 2, dtype=torch.float64)
    values = made.expand(code, torch.empty(0), torch.empty(0), geometry)  # a function in the band
    found = made.expand(made.latent(made.reduce(values, values, geometry)), values, values, geometry)
    mirrored = values.flip(1).roll(1, dims=1) if periodic else values.flip(1)
    torch.testing.assert_close(found, mirrored, rtol=0, atol=1e-7 if periodic else 2e-3)


def test_latent_values_are_mixed_by_tables():
    made = branch(3, True, depth=2, channel_mlp=False).iae
    c = torch.randn(2, 7, 2, dtype=torch.float64)
    E, H, D = made.encoder.weight[0], made.deeper[0].weight[0], made.decoder.weight[0]
    hidden = torch.nn.functional.gelu(torch.einsum("mp,bpc->bmc", E, c))
    hidden = torch.nn.functional.gelu(torch.einsum("mn,bnc->bmc", H, hidden))
    wanted = made.gain * (
        torch.einsum("pq,bqc->bpc", made.linear.weight[0], c) + torch.einsum("pm,bmc->bpc", D, hidden)
    )
    torch.testing.assert_close(made(c), wanted + made.each * c)

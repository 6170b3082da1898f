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
    torch.testing.assert_close(found, mirrored)


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


@pytest.mark.parametrize("periodic", [(True,), (False,), (False, True)])
def test_a_wide_band_is_scaled_and_only_its_low_part_mapped(periodic):
    domain = Fourier(2, wide=5)
    sizes, mapped = domain.sizes(periodic), domain.mapped(periodic)
    wide = CoefficientIAE(sizes, 4, channels=1, channel_mlp=False, mapped=mapped).double()
    narrow = CoefficientIAE(Fourier(2).sizes(periodic), 4, channels=1, channel_mlp=False).double()
    narrow.load_state_dict({**wide.state_dict(), "each": wide.each[mapped]})
    torch.nn.init.normal_(wide.each)
    torch.nn.init.zeros_(narrow.each)
    c = torch.randn(3, len(sizes), 1, dtype=torch.float64)
    image = wide(c) - wide.each * c
    torch.testing.assert_close(image[:, mapped], narrow(c[:, mapped]))
    high = torch.ones(len(sizes), dtype=torch.bool)
    high[mapped] = False
    assert high.any()
    assert not image[:, high].any()
    # What is mapped are the frequencies up to 2: a function of them alone is found among them alone.
    geometry = geometry_of(Discretization.uniform((24,) * len(periodic), periodic=periodic), torch.float64)
    low = Fourier(2).inverse(torch.randn(1, len(mapped), 1, dtype=torch.float64), geometry)
    assert domain.forward(low, geometry)[:, high].abs().max() < 1e-10

"""An integral autoencoder with matrices for kernels can be any linear map of functions in the band."""

import pytest
import torch

from iaenet import InvalidInputError
from iaenet.nn.branches import Fourier, SpectralIAE
from iaenet.nn.spectral_branch import CoefficientMap
from iaenet.nn.transform import Grid


def layer(modes, periodic, width=2, **options):
    return SpectralIAE(Fourier(modes), 6, **options).build(width, Grid((41,), (periodic,))).double()


def linear_only(iae):
    """Leave nothing but A."""
    with torch.no_grad():
        iae.gain.fill_(1)
        for zero in (iae.diagonal, iae.decoder.weight):
            zero.zero_()


@pytest.mark.parametrize("periodic", [True, False])
def test_it_can_be_a_reflection(periodic):
    """`f(x) -> f(1 - x)` is no convolution: its matrix is diagonal, with -1 for what is odd about the middle."""
    made = layer(5, periodic, channel_mlp=False)
    signs = [1.0] * 6 + [-1.0] * 5 if periodic else [(-1.0) ** k for k in range(6)]
    linear_only(made.iae)
    with torch.no_grad():
        made.iae.linear.weight[0] = torch.diag(torch.tensor(signs))
    code = torch.randn(3, len(signs), 2, dtype=torch.float64)
    values = made.decode(code, None)  # a function in the band
    mirrored = values.flip(1).roll(1, dims=1) if periodic else values.flip(1)
    torch.testing.assert_close(made(values), mirrored, rtol=0, atol=1e-12)


def test_latent_values_are_mixed_by_matrices():
    made = layer(3, True, depth=2, channel_mlp=False).iae
    c = torch.randn(2, 7, 2, dtype=torch.float64)
    E, H, D = made.encoder.weight[0], made.deeper[0].weight[0], made.decoder.weight[0]
    hidden = torch.nn.functional.gelu(torch.einsum("mp,bpc->bmc", E, c))
    hidden = torch.nn.functional.gelu(torch.einsum("mn,bnc->bmc", H, hidden))
    wanted = made.gain * (
        torch.einsum("pq,bqc->bpc", made.linear.weight[0], c) + torch.einsum("pm,bmc->bpc", D, hidden)
    )
    torch.testing.assert_close(made(c), wanted + made.diagonal * c)


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_each_group_of_channels_has_a_map_of_its_own(groups):
    made = CoefficientMap(4, 5, 1.0, groups).double()
    values = torch.randn(3, 4, 6, dtype=torch.float64)
    parts = [w @ part for w, part in zip(made.weight, values.chunk(groups, dim=-1), strict=True)]
    torch.testing.assert_close(made(values), torch.cat(parts, dim=-1))


def test_maps_to_begin_with_are_handed_round():
    """Three groups, two maps: the third group has the first again."""
    made = layer(3, False, width=6, groups=3, channel_mlp=False).iae
    maps = torch.randn(2, 4, 4, dtype=torch.float64)
    made.initialise(maps, torch.arange(4))
    with torch.no_grad():
        made.diagonal.zero_()
        made.decoder.weight.zero_()
    c = torch.randn(3, 4, 6, dtype=torch.float64)
    wanted = torch.cat([maps[i] @ part for i, part in zip((0, 1, 0), c.chunk(3, dim=-1), strict=True)], dim=-1)
    torch.testing.assert_close(made(c), wanted)


def test_groups_that_do_not_divide_the_width_are_refused():
    with pytest.raises(InvalidInputError, match="groups must divide the width 32, got 5"):
        layer(3, True, width=32, groups=5)

"""The integral autoencoder of the paper, on the points where a function is known."""

import math
from collections.abc import Sequence

from torch import Tensor, nn

from iaenet.nn.axiswise import AxiswiseDecoder, AxiswiseEncoder
from iaenet.nn.kernels import IntegralDecoder, IntegralEncoder, KernelOptions, Sites
from iaenet.nn.latent import LatentNetwork
from iaenet.nn.pointwise import ChannelMLP, full_precision


class IAE(nn.Module):
    """Integral autoencoder `Phi: a -> v -> u -> b` (section iae): encoder, phi_0, decoder.

    Args:
        channels: components of the function.
        coordinates: features of each axis, see `coordinate_features`.
        shape: the latent points along each axis.
        rank: hidden width r of both kernels.
        auxiliary: kernels see function values; False gives the paper's linear kernels.
        channel_mlp: a channel MLP on the latent values.
        depth: hidden layers of phi_0, phi_1 and phi_2.
        dense: phi_0 mixes all latent points with full matrices instead of axis by axis.
        axiswise: transform a tensor grid along each axis in turn (the paper's 2-layer IAE).

    >>> import torch
    >>> x = torch.linspace(0, 1, 50)[:, None]
    >>> IAE(3, [1], [16], 8)(torch.rand(2, 50, 3), Sites(x, torch.full((50,), 0.02))).shape
    torch.Size([2, 50, 3])
    """

    def __init__(
        self,
        channels: int,
        coordinates: Sequence[int],
        shape: Sequence[int],
        rank: int,
        *,
        auxiliary: bool = True,
        channel_mlp: bool = True,
        depth: int = 1,
        dense: bool = False,
        axiswise: bool = False,
    ) -> None:
        super().__init__()
        options: KernelOptions = {"auxiliary": auxiliary, "depth": depth}
        self.encoder: IntegralEncoder | AxiswiseEncoder
        self.decoder: IntegralDecoder | AxiswiseDecoder
        if axiswise:
            self.encoder = AxiswiseEncoder(channels, coordinates, shape, rank, **options)
            self.decoder = AxiswiseDecoder(channels, coordinates, shape, rank, self.encoder.kernel, **options)
        else:
            sizes = channels, sum(coordinates), math.prod(shape), rank
            self.encoder = IntegralEncoder(*sizes, **options)
            self.decoder = IntegralDecoder(*sizes, self.encoder.kernel, **options)
        self.mix = ChannelMLP(channels) if channel_mlp else nn.Identity()
        self.phi_0 = LatentNetwork(shape, dense=dense, depth=depth)

    def encode(self, a: Tensor, sites: Sites) -> tuple[Tensor, Tensor]:
        """Values `(b, n, c)` -> the decoder's code, and the kernel's hidden values, which both transforms share."""
        z = self.encoder.local(a, sites)
        moments = self.encoder.reduce(a, sites, z)
        with full_precision(moments):  # only the kernel networks follow autocast, see `pointwise.py`
            v = self.encoder.latent(moments)
            u = self.phi_0(self.mix(v))
            return self.decoder.code(u), z

    def decode(self, code: Tensor, a: Tensor, sites: Sites, z: Tensor | None = None) -> Tensor:
        """Values `(b, n, c)` of b; `a` are the values of the input at the same points."""
        return self.decoder.expand(code, a, sites, z)

    def forward(self, a: Tensor, sites: Sites) -> Tensor:
        """Values `(b, n, c)` -> `(b, n, c)` on the same points."""
        code, z = self.encode(a, sites)
        return self.decode(code, a, sites, z)

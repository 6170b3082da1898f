"""The integral autoencoder on the coefficients of a domain."""

import math

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.nn.pointwise import ChannelMLP


class CoefficientMap(nn.Module):
    """A linear map from p to q coefficients, the same for every channel, or for each of some `groups` of channels.

    Muon does not take it: orthogonalising so large a matrix costs more than the rest of the step.
    """

    def __init__(self, before: int, after: int, scale: float, groups: int = 1) -> None:
        super().__init__()
        self.weight = nn.Parameter(scale * torch.randn(groups, after, before))

    def forward(self, values: Tensor) -> Tensor:
        """Coefficients `(b, p, c)` -> `(b, q, c)`."""
        b, p, c = values.shape
        groups, q, _ = self.weight.shape
        parts = values.reshape(b, p, groups, c // groups).permute(2, 1, 0, 3).reshape(groups, p, -1)
        return torch.bmm(self.weight, parts).reshape(groups, q, b, -1).permute(2, 1, 0, 3).reshape(b, q, c)


class CoefficientIAE(nn.Module):
    """`s c + gain (A v + D sigma(E v))`, `v = mlp(c)` the p coefficients of each channel after the channel MLP.

    There are p coefficients whatever the discretization, so a kernel phi_1(k, z) needs no network here: it is the
    matrix E of its values at p coefficients and `latent` points, and phi_2 is D. The linear path A keeps amplitudes,
    as that of `LatentNetwork` does. It is not squeezed through the latent points: it can be any linear map of functions
    in the band. s has a number for each coefficient and channel.

    `sizes (p,)` is where `gain` begins. `depth` counts hidden layers. Each of `groups` of channels has an A of its own.
    """

    muon = ("diagonal",)

    def __init__(
        self,
        sizes: Tensor,
        latent: int,
        channels: int,
        *,
        channel_mlp: bool = True,
        depth: int = 1,
        groups: int = 1,
    ) -> None:
        super().__init__()
        if groups < 1 or channels % groups:
            raise InvalidInputError(f"groups must divide the width {channels}, got {groups}")
        p = len(sizes)
        self.diagonal = nn.Parameter(torch.ones(p, channels))
        self.mix = ChannelMLP(channels) if channel_mlp else nn.Identity()
        self.linear = CoefficientMap(p, p, 1 / math.sqrt(p), groups)
        # Squares of the coefficients of a function sum to its mean square: E gives values of about the function's size.
        self.encoder = CoefficientMap(p, latent, 1.0)
        self.bias = nn.Parameter(torch.zeros(latent, 1))
        self.deeper = nn.ModuleList(CoefficientMap(latent, latent, 1 / math.sqrt(latent)) for _ in range(depth - 1))
        self.decoder = CoefficientMap(latent, p, 1 / math.sqrt(p * latent))
        self.gain = nn.Parameter(sizes[:, None].to(torch.get_default_dtype()))

    @torch.no_grad()
    def initialise(self, maps: Tensor, where: Tensor) -> None:
        """Let A be linear maps `(k, q, q)` between these coefficients at first, one for each group, over and over."""
        for group, table in enumerate(self.linear.weight):
            table.zero_()
            table[where[:, None], where] = maps[group % len(maps)] / self.gain[where]

    def forward(self, coefficients: Tensor) -> Tensor:
        """Coefficients `(b, p, c)` -> `(b, p, c)`."""
        v = self.mix(coefficients)
        hidden = nn.functional.gelu(self.encoder(v) + self.bias)
        for layer in self.deeper:
            hidden = nn.functional.gelu(layer(hidden))
        image = self.gain * (self.linear(v) + self.decoder(hidden))
        return torch.addcmul(image, self.diagonal, coefficients)

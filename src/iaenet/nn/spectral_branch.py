"""Branches on coefficients: an integral autoencoder in the spectral domain, and a convolution."""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.basis import Trigonometric
from iaenet.nn.branch import Branch, BranchLayer, branch
from iaenet.nn.domains import Fourier, Wavelet
from iaenet.nn.pointwise import ChannelMLP
from iaenet.nn.spectral import SpectralConvolution
from iaenet.nn.transform import Grid


@branch("spectral-iae")
@dataclass(frozen=True)
class SpectralIAE(Branch):
    """`F^-1 Phi_2(F a)`: an integral autoencoder on the coefficients of a basis (eq. multichannel).

    `latent` is the number of latent points, of all axes together; each of `groups` of channels has a linear map between
    coefficients of its own.
    """

    basis: Fourier | Wavelet = field(default_factory=lambda: Fourier(24))
    latent: int = 64
    groups: int = 1
    channel_mlp: bool = True
    depth: int = 1

    def build(self, width: int, grid: Grid) -> BranchLayer:
        """The layer."""
        return _SpectralLayer(self, width, grid)


class _SpectralLayer(BranchLayer):
    def __init__(self, spec: SpectralIAE, width: int, grid: Grid) -> None:
        super().__init__()
        if not hasattr(spec.basis, "transform"):
            raise InvalidInputError(f"expected a basis such as Fourier(24) or Wavelet(5), got {spec.basis!r}")
        self.basis, self.grid = spec.basis, grid
        self._transform = spec.basis.transform(grid)
        self.iae = CoefficientIAE(
            spec.basis.sizes(grid),
            spec.latent,
            width,
            channel_mlp=spec.channel_mlp,
            depth=spec.depth,
            groups=spec.groups,
        )

    def encode(self, a: Tensor) -> tuple[Tensor, Any]:
        return self.iae(self._transform.analyse(a)), None

    def decode(self, code: Tensor, memory: Any) -> Tensor:  # noqa: ARG002 - as every branch
        return self._transform.synthesise(code)

    def forward(self, a: Tensor) -> Tensor:
        return self.decode(*self.encode(a))

    def initialise(self, maps: Tensor, modes: int) -> None:
        """Let the linear maps between Fourier coefficients of so many modes be `maps (k, p, p)` at first.

        Of bands that differ it is what they share; the rest is zero.
        """
        if isinstance(self.basis, Fourier):
            own, there = (Trigonometric(count) for count in (self.grid.held(self.basis.modes), modes))
            shared = min(own.modes, modes)
            where, of = (one.places(shared, self.grid.periodic) for one in (own, there))
            self.iae.initialise(maps[:, of[:, None], of], where)


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


@branch("spectral-conv")
@dataclass(frozen=True)
class SpectralConv(Branch):
    """`F^-1 (R F a)`: a linear map with a matrix for each of `modes` harmonics, the same at every place."""

    modes: int

    def build(self, width: int, grid: Grid) -> BranchLayer:
        """The layer."""
        return _SpectralConvLayer(self, width, grid)


class _SpectralConvLayer(BranchLayer):
    def __init__(self, spec: SpectralConv, width: int, grid: Grid) -> None:
        super().__init__()
        self.convolution = SpectralConvolution(width, width, grid.held(spec.modes), grid.periodic)
        self._transform = self.convolution.transform(grid.shape)

    def encode(self, a: Tensor) -> tuple[Tensor, Any]:
        return self.convolution.product(self._transform.analyse(a)), None

    def decode(self, code: Tensor, memory: Any) -> Tensor:  # noqa: ARG002 - as every branch
        return self._transform.synthesise(code)

    def forward(self, a: Tensor) -> Tensor:
        return self.decode(*self.encode(a))

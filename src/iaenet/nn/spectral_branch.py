"""Branches on coefficients: an integral autoencoder in the spectral domain, and a convolution."""

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.basis import Trigonometric
from iaenet.nn.branch import Branch, BranchLayer, branch
from iaenet.nn.coefficients import CoefficientIAE
from iaenet.nn.domains import Fourier, Wavelet
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

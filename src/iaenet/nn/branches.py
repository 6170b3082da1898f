"""Branches of a block: what happens to a function on the latent grid, each an object that says so.

A branch is a small frozen object, kept in files by its name and numbers; `build(width, grid)` makes the layer, whose
`forward` takes values `(b, s_1 .. s_d, c)`, flattened to `(b, s, c)`, to values of the same shape. A branch of your own
is a dataclass with `build`, under a name by `@branch("...")`; `docs/branches.md` has one in twenty lines.
"""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.basis import Cardinal, Trigonometric, Wavelets
from iaenet.nn.coefficients import CoefficientIAE
from iaenet.nn.coordinates import coordinate_count, coordinate_features
from iaenet.nn.iae import IAE
from iaenet.nn.kernels import Sites
from iaenet.nn.levels import GridLevels
from iaenet.nn.local import GridConvolutions
from iaenet.nn.spectral import SpectralConvolution
from iaenet.nn.transform import Grid, GridTransform

T = TypeVar("T")
_KNOWN: dict[str, type[Any]] = {}


def branch(name: str) -> Callable[[type[T]], type[T]]:
    """Give a branch, or a basis of one, the name under which files know it."""

    def named(made: type[T]) -> type[T]:
        made.name = name  # type: ignore[attr-defined]
        _KNOWN[name] = made
        return made

    return named


class Branch:
    """What a block needs of a branch: a frozen dataclass below this, under a name by `@branch("...")`."""

    name: ClassVar[str] = ""

    def build(self, width: int, grid: Grid) -> "BranchLayer":
        """The layer for functions of `width` channels on a grid."""
        raise NotImplementedError


class BranchLayer(nn.Module):
    """A layer on the grid: `forward`, or `encode` and `decode` where the decoder is linear, channel by channel.

    A block multiplies codes by its merge matrix instead of values, which are more.
    """

    autocast: ClassVar[bool] = False  # whether the layer knows what may follow autocast; else it is in full precision

    def encode(self, a: Tensor) -> tuple[Tensor, Any]:
        """Values `(b, s, c)` -> a code `(b, q, c)`, and what the decoder needs besides."""
        return self(a), None

    def decode(self, code: Tensor, memory: Any) -> Tensor:  # noqa: ARG002 - some need it
        """A code `(b, q, c')` -> values `(b, s, c')`."""
        return code

    def initialise(self, maps: Tensor, modes: int) -> None:
        """Begin with linear maps `(k, p, p)` between Fourier coefficients of so many modes, where that applies."""


def to_plain(part: Any) -> Any:
    """A branch as names and numbers.

    >>> to_plain(SpectralConv(8))
    {'name': 'spectral-conv', 'modes': 8}
    """
    if not dataclasses.is_dataclass(part) or not hasattr(part, "name"):
        return part
    values = {f.name: to_plain(getattr(part, f.name)) for f in dataclasses.fields(part)}
    return {"name": part.name, **values}


def from_plain(given: Any) -> Any:
    """The branch of `to_plain`, or the branch itself.

    >>> from_plain({"name": "spectral-iae", "basis": {"name": "wavelet", "levels": 4}, "latent": 8}).basis
    Wavelet(levels=4, wavelet='db6')
    """
    if not isinstance(given, Mapping):
        return given
    options = {key: from_plain(value) for key, value in given.items() if key != "name"}
    name = given.get("name")
    if name not in _KNOWN:
        raise InvalidInputError(f"no branch {name!r}; there are {', '.join(sorted(_KNOWN))}")
    try:
        return _KNOWN[name](**options)
    except TypeError as error:
        raise InvalidInputError(f"branch {name}: {str(error).split('() ')[-1]}") from None


@branch("fourier")
@dataclass(frozen=True)
class Fourier:
    """The frequency domain: `c_k = int f(x) e_k(x) dx` for the lowest `modes` harmonics of each axis.

    A grid that holds fewer has those that it holds.
    """

    modes: int

    def transform(self, grid: Grid) -> GridTransform:
        """Coefficients of values on a grid, and back."""
        return GridTransform(grid, Trigonometric(grid.held(self.modes)))

    def sizes(self, grid: Grid) -> Tensor:
        """Coefficients of an output at first, with squares that sum to 1: smooth functions, `(1 + |k|)^-0.5`."""
        sizes = torch.ones(1, dtype=torch.float64)
        for wraps in grid.periodic:
            frequencies = Trigonometric(grid.held(self.modes)).frequencies(wraps)
            sizes = torch.outer(sizes, 1 / (1 + frequencies.abs()) ** 0.5).reshape(-1)
        return sizes / sizes.norm()


@branch("wavelet")
@dataclass(frozen=True)
class Wavelet:
    """The wavelet domain: `c_{j,l} = int f(x) psi_{j,l}(x) dx` of the coarsest `levels` scales.

    `wavelet` is any orthogonal wavelet of PyWavelets.
    """

    levels: int = 5
    wavelet: str = "db6"

    def transform(self, grid: Grid) -> GridTransform:
        """Coefficients of values on a grid, and back."""
        if 2**self.levels > min(grid.shape):
            raise InvalidInputError(f"wavelets of {self.levels} levels need {2**self.levels} points along each axis")
        return GridTransform(grid, Wavelets(self.levels, self.wavelet))

    def sizes(self, grid: Grid) -> Tensor:
        """All alike."""
        count = 2 ** (self.levels * len(grid.shape))
        return torch.full((count,), count**-0.5, dtype=torch.float64)


@branch("point-iae")
@dataclass(frozen=True)
class PointIAE(Branch):
    """`Phi_1(a)`: an integral autoencoder in the original domain, whose kernels see the function (section iae).

    `latent` points along each axis, hidden width `rank` of the kernels; `harmonics` of the coordinates, see
    `coordinate_features`; the other options are those of `IAE`.
    """

    latent: int = 64
    rank: int = 64
    harmonics: int = 1
    auxiliary: bool = True
    channel_mlp: bool = True
    depth: int = 1
    dense: bool = False
    axiswise: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Those of `IAE`."""
        return {key: getattr(self, key) for key in ("auxiliary", "channel_mlp", "depth", "dense", "axiswise")}

    def build(self, width: int, grid: Grid) -> BranchLayer:
        """The layer."""
        return _PointLayer(self, width, grid)


class _PointLayer(BranchLayer):
    autocast = True

    def __init__(self, spec: PointIAE, width: int, grid: Grid) -> None:
        super().__init__()
        features = [coordinate_count((wraps,), spec.harmonics) for wraps in grid.periodic]
        self.iae = IAE(width, features, (spec.latent,) * len(grid.shape), spec.rank, **spec.options)
        self._sites = grid_sites(grid, spec.harmonics)

    def encode(self, a: Tensor) -> tuple[Tensor, Any]:
        sites = self._sites.like(a)
        code, z = self.iae.encode(a, sites)
        return code, (a, z, sites)

    def decode(self, code: Tensor, memory: Any) -> Tensor:
        a, z, sites = memory
        return self.iae.decode(code, a, sites, z)

    def forward(self, a: Tensor) -> Tensor:
        return self.decode(*self.encode(a))


def grid_sites(grid: Grid, harmonics: int) -> Sites:
    """Coordinates as features and quadrature weights of the nodes."""
    points = torch.cartesian_prod(*grid.nodes).reshape(-1, len(grid.shape))
    weights = torch.ones(1, dtype=torch.float64)
    for along in grid.weights:
        weights = torch.outer(weights, along).flatten()
    axes = zip(grid.nodes, grid.weights, grid.periodic, strict=True)
    return Sites(
        coordinate_features(points, grid.periodic, harmonics),
        weights,
        tuple(Sites(coordinate_features(x[:, None], (wraps,), harmonics), w) for x, w, wraps in axes),
    )


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
        """Let the linear maps between Fourier coefficients of so many modes be `maps (k, p, p)` at first."""
        if isinstance(self.basis, Fourier) and self.grid.held(self.basis.modes) == modes:
            self.iae.initialise(maps)


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


@branch("grid-conv")
@dataclass(frozen=True)
class GridConv(Branch):
    """`C_2 sigma(C_1 a)`: convolutions of `kernel_size` points on a grid of `size` points along each axis.

    Without `size` that is the latent grid itself; else values are taken there and back by trigonometric functions.
    """

    size: int | None = None
    kernel_size: int = 3

    def build(self, width: int, grid: Grid) -> BranchLayer:
        """The layer."""
        own = _own_grid(self.size, grid)
        return _ResampledLayer(GridConvolutions(own.shape, width, grid.periodic, self.kernel_size), own, grid)


@branch("grid-unet")
@dataclass(frozen=True)
class GridUNet(Branch):
    """A U-Net that halves the grid `depth` times, with layers of `attention` on the first level of at most 128 points.

    Channels double from level to level, up to 8 times. `size` as for `GridConv`.
    """

    depth: int = 3
    attention: int = 0
    size: int | None = None
    kernel_size: int = 3

    def build(self, width: int, grid: Grid) -> BranchLayer:
        """The layer."""
        own = _own_grid(self.size, grid)
        levels = GridLevels(
            own.shape, width, grid.periodic, self.kernel_size, levels=self.depth, attention=self.attention
        )
        return _ResampledLayer(levels, own, grid)


class _ResampledLayer(BranchLayer):
    """A layer on another uniform grid of the same box."""

    def __init__(self, layer: nn.Module, own: Grid, grid: Grid) -> None:
        super().__init__()
        self.layer = layer
        self._transform = None
        if own != grid:
            count = own.shape[0]
            self._transform = GridTransform(grid, Cardinal(count, dual=True), Cardinal(count))

    def encode(self, a: Tensor) -> tuple[Tensor, Any]:
        return self.layer(a if self._transform is None else self._transform.analyse(a)), None

    def decode(self, code: Tensor, memory: Any) -> Tensor:  # noqa: ARG002 - as every branch
        return code if self._transform is None else self._transform.synthesise(code)

    def forward(self, a: Tensor) -> Tensor:
        return self.decode(*self.encode(a))


def _own_grid(size: int | None, grid: Grid) -> Grid:
    if size is None:
        return grid
    if not 4 <= size <= min(grid.shape):
        raise InvalidInputError(
            f"a grid of {size} points along each axis is none of 4 to {min(grid.shape)}, which the latent grid holds"
        )
    return Grid((size,) * len(grid.shape), grid.periodic)

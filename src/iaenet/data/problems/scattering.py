"""Scattering: from a medium of Gaussian bumps to its far field, or back."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from iaenet.data.problems.helmholtz import Background, born, far_field
from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

MARGIN = 3  # standard deviations of a bump that must lie between its centre and the absorbing layer


@dataclass(frozen=True)
class Scattering:
    """`eta -> R`, the far field of `-Lap u - (omega^2 + eta) u = 0`; `direction="inverse"` gives `R -> eta`.

        m(x) = sum_i amplitude exp(-|x - c_i|^2 / (2 std^2)),     eta = -omega^2 m,     omega = 2 pi K
        R[r, s] = h^2 / (2 pi) UI_r^H diag(eta) (UI_s + U_s),     c_i uniform in [-spread, spread]^2

    A resolution is N, grid points per axis: 81, 108 and 162 are 9, 12 and 18 points per wavelength for K = 9. `eta` is
    given at the nodes `i / (N + 1) - 1/2`, `R` at N x N angles (receiver, source) `2 pi j / N`, as real and imaginary
    part. Nine points per wavelength are dispersive: R changes with N beyond sampling, as in the published data.

    wavelengths: K, wavelengths per side of the unit square. Default 9.
    amplitude: height of a bump, relative to the background. Default 0.2.
    std: standard deviation of a bump, in sides of the square. Default 0.015.
    scatterers: number of bumps. Default 4.
    spread: centres lie in `[-spread, spread]^2`, in sides of the square. Default 0.3.
    pml_cells: width of the absorbing layer, in grid cells. Default 8.
    pml_strength: strength of the absorbing layer. Default 10.
    published_sign: give `UI^H diag(eta) (UI - U)`, the sign of the released script, about 30 % off. Default False.
    direction: "forward" (eta -> R) or "inverse" (R -> eta). Default "forward".
    base: solve on this grid only, and give every k-th node and angle of it: base = 81 gives 81, 41 and 27 points
        (k = 1, 2, 3), the coarse sizes of the published data. Default None: solve at the resolution asked for.
    images: give both functions on one periodic unit square, entry j of N at `j / N`, for networks that need input and
        output in one domain: the medium at `j / N - 1/2`, which is zero near the edges, the far field at the angles
        `2 pi j / N`. `base` then counts cells, and N divides it; without `base` there are N cells. Default False.
    closed: with `images`, a closed unit square instead, as arrays are drawn: entry i of N at `i / (N - 1)`, or with
        `base`, which counts points as without images, at its position among those of the base grid. Default False.

    >>> pair = Scattering().record(np.random.default_rng(0), [81])[0][81]
    >>> pair.input.shape, pair.output.shape
    ((6561, 1), (6561, 2))
    >>> pairs = Scattering(base=81).record(np.random.default_rng(0), [27, 41])[0]
    >>> bool(np.all(pairs[27].output[:27] == pair.output[: 81 : 3]))
    True
    """

    wavelengths: float = 9
    amplitude: float = 0.2
    std: float = 0.015
    scatterers: int = 4
    spread: float = 0.3
    pml_cells: int = 8
    pml_strength: float = 10
    published_sign: bool = False
    direction: Literal["forward", "inverse"] = "forward"
    base: int | None = None
    images: bool = False
    closed: bool = False

    name: ClassVar[str] = "scattering"
    dim: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.direction not in ("forward", "inverse"):
            raise InvalidInputError(f"direction must be 'forward' or 'inverse', got {self.direction!r}")
        if self.scatterers < 1 or not 0 < self.std < np.inf or not np.isfinite(self.amplitude):
            raise InvalidInputError(
                f"needs scatterers >= 1, std > 0 and a finite amplitude, "
                f"got {self.scatterers}, {self.std} and {self.amplitude}"
            )
        if not 0 <= self.spread < 0.5:
            raise InvalidInputError(f"spread must lie in [0, 0.5), half a side of the square; got {self.spread}")
        if not (0 < self.wavelengths < np.inf and self.pml_cells >= 1 and 0 <= self.pml_strength < np.inf):
            raise InvalidInputError(
                f"needs wavelengths > 0, pml_cells >= 1 and pml_strength >= 0, "
                f"got {self.wavelengths}, {self.pml_cells} and {self.pml_strength}"
            )
        if self.closed and not self.images:
            raise InvalidInputError("closed is an option of images; set images too")
        if self.base is not None:
            self._background(self.base - self._periodic)

    @property
    def _periodic(self) -> bool:
        """Whether both functions are given on one periodic square."""
        return self.images and not self.closed

    @property
    def windows(self) -> int:
        """1: records are single samples."""
        return 1

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """`(eta,)`, or for the inverse problem `(R_real, R_imag)`."""
        return _MEDIUM if self.direction == "forward" else _FAR_FIELD

    @property
    def outputs(self) -> tuple[Channel, ...]:
        """`(R_real, R_imag)`, or for the inverse problem `(eta,)`."""
        return _FAR_FIELD if self.direction == "forward" else _MEDIUM

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One medium and its far field at each N of `resolutions`."""
        centres = rng.uniform(-self.spread, self.spread, size=(self.scatterers, 2))
        pairs: dict[int, tuple[Array, Array]] = {}
        samples = {}
        angles = int(np.lcm.reduce(list(resolutions))) if self._periodic and self.base else None
        for resolution in resolutions:
            n, stride = self._grid(resolution)
            if n not in pairs:
                pairs[n] = self._solve(centres, self._background(n), angles or n + self._periodic)
            samples[resolution] = self._sample(*pairs[n], resolution, stride)
        return [samples]

    def medium(self, centres: Array, background: Background) -> Array:
        """`eta (n, n)` of bumps at `centres (k, 2)`.

        >>> problem, grid = Scattering(), Background(81)
        >>> round(float(problem.medium(np.zeros((1, 2)), grid)[40, 40] / grid.omega**2), 12)
        -0.2
        """
        distance = background.nodes[:, None] - centres.T[:, None, :]  # (2, n, k)
        first, second = np.exp(-(distance**2) / (2 * self.std**2))
        return np.asarray(-(background.omega**2) * self.amplitude * (first @ second.T))

    def _sample(self, eta: Array, R: Array, resolution: int, stride: int) -> Sample:
        n = len(eta)
        if self._periodic:
            eta = np.pad(eta, ((1, 0), (1, 0)))  # nodes begin one cell from the edge, where the medium is zero
            nodes = angles = _torus(resolution)
            R = R[:: len(R) // resolution, :: len(R) // resolution]
        else:
            nodes, angles = (_pixels(n, stride),) * 2 if self.images else (_nodes(n, stride), _angles(n, stride))
            R = R[::stride, ::stride]
        eta, R = (values.reshape(resolution**2, -1) for values in (eta[::stride, ::stride], R))
        return Sample(eta, R, nodes, angles) if self.direction == "forward" else Sample(R, eta, angles, nodes)

    def _solve(self, centres: Array, background: Background, angles: int) -> tuple[Array, Array]:
        eta = self.medium(centres, background)
        R = far_field(eta, background, angles)
        if self.published_sign:
            R = 2 * born(eta, background, angles) - R
        return eta, np.stack([R.real, R.imag], axis=-1)

    def _grid(self, resolution: int) -> tuple[int, int]:
        """Nodes of the grid that is solved on, and the stride that takes it to `resolution` points per axis."""
        if self.base is None:
            return resolution - self._periodic, 1
        for stride in range(1, self.base + 1):
            if -(-self.base // stride) == resolution and (self.base % stride == 0 or not self._periodic):
                return self.base - self._periodic, stride
        wanted = "a divisor of base" if self._periodic else "ceil(base / k)"
        raise InvalidInputError(
            f"no stride of base = {self.base} gives {resolution} points; ask for {wanted}, or leave base out"
        )

    def _background(self, n: int) -> Background:
        background = Background(n, self.wavelengths, self.pml_cells, self.pml_strength)
        room = 0.5 - self.pml_cells * background.h
        if self.spread + MARGIN * self.std > room:
            raise InvalidInputError(
                f"on {n} points the absorbing layer starts at {room:.3f}, and bumps reach {self.spread} + {MARGIN} * "
                f"{self.std}; use more points, or a finer base="
            )
        return background


_MEDIUM = (Channel("eta"),)
_FAR_FIELD = (Channel("R_real"), Channel("R_imag"))


@lru_cache(maxsize=16)
def _nodes(n: int, stride: int) -> Discretization:
    axis = (np.arange(1, n + 1) / (n + 1) - 0.5)[::stride]
    return Discretization.tensor_grid(axis, axis, bounds=[(-0.5, 0.5)] * 2)


@lru_cache(maxsize=16)
def _angles(n: int, stride: int) -> Discretization:
    # a stride that does not divide n leaves one shorter gap, from the last angle to the first
    axis = (2 * np.pi * np.arange(n) / n)[::stride]
    return Discretization.tensor_grid(axis, axis, bounds=[(0, 2 * np.pi)] * 2, periodic=True)


@lru_cache(maxsize=16)
def _torus(n: int) -> Discretization:
    return Discretization.uniform((n, n), periodic=True)


@lru_cache(maxsize=16)
def _pixels(n: int, stride: int) -> Discretization:
    axis = np.linspace(0, 1, n)[::stride]
    return Discretization.tensor_grid(axis, axis, bounds=[(0, 1)] * 2)

"""A discretization as the layers of a network see it: the unit box, weights of total one, the network's precision."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iaenet import fast, quadrature
from iaenet.discretization import Discretization
from iaenet.errors import InvalidInputError
from iaenet.even_rule import KRIGING, closed_rule, is_even
from iaenet.line_rule import IN_SPLINE, local_cubics, spline
from iaenet.plane_rule import NEIGHBOURS, ScatteredTaps
from iaenet.pointwise import full_precision
from iaenet.recent import recent

# Uneven points beyond this many, on a line or in a square, are integrated by weighted sums, which can be streamed.
DENSE = {1: 2**17, 2: 2**14}


class Basis(Protocol):
    """Functions on one axis of the unit box, `p` of them, evaluated at points `x (s,)` -> `(s, p)`."""

    key: tuple[object, ...]

    def functions(self, x: Tensor, periodic: bool) -> Tensor: ...


class Constant:
    """The function 1: what is integrated against it is integrated."""

    key: tuple[object, ...] = ("constant",)

    def functions(self, x: Tensor, periodic: bool) -> Tensor:  # noqa: ARG002 - as every basis
        """Ones `(s, 1)`."""
        return torch.ones_like(x)[:, None]


@dataclass(frozen=True)
class Sites:
    """Places of a function for the integral layers: coordinates as features, and quadrature weights."""

    coordinates: Tensor  # (n, f)
    weights: Tensor  # (n,)
    axes: tuple["Sites", ...] = ()  # along each axis of a tensor grid, for the axis-wise transforms


class Geometry:
    """Coordinates in [0, 1]^d, weights `w_i / volume`, and the bases that layers ask for, each made once.

    On a tensor grid everything is kept per axis, and a transform runs axis by axis: `O(n p)` instead of `O(n p^d)`.
    """

    def __init__(
        self,
        points: Tensor,
        weights: Tensor,
        axes: tuple[tuple[Tensor, Tensor], ...] | None,
        periodic: tuple[bool, ...],
        dtype: torch.dtype,
        asked: bool = False,
    ) -> None:
        self.points = points  # (n, d) float64
        self.weights = weights  # (n,) float64
        self.axes = axes  # coordinates and weights along each axis, float64, or None
        self.periodic = periodic
        self.dtype = dtype
        self.asked = asked  # functions are only asked for here, not integrated: no better rule is looked for
        self.n = points.shape[0]
        self.whole: tuple[Geometry, slice] | None = None  # the geometry that this one is a piece of, and where
        self._made: dict[tuple[object, ...], tuple[Tensor, ...]] = {}
        self._taps: ScatteredTaps | None = None  # kept while bases are prepared, since all need it

    @classmethod
    def of(cls, discretization: Discretization, dtype: torch.dtype, asked: bool = False) -> "Geometry":
        """The geometry of a discretization, in the unit box."""
        low = discretization.bounds[:, 0]
        size = discretization.bounds[:, 1] - low
        axes = None
        if discretization.axes is not None:
            axes = tuple(
                ((axis - low[i]) / size[i], weights / size[i])
                for i, (axis, weights) in enumerate(zip(discretization.axes, discretization.axis_weights, strict=True))
            )
        points = (discretization.points - low) / size
        return cls(points, discretization.weights / discretization.volume, axes, discretization.periodic, dtype, asked)

    @cached_property
    def uniform(self) -> tuple[int, ...] | None:
        """Points along each axis of a tensor grid of evenly spaced points that fill the box, else None."""
        if self.axes is None:
            return None
        for (x, _), wraps in zip(self.axes, self.periodic, strict=True):
            even = torch.arange(len(x)).to(x) / max(1, len(x) - (not wraps))
            if not torch.allclose(x, even, rtol=0, atol=1e-9):
                return None
        return tuple(len(x) for x, _ in self.axes)

    def sites(self, harmonics: int) -> Sites:
        """Coordinates as kernel and lift see them (see `coordinate_features`), with the weights."""
        parts = self._make(("sites", harmonics), lambda: self._sites(harmonics))
        axes = tuple(Sites(x, w) for x, w in zip(parts[2::2], parts[3::2], strict=True))
        return Sites(parts[0], parts[1], axes)

    def _sites(self, harmonics: int) -> tuple[Tensor, ...]:
        weights = self._best_weights()
        product = weights[0]
        for along in weights[1:]:
            product = torch.outer(product, along).flatten()
        parts = [coordinate_features(self.points, self.periodic, harmonics), product]
        if self.axes is not None:
            for (x, _), along, wraps in zip(self.axes, weights, self.periodic, strict=True):
                parts += [coordinate_features(x[:, None], (wraps,), harmonics), along]
        return tuple(parts)

    def _best_weights(self) -> tuple[Tensor, ...]:
        """The weights, along each axis of a tensor grid; where it is better, of the integral of an interpolant."""
        whole, places = self.whole or (self, slice(None))
        if whole._is_uneven:
            return (whole._make(("weights",), lambda: (whole._interpolated(Constant()),))[0][0, places],)
        if self.axes is None:
            return (self.weights,)
        return tuple(self._along(Constant(), axis)[0] for axis in range(len(self.axes)))

    def prepare(self, harmonics: int, bases: Sequence[tuple[Basis, Basis]]) -> None:
        """Make coordinates and bases (for analysis, for synthesis) ahead of their use, outside compiled code."""
        self.sites(harmonics)
        for analysis, synthesis in bases:
            if not self.asked:
                self._analysis(analysis)
            self._synthesis(synthesis)
        self._taps = None

    def analyse(self, basis: Basis, values: Tensor) -> Tensor:
        """`c_p = sum_i w_i B_p(x_i) f(x_i)`: values `(b, n, c)` -> coefficients `(b, p_1 ... p_d, c)`."""
        matrices = self._analysis(basis)
        b, _, c = values.shape
        rest = c
        with full_precision(values):
            # The last axis first: what is left of the grid stays in front as batch.
            for axis, matrix in reversed(list(enumerate(matrices))):
                if matrix.numel():
                    values = matrix @ values.reshape(-1, matrix.shape[1], rest)
                else:
                    s, modes = self._wide(basis, axis)
                    values = fast.analyse(values.reshape(-1, s, rest), modes, self.periodic[axis])
                rest *= values.shape[1]
        return values.reshape(b, rest // c, c)

    def synthesise(self, basis: Basis, coefficients: Tensor) -> Tensor:
        """`f(x_i) = sum_p c_p B_p(x_i)`: coefficients `(b, p_1 ... p_d, c)` -> values `(b, n, c)`."""
        matrices = self._synthesis(basis)
        b, p, c = coefficients.shape
        rest = p * c
        values = coefficients
        with full_precision(values):
            for axis, matrix in enumerate(matrices):
                if matrix.numel():
                    rest //= matrix.shape[1]
                    values = matrix @ values.reshape(-1, matrix.shape[1], rest)
                else:
                    s, modes = self._wide(basis, axis)
                    count = (2 if self.periodic[axis] or basis.key[2] else 1) * modes + 1
                    rest //= count
                    values = fast.synthesise(values.reshape(-1, count, rest), s, modes, self.periodic[axis])
        return values.reshape(b, self.n, c)

    def _wide(self, basis: Basis, axis: int) -> tuple[int, int]:
        """Points along an axis and modes of a trigonometric basis there, if an FFT is the way; else zeros."""
        if self.axes is None or basis.key[0] != "trigonometric":
            return 0, 0
        x, modes = self.axes[axis][0], cast(int, basis.key[1])
        if axis in self._even_axes and len(x) in KRIGING:
            return 0, 0
        return (len(x), modes) if fast.worthwhile(x, modes, self.periodic[axis]) else (0, 0)

    def _analysis(self, basis: Basis) -> tuple[Tensor, ...]:
        return self._make(("analysis", *basis.key), lambda: self._weighted(basis))

    def _synthesis(self, basis: Basis) -> tuple[Tensor, ...]:
        return self._make(("synthesis", *basis.key), lambda: self._plain(basis))

    def _plain(self, basis: Basis) -> tuple[Tensor, ...]:
        if self.axes is not None:
            # An axis with a wide band has an FFT instead of a matrix.
            return tuple(
                torch.zeros(0, 1) if self._wide(basis, i)[0] else basis.functions(x, wraps)
                for i, ((x, _), wraps) in enumerate(zip(self.axes, self.periodic, strict=True))
            )
        product = torch.ones(self.n, 1, dtype=self.dtype, device=self.points.device)
        for i, wraps in enumerate(self.periodic):
            along = basis.functions(self.points[:, i], wraps).to(self.dtype)
            product = (product[:, :, None] * along[:, None, :]).flatten(1)
        return (product,)

    def _weighted(self, basis: Basis) -> tuple[Tensor, ...]:
        whole, places = self.whole or (self, slice(None))
        if whole._is_uneven:
            return (whole._interpolated(basis) if whole is self else whole._analysis(basis)[0][:, places],)
        if self.axes is None:
            return ((self._plain(basis)[0] * self.weights[:, None]).T,)
        return tuple(
            torch.zeros(0, 1) if self._wide(basis, i)[0] else self._along(basis, i) for i in range(len(self.axes))
        )

    def _along(self, basis: Basis, axis: int) -> Tensor:
        """Weights `(p, s)` of `int B_p f` along an axis of a tensor grid."""
        whole, places = self.whole or (self, slice(None))
        assert self.axes is not None
        assert whole.axes is not None
        nodes = whole.axes[axis][0]
        if axis not in whole._even_axes or basis.key[:2] == ("cardinal", len(nodes)):  # a raster's own points
            x, weights = self.axes[axis]
            return (basis.functions(x, self.periodic[axis]) * weights[:, None]).T
        rule = closed_rule(nodes, lambda y: basis.functions(y, False))
        if axis > 0 or whole is self:
            return rule
        per_row = whole.n // len(whole.axes[0][0])
        return rule[:, places.start // per_row : places.stop // per_row]

    @cached_property
    def _even_axes(self) -> tuple[int, ...]:
        """Closed axes of a tensor grid with even points, on which the trapezoidal rule sees a kink at the ends."""
        pairs = zip(self.axes or (), self.periodic, strict=False)
        return tuple(i for i, ((x, w), wraps) in enumerate(pairs) if not wraps and is_even(x, w))

    @cached_property
    def _is_uneven(self) -> bool:
        """Whether these are uneven points, weighted by their cells: weighted sums are not the best rule."""
        d = len(self.periodic)
        if self.asked or self.axes is not None or d not in DENSE or self.n > DENSE[d]:
            return False
        points, weights = self.points.cpu().numpy(), self.weights.cpu().numpy()
        if d == 1:
            return self._is_uneven_line(points[:, 0], weights)
        nodes, places = np.unique(points, axis=0, return_inverse=True)
        if len(nodes) < NEIGHBOURS:
            return False
        if np.prod([len(np.unique(along)) for along in points.T]) == len(nodes):
            return False  # a tensor grid, on which a weighted sum is the best rule there is
        try:
            cells = quadrature.voronoi(points.copy(), np.array([[0.0, 1.0]] * d), self.periodic)
        except InvalidInputError:
            return False
        return bool(np.abs(np.bincount(places.ravel(), cells - weights)).max() < 1e-9)

    def _is_uneven_line(self, x: NDArray[np.float64], weights: NDArray[np.float64]) -> bool:
        excess = quadrature.trapezoid(x, 0.0, 1.0, self.periodic[0]) - weights
        nodes, places = np.unique(x, return_inverse=True)
        if np.allclose(np.diff(nodes), 1 / (len(nodes) - (not self.periodic[0]) or 1), rtol=1e-6, atol=0):
            return False  # on even points a weighted sum is the best rule there is
        return bool(np.abs(np.bincount(places, excess)).max() < 1e-9)  # coinciding points may share in any way

    def _interpolated(self, basis: Basis) -> Tensor:
        """`int B_p(x) I[f](x) dx`, I an interpolant: weights `(p, n)` for uneven points.

        A sum of `w_i B_p(x_i) f(x_i)` is useless once B_p oscillates faster than the largest gap between points; the
        integral of an interpolant is not.
        """
        points = self.points.cpu().numpy()
        nodes, places, counts = np.unique(points, axis=0, return_inverse=True, return_counts=True)
        places = places.ravel()
        if len(self.periodic) == 1:
            rule = self._line_rule(nodes[:, 0], basis)
        else:
            if self._taps is None:
                self._taps = ScatteredTaps(nodes, self.periodic)
            rule = self._taps.rule(lambda x, axis: basis.functions(x, self.periodic[axis]))
        return (rule[places] / torch.from_numpy(counts[places])[:, None]).T.to(self.points.device)

    def _line_rule(self, nodes: NDArray[np.float64], basis: Basis) -> Tensor:
        """Of nodes on a line, in order. I is a smoothing spline, or, for many points, local cubics."""
        wraps = self.periodic[0]
        size = max(1024, 4 * len(nodes))
        fine = Discretization.uniform(size if wraps else size + 1, periodic=wraps)
        functions = basis.functions(fine.points[:, 0], wraps) * fine.weights[:, None]
        return (spline if len(nodes) in IN_SPLINE else local_cubics)(nodes, fine.points[:, 0], functions, wraps)

    def _make(self, key: tuple[object, ...], maker: Callable[[], tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
        if key in self._made:
            return self._made[key]
        parts = tuple(part.to(self.dtype).contiguous() for part in maker())
        if self.whole is None or self.axes is not None:  # bases of streamed points would fill the memory they save
            self._made[key] = parts
        return parts

    def chunks(self, most: int) -> list[tuple[slice, "Geometry"]]:
        """Pieces of at most about `most` points, with their places: rows of a tensor grid, runs of a point set."""
        if self.n <= most:
            return [(slice(0, self.n), self)]
        per_row = self.n if self.axes is None else self.n // len(self.axes[0][0])
        rows = max(1, most // per_row) if self.axes is not None else most
        count = len(self.axes[0][0]) if self.axes is not None else self.n
        pieces = []
        for start in range(0, count, rows):
            row = slice(start, min(start + rows, count))
            places = slice(row.start * per_row, row.stop * per_row) if self.axes is not None else row
            axes = None if self.axes is None else ((self.axes[0][0][row], self.axes[0][1][row]), *self.axes[1:])
            piece = Geometry(self.points[places], self.weights[places], axes, self.periodic, self.dtype, self.asked)
            piece.whole = self, places
            pieces.append((places, piece))
        return pieces


@recent(points=2**21)
def geometry_of(discretization: Discretization, dtype: torch.dtype, asked: bool = False) -> Geometry:
    """The geometry of a discretization; those used last are kept, with their bases."""
    return Geometry.of(discretization, dtype, asked)


@recent(points=2**21)
def geometry_in(source: Discretization, target: Discretization, dtype: torch.dtype, asked: bool = False) -> Geometry:
    """The geometry of `target` in the box of `source`: a point has the same coordinates whatever box it came with."""
    if torch.equal(source.bounds, target.bounds.to(source.bounds)):
        return geometry_of(target, dtype, asked)
    box = source.bounds.to(target.bounds)
    return Geometry.of(Discretization(target.points, target.weights, box, target.periodic, target.axes), dtype, asked)


def coordinate_features(x: Tensor, periodic: tuple[bool, ...], harmonics: int) -> Tensor:
    """Coordinates `(n, d)` in the unit box as smooth features `(n, f)`.

    A periodic axis enters as `cos 2 pi k x, sin 2 pi k x`, k = 1, 2, 4 ... (`harmonics` of them): a bare x jumps at
    the seam and drops every integral to first order. A closed axis enters as `2 x - 1` and, from the second harmonic
    on, `cos pi k x`.

    >>> coordinate_features(torch.tensor([[0.25]], dtype=torch.float64), (True,), 1).round(decimals=6).tolist()
    [[0.0, 1.0]]
    """
    parts = []
    for axis, wraps in enumerate(periodic):
        t = x[:, axis]
        if wraps:
            for j in range(harmonics):
                angle = 2 * math.pi * 2**j * t
                parts += [angle.cos(), angle.sin()]
        else:
            parts += [2 * t - 1] + [(math.pi * 2**j * t).cos() for j in range(harmonics - 1)]
    return torch.stack(parts, dim=1)


def coordinate_count(periodic: tuple[bool, ...], harmonics: int) -> int:
    """Number f of the features that `coordinate_features` makes."""
    return sum(2 * harmonics if wraps else harmonics for wraps in periodic)

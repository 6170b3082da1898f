"""Where the values of a sample were taken, before the domain that all samples share is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AtLeast:
    """A domain that is known already; points beyond a closed axis widen it, while a period stays what it is."""

    bounds: ArrayLike


Bounds = Any  # pairs, an `AtLeast`, a `JointDomain`, or None
Periodic = bool | Sequence[bool]
Rule = Literal["cells", "monte-carlo"]
GridKind = Literal["closed", "left", "centres"]
Mask = NDArray[np.bool_]


class SamplePoints(Protocol):
    """Points in space, still without a domain."""

    @property
    def dim(self) -> int: ...

    def extent(self, periodic: tuple[bool, ...]) -> Array:
        """The smallest domain that can hold these points, `(d, 2)`."""
        ...

    def arrays(self) -> Sequence[NDArray[np.generic]]:
        """All that distinguishes these points from others of its kind."""
        ...

    def keep(self, mask: Mask) -> "SamplePoints":
        """Those of the points that have a value."""
        ...

    def discretize(self, bounds: ArrayLike, periodic: tuple[bool, ...], rule: Rule) -> Discretization: ...


@dataclass(frozen=True)
class UniformGrid:
    """A grid of which only the shape is known: in the unit box, unless the user gives bounds.

    `i / (s - 1)` of an axis if it is `closed` (`i / s` if it is periodic), `i / s` if its `left` end alone is a point,
    `(i + 1/2) / s` if points are the `centres` of cells.
    """

    shape: tuple[int, ...]
    grid: GridKind = "closed"

    @property
    def dim(self) -> int:
        return len(self.shape)

    def extent(self, periodic: tuple[bool, ...]) -> Array:  # noqa: ARG002
        return np.tile([0.0, 1.0], (self.dim, 1))

    def arrays(self) -> Sequence[NDArray[np.generic]]:
        return [np.array(self.shape)]

    def keep(self, mask: Mask) -> SamplePoints:
        return _PartOfGrid(self, mask)

    def discretize(self, bounds: ArrayLike, periodic: tuple[bool, ...], rule: Rule) -> Discretization:  # noqa: ARG002
        if self.grid == "closed" or (self.grid == "left" and all(periodic)):
            return Discretization.uniform(self.shape, periodic, bounds)
        first = 0.0 if self.grid == "left" else 0.5
        box = np.asarray(bounds, dtype=np.float64)
        axes = [
            low + (high - low) * (np.arange(size) + first) / size
            for size, (low, high) in zip(self.shape, box, strict=True)
        ]
        return Discretization.tensor_grid(*axes, periodic=periodic, bounds=box)


@dataclass(frozen=True)
class _PartOfGrid:
    """Points of a grid whose place is known when the domain is."""

    whole: UniformGrid
    mask: Mask

    @property
    def dim(self) -> int:
        return self.whole.dim

    def extent(self, periodic: tuple[bool, ...]) -> Array:
        return self.whole.extent(periodic)

    def arrays(self) -> Sequence[NDArray[np.generic]]:
        return [*self.whole.arrays(), self.mask]

    def keep(self, mask: Mask) -> SamplePoints:
        both = self.mask.copy()
        both[self.mask] = mask
        return _PartOfGrid(self.whole, both)

    def discretize(self, bounds: ArrayLike, periodic: tuple[bool, ...], rule: Rule) -> Discretization:
        axes = self.whole.discretize(bounds, periodic, rule).axes
        assert axes is not None
        return TensorGrid(tuple(a.numpy() for a in axes)).keep(self.mask).discretize(bounds, periodic, rule)


@dataclass(frozen=True)
class TensorGrid:
    """The product of increasing axes."""

    axes: tuple[Array, ...]

    @property
    def dim(self) -> int:
        return len(self.axes)

    def extent(self, periodic: tuple[bool, ...]) -> Array:
        """From the first to the last node; a periodic axis with even steps is closed by one step more."""
        box = np.array([(axis[0], axis[-1]) for axis in self.axes])
        for i, (axis, wraps) in enumerate(zip(self.axes, periodic, strict=True)):
            if wraps:
                step = np.diff(axis)
                if len(axis) < 2 or not np.allclose(step, step[0], rtol=1e-6, atol=0):
                    raise InvalidInputError(f"axis {i} is periodic with uneven steps; give its period by bounds")
                box[i, 1] += (axis[-1] - axis[0]) / (len(axis) - 1)
        return box

    def arrays(self) -> Sequence[NDArray[np.generic]]:
        return self.axes

    def keep(self, mask: Mask) -> SamplePoints:
        if self.dim == 1:
            return TensorGrid((self.axes[0][mask],))
        points = np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(-1, self.dim)
        return PointSet(points[mask])

    def discretize(self, bounds: ArrayLike, periodic: tuple[bool, ...], rule: Rule) -> Discretization:  # noqa: ARG002
        return Discretization.tensor_grid(*self.axes, periodic=periodic, bounds=bounds)


@dataclass(frozen=True)
class PointSet:
    """Points `(n, d)` in any order."""

    points: Array

    @property
    def dim(self) -> int:
        return self.points.shape[1]

    def extent(self, periodic: tuple[bool, ...]) -> Array:
        """The bounding box."""
        if any(periodic):
            raise InvalidInputError("points on a periodic axis do not tell its period; give it by bounds")
        return np.stack([self.points.min(axis=0), self.points.max(axis=0)], axis=1)

    def arrays(self) -> Sequence[NDArray[np.generic]]:
        return [self.points]

    def keep(self, mask: Mask) -> SamplePoints:
        return PointSet(self.points[mask])

    def discretize(self, bounds: ArrayLike, periodic: tuple[bool, ...], rule: Rule) -> Discretization:
        return Discretization.points(self.points, bounds=bounds, periodic=periodic, rule=rule)


@dataclass(frozen=True)
class SimplexMesh(PointSet):
    """The corners of simplices `cells (e, k + 1)`."""

    cells: NDArray[np.int64]

    def arrays(self) -> Sequence[NDArray[np.generic]]:
        return [self.points, self.cells]

    def keep(self, mask: Mask) -> SamplePoints:
        """The cells all of whose corners are left; the points alone where some belong to none of them."""
        cells = (np.cumsum(mask) - 1)[self.cells[mask[self.cells].all(axis=1)]]
        whole = len(np.unique(cells)) == np.count_nonzero(mask)
        return SimplexMesh(self.points[mask], cells) if whole else PointSet(self.points[mask])

    def discretize(self, bounds: ArrayLike, periodic: tuple[bool, ...], rule: Rule) -> Discretization:  # noqa: ARG002
        return Discretization.mesh(self.points, self.cells, bounds=bounds, periodic=periodic)


def even(axis: NDArray[np.generic]) -> Array:
    """An axis in float64; evenly spaced to the last bit if it is so within the rounding of its own precision.

    Steps of a float32 axis scatter by 1e-4 of themselves, which would hide that it is a uniform grid.

    >>> x = (np.arange(1024) / 1000).astype(np.float32)
    >>> bool(np.allclose(np.diff(even(x)), 1e-3, rtol=1e-6)), float(np.abs(even(x) - x).max()) < 1e-7
    (True, True)
    """
    exact = axis.astype(np.float64)
    if axis.dtype.kind != "f" or len(exact) < 3 or not np.all(np.isfinite(exact)):
        return exact
    uniform = np.linspace(exact[0], exact[-1], len(exact))
    rounding = 2 * float(np.finfo(axis.dtype.type(0)).eps) * float(np.abs(exact).max())  # type: ignore[type-var]
    return uniform if float(np.abs(uniform - exact).max()) <= rounding else exact

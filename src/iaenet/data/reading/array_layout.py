"""How the arrays of one sample are laid out: which axes are space, which are channels, and where the points lie.

Space comes first and channels last, `(s1, ..., sd, c)`, or the other way round; there may be no channel axis, or
several. Coordinates tell which axes are space:

| coordinates | values | meaning |
|---|---|---|
| none | `(s1, ..., sd)` | uniform grid |
| d axes `(s1,)`, ..., `(sd,)` | `(s1, ..., sd)` | tensor grid |
| d columns `(n,)`, ..., `(n,)`, or one array `(n, d)` | `(n,)` | point set |
| d arrays `(s1, ..., sd)` | `(s1, ..., sd)` | tensor grid if they are a mesh grid of axes, otherwise a point set |
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from iaenet.data.reading.sample_points import Array, GridKind, PointSet, SamplePoints, TensorGrid, UniformGrid, even
from iaenet.errors import InvalidInputError

Values = NDArray[np.floating]
_NOT_NUMBERS = {
    "c": "complex; store real and imaginary part as two arrays",
    "O": "made of Python objects or references, not numbers",
    "V": "made of structures, not numbers",
    "M": "dates",
    "m": "time differences; store them as numbers",
}


@dataclass(frozen=True)
class Layout:
    """Points, and how an array `(s1, ..., sd, c)` becomes values `(n, c)` at them."""

    points: SamplePoints
    order: tuple[int, ...]  # space axes of the array, in the order of the axes of the points
    flipped: tuple[int, ...] = ()  # axes of the points along which the array runs backwards

    def values(self, array: Values) -> Values:
        """`(s1, ..., sd, c) -> (n, c)`."""
        turned = np.flip(array.transpose(*self.order, array.ndim - 1), self.flipped)
        return turned.reshape(-1, array.shape[-1])


def space_axes(coordinates: Sequence[tuple[int, ...]], shape: tuple[int, ...], dim: int | None, first: bool) -> int:
    """How many axes of values of this `shape` are space, from the shapes of the coordinates or from `dim`.

    `first` says that channels come before space.

    >>> space_axes([(64,), (32,)], (64, 32, 3), None, first=False), space_axes([(64, 2)], (64,), None, first=False)
    (2, 1)
    """
    if not coordinates:
        if dim is not None and not 1 <= dim <= len(shape):
            raise InvalidInputError(f"dim is {dim}, but an array of one sample has shape {shape}")
        return len(shape) if dim is None else dim
    if dim is not None:
        raise InvalidInputError("dim is for arrays without coordinates; here the coordinates say which axes are space")
    if len(coordinates) == 1 and len(coordinates[0]) == 2:
        space: list[tuple[int, ...]] = [coordinates[0][:1]]
    elif all(len(each) == 1 for each in coordinates):
        space = [tuple(each[0] for each in coordinates)]
        if len(set(coordinates)) == 1:
            space.append(coordinates[0])
    else:
        space = [coordinates[0]] if len(set(coordinates)) == 1 else []
    for wanted in space:
        if (shape[len(shape) - len(wanted) :] if first else shape[: len(wanted)]) == wanted and wanted:
            return len(wanted)
    raise InvalidInputError(
        f"coordinates of shape {', '.join(map(str, coordinates))} do not fit values of shape {shape}; "
        f"name them in the order of the axes of the values"
    )


def lay_out(coordinates: Sequence[NDArray[np.generic]], space: tuple[int, ...], grid: GridKind = "closed") -> Layout:
    """The layout of values whose space axes have shape `space`; without coordinates they are a uniform `grid`.

    >>> x, y = np.meshgrid([0.0, 0.5, 1.0], [0.0, 1.0])  # numpy's default: x runs along the second axis
    >>> layout = lay_out([x, y], (2, 3))
    >>> [axis.tolist() for axis in layout.points.axes], layout.values(x[..., None])[:, 0].tolist()
    ([[0.0, 0.5, 1.0], [0.0, 1.0]], [0.0, 0.0, 0.5, 0.5, 1.0, 1.0])
    """
    d = len(coordinates)
    if d == 0:
        return Layout(UniformGrid(space, grid), tuple(range(len(space))))
    if d == 1 and coordinates[0].ndim == 2:
        return Layout(PointSet(coordinates[0].astype(np.float64)), (0,))
    if all(each.ndim == 1 for each in coordinates) and tuple(len(each) for each in coordinates) == space:
        axes, order = [even(each) for each in coordinates], tuple(range(d))
    else:
        found = _axes_of_mesh_grid(coordinates)
        if found is None:
            points = np.stack([each.astype(np.float64).ravel() for each in coordinates], axis=1)
            return Layout(PointSet(points), tuple(range(len(space))))
        axes, order = found
    flipped = tuple(i for i, axis in enumerate(axes) if len(axis) > 1 and axis[0] > axis[-1])
    axes = [axis[::-1] if i in flipped else axis for i, axis in enumerate(axes)]
    if d == 1 and not np.all(np.diff(axes[0]) > 0):
        return Layout(PointSet(coordinates[0].astype(np.float64)[:, None]), (0,))
    return Layout(TensorGrid(tuple(axes)), order, flipped)


def _axes_of_mesh_grid(coordinates: Sequence[NDArray[np.generic]]) -> tuple[list[Array], tuple[int, ...]] | None:
    """The axes of d arrays of d dimensions each of which varies along one axis only; None for all else."""
    d = len(coordinates)
    if coordinates[0].ndim != d or d < 2:
        return None
    axes, order = [], []
    for each in coordinates:
        along = [axis for axis in range(d) if np.any(each != np.take(each, [0], axis=axis))]
        if len(along) != 1 or along[0] in order:
            return None
        order.append(along[0])
        axes.append(even(np.moveaxis(each, along[0], 0).reshape(each.shape[along[0]], -1)[:, 0]))
    return axes, tuple(order)


def check_numbers(where: object, dtype: DTypeLike) -> None:
    """Refuse what is not real numbers, before any of it is read."""
    kind = np.dtype(dtype).kind
    if kind not in "fiub":
        raise InvalidInputError(f"{where}: is {_NOT_NUMBERS.get(kind, 'text, not numbers')} (type {np.dtype(dtype)})")


def as_values(array: NDArray[np.generic]) -> Values:
    """float32 and float64 as they are, float16 as float32, all else as float64; in the byte order of the machine.

    >>> as_values(np.array([1, 2], dtype=">i2")).dtype, as_values(np.array([1], dtype=">f4")).dtype
    (dtype('float64'), dtype('float32'))
    """
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return array.astype(np.float32 if small else np.float64)

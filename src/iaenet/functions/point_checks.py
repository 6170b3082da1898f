"""What points, weights and boxes must be: refused with what is wrong, where, and what to do."""

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iaenet.errors import InvalidInputError
from iaenet.functions.quadrature import Array, Index
from iaenet.outside import check_size

Periodic = bool | Sequence[bool]
COPIES = 4  # of points and weights while they are made and used


def checked_weights(weights: ArrayLike, n: int) -> Array:
    """Weights `(n,)`, none negative and not all zero."""
    found = finite_numbers(weights, "weights", ndim=1)
    if len(found) != n:
        raise InvalidInputError(f"{n} points, but {len(found)} weights")
    if np.any(found < 0):
        at = int(np.argmax(found < 0))
        raise InvalidInputError(f"weights: entry {at} is {found[at]}; sizes of cells cannot be negative")
    if not np.any(found > 0):
        raise InvalidInputError(
            "weights are all zero (entry 0 and all others); leave weights= out to have them computed"
        )
    return found


def finite_numbers(given: Any, name: str, ndim: int) -> Array:
    """A finite float64 array of `ndim` dimensions, or an error that says what is wrong and where."""
    array = as_array(given)
    if array.dtype.kind not in "fiub":
        raise InvalidInputError(f"{name} must be real numbers, got {array.dtype}")
    if array.ndim != ndim or array.size == 0:
        wanted = "(n,)" if ndim == 1 else "(n, d)"
        raise InvalidInputError(f"{name} must have shape {wanted} with n >= 1, got {array.shape}")
    array = array.astype(np.float64)
    if not np.all(np.isfinite(array)):
        place = np.argwhere(~np.isfinite(array))[0]
        where = f"entry {place[0]}" if ndim == 1 else f"point {place[0]}, coordinate {place[1]}"
        raise InvalidInputError(f"{name}: {where} is {array[tuple(place)]}")
    return array


def checked_box(d: int, bounds: Any, periodic: Periodic) -> tuple[Array, tuple[bool, ...]]:
    """Bounds `(d, 2)`, the unit box by default, and a flag for each axis."""
    if d == 0:
        raise InvalidInputError("a discretization needs at least one axis")
    flags = (periodic,) * d if isinstance(periodic, bool) else tuple(bool(flag) for flag in periodic)
    if len(flags) != d:
        raise InvalidInputError(f"periodic must be one flag or {d} of them, got {len(flags)}")
    box = np.tile([0.0, 1.0], (d, 1)) if bounds is None else finite_numbers(bounds, "bounds", ndim=2)
    if box.shape != (d, 2) or np.any(box[:, 0] >= box[:, 1]):
        raise InvalidInputError(f"bounds must be {d} pairs (low, high) with low < high, got {box.tolist()}")
    sides = box[:, 1] / 2 - box[:, 0] / 2
    powers = np.log10(sides) + math.log10(2)
    # Squares of lengths and the volume must be numbers of float64, with room for the volumes of small cells.
    if np.any(np.abs(box) > 1e150) or np.any(np.abs(powers) > 150) or abs(powers.sum()) > 250:
        raise InvalidInputError(
            f"bounds {box.tolist()}: sides and volume are too large or too small for float64; measure in other units"
        )
    return box, flags


def check_points(sizes: Sequence[int]) -> None:
    """Refuse a grid whose points, weights and their copies do not fit the memory, before it is made.

    >>> check_points((10**6, 10**6))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    iaenet.errors.InvalidInputError: a grid of 1000000 x 1000000 points: needs 128 TB of memory, ...
    """
    count = math.prod(max(int(size), 0) for size in sizes)
    check_size(f"a grid of {' x '.join(map(str, sizes))} points", COPIES * 8 * (len(sizes) + 2) * count)


def tight_box(points: Array) -> Array:
    """The bounding box `(d, 2)` of points `(n, d)`."""
    flat = np.flatnonzero(points.min(axis=0) == points.max(axis=0))
    if len(flat):
        raise InvalidInputError(
            f"bounds='tight': coordinate {flat[0]} of all points is {points[0, flat[0]]}; give the box as bounds="
        )
    return np.stack([points.min(axis=0), points.max(axis=0)], axis=1)


def check_inside(points: Array, box: Array, name: str = "points") -> None:
    """Refuse points outside the box, but for rounding."""
    slack = 1e-9 * (box[:, 1] - box[:, 0])
    outside = np.any((points < box[:, 0] - slack) | (points > box[:, 1] + slack), axis=1)
    if np.any(outside):
        at = int(np.argmax(outside))
        raise InvalidInputError(
            f"{name}: point {at} {points[at].tolist()} lies outside the domain {box.tolist()}; "
            f"give the domain as bounds=, or bounds='tight'"
        )


def checked_axes(
    axes: Sequence[ArrayLike], bounds: Any, periodic: Periodic
) -> tuple[list[Array], Array, tuple[bool, ...]]:
    """Increasing axes of a tensor grid, with their box and flags; `bounds="tight"` ends where the axes end."""
    arrays = [finite_numbers(axis, f"axis {i}", ndim=1) for i, axis in enumerate(axes)]
    for i, array in enumerate(arrays):
        steps = np.diff(array)
        if np.any(steps <= 0):
            at = int(np.argmax(steps <= 0))
            raise InvalidInputError(
                f"axis {i} must increase strictly, but entry {at + 1} ({array[at + 1]}) follows {array[at]}"
            )
    if isinstance(bounds, str):
        bounds = [(array[0], array[-1]) for array in arrays]
    box, flags = checked_box(len(arrays), bounds, periodic)
    for i, (array, (low, high), wraps) in enumerate(zip(arrays, box, flags, strict=True)):
        if wraps and array[-1] - array[0] >= high - low:
            raise InvalidInputError(f"axis {i} is periodic: {array[-1]} is the same point as {array[0]}; leave it out")
        check_inside(array[:, None], np.array([[low, high]]), name=f"axis {i}")
    return arrays, box, flags


def checked_cells(cells: ArrayLike, n: int, d: int) -> Index:
    """Simplices `(e, k + 1)` that name some of n points in d dimensions."""
    index = as_array(cells)
    if index.ndim != 2 or index.dtype.kind not in "iu" or not 2 <= index.shape[1] <= d + 1:
        raise InvalidInputError(
            f"cells must be whole numbers of shape (cells, 2 to {d + 1}), got {index.dtype} {index.shape}"
        )
    if index.size == 0 or index.min() < 0 or index.max() >= n:
        raise InvalidInputError(
            f"cells must name points 0 to {n - 1}" + (", but there are none" if not index.size else "")
        )
    return index.astype(np.int64)


def is_uniform(axis: Any, low: float, high: float, wraps: bool) -> bool:
    """Whether coordinates `(n,)` are `i / n` of a period, or `i / (n - 1)` of a closed axis, up to 1e-9 of it."""
    n = len(axis)
    if n == 1 and not wraps:
        return False
    wanted = np.arange(n) / (n if wraps else n - 1)
    return bool(np.abs((as_array(axis) - low) / (high - low) - wanted).max() <= 1e-9)


def as_array(given: Any) -> NDArray[Any]:
    """Numbers or a tensor as an array; PyTorch need not be there, and then no tensor is."""
    torch = sys.modules.get("torch")
    return given.detach().cpu().numpy() if torch and isinstance(given, torch.Tensor) else np.asarray(given)

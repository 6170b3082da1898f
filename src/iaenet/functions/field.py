"""A function as data: its values, and where they were taken."""

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.frozen import version


class Parts:
    """What a model takes: fields, of which a `Field` has one, itself, and a `Sample` several, on points of their own.

    A subclass has `parts` and `with_parts`; whatever must be done to all of them is done here.
    """

    @property
    def parts(self) -> tuple["Field", ...]:
        """The fields."""
        raise NotImplementedError

    def with_parts(self, parts: Sequence["Field"]) -> Self:
        """The same with other fields in the place of its own."""
        raise NotImplementedError

    @property
    def layout(self) -> Hashable:
        """Which fields there are, and how many channels each has: the same for all inputs of a model."""
        return tuple(part.channels for part in self.parts)

    @property
    def batched(self) -> bool:
        """Whether the values have a batch axis."""
        return self.parts[0].values.ndim == 3

    @property
    def count(self) -> int:
        """Number of functions in the batch, 1 without."""
        first = self.parts[0].values
        return len(first) if first.ndim == 3 else 1

    @property
    def points_key(self) -> Hashable:
        """Equal for what is given on the same points."""
        return tuple(part.discretization.key for part in self.parts)

    @property
    def most_points(self) -> int:
        """Number of points of the field that has most of them."""
        return max(part.discretization.n for part in self.parts)

    @property
    def channels(self) -> int:
        """Number of channels c, of all fields together."""
        return sum(int(part.values.shape[-1]) for part in self.parts)

    def to(self, target: torch.device | str | torch.dtype) -> Self:
        """The same on another device, or in another precision (coordinates stay float64)."""
        return self.with_parts([part.to(target) for part in self.parts])

    def rows(self, index: Sequence[int] | slice) -> Self:
        """Some of a batch; all of them, in order, are the fields themselves, with what was made of them."""
        if not isinstance(index, slice) and list(index) == list(range(self.count)):
            return self
        return self.with_parts([Field.unchecked(part.discretization, part.values[index]) for part in self.parts])

    @classmethod
    def stack(cls, some: Sequence[Any]) -> Self:
        """Several on the same points, and batches of them, as one batch."""
        first: Self = some[0]
        if any(one.layout != first.layout for one in some):
            raise InvalidInputError("functions must have the same channels")
        columns = zip(*(one.parts for one in some), strict=True)
        return first.with_parts(
            [
                Field.unchecked(column[0].discretization, torch.cat([part.batch_values for part in column]))
                for column in columns
            ]
        )


class Field(Parts):
    """Values `(n, c)` of one function, or `(b, n, c)` of b functions that share a discretization.

    Values are a tensor, or a NumPy array, which is copied; float32 or float64 and finite. Anything else is refused
    here, where it can still be named. Fields on the same points, and numbers, can be added, subtracted, multiplied and
    divided.

    >>> grid = Discretization.uniform(64, periodic=True)
    >>> wave = Field(grid, torch.sin(2 * torch.pi * grid.points))
    >>> (2 * wave - wave).values.shape
    torch.Size([64, 1])
    """

    __array_ufunc__ = None  # numbers of NumPy leave arithmetic to the field
    moved_from: "tuple[Field, Any] | None" = None  # and the motion, if this is the image of a function

    def __init__(self, discretization: Discretization, values: Tensor | NDArray[Any]) -> None:
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiubc":
            values = torch.from_numpy(values.astype(values.dtype.newbyteorder("=")))
        if not isinstance(values, Tensor):
            raise InvalidInputError(f"values must be a tensor or an array of numbers, got {type(values).__name__}")
        if values.dtype not in (torch.float32, torch.float64):
            raise InvalidInputError(f"values must be float32 or float64, got {values.dtype}")
        if values.ndim not in (2, 3) or values.shape[-2] != discretization.n or 0 in values.shape:
            hint = "; write one channel as values[:, None]" if values.ndim == 1 else ""
            if discretization.shape in (values.shape, values.shape[:-1]) and discretization.dim > 1:
                hint = "; write values in the shape of the grid as values.reshape(n, -1)"
            raise InvalidInputError(
                f"values must have shape (n, c) or (b, n, c) with n = {discretization.n}, "
                f"got {tuple(values.shape)}{hint}"
            )
        if not bool(torch.isfinite(values).all()):
            place = torch.nonzero(~torch.isfinite(values))[0].tolist()
            sample = f"sample {place[0]}, " if values.ndim == 3 else ""
            raise InvalidInputError(
                f"{sample}channel {place[-1]}, point {place[-2]} is {values[tuple(place)].item()}; "
                "leave points without a value out"
            )
        self.discretization = discretization
        self.values = values
        self.cache = {}

    @classmethod
    def unchecked(cls, discretization: Discretization, values: Tensor) -> "Field":
        """A field whose values are known to fit, such as a network's output: no look at every number."""
        field = object.__new__(cls)
        field.discretization = discretization
        field.values = values
        field.cache = {}
        return field

    @property
    def cache(self) -> dict[object, Any]:
        """Small things that were made of this function, such as its projection; none of values that have changed."""
        if version(self.values) != self._version:
            self.cache = {}
        return self._cache

    @cache.setter
    def cache(self, cache: dict[object, Any]) -> None:
        self._cache, self._version = cache, version(self.values)

    def __getstate__(self) -> dict[str, object]:
        return {"discretization": self.discretization, "values": self.values}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.cache = {}

    @property
    def parts(self) -> tuple["Field", ...]:
        """The field itself."""
        return (self,)

    def with_parts(self, parts: Sequence["Field"]) -> "Field":
        """The one given."""
        return parts[0]

    @property
    def batch_values(self) -> Tensor:
        """Values `(b, n, c)`, b = 1 for one function."""
        return self.values if self.batched else self.values[None]

    @property
    def channels(self) -> int:
        """Number of channels c."""
        return int(self.values.shape[-1])

    def __getitem__(self, i: int) -> "Field":
        """Function i of a batch."""
        if not self.batched:
            raise InvalidInputError("this is one function, not a batch of them")
        return Field.unchecked(self.discretization, self.values[i])

    # ------------------------------------------------------------------ arrays in and out

    def numpy(self, grid: bool = False) -> NDArray[Any]:
        """The values as an array, without gradient: `(n, c)` or `(b, n, c)`; `(s1, ..., sd, c)` with `grid`.

        >>> Field(Discretization.uniform((2, 3)), torch.ones(6, 1)).numpy(grid=True).shape
        (2, 3, 1)
        """
        array: NDArray[Any] = self.values.detach().cpu().numpy()
        if not grid:
            return array
        if self.discretization.axes is None:
            raise InvalidInputError(f"{self.discretization} has no axes: its values have no shape of a grid")
        return array.reshape(*array.shape[:-2], *self.discretization.shape, array.shape[-1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self.numpy()
        return np.array(array, dtype=dtype, copy=copy or None) if dtype is not None or copy else array

    def to_xarray(self, coordinates: Sequence[str] = (), channels: Sequence[str] = ()) -> Any:
        """An `xarray.DataArray` with the coordinates of the points, see `iaenet.functions.labelled.to_xarray`."""
        from iaenet.functions.labelled import to_xarray

        return to_xarray(self, coordinates, channels)

    @classmethod
    def from_xarray(cls, array: Any, coordinates: Sequence[str] = (), **domain: Any) -> "Field":
        """One function out of an `xarray.DataArray`, see `iaenet.functions.labelled.from_xarray`."""
        from iaenet.functions.labelled import from_xarray

        return from_xarray(array, coordinates, **domain)

    def plot(self, channels: Sequence[str] = ()) -> Any:
        """A matplotlib figure with a panel for each channel: a line in 1-D, a map in 2-D, a middle plane beyond.

        >>> grid = Discretization.uniform((8, 8))
        >>> [axes.get_title() for axes in Field(grid, grid.points).plot(["a", "b"]).axes[:2]]
        ['a', 'b']
        """
        from iaenet.functions.drawing import plot

        return plot(self, channels)

    # ------------------------------------------------------------------ arithmetic

    def _with(self, other: Any, operation: Callable[[Any, Any], Tensor], swap: bool = False) -> "Field":
        if isinstance(other, Field):
            here, there = self.discretization, other.discretization
            if here is not there and here.key != there.key:
                raise InvalidInputError("fields on different points; iaenet.interpolate brings one to those of another")
            if other.channels != self.channels and 1 not in (other.channels, self.channels):
                raise InvalidInputError(f"fields of {self.channels} and of {other.channels} channels")
            other = other.values
        elif not isinstance(other, Real) and not (isinstance(other, Tensor) and other.ndim == 0):
            return NotImplemented
        else:
            other = other if isinstance(other, Tensor) else float(other)
        return Field(self.discretization, operation(other, self.values) if swap else operation(self.values, other))

    def __add__(self, other: Any) -> "Field":
        return self._with(other, operator.add)

    def __sub__(self, other: Any) -> "Field":
        return self._with(other, operator.sub)

    def __mul__(self, other: Any) -> "Field":
        return self._with(other, operator.mul)

    def __truediv__(self, other: Any) -> "Field":
        return self._with(other, operator.truediv)

    def __radd__(self, other: Any) -> "Field":
        return self._with(other, operator.add, swap=True)

    def __rsub__(self, other: Any) -> "Field":
        return self._with(other, operator.sub, swap=True)

    def __rmul__(self, other: Any) -> "Field":
        return self._with(other, operator.mul, swap=True)

    def __rtruediv__(self, other: Any) -> "Field":
        return self._with(other, operator.truediv, swap=True)

    def __neg__(self) -> "Field":
        return self._with(-1.0, operator.mul)

    def to(self, target: torch.device | str | torch.dtype) -> "Field":
        """The same field on another device, or in another precision (coordinates stay float64)."""
        if target == self.values.dtype or target == self.values.device:
            return self
        if isinstance(target, torch.dtype):
            return Field(self.discretization, self.values.to(target))
        return Field.unchecked(self.discretization.to(target), self.values.to(target))

    def __repr__(self) -> str:
        return f"Field({tuple(self.values.shape)} {self.values.dtype} on {self.discretization})"


def group_equal(keys: Iterable[Hashable]) -> list[list[int]]:
    """Indices of equal keys, such as those of discretizations: what shares its points is computed together.

    >>> group_equal(["grid", "mesh", "grid"])
    [[0, 2], [1]]
    """
    found: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        found.setdefault(key, []).append(i)
    return list(found.values())

"""A function as data: its values, and where they were taken."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization


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

    Values are float32 or float64 and finite; anything else is refused here, where it can still be named.

    >>> grid = Discretization.uniform(64, periodic=True)
    >>> Field(grid, torch.sin(2 * torch.pi * grid.points)).values.shape
    torch.Size([64, 1])
    """

    def __init__(self, discretization: Discretization, values: Tensor) -> None:
        if not isinstance(values, Tensor):
            raise InvalidInputError(f"values must be a torch.Tensor, got {type(values).__name__}; use torch.as_tensor")
        if values.dtype not in (torch.float32, torch.float64):
            raise InvalidInputError(f"values must be float32 or float64, got {values.dtype}")
        if values.ndim not in (2, 3) or values.shape[-2] != discretization.n or 0 in values.shape:
            hint = "; write one channel as values[:, None]" if values.ndim == 1 else ""
            raise InvalidInputError(
                f"values must have shape (n, c) or (b, n, c) with n = {discretization.n}, "
                f"got {tuple(values.shape)}{hint}"
            )
        if not bool(torch.isfinite(values).all()):
            place = torch.nonzero(~torch.isfinite(values))[0].tolist()
            sample = f"sample {place[0]}, " if values.ndim == 3 else ""
            raise InvalidInputError(f"{sample}channel {place[-1]}, point {place[-2]} is {values[tuple(place)].item()}")
        self.discretization = discretization
        self.values = values
        self.cache: dict[object, Any] = {}  # small things that were made of this function, such as its projection

    @classmethod
    def unchecked(cls, discretization: Discretization, values: Tensor) -> "Field":
        """A field whose values are known to fit, such as a network's output: no look at every number."""
        field = object.__new__(cls)
        field.discretization = discretization
        field.values = values
        field.cache = {}
        return field

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "cache": {}}

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

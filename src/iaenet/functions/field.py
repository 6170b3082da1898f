"""A function as data: its values, and where they were taken."""

from collections.abc import Hashable, Iterable
from typing import Any

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization


class Field:
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
    def batched(self) -> bool:
        """Whether the values have a batch axis."""
        return self.values.ndim == 3

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

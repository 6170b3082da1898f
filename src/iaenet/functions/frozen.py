"""Tensors that must not change once something was computed of them."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.quadrature import Array, Index


def as_tensor(array: Array) -> Tensor:
    """A copy in float64."""
    return torch.from_numpy(np.array(array, dtype=np.float64, order="C"))


def as_index(cells: Index | None) -> Tensor | None:
    """A copy of whole numbers."""
    return None if cells is None else torch.from_numpy(np.array(cells, dtype=np.int64, order="C"))


def version(tensor: Tensor) -> int:
    """How often a tensor was changed in place.

    >>> import torch
    >>> values = torch.zeros(2)
    >>> version(values), version(values.add_(1))
    (0, 1)
    """
    return 0 if tensor.is_inference() else tensor._version


def check_parts(points: Tensor, weights: Tensor, bounds: Tensor, cells: Tensor | None) -> None:
    """Refuse points, weights, bounds and cells that make no discretization, wherever they come from."""
    n, d = points.shape if points.ndim == 2 else (0, 0)
    if not n or not d or weights.shape != (n,) or bounds.shape != (d, 2):
        shapes = [tuple(part.shape) for part in (points, weights, bounds)]
        raise InvalidInputError(f"points (n, d), weights (n,) and bounds (d, 2) must fit, got {shapes}")
    if points.device.type != "cpu":  # it was made here, and looked at then
        return
    for name, part in (("points", points), ("weights", weights), ("bounds", bounds)):
        if not bool(torch.isfinite(part).all()):
            raise InvalidInputError(f"{name} must be finite numbers")
    if bool((weights < 0).any()) or not bool((weights > 0).any()):
        raise InvalidInputError("weights must not be negative, nor all zero: they are sizes of cells")
    if bool((bounds[:, 0] >= bounds[:, 1]).any()):
        raise InvalidInputError(f"bounds must be pairs (low, high) with low < high, got {bounds.tolist()}")
    if cells is not None and cells.numel() and (int(cells.min()) < 0 or int(cells.max()) >= n):
        raise InvalidInputError(f"cells must name points 0 to {n - 1}")


class Frozen:
    """Keeps in `cache` what others computed of its tensors, and notices if these are changed in place."""

    _cache: dict[Any, Any]
    _frozen: tuple[tuple[Tensor, int], ...]

    def freeze(self, *parts: Tensor | None) -> None:
        """These tensors are not to be changed from here on."""
        self._cache = {}
        self._frozen = tuple((part, version(part)) for part in parts if part is not None)

    @property
    def cache(self) -> dict[Any, Any]:
        """What others computed once; not copied or saved."""
        if any(version(part) != before for part, before in self._frozen):
            raise InvalidInputError(f"{self} was changed in place; make a new one, since its weights no longer fit")
        return self._cache

    def __getstate__(self) -> dict[str, Any]:
        frozen = tuple(part for part, _ in self._frozen)
        return {**self.__dict__, "_cache": {}, "_frozen": frozen}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.freeze(*state["_frozen"])

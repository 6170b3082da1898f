"""The domain of values on a grid that the network brings along."""

import math

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.geometry import Geometry


class Cardinal:
    """Trigonometric functions that are 1 at one of `count` even nodes of an axis and 0 at the others.

    Nodes are j / count on a periodic axis and j / (count - 1), ends included, on a closed one, where functions are
    continued evenly as in `Trigonometric`. `dual` gives the functions whose integrals against f are the values, at the
    nodes, of the part of f that the nodes can hold. On the nodes themselves both are the identity.
    """

    def __init__(self, count: int, dual: bool) -> None:
        if count < 4:
            raise InvalidInputError(f"a raster has at least 4 points along an axis, got {count}")
        self.count = count
        self.dual = dual
        self.key: tuple[object, ...] = ("cardinal", count, dual)

    def functions(self, x: Tensor, periodic: bool) -> Tensor:
        """Values `(s, count)` at points `x (s,)` of the unit interval."""
        cells = self.count if periodic else self.count - 1
        top = cells // 2 if periodic else cells
        k = torch.arange(top + 1, dtype=x.dtype, device=x.device)
        nodes = torch.arange(self.count, dtype=x.dtype, device=x.device) / cells
        size = torch.full_like(k, 2.0)
        size[0] = 1.0
        if cells == 2 * top or not periodic:
            size[-1] = 1.0  # the nodes cannot tell the sine of this frequency from zero, nor its cosine from its alias
        angle, at = ((2 if periodic else 1) * math.pi * t[:, None] * k for t in (x, nodes))
        found = (angle.cos() * size) @ at.cos().T
        if periodic:
            return (found + (angle.sin() * size) @ at.sin().T) / (1 if self.dual else cells)
        if not self.dual:
            ends = torch.full_like(nodes, 1.0 / cells)
            ends[0] = ends[-1] = 0.5 / cells
            found = found * ends
        return found


class Raster:
    """Values on `count` even points along each axis, whatever points the function came on."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.bases = Cardinal(count, dual=True), Cardinal(count, dual=False)

    def forward(self, values: Tensor, geometry: Geometry) -> Tensor:
        """Values `(b, n, c)` -> values on the raster `(b, count^d, c)`."""
        return values if self._is(geometry) else geometry.analyse(self.bases[0], values)

    def inverse(self, values: Tensor, geometry: Geometry) -> Tensor:
        """Values on the raster -> values at the points of `geometry`."""
        return values if self._is(geometry) else geometry.synthesise(self.bases[1], values)

    def _is(self, geometry: Geometry) -> bool:
        """Whether the points are the raster, on which both bases are the identity."""
        return geometry.uniform == (self.count,) * len(geometry.periodic)

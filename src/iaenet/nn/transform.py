"""Transforms of values on a fixed uniform grid, one product for each axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from iaenet.functions.axis_projection import uniform_nodes
from iaenet.functions.projection import apply_axes
from iaenet.nn.pointwise import full_precision


class AxisFunctions(Protocol):
    """Functions on one axis of the unit box, `p` of them, evaluated at points `x (s,)` -> `(s, p)`."""

    def functions(self, x: Tensor, periodic: bool) -> Tensor: ...


@dataclass(frozen=True)
class Grid:
    """A uniform grid of the unit box: `shape (s_1 .. s_d)` and which axes are periodic.

    >>> Grid((4, 5), (True, False)).weights[1].tolist()
    [0.125, 0.25, 0.25, 0.25, 0.125]
    """

    shape: tuple[int, ...]
    periodic: tuple[bool, ...]

    @property
    def nodes(self) -> list[Tensor]:
        """Coordinates along each axis."""
        return [uniform_nodes(size, wraps) for size, wraps in zip(self.shape, self.periodic, strict=True)]

    @property
    def weights(self) -> list[Tensor]:
        """Weights of the trapezoidal rule along each axis."""
        made = []
        for size, wraps in zip(self.shape, self.periodic, strict=True):
            w = torch.full((size,), 1 / (size if wraps else max(1, size - 1)), dtype=torch.float64)
            if not wraps:
                w[[0, -1]] /= 2
            made.append(w)
        return made

    def harmonics(self, axis: int) -> int:
        """The highest frequency that the grid holds: periods of a periodic axis, half periods of a closed one."""
        size = self.shape[axis]
        return (size - 1) // 2 if self.periodic[axis] else size - 1

    def held(self, modes: int) -> int:
        """So many harmonics, or as many as all axes hold."""
        return min(modes, *(self.harmonics(axis) for axis in range(len(self.shape))))


class GridTransform:
    """`c_p = sum_j w_j B_p(z_j) f(z_j)` and `f(z_j) = sum_p c_p B'_p(z_j)` on the nodes z of a grid.

    >>> from iaenet.functions.basis import Trigonometric
    >>> transform = GridTransform(Grid((16,), (True,)), Trigonometric(3))
    >>> f = torch.cos(2 * torch.pi * transform.grid.nodes[0])[None, :, None]
    >>> bool(torch.allclose(transform.synthesise(transform.analyse(f)), f))
    True
    """

    def __init__(self, grid: Grid, analysis: AxisFunctions, synthesis: AxisFunctions | None = None) -> None:
        self.grid = grid
        axes = list(zip(grid.nodes, grid.weights, grid.periodic, strict=True))
        forward = [(analysis.functions(x, wraps) * w[:, None]).T.contiguous() for x, w, wraps in axes]
        back = [(synthesis or analysis).functions(x, wraps).contiguous() for x, _, wraps in axes]
        self.sizes = tuple(len(matrix) for matrix in forward)
        self._made = {dtype: _cast(forward, back, dtype) for dtype in (torch.float32, torch.float64)}

    def analyse(self, values: Tensor) -> Tensor:
        """Values `(b, s_1 .. s_d, c)` -> coefficients `(b, p_1 .. p_d, c)`, both flattened."""
        with full_precision(values):
            return apply_axes([matrix.to(values.device) for matrix in self._made[values.dtype][0]], values)

    def synthesise(self, coefficients: Tensor) -> Tensor:
        """Coefficients `(b, p_1 .. p_d, c)` -> values `(b, s_1 .. s_d, c)`, both flattened."""
        with full_precision(coefficients):
            made = self._made[coefficients.dtype][1]
            return apply_axes([matrix.to(coefficients.device) for matrix in made], coefficients)


def shifted(values: Tensor, grid: Grid, by: Tensor) -> Tensor:
    """The functions that values `(b, s, c)` on the grid are, `by (d,)` cells further along its periodic axes.

    >>> grid = Grid((16,), (True,))
    >>> wave = [torch.cos(2 * torch.pi * (grid.nodes[0] + x / 16))[None, :, None] for x in (0, 0.3)]
    >>> bool(torch.allclose(shifted(wave[0], grid, torch.tensor([0.3])), wave[1], atol=1e-6))
    True
    """
    made = values.to(torch.promote_types(values.dtype, torch.float32)).unflatten(1, grid.shape)
    for axis, (size, wraps) in enumerate(zip(grid.shape, grid.periodic, strict=True)):
        if wraps:
            k = torch.arange(size // 2 + 1, device=values.device)
            angle = (2 * math.pi / size) * k * by[axis]
            turn = torch.polar(torch.ones_like(angle), angle)
            turn = torch.where(2 * k == size, angle.cos().to(turn.dtype), turn)  # half of this wave cannot be seen
            turned = torch.fft.rfft(made, dim=axis + 1) * turn.reshape(-1, *[1] * (made.dim() - axis - 2))
            made = torch.fft.irfft(turned, n=size, dim=axis + 1)
    return made.flatten(1, -2)


def _cast(forward: Sequence[Tensor], back: Sequence[Tensor], dtype: torch.dtype) -> tuple[list[Tensor], list[Tensor]]:
    return [matrix.to(dtype) for matrix in forward], [matrix.to(dtype) for matrix in back]

"""Grids that are too coarse for a network's band: the function is continued to a finer one first.

A layer that makes a frequency which the grid cannot hold would find it again, in the next layer, as a lower one.
"""

import math
from functools import lru_cache

import torch
from torch import Tensor

from iaenet.discretization import Discretization
from iaenet.field import Field

MARGIN = 1.25  # frequencies that a grid must hold, as a multiple of the band
DEGREE = 5  # of the polynomial part on closed axes


def refined(field: Field, modes: int, points: int = 0) -> Field:
    """The field on a uniform grid that holds `modes` harmonics and has so many `points` along every axis.

    By trigonometric interpolation; the field itself if its grid is fine enough. Each axis is divided as often as it
    needs, so that the old points are among the new. A closed axis may end before the domain does; a periodic one begins
    where the domain does. Other axes, and point sets, stay as they are.

    >>> coarse = Discretization.uniform(8, periodic=True)
    >>> wave = refined(Field(coarse, torch.cos(6 * torch.pi * coarse.points)), modes=10)
    >>> wave.discretization.n, bool(torch.allclose(wave.values, torch.cos(6 * torch.pi * wave.discretization.points)))
    (32, True)
    """
    source = field.discretization
    if source.axes is None:
        return field
    times = [_times(axis, source, i, modes, points) for i, axis in enumerate(source.axes)]
    if max(times) == 1:
        return field
    values = field.values if field.batched else field.values[None]
    rest = field.channels
    for axis, (s, wraps) in reversed(list(enumerate(zip(source.shape, source.periodic, strict=True)))):
        if times[axis] > 1:
            values = continuation(s, times[axis], wraps).to(values) @ values.reshape(-1, s, rest)
        rest *= s * times[axis] if wraps else (s - 1) * times[axis] + 1
    fine = _divided(source, tuple(times))
    values = values.reshape(-1, fine.n, field.channels)
    return Field.unchecked(fine, values if field.batched else values[0])


def _times(axis: Tensor, source: Discretization, i: int, modes: int, points: int) -> int:
    s, (low, high), wraps = len(axis), source.bounds[i].tolist(), source.periodic[i]
    if s < 3:
        return 1
    start, step = (low, (high - low) / s) if wraps else (axis[0], float(axis[-1] - axis[0]) / (s - 1))
    even = start + step * torch.arange(s, dtype=axis.dtype, device=axis.device)
    if not torch.allclose(axis, even, rtol=0, atol=1e-9 * (high - low)):
        return 1
    cells = (high - low) / step  # on a closed axis not a whole number if points end before the domain does
    held = cells / 2 if wraps else cells
    needed = max(MARGIN * modes / held, (points - (not wraps)) / cells)
    return max(1, math.ceil(needed - 1e-6))


@lru_cache(maxsize=32)
def continuation(s: int, times: int, periodic: bool) -> Tensor:
    """Matrix `(s', s)` from values on a uniform axis to those on one with `times` as many cells.

    The trigonometric polynomial of the period through the values. On a closed axis a polynomial of degree 5 as far as
    that goes, and for the rest waves of half periods, the shorter the weaker (universal kriging): functions are rarely
    even about the ends, and cosines alone would see a kink there.

    >>> x = torch.linspace(0, 1, 17, dtype=torch.float64)
    >>> bool(torch.allclose(continuation(9, 2, periodic=False) @ x[::2] ** 4, x**4))
    True
    """
    cells = s if periodic else s - 1
    fine = torch.arange(cells * times + (not periodic), dtype=torch.float64) / (cells * times)
    coarse = torch.arange(s, dtype=torch.float64) / cells
    if periodic:
        return torch.linalg.solve(_trigonometric(coarse, s), _trigonometric(fine, s), left=False)
    known, wanted = (_waves(x, cells) for x in (coarse, fine))
    trend, there = ((2 * x[:, None] - 1) ** torch.arange(min(DEGREE + 1, s)) for x in (coarse, fine))
    nothing = torch.zeros(trend.shape[1], trend.shape[1], dtype=torch.float64)
    system = torch.cat([torch.cat([known @ known.T, trend], dim=1), torch.cat([trend.T, nothing], dim=1)])
    return torch.linalg.solve(system, torch.cat([known @ wanted.T, there.T]))[:s].T.contiguous()


def _trigonometric(x: Tensor, count: int) -> Tensor:
    """The first `count` trigonometric functions of a period, `(len(x), count)`."""
    angle = 2 * math.pi * x[:, None] * torch.arange(count // 2 + 1, dtype=torch.float64)
    return torch.cat([angle.cos(), angle.sin()[:, 1:]], dim=1)[:, :count]


def _waves(x: Tensor, cells: int) -> Tensor:
    """Cosines and sines of half periods up to the shortest that the cells hold, each of the size it is expected in."""
    k = torch.arange(cells + 1, dtype=torch.float64)
    angle = math.pi * x[:, None] * k
    return torch.cat([angle.cos(), angle.sin()], dim=1) / (1 + (3 * k / cells) ** 6).sqrt().repeat(2)


@lru_cache(maxsize=32)
def _divided(source: Discretization, times: tuple[int, ...]) -> Discretization:
    axes = []
    for axis, wraps, (low, high), more in zip(source.axes or (), source.periodic, source.bounds, times, strict=True):
        s = len(axis)
        step = ((high - low) / s if wraps else (axis[-1] - axis[0]) / (s - 1)) / more
        fine = axis[0] + step * torch.arange(s * more if wraps else (s - 1) * more + 1).to(axis)
        axes.append(axis if more == 1 else fine)
    return Discretization.tensor_grid(*axes, bounds=source.bounds.tolist(), periodic=source.periodic)

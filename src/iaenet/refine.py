"""Grids that are too coarse for a network's band: the function is continued to a finer one first.

A layer that makes a frequency which the grid cannot hold would find it again, in the next layer, as a lower one.
"""

import math
from functools import lru_cache

import torch
from torch import Tensor

from iaenet.discretization import Discretization
from iaenet.even_rule import continuation
from iaenet.field import Field

MARGIN = 1.25  # frequencies that a grid must hold, as a multiple of the band


def refined(field: Field, modes: int, points: int = 0) -> Field:
    """The field on a uniform grid that holds `modes` harmonics and has so many `points` along every axis.

    By `continuation`; the field itself if its grid is fine enough. Each axis is divided as often as it
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
def _divided(source: Discretization, times: tuple[int, ...]) -> Discretization:
    axes = []
    for axis, wraps, (low, high), more in zip(source.axes or (), source.periodic, source.bounds, times, strict=True):
        s = len(axis)
        step = ((high - low) / s if wraps else (axis[-1] - axis[0]) / (s - 1)) / more
        fine = axis[0] + step * torch.arange(s * more if wraps else (s - 1) * more + 1).to(axis)
        axes.append(axis if more == 1 else fine)
    return Discretization.tensor_grid(*axes, bounds=source.bounds.tolist(), periodic=source.periodic)

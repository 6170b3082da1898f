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
    needs, so that the old points are among the new. A closed axis may end before the domain does; if it does so by one
    step, and `points` are asked for, the last value is continued to the end. A periodic axis begins where the domain
    does. Other axes, and point sets, stay as they are.

    >>> coarse = Discretization.uniform(8, periodic=True)
    >>> wave = refined(Field(coarse, torch.cos(6 * torch.pi * coarse.points)), modes=10)
    >>> wave.discretization.n, bool(torch.allclose(wave.values, torch.cos(6 * torch.pi * wave.discretization.points)))
    (32, True)
    """
    if field.discretization.axes is None:
        return field
    field = _to_the_end(field) if points else field
    source = field.discretization
    assert source.axes is not None
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


def among(some: Discretization, grid: Discretization) -> Tensor | None:
    """Places of the points of a tensor grid among those of a finer one; None if not all of them are there.

    >>> among(Discretization.uniform(3), Discretization.uniform(5)).tolist()
    [0, 2, 4]
    """
    return _among(some, grid) if some.axes is not None and grid.axes is not None and some.dim == grid.dim else None


@lru_cache(maxsize=64)
def _among(some: Discretization, grid: Discretization) -> Tensor | None:
    places = torch.zeros(1, dtype=torch.long, device=grid.weights.device)
    for few, many, (low, high) in zip(some.axes or (), grid.axes or (), grid.bounds.tolist(), strict=True):
        close = 1e-9 * (high - low)
        at = torch.searchsorted(many, few.to(many) - close).clamp_max(len(many) - 1)
        if not torch.allclose(many[at], few.to(many), rtol=0, atol=close):
            return None
        places = (places[:, None] * len(many) + at).flatten()
    return places


def _to_the_end(field: Field) -> Field:
    """The field on axes that reach the end of the domain, if they lack one step; the last value is taken there."""
    source = field.discretization
    ended = _ended(source)
    if ended is source:
        return field
    values = field.values if field.batched else field.values[None]
    values = values.unflatten(1, source.shape)
    for axis, (have, wanted) in enumerate(zip(source.shape, ended.shape, strict=True), start=1):
        if wanted > have:
            values = torch.cat([values, values.narrow(axis, have - 1, 1)], dim=axis)
    values = values.flatten(1, -2)
    return Field.unchecked(ended, values if field.batched else values[0])


@lru_cache(maxsize=32)
def _ended(source: Discretization) -> Discretization:
    axes = []
    for i, (axis, wraps) in enumerate(zip(source.axes or (), source.periodic, strict=True)):
        low, high = source.bounds[i].tolist()
        steps = torch.cat([axis, axis.new_tensor([high])]).diff()
        lacks = not wraps and len(axis) > 2 and bool((steps - steps[0]).abs().max() < 1e-9 * (high - low))
        axes.append(torch.cat([axis, axis.new_tensor([high])]) if lacks else axis)
    if all(len(new) == len(old) for new, old in zip(axes, source.axes or (), strict=True)):
        return source
    return Discretization.tensor_grid(*axes, bounds=source.bounds.tolist(), periodic=source.periodic)


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

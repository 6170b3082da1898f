"""Other versions of a sample: on other points (eq. loss), on some of them, and under symmetries of the problem."""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.functions.resample import random_points, restrict, uniform_grid
from iaenet.functions.seeds import stream
from iaenet.models.base import Pair
from iaenet.training.config import AugmentConfig

# Sets of random points of each size, and of random subsets, to draw from. New ones at every step would cost their
# geometry every time, and fill the memory with it.
SETS = 64


def resampled(pairs: list[Pair], options: AugmentConfig, generator: torch.Generator) -> list[Pair]:
    """`(I_T f, I_T g)` for a T drawn at random, or for all of them.

    An output on another domain than the input gets a T of its own; a vector, which has one point, stays as it is.
    """
    _refuse_samples(pairs, "augment.weight")
    choices: list[tuple[str, int]] = [("grid", size) for size in options.sizes]
    choices += [("points", count) for count in options.points]
    if options.draw == "one":
        choices = [choices[int(torch.randint(len(choices), (1,), generator=generator))]]
    made = []
    for kind, size in choices:
        for given, wanted in pairs:
            source, target = (_Domain.of(field.discretization) for field in (given, wanted))
            at = _other_points(source, kind, size, generator)
            to = at if source == target else _other_points(target, kind, size, generator)
            made.append((interpolate(given, at), wanted if wanted.discretization.n == 1 else interpolate(wanted, to)))
    return made


def _refuse_samples(pairs: list[Pair], option: str) -> None:
    if not isinstance(pairs[0][0], Field):
        raise InvalidInputError(f"{option} is for inputs of one function; leave it out for samples of several")


class _Domain(NamedTuple):
    """What points are drawn in."""

    bounds: tuple[tuple[float, float], ...]
    periodic: tuple[bool, ...]
    device: torch.device

    @classmethod
    def of(cls, source: Discretization) -> "_Domain":
        box = source.bounds.tolist()
        return cls(tuple((low, high) for low, high in box), source.periodic, source.bounds.device)


def _other_points(domain: _Domain, kind: str, size: int, generator: torch.Generator) -> Discretization:
    which = 0 if kind == "grid" else int(torch.randint(SETS, (1,), generator=generator))
    return _points(domain, kind, size, which)


@lru_cache(maxsize=16 * SETS)
def _points(domain: _Domain, kind: str, size: int, which: int) -> Discretization:
    """A uniform grid, or random points; always the same object for the same points."""
    box = Discretization.uniform((2,) * len(domain.bounds), domain.periodic, domain.bounds).to(domain.device)
    if kind == "grid":
        return uniform_grid(box, size)
    return random_points(box, size, stream(which, "points", size))


def at_some_points(pairs: list[Pair], count: int, generator: torch.Generator) -> list[Pair]:
    """Each output at `count` query points, drawn at random of its own: an unbiased view of an integral over all.

    >>> grid = Discretization.uniform(5)
    >>> f = Field(grid, grid.points[None].float())
    >>> (_, some), = at_some_points([(f, f)], 3, torch.Generator().manual_seed(0))
    >>> some.values.shape, bool((some.values[0] == some.discretization.points).all())
    (torch.Size([1, 3, 1]), True)
    """
    return [(given, _some_of(wanted, count, generator)) for given, wanted in pairs]


def _some_of(field: Field, count: int, generator: torch.Generator) -> Field:
    which = int(torch.randint(SETS, (1,), generator=generator))
    if field.discretization.n <= count:
        return field
    return restrict(field, *_query_points(field.discretization, count, which))


def _query_points(whole: Discretization, count: int, which: int) -> tuple[Tensor, Discretization]:
    key = ("subset", count, which)
    if key not in whole.cache:
        order = torch.randperm(whole.n, generator=stream(which, "query points", count))
        indices = order[:count].sort().values.to(whole.points.device)
        share = whole.weights[indices] * (whole.n / count)  # each set by itself misses the integral, their mean hits it
        whole.cache[key] = indices, Discretization(whole.points[indices], share, whole.bounds, whole.periodic)
    kept: tuple[Tensor, Discretization] = whole.cache[key]
    return kept


def symmetric(pairs: list[Pair], names: list[str], generator: torch.Generator) -> list[Pair]:
    """Each pair moved by a random element of each symmetry; input and output are moved alike.

    >>> grid = Discretization.uniform(4, periodic=True)
    >>> f = Field(grid, torch.arange(4.0)[None, :, None])
    >>> (moved, image), = symmetric([(f, f)], ["shift"], torch.Generator().manual_seed(1))
    >>> bool((moved.values == image.values).all()), sorted(moved.values.flatten().tolist())
    (True, [0.0, 1.0, 2.0, 3.0])
    """
    if names:
        _refuse_samples(pairs, "augment.symmetries")
    for name in names:
        pairs = [_move(pair, name, generator) for pair in pairs]
    return pairs


def _move(pair: Pair, name: str, generator: torch.Generator) -> Pair:
    given, wanted = pair
    grid = given.discretization
    if grid.axes is None or wanted.discretization.key != grid.key:
        raise InvalidInputError(f"symmetry {name}: input and output must be on the same tensor grid, not on {grid}")
    _check(name, grid)
    both = torch.cat([given.values, wanted.values], dim=-1)
    moved = _SYMMETRIES[name](both.unflatten(1, grid.shape), grid, generator).flatten(1, grid.dim)
    return (
        Field.unchecked(grid, moved[..., : given.channels]),
        Field.unchecked(grid, moved[..., given.channels :]),
    )


@lru_cache(maxsize=256)
def _check(name: str, grid: Discretization) -> None:
    """Refuse a grid that the symmetry does not map onto itself."""
    axes, box = grid.axes or (), grid.bounds.tolist()
    if name == "transpose":
        square = grid.dim == 2 and grid.shape[0] == grid.shape[1] and grid.periodic[0] == grid.periodic[1]
        if not (square and torch.allclose(axes[0], axes[1]) and box[0] == box[1]):
            raise InvalidInputError(f"symmetry transpose needs a square grid in 2-D, not {grid}")
        return
    for i, (axis, (low, high), wraps) in enumerate(zip(axes, box, grid.periodic, strict=True)):
        if name == "shift":
            moved, found = axis + (high - low) / len(axis), axis.roll(-1)
        else:
            moved, found = low + high - axis, _mirror(axis, 0, wraps)
        miss = (moved - found) / (high - low)
        miss = miss - miss.round() if wraps else miss
        if bool((miss.abs() > 1e-6).any()) and (wraps or name != "shift"):
            raise InvalidInputError(
                f"symmetry {name}: axis {i} of {grid} is not mapped onto itself; leave the symmetry out, or give the "
                "data on a uniform grid"
            )


def _shift(values: Tensor, grid: Discretization, generator: torch.Generator) -> Tensor:
    """`f(x) -> f(x + h)` by a number of grid steps, another one for each sample."""
    for axis, size in enumerate(grid.shape, start=1):
        if not grid.periodic[axis - 1]:
            continue
        steps = torch.randint(size, (len(values),), generator=generator).to(values.device)
        indices = (torch.arange(size, device=values.device) + steps[:, None]) % size
        indices = indices.reshape(len(values), *[-1 if i == axis else 1 for i in range(1, values.ndim)])
        values = values.gather(axis, indices.expand_as(values))
    return values


def _reflect(values: Tensor, grid: Discretization, generator: torch.Generator, sign: float = 1.0) -> Tensor:
    """`f(x) -> f(-x)` along each axis, for half of the samples."""
    for axis in range(1, grid.dim + 1):
        values = _some(sign * _mirror(values, axis, grid.periodic[axis - 1]), values, generator)
    return values


def _mirror(values: Tensor, axis: int, wraps: bool) -> Tensor:
    mirrored = values.flip(axis)
    return mirrored.roll(1, axis) if wraps else mirrored  # i -> -i keeps point 0 of a period


def _odd_reflect(values: Tensor, grid: Discretization, generator: torch.Generator) -> Tensor:
    """`f(x) -> -f(-x)`, the reflection of a velocity."""
    return _reflect(values, grid, generator, sign=-1.0)


def _transpose(values: Tensor, _grid: Discretization, generator: torch.Generator) -> Tensor:
    """`f(x, y) -> f(y, x)`, for half of the samples."""
    return _some(values.transpose(1, 2), values, generator)


def _some(moved: Tensor, kept: Tensor, generator: torch.Generator) -> Tensor:
    chosen = (torch.rand(len(kept), generator=generator) < 0.5).to(kept.device)
    return torch.where(chosen.reshape(-1, *[1] * (kept.ndim - 1)), moved, kept)


_SYMMETRIES = {"shift": _shift, "reflect": _reflect, "odd-reflect": _odd_reflect, "transpose": _transpose}

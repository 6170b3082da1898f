"""Other versions of a sample: on other points (eq. loss), and on some of them."""

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
    if not isinstance(pairs[0][0], Field):
        raise InvalidInputError("augment.weight is for inputs of one function; leave it out for samples of several")
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

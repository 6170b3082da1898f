"""Symmetries of a problem: each pair is moved by a random element of each, input and output alike.

    shift                   f(x) -> f(x + h), by steps of a uniform grid along its periodic axes
    reflect-x, -y, -z       the mirror image along an axis, for half of the samples; reflect: along each axis
    swap-xy, swap-yz        two axes exchanged, for half of the samples; transpose: swap-xy

`odd-reflect` changes the sign of all values as well, as of a velocity on a line. Signs of single channels stand behind
a colon, those of the input and those of the output: `reflect-x:-+/+`, the mirror image of a velocity in the plane.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.motions import Motion
from iaenet.models.base import Pair
from iaenet.training.config import AXES


class Turn(NamedTuple):
    """A motion of the box and the signs that it gives to channels of the input and of the output, "" for none."""

    motion: Motion
    given: str = ""
    wanted: str = ""

    @property
    def name(self) -> str:
        """As it stands in a configuration."""
        dim = len(self.motion.order)
        axis = next((AXES[i] for i, flag in enumerate(self.motion.mirrored) if flag), "")
        moved = "".join(AXES[i] for i in range(dim) if self.motion.order[i] != i)
        signs = f":{self.given}/{self.wanted}" if "-" in self.given + self.wanted else ""
        return (f"reflect-{axis}" if axis else f"swap-{moved}") + signs

    def of_pair(self, pair: Pair) -> Pair:
        """The moved pair."""
        given, wanted = pair
        return _signed(self.motion.of_field(given), self.given), _signed(self.motion.of_field(wanted), self.wanted)


def symmetric(pairs: list[Pair], names: list[str], generator: torch.Generator) -> list[Pair]:
    """Each pair moved by a random element of each symmetry; input and output are moved alike.

    >>> grid = Discretization.uniform(4, periodic=True)
    >>> f = Field(grid, torch.arange(4.0)[None, :, None])
    >>> (moved, image), = symmetric([(f, f)], ["shift"], torch.Generator().manual_seed(1))
    >>> bool((moved.values == image.values).all()), sorted(moved.values.flatten().tolist())
    (True, [0.0, 1.0, 2.0, 3.0])
    """
    if names and not isinstance(pairs[0][0], Field):
        raise InvalidInputError("augment.symmetries is for inputs of one function; leave it out for samples of several")
    for name in names:
        if name == "shift":
            pairs = [_shifted(pair, generator) for pair in pairs]
            continue
        for turn in turns(name, pairs[0][0].discretization.dim):
            pairs = [_sometimes(pair, turn, name, generator) for pair in pairs]
    return pairs


def turns(name: str, dim: int) -> list[Turn]:
    """What a name of a configuration stands for in this dimension.

    >>> [turn.name for turn in turns("reflect", 2)], turns("reflect-x:-/+", 1)[0].wanted
    (['reflect-x', 'reflect-y'], '+')
    """
    word, _, signs = name.partition(":")
    given, _, wanted = signs.partition("/")
    given, wanted = ("-", "-") if word.startswith("odd-") else (given, wanted)
    word = {"transpose": "swap-xy"}.get(word, word.removeprefix("odd-"))
    kind, _, axes = word.partition("-")
    indices = [AXES.index(axis) for axis in axes] or list(range(dim))
    if max(indices) >= dim:
        raise InvalidInputError(f"symmetry {name}: there is no such axis in {dim}-D")
    if kind == "swap":
        return [Turn(Motion.swap(indices[0], indices[1], dim), given, wanted)]
    return [Turn(Motion.mirror(axis, dim), given, wanted) for axis in indices]


def _sometimes(pair: Pair, turn: Turn, name: str, generator: torch.Generator) -> Pair:
    """Half of the functions of a pair moved; all or none of them if that changes their points."""
    for field in pair:
        where = field.discretization
        if not (turn.motion.keeps(where) or (where.axes is None and turn.motion.fits(where))):
            raise InvalidInputError(
                f"symmetry {name}: {where} is not mapped onto itself; leave the symmetry out, or give the data on a "
                "uniform grid, or as points, in a box that is"
            )
    if not all(turn.motion.keeps(field.discretization) for field in pair):
        return turn.of_pair(pair) if bool(torch.rand((), generator=generator) < 0.5) else pair
    given = pair[0]
    chosen = (torch.rand(given.count, generator=generator) < 0.5).to(given.values.device)[:, None, None]
    moved = turn.of_pair(pair)
    first, second = (
        Field.unchecked(old.discretization, torch.where(chosen, new.batch_values, old.batch_values))
        for old, new in zip(pair, moved, strict=True)
    )
    return (first, second) if given.batched else (first[0], second[0])


def _signed(field: Field, signs: str) -> Field:
    """The function with the signs of its channels changed; one sign is that of all."""
    if "-" not in signs:
        return field
    if len(signs) not in (1, field.channels):
        raise InvalidInputError(f"symmetry: signs {signs} for {field.channels} channels")
    factors = torch.tensor([-1.0 if sign == "-" else 1.0 for sign in signs]).to(field.values)
    return Field.unchecked(field.discretization, field.values * factors)


def _shifted(pair: Pair, generator: torch.Generator) -> Pair:
    """`f(x) -> f(x + h)` by a number of grid steps, another one for each function."""
    given, wanted = pair
    grid = given.discretization
    if grid.axes is None or wanted.discretization.key != grid.key:
        raise InvalidInputError(f"symmetry shift: input and output must be on the same tensor grid, not on {grid}")
    _check_steps(grid)
    values = torch.cat([given.batch_values, wanted.batch_values], dim=-1).unflatten(1, grid.shape)
    for axis, size in enumerate(grid.shape, start=1):
        if not grid.periodic[axis - 1]:
            continue
        steps = torch.randint(size, (len(values),), generator=generator).to(values.device)
        indices = (torch.arange(size, device=values.device) + steps[:, None]) % size
        indices = indices.reshape(len(values), *[-1 if i == axis else 1 for i in range(1, values.ndim)])
        values = values.gather(axis, indices.expand_as(values))
    moved: Tensor = values.flatten(1, grid.dim)
    moved = moved if given.batched else moved[0]
    return (
        Field.unchecked(grid, moved[..., : given.channels]),
        Field.unchecked(grid, moved[..., given.channels :]),
    )


def _check_steps(grid: Discretization) -> None:
    """Refuse a grid that a step along a periodic axis does not map onto itself."""
    if "shifts" in grid.cache:
        return
    for i, (axis, (low, high), wraps) in enumerate(
        zip(grid.axes or (), grid.bounds.tolist(), grid.periodic, strict=True)
    ):
        miss = (axis + (high - low) / len(axis) - axis.roll(-1)) / (high - low)
        if wraps and bool(((miss - miss.round()).abs() > 1e-6).any()):
            raise InvalidInputError(
                f"symmetry shift: axis {i} of {grid} is not mapped onto itself; leave the symmetry out, or give the "
                "data on a uniform grid"
            )
    grid.cache["shifts"] = True

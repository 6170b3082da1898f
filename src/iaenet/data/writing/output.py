"""What is written: predicted functions with the names of their channels and coordinates, and where they come from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from iaenet.data.problems.problem import Channel
from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field


class Sample(NamedTuple):
    """One function and its image."""

    name: str  # different for each
    given: Field
    made: Field
    mesh: Any = None  # whose points are those of `made`, as meshio has it


@dataclass(frozen=True)
class Output:
    """Samples, which can be gone through once, and all that names them."""

    samples: Iterable[Sample]
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    coordinates: tuple[str, ...]
    suffix: str = ""  # of the file, in lower case
    origin: Mapping[str, Any] = field(default_factory=dict)
    splits: Sequence[str] | None = None  # of each sample
    along: str = "sample"  # what counts samples
    delimiter: str = ","


def coordinate_names(given: Sequence[str], dim: int, channels: Sequence[Channel]) -> tuple[str, ...]:
    """Names for `dim` coordinates: those given, if they are as many and none is a channel's, or others that fit.

    >>> coordinate_names([], 2, [Channel("u")]), coordinate_names([], 2, [Channel("y")])
    (('x', 'y'), ('x1', 'x2'))
    """
    taken = {channel.name for channel in channels}
    numbers = range(1, dim + 1)
    for names in (
        tuple(given),
        ("x", "y", "z")[:dim],
        tuple(f"x{i}" for i in numbers),
        tuple(f"coordinate{i}" for i in numbers),
    ):
        if len(names) == dim and not taken.intersection(names):
            return names
    raise InvalidInputError(f"channels have the names of coordinates: {', '.join(sorted(taken))}; rename them")

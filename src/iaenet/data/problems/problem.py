"""What every data set generator provides: pairs of functions, drawn from a random stream, at any resolution."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from iaenet.functions.discretization import Discretization
from iaenet.outside import check_name

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Channel:
    """Name and unit of one component of a function ("1" if it has no unit).

    Where an input has several functions, on points of their own, `function` is the name of that which it belongs to,
    and "scalars" for a number.
    """

    name: str
    unit: str = "1"
    function: str = ""

    def __post_init__(self) -> None:
        """Refuse names that pictures, pages and file systems do not take."""
        for text in (self.name, self.unit, self.function):
            check_name(text, "a channel")


def function_names(channels: Sequence[Channel]) -> tuple[str, ...]:
    """The functions of channels, in their order; one of no name if they are all of the same.

    >>> function_names([Channel("g", function="boundary"), Channel("f", function="source"), Channel("a")])
    ('boundary', 'source', '')
    """
    return tuple(dict.fromkeys(channel.function for channel in channels))


@dataclass(frozen=True)
class Sample:
    """One pair of functions at one resolution: values `(n, c)`, and the points they were taken at.

    `more` are the further functions of an input that has several, and numbers, as functions on `one_point()`, last.
    """

    input: Array  # (n, c)
    output: Array  # (n', c')
    input_at: Discretization
    output_at: Discretization
    more: tuple[tuple[Array, Discretization], ...] = ()

    @property
    def parts(self) -> tuple[tuple[Array, Discretization], ...]:
        """Values and points of each function of the input, then of the output."""
        return ((self.input, self.input_at), *self.more, (self.output, self.output_at))


class Problem(Protocol):
    """A frozen dataclass whose fields are the physical parameters, each with the documented default.

    `record` must draw all randomness from `rng`, and must draw it before it looks at `resolutions`, so that the same
    functions are sampled whatever resolutions are asked for. Discretizations that samples share should be one object
    (cached), so that they are stored once.
    """

    name: ClassVar[str]

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """Channels of the input, as a property or a class variable."""
        ...

    @property
    def outputs(self) -> tuple[Channel, ...]:
        """Channels of the output."""
        ...

    @property
    def windows(self) -> int:
        """Samples that one record gives; samples of one record never land in different splits. 1 for most problems."""
        ...

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """The `windows` samples of one record; each maps a resolution to the pair solved at that resolution."""
        ...

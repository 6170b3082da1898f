"""What a reader gives back: pairs of functions, read when asked for, and what is known about them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

import numpy as np

from iaenet.data.problems.problem import Channel
from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field

Pair = tuple[Field, Field]
T = TypeVar("T")
SPLITS = ("train", "validation", "test")


class Lazy(Sequence[T]):
    """`count` things, each made when it is asked for.

    >>> Lazy(3, lambda i: (f"a{i}", f"u{i}"))[-1]
    ('a2', 'u2')
    """

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            chosen = range(self._count)[index]
            return Lazy(len(chosen), lambda i: self._make(chosen[i]))
        return self._make(range(self._count)[index])

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._count))


LazyPairs = Lazy[Pair]


@dataclass(frozen=True)
class Imported:
    """Pairs `(input, output)` from files of the user, with channels, parameters and where they came from.

    `records` names the recording that each sample was cut from, where there is one: a split keeps records whole.
    `given` has the inputs alone, read without their outputs, and `where(i)` says where sample i is from.
    """

    pairs: Sequence[Pair]
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    records: tuple[str, ...] | None = None
    given: Sequence[Field] = ()
    where: Callable[[int], str] = "sample {}".format

    def split(self, train: float = 0.8, validation: float = 0.1, test: float = 0.1, seed: int | None = 0) -> list[str]:
        """The split of every sample: "train", "validation" or "test".

        Numbers are shares that add up to 1, or counts that add up to all samples (to all records, where samples come
        from records). Samples are drawn at random by `seed`; `seed=None` keeps their order: the first are for training.

        >>> imported = Imported(LazyPairs(5, lambda i: None), (), ())
        >>> imported.split(3, 0, 2, seed=None)
        ['train', 'train', 'train', 'test', 'test']
        """
        names = list(dict.fromkeys(self.records)) if self.records is not None else list(range(len(self.pairs)))
        ends = _ends((train, validation, test), len(names), "records" if self.records is not None else "samples")
        order = np.arange(len(names)) if seed is None else np.random.default_rng(seed).permutation(len(names))
        split = {names[place]: SPLITS[int(np.searchsorted(ends, at, side="right"))] for at, place in enumerate(order)}
        return [split[name] for name in (self.records if self.records is not None else names)]


def _ends(parts: tuple[float, ...], count: int, what: str) -> list[int]:
    """Where each split ends in the drawn order."""
    if any(not part >= 0 for part in parts):
        raise InvalidInputError(f"splits must not be negative, got {parts}")
    if sum(parts) == count and all(part == int(part) for part in parts):
        return [int(end) for end in np.cumsum(parts)]
    if abs(sum(parts) - 1) > 1e-9:
        raise InvalidInputError(
            f"splits {parts} must be shares that add up to 1, or counts that add up to the {count} {what}"
        )
    return [round(count * end) for end in np.cumsum(parts)]

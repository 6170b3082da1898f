"""What a reader gives back: pairs of functions, read when asked for, and what is known about them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, overload

from iaenet.data.problems.problem import Channel
from iaenet.data.splits import split_records
from iaenet.functions.field import Field

Pair = tuple[Any, Field]  # the input is a `Field`, or a `Sample`
T = TypeVar("T")


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
    `given` has the inputs alone, read without their outputs, and `where(i)` says where sample i is from. `splits` are
    those that the file itself knows, and `mesh(i)` is the mesh of sample i, as meshio has it, where there is one.
    """

    pairs: Sequence[Pair]
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    records: tuple[str, ...] | None = None
    given: Sequence[Any] = ()
    where: Callable[[int], str] = "sample {}".format
    splits: list[str] | None = None
    mesh: Callable[[int], Any] | None = None

    def split(self, train: float = 0.8, validation: float = 0.1, test: float = 0.1, seed: int | None = 0) -> list[str]:
        """The split of every sample, records whole: see `iaenet.data.splits.split_records`.

        >>> imported = Imported(LazyPairs(5, lambda i: None), (), ())
        >>> imported.split(3, 0, 2, seed=None)
        ['train', 'train', 'train', 'test', 'test']
        """
        return split_records(self.records or range(len(self.pairs)), (train, validation, test), seed)

"""What a reader gives back: pairs of functions, read when asked for, and what is known about them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, overload

from iaenet.data.problems.problem import Channel
from iaenet.data.splits import split_in_time, split_records
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


@dataclass(frozen=True)
class Imported:
    """Pairs `(input, output)` from files of the user, with channels, parameters and where they came from.

    `records` names the recording that each sample was cut from, where there is one: a split keeps records whole.
    `given` has the inputs alone, read without their outputs, and `where(i)` says where sample i is from. `splits` are
    those that the file itself knows, and `mesh(i)` is the mesh of sample i, as meshio has it, where there is one.
    `positions` are the places of samples in time within their records, where they are not simply their order. `notes`
    are what was assumed, `skipped` what was left out and why. `coordinate_units` are by name, of files that say them.
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
    positions: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    coordinate_units: dict[str, str] = field(default_factory=dict)

    def subset(self, indices: Sequence[int]) -> "Imported":
        """The samples of these indices, in this order.

        >>> Imported(Lazy(5, lambda i: (i, i)), (), (), records=("a", "a", "b", "b", "b")).subset([4, 1]).records
        ('b', 'a')
        """
        kept = list(indices)
        mesh, where = self.mesh, self.where
        return replace(
            self,
            pairs=Lazy(len(kept), lambda i: self.pairs[kept[i]]),
            given=Lazy(len(kept), lambda i: self.given[kept[i]]),
            where=lambda i: where(kept[i]),
            records=None if self.records is None else tuple(self.records[i] for i in kept),
            positions=None if self.positions is None else tuple(self.positions[i] for i in kept),
            splits=None if self.splits is None else [self.splits[i] for i in kept],
            mesh=None if mesh is None else lambda i: mesh(kept[i]),
        )

    def split(self, train: float = 0.8, validation: float = 0.1, test: float = 0.1, seed: int | None = 0) -> list[str]:
        """The split of every sample, records whole: see `iaenet.data.splits.split_records`.

        >>> imported = Imported(Lazy(5, lambda i: None), (), ())
        >>> imported.split(3, 0, 2, seed=None)
        ['train', 'train', 'train', 'test', 'test']
        """
        return split_records(self.records or range(len(self.pairs)), (train, validation, test), seed)

    def split_in_time(
        self, train: float = 0.8, validation: float = 0.1, test: float = 0.1, gap: int = 1
    ) -> "tuple[Imported, list[str]]":
        """The samples without those in the gaps, each part of a record as a record of its own, and their splits.

        Every record is cut in time, see `iaenet.data.splits.split_in_time`; samples without records are one record.

        >>> imported, splits = Imported(Lazy(7, lambda i: None), (), ()).split_in_time(3, 1, 1)
        >>> len(imported.pairs), splits
        (5, ['train', 'train', 'train', 'validation', 'test'])
        """
        count = len(self.pairs)
        records = self.records or ("all samples",) * count
        found = split_in_time(records, self.positions or range(count), (train, validation, test), gap)
        kept = [(i, name) for i, name in enumerate(found) if name is not None]
        parts = tuple(f"{records[i]} ({name})" for i, name in kept)
        return replace(self.subset([i for i, _ in kept]), records=parts), [name for _, name in kept]

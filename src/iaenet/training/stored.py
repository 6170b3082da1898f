"""Where training samples are: in memory, or in their file, of which each batch is read when it is its turn.

Samples of a file are in memory if their numbers take at most a quarter of the limit (`IAENET_MEMORY`, or else half of
the memory of this machine): their statistics, and finding a network for them, take copies. Either way the same samples
make the same batches, to the last bit.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch

from iaenet.data.dataset import Dataset
from iaenet.functions.field import Field
from iaenet.models.base import Pair
from iaenet.outside import memory_limit

SHARE = 4  # of the limit is for samples, a SHARE-th
PIECE = 16  # of what samples may take, a PIECE-th at a time, where all of a file is looked at
EXAMPLES = 4096  # functions of a file, at most, that a network is made for: spectra, latent grid, linear map;
EXAMPLE = 4  # and of what samples may take, at most an EXAMPLE-th
LATENT = 8000  # numbers of a projection, for each channel, at most (`models.grid_model`)


class Stored(Protocol):
    """Samples in stacks, a stack for each set of points."""

    def rows(self, stack: int, rows: Sequence[int]) -> Pair:
        """Some pairs of a stack as one, with values `(b, n, c)`."""
        ...

    def points(self, stack: int) -> int:
        """Points of the input of a stack."""
        ...

    def pieces(self) -> Iterator[Pair]:
        """All pairs, stack by stack and in order, several in one."""
        ...

    def parts(self) -> Iterator[tuple[int, Field]]:
        """Stack by stack, and function by function of its pairs, all values in pieces that are counted from 0."""
        ...

    @property
    def examples(self) -> Sequence[Pair]:
        """What networks are made for: all pairs, or as many as fit into memory, evenly taken of all stacks."""
        ...

    def to(self, device: torch.device | str) -> "Stored":
        """The same on another device."""
        ...


class InMemory:
    """Stacks that are kept as they are."""

    def __init__(self, stacks: Sequence[Pair]) -> None:
        self.examples = stacks

    def rows(self, stack: int, rows: Sequence[int]) -> Pair:
        given, wanted = self.examples[stack]
        return given.rows(rows), wanted.rows(rows)

    def points(self, stack: int) -> int:
        return int(self.examples[stack][0].most_points)

    def pieces(self) -> Iterator[Pair]:
        return iter(self.examples)

    def parts(self) -> Iterator[tuple[int, Field]]:
        return ((0, part) for stack in self.examples for side in stack for part in side.parts)

    def to(self, device: torch.device | str) -> "InMemory":
        return InMemory([(given.to(device), wanted.to(device)) for given, wanted in self.examples])


class InFile:
    """Stacks in a data file. What is kept of a sample on points of its own is its projection onto the latent grid."""

    def __init__(self, data: Dataset, members: Sequence[Sequence[int]], room: int) -> None:
        self.data, self.members, self.room = data, members, room
        self.device = torch.device("cpu")
        self._one = max(1, data.nbytes // len(data))  # bytes of a pair, about
        self._projections: dict[int, list[dict[object, Any]]] = {}
        channels = max(1, len(data.inputs)) * data.precision.itemsize
        self._kept = room // (LATENT * channels)  # samples, at most
        self._examples: list[Pair] | None = None

    def rows(self, stack: int, rows: Sequence[int]) -> Pair:
        members = self.members[stack]
        given, wanted = self._read([members[row] for row in rows])
        if len(members) == 1 and (stack in self._projections or len(self._projections) < self._kept):
            known = self._projections.setdefault(stack, [{} for _ in given.parts])
            for part, cache in zip(given.parts, known, strict=True):
                part.cache = cache
        return given, wanted

    def points(self, stack: int) -> int:
        return self.data.most_points(self.members[stack][0])

    def pieces(self) -> Iterator[Pair]:
        return (self._read(some) for members in self.members for some in self._cut(members))

    def parts(self) -> Iterator[tuple[int, Field]]:
        for members in self.members:
            for part in range(len(self.data.functions or [""]) + 1):
                for number, some in enumerate(self._cut(members)):
                    given, wanted = self._read(some)
                    yield number, (*given.parts, wanted)[part]

    @property
    def examples(self) -> Sequence[Pair]:
        if self._examples is None:
            count = max(1, min(EXAMPLES, self.room // EXAMPLE // self._one))
            step = math.ceil(len(self.data) / count)
            taken = [members[:: min(step, len(members))] for members in self.members]
            if len(taken) > count:  # points of their own
                taken = taken[:: math.ceil(len(taken) / count)]
            self._examples = [self._read(some) for some in taken]
        return self._examples

    def to(self, device: torch.device | str) -> "InFile":
        moved = InFile(self.data, self.members, self.room)
        moved.device = torch.device(device)
        return moved

    def _cut(self, members: Sequence[int]) -> Iterator[Sequence[int]]:
        size = max(1, self.room // PIECE // self._one)
        return (members[start : start + size] for start in range(0, len(members), size))

    def _read(self, indices: Sequence[int]) -> Pair:
        given, wanted = self.data.batch(indices)
        return given.to(self.device), wanted.to(self.device)


def stored(data: Dataset, members: Sequence[Sequence[int]]) -> Stored:
    """The samples of a file, those on the same points in one stack: in memory if there is room for them."""
    room = memory_limit() // SHARE
    if data.nbytes <= room:
        return InMemory([data.batch(indices) for indices in members])
    return InFile(data, members, room)

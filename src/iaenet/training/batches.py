"""Training samples, and the order in which they are seen."""

import copy
import hashlib
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import torch

from iaenet.data.dataset import Dataset
from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field
from iaenet.functions.seeds import stream
from iaenet.models.base import Pair, as_given, group_by_discretization
from iaenet.training.stored import InMemory, Stored, stored
from iaenet.training.survey import Survey

Indices = list[int]


class Samples:
    """Pairs, those on the same points stacked: `take(indices)` gives a batch as few fields with values `(b, n, c)`.

    >>> from iaenet import Discretization, Field
    >>> coarse, fine = Discretization.uniform(3), Discretization.uniform(5)
    >>> fields = [Field(grid, torch.rand(grid.n, 1)) for grid in (coarse, fine, coarse)]
    >>> [tuple(given.values.shape) for given, _ in Samples([(f, f) for f in fields]).take([2, 1, 0])]
    [(2, 3, 1), (1, 5, 1)]
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        if not len(pairs):
            raise InvalidInputError("there are no samples")
        self._home: list[tuple[int, int]] = [(0, 0)] * len(pairs)  # stack, and row in it
        if isinstance(pairs, Dataset):
            members = [group.tolist() for group in pairs.groups]
            self.stacks: Stored = stored(pairs, members)
        else:
            pairs = [(as_given(given, f"sample {i}"), wanted) for i, (given, wanted) in enumerate(pairs)]
            odd = next((i for i, (given, _) in enumerate(pairs) if given.layout != pairs[0][0].layout), None)
            if odd is not None:
                raise InvalidInputError(
                    f"sample {odd} has other functions, numbers or channels than sample 0: "
                    f"{pairs[odd][0].layout}, not {pairs[0][0].layout}"
                )
            members = group_by_discretization(
                [given for given, _ in pairs], [wanted.discretization for _, wanted in pairs]
            )
            stacks = [(_stack([pairs[i][0] for i in group]), _stack([pairs[i][1] for i in group])) for group in members]
            self.stacks = InMemory(stacks)
        for number, group in enumerate(members):
            for row, i in enumerate(group):
                self._home[i] = number, row
        self.device = torch.device("cpu") if isinstance(pairs, Dataset) else pairs[0][1].values.device
        chains = pairs.trajectories if isinstance(pairs, Dataset) else []
        self._next = {i: after for chain in chains for i, after in pairwise(chain)}  # the sample one step later

    def __len__(self) -> int:
        return len(self._home)

    def to(self, device: torch.device | str) -> "Samples":
        """The same samples on another device."""
        if self.device == torch.device(device):
            return self
        moved = copy.copy(self)
        moved.stacks, moved.device = self.stacks.to(device), torch.device(device)
        return moved

    def take(self, indices: Sequence[int]) -> list[Pair]:
        """These pairs, as one batched pair for each set of points."""
        rows: dict[int, Indices] = {}
        for i in indices:
            stack, row = self._home[i]
            rows.setdefault(stack, []).append(row)
        return [self.stacks.rows(stack, chosen) for stack, chosen in rows.items()]

    @cached_property
    def survey(self) -> Survey:
        """What there is to know of all samples, by one look at each."""
        return Survey(self.stacks.pieces())

    @property
    def in_time(self) -> bool:
        """Whether some samples follow others in time."""
        return bool(self._next)

    def chains(self, indices: Sequence[int], steps: int) -> list[tuple[Any, list[Field]]]:
        """Inputs, and their outputs after 1, 2, .. steps as far as trajectories go, batched where that is alike."""
        groups: dict[tuple[int, ...], list[Indices]] = {}
        for i in indices:
            chain = [i]
            while len(chain) < steps and chain[-1] in self._next:
                chain.append(self._next[chain[-1]])
            groups.setdefault(tuple(self._home[each][0] for each in chain), []).append(chain)
        found = []
        for stacks, members in groups.items():
            rows = [[self._home[i][1] for i in step] for step in zip(*members, strict=True)]
            pairs = [self.stacks.rows(stack, chosen) for stack, chosen in zip(stacks, rows, strict=True)]
            found.append((pairs[0][0], [wanted for _, wanted in pairs]))
        return found

    @property
    def content(self) -> str:
        """SHA-256 of all points and values, in their order."""
        digest = hashlib.sha256(repr(self._home).encode())
        for number, field in self.stacks.parts():
            if number == 0:
                digest.update(field.discretization.key.encode())
            digest.update(field.values.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def by_size(self) -> list[Indices]:
        """The samples with equally many points, fewest first: the data sets of the sequential variant."""
        sizes: dict[int, Indices] = {}
        for i, (stack, _) in enumerate(self._home):
            sizes.setdefault(self.stacks.points(stack), []).append(i)
        return [sizes[size] for size in sorted(sizes)]


def collate(pairs: Sequence[Pair]) -> tuple[list[Any], list[Field]]:
    """Pairs as lists of inputs and of outputs, those on the same points stacked: `collate_fn` of a `DataLoader`.

    `model(inputs, at=[output.discretization for output in outputs])` takes them as they are, whatever their points.

    >>> from torch.utils.data import DataLoader
    >>> from iaenet.functions.discretization import Discretization
    >>> fields = [Field(Discretization.uniform(n), torch.ones(n, 1)) for n in (3, 5, 3)]
    >>> inputs, outputs = next(iter(DataLoader([(f, f) for f in fields], batch_size=3, collate_fn=collate)))
    >>> [tuple(field.values.shape) for field in inputs]
    [(2, 3, 1), (1, 5, 1)]
    """
    stacks = Samples(pairs).stacks.examples
    return [given for given, _ in stacks], [wanted for _, wanted in stacks]


def batches(
    samples: Samples, epoch: int, *, batch_size: int, seed: int, epochs: int = 0, epochs_per_resolution: int = 0
) -> list[Indices]:
    """The batches of an epoch: a random order that follows from seed and epoch alone.

    `epochs_per_resolution`, if positive, are spent on each resolution before the next (the paper's sequential variant).
    Turns are counted from the last of all `epochs`, so that the training ends on the finest, whatever their number; it
    begins with whatever resolution that leaves, for fewer epochs if there are fewer. Where their number is not known
    before (0: a budget of time), it begins with the coarsest.
    """
    chosen = list(range(len(samples)))
    if epochs_per_resolution > 0:
        sizes = samples.by_size()
        turns_left = (epochs - 1 - epoch) // epochs_per_resolution
        chosen = sizes[-1 - turns_left % len(sizes)]
    order = torch.randperm(len(chosen), generator=stream(seed, "order", epoch)).tolist()
    return [[chosen[i] for i in order[start : start + batch_size]] for start in range(0, len(order), batch_size)]


def _stack(fields: list[Any]) -> Any:
    if any(field.count != 1 for field in fields):
        raise InvalidInputError("a pair is one function and its image; give batches apart, one pair each")
    return type(fields[0]).stack(fields)

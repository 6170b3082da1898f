"""Training samples in memory, and the order in which they are seen."""

import copy
import hashlib
from collections.abc import Sequence
from typing import Any

import torch

from iaenet.data.dataset import Dataset
from iaenet.errors import InvalidInputError
from iaenet.functions.seeds import stream
from iaenet.models.base import Pair, as_given, group_by_discretization

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
        self.stacks: list[Pair] = []
        self._home: list[tuple[int, int]] = [(0, 0)] * len(pairs)  # stack, and row in it
        if isinstance(pairs, Dataset):
            members = [group.tolist() for group in pairs.groups]
            stacks = [pairs.batch(group) for group in members]
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
        for number, (group, (given, wanted)) in enumerate(zip(members, stacks, strict=True)):
            self.stacks.append((given, wanted))
            for row, i in enumerate(group):
                self._home[i] = number, row

    def __len__(self) -> int:
        return len(self._home)

    def to(self, device: torch.device | str) -> "Samples":
        """The same samples on another device."""
        if self.stacks[0][1].values.device == torch.device(device):
            return self
        moved = copy.copy(self)
        moved.stacks = [(given.to(device), wanted.to(device)) for given, wanted in self.stacks]
        return moved

    def take(self, indices: Sequence[int]) -> list[Pair]:
        """These pairs, as one batched pair for each set of points."""
        rows: dict[int, Indices] = {}
        for i in indices:
            stack, row = self._home[i]
            rows.setdefault(stack, []).append(row)
        return [(self.stacks[s][0].rows(chosen), self.stacks[s][1].rows(chosen)) for s, chosen in rows.items()]

    @property
    def content(self) -> str:
        """SHA-256 of all points and values, in their order."""
        digest = hashlib.sha256(repr(self._home).encode())
        for field in (part for stack in self.stacks for side in stack for part in side.parts):
            digest.update(field.discretization.key.encode())
            digest.update(field.values.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def by_size(self) -> list[Indices]:
        """The samples with equally many points, fewest first: the data sets of the sequential variant."""
        sizes: dict[int, Indices] = {}
        for i, (stack, _) in enumerate(self._home):
            sizes.setdefault(self.stacks[stack][0].most_points, []).append(i)
        return [sizes[size] for size in sorted(sizes)]


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

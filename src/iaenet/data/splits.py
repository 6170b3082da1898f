"""Which samples are for training, validation and test."""

import math
from collections.abc import Hashable, Sequence

import numpy as np

from iaenet.data.file_format import SPLITS
from iaenet.errors import InvalidInputError


def split_sizes(parts: Sequence[float], count: int, what: str = "samples") -> list[int]:
    """Numbers of train, validation and test: counts with sum `count` as they are, or shares of it with sum 1.

    Shares give the nearest whole numbers; where there are enough, at least one for every share above zero.

    >>> split_sizes((0.8, 0.1, 0.1), 25), split_sizes((0.8, 0.1, 0.1), 4), split_sizes((3, 0, 2), 5)
    ([20, 3, 2], [2, 1, 1], [3, 0, 2])
    """
    if len(parts) != len(SPLITS) or not all(0 <= part < math.inf for part in parts):
        raise InvalidInputError(
            f"splits must be three shares or numbers, for {', '.join(SPLITS)}; got {', '.join(map(str, parts))}"
        )
    if sum(parts) == count and all(part == int(part) for part in parts):
        return [int(part) for part in parts]
    if not math.isclose(sum(parts), 1):
        raise InvalidInputError(
            f"splits must be shares with sum 1, or numbers with sum {count} (all {what}); "
            f"got {', '.join(map(str, parts))}"
        )
    wanted = [count * share for share in parts]
    enough = count >= sum(share > 0 for share in parts)
    least = [int(enough and share > 0) for share in parts]
    sizes = [max(low, math.floor(w + 1e-9)) for low, w in zip(least, wanted, strict=True)]
    while sum(sizes) != count:
        step = 1 if sum(sizes) < count else -1
        gains = [
            step * (w - n) if w > 0 and n + step >= low else -math.inf
            for w, n, low in zip(wanted, sizes, least, strict=True)
        ]
        sizes[gains.index(max(gains))] += step
    return sizes


def split_records(
    records: Sequence[Hashable], parts: Sequence[float] = (0.8, 0.1, 0.1), seed: int | None = 0
) -> list[str]:
    """The split of each sample, "train", "validation" or "test"; samples of the same record stay together.

    `parts` are shares or numbers of records, see `split_sizes`. Records are drawn at random by `seed`; `seed=None`
    keeps their order, with the first for training.

    >>> split_records([7, 7, 8, 9], (2, 0, 1), seed=None)
    ['train', 'train', 'train', 'test']
    """
    different = list(dict.fromkeys(records))
    sizes = split_sizes(parts, len(different), "samples" if len(different) == len(records) else "records")
    order = range(len(different)) if seed is None else np.random.default_rng(seed).permutation(len(different))
    names = (name for name, size in zip(SPLITS, sizes, strict=True) for _ in range(size))
    found = {different[i]: name for i, name in zip(order, names, strict=True)}
    return [found[record] for record in records]


def split_in_time(
    records: Sequence[Hashable], positions: Sequence[int], parts: Sequence[float] = (0.8, 0.1, 0.1), gap: int = 1
) -> list[str | None]:
    """The split of each sample by its place in time: of every record the first part trains, the next ones follow.

    `positions` count windows within a record; samples of one window (leads, say) stay together. `parts` are shares or
    numbers of windows, see `split_sizes`. Between two parts `gap` windows are left out (None), so that validation and
    test do not begin where training ends.

    >>> split_in_time("aaaaaaa", range(7), (3, 1, 1))
    ['train', 'train', 'train', None, 'validation', None, 'test']
    """
    if gap < 0:
        raise InvalidInputError(f"gap must not be negative, got {gap}")
    used = sum(part > 0 for part in parts)
    places: dict[Hashable, set[int]] = {}
    for record, position in zip(records, positions, strict=True):
        places.setdefault(record, set()).add(position)
    found: dict[tuple[Hashable, int], str | None] = {}
    for record, here in places.items():
        left = len(here) - gap * (used - 1)
        if left < used:
            raise InvalidInputError(
                f"{record}: {len(here)} windows are too few for {used} parts with a gap of {gap} between them; "
                "cut shorter windows, or leave a part or the gap out (0)"
            )
        order: list[str | None] = []
        for name, size in zip(SPLITS, split_sizes(parts, left, "windows but the gaps"), strict=True):
            order += [None] * (gap if order and size else 0) + [name] * size
        found |= {(record, position): name for position, name in zip(sorted(here), order, strict=True)}
    return [found[place] for place in zip(records, positions, strict=True)]

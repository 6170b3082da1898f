"""Which arrays, and which of their channels: `u`, `u[0]`, `u[0:3]`, `velocity[:,0]`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from iaenet.data.problems.problem import Channel
from iaenet.errors import InvalidInputError

Names = str | Sequence[str]
_WITH_INDEX = re.compile(r"(?P<name>.+?)\[(?P<index>[-\d:, ]+)\]")
_INDEX = re.compile(r"-?\d+|(-?\d*):(-?\d*)(:\d+)?")


@dataclass(frozen=True)
class Chosen:
    """An array by name, and what to take of each of its channel axes (all of it where nothing is said)."""

    name: str
    index: tuple[int | slice, ...] = ()

    def channels(self, sizes: Sequence[int], where: object) -> tuple[tuple[slice, ...], list[str]]:
        """Slices of channel axes of the given sizes, and the names of the channels that they keep.

        >>> Chosen("u", (-1,)).channels([20], "run.npz")
        ((slice(19, 20, 1),), ['u[19]'])
        """
        if len(self.index) > len(sizes):
            raise InvalidInputError(
                f"{where}: {self} has {len(self.index)} indices, but array {self.name!r} has {len(sizes)} channel axes"
            )
        ranges = []
        for axis, size in enumerate(sizes):
            wanted = self.index[axis] if axis < len(self.index) else slice(None)
            kept = range(size)[wanted] if isinstance(wanted, slice) else _single(wanted, size)
            if not kept:
                raise InvalidInputError(f"{where}: {self} is empty: channel axis {axis} has {size} entries")
            ranges.append(kept)
        slices = tuple(slice(kept.start, kept.stop, kept.step) for kept in ranges)
        labels = list(product(*ranges))
        if len(labels) == 1 and not self.index:
            return slices, [self.name]
        return slices, [f"{self.name}[{','.join(map(str, label))}]" for label in labels]

    def __str__(self) -> str:
        if not self.index:
            return self.name
        parts = (
            str(i) if isinstance(i, int) else f"{'' if i.start is None else i.start}:{'' if i.stop is None else i.stop}"
            for i in self.index
        )
        return f"{self.name}[{','.join(parts)}]"


def _single(wanted: int, size: int) -> range:
    at = wanted + size if wanted < 0 else wanted
    return range(at, at + 1) if 0 <= at < size else range(0)


def name_list(names: Names | None) -> list[str]:
    """A list of names, or one string of names with commas between them.

    >>> name_list("x, velocity[0,1],p"), name_list(["x", "y"]), name_list(None)
    (['x', 'velocity[0,1]', 'p'], ['x', 'y'], [])
    """
    if names is None:
        return []
    parts = re.split(r",(?![^\[]*\])", names) if isinstance(names, str) else list(names)
    stripped = [str(part).strip() for part in parts]
    if not all(stripped):
        raise InvalidInputError(f"names must not be empty, got {names!r}")
    return stripped


def chosen(names: Names, role: str, there: Sequence[str] = ()) -> list[Chosen]:
    """The arrays that the user named as "inputs" or "outputs"; a name that is there as a whole is not split.

    >>> [str(item) for item in chosen("a,u[0:3]", "inputs")]
    ['a', 'u[0:3]']
    """
    found = []
    for name in name_list(names):
        match = None if name in there else _WITH_INDEX.fullmatch(name)
        found.append(
            Chosen(match["name"], tuple(_index(part, name) for part in match["index"].split(",")))
            if match
            else Chosen(name)
        )
    if not found:
        raise InvalidInputError(f"{role}: name at least one")
    if len({str(item) for item in found}) < len(found):
        raise InvalidInputError(f"{role}: the same name twice in {', '.join(map(str, found))}")
    return found


def _index(text: str, name: str) -> int | slice:
    match = _INDEX.fullmatch(text.strip())
    if match is None:
        raise InvalidInputError(f"{name}: {text!r} is neither a number nor a range such as 0:3")
    if match[1] is None:
        return int(text)
    step = int(match[3][1:]) if match[3] else 1
    if step < 1:
        raise InvalidInputError(f"{name}: the step of a range must be at least 1")
    return slice(int(match[1]) if match[1] else None, int(match[2]) if match[2] else None, step)


def with_units(names: Sequence[str], units: Mapping[str, str] | None) -> tuple[Channel, ...]:
    """Channels with the units given for them, or for the array that they are part of.

    >>> [(one.name, one.unit) for one in with_units(["p", "v[0]", "v[1]"], {"v": "m/s"})]
    [('p', '1'), ('v[0]', 'm/s'), ('v[1]', 'm/s')]
    """
    known = dict(units or {})
    return tuple(Channel(name, known.get(name, known.get(name.split("[")[0], "1"))) for name in names)


def check_units(units: Mapping[str, str] | None, names: Sequence[str]) -> None:
    """Refuse a unit for something that is not imported."""
    everything = {*names, *(name.split("[")[0] for name in names)}
    unknown = [name for name in units or {} if name not in everything]
    if unknown:
        raise InvalidInputError(f"units: {unknown[0]!r} is not among the channels {', '.join(names)}")

"""Arrays that hold all samples along one axis, `(samples, ...)`, and the sources that such arrays come from."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from iaenet.data.reading.array_layout import check_numbers
from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.channel_names import Names, chosen, name_list
from iaenet.data.reading.files import missing as lacking
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.sample_files import ArraySide, ChannelAxis, FieldOptions, SampledArray, Slices, assemble
from iaenet.data.reading.sample_points import GridKind
from iaenet.data.reading.time_axis import States, in_time, time_axis
from iaenet.errors import InvalidInputError
from iaenet.outside import check_size

BLOCK = 2**24  # bytes that are read at a time: one sample after the other would open every compressed chunk anew


class Stack(Protocol):
    """An array in a file, of which any part can be read."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __getitem__(self, index: tuple[slice, ...]) -> NDArray[Any]: ...


class Separate(Protocol):
    """Samples that hold arrays of their own, of any shapes."""

    datasets: list[str]  # names of the arrays, as the first sample has them

    def __len__(self) -> int: ...
    def where(self, sample: int) -> str: ...
    def array(self, name: str) -> SampledArray: ...
    def choose(self, bad: BadRecords, wanted: Iterable[str]) -> None:
        """Leave out samples that lack one of the arrays wanted, if `bad` says so."""
        ...


class ArrayOptions(FieldOptions, total=False):
    """Options of readers of arrays."""

    coordinates: Names | None
    dim: int | None
    channels: ChannelAxis
    sample_axis: int
    grid: GridKind | None


class StackOptions(ArrayOptions, total=False):
    """Options of readers of arrays that hold all samples."""

    output_coordinates: Names | None
    time: str | int | None
    segment: int | None


class Blocks:
    """One sample of a stack at a time, read in blocks of neighbouring samples.

    >>> rows = Blocks(np.arange(6.0).reshape(2, 3), axis=1)
    >>> rows.read(2, (slice(None),)).tolist()
    [2.0, 5.0]
    """

    def __init__(self, stack: Stack, axis: int) -> None:
        self._stack = stack
        self._axis = axis
        self._slices: Slices | None = None
        self._start = 0
        self._block: NDArray[Any] = np.empty(0)

    def read(self, sample: int, slices: Slices) -> NDArray[Any]:
        """The sample without its own axis, cut to the slices of the other axes."""
        if slices != self._slices or not self._start <= sample < self._start + len(self._block):
            sizes = [size for i, size in enumerate(self._stack.shape) if i != self._axis]
            row = self._stack.dtype.itemsize
            for size, part in zip(sizes, slices, strict=True):
                row *= len(range(size)[part])
            check_size("one sample", row)
            rows = max(1, BLOCK // max(row, 1))
            self._start = sample - sample % rows
            stop = min(self._start + rows, self._stack.shape[self._axis])
            index = (*slices[: self._axis], slice(self._start, stop), *slices[self._axis :])
            self._block = np.moveaxis(self._stack[index], self._axis, 0)
            self._slices = slices
        return self._block[sample - self._start]


def read_stacks(
    file: object,
    stacks: Mapping[str, Stack],
    *,
    inputs: Names,
    outputs: Names,
    coordinates: Names | None = None,
    output_coordinates: Names | None = None,
    dim: int | None = None,
    channels: ChannelAxis = "last",
    sample_axis: int = 0,
    grid: GridKind | None = None,
    time: str | int | None = None,
    segment: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    **options: Unpack[FieldOptions],
) -> Imported:
    """Pairs from stacks by name; the options are those of `read_npz`."""
    picked = [chosen(names, role, list(stacks)) for names, role in ((inputs, "inputs"), (outputs, "outputs"))]
    named = [name_list(coordinates), name_list(output_coordinates if output_coordinates is not None else coordinates)]
    for name in [item.name for side in picked for item in side] + [name for side in named for name in side]:
        if name not in stacks:
            raise lacking(file, "array", name, list(stacks))
    lead = picked[0][0].name
    if time is not None:
        own, along, step = time_axis(file, stacks, time, lead, sample_axis)
        moving = {item.name for side in picked for item in side}
        length = stacks[lead].shape[along]
        for name in moving:
            if stacks[name].shape[along : along + 1] != (length,):
                raise InvalidInputError(
                    f"{file}: {name!r} of shape {stacks[name].shape} has not the {length} times of {lead!r} along axis "
                    f"{along}"
                )
        stacks = {name: States(stacks[name], own, along) if name in moving else stacks[name] for name in stacks}
        sample_axis = 0
    count = _count(file, lead, stacks[lead].shape, sample_axis)
    sides = []
    for items, its_coordinates in zip(picked, named, strict=True):
        arrays = []
        for item in items:
            found = _count(file, item.name, stacks[item.name].shape, sample_axis)
            if found != count:
                raise InvalidInputError(f"{file}: {item.name!r} has {found} samples, but {lead!r} has {count}")
            arrays.append((item, stacked(item.name, stacks[item.name], sample_axis)))
        shape = arrays[0][1].shape(0)
        where = []
        for name in its_coordinates:
            stack = stacks[name]
            own = _own_axis(stack.shape, count, shape, sample_axis, len(its_coordinates), channels == "first")
            where.append(stacked(name, stack, sample_axis) if own else shared(name, stack))
        sides.append(ArraySide(file, where, arrays, dim, channels, grid or "closed"))
    imported = assemble(
        lambda sample: f"{file}: sample {sample}",
        count,
        *sides,
        parameters=parameters,
        provenance=provenance or {},
        notes=[] if all(named) else grid_notes(grid),
        **options,
    )
    return imported if time is None else in_time(imported, [i // length for i in range(count)], step, segment)


def field_options(options: ArrayOptions) -> FieldOptions:
    """Those of the options that every reader has."""
    return cast(FieldOptions, {name: options.get(name) for name in FieldOptions.__annotations__ if name in options})


def read_separate(
    file: object,
    samples: Separate,
    *,
    inputs: Names,
    outputs: Names,
    parameters: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any],
    **options: Unpack[StackOptions],
) -> Imported:
    """Pairs from samples with arrays of their own; options are those of `read_npz` but for axes of samples, of time."""
    bad = BadRecords(options.get("skip_bad", False))
    grid, coordinates = options.get("grid"), options.get("coordinates")
    there = options.get("output_coordinates")
    named = [name_list(coordinates), name_list(coordinates if there is None else there)]
    roles = ((inputs, "inputs"), (outputs, "outputs"))
    picked = [item.name for names, role in roles for item in chosen(names, role, samples.datasets)]
    samples.choose(bad, {*named[0], *named[1], *picked})
    sides = [
        ArraySide(
            file,
            [samples.array(name) for name in where],
            [(item, samples.array(item.name)) for item in chosen(names, role, samples.datasets)],
            options.get("dim"),
            options.get("channels", "last"),
            grid or "closed",
        )
        for (names, role), where in zip(roles, named, strict=True)
    ]
    return assemble(
        samples.where,
        len(samples),
        *sides,
        parameters=parameters,
        provenance=provenance,
        bad=bad,
        notes=[] if all(named) else grid_notes(grid),
        **field_options(options),
    )


def grid_notes(grid: GridKind | None) -> list[str]:
    """What is assumed of arrays without coordinates, if nobody said it."""
    if grid is not None:
        return []
    return [
        "no coordinates: a closed grid is assumed, i / (n - 1) of a side (i / n where periodic); "
        "say --grid closed, or left for i / n, or centres for (i + 1/2) / n"
    ]


def stacked(name: str, stack: Stack, axis: int = 0) -> SampledArray:
    """A stack as an array that every sample has one of."""
    at = axis % len(stack.shape)
    shape = stack.shape[:at] + stack.shape[at + 1 :]
    return SampledArray(name, lambda _: shape, stack.dtype, Blocks(stack, at).read)


def shared(name: str, stack: Stack) -> SampledArray:
    """A stack as an array that all samples share."""
    check_numbers(repr(name), stack.dtype)
    whole = stack[(slice(None),) * len(stack.shape)]
    return SampledArray(name, lambda _: whole.shape, stack.dtype, lambda _, slices: whole[slices], shared=True)


def _count(file: object, name: str, shape: tuple[int, ...], axis: int) -> int:
    if len(shape) < 2 or not -len(shape) <= axis < len(shape):
        raise InvalidInputError(
            f"{file}: {name!r} has shape {shape}, but needs an axis of samples (axis {axis}) and one or more of points"
        )
    if 0 in shape:
        raise InvalidInputError(f"{file}: {name!r} is empty, shape {shape}")
    return shape[axis]


def _own_axis(shape: tuple[int, ...], count: int, values: tuple[int, ...], axis: int, names: int, first: bool) -> bool:
    """Whether an array of coordinates has a sample axis of its own, rather than being shared by all samples.

    `values` is the shape of one sample. A single array is `(samples, n)` or `(samples, n, d)`; several have the shape
    of the space axes, with or without the sample axis.
    """
    if len(shape) < 2 or not -len(shape) <= axis < len(shape) or shape[axis] != count:
        return False
    at = axis % len(shape)
    own = shape[:at] + shape[at + 1 :]
    if names == 1:
        return len(own) <= 2 and own[0] == values[-1 if first else 0]

    def fits(part: tuple[int, ...]) -> bool:
        return part == (values[len(values) - len(part) :] if first else values[: len(part)])

    return fits(own) and not fits(shape)

"""Pairs from arrays whose dimensions have names, as xarray has them: NetCDF files, zarr stores, objects in memory."""

import os
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.channel_names import Chosen, Names, chosen, name_list
from iaenet.data.reading.files import missing as lacking
from iaenet.data.reading.files import reading
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.sample_files import ArraySide, FieldOptions, SampledArray, Slices, assemble
from iaenet.data.reading.stacks import Blocks
from iaenet.data.reading.time_axis import even_step, in_time
from iaenet.errors import InvalidInputError
from iaenet.outside import check_size


def read_labelled(
    names: list[str],
    opened: Callable[[int], Any],
    *,
    coordinates: Names,
    inputs: Names,
    outputs: Names,
    sample: str | None,
    provenance: Mapping[str, Any],
    bad: BadRecords | None = None,
    time: str | None = None,
    segment: int | None = None,
    **options: Unpack[FieldOptions],
) -> Imported:
    """Pairs from datasets of these names, each given by `opened(i)` as xarray has it; see `read_netcdf`."""
    where_is = name_list(coordinates)
    if time is not None:  # a dataset for each trajectory, whose samples are its states
        names, opened = _trajectories(names, opened, sample)
        sample = time
    bad = bad or BadRecords(options.get("skip_bad", False))
    wanted = {*where_is, *(item.name for each in (inputs, outputs) for item in chosen(each, "inputs"))}
    source = Datasets(names, opened, sample, wanted, bad, time is not None)
    space = source.space(where_is)
    sides = [
        ArraySide(
            source.names[0],
            [source.array(name, tuple(each for each in space if each in source.dimensions(name))) for name in where_is],
            [(item, source.array(item.name, space, fill=True)) for item in source.chosen(names, role)],
        )
        for names, role in ((inputs, "inputs"), (outputs, "outputs"))
    ]
    items = [*source.chosen(inputs, "inputs"), *source.chosen(outputs, "outputs")]
    first = source.open(0)
    named = {name: first[name].attrs.get("units") for name in [*(item.name for item in items), *where_is]}
    known = {name: unit for name, unit in named.items() if isinstance(unit, str)}
    own = {name: unit for name, unit in known.items() if name not in where_is}
    options["units"] = own | dict(options.get("units") or {})
    twins = time is None and source.twins(items[0].name, space)
    imported = assemble(
        source.where,
        source.count,
        *sides,
        provenance=provenance,
        records=[f"sample {source.place(i)[1]}" for i in range(source.count)] if twins else None,
        bad=bad,
        notes=[
            f"{len(source.names)} files with as many samples on different grids: sample i of each is taken for the "
            "same function at another resolution, and they are kept in one split"
        ]
        * twins,
        **options,
    )
    imported = replace(imported, coordinate_units={name: known[name] for name in where_is if name in known})
    if time is None:
        return imported
    return in_time(imported, [source.place(i)[0] for i in range(source.count)], source.step(time), segment)


def _trajectories(
    names: list[str], opened: Callable[[int], Any], sample: str | None
) -> tuple[list[str], Callable[[int], Any]]:
    """Each dataset by itself, or each entry of its dimension of samples."""
    if sample is None:
        return names, opened
    places = []
    for i, name in enumerate(names):
        dataset = opened(i)
        if sample not in dataset.sizes:
            raise lacking(name, "dimension", sample, [str(each) for each in dataset.sizes])
        places += [(i, row) for row in range(dataset.sizes[sample])]
        dataset.close()
    return [f"{names[i]}: sample {row}" for i, row in places], lambda k: opened(places[k][0]).isel(
        {sample: places[k][1]}
    )


class Datasets:
    """The variables of datasets, one of which is open at a time; without a dimension of samples, each is a sample."""

    def __init__(
        self,
        names: list[str],
        opened: Callable[[int], Any],
        sample: str | None,
        wanted: set[str],
        bad: BadRecords,
        in_time: bool = False,
    ) -> None:
        self._sample = sample
        self._in_time = in_time  # samples are states: a variable without time is the same in all of a trajectory
        self._open: tuple[int, Any] | None = None
        self._opened = opened
        self._coordinates: dict[tuple[int, str], NDArray[Any]] = {}  # of the dataset that is open
        self.names = names
        self._index: list[int] = list(range(len(names)))  # of the datasets that can be used
        counts, usable = [], []
        for i in range(len(names)) if bad.skip or sample is not None else ():
            with bad.passed_over():
                dataset = self.open(i)
                for name in wanted.difference(map(str, dataset.variables)) if bad.skip else ():
                    raise lacking(names[i], "variable", name, [str(each) for each in dataset.variables])
                if sample is not None and sample not in dataset.sizes:
                    raise lacking(names[i], "dimension", sample, [str(name) for name in dataset.sizes])
                counts.append(1 if sample is None else int(dataset.sizes[sample]))
                usable.append(i)
        if counts or bad.skip:
            bad.check(usable, "files")
            self._index, self.names, self._open = usable, [names[i] for i in usable], None
        self._counts = counts or [1] * len(names)
        self._ends = list(accumulate(self._counts))
        self.count = self._ends[-1]
        if not self.count:
            raise InvalidInputError(f"{', '.join(self.names)}: dimension {sample!r} has no samples")

    def place(self, sample: int) -> tuple[int, int]:
        """The dataset of a sample, and its row there."""
        index = bisect_right(self._ends, sample)
        return index, sample - (self._ends[index] - self._counts[index])

    def where(self, sample: int) -> str:
        """Where a sample is from, for messages."""
        index, row = self.place(sample)
        return self.names[index] if self._sample is None else f"{self.names[index]}: sample {row}"

    def step(self, time: str) -> float:
        """Between two times, by the variable of that name; 1 if there is none. The same in all datasets."""
        steps: list[float] = []
        for index, name in enumerate(self.names):
            found = self.open(index).variables
            steps.append(even_step(name, np.asarray(found[time].values, float)) if time in found else 1.0)
            if steps[-1] != steps[0]:
                raise InvalidInputError(f"{name}: a time step of {steps[-1]}, but {self.names[0]} has {steps[0]}")
        return steps[0]

    def twins(self, name: str, space: tuple[str, ...]) -> bool:
        """Whether datasets hold the same samples at different resolutions, as far as their sizes tell."""
        if self._sample is None or len(self.names) < 2 or len(set(self._counts)) > 1:
            return False
        sizes = [self._variable(i, name).sizes for i in range(len(self.names))]
        return len({tuple(each[dim] for dim in space) for each in sizes}) == len(sizes)

    def open(self, index: int) -> Any:
        """A dataset, of which nothing is read yet."""
        if self._open is None or self._open[0] != index:
            if self._open is not None:
                self._open[1].close()
            self._open = (index, self._opened(self._index[index]))
        return self._open[1]

    def chosen(self, names: Names, role: str) -> list[Chosen]:
        """The variables that the user named."""
        return chosen(names, role, [str(name) for name in self.open(0).variables])

    def dimensions(self, name: str) -> tuple[str, ...]:
        """The dimensions of a variable, without that of samples."""
        return tuple(each for each in self._variable(0, name).dims if each != self._sample)

    def space(self, coordinates: list[str]) -> tuple[str, ...]:
        """The dimensions of space: one for each coordinate, or the same ones for all."""
        if not coordinates:
            raise InvalidInputError(f"{self.names[0]}: coordinates: name at least one variable")
        dims = [self.dimensions(name) for name in coordinates]
        if len(set(dims)) == 1 and dims[0]:
            return dims[0]
        flat = tuple(each for dimensions in dims for each in dimensions)
        if all(len(each) == 1 for each in dims) and len(set(flat)) == len(flat):
            return flat
        shown = ", ".join(f"{name}({', '.join(each)})" for name, each in zip(coordinates, dims, strict=True))
        raise InvalidInputError(
            f"{self.names[0]}: coordinates {shown}: each needs one dimension of its own, or all need the same"
        )

    def array(self, name: str, space: tuple[str, ...], fill: bool = False) -> SampledArray:
        """A variable with its axes in the order of `space`, and with `fill` its other dimensions after them."""
        first = self._variable(0, name)
        if any(each not in first.dims for each in space):
            raise InvalidInputError(
                f"{self.names[0]}: variable {name}({', '.join(first.dims)}) needs the dimensions {', '.join(space)}"
            )
        others = tuple(each for each in first.dims if each not in space and each != self._sample) if fill else ()
        order = (*space, *others)
        if self._sample is not None and self._sample not in first.dims:
            if fill and not self._in_time:
                raise InvalidInputError(
                    f"{self.names[0]}: variable {name}({', '.join(first.dims)}) lacks the dimension {self._sample}"
                )

            def shared(sample: int, slices: Slices) -> NDArray[Any]:
                return self._coordinate(self.place(sample)[0], name, order)[slices]

            shape = lambda sample: self._coordinate(self.place(sample)[0], name, order).shape  # noqa: E731
            return SampledArray(name, shape, first.dtype, shared, shared=len(self.names) == 1)
        if self._sample is None:

            def read(sample: int, slices: Slices) -> NDArray[Any]:
                return self._part(sample, name, order)[slices]

            return SampledArray(name, lambda sample: self._part(sample, name, order).shape, first.dtype, read)
        blocks = lru_cache(maxsize=1)(lambda index: Blocks(self._part(index, name, (str(self._sample), *order)), 0))

        def row(sample: int, slices: Slices) -> NDArray[Any]:
            index, at = self.place(sample)
            return blocks(index).read(at, slices)

        return SampledArray(name, lambda sample: self._part(self.place(sample)[0], name, order).shape, first.dtype, row)

    def _coordinate(self, index: int, name: str, order: tuple[str, ...]) -> NDArray[Any]:
        """A variable that all samples of a dataset share."""
        if (index, name) not in self._coordinates:
            part = self._part(index, name, order)[(slice(None),) * len(order)]
            self._coordinates = {key: value for key, value in self._coordinates.items() if key[0] == index}
            self._coordinates[index, name] = part
        return self._coordinates[index, name]

    def _part(self, index: int, name: str, order: tuple[str, ...]) -> "_Transposed":
        """A variable in this order of dimensions; the shape is that of one sample if the order has no samples."""

        def variable() -> Any:
            found = self._variable(index, name)
            if self._sample in found.dims and self._sample not in order:
                found = found.isel({self._sample: 0})
            return found.transpose(*order)

        return _Transposed(self.names[index], name, variable)

    def _variable(self, index: int, name: str) -> Any:
        dataset = self.open(index)
        if name not in dataset.variables:
            raise lacking(self.names[index], "variable", name, [str(each) for each in dataset.variables])
        return dataset[name].variable


class _Transposed:
    """A variable that is read in parts."""

    def __init__(self, file: str, name: str, variable: Callable[[], Any]) -> None:
        self._where = f"{file}: variable {name!r}"
        self._variable = variable
        with reading(self._where, "NetCDF or zarr"):
            found = variable()
            self.shape: tuple[int, ...] = found.shape
            self.dtype: np.dtype[Any] = found.dtype

    def __getitem__(self, index: Sequence[slice]) -> NDArray[Any]:
        with reading(self._where, "NetCDF or zarr"):
            part = self._variable()[tuple(index)]
            source = str(part.encoding.get("source", ""))
            check_size(self._where, part.nbytes, os.path.getsize(source) if os.path.isfile(source) else None)
            values: NDArray[Any] = part.values
            return values

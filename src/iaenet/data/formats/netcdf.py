"""NetCDF by xarray: one file with a dimension of samples, or one file for each sample."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.data.file_format import as_json, to_bytes
from iaenet.data.formats.format import Format
from iaenet.data.reading.channel_names import Chosen, Names, chosen, name_list
from iaenet.data.reading.files import files_in, missing, reading, required
from iaenet.data.reading.hdf5_file import open_hdf5
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.number_tables import numbers_of_stacks
from iaenet.data.reading.sample_files import ArraySide, SampledArray, Slices, assemble
from iaenet.data.reading.sample_points import Bounds, Periodic, Rule
from iaenet.data.reading.stacks import Blocks
from iaenet.data.writing.output import Output, Sample
from iaenet.data.writing.stacked import POINTS, ROWS, Named, sample_arrays, stacked
from iaenet.errors import InvalidInputError

SUFFIXES = (".nc", ".nc4", ".cdf", ".netcdf")


def read_netcdf(
    path: str | Path,
    *,
    coordinates: Names,
    inputs: Names,
    outputs: Names,
    sample: str | None = None,
    bounds: Bounds = None,
    periodic: Periodic = False,
    rule: Rule = "cells",
    units: Mapping[str, str] | None = None,
) -> Imported:
    """Pairs from variables whose dimensions have names: the dimensions of the coordinates are space.

    coordinates: variables on dimensions of their own (`lon`, `lat`: a grid; axes may decrease), or all on the same ones
        (`x(node)`, `y(node)`, or `lat(i, j)`, `lon(i, j)`: a point set). They may also have the dimension of samples.
    inputs, outputs: variables, whose dimensions may come in any order; those that are neither samples nor space count
        channels, of which `u[0]`, `u[0:3]` take some.
    sample: the dimension of samples. Default None: each file is one sample, and `path` may be a folder of them.
    units: Default: the attribute `units` of the variable.
    bounds, periodic, rule: as for `read_npz`.

    Packed values are unpacked (`scale_factor`, `add_offset`); a missing value is refused as NaN, with its
    sample and point. Times stay the numbers that they are stored as.
    """
    files = files_in(path, SUFFIXES)
    if sample is not None and len(files) > 1:
        raise InvalidInputError(f"{path}: one file has the dimension of samples, but there are {len(files)} files")
    source = _Files(files, sample)
    count = len(files) if sample is None else source.open(0).sizes[sample]

    def where(index: int) -> str:
        return str(files[index]) if sample is None else f"{files[0]}: sample {index}"

    where_is = name_list(coordinates)
    space = source.space(where_is)
    sides = [
        ArraySide(
            files[0],
            [source.array(name, tuple(each for each in space if each in source.dimensions(name))) for name in where_is],
            [(item, source.array(item.name, space, fill=True)) for item in source.chosen(names, role)],
        )
        for names, role in ((inputs, "inputs"), (outputs, "outputs"))
    ]
    items = [*source.chosen(inputs, "inputs"), *source.chosen(outputs, "outputs")]
    known = {item.name: source.open(0)[item.name].attrs.get("units") for item in items}
    found = {name: unit for name, unit in known.items() if isinstance(unit, str)} | dict(units or {})
    return assemble(
        where,
        count,
        *sides,
        bounds=bounds,
        periodic=periodic,
        rule=rule,
        units=found,
        provenance={
            "reader": "netcdf",
            "source": str(path),
            "bytes": sum(file.stat().st_size for file in files),
        },
    )


class _Files:
    """The variables of all files, one of which is open at a time."""

    def __init__(self, files: list[Path], sample: str | None) -> None:
        self._xarray = required("xarray", "netcdf")
        required("h5netcdf", "netcdf")
        self._files = files
        self._sample = sample
        self._open: tuple[int, Any] | None = None
        if sample is not None and sample not in self.open(0).sizes:
            raise missing(files[0], "dimension", sample, [str(name) for name in self.open(0).sizes])

    def open(self, index: int) -> Any:
        """The dataset of a file, read lazily; its parts in other files are refused."""
        if self._open is None or self._open[0] != index:
            if self._open is not None:
                self._open[1].close()
            file = self._files[index]
            with file.open("rb") as stream:
                classic = stream.read(3) == b"CDF"
            if not classic:
                open_hdf5(file).close()
            with reading(file, "NetCDF"):
                dataset = self._xarray.open_dataset(
                    file, engine="scipy" if classic else "h5netcdf", decode_times=False, cache=False
                )
            self._open = (index, dataset)
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
            raise InvalidInputError(f"{self._files[0]}: coordinates: name at least one variable")
        dims = [self.dimensions(name) for name in coordinates]
        if len(set(dims)) == 1 and dims[0]:
            return dims[0]
        flat = tuple(each for dimensions in dims for each in dimensions)
        if all(len(each) == 1 for each in dims) and len(set(flat)) == len(flat):
            return flat
        shown = ", ".join(f"{name}({', '.join(each)})" for name, each in zip(coordinates, dims, strict=True))
        raise InvalidInputError(
            f"{self._files[0]}: coordinates {shown}: each needs one dimension of its own, or all need the same"
        )

    def array(self, name: str, space: tuple[str, ...], fill: bool = False) -> SampledArray:
        """A variable with its axes in the order of `space`, and with `fill` its other dimensions after them."""
        first = self._variable(0, name)
        if any(each not in first.dims for each in space):
            raise InvalidInputError(
                f"{self._files[0]}: variable {name}({', '.join(first.dims)}) needs the dimensions {', '.join(space)}"
            )
        others = tuple(each for each in first.dims if each not in space and each != self._sample) if fill else ()
        order = (*space, *others)
        if self._sample is None:

            def read(sample: int, slices: Slices) -> NDArray[Any]:
                return self._part(sample, name, order)[slices]

            return SampledArray(name, lambda sample: self._part(sample, name, order).shape, first.dtype, read)
        if self._sample not in first.dims:
            if fill:
                raise InvalidInputError(
                    f"{self._files[0]}: variable {name}({', '.join(first.dims)}) lacks the dimension {self._sample}"
                )
            whole = self._part(0, name, order)
            values = whole[(slice(None),) * len(order)]
            return SampledArray(name, lambda _: whole.shape, first.dtype, lambda _, slices: values[slices], shared=True)
        stack = self._part(0, name, (self._sample, *order))
        return SampledArray(name, lambda _: stack.shape[1:], first.dtype, Blocks(stack, 0).read)

    def _part(self, index: int, name: str, order: tuple[str, ...]) -> "_Transposed":
        return _Transposed(self._files[index], name, lambda: self._variable(index, name).transpose(*order))

    def _variable(self, index: int, name: str) -> Any:
        dataset = self.open(index)
        if name not in dataset.variables:
            raise missing(self._files[index], "variable", name, [str(each) for each in dataset.variables])
        return dataset[name].variable


class _Transposed:
    """A variable that is read in parts."""

    def __init__(self, file: Path, name: str, variable: Callable[[], Any]) -> None:
        self._where = f"{file}: variable {name!r}"
        self._variable = variable
        with reading(self._where, "NetCDF"):
            found = variable()
            self.shape: tuple[int, ...] = found.shape
            self.dtype: np.dtype[Any] = found.dtype

    def __getitem__(self, index: tuple[slice, ...]) -> NDArray[Any]:
        with reading(self._where, "NetCDF"):
            values: NDArray[Any] = self._variable()[index].values
            return values


def write_netcdf(path: Path, output: Output) -> None:
    """Variables on named dimensions: that of samples, and the coordinates of a grid or `point`."""
    _write(path, stacked(output), output)


def write_netcdf_sample(path: Path, sample: Sample, output: Output) -> None:
    """One sample, without a dimension of samples."""
    _write(path, sample_arrays(sample.made, output), output)


def _write(path: Path, found: Mapping[str, Named], output: Output) -> None:
    xarray = required("xarray", "netcdf")
    required("h5netcdf", "netcdf")
    named = {name: name.replace("/", "_") for name in found}
    if len(set(named.values())) < len(named):
        raise InvalidInputError(f"different names become the same in NetCDF: {', '.join(found)}; write another format")
    dimensions = named | {ROWS: _free(output.along, named), POINTS: _free("point", named)}
    variables = {
        named[name]: (tuple(dimensions[axis] for axis in each.axes), each.values, _attributes(each))
        for name, each in found.items()
    }
    coordinates = {named[name]: variables.pop(named[name]) for name in output.coordinates}
    origin = {"origin": to_bytes(as_json(output.origin, "origin")).decode()}
    xarray.Dataset(variables, coordinates, origin).to_netcdf(path, engine="h5netcdf")


def _attributes(each: Named) -> dict[str, str]:
    return {} if each.unit == "1" else {"units": each.unit}


def _free(name: str, taken: Mapping[str, str]) -> str:
    """The name of a dimension that is no variable's."""
    while name in taken.values():
        name += "_"
    return name


def _numbers(path: Path, names: list[str], _stems: list[str] | None, options: Mapping[str, Any]) -> NDArray[np.float64]:
    """Variables with the dimension of samples alone, or with one value in each file."""
    files, along = files_in(path, SUFFIXES), options.get("sample")
    source = _Files(files, along)
    opened = range(len(files) if along is None else 1)
    parts = [[np.ravel(source.array(name, ()).read(i, ())) for name in names] for i in opened] if along is None else []
    if along is None:
        return np.array([[value[0] for value in row] for row in parts], dtype=np.float64)
    dataset = source.open(0)
    for name in names:
        if name not in dataset.variables:
            raise missing(files[0], "variable", name, [str(each) for each in dataset.variables])
    return numbers_of_stacks(files[0], {name: dataset[name].values for name in names}, names)


FORMAT = Format(
    "netcdf",
    read_netcdf,
    SUFFIXES,
    folders=True,
    write=write_netcdf,
    write_sample=write_netcdf_sample,
    numbers=_numbers,
)

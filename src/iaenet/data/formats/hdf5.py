"""Generic HDF5: named data sets with all samples stacked, or one group for each sample."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Unpack

import h5py
import numpy as np
from numpy.typing import NDArray

from iaenet.data.file_format import as_json, to_bytes
from iaenet.data.formats.format import Format
from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.channel_names import Names
from iaenet.data.reading.files import missing, natural, reading
from iaenet.data.reading.hdf5_file import Hdf5Array, Hdf5Arrays, dataset_names, open_hdf5, plain_attributes
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.number_tables import numbers_of_stacks
from iaenet.data.reading.sample_files import SampledArray, Slices
from iaenet.data.reading.stacks import StackOptions, read_separate, read_stacks
from iaenet.data.streams import new_disk
from iaenet.data.writing.output import Output
from iaenet.data.writing.stacked import Named, arrays, sample_arrays
from iaenet.errors import InvalidInputError


def read_hdf5(
    path: str | Path,
    *,
    inputs: Names,
    outputs: Names,
    groups: str | None = None,
    **options: Unpack[StackOptions],
) -> Imported:
    """Pairs from data sets `(samples, s1, ..., sd)`, or from groups that hold one sample each.

    groups: the group whose groups are the samples, "/" for those at the top of the file; names of data sets are then
        inside a sample's group (`grid/x`), and samples may differ in their points. Default None: samples are stacked.

    The other options are those of `read_npz`. Samples are read when they are asked for. Attributes of the file that are
    one number or text become parameters.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with h5py.File(Path(folder, "run.h5"), "w") as file:
    ...         for name, n in ("s0", 5), ("s1", 9):
    ...             file[f"{name}/x"], file[f"{name}/u"] = [i / n for i in range(n)], [0.0] * n
    ...     options = {"coordinates": "x", "inputs": "u", "outputs": "u", "groups": "/"}
    ...     [pair[0].discretization.n for pair in read_hdf5(Path(folder, "run.h5"), **options).pairs]
    [5, 9]
    """
    file = open_hdf5(path)
    with reading(path, "HDF5"):
        parameters = plain_attributes(file)
        arrays = Hdf5Arrays(file) if groups is None else SampleGroups(file, groups)
    about = {"reader": "hdf5", "source": str(path), "bytes": Path(path).stat().st_size}
    if isinstance(arrays, Hdf5Arrays):
        return read_stacks(
            path, arrays, inputs=inputs, outputs=outputs, parameters=parameters, provenance=about, **options
        )
    if options.get("time") is not None:
        raise InvalidInputError(f"{path}: --time is for stacked arrays; with --groups write a file for each group")
    return read_separate(
        arrays.where(0), arrays, inputs=inputs, outputs=outputs, parameters=parameters, provenance=about, **options
    )


class SampleGroups:
    """The groups within a group, one sample each, in order of name."""

    def __init__(self, file: h5py.File, within: str = "/") -> None:
        self._file = file
        if within not in file or not isinstance(file[within], h5py.Group):
            raise InvalidInputError(f"{file.filename}: no group {within!r}")
        self._within = file[within].name.rstrip("/")
        self.names = sorted((name for name, item in file[within].items() if isinstance(item, h5py.Group)), key=natural)
        if not self.names:
            raise InvalidInputError(f"{file.filename}: no groups within {within!r}, so no samples")
        self.datasets = dataset_names(file[self._path(0)])
        self._last: tuple[str, Hdf5Array] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def choose(self, bad: BadRecords, wanted: Iterable[str]) -> None:
        """Leave out groups that lack one of the data sets wanted, if `bad` says so."""
        usable = []
        for sample, name in enumerate(self.names if bad.skip else ()):
            with bad.passed_over():
                for each in wanted:
                    self._open(sample, each)
                usable.append(name)
        if bad.skip:
            bad.check(usable, "groups")
            self.names = usable
            self.datasets = dataset_names(self._file[self._path(0)])

    def where(self, sample: int) -> str:
        """The name of a sample in messages."""
        return f"{self._file.filename}: sample {self._path(sample)!r}"

    def array(self, name: str) -> SampledArray:
        """The data set of that name in every group."""

        def read(sample: int, slices: Slices) -> NDArray[Any]:
            return self._open(sample, name)[slices]

        return SampledArray(name, lambda sample: self._open(sample, name).shape, self._open(0, name).dtype, read)

    def _path(self, sample: int) -> str:
        return f"{self._within}/{self.names[sample]}"

    def _open(self, sample: int, name: str) -> Hdf5Array:
        path = f"{self._path(sample)}/{name}"
        if self._last is not None and self._last[0] == path:
            return self._last[1]
        if path not in self._file:
            there = dataset_names(self._file[self._path(sample)])
            raise missing(self._file.filename, "data set", path, [f"{self._path(sample)}/{each}" for each in there])
        self._last = (path, Hdf5Array(self._file, path))
        return self._last[1]


def write_hdf5(path: Path, output: Output) -> None:
    """Data sets with all samples; or, where they do not fit together, a group for each, under its name."""
    samples = [(sample.name, sample.made) for sample in output.samples]
    found = arrays([made for _, made in samples], output)
    with new_disk(path) as disk, h5py.File(disk, "w", libver="latest") as file:
        file.attrs["origin"] = to_bytes(as_json(output.origin, "origin")).decode()
        if found is not None:
            _write(file, found)
        else:
            loose = any(made.discretization.axes is None for _, made in samples)  # then grids too are points
            for name, made in samples:
                _write(file.create_group(name), sample_arrays(made, output, flat=loose))


def _write(group: h5py.Group, found: Mapping[str, Named]) -> None:
    for name, each in found.items():
        stored = group.create_dataset(name, data=each.values, fletcher32=True, chunks=True, track_times=False)
        stored.attrs["units"] = each.unit


def _numbers(path: Path, names: list[str], _stems: list[str] | None, options: Mapping[str, Any]) -> NDArray[np.float64]:
    file = open_hdf5(path)
    if options.get("groups") is None:
        return numbers_of_stacks(path, Hdf5Arrays(file), names)
    samples = SampleGroups(file, options["groups"])
    arrays = [samples.array(name) for name in names]
    found = np.empty((len(samples.names), len(names)))
    for i in range(len(found)):
        for j, array in enumerate(arrays):
            value = np.asarray(array.read(i, (slice(None),) * len(array.shape(i))))
            if value.size != 1:
                raise InvalidInputError(f"{samples.where(i)}: {array.name!r} has shape {value.shape}, not one number")
            found[i, j] = value.ravel()[0]
    return found


FORMAT = Format("hdf5", read_hdf5, (".h5", ".hdf5"), write=write_hdf5, numbers=_numbers)

"""MATLAB `.mat` files: version 5 and before by scipy, version 7.3 as the HDF5 that it is, with its axes reversed."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Unpack

import h5py
import numpy as np
import scipy.io
from numpy.typing import NDArray

from iaenet.data.formats.format import Format
from iaenet.data.formats.matlab_elements import check_elements
from iaenet.data.reading.array_layout import check_numbers
from iaenet.data.reading.channel_names import Names, name_list
from iaenet.data.reading.files import existing_file, missing, reading
from iaenet.data.reading.hdf5_file import Hdf5Array, open_hdf5
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.number_tables import numbers_of_stacks
from iaenet.data.reading.stacks import Stack, StackOptions, read_stacks
from iaenet.data.writing.output import Output
from iaenet.data.writing.stacked import stacked
from iaenet.errors import InvalidInputError
from iaenet.outside import check_size

NUMBERS = {"double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def read_matlab(
    path: str | Path,
    *,
    inputs: Names,
    outputs: Names,
    **options: Unpack[StackOptions],
) -> Imported:
    """Pairs from the arrays of a `.mat` file, with the axes that MATLAB shows: `size(a)` is `(samples, s1, ..., sd)`.

    The options are those of `read_npz`. Vectors `(1, n)` and `(n, 1)` serve as axes. Arrays of version 7.3 are read
    when samples are asked for, others whole. Cells, structures, objects, functions, text and sparse matrices are
    refused.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     scipy.io.savemat(Path(folder, "burgers.mat"), {"a": np.zeros((4, 64)), "u": np.ones((4, 64))})
    ...     len(read_matlab(Path(folder, "burgers.mat"), inputs="a", outputs="u", periodic=True).pairs)
    4
    """
    file = existing_file(path)
    vectors = {*name_list(options.get("coordinates")), *name_list(options.get("output_coordinates"))}
    return read_stacks(
        file,
        _arrays(file, vectors),
        inputs=inputs,
        outputs=outputs,
        provenance={"reader": "mat", "source": str(file), "bytes": file.stat().st_size},
        **options,
    )


def _arrays(file: Path, vectors: set[str]) -> Mapping[str, Stack]:
    return _Version73(file, vectors) if h5py.is_hdf5(file) else _Version5(file, vectors)


class _Version5(Mapping[str, Stack]):
    """The arrays of a file of version 4 or 5; classes and sizes are looked at before anything is read."""

    def __init__(self, file: Path, vectors: set[str]) -> None:
        self._file = file
        self._vectors = vectors
        self._loaded: dict[str, NDArray[Any]] = {}
        with reading(file, "a MATLAB file"):
            self._complex = check_elements(file) if scipy.io.matlab.matfile_version(file)[0] == 1 else set()
            self._known = {name: (shape, kind) for name, shape, kind in scipy.io.whosmat(file)}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._known:
            raise missing(self._file, "array", name, list(self._known))
        if name not in self._loaded:
            shape, kind = self._known[name]
            _check_class(self._file, name, kind)
            if name in self._complex:
                check_numbers(f"{self._file}: {name!r}", np.complex128)
            size = 8
            for length in shape:
                size *= int(length)
            check_size(f"{self._file}: {name!r}", size, self._file.stat().st_size)
            with reading(f"{self._file}: {name!r}", "a MATLAB array"):
                array = scipy.io.loadmat(self._file, variable_names=[name])[name]
            check_numbers(f"{self._file}: {name!r}", array.dtype)
            if kind in ("double", "single"):  # stored as bytes if they happen to be small whole numbers
                array = array.astype(np.float64 if kind == "double" else np.float32)
            self._loaded[name] = array.ravel() if name in self._vectors and _is_vector(array.shape) else array
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class _Version73(Mapping[str, Stack]):
    """The arrays of a file of version 7.3."""

    def __init__(self, file: Path, vectors: set[str]) -> None:
        self._file = open_hdf5(file)
        self._vectors = vectors
        self._opened: dict[str, Stack] = {}

    def __getitem__(self, name: str) -> Stack:
        if name not in self._opened:
            with reading(f"{self._file.filename}: {name!r}", "a MATLAB array"):
                self._look_at(name)
            array = Hdf5Array(self._file, name, reverse=True)
            vector = name in self._vectors and _is_vector(array.shape)
            self._opened[name] = array[slice(None), slice(None)].ravel() if vector else array
        return self._opened[name]

    def _look_at(self, name: str) -> None:
        """Refuse what is no array of numbers by its attributes."""
        if name not in self._file:
            raise missing(self._file.filename, "array", name, list(self))
        found = self._file[name]
        kind = found.attrs.get("MATLAB_class", b"double")
        _check_class(self._file.filename, name, "sparse" if "MATLAB_sparse" in found.attrs else kind.decode())
        if "MATLAB_empty" in found.attrs:
            raise InvalidInputError(f"{self._file.filename}: {name!r} is empty")
        if isinstance(found, h5py.Dataset) and found.dtype.names == ("real", "imag"):
            check_numbers(f"{self._file.filename}: {name!r}", np.complex128)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._file if not name.startswith("#"))  # "#refs#" holds the contents of cells

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _check_class(file: object, name: str, kind: str) -> None:
    if kind not in NUMBERS:
        raise InvalidInputError(
            f"{file}: {name!r} is of class {kind}, not an array of numbers; save it as full numeric arrays"
        )


def _is_vector(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 and 1 in shape


def write_matlab(path: Path, output: Output) -> None:
    """A file of version 5 with coordinates and channels as arrays, under names that MATLAB allows.

    `size(u)` is `(samples, s1, ..., sd)`.
    """
    arrays = stacked(output)
    found = {variable(name): each.values for name, each in arrays.items()}
    if len(found) < len(arrays):
        raise InvalidInputError(f"different names become the same in MATLAB: {', '.join(arrays)}; write another format")
    with path.open("wb") as stream:
        scipy.io.savemat(stream, found, do_compression=True)


def variable(name: str) -> str:
    """A name as MATLAB allows it: letters, digits and underscores, a letter first.

    >>> variable("velocity[0]"), variable("2nd")
    ('velocity_0', 'v2nd')
    """
    plain = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_")[:31]
    return plain if plain[:1].isalpha() else f"v{plain}"


def _numbers(path: Path, names: list[str], _stems: object, _options: object) -> NDArray[np.float64]:
    file = existing_file(path)
    return numbers_of_stacks(file, _arrays(file, set(names)), names)


FORMAT = Format("mat", read_matlab, (".mat",), write=write_matlab, numbers=_numbers)

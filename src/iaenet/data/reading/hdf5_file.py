"""HDF5 files opened for reading, after a look at whether all their data are their own."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from iaenet.data.reading.array_layout import check_numbers
from iaenet.data.reading.files import existing_file, missing, reading
from iaenet.errors import InvalidInputError
from iaenet.outside import EXPANSION, check_size

FILTERS = {
    h5py.h5z.FILTER_DEFLATE,
    h5py.h5z.FILTER_SHUFFLE,
    h5py.h5z.FILTER_FLETCHER32,
    h5py.h5z.FILTER_SZIP,
    h5py.h5z.FILTER_NBIT,
    h5py.h5z.FILTER_SCALEOFFSET,
    h5py.h5z.FILTER_LZF,
}


def open_hdf5(path: str | Path) -> h5py.File:
    """The file, open for reading; refused if any of it lies in, or leads to, another file.

    External links, external storage, virtual data sets, user-defined links and filters that would be loaded from a
    library are refused, wherever in the file they are. Soft links then cannot leave the file, and are followed.
    """
    file = existing_file(path)
    with reading(file, "HDF5"):
        opened = h5py.File(file, "r")
    with reading(file, "HDF5"):
        leaving = opened.id.links.visit(_leaving_link, info=True)
        if leaving is None:
            leaving = h5py.h5o.visit(opened.id, lambda name, info: _leaving_data(opened, name, info), info=True)
    if leaving is not None:
        opened.close()
        name, what = leaving
        raise InvalidInputError(f"{file}: {name.decode(errors='replace')!r} is {what}")
    return opened


def _leaving_link(name: bytes, info: Any) -> tuple[bytes, str] | None:
    if info.type in (h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT):
        return None
    kind = "an external link" if info.type == h5py.h5l.TYPE_EXTERNAL else "a link of an unknown kind"
    return name, f"{kind}: data in other files is not read"


def _leaving_data(opened: h5py.File, name: bytes, info: Any) -> tuple[bytes, str] | None:
    if info.type != h5py.h5o.TYPE_DATASET:
        return None
    storage = h5py.h5d.open(opened.id, name).get_create_plist()
    if storage.get_layout() == h5py.h5d.VIRTUAL:
        return name, "a virtual data set: data in other files is not read"
    if storage.get_external_count():
        return name, "stored in another file: data in other files is not read"
    # A filter of another kind would make HDF5 look for a library to load.
    if any(storage.get_filter(i)[0] not in FILTERS for i in range(storage.get_nfilters())):
        return name, "compressed by a filter that is not part of HDF5; repack it with `h5repack -f GZIP=4`"
    return None


class Hdf5Array:
    """A data set of numbers, of which any part can be read; with its axes in reverse order if `reverse`."""

    def __init__(self, file: h5py.File, name: str, reverse: bool = False) -> None:
        self._file = file  # kept, because a data set does not outlive its file
        self._place = f"{file.filename}: {name!r}"
        self._reverse = reverse
        with reading(self._place, "an HDF5 data set"):
            found = file[name]
            if not isinstance(found, h5py.Dataset):
                raise InvalidInputError(f"{self._place}: is a group, not a data set")
            self._dataset = found
            self.dtype: np.dtype[Any] = found.dtype
            if found.shape is None or 0 in found.shape:
                raise InvalidInputError(f"{self._place}: is empty")
            self.shape: tuple[int, ...] = found.shape[::-1] if reverse else found.shape
            check_numbers(self._place, self.dtype)
            self._refuse_gaps()
            refuse_bomb(self._place, found)

    def _refuse_gaps(self) -> None:
        """Chunks that were never written would read as zeros."""
        identifier = self._dataset.id
        if self._dataset.chunks is None:
            written, chunks = int(identifier.get_storage_size() > 0), 1
        else:
            written = identifier.get_num_chunks()
            chunks = 1
            for size, chunk in zip(self._dataset.shape, self._dataset.chunks, strict=True):
                chunks *= -(-size // chunk)
        if written < chunks:
            raise InvalidInputError(
                f"{self._place}: {chunks - written} of {chunks} parts were never written; is the file whole?"
            )

    def __getitem__(self, index: tuple[slice, ...]) -> NDArray[Any]:
        with reading(self._place, "an HDF5 data set"):
            part: NDArray[Any] = self._dataset[index[::-1] if self._reverse else index]
            return part.T if self._reverse else part


def refuse_bomb(place: object, found: h5py.Dataset) -> None:
    """A chunk is read whole, and filters may expand a few bytes to any size."""
    stored = found.id.get_storage_size()
    check_size(place, found.dtype.itemsize * math.prod(found.chunks or (1,)), stored)
    if found.nbytes > EXPANSION * stored:
        check_size(place, found.nbytes, stored)


class Hdf5Arrays(Mapping[str, Hdf5Array]):
    """The data sets of a file by name (`group/name`)."""

    def __init__(self, file: h5py.File, reverse: bool = False) -> None:
        self._file = file
        self._reverse = reverse
        self._names = dataset_names(file)
        self._opened: dict[str, Hdf5Array] = {}

    def __getitem__(self, name: str) -> Hdf5Array:
        if name not in self:
            raise missing(self._file.filename, "data set", name, self._names)
        if name not in self._opened:
            self._opened[name] = Hdf5Array(self._file, name, self._reverse)
        return self._opened[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._file

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def dataset_names(group: h5py.Group) -> list[str]:
    """The names of all data sets in a group and the groups within it."""
    names: list[str] = []
    group.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    return names


def plain_attributes(item: h5py.Group | h5py.Dataset) -> dict[str, Any]:
    """The attributes that are one number or one text; others are left out.

    They are physical parameters in files of many kinds, such as `Nu` and `beta` in PDEBench's.
    """
    found: dict[str, Any] = {}
    for name in item.attrs:
        kind = item.attrs.get_id(name)
        if kind.shape == () and (kind.dtype.kind in "fiubS" or h5py.check_string_dtype(kind.dtype) is not None):
            value = item.attrs[name]
            found[name] = (
                value.decode() if isinstance(value, bytes) else value if isinstance(value, str) else value.item()
            )
    return found

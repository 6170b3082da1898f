"""Zarr stores, `.zarr`: arrays with named dimensions, as xarray writes them, or plain ones with all samples."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np

from iaenet.data.formats.format import Format
from iaenet.data.formats.netcdf import labelled
from iaenet.data.reading.array_layout import check_numbers
from iaenet.data.reading.channel_names import Names, chosen, name_list
from iaenet.data.reading.files import existing, reading, required
from iaenet.data.reading.files import missing as lacking
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.labelled_arrays import read_labelled
from iaenet.data.reading.number_tables import Numbers, numbers_of_stacks
from iaenet.data.reading.stacks import ArrayOptions, field_options, read_stacks
from iaenet.data.writing.output import Output
from iaenet.data.writing.stacked import stacked
from iaenet.errors import InvalidInputError
from iaenet.outside import EXPANSION, check_size

EmptyChunks = Literal["refuse", "fill"]
# Of numcodecs and zarr; none of these makes objects or runs code. Names are without package and version.
CODECS = {
    "bytes", "transpose", "sharding_indexed", "crc32c", "crc32", "adler32", "fletcher32", "gzip", "zlib", "bz2", "lzma",
    "zstd", "lz4", "blosc", "shuffle", "delta", "fixedscaleoffset", "quantize", "bitround", "packbits", "astype",
}  # fmt: skip


def read_zarr(
    path: str | Path,
    *,
    inputs: Names,
    outputs: Names,
    sample: str | None = None,
    empty_chunks: EmptyChunks = "refuse",
    **options: Unpack[ArrayOptions],
) -> Imported:
    """Pairs from a zarr store (version 2 or 3) in a folder; samples are read when they are asked for.

    sample: the dimension of samples, of a store whose arrays have named dimensions. Default: one store is one sample.
    empty_chunks: a chunk whose file is not there reads as the fill value, so that a damaged store and one that was
        written without its empty chunks look the same: "refuse" (default) them, or "fill" them.

    Of arrays with named dimensions, as xarray writes them, coordinates are variables as for `read_netcdf`; all else is
    as there. Other arrays hold all samples, under their paths in the store, as for `read_npz`. Codecs that could make
    Python objects are refused, and so are links.
    """
    zarr = required("zarr", "zarr")
    store = existing(path)
    if not store.is_dir():
        raise InvalidInputError(f"{store}: a zarr store is a folder")
    _refuse_links(store)
    with reading(store, "zarr"):
        group = zarr.open_group(zarr.storage.LocalStore(store, read_only=True), mode="r")
        arrays = _Arrays(store, group, empty_chunks)
    where = name_list(options.get("coordinates"))
    wanted = [*where, *(item.name for names in (inputs, outputs) for item in chosen(names, "inputs", list(arrays)))]
    named = all(arrays[name].metadata_names for name in wanted)
    about = {"reader": "zarr", "source": str(path)}
    if not (named and where):
        if sample is not None:
            raise InvalidInputError(
                f"{store}: --sample names a dimension: name the --coordinates, too, of named dimensions"
            )
        given: ArrayOptions = {**options, "coordinates": where or None}
        return read_stacks(store, arrays, inputs=inputs, outputs=outputs, provenance=about, **given)
    xarray = required("xarray", "zarr")
    arrays.look_at_indices()

    def opened(_: int) -> Any:
        with reading(store, "zarr"):
            return xarray.open_zarr(store, consolidated=False, decode_times=False, chunks=None)

    return read_labelled(
        [str(store)],
        opened,
        coordinates=where,
        inputs=inputs,
        outputs=outputs,
        sample=sample,
        provenance=about,
        **field_options(options),
    )


def _refuse_links(store: Path) -> None:
    for folder, folders, files in os.walk(store):
        for name in (*folders, *files):
            if os.path.islink(os.path.join(folder, name)):
                raise InvalidInputError(f"{store}: {name!r} is a link: data in other places is not read")


class _Array:
    """An array of a store, of which any part can be read."""

    def __init__(self, where: str, array: Any, empty_chunks: EmptyChunks) -> None:
        self._where, self._array = where, array
        self.shape: tuple[int, ...] = array.shape
        self.dtype: np.dtype[Any] = np.dtype(array.dtype)
        check_numbers(where, self.dtype)
        about = array.metadata.to_dict()
        self.metadata_names = bool(about.get("dimension_names") or array.attrs.get("_ARRAY_DIMENSIONS"))
        for name in _codecs(about):
            if name not in CODECS:
                raise InvalidInputError(f"{where}: codec {name!r} is not read; write it with zstd, gzip or blosc")
        stored, chunk = int(array.nbytes_stored()), int(np.prod(array.chunks, dtype=object)) * self.dtype.itemsize
        size = int(np.prod(array.shape, dtype=object)) * self.dtype.itemsize
        for needed in (chunk, size if size > EXPANSION * stored else 0):  # codecs may expand a few bytes to any size
            check_size(where, needed, stored)
        written, chunks = array.nchunks_initialized, array.nchunks
        if written < chunks and empty_chunks != "fill":
            raise InvalidInputError(
                f"{where}: {chunks - written} of {chunks} chunks are not there, and would read as {array.fill_value}; "
                "is the store whole? If they were left out because they hold nothing else, say --empty_chunks fill"
            )

    def __getitem__(self, index: tuple[slice, ...]) -> Any:
        with reading(self._where, "zarr"):
            return np.asarray(self._array[index])


def _codecs(about: Mapping[str, Any]) -> Iterator[str]:
    """The names of all codecs of an array, of either version, also of those within shards."""
    waiting = [*(about.get("codecs") or ()), *(about.get("filters") or ()), about.get("compressor")]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            yield str(each.get("name", each.get("id"))).removeprefix("numcodecs.")
            inner = each.get("configuration") or {}
            waiting += [*(inner.get("codecs") or ()), *(inner.get("index_codecs") or ())]


class _Arrays(Mapping[str, _Array]):
    """The arrays of a store by their paths; each is looked at before it is read."""

    def __init__(self, store: Path, group: Any, empty_chunks: EmptyChunks) -> None:
        self._store, self._empty_chunks = store, empty_chunks
        self._members = {name: each for name, each in group.members(max_depth=None) if hasattr(each, "shape")}
        self._looked_at: dict[str, _Array] = {}

    def __getitem__(self, name: str) -> _Array:
        if name not in self._members:
            raise lacking(self._store, "array", name, list(self))
        if name not in self._looked_at:
            where = f"{self._store}: {name!r}"
            with reading(where, "zarr"):
                self._looked_at[name] = _Array(where, self._members[name], self._empty_chunks)
        return self._looked_at[name]

    def look_at_indices(self) -> None:
        """Arrays of one axis may be indices, which xarray reads as it opens a store."""
        for name in [name for name, each in self._members.items() if each.ndim == 1]:
            self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


def write_zarr(path: Path, output: Output) -> None:
    """Variables on named dimensions, as xarray has them, with every chunk written."""
    required("zarr", "zarr")
    labelled(stacked(output), output).to_zarr(path, mode="w", consolidated=False, write_empty_chunks=True)


def _numbers(path: Path, names: list[str], _stems: object, options: Mapping[str, Any]) -> Numbers:
    zarr = required("zarr", "zarr")
    _refuse_links(existing(path))
    with reading(path, "zarr"):
        group = zarr.open_group(zarr.storage.LocalStore(path, read_only=True), mode="r")
        return numbers_of_stacks(path, _Arrays(path, group, options.get("empty_chunks", "refuse")), names)


FORMAT = Format("zarr", read_zarr, (".zarr",), write=write_zarr, store=True, numbers=_numbers)

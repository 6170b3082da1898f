"""An open data file: what it holds, compared with its hashes before it is believed."""

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import h5py
import numpy as np
from numpy.typing import NDArray

from iaenet.data.checked_hdf5 import damage, dataset, open_file
from iaenet.data.file_format import (
    FORMAT,
    MOST_DIMENSIONS,
    PLAIN,
    RULES,
    SPLITS,
    STREAMS,
    TABLES,
    TEXTS,
    VERSION,
    content_hash,
    discretization_rows,
    pair_rows,
)
from iaenet.data.packing import Packed, unpack
from iaenet.data.problems.problem import Channel, function_names
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.sample import SCALARS

KEPT = 64  # discretizations kept in memory though no field uses them at the moment


class DataFile:
    """The tables of a file in memory, its numbers read on demand; all that is read is compared with its hash.

    Nothing in the file can name another file, and the sizes that it claims are held against its own size first.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)
        self._process = os.getpid()  # a handle is of no use in another process
        self._alive: WeakValueDictionary[int, Discretization] = WeakValueDictionary()
        self._kept: OrderedDict[int, Discretization] = OrderedDict()
        file = open_file(self.path, (*TEXTS, *TABLES, *STREAMS))
        try:
            self._read(file)
        except BaseException:
            file.close()
            raise

    def _read(self, file: h5py.File) -> None:
        with damage(self.path, "is damaged"):
            texts = {name: dataset(file, name, np.dtype("u1"))[:].tobytes() for name in TEXTS}
            self.metadata, self.provenance, hashes = (json.loads(texts[name]) for name in TEXTS)
            known = self.metadata["format"] == FORMAT and self.metadata["version"] in range(1, VERSION + 1)
            if known:
                rows = self._read_tables(file)
                self._check_tables()
                self.content_hash = content_hash(texts["metadata"], rows, self.pairs)
                origin = hashlib.sha256(texts["provenance"]).hexdigest()
                if hashes != {"content": self.content_hash, "provenance": origin}:
                    raise ValueError("the content does not match its hash")
        if not known:
            raise InvalidInputError(
                f"{self.path} has format {self.metadata['format']!r} {self.metadata['version']!r}; "
                f"this version of iaenet reads {FORMAT!r} 1 to {VERSION}"
            )

    def _read_tables(self, file: h5py.File) -> NDArray[Any]:
        """Read channels, tables and streams; the table of discretizations as the file has it."""
        d, precision = int(self.metadata["dimension"]), self.metadata["precision"]
        if not 1 <= d <= MOST_DIMENSIONS or precision not in ("float32", "float64"):
            raise ValueError(f"dimension {d} or precision {precision} is none of ours")
        if not isinstance(self.metadata["parameters"], dict) or not isinstance(self.provenance, dict):
            raise ValueError("parameters and provenance must have names")
        self.inputs, self.outputs = (
            tuple(
                Channel(str(channel["name"]), str(channel["unit"]), str(channel.get("function", "")))
                for channel in self.metadata[side]
            )
            for side in ("inputs", "outputs")
        )
        self.functions = function_names(self.inputs)  # of the inputs; one without a name where it is the only one
        if len(self.functions) > len(self.inputs) or (self.metadata["version"] <= PLAIN and self.functions != ("",)):
            raise ValueError("inputs of several functions in a file of an earlier version")
        names = [[c.name for c in self.inputs if c.function == name] for name in self.functions]
        self.scalars = tuple(names[-1]) if self.functions[-1] == SCALARS else ()
        self.channels = [*(len(part) for part in names), len(self.outputs)]  # of each function
        rows = dataset(file, "discretizations", discretization_rows(d, self.metadata["version"]))[:]
        self.rows = np.zeros(len(rows), discretization_rows(d))  # what version 1 does not have is zero
        for name in rows.dtype.names:
            self.rows[name] = rows[name]
        self.pairs = dataset(file, "pairs", pair_rows(len(self.functions)))[:]
        more = ["more_at", "more_start"] if len(self.functions) > 1 else []
        # Rows of the discretizations, and first numbers, of each function of a pair, the output last: (pairs, k + 1).
        self.at, self.starts = (
            np.concatenate(
                [
                    self.pairs[f"input_{what}"][:, None],
                    *(self.pairs[name] for name in more if name.endswith(what)),
                    self.pairs[f"output_{what}"][:, None],
                ],
                axis=1,
            )
            for what in ("at", "start")
        )
        types = np.dtype("<f8"), np.dtype(precision), np.dtype(precision)
        self._handles = [dataset(file, name, dtype) for name, dtype in zip(STREAMS, types, strict=True)]
        return rows

    def _check_tables(self) -> None:
        """Every row must lie within the numbers that there are, so that no size is larger than the file."""
        coordinates, inputs, outputs = (len(handle) for handle in self._handles)
        rows, pairs, d = self.rows, self.pairs, self.rows["shape"].shape[1]
        axes = np.where(rows["grid"] == 1, rows["dim"], 1)
        shape = np.where(np.arange(d) < axes[:, None], rows["shape"].astype(np.float64), 1.0)
        n = shape.prod(axis=1)
        grid_count = 2 * (shape.sum(axis=1) - (d - axes))
        expected = np.where(rows["grid"] == 1, grid_count, n * (rows["dim"] + 1.0))
        v, m, k = rows["facets"].astype(np.float64).T
        count = rows["count"] - v * rows["dim"] - m * k  # without the boundary
        own_weights = (rows["grid"] == 1) & (count == grid_count + n)
        sound = (v >= 0) & (m >= 0) & (k >= (m > 0)) & (k <= rows["dim"]) & (v < 2**53) & (m < 2**53)
        sound &= (rows["grid"] <= 1) & (rows["dim"] >= 1) & (rows["dim"] <= d) & (shape >= 1).all(axis=1)
        corners = rows["corners"].astype(np.int64)
        of_cells = count - expected
        cells = (rows["grid"] == 0) & (corners >= 2) & (corners <= rows["dim"] + 1) & (of_cells > 0)
        cells &= of_cells % np.maximum(corners, 1) == 0
        sound &= np.where(corners > 0, cells, (count == expected) | own_weights) & (rows["rule"] < len(RULES))
        sound &= _within(rows["start"], rows["count"], coordinates) & (n < 2**53)
        if not (len(rows) and len(pairs) and sound.all()):
            raise ValueError(f"discretization {int(np.argmin(sound)) if len(rows) else 0} makes no sense")
        self.sizes = n.astype(np.int64)
        sound = pairs["split"] < len(SPLITS)
        lengths = [inputs] * len(self.functions) + [outputs]
        for at, start, channels, length in zip(self.at.T, self.starts.T, self.channels, lengths, strict=True):
            sound &= (at >= 0) & (at < len(rows))
            counts = n[np.clip(at, 0, len(rows) - 1)] * channels
            sound &= _within(start, counts, length) & (channels > 0)
        if self.scalars:
            sound &= n[np.clip(self.at[:, -2], 0, len(rows) - 1)] == 1
        if not sound.all():
            raise ValueError(f"pair {int(np.argmin(sound))} makes no sense")

    def __reduce__(self) -> tuple[Any, ...]:
        return _same_file, (self.path, self.content_hash)

    # ------------------------------------------------------------------ numbers

    def points_of(self, row: int) -> tuple[int, ...]:
        """Discretizations of each function of the input and of the output of a pair, as rows of their table."""
        return tuple(self.at[row].tolist())

    def nbytes(self, rows: NDArray[np.int64]) -> int:
        """Bytes of the values of pairs, and of their discretizations."""
        at = self.at[rows]
        values = int((self.sizes[at] * np.array(self.channels)).sum()) * np.dtype(self.metadata["precision"]).itemsize
        return values + 8 * int(self.rows["count"][np.unique(at)].sum())

    def batch(self, rows: Sequence[int]) -> list[NDArray[Any]]:
        """Values `(b, n, c)` of each function of the input and of the output of pairs that share discretizations."""
        found = [
            np.empty((len(rows), self.sizes[at], channels), self.metadata["precision"])
            for at, channels in zip(self.at[rows[0]], self.channels, strict=True)
        ]
        _, inputs, outputs = self._streams
        for i, row in enumerate(rows):
            pair, digest = self.pairs[row], hashlib.sha256()
            for number, (array, first) in enumerate(zip(found, self.starts[row].tolist(), strict=True)):
                stream = inputs if number < len(self.functions) else outputs
                with damage(self.path, f"is damaged: pair {row} cannot be read"):
                    array[i] = stream[first : first + array[i].size].reshape(array[i].shape)
                digest.update(array[i].data)
            if digest.digest() != pair["sha256"].tobytes():
                raise CorruptFileError(f"{self.path} is damaged: the values of pair {row} do not match their hash")
        return found

    def discretization(self, row: int) -> Discretization:
        """The discretization of this row; the same object as long as anything uses it."""
        made = self._alive.get(row)
        if made is None:
            packed, start = self._packed(row), int(self.rows[row]["start"])
            with damage(self.path, f"is damaged: discretization {row} cannot be read"):
                packed.numbers[:] = self._streams[0][start : start + len(packed.numbers)]
            if packed.digest() != self.rows[row]["sha256"].tobytes():
                raise CorruptFileError(f"{self.path} is damaged: discretization {row} does not match its hash")
            with damage(self.path, f"is damaged: discretization {row}"):
                made = self._alive.setdefault(row, unpack(packed))
        self._kept[row] = made
        self._kept.move_to_end(row)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return made

    def _packed(self, row: int) -> Packed:
        """A discretization with room for its numbers."""
        entry = self.rows[row]
        d, grid = int(entry["dim"]), bool(entry["grid"])
        return Packed(
            grid=grid,
            shape=tuple(entry["shape"][: d if grid else 1].tolist()),
            periodic=tuple(bool(flag) for flag in entry["periodic"][:d]),
            bounds=entry["bounds"][:d].copy(),
            numbers=np.empty(int(entry["count"])),
            corners=int(entry["corners"]),
            rule=RULES[entry["rule"]],
            facets=tuple(entry["facets"].tolist()),
        )

    @property
    def _streams(self) -> list[h5py.Dataset]:
        """The data sets of coordinates, inputs and outputs; each process opens its own."""
        if self._process != os.getpid():
            self._handles, self._process = _same_file(self.path, self.content_hash)._handles, os.getpid()
        return self._handles


def _same_file(path: str, content: str) -> DataFile:
    file = DataFile(path)
    if file.content_hash != content:
        raise CorruptFileError(f"{path} has changed since it was loaded; load it again")
    return file


def _within(start: NDArray[Any], count: NDArray[Any], length: int) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (start >= 0) & (count >= 0) & (start.astype(np.float64) + count <= length)
    return inside

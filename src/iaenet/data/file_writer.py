"""Writing data files: pairs of functions with their points, channels, splits and origin.

`iaenet.data.file_format` says what such a file consists of, `iaenet.data.dataset.load_dataset` reads it.
"""

import hashlib
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import h5py
import numpy as np
from numpy.typing import NDArray

import iaenet
from iaenet.data.atomic import replacing
from iaenet.data.file_format import (
    CHUNK,
    FORMAT,
    HDF5_VERSION,
    MOST_DIMENSIONS,
    PLAIN,
    RULES,
    SPLITS,
    VERSION,
    as_json,
    content_hash,
    discretization_rows,
    pair_rows,
    to_bytes,
)
from iaenet.data.packing import Packed, pack, unpack
from iaenet.data.problems.problem import Channel, function_names
from iaenet.data.streams import Disk, Stream
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.sample import Sample

Precision = Literal["float32", "float64"]


def write_dataset(
    path: str | os.PathLike[str],
    pairs: Iterable[tuple[Field | Mapping[str, Any], Field]],
    *,
    inputs: Sequence[Channel],
    outputs: Sequence[Channel],
    splits: Sequence[str] | None = None,
    parameters: Mapping[str, object] | None = None,
    provenance: Mapping[str, object] | None = None,
    precision: Precision = "float32",
    records: Sequence[int] | None = None,
) -> None:
    """Write one sample for each pair of fields, on discretizations that are stored once if they are the same.

    All or nothing: the file appears under its name when it is complete. `splits` names "train" (default), "validation"
    or "test" for each sample, `records` the record that it is from (default: each its own). Values are converted to
    `precision` (default float32). The resolution of a sample is the number of points along the first axis of its input,
    or of all points if it is no grid.

    Inputs of several functions, each on points of its own, and of numbers are a `Sample`, or a mapping of names to
    fields and numbers; `inputs` are then all channels in the order of the sample, the numbers last.

    >>> import tempfile, torch
    >>> from iaenet.data.dataset import load_dataset
    >>> grid = Discretization.uniform(4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pair = Field(grid, torch.ones(4, 1)), Field(grid, torch.zeros(4, 1))
    ...     write_dataset(f"{folder}/a.h5", [pair], inputs=[Channel("a", "m")], outputs=[Channel("u")])
    ...     len(load_dataset(f"{folder}/a.h5"))
    1
    """
    split_of: dict[int, str] = {}
    count = 0
    layout: Hashable = None
    everything = iter(pairs)
    first = next(everything, None)
    named = inputs if first is None or isinstance(first[0], Field) else _named(Sample.of(first[0]), inputs, path)
    with Writer(path, named, outputs, parameters, provenance, precision) as writer:
        for i, (one, wanted) in enumerate(pair for part in ([first] if first else [], everything) for pair in part):
            given = one if isinstance(one, Field) else Sample.of(one)
            for name, each in (("splits", splits), ("records", records)):
                if each is not None and i >= len(each):
                    raise InvalidInputError(f"{path}: {len(each)} {name}, but there are more samples")
            for name, field in (("input", given), ("output", wanted)):
                if field.batched:
                    raise InvalidInputError(f"{path}: sample {i}: the {name} is a batch; give one field per sample")
            split, record = "train" if splits is None else splits[i], i if records is None else records[i]
            if split_of.setdefault(record, split) != split:
                raise InvalidInputError(f"{path}: sample {i}: record {record} is in {split_of[record]} and in {split}")
            parts = [*given.parts, wanted]
            layout = layout if i else given.layout
            if isinstance(given, Sample) and given.layout != layout:
                raise InvalidInputError(f"{path}: sample {i} has other functions, numbers or channels than sample 0")
            writer.add(
                [part.values.detach().cpu().numpy() for part in parts],
                [writer.discretization(part.discretization) for part in parts],
                sample=i,
                record=record,
                resolution=given.parts[0].discretization.shape[0],
                split=split,
            )
            count = i + 1
        for name, each in (("splits", splits), ("records", records)):
            if each is not None and len(each) != count:
                raise InvalidInputError(f"{path}: {len(each)} {name}, but {count} samples")


def _named(sample: Sample, inputs: Sequence[Channel], path: object) -> list[Channel]:
    """The channels of a sample with the names of their functions."""
    owners = [name for name, part in zip(sample.names, sample.parts, strict=True) for _ in range(part.channels)]
    if len(owners) != len(inputs):
        raise InvalidInputError(f"{path}: inputs names {len(inputs)} channels, but the samples have {len(owners)}")
    return [replace(channel, function=owner) for channel, owner in zip(inputs, owners, strict=True)]


class Writer:
    """Writes a data file sample by sample, beside its name; `with` completes it, or leaves nothing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Writer(f"{folder}/a.h5", [Channel("a")], [Channel("u")]) as writer:
    ...         at = writer.discretization(Discretization.uniform(2))
    ...         writer.add((np.ones((2, 1)), np.ones((2, 1))), (at, at), sample=0, record=0, resolution=2)
    ...     os.listdir(folder)
    ['a.h5']
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        inputs: Sequence[Channel],
        outputs: Sequence[Channel],
        parameters: Mapping[str, object] | None = None,
        provenance: Mapping[str, object] | None = None,
        precision: Precision = "float32",
    ) -> None:
        if precision not in ("float32", "float64"):
            raise InvalidInputError(f"precision must be 'float32' or 'float64', got {precision!r}")
        self.path = Path(path)
        self.channels = tuple(inputs), tuple(outputs)
        for side, channels in zip(("input", "output"), self.channels, strict=True):
            if not channels or len({(channel.function, channel.name) for channel in channels}) < len(channels):
                raise InvalidInputError(f"{path}: {side} channels need different names, got {channels}")
        self.functions = function_names(self.channels[0])
        self._sides = [
            (f"input {name}".rstrip(), [c for c in self.channels[0] if c.function == name]) for name in self.functions
        ] + [("output", list(self.channels[1]))]
        self.precision = precision
        self.parameters = as_json(parameters or {}, f"{path}: parameters")
        self.provenance = as_json({"iaenet": iaenet.__version__, **(provenance or {})}, f"{path}: provenance")
        self._rows: list[tuple[Packed, int, bytes]] = []  # with where its numbers start, and their hash
        self._row_of: dict[str, int] = {}
        self._pairs: list[tuple[Any, ...]] = []

    def __enter__(self) -> "Writer":
        with ExitStack() as stack:
            self._disk = stack.enter_context(Disk(stack.enter_context(replacing(self.path))))
            self._file = stack.enter_context(h5py.File(self._disk, "w", libver=HDF5_VERSION))
            number = np.dtype(self.precision).newbyteorder("<")
            self._coordinates = Stream(self._file, "coordinates", np.dtype("<f8"))
            self._values = Stream(self._file, "inputs", number), Stream(self._file, "outputs", number)
            self._stack = stack.pop_all()
        return self

    def discretization(self, discretization: Discretization) -> int:
        """Row at which this discretization is stored; equal ones are stored once."""
        if discretization.key not in self._row_of:
            packed = pack(discretization)
            if unpack(packed).key != discretization.key:
                raise InvalidInputError(f"{self.path}: {discretization} has points that are no product of its axes")
            self._row_of[discretization.key] = self.packed(packed)
        return self._row_of[discretization.key]

    def packed(self, packed: Packed) -> int:
        """Row at which these numbers of a discretization are stored, anew at every call."""
        if packed.dim > MOST_DIMENSIONS:
            raise InvalidInputError(f"{self.path}: points of {packed.dim} coordinates; at most {MOST_DIMENSIONS}")
        self._rows.append((packed, self._coordinates.append(packed.numbers), packed.digest()))
        return len(self._rows) - 1

    def add(
        self,
        values: Sequence[NDArray[Any]],
        at: Sequence[int],
        *,
        sample: int,
        record: int,
        resolution: int,
        split: str = "train",
    ) -> None:
        """Store values `(n, c)` of each function of the input, and of the output, on discretizations of these rows."""
        if split not in SPLITS:
            raise InvalidInputError(f"{self.path}: sample {sample}: split must be one of {SPLITS}, got {split!r}")
        starts, digest = [], hashlib.sha256()
        streams = [self._values[0]] * len(self.functions) + [self._values[1]]
        for (side, channels), given, row, stream in zip(self._sides, values, at, streams, strict=True):
            here = f"{self.path}: sample {sample}, {side}"
            wanted = (self._rows[row][0].n, len(channels))
            if given.shape != wanted:
                raise InvalidInputError(f"{here} must have shape (points, channels) = {wanted}, got {given.shape}")
            with np.errstate(over="ignore"):
                stored = np.ascontiguousarray(given, dtype=stream.dtype)
            if not np.isfinite(stored).all():
                point, channel = np.argwhere(~np.isfinite(stored))[0]
                number = given[point, channel]
                reason = "; store with precision='float64'" if np.isfinite(number) else ""
                raise InvalidInputError(f"{here}: channel {channels[channel].name}, point {point} is {number}{reason}")
            starts.append(stream.append(stored.ravel()))
            digest.update(stored.data)
        self._disk.check()
        own = (sample, record, resolution, SPLITS.index(split), at[0], at[-1], starts[0], starts[-1])
        more = (tuple(at[1:-1]), tuple(starts[1:-1])) if len(at) > 2 else ()
        self._pairs.append((*own, tuple(digest.digest()), *more))

    def _finish(self) -> None:
        if not self._pairs:
            raise InvalidInputError(f"{self.path}: there are no samples to write")
        for stream in (self._coordinates, *self._values):
            stream.close()
        d = max(packed.dim for packed, _, _ in self._rows)
        rows = np.zeros(len(self._rows), discretization_rows(d))
        for row, (packed, start, digest) in zip(rows, self._rows, strict=True):
            row["grid"], row["dim"], row["start"], row["count"] = packed.grid, packed.dim, start, len(packed.numbers)
            row["shape"][: len(packed.shape)] = packed.shape
            row["periodic"][: packed.dim] = packed.periodic
            row["bounds"][: packed.dim] = packed.bounds
            row["sha256"] = np.frombuffer(digest, np.uint8)
            row["corners"], row["rule"], row["facets"] = packed.corners, RULES.index(packed.rule), packed.facets
        pairs = np.array(self._pairs, pair_rows(len(self.functions)))
        plain = self.functions == ("",)
        metadata = to_bytes(
            {
                "format": FORMAT,
                "version": PLAIN if plain else VERSION,
                "dimension": d,
                "precision": self.precision,
                "inputs": [_plain(c) | ({} if plain else {"function": c.function}) for c in self.channels[0]],
                "outputs": [_plain(c) for c in self.channels[1]],
                "parameters": self.parameters,
            }
        )
        provenance = to_bytes(self.provenance)
        hashes = {
            "content": content_hash(metadata, rows, pairs),
            "provenance": hashlib.sha256(provenance).hexdigest(),
        }
        self._write("discretizations", rows)
        self._write("pairs", pairs)
        for name, text in (("metadata", metadata), ("provenance", provenance), ("hashes", to_bytes(hashes))):
            self._write(name, np.frombuffer(text, np.uint8))

    def _write(self, name: str, data: NDArray[Any]) -> None:
        chunks = (min(len(data), CHUNK),)
        self._file.create_dataset(name, data=data, chunks=chunks, fletcher32=True, track_times=False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with self._stack:  # closes the file, then gives it its name
            self._finish()


def _plain(channel: Channel) -> dict[str, str]:
    return {"name": channel.name, "unit": channel.unit}

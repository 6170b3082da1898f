"""What a data file consists of: its tables, the numbers they point at, and the hash over all of it.

    metadata         JSON: format, version, dimension, precision, channels, parameters
    provenance       JSON: where the data come from; not part of the content hash
    discretizations  table, a row for each: see `discretization_rows`
    coordinates      float64, the numbers of all discretizations one after another: see `iaenet.data.packing`
    pairs            table, a row for each pair of functions: see `PAIR`
    inputs, outputs  float32 or float64, the values `(n, c)` of all pairs one after another
    hashes           JSON: SHA-256 of the content and of the provenance

Everything is an HDF5 data set of one axis, chunked, with a checksum for every chunk. Files whose inputs have several
functions, or numbers, are of version 4, all others of version 3: their channels name the function that they belong to,
and numbers are the channels of a function on one point, called "scalars".
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.errors import InvalidInputError

FORMAT = "iaenet data"
# 1, of iaenet 0.1, has neither cells nor rules, 2 no boundaries, 3 one function in each input; all are read.
VERSION = 4
PLAIN = 3  # the version of files whose inputs are one function each
SPLITS = ("train", "validation", "test")
# Version 1.10 is the oldest of HDF5 whose every structure has a checksum; all since then can read it.
HDF5_VERSION = ("v110", "v110")
CHUNK = 16384  # numbers: a small read beside a small sample, and few chunks to a large one
MOST_DIMENSIONS = 16
RULES = ("given", "uniform", "tensor grid", "cells", "monte-carlo", "mesh")
TEXTS = ("metadata", "provenance", "hashes")
TABLES = ("discretizations", "pairs")
STREAMS = ("coordinates", "inputs", "outputs")

PAIR = np.dtype(
    [
        ("sample", "<i8"),
        ("record", "<i8"),  # samples of one record are never in different splits
        ("resolution", "<i8"),
        ("split", "u1"),  # index in SPLITS
        ("input_at", "<i8"),  # row of the discretization
        ("output_at", "<i8"),
        ("input_start", "<i8"),  # first number of the values (n, c), row by row
        ("output_start", "<i8"),
        ("sha256", "u1", (32,)),  # of the values of input and output
    ]
)


def pair_rows(functions: int) -> np.dtype[Any]:
    """A row of the table of pairs whose inputs have so many functions; the first is that of `PAIR`.

    >>> pair_rows(3)["more_at"].shape
    (2,)
    """
    more = (functions - 1,)
    return np.dtype([*PAIR.descr, ("more_at", "<i8", more), ("more_start", "<i8", more)]) if functions > 1 else PAIR


def discretization_rows(d: int, version: int = VERSION) -> np.dtype[Any]:
    """A row of the table of discretizations in at most d dimensions; smaller ones leave the rest zero.

    >>> discretization_rows(2).names
    ('grid', 'dim', 'shape', 'periodic', 'bounds', 'start', 'count', 'sha256', 'corners', 'rule', 'facets')
    """
    sized = [("shape", "<i8", (d,)), ("periodic", "u1", (d,)), ("bounds", "<f8", (d, 2))]
    fields = [("grid", "u1"), ("dim", "u1"), *sized, ("start", "<i8"), ("count", "<i8"), ("sha256", "u1", (32,))]
    # Corners of a simplex, 0 if there are no cells; index in RULES; of a boundary its corners, facets, corners of each.
    more = [("corners", "u1"), ("rule", "u1"), ("facets", "<i8", (3,))]
    return np.dtype([*fields, *more[: {1: 0, 2: 2}.get(version, 3)]])


def content_hash(metadata: bytes, discretizations: NDArray[Any], pairs: NDArray[Any]) -> str:
    """SHA-256 of the metadata and both tables; the tables hold the SHA-256 of all numbers, so it covers everything.

    >>> content_hash(b"{}", np.zeros(0, discretization_rows(1)), np.zeros(0, PAIR))[:8]
    '44136fa3'
    """
    digest = hashlib.sha256(metadata)
    digest.update(discretizations.tobytes())
    digest.update(pairs.tobytes())
    return digest.hexdigest()


def as_json(value: Any, name: str) -> Any:
    """The value in the terms of JSON: tuples as lists, NumPy numbers as numbers; anything else is refused by name.

    >>> as_json({"leads": (1, np.int64(8))}, "parameters")
    {'leads': [1, 8]}
    """
    if isinstance(value, Mapping):
        return {str(key): as_json(item, f"{name}: {key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise InvalidInputError(f"{name} must be text, a finite number, or lists of them; got {value!r}")


def to_bytes(value: Any) -> bytes:
    """The one JSON text of a value.

    >>> to_bytes({"b": 1, "a": [True, None]})
    b'{"a":[true,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()

"""Named numbers of samples: columns of a table beside the samples' files, or arrays with an entry for each sample."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.data.reading.files import missing
from iaenet.errors import InvalidInputError

TABLE = "scalars.csv"
SAMPLE = "sample"  # the column with the names of the samples' files


def numbers_of_folder(
    path: Path, names: list[str], stems: list[str] | None, options: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Numbers `(samples, k)` from `scalars.csv` in a folder: a row for each sample, in order or by its file's name."""
    from iaenet.data.formats.csv_folder import columns, read_table  # not above: its reader uses this

    file = (path if path.is_dir() else path.parent) / TABLE
    if not file.is_file():
        raise InvalidInputError(f"{file}: not there; it has a column for each of {', '.join(names)}, a row a sample")
    table = read_table(file, options.get("delimiter") or ",")
    found = columns(file, table, names)
    if stems is None or SAMPLE not in table[0]:
        return found
    at = table[0].index(SAMPLE)
    rows = {Path(cells[at].strip()).stem: i for i, (_, cells) in enumerate(table[1])}
    lacking = [stem for stem in stems if stem not in rows]
    if lacking:
        raise InvalidInputError(f"{file}: no row for sample {lacking[0]!r}")
    return found[[rows[stem] for stem in stems]]


def numbers_of_stacks(file: Path, stacks: Mapping[str, Any], names: Sequence[str]) -> NDArray[np.float64]:
    """Numbers `(samples, k)` from arrays with an entry for each sample, `(samples,)` but for axes of length one.

    >>> numbers_of_stacks(Path("a.npz"), {"Re": np.array([[1.0], [2.0]])}, ["Re"]).tolist()
    [[1.0], [2.0]]
    """
    found = []
    for name in names:
        if name not in stacks:
            raise missing(file, "array", name, list(stacks))
        stack = stacks[name]
        values = np.asarray(stack[(slice(None),) * len(stack.shape)])
        if values.dtype.kind not in "fiub" or values.size != max(values.shape, default=0):
            raise InvalidInputError(f"{file}: {name!r} has shape {values.shape}, but needs one number for each sample")
        found.append(values.astype(np.float64).ravel())
    if len({len(values) for values in found}) > 1:
        raise InvalidInputError(f"{file}: {', '.join(names)} have different numbers of samples")
    return np.stack(found, axis=1)

"""Named numbers of samples: columns of a table beside the samples' files, or arrays with an entry for each sample."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.data.reading.files import missing
from iaenet.errors import InvalidInputError

Numbers = NDArray[np.float64]
TABLE = "scalars.csv"
SAMPLE = "sample"  # the column with the names of the samples' files


def numbers_of_folder(path: Path, names: list[str], stems: list[str] | None, options: Mapping[str, Any]) -> Numbers:
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


def numbers_of_stacks(file: Path, stacks: Mapping[str, Any], names: Sequence[str]) -> Numbers:
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


def numbers_of_datasets(
    files: Sequence[Path], opened: Callable[[int], Any], names: Sequence[str], sample: str | None
) -> Numbers:
    """Numbers `(samples, k)` from variables of datasets of xarray: along its dimension of samples, or one in each."""
    found = []
    for i, file in enumerate(files):
        with opened(i) as dataset:
            for name in names:
                if name not in dataset.variables:
                    raise missing(file, "variable", name, [str(each) for each in dataset.variables])
                size = 1 if sample is None else dataset.sizes.get(sample)
                if dataset[name].size != size:
                    raise InvalidInputError(
                        f"{file}: {name!r} has shape {dataset[name].shape}, but needs one number for each sample"
                    )
            found.append(
                np.stack([np.asarray(dataset[name].values, dtype=np.float64).ravel() for name in names], axis=1)
            )
    return np.concatenate(found)

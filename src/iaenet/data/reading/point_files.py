"""Points to predict at, from a CSV or npz file that holds their coordinates."""

from pathlib import Path

import numpy as np

from iaenet.data.formats.csv_folder import columns, read_table
from iaenet.data.formats.npz import Archive
from iaenet.data.reading.array_layout import lay_out
from iaenet.data.reading.files import existing_file, missing, naming
from iaenet.data.reading.sample_points import PointSet, SamplePoints
from iaenet.errors import InvalidInputError

AXES = ("x", "y", "z")


def read_points(path: str | Path, dim: int, coordinates: list[str] | None = None, delimiter: str = ",") -> SamplePoints:
    """Points in `dim` dimensions, in the order of the file.

    coordinates: names of columns or arrays. Default, also if they are not there: `x`, `y`, `z`, or the only array.

    A CSV file has a column for each coordinate. An npz file has one array `(n, d)`; or d arrays `(n,)`; or the axes of
    a grid, as d arrays of different lengths or as d arrays `(s1, ..., sd)`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "at.csv").write_text("y,x\\n0.5,0.1\\n0.25,0.7\\n")
    ...     read_points(Path(folder, "at.csv"), 2).points.tolist()
    [[0.1, 0.5], [0.7, 0.25]]
    """
    file = existing_file(path)
    usual = [coordinates or [], list(AXES[:dim])]
    if file.suffix.lower() == ".csv":
        table = read_table(file, delimiter)
        return PointSet(columns(file, table, _named([names for names in usual if len(names) == dim], table[0], file)))
    if file.suffix.lower() != ".npz":
        raise InvalidInputError(f"{file}: points to predict at are read from .csv and .npz files, or are a grid: 256")
    archive = Archive(file)
    names = _named([*usual, list(archive)[: len(archive) == 1]], list(archive), file)
    arrays = [archive[name] for name in names]
    for name, array in zip(names, arrays, strict=True):
        if array.size == 0 or not np.all(np.isfinite(array)):
            bad = np.argwhere(~np.isfinite(array))
            what = f"entry {bad[0].tolist()} is {array[tuple(bad[0])]}" if len(bad) else "is empty"
            raise InvalidInputError(f"{file}: array {name!r}: {what}")
    shapes = [array.shape for array in arrays]
    with naming(file):
        if len(arrays) == 1 and arrays[0].ndim <= 2:
            found: SamplePoints = PointSet(arrays[0].reshape(len(arrays[0]), -1).astype(np.float64))
        elif len(set(shapes)) == 1 and arrays[0].ndim == 1:
            found = PointSet(np.stack(arrays, axis=1).astype(np.float64))
        elif all(len(shape) == 1 for shape in shapes):
            found = lay_out(arrays, tuple(shape[0] for shape in shapes)).points
        elif len(set(shapes)) == 1:
            found = lay_out(arrays, shapes[0]).points
        else:
            raise InvalidInputError(f"coordinates of shapes {', '.join(map(str, shapes))} make no points")
        if found.dim != dim:
            raise InvalidInputError(f"points in {found.dim}-D, but the model was trained in {dim}-D")
    return found


def _named(choices: list[list[str]], there: list[str], file: Path) -> list[str]:
    """The first choice of names that are all there."""
    for names in choices:
        if names and all(name in there for name in names):
            return names
    lacking = next((name for names in choices for name in names if name not in there), "")
    raise missing(file, "coordinate", lacking, there)

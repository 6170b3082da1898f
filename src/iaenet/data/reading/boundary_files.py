"""Boundaries from files: segments in 2-D, triangles in 3-D, one file for all samples or one for each."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.data.reading.files import existing, existing_file, files_in, naming, reading
from iaenet.data.reading.imported import Imported, Lazy, Pair
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.given_boundary import with_boundary
from iaenet.functions.quadrature import Array, Index

TEXT = (".csv", ".txt", ".dat")
SUFFIXES = (".stl", ".vtk", ".vtu", *TEXT)


def read_boundary(path: str | Path, dim: int) -> tuple[Array, Index]:
    """Corners `(v, d)` and facets `(m, d)` of a boundary in a file, for `with_boundary`.

    STL, VTK and VTU files have triangles, VTK and VTU files segments in 2-D, too; a mesh of a domain stands for its
    boundary. Rows of numbers (.csv, .txt, .dat, with or without a head) are a closed polygon if they have two columns
    `x, y`, segments if they have four, triangles if they have nine.
    """
    file = existing_file(path)
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidInputError(f"{file}: a boundary is read from {', '.join(SUFFIXES)}")
    if dim not in (2, 3):
        raise InvalidInputError(f"{file}: a boundary is read in 2-D and 3-D, not in {dim}-D")
    points, facets = _rows(file) if suffix in TEXT else _mesh(file, dim)
    if points.shape[1] != dim or facets.shape[1] != dim:
        kind = {2: "segments", 3: "triangles"}
        raise InvalidInputError(f"{file}: has {kind[facets.shape[1]]}, but a domain in {dim}-D needs {kind[dim]}")
    return points, facets


def bounded(imported: Imported, path: str | Path) -> Imported:
    """The same functions in domains whose boundary is in a file, or in a folder with a file for each sample.

    Files of a folder belong to samples whose file has the same name but for its ending; else, if there are as many, to
    the samples in order.
    """
    count = max(len(imported.pairs), len(imported.given))
    find = _finder(existing(path), [imported.where(i) for i in range(count)])
    made: dict[tuple[Path, str], Discretization] = {}

    def within(i: int, at: Discretization) -> Discretization:
        key = find(i), at.key
        if key not in made:
            if len(made) > 64:  # points of their own for every sample must not fill the memory
                made.clear()
            with naming(key[0]):
                made[key] = with_boundary(at, *read_boundary(key[0], at.dim))
        return made[key]

    def field(i: int, one: Field) -> Field:
        return Field.unchecked(within(i, one.discretization), one.values)

    def pair(i: int) -> Pair:
        given, wanted = imported.pairs[i]
        same = wanted.discretization.key == given.discretization.key
        return field(i, given), field(i, wanted) if same else wanted

    return replace(
        imported,
        pairs=Lazy(len(imported.pairs), pair),
        given=Lazy(len(imported.given), lambda i: field(i, imported.given[i])),
        provenance={**imported.provenance, "boundary": str(path)},
    )


def _finder(path: Path, samples: Sequence[str]) -> Callable[[int], Path]:
    """The file of each sample."""
    if path.is_file():
        return lambda i: path  # noqa: ARG005 - one for all
    files = files_in(path, SUFFIXES)
    by_name = {file.stem: file for file in files}
    names = [Path(sample).stem for sample in samples]
    if all(name in by_name for name in names):
        return lambda i: by_name[names[i]]
    if len(files) != len(samples):
        missing = next((name for name in names if name not in by_name), "")
        raise InvalidInputError(
            f"{path}: {len(files)} boundaries for {len(samples)} samples, and none of the name {missing!r}"
        )
    return lambda i: files[i]


def _mesh(file: Path, dim: int) -> tuple[Array, Index]:
    from iaenet.data.formats.meshes import read_mesh  # not above: formats import this package
    from iaenet.functions.facets import boundary_facets

    if file.suffix.lower() == ".stl":
        corners = _stl(file)
        return corners.reshape(-1, 3)[:, :dim], np.arange(corners.size // 3).reshape(-1, 3)
    mesh = read_mesh(file)
    points: Array = np.asarray(mesh.points, dtype=np.float64)[:, :dim]
    cells: dict[int, list[NDArray[Any]]] = {}
    for block in mesh.cells:
        if block.type in ("line", "triangle", "tetra"):
            cells.setdefault(block.data.shape[1], []).append(np.asarray(block.data, dtype=np.int64))
    for count in (dim, dim + 1):  # facets, else cells that have some
        if count in cells:
            index = np.concatenate(cells[count])
            return points, boundary_facets(points, index)
    raise InvalidInputError(f"{file}: has no {'segments' if dim == 2 else 'triangles'} and no cells of a domain")


def _stl(file: Path) -> Array:
    """Corners `(m, 3, 3)` of the triangles of an STL file, binary if its size is that of the number it begins with."""
    data = file.read_bytes()
    with reading(file, "STL"):
        if len(data) >= 84 and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little"):
            triangle = np.dtype([("normal", "<f4", (3,)), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
            return np.frombuffer(data, triangle, offset=84)["corners"].astype(np.float64)
        words = [line.split() for line in data.decode("ascii").splitlines()]
        found = np.array([[float(word) for word in line[1:]] for line in words if line[:1] == ["vertex"]])
        return found.reshape(-1, 3, 3)


def _rows(file: Path) -> tuple[Array, Index]:
    with reading(file, "rows of numbers"):
        lines = [line.replace(",", " ").replace(";", " ").split() for line in file.read_text().splitlines()]
        rows = [line for line in lines if line and not line[0].startswith("#")]
        if rows and not _numeric(rows[0]):
            rows = rows[1:]
        table = np.array([[float(word) for word in row] for row in rows])
    if table.ndim != 2 or table.shape[1] not in (2, 4, 9):
        raise InvalidInputError(f"{file}: rows have 2 numbers (a polygon), 4 (segments) or 9 (triangles)")
    if table.shape[1] == 2:
        closed = len(table) > 1 and np.array_equal(table[0], table[-1])
        table = table[:-1] if closed else table
        number = np.arange(len(table))
        return table, np.stack([number, np.roll(number, -1)], axis=1)
    d = 2 if table.shape[1] == 4 else 3
    return table.reshape(-1, d), np.arange(len(table) * d).reshape(-1, d)


def _numeric(words: Sequence[str]) -> bool:
    try:
        return bool([float(word) for word in words])
    except ValueError:
        return False

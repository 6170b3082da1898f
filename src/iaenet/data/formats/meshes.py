"""Meshes with data at their points, by meshio: one file for each sample."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from iaenet.data.formats.format import Format
from iaenet.data.problems.problem import Channel
from iaenet.data.reading.array_layout import Values, as_values, check_numbers
from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.channel_names import Chosen, Names, chosen, name_list
from iaenet.data.reading.files import existing_file, files_in, naming, reading, required
from iaenet.data.reading.files import missing as lacking
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.number_tables import numbers_of_folder
from iaenet.data.reading.sample_files import Missing, assemble
from iaenet.data.reading.sample_points import Array, Bounds, Periodic, PointSet, SamplePoints, SimplexMesh
from iaenet.data.writing.output import Output, Sample
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.outside import check_size

Meshes = Callable[[Path], Any]
# Not XDMF, which points to further files that meshio would open; nor Gmsh, which names the point of each value, which
# meshio does not look at; nor PLY, at whose end meshio waits forever if the file is cut off.
SUFFIXES = (".vtu", ".vtk")
AXES = ("x", "y", "z")
SIMPLICES = {"tetra": 3, "triangle": 2, "quad": 2, "line": 1}
CELLS = {1: "line", 2: "quad", 3: "hexahedron"}
# Corners of a cell in the order of VTK, as steps along the axes.
CORNERS: dict[int, list[tuple[int, ...]]] = {
    1: [(0,), (1,)],
    2: [(0, 0), (1, 0), (1, 1), (0, 1)],
    3: [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)],
}


def read_meshes(
    path: str | Path,
    *,
    inputs: Names,
    outputs: Names,
    coordinates: Names | None = None,
    bounds: Bounds = None,
    periodic: Periodic = False,
    rule: Literal["mesh", "cells", "monte-carlo"] = "mesh",
    missing: Missing = "refuse",
    skip_bad: bool = False,
    units: Mapping[str, str] | None = None,
) -> Imported:
    """Pairs from a folder of VTU or VTK files, one sample each, or from one such file.

    inputs, outputs: point data; `v[0]` is one component of a vector.
    coordinates: which of `x`, `y`, `z`. Default: those that are not the same at all points of all files.
    rule: "mesh" (default) weighs points by the lumped mass of segments, triangles, quadrilaterals or tetrahedra;
        "cells" and "monte-carlo" take the points alone, as for `read_npz`.
    bounds, periodic, missing, skip_bad, units: as for `read_npz`.
    """
    required("meshio", "mesh")
    bad = BadRecords(skip_bad)
    files = files_in(path, SUFFIXES, bad)
    if rule not in ("mesh", "cells", "monte-carlo"):
        raise InvalidInputError(f"rule must be 'mesh', 'cells' or 'monte-carlo', got {rule!r}")
    meshes = lru_cache(maxsize=4)(read_mesh)
    if skip_bad:
        wanted = {item.name for names in (inputs, outputs) for item in chosen(names, "inputs")}
        files = _readable(files, meshes, wanted, bad)
    axes = _axes(files, meshes, coordinates)
    sides = [
        _MeshSide(files, meshes, axes, rule == "mesh", chosen(names, role, list(meshes(files[0]).point_data)))
        for names, role in ((inputs, "inputs"), (outputs, "outputs"))
    ]
    return assemble(
        lambda sample: str(files[sample]),
        len(files),
        *sides,
        bounds=bounds,
        periodic=periodic,
        rule="cells" if rule == "mesh" else rule,
        units=units,
        provenance={"reader": "mesh", "source": str(path), "bytes": sum(file.stat().st_size for file in files)},
        missing=missing,
        bad=bad,
        mesh=lambda sample: meshes(files[sample]),
    )


def _readable(files: list[Path], meshes: Meshes, wanted: set[str], bad: BadRecords) -> list[Path]:
    """The files with all of the point data wanted."""
    left = []
    for file in files:
        with bad.passed_over(), naming(file):
            _points(meshes(file))
            for name in wanted.difference(meshes(file).point_data):
                raise lacking(file, "point data", name, list(meshes(file).point_data))
            left.append(file)
    bad.check(left, "files")
    return left


class _MeshSide:
    """Point data of all files, by name."""

    per_sample = True

    def __init__(
        self, files: list[Path], meshes: Meshes, axes: tuple[int, ...], weighed: bool, items: list[Chosen]
    ) -> None:
        self._files = files
        self._meshes = meshes
        self._axes = axes
        self._weighed = weighed
        self._items = items
        self.names = [name for item in items for name in self._channels(item, 0)[1]]

    def points(self, sample: int) -> SamplePoints:
        mesh = self._meshes(self._files[sample])
        points = _points(mesh)[:, self._axes]
        return SimplexMesh(points, _simplices(mesh, len(self._axes))) if self._weighed else PointSet(points)

    def values(self, sample: int) -> Values:
        parts = []
        names: list[str] = []
        for item in self._items:
            slices, labels = self._channels(item, sample)
            data = self._meshes(self._files[sample]).point_data[item.name][(slice(None), *slices)]
            parts.append(as_values(data).reshape(len(data), -1))
            names += labels
        if names != self.names:
            raise InvalidInputError(f"channels {', '.join(names)}, but the first file has {', '.join(self.names)}")
        return np.concatenate(parts, axis=1)

    def _channels(self, item: Chosen, sample: int) -> tuple[tuple[slice, ...], list[str]]:
        mesh = self._meshes(self._files[sample])
        if item.name in mesh.cell_data and item.name not in mesh.point_data:
            raise InvalidInputError(
                f"{self._files[sample]}: {item.name!r} is data of cells; only data of points is read"
            )
        if item.name not in mesh.point_data:
            raise lacking(self._files[sample], "point data", item.name, list(mesh.point_data))
        data: NDArray[Any] = mesh.point_data[item.name]
        check_numbers(f"{self._files[sample]}: {item.name!r}", data.dtype)
        if len(data) != len(mesh.points):
            raise InvalidInputError(
                f"{self._files[sample]}: {item.name!r} has {len(data)} values, but there are {len(mesh.points)} points"
            )
        return item.channels(data.shape[1:], self._files[sample])


def read_mesh(file: Path) -> Any:
    """The mesh in a file, as meshio has it."""
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidInputError(f"{file}: meshes are read from {', '.join(SUFFIXES)}; convert it with `meshio convert`")
    if suffix == ".vtu":
        _refuse_entities(file)
    existing_file(file)
    with reading(file, suffix[1:].upper()):
        _refuse_claims(file)
        # Not meshio.read: it ends the process on damaged files.
        mesh = getattr(required("meshio", "mesh"), suffix[1:]).read(str(file))
        if len(mesh.points) == 0:
            raise InvalidInputError(f"{file}: the mesh has no points")
        return mesh


def _refuse_claims(file: Path) -> None:
    """Numbers of points and cells that the file cannot hold, even as one byte each; a grid is written as its axes."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        head = stream.read(2**16)
    for words in re.findall(
        rb"(?i)(DIMENSIONS[ \t\d]+|(?:POINTS|CELLS|POLYDATA|POINT_DATA|NumberOf\w+=\")[ \t]*\d+)", head
    ):
        claimed = math.prod(int(number) for number in re.findall(rb"\d+", words))
        text = words.decode().replace('"', "")
        check_size(f"{file}: {text}", 8 * 3 * claimed)
        if claimed > size and not text.upper().startswith("NUMBEROF"):  # a VTU may be compressed
            raise InvalidInputError(f"{file}: claims {text}, but has {size} bytes; is the file whole?")


def _refuse_entities(file: Path) -> None:
    """XML may define entities that grow without bound, or stand for other files; VTU files have no use for them."""
    with file.open("rb") as stream:
        head = stream.read(2**16)
    start = head.find(b"<VTKFile")
    if start < 0 or b"<!DOCTYPE" in head[:start] or b"<!ENTITY" in head[:start]:
        raise InvalidInputError(
            f"{file}: cannot be read as VTU (it must begin with a VTKFile element); is the file whole?"
        )


def _points(mesh: Any) -> Array:
    points = np.asarray(mesh.points, dtype=np.float64)
    if not np.all(np.isfinite(points)):
        point, axis = np.argwhere(~np.isfinite(points))[0]
        raise InvalidInputError(f"point {point}, coordinate {AXES[axis]} is {points[point, axis]}")
    return points


def _axes(files: list[Path], meshes: Meshes, coordinates: Names | None) -> tuple[int, ...]:
    """The columns of the points that are coordinates."""
    if coordinates is not None:
        names = name_list(coordinates)
        width = meshes(files[0]).points.shape[1]
        unknown = [name for name in names if name not in AXES[:width]]
        if unknown or not names:
            raise lacking(files[0], "coordinate", unknown[0] if unknown else "", list(AXES[:width]))
        return tuple(AXES.index(name) for name in names)
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for file in files:
        with naming(file):
            points = _points(meshes(file))
        width = points.shape[1]
        low[:width] = np.minimum(low[:width], points.min(axis=0))
        high[:width] = np.maximum(high[:width], points.max(axis=0))
    return tuple(int(axis) for axis in np.flatnonzero(high > low)) or (0,)


def _simplices(mesh: Any, dim: int) -> NDArray[np.int64]:
    """The cells of the highest dimension, quadrilaterals cut into two triangles."""
    kinds = {block.type for block in mesh.cells if len(block.data)}
    highest = max((SIMPLICES[kind] for kind in kinds if kind in SIMPLICES and SIMPLICES[kind] <= dim), default=0)
    unknown = sorted(kind for kind in kinds if kind not in SIMPLICES and kind != "vertex")
    if unknown or not highest:
        raise InvalidInputError(
            f"cells of kind {', '.join(unknown or sorted(kinds) or ['none'])} cannot be weighed; "
            f"use rule='cells' for the points alone"
        )
    cells = []
    for block in mesh.cells:
        if SIMPLICES.get(block.type) == highest:
            data = np.asarray(block.data, dtype=np.int64)
            cells += [data[:, [0, 1, 2]], data[:, [0, 2, 3]]] if block.type == "quad" else [data]
    return np.concatenate(cells)


def write_mesh(path: Path, sample: Sample, output: Output) -> None:
    """Predicted channels as point data, on the input's own mesh; else on the cells of a grid, or on loose points."""
    meshio = required("meshio", "mesh")
    at = sample.made.discretization
    if at.dim > 3:
        raise InvalidInputError(f"a mesh has at most 3 dimensions, not {at.dim}; write another format")
    if sample.mesh is not None:
        points, cells = sample.mesh.points, sample.mesh.cells
    else:
        points = np.zeros((at.n, 3))
        points[:, : at.dim] = at.points.numpy()
        cells = [grid_cells(at)]
    mesh = meshio.Mesh(points, cells, point_data=point_data(sample.made.values.numpy(), output.outputs))
    getattr(meshio, "vtk" if output.suffix == ".vtk" else "vtu").write(str(path), mesh)


def point_data(values: NDArray[Any], channels: Sequence[Channel]) -> dict[str, NDArray[Any]]:
    """Arrays by name: channels `u[0]`, `u[1]`, ... are the vector `u` that they were read from, all others scalars.

    Two components are completed by a zero, since vectors of VTK have three; `u[0]` and `u[1]` stay what they are.

    >>> found = point_data(np.array([[5.0, 1.0, 2.0]]), [Channel("p"), Channel("u[0]"), Channel("u[1]")])
    >>> {name: array.tolist() for name, array in found.items()}
    {'p': [5.0], 'u': [[1.0, 2.0, 0.0]]}
    """
    names = [channel.name for channel in channels]
    columns: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        columns.setdefault(name.rpartition("[")[0] or name, []).append(i)
    found: dict[str, NDArray[Any]] = {}
    for name, indices in columns.items():
        if len(indices) > 1 and [names[i] for i in indices] == [f"{name}[{k}]" for k in range(len(indices))]:
            vector = values[:, indices]
            found[name] = np.pad(vector, ((0, 0), (0, 1))) if len(indices) == 2 else vector
        else:
            found |= {names[i]: values[:, i] for i in indices}
    return found


def grid_cells(at: Discretization) -> tuple[str, NDArray[np.int64]]:
    """The cells between the points of a grid, or every point by itself.

    >>> grid_cells(Discretization.uniform((2, 2)))[1].tolist()
    [[0, 2, 3, 1]]
    """
    if at.axes is None or 1 in at.shape:
        return "vertex", np.arange(at.n)[:, None]
    index = np.arange(at.n).reshape(at.shape)
    return CELLS[at.dim], np.stack([_shifted(index, corner).ravel() for corner in CORNERS[at.dim]], axis=1)


def _shifted(index: NDArray[Any], corner: Sequence[int]) -> NDArray[Any]:
    return index[tuple(slice(step, size - 1 + step) for step, size in zip(corner, index.shape, strict=True))]


FORMAT = Format("mesh", read_meshes, SUFFIXES, folders=True, write_sample=write_mesh, numbers=numbers_of_folder)

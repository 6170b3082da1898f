"""VTU and VTK, by meshio: a file for each sample."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.data.reading.files import required
from iaenet.data.writing.output import Output, Sample
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

CELLS = {1: "line", 2: "quad", 3: "hexahedron"}
# Corners of a cell in the order of VTK, as steps along the axes.
CORNERS: dict[int, list[tuple[int, ...]]] = {
    1: [(0,), (1,)],
    2: [(0, 0), (1, 0), (1, 1), (0, 1)],
    3: [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)],
}


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
    data = {channel.name: sample.made.values[:, i].numpy() for i, channel in enumerate(output.outputs)}
    mesh = meshio.Mesh(points, cells, point_data=data)
    getattr(meshio, "vtk" if output.suffix == ".vtk" else "vtu").write(str(path), mesh)


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

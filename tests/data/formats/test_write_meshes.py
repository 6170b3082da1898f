"""Meshes: the input's own cells are kept, grids get cells of their own, the order of corners is that of VTK."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field
from iaenet.data.formats.meshes import grid_cells, point_data, read_mesh, read_meshes, write_mesh
from iaenet.data.problems.problem import Channel
from iaenet.data.writing.output import Output, Sample
from iaenet.errors import InvalidInputError

meshio = pytest.importorskip("meshio")


def output(suffix, dim):
    return Output([], (Channel("a"),), (Channel("u"),), ("x", "y", "z")[:dim], suffix=suffix)


@pytest.mark.parametrize("suffix", [".vtu", ".vtk"])
def test_the_cells_of_the_input_stay(tmp_path, suffix):
    corners = np.array([[0.0, 0, 5], [1, 0, 5], [1, 1, 5], [0, 1, 5]])
    cells = [("triangle", np.array([[0, 1, 2], [0, 2, 3]])), ("line", np.array([[0, 1]]))]
    mesh = meshio.Mesh(corners, cells, point_data={"a": np.arange(4.0)})
    at = Discretization.mesh(corners[:, :2], cells[0][1])
    field = Field(at, torch.arange(4.0)[:, None])
    path = tmp_path / f"u{suffix}"
    write_mesh(path, Sample("s", field, field, mesh), output(suffix, 2))
    found = read_mesh(path)
    assert np.array_equal(found.points, corners), "the coordinate that the model does not see is kept"
    assert [block.type for block in found.cells] == ["triangle", "line"]
    assert np.array_equal(found.cells[0].data, cells[0][1])
    assert list(found.point_data) == ["u"]
    back = read_meshes(path, inputs="u", outputs="u").given[0]
    assert np.array_equal(back.discretization.weights, at.weights)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_cells_of_a_grid_fill_it_and_have_positive_volume(tmp_path, dim):
    grid = Discretization.tensor_grid(*[np.sort(np.random.default_rng(i).uniform(size=4 - i % 2)) for i in range(dim)])
    kind, cells = grid_cells(grid)
    assert len(cells) == np.prod([s - 1 for s in grid.shape])
    corners = grid.points.numpy()[cells]  # (e, 2^d, d)
    # Edges from the first corner of VTK's line, quad and hexahedron: to corners 1, 3 and 4.
    edges = corners[:, [1, 3, 4][:dim]] - corners[:, :1]
    box = np.prod([axis[-1] - axis[0] for axis in grid.axes])
    assert np.linalg.det(edges).sum() == pytest.approx(box)
    assert np.linalg.det(edges).min() > 0
    if dim == 2:  # neighbouring corners are neighbours on the rim: the area by Gauss's formula
        x, y = np.moveaxis(corners, -1, 0)
        area = 0.5 * (x * np.roll(y, -1, axis=1) - y * np.roll(x, -1, axis=1)).sum(axis=1)
        assert area.sum() == pytest.approx(box)
    field = Field(grid, torch.ones(grid.n, 1))
    write_mesh(tmp_path / "u.vtu", Sample("s", field, field), output(".vtu", dim))
    assert [block.type for block in read_mesh(tmp_path / "u.vtu").cells] == [kind]


def test_four_dimensions_make_no_mesh(tmp_path):
    at = Discretization.points(np.random.default_rng(0).uniform(size=(5, 4)), rule="monte-carlo")
    field = Field(at, torch.ones(5, 1))
    with pytest.raises(InvalidInputError, match="at most 3 dimensions, not 4"):
        write_mesh(tmp_path / "u.vtu", Sample("s", field, field), output(".vtu", 3))


@pytest.mark.parametrize("suffix", [".vtu", ".vtk"])
@pytest.mark.parametrize("components", [2, 3])
def test_components_of_a_vector_are_one_array_again(tmp_path, suffix, components):
    """What was read as u[0], u[1], ... is written as u, so that ParaView draws arrows; and is read back as it was."""
    grid = Discretization.uniform((3, 2))
    channels = [Channel("p"), *(Channel(f"u[{i}]") for i in range(components)), Channel("s[3]")]
    values = torch.from_numpy(np.random.default_rng(1).normal(size=(grid.n, len(channels))))
    field, path = Field(grid, values), tmp_path / f"u{suffix}"
    write_mesh(path, Sample("s", field, field), Output([], (), tuple(channels), ("x", "y"), suffix=suffix))
    found = read_mesh(path).point_data
    assert {name: array.shape[1:] for name, array in found.items()} == {"p": (), "u": (3,), "s[3]": ()}
    names = [channel.name for channel in channels]
    assert np.array_equal(read_meshes(path, inputs=names, outputs=names, rule="cells").given[0].values, values)


def test_components_that_make_no_whole_vector_stay_apart(tmp_path):
    values = np.arange(10.0).reshape(2, 5)
    for names in (["u[0]", "u[2]"], ["u[1]", "u[0]"], ["u[0]", "u[1]", "u"], ["u[0,0]", "u[0,1]"], ["u_x", "u_y"]):
        assert list(point_data(values, [Channel(name) for name in names])) == names

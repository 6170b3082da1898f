"""Meshes as meshio writes them: points, cells, weights and point data."""

import numpy as np
import pytest

from iaenet.data.formats.meshes import read_meshes
from iaenet.errors import InvalidInputError

meshio = pytest.importorskip("meshio")
RNG = np.random.default_rng(5)
FORMATS = ["vtu", "vtk"]


def triangles(n=4, seed=0):
    """A unit square of n x n nodes, two triangles to a cell, its inner nodes moved at random."""
    rng = np.random.default_rng(seed)
    x = np.stack(np.meshgrid(*[np.linspace(0, 1, n)] * 2, indexing="ij"), axis=-1)
    x[1:-1, 1:-1] += rng.uniform(-0.1, 0.1, size=(n - 2, n - 2, 2)) / n
    index = np.arange(n * n).reshape(n, n)
    a, b, c, d = index[:-1, :-1].ravel(), index[1:, :-1].ravel(), index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    return x.reshape(-1, 2), np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def write(path, points, cells, **data):
    flat = np.concatenate([points, np.zeros((len(points), 3 - points.shape[1]))], axis=1)
    meshio.Mesh(flat, cells, point_data=data).write(path)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_folder_of_triangle_meshes_with_scalars_and_vectors(tmp_path, kind):
    truth = []
    for i, n in enumerate((4, 6, 5)):
        points, cells = triangles(n, i)
        load, u, v = RNG.normal(size=len(points)), RNG.normal(size=len(points)), RNG.normal(size=(len(points), 3))
        write(tmp_path / f"s{i}.{kind}", points, [("triangle", cells)], load=load, u=u, v=v)
        truth.append((points, load, u, v))
    imported = read_meshes(tmp_path, inputs="load,v[0]", outputs="u,v[1:3]")
    assert [channel.name for channel in imported.outputs] == ["u", "v[1]", "v[2]"]
    assert len(imported.pairs) == 3
    for (given, wanted), (points, load, u, v) in zip(imported.pairs, truth, strict=True):
        assert np.array_equal(given.discretization.points, points), "z is 0 everywhere, and left out"
        assert np.array_equal(given.values, np.stack([load, v[:, 0]], axis=1))
        assert np.array_equal(wanted.values, np.column_stack([u, v[:, 1:]]))
        assert given.discretization.weights.sum().item() == pytest.approx(1.0, rel=1e-12)
        f = points @ [2.0, 3.0]
        assert (given.discretization.weights.numpy() @ f) == pytest.approx(2.5, rel=1e-2)


def test_tetrahedra_quadrilaterals_and_boundary_cells(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    write(tmp_path / "t.vtu", corners, [("tetra", [[0, 1, 2, 3]]), ("triangle", [[0, 1, 2]])], u=np.arange(4.0))
    at = read_meshes(tmp_path / "t.vtu", inputs="u", outputs="u").pairs[0][0].discretization
    assert at.dim == 3
    assert at.weights.sum().item() == pytest.approx(1 / 6)
    square = np.array([[0, 0], [2, 0], [2, 1], [0, 1]], dtype=float)
    write(tmp_path / "q.vtk", square, [("quad", [[0, 1, 2, 3]]), ("line", [[0, 1]])], u=np.arange(4.0))
    at = read_meshes(tmp_path / "q.vtk", inputs="u", outputs="u").pairs[0][0].discretization
    assert at.weights.sum().item() == pytest.approx(2.0)


def test_points_alone_bounds_and_chosen_coordinates(tmp_path):
    points, cells = triangles()
    write(tmp_path / "s.vtu", points, [("triangle", cells)], u=points[:, 1])
    options = {"inputs": "u", "outputs": "u", "bounds": [(-1, 1), (0, 2)]}
    at = read_meshes(tmp_path / "s.vtu", rule="monte-carlo", **options).pairs[0][0].discretization
    assert np.allclose(at.weights, 4 / 16)
    flipped = read_meshes(tmp_path / "s.vtu", coordinates="y,x", inputs="u", outputs="u").pairs[0][0]
    assert np.array_equal(flipped.values[:, 0], flipped.discretization.points[:, 0])


def test_what_does_not_fit_is_named(tmp_path):
    points, cells = triangles()
    mesh = meshio.Mesh(points, [("triangle", cells)], {"u": points[:, 0]}, {"k": [np.ones(len(cells))]})
    mesh.write(tmp_path / "s.vtk")
    broken = points[:, 0].copy()
    broken[7] = np.nan
    write(tmp_path / "n.vtu", points, [("triangle", cells)], u=broken)
    write(tmp_path / "w.vtu", np.eye(3).repeat(2, 0), [("wedge", [[0, 1, 2, 3, 4, 5]])], u=np.ones(6))
    write(tmp_path / "v.vtu", points, [("vertex", np.arange(16)[:, None])], u=np.ones(16))
    (tmp_path / "x.xdmf").write_text("<Xdmf/>")
    (tmp_path / "empty").mkdir()
    for name, options, message in (
        ("s.vtk", {"inputs": "p"}, r"s\.vtk: no point data 'p'; there are: u"),
        ("s.vtk", {"inputs": "k"}, r"s\.vtk: 'k' is data of cells; only data of points is read"),
        ("s.vtk", {"inputs": "u[1]"}, r"s\.vtk: u\[1\] has 1 indices"),
        ("s.vtk", {"coordinates": "r"}, r"s\.vtk: no coordinate 'r'; there are: x, y, z"),
        ("n.vtu", {}, r"n\.vtu: channel u, point 7 is nan"),
        ("w.vtu", {}, r"w\.vtu: cells of kind wedge cannot be weighed"),
        ("v.vtu", {}, r"v\.vtu: cells of kind vertex cannot be weighed"),
        ("x.xdmf", {}, r"x\.xdmf: meshes are read from \.vtu, \.vtk;"),
        ("empty", {}, r"empty: no \.vtu or \.vtk file in this folder"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            list(read_meshes(tmp_path / name, **{"inputs": "u", "outputs": "u", **options}).pairs)


def test_xml_entities_are_refused(tmp_path):
    points, cells = triangles()
    write(tmp_path / "s.vtu", points, [("triangle", cells)], u=points[:, 0])
    text = (tmp_path / "s.vtu").read_text()
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    (tmp_path / "s.vtu").write_text(text.replace("<VTKFile", f"{bomb}<VTKFile", 1))
    with pytest.raises(InvalidInputError, match=r"s\.vtu: cannot be read as VTU"):
        read_meshes(tmp_path / "s.vtu", inputs="u", outputs="u")

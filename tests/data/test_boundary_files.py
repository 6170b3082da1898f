"""Boundaries from files, and through `iaenet import` and `predict` to a data file and back."""

import numpy as np
import pytest
import torch

import iaenet
from iaenet import InvalidInputError, load_dataset
from iaenet.cli.main import main
from iaenet.data.problems.bodies import icosphere
from iaenet.data.reading.boundary_files import read_boundary
from iaenet.functions.geometry import distance_at
from tests.functions.test_given_boundary import circle
from tests.sizes import sizes

meshio = pytest.importorskip("meshio")


def rows(path, table, head=""):
    path.write_text("\n".join([*([head] if head else []), *(",".join(map(repr, row)) for row in table.tolist())]))
    return path


def test_the_same_boundary_in_every_form(tmp_path):
    points, segments = circle(0.3, 12)
    space = np.pad(points, ((0, 0), (0, 1)))
    triangles = np.stack([np.full(12, 12), *segments.T], 1)
    inner = np.concatenate([space, [[0.5, 0.5, 0.0]]])
    files = [
        rows(tmp_path / "polygon.csv", points, "x,y"),
        rows(tmp_path / "closed.dat", np.concatenate([points, points[:1]])),
        rows(tmp_path / "segments.csv", points[segments].reshape(12, 4)),
    ]
    meshio.vtk.write(str(tmp_path / "lines.vtk"), meshio.Mesh(space, [("line", segments)]))
    meshio.vtu.write(str(tmp_path / "cells.vtu"), meshio.Mesh(inner, [("triangle", triangles)]))
    for file in [*files, tmp_path / "lines.vtk", tmp_path / "cells.vtu"]:
        found, facets = read_boundary(file, 2)
        ends = np.sort(np.linalg.norm(found[facets].mean(axis=1) - points[segments].mean(axis=1)[:1], axis=1))
        wanted = np.sort(np.linalg.norm(points[segments].mean(axis=1) - points[segments].mean(axis=1)[:1], axis=1))
        assert np.allclose(ends, wanted, atol=1e-6)


def test_triangles_from_stl(tmp_path):
    sphere, cells = icosphere(42)
    for binary in (True, False):
        meshio.stl.write(str(tmp_path / "body.stl"), meshio.Mesh(sphere, [("triangle", cells)]), binary=binary)
        points, facets = read_boundary(tmp_path / "body.stl", 3)
        assert facets.shape == (80, 3)
        assert np.allclose(points[facets], sphere[cells], atol=1e-5)
    with pytest.raises(InvalidInputError, match="needs segments"):
        read_boundary(tmp_path / "body.stl", 2)


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("a.csv", "x,y,z\n1,2,3\n", "2 numbers"),
        ("a.csv", "1,2\n3,b\n", "cannot be read"),
        ("a.obj", "v 1", "is read from"),
    ],
)
def test_what_is_no_boundary_is_refused(tmp_path, name, text, wrong):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError, match=wrong):
        read_boundary(tmp_path / name, 2)


@pytest.fixture
def folder(tmp_path):
    """Points around a hole of another size for each sample, and its outline; the output is the distance from it."""
    (tmp_path / "samples").mkdir()
    (tmp_path / "outlines").mkdir()
    rng = np.random.default_rng(0)
    for i, radius in enumerate((0.1, 0.15, 0.2, 0.25, 0.3)):
        x = rng.random((150, 2))
        x = x[np.linalg.norm(x - 0.5, axis=1) > radius]
        u = np.linalg.norm(x - 0.5, axis=1) - radius
        rows(tmp_path / "samples" / f"s{i}.csv", np.column_stack([x, np.ones(len(x)), u]), "x,y,one,u")
        rows(tmp_path / "outlines" / f"s{i}.csv", circle(radius)[0], "x,y")
    return tmp_path


def test_import_train_and_predict_with_boundaries(folder, capsys):
    out, run = folder / "holes.h5", folder / "run"
    given = ["--coordinates", "x,y", "--inputs", "one", "--outputs", "u", "--bounds", "[[0,1],[0,1]]"]
    bound = ["--boundary", str(folder / "outlines")]
    assert main(["import", "csv", str(folder / "samples"), *given, *bound, "--out", str(out)]) == 0
    data = load_dataset(out)
    radii = []
    for field, wanted in data:
        at = field.discretization
        assert at.key == wanted.discretization.key
        assert at.given_boundary is not None
        middle = float(distance_at(at, torch.full((1, 2), 0.5, dtype=torch.float64)))
        radii.append(-middle / 4)
        found = distance_at(at, at.points)[:, 0] / 4
        near = wanted.values[:, 0] < 0.05
        assert torch.allclose(found[near].float(), wanted.values[near, 0], atol=2e-3)
    assert sorted(radii) == pytest.approx([0.1, 0.15, 0.2, 0.25, 0.3], abs=2e-3)
    iaenet.fit({"name": "iaenet", **sizes(dim=2), "geometry": ["distance"]}, out, run, epochs=1, threads=1)
    capsys.readouterr()
    results = []
    for more in (bound, []):
        target = folder / f"predicted{len(more)}"
        assert main(["predict", str(run), "--input", str(folder / "samples"), "--output", str(target), *more]) == 0
        results.append((target / "s4.csv").read_text())
    assert results[0] != results[1]  # the boundary was looked at
    assert main(["import", "csv", str(folder / "samples"), *given, "--boundary", "nowhere", "--out", str(out)]) == 2
    (folder / "outlines" / "s0.csv").unlink()
    assert main(["import", "csv", str(folder / "samples"), *given, *bound, "--out", str(folder / "b.h5")]) == 2
    assert "4 boundaries for 5 samples, and none of the name 's0'" in capsys.readouterr().err

"""A folder of VTU files with meshes that differ: two commands to a certified model and predictions for ParaView."""

import json

import numpy as np
import pytest

from iaenet.cli.main import main
from iaenet.data.problems.plate import NEAR, Plate

meshio = pytest.importorskip("meshio")


def write(path, seed, outputs=True):
    """A plate with a hole of its own: a load on the nodes in, a vector and a scalar out."""
    rng = np.random.default_rng(seed)
    mesh = Plate().draw(rng).mesh(int(rng.integers(60, 90)), NEAR, rng)
    x, y = mesh.points.T
    data = {"load": 1 + x}
    if outputs:
        data |= {"stress": x * y, "u": np.stack([x**2, y**2, np.zeros(len(x))], 1)}
    points = np.column_stack([mesh.points, np.zeros(len(x))])
    meshio.vtu.write(str(path), meshio.Mesh(points, [("triangle", mesh.cells)], point_data=data))
    return mesh


def test_two_commands_from_files_to_certified_model_and_predictions(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    (tmp_path / "new").mkdir()
    for i in range(8):
        write(tmp_path / "runs" / f"plate{i}.vtu", i)
    meshes = {f"plate{i}.vtu": write(tmp_path / "new" / f"plate{i}.vtu", i, outputs=False) for i in (100, 101)}
    run = tmp_path / "plates"
    small = ["--model.width", "8", "--model.blocks", "1", "--epochs", "1", "--threads", "1"]
    asked = ["--import.inputs", "load", "--import.outputs", "u[0:2],stress", "--run", str(run), "--certify"]
    assert main(["train", "--data", str(tmp_path / "runs"), *asked, *small]) == 0
    certificate = json.loads((run / "certificate" / "certificate.json").read_text())
    refined = next(line for line in certificate["lines"] if line["test"] == "refined half")
    assert refined["value"] < 2e-2
    assert certificate["verdict"].upper() in capsys.readouterr().out
    assert main(["predict", str(run), "--input", str(tmp_path / "new"), "--output", str(tmp_path / "out")]) == 0
    for name, mesh in meshes.items():
        found = meshio.vtu.read(str(tmp_path / "out" / name))
        assert np.allclose(found.points[:, :2], mesh.points)
        assert np.array_equal(found.cells_dict["triangle"], mesh.cells)
        assert found.point_data["u"].shape == (len(mesh.points), 3)  # a vector, as ParaView has them
        assert found.point_data["stress"].shape == (len(mesh.points),)

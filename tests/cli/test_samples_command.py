"""Samples of several functions and numbers through every command, from folders of CSV files."""

import csv

import numpy as np
import pytest
import torch

from examples import samples
from iaenet import Discretization, Field, Sample, load, load_exported, relative_l2
from iaenet.cli.main import main
from iaenet.data.problems.screened_poisson import ScreenedPoisson, _sample
from iaenet.functions.resample import permuted

TINY = {"name": "iaenet", "grid": 10, "width": 8, "blocks": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folders of CSV files, and a run by one YAML file."""
    made = tmp_path_factory.mktemp("samples")
    found = samples.main(made, samples=20, size=8, left_out=(), epochs=2, model=TINY)
    assert set(found) == {"nothing"}
    return made


def test_train_and_evaluate(folder, capsys):
    assert main(["inspect", str(folder / "run" / "data.h5"), "--picture", str(folder / "inspect.png")]) == 0
    text = capsys.readouterr().out
    assert "boundary g, source f, scalars kappa" in text
    assert "scalars kappa" in text
    assert (folder / "inspect.png").stat().st_size > 10_000
    assert (folder / "run" / "evaluation" / "samples.png").stat().st_size > 10_000


def test_predict_at_points_and_on_a_grid(folder, capsys, tmp_path):
    new = tmp_path / "new"
    for name in ("boundary", "source"):
        (new / name).mkdir(parents=True)
        for i in range(2):
            (new / name / f"{i}.csv").write_bytes((folder / name / f"000{i}.csv").read_bytes())
    (new / "scalars.csv").write_text("sample,kappa\n1,20.0\n0,3.0\n")
    made = ["predict", str(folder / "run"), "--input", str(new), "--format", "csv"]
    assert main([*made, "--at", "9,9", "--output", str(tmp_path / "maps"), "--picture", str(tmp_path / "a.png")]) == 0
    assert "2 samples at 81 points" in capsys.readouterr().out
    (tmp_path / "at.csv").write_text("x,y\n0.5,0.5\n0.25,0.75\n")
    assert main([*made, "--at", str(tmp_path / "at.csv"), "--output", str(tmp_path / "points")]) == 0
    with open(tmp_path / "points" / "1.csv") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["x", "y", "u"]
    assert len(rows) == 3
    model = load(folder / "run")
    with open(new / "source" / "1.csv") as file:
        table = np.array([list(map(float, row)) for row in list(csv.reader(file))[1:]])
    assert len(table) == 64
    assert model.metadata["sample"]["scalars"] == ["kappa"]
    slopes = [*made, "--derivatives", "gradient", "--at", "65,65", "--output", str(tmp_path / "slopes")]
    assert main(slopes) == 0
    found = np.genfromtxt(tmp_path / "slopes" / "1.csv", delimiter=",", names=True)
    assert found.dtype.names == ("x", "y", "u", "u_x", "u_y")
    u, u_y = (found[name].reshape(65, 65) for name in ("u", "u_y"))
    centred = (u[:, 2:] - u[:, :-2]) * 64 / 2
    assert np.linalg.norm(centred - u_y[:, 1:-1]) < 0.02 * np.linalg.norm(u_y)
    (new / "scalars.csv").unlink()
    assert main([*made, "--at", "9,9", "--output", str(tmp_path / "none")]) == 2
    assert "scalars.csv: not there" in capsys.readouterr().err


def test_certify_reports_samples(folder, capsys):
    assert main(["certify", str(folder / "run")]) in (0, 1)
    text = capsys.readouterr().out
    assert "permuted points" in text
    assert "9/10 of the points" in text


@pytest.mark.parametrize("kind", [pytest.param("onnx", marks=pytest.mark.slow), "torch"])
def test_export(folder, tmp_path, kind):
    """The file agrees with the run on other points of each function, wherever the output is asked for."""
    path = tmp_path / ("model.onnx" if kind == "onnx" else "model.pt2")
    assert main(["export", str(folder / "run"), "--to", kind, "--out", str(path)]) == 0
    exported, model = load_exported(path, threads=1), load(folder / "run")
    assert exported.metadata["functions"]["boundary"]["inputs"] == [{"name": "g", "unit": "1"}]
    box = exported.metadata["bounds"]
    for seed, size in enumerate((6, 15, 40)):
        rng = np.random.default_rng(seed)
        t, edge, inside = rng.random(4 * size + 20), np.zeros((4 * size + 20, 2)), rng.random((size**2, 2))
        edge[:, 0] = np.clip(np.abs((4 * t + 1) % 4 - 2) - 0.5, 0, 1)  # once around the square
        edge[:, 1] = np.clip(np.abs((4 * t) % 4 - 2) - 0.5, 0, 1)
        g, f, query = np.sin(3 * edge[:, :1]), np.cos(4 * inside[:, 1:]), rng.random((70, 2))
        on, where = (Discretization.points(x, bounds=box) for x in (edge, inside))
        at = Discretization.points(query, bounds=box, rule="monte-carlo")
        functions = {
            name: Field(x, torch.from_numpy(v).float()) for name, x, v in (("boundary", on, g), ("source", where, f))
        }
        wanted = model.predict(Sample(functions, {"kappa": 3.0 + seed}), at).values.numpy()
        given = {"boundary": (edge, g), "source": (inside, f), "kappa": 3.0 + seed}
        found = exported(given, at=query)
        assert np.linalg.norm(found - wanted) < 1e-5 * np.linalg.norm(wanted)


def test_a_playground_shows_one_function(folder, capsys):
    assert main(["play", str(folder / "run")]) == 2
    assert "models of one function" in capsys.readouterr().err


def test_numbers_to_a_function_by_the_command_line(folder, tmp_path, capsys):
    reading = ["--import.scalars", "kappa", "--import.outputs", "u", "--import.coordinates", "x,y"]
    network = [part for key, value in TINY.items() for part in (f"--model.{key}", str(value))]
    run = str(tmp_path / "run")
    made = ["train", "--data", str(folder), "--import.format", "csv", *reading, *network, "--epochs", "1", "--run", run]
    assert main(made) == 0
    assert load(run).metadata["sample"] == {"functions": {}, "scalars": ["kappa"]}
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "scalars.csv").write_text("kappa\n5\n50\n")
    options = ["--format", "csv", "--at", "7,7", "--output", str(tmp_path / "maps")]
    assert main(["predict", run, "--input", str(tmp_path / "new"), *options]) == 0
    assert "2 samples at 49 points" in capsys.readouterr().out


@pytest.mark.slow
def test_each_input_is_worth_something_and_its_points_mean_nothing(tmp_path):
    errors = samples.main(tmp_path)
    assert errors["nothing"] < 0.5 * min(errors[name] for name in samples.LEFT_OUT)
    model = load(tmp_path / "run")
    latent = model.network.encoders[0].latent
    for i in range(3):
        u = ScreenedPoisson().draw(np.random.default_rng([7, i]))
        (given, image), (other, _) = (_fields(u, s, i + s) for s in (16, 32))
        found = model.predict(given, image.discretization)
        for name in ("boundary", "source"):
            n = given[name].discretization.n
            orders = torch.arange(n), torch.randperm(n, generator=torch.Generator().manual_seed(i))
            one, two = (_with(given, name, permuted(given[name], order)) for order in orders)
            change = relative_l2(model.predict(two, image.discretization), model.predict(one, image.discretization))
            assert float(change) < 1e-5
            projected, finer = (latent.encoded(each[name]) for each in (given, other))
            projection = float((projected - finer).norm() / finer.norm())
            refined = model.predict(_with(given, name, other[name]), image.discretization)
            assert float(relative_l2(refined, found)) <= projection


def _with(given, name, field):
    return Sample(given.functions | {name: field}, given.scalars)


def _fields(u, s, seed):
    (g, edge), (f, grid), (kappa, _), (out, at) = _sample(u, s, np.random.default_rng(seed)).parts
    one, two, image = (Field(where, torch.from_numpy(v).float()) for where, v in ((edge, g), (grid, f), (at, out)))
    return Sample({"boundary": one, "source": two}, {"kappa": float(kappa[0, 0])}), image

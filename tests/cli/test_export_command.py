"""`iaenet export` and `iaenet train --compile`, as commands: files and runs that answer as the trained model does."""

import json
import shutil

import numpy as np
import pytest
import torch

import iaenet
from iaenet import Discretization, Field
from iaenet.cli.main import main

TINY = ["--model.width", "8", "--model.blocks", "1", "--epochs", "2", "--threads", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data file, and a run."""
    made = tmp_path_factory.mktemp("burgers")
    data = str(made / "burgers.h5")
    assert main(["generate", "burgers", "--samples", "20", "--resolutions", "32,64", "--out", data]) == 0
    assert main(["train", "--data", data, "--resolution", "32", *TINY, "--run", str(made / "run")]) == 0
    return made


@pytest.mark.parametrize(("kind", "name"), [("onnx", "model.onnx"), ("torch", "model.pt2")])
def test_export(folder, capsys, kind, name):
    assert main(["export", str(folder / "run"), "--to", kind]) == 0
    assert f"exported: {folder / 'run' / name}" in capsys.readouterr().out
    exported, model = iaenet.load_exported(folder / "run" / name, threads=1), iaenet.load(folder / "run")
    agrees(exported, model)


def agrees(exported, model):
    """On random points of a periodic line, at others."""
    rng = np.random.default_rng(0)
    for n in (5, 40, 700):
        x, y = rng.random((n, 1)), rng.random((33, 1))
        a = np.sin(2 * np.pi * x) + 0.3 * np.cos(6 * np.pi * x)
        where, at = (Discretization.points(z, periodic=True) for z in (x, y))
        wanted = model.predict(Field(where, torch.from_numpy(a).float()), at).values.numpy()
        assert np.linalg.norm(exported(x, a, y) - wanted) < 1e-5 * np.linalg.norm(wanted)


def test_what_is_no_run_is_refused(tmp_path, capsys):
    assert main(["export", str(tmp_path)]) == 2
    assert "is no training run" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, as it compiles
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # and at a break
@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("c++")), reason="needs a C++ compiler")
def test_a_compiled_training_through_every_command(folder, capsys, tmp_path):
    """It trains the network that one without `--compile` does, up to rounding, and its run is as any other."""
    from torch._dynamo.utils import counters

    counters.clear()
    data, run = str(folder / "burgers.h5"), str(tmp_path / "compiled")
    assert main(["train", "--compile", "--data", data, "--resolution", "32", *TINY, "--run", run]) == 0
    assert counters["stats"]["unique_graphs"] > 0
    plain, compiled = (iaenet.load(path) for path in (folder / "run", run))
    for (name, one), (_, other) in zip(plain.named_parameters(), compiled.named_parameters(), strict=True):
        assert torch.allclose(one, other, rtol=1e-2, atol=1e-3), name
    assert main(["evaluate", run]) == 0
    found = json.loads((tmp_path / "compiled" / "evaluation" / "evaluation.json").read_text())
    assert found
    output = tmp_path / "predicted.h5"
    assert main(["predict", run, "--input", data, "--output", str(output), "--at", "48"]) == 0
    assert "samples at 48 points" in capsys.readouterr().out
    assert output.is_file()
    for kind, name in (("torch", "model.pt2"), ("onnx", "model.onnx")):
        assert main(["export", run, "--to", kind]) == 0
        agrees(iaenet.load_exported(tmp_path / "compiled" / name, threads=1), compiled)

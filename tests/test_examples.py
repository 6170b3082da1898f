"""Examples are run, and what they show is asserted."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from examples import (
    custom_branch,
    demo,
    fine_tuning,
    function_to_vector,
    gaps,
    invariance,
    irregular_csv,
    mixed_resolutions,
    own_logger,
    own_loop,
    physics_informed,
    quickstart,
    uncertainty,
)

EXAMPLES = Path(__file__).parents[1] / "examples"
TINY = "--model.width 8 --model.blocks 1 --model.post 4"


def test_invariance(tmp_path, capsys):
    rows = invariance.main(tmp_path)
    assert max(rows["IAE-Net, uniform grids"][2:]) < 5e-4
    assert rows["IAE-Net, random sensors"][-1] < 1e-2
    assert min(rows["published form, uniform grids"][:-2]) > 1e-2
    assert (tmp_path / "invariance.png").stat().st_size > 10_000
    assert "picture" in capsys.readouterr().out


def test_quickstart(tmp_path, capsys):
    found = quickstart.main(tmp_path, samples=60, epochs=2)
    on_64, on_1000, sensors = found.values()
    assert on_64 < 1
    assert abs(on_1000 - on_64) < 0.05 * on_64
    assert abs(sensors - on_64) < 0.2 * on_64
    assert (tmp_path / "quickstart.png").stat().st_size > 10_000


def test_own_csv_files_to_predictions_in_two_commands(tmp_path, capsys):
    assert irregular_csv.main(tmp_path, samples=20, extra=f"--epochs 2 {TINY}") == 0
    with open(tmp_path / "predicted.csv") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["x", "after"]
    assert len(rows) == 1 + 201
    found = np.genfromtxt(tmp_path / "slopes.csv", delimiter=",", names=True)
    assert found.dtype.names == ("x", "after", "after_x", "after_laplacian")
    assert np.allclose(found["after"], [float(u) for _, u in rows[1:]], atol=1e-5)
    off = np.abs(np.gradient(found["after"], found["x"]) - found["after_x"])[1:-1]
    assert off.max() < 0.02 * np.ptp(found["after_x"])
    assert (tmp_path / "slopes.png").stat().st_size > 10_000
    assert "after_laplacian inside" in capsys.readouterr().out


def test_gaps_and_a_damaged_file(tmp_path, capsys):
    assert gaps.main(tmp_path, samples=12, extra=f"--epochs 1 {TINY}") == 0
    text = capsys.readouterr().out
    assert "12 samples" in text
    assert "broken.csv: row 2, column 'a': 'one' is not a number" in text
    with open(tmp_path / "map.csv") as file:
        rows = list(csv.reader(file))[1:]
    assert len(rows) == 48 * 48  # without gaps, although the input had some
    assert "" not in [cell for row in rows for cell in row]
    assert (tmp_path / "gaps.png").stat().st_size > 10_000
    assert (tmp_path / "map.png").stat().st_size > 10_000


def test_mixed_resolutions():
    found = mixed_resolutions.main(epochs=3)
    assert max(found.values()) < 0.5
    assert abs(found["grid of 1024"] - found["grid of 100"]) < 0.5 * found["grid of 100"]


def test_function_to_vector():
    assert function_to_vector.main(epochs=4) < 0.1  # guessing the mean is off by 0.1


def test_custom_branch():
    found = custom_branch.main(epochs=3)
    assert found[129] < 0.3
    assert abs(found[500] - found[129]) < 0.2 * found[129]


@pytest.mark.slow
def test_demo(tmp_path, capsys, monkeypatch):
    """The same commands on few samples; what the trained models promise is shown by `make demo`."""
    monkeypatch.setattr(demo, "RESOLUTIONS", (128, 256, 512))
    monkeypatch.setattr(demo, "PLAYED", ("iaenet",))
    monkeypatch.setitem(demo.MODELS, "iaenet", TINY)
    monkeypatch.setitem(demo.MODELS, "fno", "--model.width 8 --model.modes 4")
    found = demo.main(tmp_path, samples=24, length="--epochs 1")
    assert set(found["iaenet"]) == {"128", "256", "512", "256 random points"}
    assert set(found["deeponet"]) == {"256"}
    text = capsys.readouterr().out
    assert text.count("$ iaenet") == 1 + 2 * 4 + 2 + 1 + 1
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert (tmp_path / "resolution.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "playground.html").stat().st_size > 4_000_000


@pytest.mark.parametrize("script", sorted((EXAMPLES / "slurm").glob("*.sbatch")), ids=lambda script: script.name)
def test_slurm_scripts(script):
    """Their shell is well formed, and the commands of iaenet in them have options that there are."""
    checked = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    text = script.read_text().replace("\\\n", " ")
    assert text.startswith("#!/bin/bash\n")
    calls = re.findall(r"iaenet (train|predict) ([^;\n]*)", "\n".join(x for x in text.splitlines() if x[:1] != "#"))
    assert calls
    for command, options in calls:
        shown = subprocess.run(
            [sys.executable, "-m", "iaenet", command, "--help"], capture_output=True, text=True, check=True
        )
        for option in re.findall(r"--(\w+)", options):
            assert f"--{option} " in shown.stdout


def test_own_logger(tmp_path):
    rows = own_logger.main(tmp_path / "run", epochs=2)
    assert [row[1] for row in rows] == ["1", "2"]
    assert float(rows[1][2]) < float(rows[0][2])


def test_own_loop():
    assert own_loop.main(epochs=12) < 0.3


@pytest.mark.slow
def test_fine_tuning(tmp_path):
    found = fine_tuning.main(tmp_path, samples=100, epochs=6)
    assert found["fine-tuned"] < min(found["base"], found["20 samples alone"])


def test_physics_informed(tmp_path):
    """A few steps of it; that it beats the data alone takes longer."""
    found = physics_informed.main(tmp_path, steps=20)
    assert all(error < 2 for error in found.values())
    assert (tmp_path / "physics_informed.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_equation_beats_the_data_alone(tmp_path):
    found = physics_informed.main(tmp_path)
    assert found["20 samples and the equation"] < 0.7 * found["20 samples"]


@pytest.mark.slow
def test_uncertainty(tmp_path, capsys):
    uncertainty.main(tmp_path, tmp_path / "pictures", splits=(40, 60, 30), budget="3s cpu")
    assert len(list((tmp_path / "pictures").glob("*.png"))) == 4
    assert (tmp_path / "predicted.h5").is_file()
    assert capsys.readouterr().out.count("never seen by the calibration") >= 2 * 3

"""A run folder of version 0.1, made by it: one line says what can be done with it."""

import shutil
from pathlib import Path

import pytest

import iaenet
from iaenet.cli.main import main
from iaenet.errors import InvalidInputError

OLD = Path(__file__).parent / "files" / "run-of-0.1"


def test_a_run_of_0_1_names_the_version_that_can_load_it(capsys):
    with pytest.raises(InvalidInputError, match=r"run-of-0\.1: made by iaenet 0\.1, which can load it; train again"):
        iaenet.load(OLD)
    for command in (["evaluate"], ["certify"], ["train", "--resume"]):
        assert main([*command, str(OLD)]) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert "made by iaenet 0.1" in line


def test_a_run_of_0_1_can_be_shown(tmp_path):
    shutil.copytree(OLD, tmp_path / "run")
    assert main(["report", str(tmp_path / "run")]) == 0
    assert "fno" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_a_run_keeps_the_version_it_was_made_by():
    grid = iaenet.Discretization.uniform(16, periodic=True)
    pairs = [(iaenet.Field(grid, grid.points.float() + k), iaenet.Field(grid, grid.points.float())) for k in range(4)]
    model = iaenet.fit({"name": "fno", "width": 2, "modes": 2, "layers": 1}, pairs, epochs=1, threads=1)
    document = model.to_json()
    assert document["iaenet"] == iaenet.__version__
    later = {**document, "format": document["format"] + 1, "iaenet": "9.9"}
    with pytest.raises(InvalidInputError, match=r"made by iaenet 9\.9"):
        type(model).from_json(later)

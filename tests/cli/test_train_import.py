"""`iaenet train --import.NAME`: every option of `iaenet import`, on the command line and in YAML."""

import re

import numpy as np
import pytest
import yaml

from iaenet import load_dataset
from iaenet.cli.main import main
from tests.trainings import TINY

BRIEF = ["--epochs", "1", "--threads", "1"]
SMALL = [part for key, value in TINY.items() for part in (f"--model.{key}", str(value))]
NAMES = {"coordinates": "x", "inputs": "a", "outputs": "u"}
MORE = {"bounds": [[0, 10]], "units": {"u": "m/s"}, "periodic": False, "seed": None}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with files of samples."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    for i in range(12):
        x = np.linspace(0.5, 9.5, 16)
        table = np.stack([x, np.sin(x + i), np.cos(x + i)], axis=1)
        np.savetxt(tmp_path / "runs" / f"s{i}.csv", table, delimiter=",", header="x,a,u", comments="")
    return tmp_path


def check(file):
    data = load_dataset(file)
    assert data[0][0].discretization.bounds.tolist() == [[0, 10]]
    assert data.outputs[0].unit == "m/s"
    assert [data.entry(i).split for i in range(12)] == ["train"] * 10 + ["validation", "test"]


def test_on_the_command_line(here):
    names = [part for name, value in NAMES.items() for part in (f"--import.{name}", value)]
    more = ["--import.bounds", "[[0,10]]", "--import.units", "{u: m/s}", "--import.seed", "null"]
    assert main(["train", "--data", "runs", *names, *more, *SMALL, *BRIEF, "--run", "r"]) == 0
    check("r/data.h5")


def test_in_yaml(here):
    (here / "mine.yaml").write_text(yaml.safe_dump({"data": "runs", "run": "r", "import": NAMES | MORE}))
    assert main(["train", "--config", "mine.yaml", *SMALL, *BRIEF]) == 0
    check("r/data.h5")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": 3}, r"import\.bounds\W+must be pairs of numbers, one for each axis, as .*; got '?3"),
        ({"units": "m"}, r"import\.units\W+must be units by name, as \{u: m/s, p: Pa\}; got 'm'"),
        ({"boundz": 3}, r"no option --import\.boundz \(did you mean --import\.bounds\?\)"),
        ({"format": "cvs"}, r"no format 'cvs'; did you mean csv\?"),
        ({"window": 9}, "--window is no option of the format csv"),
    ],
)
@pytest.mark.parametrize("yaml_file", [False, True])
def test_a_mistake_is_one_short_line(here, capsys, options, message, yaml_file):
    if yaml_file:
        (here / "mine.yaml").write_text(yaml.safe_dump({"data": "runs", "import": options}))
        arguments = ["--config", "mine.yaml"]
    else:
        arguments = ["--data", "runs", *(str(each) for name, v in options.items() for each in (f"--import.{name}", v))]
    assert main(["train", *arguments, "--run", "r"]) == 2
    error = capsys.readouterr().err
    assert re.search(message, error)
    assert error.count("\n") == 1
    assert len(error) < 220
    assert not (here / "r").exists()


def test_import_is_no_option_by_itself(here, capsys):
    (here / "mine.yaml").write_text("data: runs\nimport: csv\n")
    assert main(["train", "--config", "mine.yaml"]) == 2
    assert "import has options of its own, as --import.coordinates" in capsys.readouterr().err

"""Never over what was read, never over a file of another kind, complete or not at all."""

import os
import shutil

import pytest

from iaenet.cli.main import main
from iaenet.data.atomic import kind_of, replacing
from iaenet.errors import InvalidInputError
from tests.attacks.base import contents, mistake, write_csv

IMPORT = ("--coordinates", "x", "--inputs", "a", "--outputs", "u")
OVER_WHAT_WAS_READ = [
    ("inspect", "waves.h5", "--picture", "waves.h5"),
    ("inspect", "waves.h5", "--picture", "link.h5"),
    ("inspect", "waves.h5", "--picture", "run/config.yaml"),
    ("inspect", "waves.h5", "--picture", "csv/s0.csv"),
    ("predict", "run", "--input", "waves.h5", "--output", "waves.h5"),
    ("predict", "run", "--input", "waves.h5", "--output", "link.h5"),
    ("predict", "run", "--input", "waves.h5", "--output", "out.h5", "--picture", "waves.h5"),
    ("predict", "run", "--input", "waves.h5", "--output", "run/data.h5"),
    ("predict", "run", "--input", "csv", "--coordinates", "x", "--output", "csv/new"),
    ("predict", "run", "--input", "csv/s0.csv", "--coordinates", "x", "--at", "csv/s1.csv", "--output", "csv/s1.csv"),
    ("report", "run", "--out", "waves.h5"),
    ("report", "run", "--out", "run/metrics.json"),
    ("report", "run", "--out", "run/config.yaml"),
    ("report", "run", "--out", "run/curves.png"),
    ("import", "csv", "csv", *IMPORT, "--out", "csv/s0.csv"),
    ("import", "csv", "csv", *IMPORT, "--out", "run/metrics.json"),
    ("import", "csv", "csv", *IMPORT, "--out", "other.h5"),
    ("generate", "burgers", "--samples", "2", "--resolutions", "16", "--out", "other.h5"),
    ("generate", "burgers", "--samples", "2", "--resolutions", "16", "--out", "new.h5"),
]


@pytest.mark.parametrize(
    "arguments", OVER_WHAT_WAS_READ, ids=lambda arguments: " ".join(arguments[:1] + arguments[-2:])
)
def test_nothing_that_is_there_is_lost(arguments, here, capsys):
    import h5py

    os.link("waves.h5", "link.h5")
    shutil.copy("waves.h5", "run/data.h5")
    with h5py.File("other.h5", "w") as file:  # measurements of somebody's
        file["measured"] = [1.0, 2.0]
    (here / "new.h5.partial").write_text("notes of mine")
    before = contents(here)
    mistake(capsys, *arguments)
    after = contents(here)
    assert {name: after.get(name) for name in before} == before


@pytest.mark.parametrize("target", ["/dev/null", "pipe"])
def test_devices_and_pipes_are_no_files(target, here, capsys):
    os.mkfifo("pipe")
    assert "no regular file" in mistake(capsys, "inspect", "waves.h5", "--picture", target)
    assert not os.path.isfile(target)


def test_the_same_kind_is_replaced(here, capsys):
    for _ in range(2):
        assert main(["inspect", "waves.h5", "--picture", "some.png", "--statistics", "false"]) == 0
        assert main(["import", "csv", "csv", *IMPORT, "--out", "mine.h5"]) == 0
        assert main(["report", "run"]) == 0
        capsys.readouterr()
    assert kind_of("some.png") == "a PNG picture"
    assert kind_of("mine.h5") == "a data file of iaenet"
    assert kind_of("run/report.html") == "a page"


def test_the_rule_holds_for_every_writer(tmp_path):
    target = tmp_path / "notes.txt"
    target.write_text("words")
    with (
        pytest.raises(InvalidInputError, match="is text, and is not replaced by a binary file"),
        replacing(target) as new,
    ):
        new.write_bytes(b"\0\1")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert target.read_text() == "words"


def test_the_data_of_a_run_stay_when_its_files_have_changed(here, capsys):
    train = ["train", "--data", "csv", *(f"--import.{word[2:]}" if word[:2] == "--" else word for word in IMPORT)]
    train += ["--import.train", "4", "--import.validation", "1", "--import.test", "1"]
    train += ["--model.name", "fno", "--model.width", "4", "--model.modes", "3", "--epochs", "1", "--run", "mine"]
    assert main(train) == 0
    assert main(train) == 0  # nothing has changed
    before = contents(here / "mine")
    write_csv(here / "csv", seed=1)
    assert "no longer what mine is trained on" in mistake(capsys, *train)
    assert contents(here / "mine") == before
    assert main(["train", "--resume", "mine"]) == 0

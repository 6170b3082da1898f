"""Help and mistakes in a path cost nothing: PyTorch is imported only when there is something to do."""

import json
import os
import subprocess
import sys

import pytest

CODE = """
import contextlib, io, json, sys
from iaenet.cli.main import main
for arguments in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try: code = main(arguments)
        except SystemExit as end: code = end.code
    heavy = sorted({"torch", "numpy", "scipy", "matplotlib", "h5py", "skfem", "accelerate"} & set(sys.modules))
    print(json.dumps([code, said.getvalue(), heavy]))
"""
HELP = [["import", "--help"], ["predict", "--help"], ["train", "--help"], ["generate", "--help"], ["inspect", "--help"]]
SIZE = ["--samples", "2", "--resolutions", "4"]
READ = ["--inputs", "a", "--outputs", "u"]
WRONG = [
    (["generate", "burgers", *SIZE, "--out", "no/where.h5"], "there is no folder no; make it first"),
    (["generate", "burgers", "--config", "none.yaml"], "none.yaml: no such file"),
    (["inspect", "none.h5"], "none.h5: no such file"),
    (["inspect", "here", "--picture", "no/where.png"], "there is no folder no; make it first"),
    (["import", "npz", "none.npz", *READ, "--out", "a.h5"], "none.npz: no such file"),
    (["import", "npz", "here", *READ, "--out", "no/where.h5"], "there is no folder no; make it first"),
    (["train", "--data", "none.h5"], "none.h5: no such file"),
    (["train", "--config", "none.yaml"], "none.yaml"),
    (["train", "--resume", "none"], "none is no training run"),
    (["predict", "none", "--input", "here", "--output", "u.csv"], "none is no training run"),
    (["predict", "here", "--input", "none.csv", "--output", "u.csv"], "none.csv: no such file"),
    (["predict", "here", "--input", "here", "--output", "no/u.csv"], "there is no folder no; make it first"),
    (["predict", "here", "--input", "here", "--output", "u.csv", "--at", "none.csv"], "none.csv: no such file"),
]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Exit code, words and heavy modules of each command, one after the other in one process."""
    folder = tmp_path_factory.mktemp("early")
    (folder / "here" / "checkpoints").mkdir(parents=True)
    lines = json.dumps([*HELP, *(arguments for arguments, _ in WRONG)])
    done = subprocess.run(
        [sys.executable, "-c", CODE, lines],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    assert os.listdir(folder) == ["here"]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("i", range(len(HELP)), ids=[" ".join(arguments) for arguments in HELP])
def test_help_imports_nothing_heavy(outcomes, i):
    code, said, heavy = outcomes[i]
    assert (code, heavy) == (0, [])
    assert "usage: iaenet" in said


@pytest.mark.parametrize("i", range(len(WRONG)), ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_a_wrong_path_is_told_before_anything_heavy_is_imported(outcomes, i):
    code, said, heavy = outcomes[len(HELP) + i]
    assert (code, heavy) == (2, [])
    assert said.startswith("iaenet: error: ")
    assert said.count("\n") == 1
    assert WRONG[i][1] in said

"""A small trained run and its data, and commands called as a shell would."""

import shutil
from pathlib import Path

import numpy as np

from iaenet import fit, write_dataset
from iaenet.cli.main import main
from iaenet.data.problems.problem import Channel
from tests.trainings import waves

MODEL = {"name": "fno", "width": 4, "modes": 3, "layers": 1}


def make_base(folder: Path) -> Path:
    """waves.h5, a run trained on it, a folder of CSV files."""
    splits = ["train"] * 12 + ["validation"] * 4 + ["test"] * 4
    write_dataset(folder / "waves.h5", waves(20), inputs=[Channel("a")], outputs=[Channel("u")], splits=splits)
    fit(MODEL, folder / "waves.h5", folder / "run", epochs=2, batch_size=4, threads=1)
    write_csv(folder / "csv")
    return folder


def write_csv(folder: Path, count: int = 6, seed: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(seed)
    for i in range(count):
        rows = "".join(f"{x},{np.sin(6 * x + i)},{np.cos(6 * x + i)}\n" for x in rng.random(16))
        (folder / f"s{i}.csv").write_text(f"x,a,u\n{rows}")


def copy_base(base: Path, to: Path) -> Path:
    shutil.copytree(base, to, dirs_exist_ok=True)
    return to


def mistake(capsys, *arguments: object) -> str:
    """What a command says that must refuse: one line, exit code 2."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert code == 2, (code, out, err)
    assert err.startswith("iaenet: error: "), err
    assert err.count("\n") == 1, err
    return err


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by name."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

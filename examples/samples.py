"""Boundary values, a source and a number -> a solution, from folders of CSV files, and what each of them is worth.

Samples of `-Lap u + kappa u = f` in a square, `u = g` on its boundary, as a user might have them: each function in a
folder of CSV files, on points that are new for each sample, and kappa in a table. One YAML file trains a network on all
three inputs; then each is left out in turn.

    python examples/samples.py --folder samples --samples 300 --budget "20s cpu"
"""

import argparse
import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from iaenet.cli.main import main as iaenet_command
from iaenet.data.problems.screened_poisson import ScreenedPoisson

INPUTS = {"boundary": "g", "source": "f"}
LEFT_OUT = ("boundary", "source", "kappa")


def write_folders(folder: Path, samples: int, size: int, seed: int = 0) -> None:
    """`boundary/0000.csv`, `source/0000.csv`, `output/0000.csv` ... and `scalars.csv`."""
    numbers = [["sample", "kappa"]]
    for i in range(samples):
        pair = ScreenedPoisson().record(np.random.default_rng([seed, i]), [size])[0][size]
        (g, edge), (f, grid), (kappa, _), (u, at) = pair.parts
        for name, column, points, values in (
            ("boundary", "g", edge, g),
            ("source", "f", grid, f),
            ("output", "u", at, u),
        ):
            rows = np.concatenate([points.points.numpy(), values], axis=1)
            rows = np.random.default_rng(i).permutation(rows)  # the order of points means nothing
            write_csv(folder / name / f"{i:04}.csv", ["x", "y", column], rows.tolist())
        numbers.append([f"{i:04}", float(kappa[0, 0])])
    write_csv(folder / "scalars.csv", numbers[0], numbers[1:])


def write_csv(path: Path, header: list, rows: list) -> None:
    """A table with named columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def train(folder: Path, left_out: str, **options: Any) -> float:
    """Train by a YAML file, without one of the inputs if asked to; the error on the test samples."""
    run = folder / f"run-without-{left_out}" if left_out else folder / "run"
    reading = {
        "inputs": {name: column for name, column in INPUTS.items() if name != left_out},
        "scalars": "kappa",
        "outputs": "u",
        "coordinates": "x,y",
        "bounds": [[0, 1], [0, 1]],
    }
    if left_out == "kappa":
        reading.pop("scalars")
    network = {"name": "iaenet", "grid": 16}  # enough for four sines, and quicker than the default's 28
    config = {"data": str(folder), "run": str(run), "threads": 1, "import": reading, "model": network, **options}
    path = folder / f"{run.name}.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    for command in (["train", "--config", str(path)], ["evaluate", str(run)]):
        if iaenet_command(command):
            raise SystemExit(f"{' '.join(command)} failed")
    rows = json.loads((run / "evaluation" / "evaluation.json").read_text())["rows"]
    return float(rows[0]["relative_l2"]["mean"])


def main(
    folder: Path, samples: int = 300, size: int = 16, left_out: Sequence[str] = LEFT_OUT, **options: Any
) -> dict[str, float]:
    """The error with all inputs, and with each left out; options are those of `iaenet train`."""
    write_folders(folder, samples, size)
    options = options or {"budget": "20s cpu"}
    errors = {name or "nothing": train(folder, name, **options) for name in ["", *left_out]}
    print("relative L2 error on test samples, by what was left out")
    for name, error in errors.items():
        print(f"{name:<10} {error:.3g}")
    return errors


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("samples"))
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--size", type=int, default=16, help="points along a side of the source")
    parser.add_argument("--budget", default="20s cpu", help="for each training")
    chosen = parser.parse_args()
    main(chosen.folder, chosen.samples, chosen.size, budget=chosen.budget)

"""Bands around predictions: train two models shortly, calibrate, and draw what the bands hold.

Burgers' equation on a line and Darcy's flow in a square, calibrated on one grid, measured on others and on random
points. docs/uncertainty.md explains the pictures.
"""

import argparse
import shlex
import shutil
from pathlib import Path

from iaenet.cli.main import main as iaenet

PROBLEMS = {
    "burgers": ("--viscosity 0.01", "64,128,256,512", 128),
    "darcy": ("--fine 85", "29,43,85", 43),
}


def main(folder: Path, pictures: Path, splits: tuple[int, int, int] = (300, 400, 200), budget: str = "20s cpu") -> None:
    """Run the commands, and copy their pictures."""
    pictures.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    counts = ",".join(map(str, splits))
    for name, (options, resolutions, training) in PROBLEMS.items():
        data, run_folder = folder / f"{name}.h5", folder / name
        run(
            f"generate {name} {options} --samples {sum(splits)} --splits {counts} --resolutions {resolutions} "
            f"--out {data}"
        )
        run(f"train --data {data} --resolution {training} --budget '{budget}' --threads 1 --run {run_folder}")
        run(f"calibrate {run_folder}")
        for picture in ("coverage", "bands"):
            shutil.copy(run_folder / "calibration" / f"{picture}.png", pictures / f"{picture}_{name}.png")
    run(
        f"predict {folder}/burgers --input {folder}/burgers.h5 --split test --resolution 64 --band 0.9 "
        f"--output {folder}/predicted.h5 --picture {folder}/predicted.png"
    )


def run(command: str) -> None:
    """One command, shown as it would be typed."""
    print(f"\n$ iaenet {command}", flush=True)
    if iaenet(shlex.split(command)):
        raise SystemExit(1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/uncertainty"), help="data and runs")
    parser.add_argument(
        "--pictures", type=Path, default=Path("build/uncertainty/pictures"), help="folder for the pictures"
    )
    given = parser.parse_args()
    main(given.folder, given.pictures)

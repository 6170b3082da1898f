"""Bands at 90 %: measured coverage on the calibration's points, on other resolutions, and on random points.

    python -m benchmarks.bands                                  all problems, one model each
    python -m benchmarks.bands --problems darcy --members 4     an ensemble
    python -m benchmarks.bands --out build/bands.json

    burgers        1-D, viscosity 0.01: trained and calibrated on 256 points
    darcy          2-D, two-phase medium: trained and calibrated on 43 x 43 points
    laplace-ring   ring domains, a mesh of its own for each sample, boundary values in: trained and calibrated on about
                   600 nodes, 120 of them on the boundary

A model is trained for some CPU seconds of one thread, calibrated on samples that it was neither trained nor validated
on, at the training resolution, and its bands are measured on test samples. Coverage is the share of the domain, by its
measure, where the truth lies in the band, the mean over samples; `+-` its standard error over test samples. Widths are
||half-width|| / ||truth||.
"""

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import torch

from iaenet import fit, load_dataset
from iaenet.data.generate import generate
from iaenet.data.problems import PROBLEMS
from iaenet.evaluation.calibration import calibrate
from iaenet.evaluation.coverage import Coverage, coverage


class Case(NamedTuple):
    """A problem with its options, its resolutions, the one to train on, and random points of the finest one."""

    options: dict[str, Any]
    resolutions: tuple[int, ...]
    training: int
    random: int
    samples: tuple[int, int, int]  # training, calibration, test


VALIDATION = 60  # samples that choose the best epoch; all others of their split are for the calibration
CASES = {
    "burgers": Case({"viscosity": 0.01}, (64, 128, 256, 512, 1024), 256, 256, (500, 1000, 1000)),
    "darcy": Case({"fine": 85}, (29, 43, 85), 43, 1849, (500, 1000, 1000)),
    "laplace-ring": Case({}, (300, 600, 1200), 600, 110, (400, 600, 600)),
}


def measure(name: str, folder: Path, seconds: int, members: int, level: float, kind: Any, seed: int) -> Coverage:
    case = CASES[name]
    folder = folder / f"seed-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.h5"
    generate(PROBLEMS[name](**case.options), path, sum(case.samples), case.resolutions, seed=seed, splits=case.samples)
    data = load_dataset(path)
    held = data.select(split="validation", resolution=case.training)
    model = fit(
        "iaenet",
        data,
        folder / f"{name}-{seconds}-{members}",
        resolution=case.training,
        validation=held.subset(range(VALIDATION)),
        budget=f"{seconds}s cpu",
        members=members,
        threads=1,
    )
    calibration = calibrate(model, held.subset(range(VALIDATION, len(held))))
    return coverage(model, calibration, data.select(split="test"), level=level, kind=kind, random_points=case.random)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=",".join(CASES), help="some of these, with commas between them")
    parser.add_argument("--seconds", type=int, default=45, help="CPU seconds of training for each member (default 45)")
    parser.add_argument("--members", type=int, default=1)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--kind", choices=("points", "function"), default="points")
    parser.add_argument("--work", type=Path, default=Path(__file__).resolve().parents[1] / "build" / "bands")
    parser.add_argument("--data_seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    given = parser.parse_args()
    torch.set_num_threads(1)
    found = {}
    for name in given.problems.split(","):
        result = measure(name, given.work, given.seconds, given.members, given.level, given.kind, given.data_seed)
        print(f"\n{name}\n{result.table()}", flush=True)
        found[name] = json.loads(result.to_json())
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

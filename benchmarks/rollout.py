"""Roll-outs of models that were trained for equally long: error after each step, on a grid and on random points.

    python -m benchmarks.rollout --problem flow
    python -m benchmarks.rollout --problem chaos --models iaenet,fno --seconds 150 --seeds 0,1 --out chaos.json
    python -m benchmarks.rollout --problem chaos --data_seed 3
    python -m benchmarks.rollout --problem chaos --results chaos.json other.json --picture chaos.png
    python -m benchmarks.rollout --problem chaos --points 64,128,192,256
    python -m benchmarks.rollout --problem flow --training '{"augment": {"noise": 0.01}}' --picture flow.png

Problems:

    flow    navier-stokes: vorticity in a periodic square, 48 x 48 points, a step of 0.1, 50 steps
    chaos   kuramoto-sivashinsky: waves on a periodic line of length 64, 128 points, a step of 0.5, 50 steps

Models: those of the package, and `fno-change`, FNO that learns the change (`linear_start: identity`), as IAE-Net does.
Each model gets the same CPU seconds of one thread, building it, validation and the choice of the network included, and
the training options of the package; it then starts from the first states of trajectories that it has not seen. Figures
are mean relative L2 errors after each tenth step, for each seed of the training. `--data_seed` draws other
trajectories, for training, validation and test.

`apart` is how far roll-outs on random points, half of those of a finer grid, are from those on the finer grid, at these
points and relative to them, mean over test trajectories. `--points` trains nothing: how far states on the latent grid
are from each other, projected from so many random points and from the finer grid. A roll-out on points cannot be nearer
to that on the grid.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from iaenet import fit, load_dataset
from iaenet.data.dataset import Dataset
from iaenet.data.generate import generate
from iaenet.data.problems.kuramoto_sivashinsky import KuramotoSivashinsky
from iaenet.data.problems.navier_stokes import NavierStokes
from iaenet.data.problems.problem import Problem
from iaenet.data.text_columns import aligned
from iaenet.evaluation.rollout_errors import RolloutErrors, evaluate_rollout
from iaenet.functions.latent_grid import LatentGrid
from iaenet.functions.metrics import relative_l2
from iaenet.functions.resample import random_indices, restrict, subset
from iaenet.functions.seeds import stream
from iaenet.models.operator import Operator
from iaenet.reports.plots import save
from iaenet.reports.result_plots import draw_rollout
from iaenet.training.config import TrainConfig
from iaenet.training.run_folder import RunFolder

CACHE = Path(__file__).resolve().parents[1] / "build" / "rollout"
STEPS = 50
# Problem, resolution of the training, a finer one, and trajectories for training, validation and test.
PROBLEMS: dict[str, tuple[Problem, tuple[int, int], tuple[int, int, int]]] = {
    "flow": (NavierStokes(time_step=0.1, steps=STEPS, start=1.0), (48, 96), (10, 2, 12)),
    "chaos": (KuramotoSivashinsky(time_step=0.5, steps=STEPS), (128, 512), (40, 4, 12)),
}


SHORT = {"fno-change": {"name": "fno", "linear_start": "identity"}}


def data(name: str, seed: int) -> Path:
    """The data file of a problem; it is made if it is not there."""
    problem, resolutions, trajectories = PROBLEMS[name]
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"{name}-{'-'.join(map(str, trajectories))}-{seed}.h5"
    splits = [STEPS * count for count in trajectories]
    generate(problem, path, sum(splits), resolutions, seed=seed, splits=splits)
    return path


def trained(path: Path, resolution: int, model: dict[str, Any], config: TrainConfig) -> tuple[Operator, dict[str, Any]]:
    """A model, and its best epoch by the validation, with the network that was chosen."""
    with tempfile.TemporaryDirectory() as run:
        operator = fit(model, path, run, resolution=resolution, config=config)
        folder = RunFolder(run)
        metrics, choice = folder.read_json("metrics.json") or {}, folder.read_json("choice.json") or {}
    return operator, {**metrics["best"], "chosen": choice.get("chosen"), "lr": choice.get("lr")}


def apart(operator: Operator, test: Dataset, steps: int = STEPS) -> list[float]:
    """`||u_points - u_grid|| / ||u_grid||` after each step, at half of the points of the finer grid."""
    starts = [test[chain[0]][0] for chain in test.trajectories]
    at = starts[0].discretization
    indices = random_indices(at, at.n // 2, stream(0, "rollout"))
    points = subset(at, indices)
    scattered = operator.rollout([restrict(start, indices, points) for start in starts], steps)
    found = []
    for some, whole in zip(scattered, operator.rollout(starts, steps), strict=True):
        pairs = zip(some, (restrict(state, indices, points) for state in whole), strict=True)
        found.append(float(np.mean([float(relative_l2(one, other)) for one, other in pairs])))
    return found


def projected(name: str, path: Path, counts: list[int], states: int = 10) -> list[tuple[str, ...]]:
    """A row for each number of random points: median and largest `||E u_points - E u_grid|| / ||E u_grid||`."""
    coarse, fine = PROBLEMS[name][1]
    dataset = load_dataset(path, split="test", resolution=fine)
    first = dataset[0][0].discretization
    latent = LatentGrid([coarse] * first.dim, first.periodic)
    rows = [("random points", "median", "largest")]
    for count in counts:
        found = []
        for i in range(states):
            state = dataset[i * len(dataset) // states][0]
            indices = random_indices(first, count, stream(i, "rollout"))
            some = restrict(state, indices, subset(first, indices))
            a, b = (latent.encode(one.discretization, one.values[None]) for one in (state, some))
            found.append(float((a - b).norm() / a.norm()))
        rows.append((str(count), f"{np.median(found):.1e}", f"{max(found):.1e}"))
    return rows


def draw(found: Sequence[dict[str, Any]], picture: Path) -> None:
    """Error curves of each model, of its first seed."""
    curves: dict[str, RolloutErrors] = {}
    for one in found:
        known = one["on"], one["resolution"], one["time_step"], one["errors"], one["standing_still"]
        curves.setdefault(called(one["model"]), RolloutErrors(*known))
    save(draw_rollout(curves), picture)


def called(model: dict[str, Any]) -> str:
    """The name of a model in tables and pictures."""
    return next((name for name, meant in SHORT.items() if meant == model), str(model["name"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", choices=list(PROBLEMS), required=True)
    parser.add_argument(
        "--models", default="iaenet,fno,fno-change", help='names with commas, or a JSON list of {"name": ...}'
    )
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--data_seed", type=int, default=0)
    parser.add_argument("--training", type=json.loads, default={}, help="options of the training, as JSON")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--results", type=Path, nargs="+", help="files of --out to draw: nothing is trained")
    parser.add_argument("--points", help="numbers of random points, with commas: what the projection loses")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.results:
        draw([one for file in given.results for one in json.loads(file.read_text())], given.picture)
        return
    path, (coarse, fine) = data(given.problem, given.data_seed), PROBLEMS[given.problem][1]
    if given.points:
        print("\n".join(aligned(projected(given.problem, path, [int(count) for count in given.points.split(",")]))))
        return
    listed = given.models.startswith("[")
    models = json.loads(given.models) if listed else [SHORT.get(n, {"name": n}) for n in given.models.split(",")]
    shown = sorted({1, *range(10, STEPS + 1, 10)})
    lines, found = [("model", "seed", "validation", *(f"step {k}" for k in shown))], []
    test = load_dataset(path, split="test")
    for model in models:
        for seed in map(int, given.seeds.split(",")):
            config = TrainConfig(budget=f"{given.seconds}s cpu", seed=seed, threads=1).but(**given.training)
            operator, best = trained(path, coarse, dict(model), config)
            row: RolloutErrors = evaluate_rollout(operator, test, resolutions=[coarse])[0]
            figures = f"{best['validation']:.3g}", *(f"{row.mean[k - 1]:.3g}" for k in shown)
            lines.append((called(model), str(seed), *figures))
            entry = {"model": model, "seed": seed, "best": best, **row.to_json(), "errors": row.errors}
            print("  ".join(lines[-1]), flush=True)
            if model["name"].startswith("iaenet"):
                entry["apart"] = apart(operator, test.select(resolution=fine))
                lines.append(("  apart", str(seed), "", *(f"{entry['apart'][k - 1]:.2g}" for k in shown)))
            found.append(entry)
    lines.append(("standing still", "", "", *(f"{row.still[k - 1]:.3g}" for k in shown)))
    print("\n".join(aligned(lines)))
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")
    if given.picture:
        draw(found, given.picture)


if __name__ == "__main__":
    main()

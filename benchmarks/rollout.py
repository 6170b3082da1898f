"""Roll-outs of models that were trained for equally long: error after each step, on a grid and on random points.

    python -m benchmarks.rollout --problem flow
    python -m benchmarks.rollout --problem chaos --models iaenet,fno --seconds 150 --seeds 0,1 --out chaos.json
    python -m benchmarks.rollout --problem chaos --points 64,128,192,256
    python -m benchmarks.rollout --problem flow --training '{"augment": {"noise": 0.01}}' --picture flow.png

Problems:

    flow    navier-stokes: vorticity in a periodic square, 48 x 48 points, a step of 0.1, 50 steps
    chaos   kuramoto-sivashinsky: waves on a periodic line of length 64, 128 points, a step of 0.5, 50 steps

Each model gets the same CPU seconds of one thread, building it and validation included, and the training options of the
package; it then starts from the first states of trajectories that it has not seen. Figures are mean relative L2
errors after each tenth step, for each seed of the training.
`apart` is how far a roll-out on random points, half of those of a finer grid, is from that on the finer grid, at these
points and relative to it. `--points` trains nothing: how far states on the latent grid are from each other, projected
from so many random points and from the finer grid. A roll-out on points cannot be nearer to that on the grid.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from iaenet import fit, load_dataset
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

CACHE = Path(__file__).resolve().parents[1] / "build" / "rollout"
STEPS = 50
# Problem, resolution of the training, a finer one, and trajectories for training, validation and test.
PROBLEMS: dict[str, tuple[Problem, tuple[int, int], tuple[int, int, int]]] = {
    "flow": (NavierStokes(time_step=0.1, steps=STEPS, start=1.0), (48, 96), (10, 1, 3)),
    "chaos": (KuramotoSivashinsky(time_step=0.5, steps=STEPS), (128, 512), (40, 4, 12)),
}


def data(name: str) -> Path:
    """The data file of a problem; it is made if it is not there."""
    problem, resolutions, trajectories = PROBLEMS[name]
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"{name}.h5"
    splits = [STEPS * count for count in trajectories]
    generate(problem, path, sum(splits), resolutions, splits=splits)
    return path


def trained(name: str, model: dict[str, Any], seconds: float, seed: int, training: dict[str, Any]) -> Operator:
    """A model after so many CPU seconds."""
    config = TrainConfig(budget=f"{seconds}s cpu", seed=seed, threads=1).but(**training)
    return fit(model, data(name), resolution=PROBLEMS[name][1][0], config=config)


def apart(operator: Operator, name: str, steps: int = STEPS) -> list[float]:
    """`||u_points - u_grid|| / ||u_grid||` after each step, at half of the points of the finer grid."""
    dataset = load_dataset(data(name), split="test", resolution=PROBLEMS[name][1][1])
    start = dataset[dataset.trajectories[0][0]][0]
    indices = random_indices(start.discretization, start.discretization.n // 2, stream(0, "rollout"))
    points = subset(start.discretization, indices)
    grid = [restrict(state, indices, points) for state in operator.rollout(start, steps)]
    scattered = operator.rollout(restrict(start, indices, points), steps)
    return [float(relative_l2(some, all_)) for some, all_ in zip(scattered, grid, strict=True)]


def projected(name: str, counts: list[int], states: int = 10) -> list[tuple[str, ...]]:
    """A row for each number of random points: median and largest `||E u_points - E u_grid|| / ||E u_grid||`."""
    coarse, fine = PROBLEMS[name][1]
    dataset = load_dataset(data(name), split="test", resolution=fine)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", choices=list(PROBLEMS), required=True)
    parser.add_argument("--models", default="iaenet,fno", help='names with commas, or a JSON list of {"name": ...}')
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--training", type=json.loads, default={}, help="options of the training, as JSON")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--points", help="numbers of random points, with commas: what the projection loses")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.points:
        print("\n".join(aligned(projected(given.problem, [int(count) for count in given.points.split(",")]))))
        return
    models = (
        json.loads(given.models) if given.models.startswith("[") else [{"name": n} for n in given.models.split(",")]
    )
    shown = sorted({1, *range(10, STEPS + 1, 10)})
    lines, found, curves = [("model", "seed", *(f"step {k}" for k in shown))], [], {}
    test = load_dataset(data(given.problem), split="test", resolution=PROBLEMS[given.problem][1][0])
    for model in models:
        for seed in map(int, given.seeds.split(",")):
            operator = trained(given.problem, dict(model), given.seconds, seed, given.training)
            row: RolloutErrors = evaluate_rollout(operator, test)[0]
            curves.setdefault(model["name"], row)
            lines.append((model["name"], str(seed), *(f"{row.mean[k - 1]:.3g}" for k in shown)))
            entry = {"model": model, "seed": seed, **row.to_json()}
            print("  ".join(lines[-1]), flush=True)
            if model["name"].startswith("iaenet"):
                entry["apart"] = apart(operator, given.problem)
                lines.append(("  apart", str(seed), *(f"{entry['apart'][k - 1]:.2g}" for k in shown)))
            found.append(entry)
    print("\n".join(aligned(lines)))
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")
    if given.picture:
        save(draw_rollout(curves), given.picture)


if __name__ == "__main__":
    main()

"""Functions on points or meshes of their own, learned in a given time: what each model reaches on one CPU thread.

    python -m benchmarks.irregular --problem darcy --models iaenet,transolver
    python -m benchmarks.irregular --problem plate --models 'iaenet:{"preset": "base"}' --seconds 300 --out plate.json
    python -m benchmarks.irregular --problem cube --package ../other/src src      two versions of iaenet

Every sample has its own points. Problems:

    darcy   -div(a grad u) = 1 in the square, two-phase a -> u, at 800 random points
    plate   a square plate with an elliptic hole, pulled to the right: its domain -> von Mises stress, at the nodes of a
            triangle mesh of about 900 nodes, denser near the hole; the input is the function 1
    cube    source s -> u = v exp(s / 2), v - Lap v / 25 = s without flux through the walls, at 2000 random points

A test sample is the same function on its own points, on others of the same number, on twice and on half as many, input
and output alike. Figures are mean relative L2 errors; points of a mesh count by the area around them, random points all
the same, whatever weights the package gives them.

All that follows the raw arrays counts as time: discretizations, integration rules, building and training the network.
Three short trainings come first and are not counted: the first meets points that it has never seen, the second and
third show what an epoch takes. Seconds are CPU seconds of one thread. Each model runs in a process of its own.
"""

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

# iaenet and PyTorch are imported in the functions that need them, after `--package` has said which iaenet.

Array = NDArray[np.float64]
BATCH = 4
CACHE = Path(__file__).resolve().parents[1] / "build" / "irregular"
TESTS = {"own": 1.0, "other": 1.0, "twice": 2.0, "half": 0.5}  # points of a test sample, as a share of the training's


class Sample(NamedTuple):
    """A pair of functions on the same points; `cells` are the triangles of a mesh, none for point sets."""

    points: Array  # (n, d)
    cells: NDArray[np.int64]  # (e, 3)
    input: Array  # (n, c)
    output: Array  # (n, c')


NO_CELLS = np.zeros((0, 3), dtype=np.int64)

# ---------------------------------------------------------------------- darcy


def darcy(rng: np.random.Generator, sizes: Sequence[int]) -> list[Sample]:
    """The coefficient of the nearest cell of the fine grid, and a cubic spline through the solution there."""
    from iaenet.data.problems.darcy import Darcy

    problem = Darcy()
    fine, margin = problem.fine, 12
    pair = problem.record(rng, [fine])[0][fine]
    a, u = (values.reshape(fine, fine) for values in (pair.input, pair.output))
    for axis in (
        0,
        1,
    ):  # u vanishes at the walls, half a cell beyond the outermost centres: continued as an odd function
        u = np.moveaxis(u, axis, 0)
        u = np.moveaxis(np.concatenate([-u[margin - 1 :: -1], u, -u[: -margin - 1 : -1]]), 0, axis)
    made = []
    for n in sizes:
        x = rng.random((n, 2))
        i, j = np.minimum((x * fine).astype(np.int64), fine - 1).T
        pressure = map_coordinates(u, (x * fine - 0.5 + margin).T, order=3)
        made.append(Sample(x, NO_CELLS, a[i, j][:, None], pressure[:, None]))
    return made


# ---------------------------------------------------------------------- plate


def plate(rng: np.random.Generator, sizes: Sequence[int]) -> list[Sample]:
    """One plate on meshes of so many vertices; the stress on each is that of one fine solution."""
    from iaenet.data.problems.plate import NEAR, REFERENCE_NEAR, Plate, VonMises

    problem = Plate()
    region = problem.draw(rng)
    stress = VonMises(region.mesh(problem.vertices, REFERENCE_NEAR, rng))
    meshes = [region.mesh(n, NEAR, rng) for n in sizes]
    return [
        Sample(mesh.points, mesh.cells, np.ones((len(mesh.points), 1)), stress(mesh.points)[:, None]) for mesh in meshes
    ]


# ---------------------------------------------------------------------- cube

MODES, SCREEN = 6, 25.0  # cosines along each axis; v - Lap v / SCREEN = s


def cube(rng: np.random.Generator, sizes: Sequence[int]) -> list[Sample]:
    """`s = sum_k c_k cos(pi k_1 x_1) cos(pi k_2 x_2) cos(pi k_3 x_3)`, v and u from it, exact at any points."""
    k = np.stack(np.meshgrid(*[np.arange(MODES)] * 3, indexing="ij"), axis=-1)
    square = (k**2).sum(axis=-1)
    size = np.sqrt(2.0 ** (k > 0).sum(axis=-1))  # of each product, so that its mean square is one
    spread = 1 / (1 + square / 4)
    c = size * spread * rng.standard_normal(square.shape) / np.linalg.norm(spread)
    damped = c / (1 + np.pi**2 * square / SCREEN)
    made = []
    for n in sizes:
        x = rng.random((n, 3))
        waves = [np.cos(np.pi * np.outer(along, np.arange(MODES))) for along in x.T]
        s, v = (np.einsum("ijk,ni,nj,nk->n", part, *waves, optimize=True) for part in (c, damped))
        made.append(Sample(x, NO_CELLS, s[:, None], (v * np.exp(s / 2))[:, None]))
    return made


# ---------------------------------------------------------------------- data


class Problem(NamedTuple):
    """How samples are made, points of each, and numbers of samples for training, validation and test."""

    make: Callable[[np.random.Generator, Sequence[int]], list[Sample]]
    points: int
    samples: tuple[int, int, int]
    rule: str = "cells"  # weights of point sets: cells of 2000 points of a cube take half a second


PROBLEMS = {
    "darcy": Problem(darcy, 800, (240, 40, 60)),
    "plate": Problem(plate, 900, (400, 40, 60)),
    "cube": Problem(cube, 2000, (240, 40, 40), rule="monte-carlo"),
}


def generate(name: str, counts: Sequence[int], path: Path, package: str | None) -> float:
    """Make the samples of a problem and keep them in a file; seconds that it took."""
    choose(package)
    start = time.process_time()
    problem = PROBLEMS[name]
    train, validation, _ = counts
    splits: dict[str, list[Sample]] = {"train": [], "validation": [], **{test: [] for test in TESTS}}
    for i in range(sum(counts)):
        rng = np.random.default_rng([0, i])
        if i < train + validation:
            splits["train" if i < train else "validation"] += problem.make(rng, [problem.points])
        else:
            sizes = [round(share * problem.points) for share in TESTS.values()]
            for split, sample in zip(TESTS, problem.make(rng, sizes), strict=True):
                splits[split].append(sample)
    parts = {}
    for split, samples in splits.items():
        for key in Sample._fields:
            parts[f"{split}.{key}"] = np.concatenate([getattr(sample, key) for sample in samples])
            parts[f"{split}.{key}.ends"] = np.cumsum([len(getattr(sample, key)) for sample in samples])
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".partial.npz")
    np.savez(beside, **parts)
    beside.replace(path)
    return time.process_time() - start


def read(path: Path, split: str) -> list[Sample]:
    """The samples of a split."""
    with np.load(path) as file:
        columns = [np.split(file[f"{split}.{key}"], file[f"{split}.{key}.ends"][:-1]) for key in Sample._fields]
    return [Sample(*parts) for parts in zip(*columns, strict=True)]


# ---------------------------------------------------------------------- measuring


def choose(package: str | None) -> None:
    """Import iaenet from this source folder."""
    if package is not None:
        sys.path.insert(0, str(Path(package).resolve()))


def pair_of(sample: Sample, rule: str) -> tuple[Any, Any]:
    """Input and output field of a sample."""
    import torch

    from iaenet import Discretization, Field

    mesh = len(sample.cells) > 0
    at = Discretization.mesh(sample.points, sample.cells) if mesh else Discretization.points(sample.points, rule=rule)
    given, wanted = (torch.from_numpy(values).float() for values in (sample.input, sample.output))
    return Field(at, given), Field(at, wanted)


def mean_error(operator: Any, samples: Sequence[Sample], rule: str) -> float:
    """Mean of `||p - u|| / ||u||` over samples."""
    found = []
    for sample in samples:
        predicted = operator.predict(pair_of(sample, rule)[0]).values.double().numpy()
        weights = np.ones(len(sample.points))
        if len(sample.cells):
            corners = sample.points[sample.cells]  # (e, 3, 2)
            sizes = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1]))
            weights = np.bincount(sample.cells.ravel(), np.repeat(sizes, 3))
        error, size = (weights @ part**2 for part in (predicted - sample.output, sample.output))
        found.append(math.sqrt(error.sum() / size.sum()))
    return float(np.mean(found))


def measure(model: dict[str, Any], path: Path, rule: str, seconds: float, seed: int, package: str | None) -> dict:
    """Train a model for so many seconds and test it; a row of the results."""
    choose(package)
    import torch

    import iaenet

    torch.set_num_threads(1)
    row: dict[str, Any] = {"model": model, "package": str(Path(iaenet.__file__).parents[1]), "seed": seed}
    train, validation = read(path, "train"), read(path, "validation")
    warm_up()
    before = memory(peak=False)
    start = time.process_time()
    pairs = [pair_of(sample, rule) for sample in train]
    held = [pair_of(sample, rule) for sample in validation]
    made = time.process_time() - start

    def run(epochs: int) -> tuple[Any, float]:
        start = time.process_time()
        batch = "batch" if hasattr(iaenet, "Recipe") else "batch_size"  # as version 0.1 calls it
        options = {"epochs": epochs, batch: BATCH, "threads": 1, "seed": seed}
        return iaenet.fit(model, pairs, validation=held, **options), time.process_time() - start

    try:
        cold, warm, longer = (run(epochs)[1] for epochs in (1, 1, 2))
        epoch = max(longer - warm, 1e-3)
        rules = max(cold - warm, 0.0)
        setup = made + rules + max(warm - epoch, 0.0)
        epochs = max(1, int((seconds - setup) / epoch))
        operator, training = run(epochs)
        row |= {
            "parameters": sum(parameter.numel() for parameter in operator.parameters()),
            "epochs": epochs,
            "seconds": made + rules + training,
            "seconds_of_setup": setup,
            "seconds_per_step": epoch / math.ceil(len(train) / BATCH),
            "megabytes": memory(peak=True) - before,
            "train": mean_error(operator, train[:60], rule),
        }
        for test in TESTS:
            start = time.process_time()
            samples = read(path, test)
            row[test] = mean_error(operator, samples, rule)
            row.setdefault("seconds_per_test_sample", (time.process_time() - start) / len(samples))
    except (iaenet.InvalidInputError, iaenet.DivergedError) as error:
        row["refused"] = str(error)
    return row


def warm_up() -> None:
    """Import all that a training needs."""
    import torch

    import iaenet

    grid = iaenet.Discretization.uniform(16, periodic=True)
    waves = [iaenet.Field(grid, torch.sin(2 * torch.pi * (grid.points + k / 10)).float()) for k in range(10)]
    iaenet.fit("fno", [(wave, wave) for wave in waves], epochs=1, threads=1)


def memory(peak: bool) -> float:
    """Megabytes that this process holds, or the most that it held since it was last asked for what it holds (Linux)."""
    if not peak:
        Path("/proc/self/clear_refs").write_text("5")
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM" if peak else "VmRSS"].split()[0]) / 1024


# ---------------------------------------------------------------------- command


def parsed(words: Sequence[str]) -> list[dict[str, Any]]:
    """Models as `fit` takes them: `a,b` are two names, `a:{...}` a name with options as JSON."""
    models: list[dict[str, Any]] = []
    for word in words:
        name, _, options = word.partition(":")
        models += [{"name": name, **json.loads(options)}] if options else [{"name": one} for one in name.split(",")]
    return models


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The results as text; what was refused, and why, below."""
    head = ["model", "package", "parameters", "epochs", "s", "set-up s", "ms a step", "ms a new sample", "MB"]
    lines, refused = [[*head, "train", *TESTS]], []
    for row in rows:
        options = {key: value for key, value in row["model"].items() if key != "name"}
        start = [row["model"]["name"] + (f" {json.dumps(options)}" if options else ""), row["package"]]
        if "refused" in row:
            refused.append(f"{' '.join(start)} refused: {row['refused']}")
            continue
        counts = [str(row["parameters"]), str(row["epochs"]), f"{row['seconds']:.0f}", f"{row['seconds_of_setup']:.1f}"]
        counts += [f"{1e3 * row[key]:.1f}" for key in ("seconds_per_step", "seconds_per_test_sample")]
        errors = [f"{row[key]:.4f}" for key in ("train", *TESTS)]
        lines.append([*start, *counts, f"{row['megabytes']:.0f}", *errors])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines] + refused)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", choices=PROBLEMS, default="darcy")
    parser.add_argument("--seconds", type=float, default=90.0, help="CPU seconds for each model, set-up included")
    parser.add_argument("--models", nargs="+", default=["iaenet,transolver"], help="names, or 'name:{\"option\": 1}'")
    parser.add_argument("--seed", type=int, default=0, help="of the training; the data are the same for all")
    parser.add_argument("--samples", help="for training, validation and test, as in 240,40,60")
    parser.add_argument(
        "--rule", choices=("cells", "monte-carlo"), help="weights of point sets; cells, in a cube equal"
    )
    parser.add_argument("--package", nargs="+", default=[None], help="folders to import iaenet from, one after another")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    given = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    problem = PROBLEMS[given.problem]
    counts = tuple(int(count) for count in given.samples.split(",")) if given.samples else problem.samples
    path = CACHE / f"{given.problem}-{'-'.join(map(str, counts))}.npz"
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        if not path.exists():
            took = fresh.submit(generate, given.problem, counts, path, given.package[0]).result()
            print(f"{path}: made in {took:.0f} seconds, {1e3 * took / sum(counts):.0f} ms a sample", flush=True)
        for package in given.package:
            for model in parsed(given.models):
                rule = given.rule or problem.rule
                rows.append(fresh.submit(measure, model, path, rule, given.seconds, given.seed, package).result())
                print(table(rows), flush=True)
                if given.out is not None:
                    setting = {"problem": given.problem, "budget": given.seconds, "samples": counts, "rule": rule}
                    given.out.write_text(json.dumps({**setting, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

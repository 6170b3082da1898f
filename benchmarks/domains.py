"""Is the domain of bare points the one that they came from? And what does a locally refined mesh change?

    python -m benchmarks.domains --samples 200
    python -m benchmarks.domains --refined
    python -m benchmarks.domains --refined --trained 20 --problems plate

Each sample of a geometry problem is given as the nodes of its mesh alone. Figures: in how many samples the weights add
up to the domain's measure within 2 %, the largest deviation, how many of the others say that they are unsure (the
domain is the whole box, or its words say so), and how far the measure and the distance on a latent grid are from the
mesh's. Volumes around bodies are random points with tetrahedra between them and the surface.

`--refined`: the largest change of the output in one half of the domain when the other half is sampled four times
denser, for untrained networks of every model that takes points; with `--trained`, after so many CPU seconds of training
on 60 other samples.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from iaenet import Discretization, Field, fit
from iaenet.data.problems.airfoil import Airfoil
from iaenet.data.problems.bodies import BOX, Bodies, outside
from iaenet.data.problems.ellipsoid_flow import Ellipsoid
from iaenet.data.problems.plate import NEAR, Plate
from iaenet.data.problems.problem import Problem
from iaenet.functions.alpha_shape import BOX as WHOLE
from iaenet.functions.geometry import on_nodes
from iaenet.functions.latent_grid import LatentGrid
from iaenet.functions.local_refinement import half_refined, low_half
from iaenet.functions.metrics import relative_l2
from iaenet.models.registry import build

RIGHT = 0.02
MODELS = ("iaenet", "gino", "fno", "transolver")
TRAINED = 60  # samples
REFINED: dict[str, tuple[Problem, int]] = {
    "plate": (Plate(), 900),
    "airfoil": (Airfoil(), 1000),
    "bodies": (Bodies(), 642),
}


def plate(rng: np.random.Generator) -> tuple[Discretization, Discretization]:
    """The nodes of a plate's mesh, and the mesh."""
    mesh = Plate().draw(rng).mesh(900, NEAR, rng)
    true = Discretization.mesh(mesh.points, mesh.cells)
    return Discretization.points(mesh.points), true


def airfoil(rng: np.random.Generator) -> tuple[Discretization, Discretization]:
    """The nodes of a mesh around a profile, and the mesh."""
    true = Airfoil().record(rng, [1000])[0][1000].input_at
    return Discretization.points(true.points, bounds=true.bounds.tolist()), true


def bodies(rng: np.random.Generator) -> tuple[Discretization, float]:
    """Random points around an ellipsoid, and nodes on it, and the volume outside."""
    axes = rng.uniform(*Bodies().half_axis, 3)
    body = Ellipsoid(axes, np.eye(3))
    sphere = rng.standard_normal((500, 3))
    surface = body.surface(sphere / np.linalg.norm(sphere, axis=1, keepdims=True))
    points = np.concatenate([surface, outside(body, 2000, rng)])
    return Discretization.points(points, bounds=BOX), 8 - 4 / 3 * np.pi * float(axes.prod())


def found_domains(name: str, samples: int) -> str:
    """One line about a problem."""
    make = {"plate": plate, "airfoil": airfoil, "bodies": bodies}[name]
    wrong, unsure, worst = 0, 0, 0.0
    apart: dict[str, list[float]] = {"measure": [], "distance": []}
    for i in range(samples):
        at, true = make(np.random.default_rng([7, i]))
        measure = true if isinstance(true, float) else true.measure
        off = abs(at.measure / measure - 1)
        worst = max(worst, off)
        if off > RIGHT:
            wrong += 1
            unsure += at.domain.startswith(WHOLE) or "unsure" in at.domain
        if isinstance(true, Discretization):
            grid = LatentGrid((28, 28), true.periodic)
            for what, found in apart.items():
                mine, theirs = (on_nodes(grid, what, one) for one in (at, true))  # type: ignore[arg-type]
                found.append(float((mine - theirs).norm() / theirs.norm()))
    text = f"{name:<8} right to 2 %: {samples - wrong} of {samples}, of the others {unsure} say so; worst {worst:.2%}"
    for what, values in apart.items():
        text += f"; {what} {np.mean(values):.1e} (worst {max(values):.1e})" if values else ""
    return text


def drawn(problem: Problem, resolution: int, samples: int, seed: int) -> list[tuple[Field, Field]]:
    """So many samples of a problem, each on a mesh of its own."""
    made = []
    for i in range(samples):
        pair = problem.record(np.random.default_rng([seed, i]), [resolution])[0][resolution]
        given, wanted = (torch.from_numpy(part).float() for part in (pair.input, pair.output))
        made.append((Field(pair.input_at, given), Field(pair.output_at, wanted)))
    return made


def refined(names: list[str], samples: int, seconds: float) -> Iterator[str]:
    """A line for each problem: the change by each model."""
    for name in names:
        problem, resolution = REFINED[name]
        data = drawn(problem, resolution, samples, 8)
        known = drawn(problem, resolution, TRAINED, 9) if seconds else []
        changes = []
        for model in MODELS:
            torch.manual_seed(0)
            network: Any = build(model, data).eval() if not seconds else None
            if seconds:
                network = fit(model, known, budget=f"{seconds}s cpu", threads=1).eval()
            worst, errors = 0.0, []
            with torch.no_grad():
                for given, wanted in data:
                    far = ~low_half(given.discretization)
                    before = network(given, wanted.discretization)
                    after = network(half_refined(given)).values[: given.discretization.n][far]
                    own = network(given).values[far]
                    worst = max(worst, float((after - own).norm() / own.norm()))
                    errors.append(float(relative_l2(before, wanted)))
            changes.append(f"{model} {worst:.1e}" + (f" (error {np.mean(errors):.3f})" if seconds else ""))
        yield f"{name:<8} {', '.join(changes)}"


def main() -> None:
    """Read the arguments and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=None, help="200, or 4 for --refined")
    parser.add_argument("--refined", action="store_true", help="what a locally refined mesh changes")
    parser.add_argument("--trained", type=float, default=0.0, help="for --refined: CPU seconds of training (default 0)")
    parser.add_argument("--problems", default="plate,airfoil,bodies", help="some of these (default all)")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.refined:
        for line in refined(given.problems.split(","), given.samples or 4, given.trained):
            print(line, flush=True)
        return
    for name in given.problems.split(","):
        print(found_domains(name, given.samples or 200), flush=True)


if __name__ == "__main__":
    main()

"""Is the domain of bare points the one that they came from? And what does a locally refined mesh change?

    python -m benchmarks.domains --samples 200
    python -m benchmarks.domains --refined

Each sample of a geometry problem is given as the nodes of its mesh alone. Figures: in how many samples the weights add
up to the domain's measure within 2 %, the largest deviation, how many of the others say that they are unsure (the
domain is the whole box, or its words say so), and how far the measure and the distance on a latent grid are from the
mesh's. Volumes around bodies are random points with tetrahedra between them and the surface.

`--refined`: the largest change of the output in one half of the domain when the other half is sampled four times
denser, for untrained networks of every model that takes points.
"""

import argparse

import numpy as np
import torch

from iaenet import Discretization, Field
from iaenet.data.problems.airfoil import Airfoil
from iaenet.data.problems.bodies import BOX, Bodies, outside
from iaenet.data.problems.ellipsoid_flow import Ellipsoid
from iaenet.data.problems.plate import NEAR, Plate
from iaenet.functions.alpha_shape import BOX as WHOLE
from iaenet.functions.geometry import on_nodes
from iaenet.functions.latent_grid import LatentGrid
from iaenet.functions.local_refinement import half_refined, low_half
from iaenet.models.registry import build

RIGHT = 0.02
MODELS = ("iaenet", "gino", "fno", "transolver")


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


def refined(samples: int) -> list[str]:
    """A line for each problem: the change by each model."""
    lines = []
    for name, problem, resolution in (("plate", Plate(), 900), ("airfoil", Airfoil(), 1000), ("bodies", Bodies(), 642)):
        data = []
        for i in range(samples):
            pair = problem.record(np.random.default_rng([8, i]), [resolution])[0][resolution]
            given, wanted = (torch.from_numpy(part).float() for part in (pair.input, pair.output))
            data.append((Field(pair.input_at, given), Field(pair.output_at, wanted)))
        changes = []
        for model in MODELS:
            torch.manual_seed(0)
            network = build(model, data).eval()
            worst = 0.0
            with torch.no_grad():
                for given, _ in data:
                    far = ~low_half(given.discretization)
                    before = network(given).values[far]
                    after = network(half_refined(given)).values[: given.discretization.n][far]
                    worst = max(worst, float((after - before).norm() / before.norm()))
            changes.append(f"{model} {worst:.1e}")
        lines.append(f"{name:<8} {', '.join(changes)}")
    return lines


def main() -> None:
    """Read the arguments and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=None, help="200, or 4 for --refined")
    parser.add_argument("--refined", action="store_true", help="what a locally refined mesh changes")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.refined:
        print("\n".join(refined(given.samples or 4)))
        return
    for name in ("plate", "airfoil", "bodies"):
        print(found_domains(name, given.samples or 200), flush=True)


if __name__ == "__main__":
    main()

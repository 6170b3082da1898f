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
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import splu
from scipy.spatial import Delaunay, cKDTree

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

NEAR, REACH = 0.4, 0.2  # edges at the hole, as a share of those far away; distance from it up to which they grow
POISSON_RATIO = 0.3
REFERENCE = 1200, 0.2  # vertices of the mesh, of quadratic elements, that the stress is found on, and its NEAR
NODES = np.array([[0, 1, 0, 0.5, 0.5, 0], [0, 0, 1, 0, 0.5, 0.5]])  # corners and midpoints of the edges 01, 12, 02


@dataclass(frozen=True)
class Hole:
    """An ellipse: centre, half axes, direction of the first of them."""

    centre: Array
    axes: Array
    angle: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> "Hole":
        """A random one, at least 0.18 from the walls."""
        longer = rng.uniform(0.1, 0.2)
        axes = np.array([longer, longer * rng.uniform(0.55, 1.0)])
        return cls(rng.uniform(0.38, 0.62, 2), axes, rng.uniform(0, np.pi))

    def outline(self, count: int, start: float = 0.0) -> Array:
        """Points `(count, 2)` around the ellipse, at equal steps of its length."""
        angles = np.linspace(0, 2 * np.pi, 1025)
        length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(self._at(angles), axis=0), axis=1))])
        return self._at(np.interp((np.arange(count) + start) / count * length[-1], length, angles))

    def _at(self, angles: Array) -> Array:
        turn = np.array([[np.cos(self.angle), np.sin(self.angle)], [-np.sin(self.angle), np.cos(self.angle)]])
        return self.centre + (np.stack([np.cos(angles), np.sin(angles)], axis=1) * self.axes) @ turn

    def holds(self, points: Array) -> NDArray[np.bool_]:
        """Which points lie in the hole."""
        turn = np.array([[np.cos(self.angle), -np.sin(self.angle)], [np.sin(self.angle), np.cos(self.angle)]])
        return (((points - self.centre) @ turn / self.axes) ** 2).sum(axis=1) < 1


def plate(rng: np.random.Generator, sizes: Sequence[int]) -> list[Sample]:
    """One plate on meshes of so many vertices; the stress on each is that of one fine solution."""
    from iaenet.data.problems.quadratic_elements import evaluation

    hole = Hole.draw(rng)
    basis, stress = von_mises(*plate_mesh(hole, *REFERENCE, rng))
    made = []
    for n in sizes:
        points, cells = plate_mesh(hole, n, NEAR, rng)
        values = evaluation(basis, points) @ stress  # the ellipse's own points lie within the polygon's outside
        made.append(Sample(points, cells, np.ones((len(points), 1)), values[:, None]))
    return made


def von_mises(points: Array, cells: NDArray[np.int64]) -> tuple[Any, Array]:
    """`sqrt(s_xx^2 - s_xx s_yy + s_yy^2 + 3 s_xy^2)` in plane stress, as a quadratic function: basis and coefficients.

    Tension 1 on the right, no normal displacement and no shear on the left, nothing elsewhere. The stress of quadratic
    displacements is linear on each triangle; at corners and midpoints the mean over their triangles is taken.
    """
    from skfem import Basis, ElementTriP2, ElementVector, FacetBasis, LinearForm, MeshTri
    from skfem.models.elasticity import linear_elasticity

    mesh = MeshTri(points.T.copy(), cells.T.copy())
    element = ElementVector(ElementTriP2())
    shear = 0.5 / (1 + POISSON_RATIO)
    first = POISSON_RATIO / (1 - POISSON_RATIO**2)  # Lame's first parameter in plane stress, Young's modulus 1
    basis = Basis(mesh, element, intorder=2)
    matrix = linear_elasticity(first, shear).assemble(basis).tocsr()
    right = FacetBasis(mesh, element, facets=mesh.facets_satisfying(lambda x: x[0] > 1 - 1e-9))
    load = LinearForm(lambda v, _: v[0]).assemble(right)
    left = basis.get_dofs(mesh.facets_satisfying(lambda x: x[0] < 1e-9)).all(["u^1"])
    corner = basis.nodal_dofs[1, np.flatnonzero(np.abs(points).max(axis=1) < 1e-9)]
    free = basis.complement_dofs(np.concatenate([left, corner]))
    u = np.zeros(basis.N)
    options = {"SymmetricMode": True}
    u[free] = splu(
        matrix[free][:, free].tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
    ).solve(load[free])

    scalar = Basis(mesh, ElementTriP2(), intorder=1)
    slope = Basis(mesh, element, quadrature=(NODES, np.ones(6))).interpolate(u).grad  # (2, 2, e, 6)
    xx, yy, xy = slope[0, 0], slope[1, 1], shear * (slope[0, 1] + slope[1, 0])
    parts = [first * (xx + yy) + 2 * shear * xx, first * (xx + yy) + 2 * shear * yy, xy]
    places = scalar.element_dofs.T.ravel()
    times = np.bincount(places)
    xx, yy, xy = (np.bincount(places, part.ravel()) / times for part in parts)
    return scalar, np.sqrt(xx**2 - xx * yy + yy**2 + 3 * xy**2)


def plate_mesh(hole: Hole, count: int, near: float, rng: np.random.Generator) -> tuple[Array, NDArray[np.int64]]:
    """Vertices, about `count`, and triangles of the plate: a lattice at a random angle, finer near the hole.

    Vertices on the hole lie on the ellipse. The lattice has no point in the circle over a boundary segment, so that
    these are edges of the Delaunay mesh. A step towards the mean of the neighbours smooths the lattice.
    """
    far = 1.2 / math.sqrt(count)
    for _ in range(20):
        angle, shift, start = rng.uniform(0, np.pi / 3), rng.random(2), rng.random()
        for _ in range(8):  # the edge length that gives the count
            around, walls, inner = _vertices(hole, far, near, angle, shift, start)
            found = len(around) + len(walls) + len(inner)
            if abs(found - count) <= 0.01 * count:
                break
            far *= math.sqrt(found / count)
        fixed = np.concatenate([around, walls])
        points = np.concatenate([fixed, inner])
        ends = _edges(_triangles(points, hole))[0]
        pairs = np.concatenate([ends, ends[:, ::-1]])
        links = csr_matrix((np.ones(len(pairs)), pairs.T), (len(points), len(points)))
        mean = (links @ points) / np.maximum(np.bincount(pairs[:, 0], minlength=len(points)), 1)[:, None]
        points = np.concatenate([fixed, 0.5 * (points + mean)[len(fixed) :]])
        cells = _triangles(points, hole)
        if _fills(points, cells, around, len(fixed)):
            return points, cells
    raise RuntimeError(f"no mesh of {count} vertices fits {hole}")


def _vertices(
    hole: Hole, far: float, near: float, angle: float, shift: Array, start: float
) -> tuple[Array, Array, Array]:
    """Points on the hole, on the walls, and of a lattice of spacing `far`, halved where shorter edges are wanted."""
    dense = hole.outline(720)
    around = hole.outline(round(np.linalg.norm(np.diff(dense, axis=0), axis=1).sum() / (near * far)), start)
    steps = math.ceil(1 / far)
    t = np.arange(steps) / steps
    walls = [np.stack(side, 1) for side in ((t, 0 * t), (0 * t + 1, t), (1 - t, 0 * t + 1), (0 * t, 1 - t))]
    halvings = round(-math.log2(near))
    finest = far / 2**halvings
    reach = np.arange(-math.ceil(1 / finest), math.ceil(1 / finest) + 1)
    i, j = (index.ravel() for index in np.meshgrid(reach, reach))
    c, s = math.cos(angle), math.sin(angle)
    x = np.stack([i + j / 2, math.sqrt(3) / 2 * j], 1) * finest
    x = 0.5 + (x + far * shift) @ np.array([[c, s], [-s, c]])
    clear = np.minimum(x, 1 - x).min(axis=1) > 0.55 / steps
    i, j, x = i[clear], j[clear], x[clear]
    distance = np.where(hole.holds(x), -1.0, cKDTree(dense).query(x)[0])
    wanted = np.clip(near + (1 - near) * distance / REACH, near, 1)
    stride = 2 ** (halvings - np.minimum(np.rint(-np.log2(wanted)), halvings).astype(np.int64))
    fits = (i % stride == 0) & (j % stride == 0)
    return around, np.concatenate(walls), x[fits & (distance > 0.6 * near * far)]


def _triangles(points: Array, hole: Hole) -> NDArray[np.int64]:
    cells = Delaunay(points).simplices.astype(np.int64)
    return cells[~hole.holds(points[cells].mean(axis=1)) & (areas(points, cells) > 1e-9)]


def _edges(cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Edges `(e, 2)` of triangles, and how many triangles each belongs to."""
    return np.unique(np.sort(cells[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0, return_counts=True)


def _fills(points: Array, cells: NDArray[np.int64], around: Array, fixed: int) -> bool:
    """Whether triangles fill the plate, use every vertex, and have the first `fixed` vertices as their boundary."""
    edges, uses = _edges(cells)
    (x, y), (x_next, y_next) = around.T, np.roll(around, -1, axis=0).T
    gap = 0.5 * abs(np.sum(x * y_next - y * x_next))
    return (
        len(np.unique(cells)) == len(points)
        and np.array_equal(np.unique(edges[uses == 1]), np.arange(fixed))
        and np.sum(uses == 1) == fixed
        and abs(areas(points, cells).sum() - (1 - gap)) < 1e-9
    )


def areas(points: Array, cells: NDArray[np.int64]) -> Array:
    """Areas `(e,)` of triangles."""
    (ax, ay), (bx, by) = ((points[cells[:, k]] - points[cells[:, 0]]).T for k in (1, 2))
    return 0.5 * np.abs(ax * by - ay * bx)


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
            weights = np.bincount(sample.cells.ravel(), np.repeat(areas(sample.points, sample.cells), 3))
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
        options = {"epochs": epochs, "batch_size": BATCH, "threads": 1, "seed": seed}
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

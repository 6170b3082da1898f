"""Exported models beside PyTorch: agreement on random discretizations, size of the file, and speed.

    python -m benchmarks.exported [--models line,square,cube,mesh,samples] [--to onnx] [--count 50] [--most 100000]

Models as `iaenet train` makes them, trained for `--epochs` on data that are generated first: Burgers' equation on a
line, Darcy flow in a square, heat in a cube, a plate with a hole on meshes (with a head, and told of the domain by
measure and distance). Then random points, 10 to 10^5 of them, for the mesh triangles around an elliptic hole that is
new each time; every second time the output is asked for at random query points, else at the points themselves. Samples
are boundary values, a source and a number; both functions are on as many random points, the boundary values on the
sides of the square, and answers include the weights of these points, which must be found first.
Differences are relative L2 of the output without its mean. Seed 0, one thread.
"""

import argparse
import shlex
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from scipy.spatial import Delaunay

import iaenet
from iaenet import Discretization, Field
from iaenet.cli.main import main as command

DATA = {
    "line": "burgers --resolutions 256 --samples 60",
    "square": "darcy --resolutions 43 --samples 60",
    "cube": "heat --resolutions 12 --samples 24",
    "mesh": "plate --resolutions 450 --samples 60",
    "samples": "screened-poisson --resolutions 12 --samples 60",
}


def main(names: list[str], to: str, count: int, most: int, epochs: int) -> None:
    torch.set_num_threads(1)
    print(f"{'model':<8}{'largest difference':>20}{'MB':>8}{'export, s':>11}{'PyTorch / file, s':>28}", flush=True)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            operator = trained(name, Path(folder), epochs)
            begin = time.process_time()
            path = iaenet.export(operator, Path(folder, f"model.{'onnx' if to == 'onnx' else 'pt2'}"), to=to)
            seconds = time.process_time() - begin
            size = path.stat().st_size / 1e6
            exported = iaenet.load_exported(path, threads=1)
        worst, times = 0.0, np.zeros(2)
        rng = np.random.default_rng(0)
        for i, n in enumerate(np.geomspace(10, most, count).astype(int)):
            if name == "samples":
                difference, taken = compared_samples(operator, exported, int(n), i % 2 == 1, rng)
            else:
                difference, taken = compared(operator, exported, name, int(n), i % 2 == 1, rng)
            worst, times = max(worst, difference), times + taken
        print(f"{name:<8}{worst:>20.1e}{size:>8.1f}{seconds:>11.0f}{times[0]:>16.1f} /{times[1]:>9.1f}", flush=True)


def trained(name: str, folder: Path, epochs: int) -> iaenet.Operator:
    """A model as the commands make it."""
    for line in (
        f"generate {DATA[name]} --out {folder}/data.h5",
        f"train --data {folder}/data.h5 --epochs {epochs} --threads 1 --run {folder}/run",
    ):
        if command(shlex.split(line)):
            raise SystemExit(1)
    return iaenet.load(folder / "run")


def compared(operator, exported, name: str, n: int, elsewhere: bool, rng: np.random.Generator):
    """Relative difference of the answers on new points, and the seconds that both took."""
    meta = exported.metadata
    options = {"bounds": meta["bounds"], "periodic": tuple(meta["periodic"])}
    where, cells = places(name, n, meta["dim"], options, rng)
    x = where.points.numpy()
    waves = [np.sin((3 + j) * x[:, :1]) + 0.5 * np.cos(5 * x.sum(axis=1, keepdims=True) + j) for j in (0, 1)]
    values = np.concatenate(waves, axis=1)[:, : len(meta["inputs"])]
    query = inside(where, rng, n) if elsewhere else None
    at = None if query is None else Discretization.points(query, rule="monte-carlo", **options)
    begin = time.perf_counter()
    wanted = operator.predict(Field(where, torch.from_numpy(values).float()), at).values.numpy()
    middle = time.perf_counter()
    # Weights of points are part of the discretization, which is made before in both cases.
    found = exported(x, values, query, weights=None if cells is not None else where.weights, cells=cells)
    taken = np.array([middle - begin, time.perf_counter() - middle])
    return relative(found, wanted), taken


def compared_samples(operator, exported, n: int, elsewhere: bool, rng: np.random.Generator):
    """The same for boundary values, a source and a number, each function on new points."""
    t = rng.random(n)[:, None]
    edge = np.clip(np.abs((4 * t + [1, 0]) % 4 - 2) - 0.5, 0, 1)  # once around the square
    inside = rng.random((n, 2))
    g, f = np.sin(3 * edge[:, :1] + edge[:, 1:]), np.cos(5 * inside.sum(axis=1, keepdims=True))
    kappa, query = float(1 + 10 * rng.random()), rng.random((n, 2)) if elsewhere else inside
    begin = time.perf_counter()
    functions = {
        name: Field(Discretization.points(x), torch.from_numpy(values).float())
        for name, x, values in (("boundary", edge, g), ("source", inside, f))
    }
    at = Discretization.points(query, rule="monte-carlo")
    wanted = operator.predict(iaenet.Sample(functions, {"kappa": kappa}), at).values.numpy()
    middle = time.perf_counter()
    found = exported({"boundary": (edge, g), "source": (inside, f), "kappa": kappa}, at=query)
    return relative(found, wanted), np.array([middle - begin, time.perf_counter() - middle])


def relative(found: np.ndarray, wanted: np.ndarray) -> float:
    """Relative L2 of the output without its mean."""
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted - wanted.mean(axis=0)))


def places(name: str, n: int, dim: int, options: dict, rng: np.random.Generator):
    """Random points in the box; for the mesh, triangles of the square without an ellipse, and these."""
    low, high = np.array(options["bounds"]).T
    if name != "mesh":
        return Discretization.points(low + (high - low) * rng.random((n, dim)), **options), None
    centre, axes = 0.4 + 0.2 * rng.random(2), 0.1 + 0.1 * rng.random(2)

    def outside(points):
        return (((points - centre) / axes) ** 2).sum(axis=1) > 1

    x = rng.random((2 * n + 8, 2))
    x = np.concatenate([[[0, 0], [0, 1], [1, 0], [1, 1]], x[outside(x)]])[: max(n, 10)]
    cells = Delaunay(x).simplices
    cells = cells[outside(x[cells].mean(axis=1))].astype(np.int64)
    used, index = np.unique(cells, return_inverse=True)
    cells = index.reshape(cells.shape)
    return Discretization.mesh(low + (high - low) * x[used], cells, **options), cells


def inside(where: Discretization, rng: np.random.Generator, n: int) -> np.ndarray:
    """Random points, of the box or of the cells."""
    if where.rule != "mesh":
        low, high = where.bounds.numpy().T
        return low + (high - low) * rng.random((n, where.dim))
    corners = where.points.numpy()[where.cells.numpy()[rng.integers(len(where.cells), size=n)]]
    return np.einsum("nk,nkd->nd", rng.dirichlet(np.ones(corners.shape[1]), n), corners)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(DATA))
    parser.add_argument("--to", default="onnx", choices=["onnx", "torch"])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=2)
    given = parser.parse_args()
    main(given.models.split(","), given.to, given.count, given.most, given.epochs)

"""Exported models beside PyTorch: agreement on random discretizations, size of the file, and speed.

    python -m benchmarks.exported [--models line,square,cube,mesh] [--count 50] [--most 100000]

Untrained networks of the preset `small`, whose weights are drawn at random: agreement and speed do not depend on
training. Half of the discretizations are query points of their own. Seed 0, one thread.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import iaenet
from iaenet import Discretization, Field, IAENet
from iaenet.functions.normalizer import Normalizer
from iaenet.models.operator import Operator, describe

MODELS = {
    "line": (1, {"periodic": True}),
    "square": (2, {}),
    "cube": (3, {}),
    "mesh": (2, {"head": 32}),
}


def main(names: list[str], count: int, most: int) -> None:
    torch.set_num_threads(1)
    print(f"{'model':<8}{'largest difference':>20}{'MB':>8}{'export, s':>11}{'PyTorch / ONNX Runtime, s':>28}")
    for name in names:
        dim, options = MODELS[name]
        operator = untrained(dim, options)
        with tempfile.TemporaryDirectory() as folder:
            begin = time.process_time()
            path = iaenet.export(operator, Path(folder, "model.onnx"))
            seconds = time.process_time() - begin
            size = path.stat().st_size / 1e6
            exported = iaenet.load_exported(path, threads=1)
        worst, times = 0.0, np.zeros(2)
        rng = np.random.default_rng(0)
        for n in np.geomspace(10, most, count).astype(int):
            where, cells = places(name, int(n), dim, rng)
            x = where.points.numpy()
            values = np.sin(3 * x[:, :1]) + 0.5 * np.cos(5 * x.sum(axis=1, keepdims=True))
            field = Field(where, torch.from_numpy(values).float())
            begin = time.perf_counter()
            wanted = operator.predict(field).values.numpy()
            middle = time.perf_counter()
            found = exported(x, values, weights=None if cells is not None else where.weights, cells=cells)
            times += [middle - begin, time.perf_counter() - middle]
            worst = max(worst, float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted)))
        print(f"{name:<8}{worst:>20.1e}{size:>8.1f}{seconds:>11.0f}{times[0]:>16.1f} /{times[1]:>9.1f}", flush=True)


def untrained(dim: int, options: dict) -> Operator:
    torch.manual_seed(0)
    network = IAENet.from_preset("small", in_channels=1, out_channels=1, dim=dim, **options).eval()
    metadata = {"trained": describe([Discretization.uniform((32,) * dim, periodic=options.get("periodic", False))])}
    return Operator(network, Normalizer([0.1], [0.7]), Normalizer([0.5], [2.0]), metadata)


def places(name: str, n: int, dim: int, rng: np.random.Generator) -> tuple[Discretization, np.ndarray | None]:
    """Random points; for the mesh, triangles of the square with a round hole."""
    if name != "mesh":
        return Discretization.points(rng.random((n, dim)), periodic=MODELS[name][1].get("periodic", False)), None
    from scipy.spatial import Delaunay

    x = rng.random((2 * n + 8, 2))
    x = np.concatenate([[[0, 0], [0, 1], [1, 0], [1, 1]], x[np.linalg.norm(x - 0.5, axis=1) > 0.2]])[: max(n, 8)]
    cells = Delaunay(x).simplices
    cells = cells[np.linalg.norm(x[cells].mean(axis=1) - 0.5, axis=1) > 0.2].astype(np.int64)
    used, index = np.unique(cells, return_inverse=True)
    cells = index.reshape(cells.shape)
    return Discretization.mesh(x[used], cells), cells


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--most", type=int, default=100_000)
    given = parser.parse_args()
    main(given.models.split(","), given.count, given.most)

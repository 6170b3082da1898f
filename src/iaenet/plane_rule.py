"""Integrals over points scattered in a square: against an interpolant of the function, as `line_rule.py` on a line.

The interpolant at a place is that of its nearest points by the polyharmonic spline `r^3` with a linear polynomial.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import KDTree
from torch import Tensor

NEIGHBOURS = 16
CELLS = 48, 256  # of the fine grid along an axis
FINER = 2.5  # cells for each of the points along an axis
AT_A_TIME = 8192  # places of the fine grid
# Variance of the noise that values are taken to have, distances in units of the neighbourhood: values at nearly the
# same place are averaged, so that noise is not amplified.
NOISE = 3e-3
FLAT = 1e-9  # for neighbours on one line: across it the interpolant is constant

Array = NDArray[np.float64]


class ScatteredTaps:
    """The interpolant I of functions given at `nodes (n, 2)` of the unit square, on a fine grid.

    >>> nodes = np.random.default_rng(0).random((400, 2))
    >>> rule = ScatteredTaps(nodes, (False, False)).rule(lambda y, axis: torch.ones_like(y)[:, None])
    >>> round((rule[:, 0].numpy() @ (nodes[:, 0] + 3 * nodes[:, 1])).item(), 4)  # an integral, exact for planes
    2.0
    """

    def __init__(self, nodes: Array, periodic: tuple[bool, ...]) -> None:
        self.cells = int(np.clip(FINER * len(nodes) ** 0.5, *CELLS))
        axis = torch.arange(self.cells, dtype=torch.float64) / self.cells
        self.axes = [axis if wraps else axis + 0.5 / self.cells for wraps in periodic]
        images, owners = _around(nodes, periodic)
        tree = KDTree(images)
        places = torch.cartesian_prod(*self.axes).numpy()
        self.pieces = []  # sparse matrices (n, s)
        for start in range(0, len(places), AT_A_TIME):
            index, weight = _weights(tree, images, places[start : start + AT_A_TIME])
            columns = np.repeat(np.arange(len(index)), index.shape[1])
            where = owners[index].ravel(), columns
            self.pieces.append(csr_array((weight.ravel(), where), shape=(len(nodes), len(index))))

    def rule(self, functions: Callable[[Tensor, int], Tensor]) -> Tensor:
        """`int B_p(y) I[f](y) dy` as a linear map of the values at the nodes: `(n, p_1 p_2)`.

        `functions(y, axis)` gives the factors `(s, p_axis)` of the functions B along an axis.
        """
        first, second = (functions(y, axis) / self.cells for axis, y in enumerate(self.axes))
        total = np.zeros((self.pieces[0].shape[0], first.shape[1] * second.shape[1]))
        start = 0
        for piece in self.pieces:
            rows, columns = np.divmod(np.arange(start, start + piece.shape[1]), self.cells)
            total += piece @ (first[rows][:, :, None] * second[columns][:, None, :]).flatten(1).numpy()
            start += piece.shape[1]
        return torch.from_numpy(total)


def _around(nodes: Array, periodic: tuple[bool, ...]) -> tuple[Array, NDArray[np.int64]]:
    """The nodes and their copies across periodic walls that are near the square, and whose copies they are."""
    margin = min(1.0, 4 * (NEIGHBOURS / len(nodes)) ** 0.5)
    images, owners = nodes, np.arange(len(nodes))
    for axis, wraps in enumerate(periodic):
        if wraps:
            shift = np.eye(2)[axis]
            near = [images[:, axis] >= 1 - margin, images[:, axis] <= margin]
            images, owners = (
                np.concatenate([images, images[near[0]] - shift, images[near[1]] + shift]),
                np.concatenate([owners, owners[near[0]], owners[near[1]]]),
            )
    return images, owners


def _weights(tree: KDTree, images: Array, places: Array) -> tuple[NDArray[np.int64], Array]:
    """Indices and weights `(s, k)` of the interpolant at `places (s, 2)`."""
    k = NEIGHBOURS
    # Farther from the nearest point than half of what its own neighbours reach, the interpolant goes on as a constant.
    away, nearest = tree.query(places)
    reach = tree.query(images[nearest], k)[0][:, -1] / 2
    places = images[nearest] + np.minimum(1.0, reach / np.maximum(away, reach))[:, None] * (places - images[nearest])
    distance, index = tree.query(places, k)
    size = distance[:, -1, None, None]
    x = (images[index] - places[:, None]) / size  # (s, k, 2), within the unit disc
    system = np.zeros((len(places), k + 3, k + 3))
    system[:, :k, :k] = np.linalg.norm(x[:, :, None] - x[:, None], axis=-1) ** 3 + NOISE * np.eye(k)
    polynomial = np.concatenate([np.ones_like(x[..., :1]), x], axis=-1)
    system[:, :k, k:] = polynomial
    system[:, k:, :k] = polynomial.transpose(0, 2, 1)
    system[:, k + 1 :, k + 1 :] = -FLAT * np.eye(2)
    wanted = np.zeros((len(places), k + 3, 1))
    wanted[:, :k, 0] = np.linalg.norm(x, axis=-1) ** 3
    wanted[:, k] = 1.0
    return index, np.linalg.solve(system, wanted)[:, :k, 0].astype(np.float64)

"""How far scattered points are from each other, place by place."""

import numpy as np

from iaenet.functions.quadrature import Array, Index, Simplices


def local_spacing(found: Simplices) -> Array:
    """Local spacing `(n,)`: median length of the edges at a node, smoothed by medians over its neighbours.

    Medians of edges are not misled by the few long ones across a void, nor by points that are close in one direction.
    """
    n = len(found.nodes)
    starts, to = found.stars
    starts, to = starts[: n + 1], to[: starts[n]]  # those of images are left out
    owner = np.repeat(np.arange(n), np.diff(starts))
    spacing = _medians(np.linalg.norm(found.nodes[owner] - found.points[to], axis=1), owner, n)
    for _ in range(2):
        values = np.concatenate([spacing[found.source[to]], spacing])
        spacing = _medians(values, np.concatenate([owner, np.arange(n)]), n)
    return spacing


def _medians(values: Array, owner: Index, n: int) -> Array:
    counts = np.bincount(owner, minlength=n)
    first = np.cumsum(counts) - counts
    scale = 2 * float(values.max())
    ordered = np.append(np.sort(owner + values / scale), np.inf)  # by owner, then by value, which is below one
    middle = (ordered[first + (counts - 1) // 2] + ordered[first + counts // 2]) / 2
    return np.asarray((middle - np.arange(n)) * scale)

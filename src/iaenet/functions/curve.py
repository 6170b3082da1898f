"""Points on a curve in the plane: found out, and joined to the segments of the curve."""

import numpy as np
from scipy.spatial import KDTree

from iaenet.functions.quadrature import Array, Index

FEWEST = 24  # points by which a curve can be told from an area
NEAR, FAR = 2, 8  # neighbours: the distance to the far one is 4 times as large on a curve, twice as large in an area
THIN = 1.4  # dimension up to which points are a curve
LOOKED_AT = 24  # neighbours among which the next point of the curve is looked for
ALONG, ROOM = 16, 0.07  # places along a side of the square around, and how far half of them are away, in such sides
SOME = 512  # points that this is judged by first
LINKED = 0.8  # share of the points that have two neighbours on a curve
TURN = 0.1  # greatest cosine of the angle between both directions at a point: corners of a square are passed


def curve_segments(points: Array) -> Index | None:
    """Segments `(e, 2)` between neighbours on a curve or several; None if the points `(n, 2)` are not on any.

    A point chooses its nearest and the nearest on the other side, and those that choose each other are joined, whatever
    the order of the points; a closed curve closes. Points are on curves where nearly all get two neighbours so, and the
    median of `log 4 / log(r_8 / r_2)`, r_k the distance to the k-th neighbour, is near one. Grids, and areas scanned
    line by line, are none.

    >>> angle = 2 * np.pi * np.random.default_rng(0).random(60)
    >>> circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    >>> len(curve_segments(circle)), curve_segments(np.random.default_rng(0).random((60, 2)))
    (60, None)
    """
    n = len(points)
    some = points[:: 1 + n // SOME]  # if these fill the area around, all do: that is soon seen
    if n < FEWEST or points.shape[1] != 2 or not _leaves_room(some) or _is_product(points):
        return None
    distance, neighbours = KDTree(points).query(points, k=min(n, LOOKED_AT + 1))
    if np.any(distance[:, 1] <= 1e-12 * distance[:, -1]):  # points that coincide have no direction
        return None
    growth = np.log(FAR / NEAR) / np.log(np.maximum(distance[:, FAR] / distance[:, NEAR], 1 + 1e-9))
    if np.median(growth) > THIN:
        return None
    steps = points[neighbours[:, 1:]] - points[:, None]  # (n, k, 2)
    directions = steps / distance[:, 1:, None]
    other = (directions * directions[:, :1]).sum(axis=2) < TURN
    joined = np.flatnonzero(other.any(axis=1))
    second = neighbours[joined, 1 + np.argmax(other[joined], axis=1)]
    chosen = np.concatenate([np.stack([np.arange(n), neighbours[:, 1]], axis=1), np.stack([joined, second], axis=1)])
    pairs, times = np.unique(np.sort(chosen, axis=1), axis=0, return_counts=True)
    mutual: Index = pairs[times == 2].astype(np.int64)
    degrees = np.bincount(mutual.ravel(), minlength=n)
    return mutual if np.mean(degrees == 2) >= LINKED and _leaves_room(points) else None


def _leaves_room(points: Array) -> bool:
    """Whether half of the places around are far from the points: they do not fill an area line by line."""
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max())
    nodes = (np.arange(ALONG) + 0.5) / ALONG - 0.5
    places = (low + high) / 2 + size * np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    return bool(np.median(KDTree(points).query(places)[0]) > ROOM * size)


def _is_product(points: Array) -> bool:
    """Whether the points are all of a grid."""
    along = [len(np.unique(np.round(x, 9))) for x in points.T]
    return min(along) > 1 and int(np.prod(along)) == len(points)

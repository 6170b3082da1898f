"""Local interpolation as indices and weights: `f(y_j) = sum_t weight_jt f(x_index_jt)`, in arrays, without PyTorch.

Weights are arrays, or whatever `Kind` of numbers the points are given as, too, such as tensors that have a gradient.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import Delaunay, KDTree, QhullError

from iaenet.functions.quadrature import Array, Index


class Kind(NamedTuple):
    """How constants become numbers of a kind, and how columns `(m,)` of them become a table `(m, t)`."""

    lift: Callable[[Array], Any]
    stack: Callable[[Sequence[Any]], Any]


ARRAYS = Kind(np.asarray, partial(np.stack, axis=1))


def grid_taps(
    axes: Sequence[Array],
    points: Array,
    box: Array,
    periodic: tuple[bool, ...],
    given: Any = None,
    kind: Kind = ARRAYS,
) -> tuple[Index, Any]:
    """Indices and weights `(m, t)` for a tensor grid of `axes`, at `points (m, d)`: products of those of each axis.

    `given` are the points again, as numbers of a kind, of which the weights are made.
    """
    own = points if given is None else given
    index = np.zeros((len(points), 1), dtype=np.int64)
    weight = kind.lift(np.ones((len(points), 1)))
    for i, axis in enumerate(axes):
        along, share = axis_taps(axis, points[:, i], own[:, i], box[i, 1] - box[i, 0], periodic[i], kind)
        index = (index[:, :, None] * len(axis) + along[:, None, :]).reshape(len(points), -1)
        weight = (weight[:, :, None] * share[:, None, :]).reshape(len(points), -1)
    return index, weight


def axis_taps(
    axis: Array, y: Array, given: Any, period: float, periodic: bool, kind: Kind = ARRAYS
) -> tuple[Index, Any]:
    """Indices and weights `(len(y), 4)` of cubic interpolation from the points of one axis, in whatever order.

    Lagrange on the 4 nodes around y where the axis is uniform; elsewhere Hermite with the slopes of local parabolas,
    kept from running away where a small gap meets a large one.
    """
    nodes, first = np.unique(axis, return_index=True)
    if len(nodes) == 1:
        return np.broadcast_to(first[:1], (len(y), 1)).astype(np.int64), kind.lift(np.ones((len(y), 1)))
    steps = np.diff(nodes)
    uniform = np.allclose(steps, steps[0], rtol=1e-6) and (not periodic or np.isclose(len(nodes) * steps[0], period))
    if periodic:
        moved = nodes[0] + np.mod(y - nodes[0], period)
        free = np.ones_like(y)
    else:  # ends are not extrapolated: beyond the last node its value is kept
        moved = np.clip(y, nodes[0], nodes[-1])
        free = np.where(moved == y, 1.0, 0.0)
    own = kind.lift(moved) + kind.lift(free) * (given - kind.lift(y))
    left = np.searchsorted(nodes, moved, side="right") - 1
    if not periodic:
        left = np.clip(left, 0, len(nodes) - 2)
    if uniform and len(nodes) >= 4:
        start = left - 1 if periodic else np.clip(left - 1, 0, len(nodes) - 4)
        turns, inside = np.divmod(start[:, None] + np.arange(4), len(nodes))
        weight = _lagrange(nodes[inside] + turns * period, own, kind)
    else:
        turns, inside = np.divmod(left[:, None] + np.arange(-1, 3), len(nodes))
        x = nodes[inside] + turns * period
        if not periodic:
            # Ghost nodes continue the ends linearly: f_{-1} = 2 f_0 - f_1.
            lower, upper = left == 0, left == len(nodes) - 2
            x[lower, 0] = 2 * x[lower, 1] - x[lower, 2]
            x[upper, 3] = 2 * x[upper, 2] - x[upper, 1]
        weight = _hermite(x, own, kind)
        if not periodic:
            for ghost, end, next_one, at in ((0, 1, 2, lower), (3, 2, 1, upper)):
                share = weight[ghost] * kind.lift(at.astype(np.float64))
                weight[end], weight[next_one] = weight[end] + 2 * share, weight[next_one] - share
                weight[ghost] = weight[ghost] - share
    return first[inside].astype(np.int64), kind.stack(weight)


def _lagrange(x: Array, y: Any, kind: Kind) -> list[Any]:
    weight = []
    for j in range(x.shape[1]):
        product = kind.lift(np.ones(len(x)))
        for k in range(x.shape[1]):
            if k != j:
                product = product * (y - kind.lift(x[:, k])) / kind.lift(x[:, j] - x[:, k])
        weight.append(product)
    return weight


def _hermite(x: Array, y: Any, kind: Kind) -> list[Any]:
    """Weights of f(x_0 .. x_3) for y in [x_1, x_2], with slopes from the nodes on both sides.

    The slope at x_1 is that of the parabola through x_0, x_1, x_2. Where the gap before x_1 is more than 4 times
    smaller than [x_1, x_2] it turns into that of the chord from x_0 to x_2: noise over a tiny gap is a huge slope.
    """
    before, h, after = np.diff(x, axis=1).T
    t = (y - kind.lift(x[:, 1])) / kind.lift(h)
    weight = [0 * t, (1 + 2 * t) * (1 - t) ** 2, t**2 * (3 - 2 * t), 0 * t]
    for gap, slope, (outer, inner, far) in (
        (before, t * (1 - t) ** 2, (0, 1, 2)),
        (after, -(t**2) * (t - 1), (3, 2, 1)),
    ):
        # d = (parabola h + chord gap) / (h + gap) of the difference quotient over the gap, the rest of that over h.
        parabola = np.minimum(1.0, 4 * gap / h)
        near = (parabola * h + (1 - parabola) * gap) / (h + gap)
        weight[outer] = weight[outer] - slope * kind.lift(near * h / gap)
        weight[inner] = weight[inner] + slope * kind.lift(near * h / gap - (1 - near))
        weight[far] = weight[far] + slope * kind.lift(1 - near)
    return weight


def simplex_taps(source: Array, points: Array, box: Array, periodic: tuple[bool, ...]) -> tuple[Index, Array, Array]:
    """Barycentric weights on the Delaunay simplices of `source (n, d)`, nearest point outside the hull; their slopes.

    Indices and weights `(m, d + 1)`, slopes `(m, d + 1, d)`: how the weights change with the points.
    """
    nodes, owner = _with_images(source, box, periodic)
    m, d = points.shape
    index = np.repeat(KDTree(nodes).query(points)[1][:, None], d + 1, axis=1)
    weight = np.concatenate([np.ones((m, 1)), np.zeros((m, d))], axis=1)
    slope = np.zeros((m, d + 1, d))
    try:
        triangulation = Delaunay(nodes)
    except (QhullError, ValueError):  # too few points, or all on one line or plane
        return owner[index], weight, slope
    simplex = triangulation.find_simplex(points, tol=1e-9)
    inside = simplex >= 0
    transform = triangulation.transform[simplex[inside]]
    barycentric = np.einsum("nij,nj->ni", transform[:, :d], points[inside] - transform[:, d])
    shares = np.concatenate([barycentric, 1 - barycentric.sum(axis=1, keepdims=True)], axis=1)
    sound = np.isfinite(shares).all(axis=1)  # flat simplices have no barycentric coordinates
    rows = np.flatnonzero(inside)[sound]
    index[rows] = triangulation.simplices[simplex[inside]][sound]
    weight[rows] = shares[sound]
    slope[rows] = np.concatenate([transform[:, :d], -transform[:, :d].sum(axis=1, keepdims=True)], axis=1)[sound]
    return owner[index], weight, slope


def _with_images(nodes: Array, box: Array, periodic: tuple[bool, ...]) -> tuple[Array, Index]:
    """The points and, along periodic axes, their copies within half a period of the domain; with whose copy it is."""
    owner = np.arange(len(nodes))
    for axis, wraps in enumerate(periodic):
        if wraps:
            low, high = box[axis]
            below = nodes[:, axis] > (low + high) / 2
            nodes = np.concatenate([nodes, nodes[below], nodes[~below]])
            owner = np.concatenate([owner, owner[below], owner[~below]])
            count = len(below)
            nodes[count : count + below.sum(), axis] -= high - low
            nodes[count + below.sum() :, axis] += high - low
    return nodes, owner

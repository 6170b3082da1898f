"""Values of a sampled function at other points, by local interpolation: the operators I_T of the paper."""

from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import Delaunay, KDTree, QhullError
from torch import Tensor

from iaenet.discretization import Discretization
from iaenet.errors import InvalidInputError
from iaenet.field import Field

Index = NDArray[np.int64]
Array = NDArray[np.float64]


def interpolate(field: Field, at: Discretization) -> Field:
    """`I_T f`: the field on the points of `at`, linear in its values and exact where points coincide.

    Tensor grids: cubic on uniform axes (error h^4), linear on others, each axis in turn. Point sets: linear in 1-D and
    on Delaunay simplices, nearest point outside their hull.

    >>> coarse, fine = Discretization.uniform(11), Discretization.uniform(21)
    >>> cubic = interpolate(Field(coarse, coarse.points**3), fine)
    >>> torch.allclose(cubic.values, fine.points**3)
    True
    """
    source = field.discretization
    if source.dim != at.dim:
        raise InvalidInputError(f"cannot interpolate from {source.dim}-D to {at.dim}-D")
    if source is at or source.key == at.key:
        return Field.unchecked(at, field.values)
    index, weight = taps(source, at)
    picked = field.values[..., index.to(field.values.device), :]  # (..., n', t, c)
    return Field.unchecked(at, (picked * weight.to(field.values)[..., None]).sum(dim=-2))


@lru_cache(maxsize=64)
def taps(source: Discretization, at: Discretization) -> tuple[Tensor, Tensor]:
    """Indices and weights `(n', t)` with `f(y_j) = sum_t weight_jt f(x_index_jt)`."""
    points = at.points.cpu().numpy()
    if source.axes is not None or source.dim == 1:
        index, weight = _grid_taps(source, points)
    else:
        index, weight = _simplex_taps(source, points)
    return torch.from_numpy(index), torch.from_numpy(weight)


def _grid_taps(source: Discretization, points: Array) -> tuple[Index, Array]:
    """Products of one-dimensional taps."""
    axes = source.axes if source.axes is not None else (source.points[:, 0],)
    index = np.zeros((len(points), 1), dtype=np.int64)
    weight = np.ones((len(points), 1))
    box = source.bounds.cpu().numpy()
    for i, axis in enumerate(axes):
        along, share = _axis_taps(axis.cpu().numpy(), points[:, i], box[i, 1] - box[i, 0], source.periodic[i])
        index = (index[:, :, None] * len(axis) + along[:, None, :]).reshape(len(points), -1)
        weight = (weight[:, :, None] * share[:, None, :]).reshape(len(points), -1)
    return index, weight


def _axis_taps(axis: Array, y: Array, period: float, periodic: bool) -> tuple[Index, Array]:
    """Lagrange interpolation on the 4 (uniform axis) or 2 nodes around each y."""
    nodes, first = np.unique(axis, return_index=True)
    if len(nodes) == 1:
        return np.broadcast_to(first[:1], (len(y), 1)).astype(np.int64), np.ones((len(y), 1))
    steps = np.diff(nodes)
    uniform = np.allclose(steps, steps[0], rtol=1e-6) and (not periodic or np.isclose(len(nodes) * steps[0], period))
    count = min(4 if uniform else 2, len(nodes))
    if periodic:
        y = nodes[0] + np.mod(y - nodes[0], period)
    start = np.searchsorted(nodes, y, side="right") - count // 2
    if not periodic:
        start = np.clip(start, 0, len(nodes) - count)
    around = start[:, None] + np.arange(count)
    turns, inside = np.divmod(around, len(nodes))
    x = nodes[inside] + turns * period
    # Ends of a closed axis are not extrapolated: beyond the last node its value is kept.
    t = y if periodic else np.clip(y, nodes[0], nodes[-1])
    weight = np.ones((len(y), count))
    for j in range(count):
        for k in range(count):
            if k != j:
                weight[:, j] *= (t - x[:, k]) / (x[:, j] - x[:, k])
    return first[inside].astype(np.int64), weight


def _simplex_taps(source: Discretization, points: Array) -> tuple[Index, Array]:
    """Barycentric weights on the Delaunay simplices of the source points; nearest point outside the hull."""
    nodes, owner = _with_images(source)
    d = nodes.shape[1]
    index = np.repeat(KDTree(nodes).query(points)[1][:, None], d + 1, axis=1)
    weight = np.concatenate([np.ones((len(points), 1)), np.zeros((len(points), d))], axis=1)
    try:
        triangulation = Delaunay(nodes)
    except (QhullError, ValueError):  # too few points, or all on one line or plane
        return owner[index], weight
    simplex = triangulation.find_simplex(points, tol=1e-9)
    inside = simplex >= 0
    transform = triangulation.transform[simplex[inside]]
    barycentric = np.einsum("nij,nj->ni", transform[:, :d], points[inside] - transform[:, d])
    shares = np.concatenate([barycentric, 1 - barycentric.sum(axis=1, keepdims=True)], axis=1)
    sound = np.isfinite(shares).all(axis=1)  # flat simplices have no barycentric coordinates
    rows = np.flatnonzero(inside)[sound]
    index[rows] = triangulation.simplices[simplex[inside]][sound]
    weight[rows] = shares[sound]
    return owner[index], weight


def _with_images(source: Discretization) -> tuple[Array, Index]:
    """The points and, along periodic axes, their copies within half a period of the domain; with whose copy it is."""
    nodes = source.points.cpu().numpy()
    owner = np.arange(len(nodes))
    box = source.bounds.cpu().numpy()
    for axis, wraps in enumerate(source.periodic):
        if wraps:
            low, high = box[axis]
            below = nodes[:, axis] > (low + high) / 2
            nodes = np.concatenate([nodes, nodes[below], nodes[~below]])
            owner = np.concatenate([owner, owner[below], owner[~below]])
            count = len(below)
            nodes[count : count + below.sum(), axis] -= high - low
            nodes[count + below.sum() :, axis] += high - low
    return nodes, owner

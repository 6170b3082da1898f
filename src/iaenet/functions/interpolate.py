"""Values of a sampled function at other points, by local interpolation: the operators I_T of the paper."""

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import Delaunay, KDTree, QhullError
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field

Index = NDArray[np.int64]
Array = NDArray[np.float64]


def interpolate(field: Field, at: Discretization) -> Field:
    """`I_T f`: the field on the points of `at`, linear in its values and exact where points coincide.

    Tensor grids and points on a line: cubic along each axis (error h^4 on uniform axes). Points in 2-D
    and 3-D: linear on Delaunay simplices, nearest point outside their hull.

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


KEPT = 64  # pairs of point sets that a discretization remembers the taps of


def taps(source: Discretization, at: Discretization) -> tuple[Tensor, Tensor]:
    """Indices and weights `(n', t)` with `f(y_j) = sum_t weight_jt f(x_index_jt)`.

    They are kept with the points that come and go, and not with a grid that many point sets are taken to; weights that
    have a gradient are not.
    """
    home, key = (at, ("taps", "from", source.key)) if at.axes is None else (source, ("taps", "to", at.key))
    if key not in home.cache:
        points = at.points.cpu()
        line = source.axes is not None or source.dim == 1
        index, weight = _grid_taps(source, points) if line else _simplex_taps(source, points)
        made = torch.from_numpy(index), weight
        if weight.requires_grad:
            return made
        kept = [known for known in home.cache if known[0] == "taps"]
        if len(kept) >= KEPT:
            del home.cache[kept[0]]
        home.cache[key] = made
    found: tuple[Tensor, Tensor] = home.cache[key]
    return found


def _grid_taps(source: Discretization, points: Tensor) -> tuple[Index, Tensor]:
    """Products of one-dimensional taps."""
    axes = source.axes if source.axes is not None else (source.points.detach()[:, 0],)
    index = np.zeros((len(points), 1), dtype=np.int64)
    weight = torch.ones((len(points), 1), dtype=torch.float64)
    box = source.bounds.cpu().numpy()
    for i, axis in enumerate(axes):
        along, share = axis_taps(axis.cpu().numpy(), points[:, i], box[i, 1] - box[i, 0], source.periodic[i])
        index = (index[:, :, None] * len(axis) + along[:, None, :]).reshape(len(points), -1)
        weight = (weight[:, :, None] * share[:, None, :]).reshape(len(points), -1)
    return index, weight


def axis_taps(axis: Array, y: Tensor, period: float, periodic: bool) -> tuple[Index, Tensor]:
    """Indices and weights `(len(y), 4)` of cubic interpolation from the points of one axis, in whatever order.

    Lagrange on the 4 nodes around y where the axis is uniform; elsewhere Hermite with the slopes of local parabolas,
    kept from running away where a small gap meets a large one.
    """
    nodes, first = np.unique(axis, return_index=True)
    if len(nodes) == 1:
        return np.broadcast_to(first[:1], (len(y), 1)).astype(np.int64), torch.ones_like(y)[:, None]
    steps = np.diff(nodes)
    uniform = np.allclose(steps, steps[0], rtol=1e-6) and (not periodic or np.isclose(len(nodes) * steps[0], period))
    if periodic:
        y = nodes[0] + torch.remainder(y - nodes[0], period)
    else:
        y = y.clamp(nodes[0], nodes[-1])  # ends are not extrapolated: beyond the last node its value is kept
    left = np.searchsorted(nodes, y.detach().numpy(), side="right") - 1
    if not periodic:
        left = np.clip(left, 0, len(nodes) - 2)
    if uniform and len(nodes) >= 4:
        start = left - 1 if periodic else np.clip(left - 1, 0, len(nodes) - 4)
        turns, inside = np.divmod(start[:, None] + np.arange(4), len(nodes))
        weight = _lagrange(torch.from_numpy(nodes[inside] + turns * period), y)
    else:
        turns, inside = np.divmod(left[:, None] + np.arange(-1, 3), len(nodes))
        x = nodes[inside] + turns * period
        if not periodic:
            # Ghost nodes continue the ends linearly: f_{-1} = 2 f_0 - f_1.
            lower, upper = left == 0, left == len(nodes) - 2
            x[lower, 0] = 2 * x[lower, 1] - x[lower, 2]
            x[upper, 3] = 2 * x[upper, 2] - x[upper, 1]
        w = _hermite(torch.from_numpy(x), y)
        if not periodic:
            for ghost, end, next_one, at in ((0, 1, 2, lower), (3, 2, 1, upper)):
                share = w[ghost] * torch.from_numpy(at)
                w[end], w[next_one], w[ghost] = w[end] + 2 * share, w[next_one] - share, w[ghost] - share
        weight = torch.stack(w, dim=1)
    return first[inside].astype(np.int64), weight


def _lagrange(x: Tensor, y: Tensor) -> Tensor:
    columns = x.unbind(1)
    parts = []
    for j, own in enumerate(columns):
        factors = [(y - other) / (own - other) for k, other in enumerate(columns) if k != j]
        parts.append(torch.stack(factors).prod(dim=0))
    return torch.stack(parts, dim=1)


def _hermite(x: Tensor, y: Tensor) -> list[Tensor]:
    """Weights of f(x_0 .. x_3) for y in [x_1, x_2], with slopes from the nodes on both sides.

    The slope at x_1 is that of the parabola through x_0, x_1, x_2. Where the gap before x_1 is more than 4 times
    smaller than [x_1, x_2] it turns into that of the chord from x_0 to x_2: noise over a tiny gap is a huge slope.
    """
    before, h, after = x.diff(dim=1).unbind(1)
    t = (y - x[:, 1]) / h
    weight = [0 * t, (1 + 2 * t) * (1 - t) ** 2, t**2 * (3 - 2 * t), 0 * t]
    for gap, slope, (outer, inner, far) in (
        (before, t * (1 - t) ** 2, (0, 1, 2)),
        (after, -(t**2) * (t - 1), (3, 2, 1)),
    ):
        # d = (parabola h + chord gap) / (h + gap) of the difference quotient over the gap, the rest of that over h.
        parabola = (4 * gap / h).clamp_max(1.0)
        near = (parabola * h + (1 - parabola) * gap) / (h + gap)
        weight[outer] = weight[outer] - slope * near * h / gap
        weight[inner] = weight[inner] + slope * (near * h / gap - (1 - near))
        weight[far] = weight[far] + slope * (1 - near)
    return weight


def _simplex_taps(source: Discretization, where: Tensor) -> tuple[Index, Tensor]:
    """Barycentric weights on the Delaunay simplices of the source points; nearest point outside the hull."""
    points = where.detach().numpy()
    nodes, owner = _with_images(source)
    d = nodes.shape[1]
    index = np.repeat(KDTree(nodes).query(points)[1][:, None], d + 1, axis=1)
    weight = np.concatenate([np.ones((len(points), 1)), np.zeros((len(points), d))], axis=1)
    try:
        triangulation = Delaunay(nodes)
    except (QhullError, ValueError):  # too few points, or all on one line or plane
        return owner[index], torch.from_numpy(weight)
    simplex = triangulation.find_simplex(points, tol=1e-9)
    inside = simplex >= 0
    transform = triangulation.transform[simplex[inside]]
    barycentric = np.einsum("nij,nj->ni", transform[:, :d], points[inside] - transform[:, d])
    shares = np.concatenate([barycentric, 1 - barycentric.sum(axis=1, keepdims=True)], axis=1)
    sound = np.isfinite(shares).all(axis=1)  # flat simplices have no barycentric coordinates
    rows = np.flatnonzero(inside)[sound]
    index[rows] = triangulation.simplices[simplex[inside]][sound]
    weight[rows] = shares[sound]
    found = torch.from_numpy(weight)
    if where.requires_grad:  # linear on a simplex
        slope = np.zeros((len(points), d + 1, d))
        slope[rows] = np.concatenate([transform[:, :d], -transform[:, :d].sum(axis=1, keepdims=True)], axis=1)[sound]
        found = found + torch.einsum("nij,nj->ni", torch.from_numpy(slope), where - where.detach())
    return owner[index], found


def _with_images(source: Discretization) -> tuple[Array, Index]:
    """The points and, along periodic axes, their copies within half a period of the domain; with whose copy it is."""
    nodes = source.points.detach().cpu().numpy()
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

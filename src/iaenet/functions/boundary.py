"""How far points are from the boundary of a domain.

    s(x) = +- min over facets F of |x - y|, y in F         positive inside the domain, negative outside

Facets are ends in 1-D, segments in 2-D, triangles in 3-D, each oriented so that the domain lies on one side of it
(`facets.py`). Whether a point is inside is told by the winding number of the facets around it.
"""

import math

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

AT_ONCE = 2**16  # pairs of points and facets: more do not fit in the caches of a processor


def signed_distance(x: Tensor, corners: Tensor) -> Tensor:
    """`s(x)` at points `x (n, d)` for facets with `corners (m, k, d)`, k of 1 to 3; positive inside: `(n,)`.

    >>> square = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> facets = square[torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]])]
    >>> signed_distance(torch.tensor([[0.5, 0.25], [2.0, 0.5]]), facets).tolist()
    [0.25, -1.0]
    """
    if torch.compiler.is_exporting() and corners.shape[1] == corners.shape[2] > 1:
        return _scanned(x, corners)
    if torch.compiler.is_compiling():  # the number of points is free: all at once
        return _signed(x, corners)
    if not len(x):
        return x.new_zeros(0)
    step = max(1, AT_ONCE // max(1, len(corners)))
    pieces = [slice(start, start + step) for start in range(0, len(x), step)]
    pairs = _near(x, corners)
    if pairs is None:
        distance = torch.cat([_distances(x[some], corners).amin(dim=1) for some in pieces])
    else:
        distance = _nearest(x, corners, *pairs)
    inside = torch.ones_like(distance, dtype=torch.bool)
    if corners.shape[1] == corners.shape[2]:  # they have an inside
        inside = _in_box(x, corners)
        some = inside.nonzero()[:, 0]
        turns = [winding(x[part], corners) for part in some.split(step)]
        inside[some] = torch.cat(turns) > 0.5 if turns else inside[some]
    return torch.where(inside, distance, -distance)


def _near(x: Tensor, corners: Tensor) -> tuple[Tensor, Tensor] | None:
    """Pairs of points and facets that may be nearest, points in order; None if there are not clearly fewer than all.

    A facet whose centre is farther than the nearest corner, and the largest facet's radius more, is not the nearest.
    """
    m, k, d = corners.shape
    if k == 1 or x.requires_grad or corners.requires_grad or len(x) * m < AT_ONCE:
        return None
    places, ends = x.detach().cpu().double().numpy(), corners.detach().cpu().double().numpy()
    centres = ends.mean(axis=1)
    radius = float(np.linalg.norm(ends - centres[:, None], axis=-1).max())
    reach = cKDTree(ends.reshape(-1, d)).query(places)[0] * (1 + 1e-9) + radius * (1 + 1e-9)
    tree = cKDTree(centres)
    counts = tree.query_ball_point(places, reach, return_length=True)
    if 4 * int(counts.sum()) > len(x) * m:
        return None
    which = np.concatenate(tree.query_ball_point(places, reach))
    points = np.repeat(np.arange(len(x)), counts)
    return torch.from_numpy(points).to(x.device), torch.from_numpy(which.astype(np.int64)).to(x.device)


def _nearest(x: Tensor, corners: Tensor, points: Tensor, facets: Tensor) -> Tensor:
    """The least distance of each point to the facets that it is paired with."""
    found = torch.full_like(x[:, 0], math.inf)
    for i, j in zip(points.split(AT_ONCE), facets.split(AT_ONCE), strict=True):
        there = [corners[j, k].T for k in range(corners.shape[1])]
        found.scatter_reduce_(0, i, _from(x[i].T, *there), "amin")
    return found


def winding(x: Tensor, corners: Tensor) -> Tensor:
    """How many times facets go around points `x (n, d)`: 1 inside and 0 outside of a closed boundary.

    Facets that have no inside, such as curves in space, go around every point once.
    """
    _, k, d = corners.shape
    if k != d:
        return torch.ones_like(x[:, 0])
    if d == 1:  # between the first and second, third and fourth ... of the ends of intervals
        return ((corners[:, 0, 0] <= x).sum(dim=1) % 2).to(x)
    ends = corners.permute(1, 2, 0)[:, :, None]
    a, b, *more = (ends - x.transpose(0, 1)[:, :, None]).unbind()  # (d, n, m) each
    if d == 2:
        return _angle(a[0] * b[1] - a[1] * b[0], _dot(a, b)).sum(dim=1) / (2 * math.pi)
    (c,) = more
    na, nb, nc = (part.norm(dim=0) for part in (a, b, c))
    volume = _dot(a, torch.linalg.cross(b, c, dim=0))
    rest = na * nb * nc + _dot(a, b) * nc + _dot(b, c) * na + _dot(c, a) * nb
    return _angle(volume, rest).sum(dim=1) / (2 * math.pi)


def _angle(y: Tensor, x: Tensor) -> Tensor:
    # ONNX Runtime has arc tangents of float32 alone. Windings are about 0 or 1, but where the distance is about 0.
    return torch.atan2(y.float(), x.float()).to(y) if torch.compiler.is_exporting() else torch.atan2(y, x)


def _scanned(x: Tensor, corners: Tensor) -> Tensor:
    """As `_signed`, a facet at a time, in programs with free numbers of points and facets: memory for n, not n m."""
    from torch._higher_order_ops.scan import scan  # not public yet, and only exports need it

    def step(carry: tuple[Tensor, Tensor], facet: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        nearest, turns = carry
        nearer = torch.minimum(nearest, _distances(x, facet[None])[:, 0])
        return (nearer, turns + winding(x, facet[None])), facet[:1, 0].clone()

    begin = torch.full_like(x[:, 0], math.inf), torch.zeros_like(x[:, 0])
    (distance, turns), _ = scan(step, begin, corners)
    inside = (turns > 0.5) & _in_box(x, corners)
    if corners.shape[2] == 2:
        return torch.where(inside, distance, -distance)
    a, b, c = corners.unbind(1)
    curve = (torch.linalg.cross(b - a, c - a) == 0).all()  # segments, their first corner twice: no inside
    return torch.where(inside | curve, distance, -distance)


def _signed(x: Tensor, corners: Tensor) -> Tensor:
    distance, inside = _distances(x, corners).amin(dim=1), winding(x, corners) > 0.5
    if corners.shape[1] == corners.shape[2]:
        inside = inside & _in_box(x, corners)
    return torch.where(inside, distance, -distance)


def _in_box(x: Tensor, corners: Tensor) -> Tensor:
    """Whether points are in the box of the facets: from outside of it a boundary is seen in half a turn at most."""
    return ((x >= corners.amin(dim=(0, 1))) & (x <= corners.amax(dim=(0, 1)))).all(dim=1)


def _distances(x: Tensor, corners: Tensor) -> Tensor:
    """Distances `(n, m)` of points to facets."""
    return _from(x.transpose(0, 1)[:, :, None], *corners.permute(1, 2, 0)[:, :, None].unbind())


def _from(x: Tensor, a: Tensor, *more: Tensor) -> Tensor:
    """Distances of points to facets, components first: sums of planes are faster than sums of three neighbours."""
    w = x - a
    if not more:
        return w.norm(dim=0)
    if len(more) == 1:
        return _to_segment(w, more[0] - a)
    b, c = more
    u, v = b - a, c - a
    edges = torch.minimum(torch.minimum(_to_segment(w, u), _to_segment(x - b, c - b)), _to_segment(w, v))
    uu, uv, vv = _dot(u, u), _dot(u, v), _dot(v, v)
    wu, wv = _dot(w, u), _dot(w, v)
    size = _positive(uu * vv - uv**2)
    s, t = (wu * vv - wv * uv) / size, (wv * uu - wu * uv) / size
    normal = torch.linalg.cross(u, v, dim=0)
    height = _dot(w, normal).abs() / _positive(normal.norm(dim=0))
    area = _dot(normal, normal)  # none: two corners are the same, or all on a line
    return torch.where((s >= 0) & (t >= 0) & (s + t <= 1) & (area > 0), height, edges)


def _to_segment(to: Tensor, along: Tensor) -> Tensor:
    t = (_dot(to, along) / _positive(_dot(along, along))).clamp(0, 1)
    return (to - t * along).norm(dim=0)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    found = a[0] * b[0]
    for i in range(1, len(a)):
        found = torch.addcmul(found, a[i], b[i])
    return found


def _positive(x: Tensor) -> Tensor:
    """Not quite 0: what is divided by the size of a facet that has none is 0, too."""
    return x.clamp_min(torch.finfo(x.dtype).tiny)

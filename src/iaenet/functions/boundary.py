"""How far points are from the boundary of a domain.

    s(x) = +- min over facets F of |x - y|, y in F         positive inside the domain, negative outside

Facets are ends in 1-D, segments in 2-D, triangles in 3-D, each oriented so that the domain lies on one side of it
(`facets.py`). Whether a point is inside is told by the winding number of the facets around it.
"""

import math

import torch
from torch import Tensor

AT_ONCE = 2**20  # pairs of points and facets


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
    step = max(1, AT_ONCE // max(1, len(corners)))
    parts = [_signed(x[start : start + step], corners) for start in range(0, len(x), step)]
    return torch.cat(parts) if parts else x.new_zeros(0)


def winding(x: Tensor, corners: Tensor) -> Tensor:
    """How many times facets go around points `x (n, d)`: 1 inside and 0 outside of a closed boundary.

    Facets that have no inside, such as curves in space, go around every point once.
    """
    _, k, d = corners.shape
    if k != d:
        return torch.ones_like(x[:, 0])
    if d == 1:  # between the first and second, third and fourth ... of the ends of intervals
        return ((corners[:, 0, 0] <= x).sum(dim=1) % 2).to(x)
    to = corners[None] - x[:, None, None]  # (n, m, k, d)
    if d == 2:
        (ax, ay), (bx, by) = to[:, :, 0].unbind(-1), to[:, :, 1].unbind(-1)
        return _angle(ax * by - ay * bx, ax * bx + ay * by).sum(dim=1) / (2 * math.pi)
    a, b, c = to.unbind(2)
    na, nb, nc = (part.norm(dim=-1) for part in (a, b, c))
    volume = _dot(a, torch.linalg.cross(b, c))
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
    if corners.shape[2] == 2:
        return torch.where(turns > 0.5, distance, -distance)
    a, b, c = corners.unbind(1)
    curve = (torch.linalg.cross(b - a, c - a) == 0).all()  # segments, their first corner twice: no inside
    return torch.where((turns > 0.5) | curve, distance, -distance)


def _signed(x: Tensor, corners: Tensor) -> Tensor:
    distance = _distances(x, corners).amin(dim=1)
    return torch.where(winding(x, corners) > 0.5, distance, -distance)


def _distances(x: Tensor, corners: Tensor) -> Tensor:
    """Distances `(n, m)` of points to facets."""
    if corners.shape[1] == 1:
        return (x[:, None] - corners[:, 0]).norm(dim=-1)
    if corners.shape[1] == 2:
        return _to_segment(x, corners[:, 0], corners[:, 1])
    a, b, c = corners.unbind(1)
    edges = torch.minimum(torch.minimum(_to_segment(x, a, b), _to_segment(x, b, c)), _to_segment(x, c, a))
    u, v, w = b - a, c - a, x[:, None] - a
    uu, uv, vv = _dot(u, u), _dot(u, v), _dot(v, v)
    wu, wv = _dot(w, u), _dot(w, v)
    size = _positive(uu * vv - uv**2)
    s, t = (wu * vv - wv * uv) / size, (wv * uu - wu * uv) / size
    normal = torch.linalg.cross(u, v)
    height = _dot(w, normal).abs() / _positive(normal.norm(dim=-1))
    area = _dot(normal, normal)  # none: two corners are the same, or all on a line
    return torch.where((s >= 0) & (t >= 0) & (s + t <= 1) & (area > 0), height, edges)


def _to_segment(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    along, to = b - a, x[:, None] - a
    t = (_dot(to, along) / _positive(_dot(along, along))).clamp(0, 1)
    return (to - t[..., None] * along).norm(dim=-1)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=-1)


def _positive(x: Tensor) -> Tensor:
    """Not quite 0: what is divided by the size of a facet that has none is 0, too."""
    return x.clamp_min(torch.finfo(x.dtype).tiny)

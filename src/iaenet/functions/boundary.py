"""The boundary of a domain: which facets it has, and how far points are from it.

    s(x) = +- min over facets F of |x - y|, y in F         positive inside the domain, negative outside

Facets are those of the domain's simplices that belong to one simplex only: ends in 1-D, segments in 2-D, triangles in
3-D, each oriented so that the domain lies on one side of it. Whether a point is inside is told by the winding number of
the facets around it.
"""

import numpy as np
from numpy.typing import NDArray

from iaenet.functions.quadrature import Array, Index

AT_ONCE = 2**20  # pairs of points and facets


def boundary_facets(points: Array, cells: Index) -> Index:
    """Facets `(m, k)` of simplices `cells (e, k + 1)` that are on one simplex alone, the domain on their left.

    Simplices of a lower dimension than the points' (a surface in space, a curve in the plane) are facets themselves.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> boundary_facets(square, np.array([[0, 1, 2], [0, 2, 3]])).tolist()
    [[0, 1], [1, 2], [2, 3], [3, 0]]
    """
    d, k = points.shape[1], cells.shape[1] - 1
    if k < d:
        return cells
    corners = points[cells]
    turned = np.linalg.det(corners[:, 1:] - corners[:, :1]) < 0
    cells = np.where(turned[:, None], cells[:, [1, 0, *range(2, k + 1)]], cells)
    # Without corner i the others are a facet whose orientation changes with i; two corners exchanged mend that.
    faces = []
    for i in range(k + 1):
        rest = [j for j in range(k + 1) if j != i]
        if i % 2 and k > 1:
            rest[:2] = rest[1::-1]
        faces.append(cells[:, rest])
    facets = np.stack(faces, axis=1).reshape(-1, k)
    _, first, uses = np.unique(np.sort(facets, axis=1), axis=0, return_index=True, return_counts=True)
    found: Index = facets[np.sort(first[uses == 1])]
    return found[np.argsort(found[:, 0], kind="stable")]


def signed_distance(x: Array, points: Array, facets: Index) -> Array:
    """`s(x)` at points `x (n, d)` for facets `(m, k)` among `points`; positive inside.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> facets = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> signed_distance(np.array([[0.5, 0.4], [2.0, 0.5]]), square, facets).tolist()
    [0.4, -1.0]
    """
    corners = points[facets]  # (m, k, d)
    step = max(1, AT_ONCE // len(facets))
    parts = [_signed(x[start : start + step], corners) for start in range(0, len(x), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _signed(x: Array, corners: Array) -> Array:
    distance = _distances(x, corners).min(axis=1)
    return np.where(_winding(x, corners) > 0.5, distance, -distance)


def _distances(x: Array, corners: Array) -> Array:
    """Distances `(n, m)` of points to facets with `corners (m, k, d)`, k of 1 to 3."""
    if corners.shape[1] == 1:
        found: Array = np.linalg.norm(x[:, None] - corners[:, 0], axis=-1)
        return found
    if corners.shape[1] == 2:
        return _to_segment(x, corners[:, 0], corners[:, 1])
    a, b, c = (corners[:, i] for i in range(3))
    edges = np.minimum(np.minimum(_to_segment(x, a, b), _to_segment(x, b, c)), _to_segment(x, c, a))
    u, v, w = b - a, c - a, x[:, None] - a
    uu, uv, vv = (np.einsum("md,md->m", *pair) for pair in ((u, u), (u, v), (v, v)))
    wu, wv = np.einsum("nmd,md->nm", w, u), np.einsum("nmd,md->nm", w, v)
    size = np.maximum(uu * vv - uv**2, 1e-300)
    s, t = (wu * vv - wv * uv) / size, (wv * uu - wu * uv) / size
    normal = np.cross(u, v)
    height = np.abs(np.einsum("nmd,md->nm", w, normal)) / np.maximum(np.linalg.norm(normal, axis=1), 1e-300)
    return np.where((s >= 0) & (t >= 0) & (s + t <= 1), height, edges)


def _to_segment(x: Array, a: Array, b: Array) -> Array:
    along = b - a
    size = np.maximum(np.einsum("md,md->m", along, along), 1e-300)
    t = np.clip(np.einsum("nmd,md->nm", x[:, None] - a, along) / size, 0, 1)
    found: Array = np.linalg.norm(x[:, None] - a - t[..., None] * along, axis=-1)
    return found


def _winding(x: Array, corners: Array) -> Array:
    """How many times the facets go around points: 1 inside and 0 outside of a closed boundary."""
    _, k, d = corners.shape
    if k != d:  # a surface with no inside that could be told by its facets
        return np.ones(len(x))
    if d == 1:
        return _between(x[:, 0], corners[:, 0, 0])
    to = corners[None] - x[:, None, None]  # (n, m, k, d)
    if d == 2:
        (ax, ay), (bx, by) = np.moveaxis(to[:, :, 0], -1, 0), np.moveaxis(to[:, :, 1], -1, 0)
        return np.arctan2(ax * by - ay * bx, ax * bx + ay * by).sum(axis=1) / (2 * np.pi)
    a, b, c = (to[:, :, i] for i in range(3))
    na, nb, nc = (np.linalg.norm(part, axis=-1) for part in (a, b, c))
    volume = np.einsum("nmd,nmd->nm", a, np.cross(b, c))
    rest = na * nb * nc + sum(np.einsum("nmd,nmd->nm", p, q) * r for p, q, r in ((a, b, nc), (b, c, na), (c, a, nb)))
    return np.arctan2(volume, rest).sum(axis=1) / (2 * np.pi)


def _between(x: Array, ends: Array) -> Array:
    """1 for points between the first and second, third and fourth ... of the ends of intervals."""
    count: NDArray[np.int64] = np.searchsorted(np.sort(ends), x, side="right")
    return (count % 2).astype(np.float64)

"""The border of a domain that was found from its points, and what lies between it and the outermost of them."""

import math

import numpy as np

from iaenet.functions.quadrature import Array, Flags, Index, Simplices, gather

# Depth of the strip between the outermost of random points and the border, over their scatter about a smooth border.
STRIP = {2: 3.3, 3: 2.0}
SMOOTH = 0.03  # scatter of the nodes of a mesh about the border that they lie on
FACETS = {d: np.array([[i for i in range(d + 1) if i != j] for j in range(d + 1)]) for d in (2, 3)}  # of a simplex


def normals(facets: Array, behind: Array) -> Array:
    """Area vectors `(m, d)` of `facets (m, d, d)`, pointing away from the points `behind (m, d)`."""
    edges = facets[:, 1:] - facets[:, :1]
    if facets.shape[2] == 2:
        vectors = np.stack([edges[:, 0, 1], -edges[:, 0, 0]], axis=1)
    else:
        vectors = np.cross(edges[:, 0], edges[:, 1]) / 2
    side = np.einsum("md,md->m", vectors, facets[:, 0] - behind)
    return np.asarray(np.where(side < 0, -1.0, 1.0)[:, None] * vectors)


def border(found: Simplices, kept: Flags) -> tuple[Index, Index, Index]:
    """Facets `(m, d)` between what is kept and what is not: the simplex kept, its corner off the facet, the facet."""
    n, d = found.nodes.shape
    dropped = found.inside & ~kept
    rows, columns = np.nonzero(
        kept[:, None] & (found.neighbours >= 0) & dropped[found.neighbours] & (found.ball[0] > 0)[:, None]
    )
    facets = found.corners[rows[:, None], FACETS[d][columns]]
    own = (facets < n).all(axis=1)
    return rows[own], columns[own], facets[own]


def scatter(nodes: Array, facets: Index, vectors: Array, spacing: Array) -> float:
    """How far nodes `(n, d)` on the border are off the mean of their neighbours there, along the normal: a median.

    In units of the local spacing; infinite where `facets (m, d)`, with area `vectors (m, d)`, are too few to tell.
    """
    n, d = nodes.shape
    ends = facets.ravel()
    counts = np.bincount(ends, minlength=n)
    edge = counts > 0
    if edge.sum() < 8:
        return math.inf
    mates = (nodes[facets].sum(axis=1, keepdims=True) - nodes[facets]) / (d - 1)
    mean = np.stack([gather(ends, mates[:, :, a].ravel(), n) for a in range(d)], axis=1)[edge] / counts[edge, None]
    normal = np.stack([gather(ends, np.repeat(vectors[:, a], d), n) for a in range(d)], axis=1)[edge]
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    offset = np.einsum("md,md->m", nodes[edge] - mean, normal) / spacing[edge]
    return float(np.median(np.abs(offset - np.median(offset))))


def strip(nodes: Array, facets: Index, behind: Array, spacing: Array) -> tuple[Array, Array]:
    """Base and depth `(n,)` of what lies between the outermost points and the border: none on a smooth border.

    Random points stay away from the border by a part of their spacing, and scatter about a smooth line or surface by
    another.
    """
    n, d = nodes.shape
    vectors = normals(nodes[facets], behind)
    found = scatter(nodes, facets, vectors, spacing)
    if not math.isfinite(found):
        return np.zeros(n), np.zeros(n)
    depth = min(STRIP[d] * max(found - SMOOTH, 0.0), 0.5) * spacing
    area = np.linalg.norm(vectors, axis=1)
    return gather(facets.ravel(), np.repeat(area / d, d), n), np.asarray(depth)

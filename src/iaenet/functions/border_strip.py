"""What lies between the outermost of scattered points and the border of their domain."""

import numpy as np

from iaenet.functions.quadrature import Array, Index, gather

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


def strip(nodes: Array, facets: Index, behind: Array, spacing: Array) -> tuple[Array, Array]:
    """Base and depth `(n,)` of what lies between the outermost points and the border: none on a smooth border.

    Random points stay away from the border by a part of their spacing, and scatter about a smooth line or surface by
    another: `e_i`, the distance along the normal between a point and the mean of its neighbours on the border.
    """
    n, d = nodes.shape
    vectors = normals(nodes[facets], behind)
    ends = facets.ravel()
    mates = (nodes[facets].sum(axis=1, keepdims=True) - nodes[facets]) / (d - 1)
    counts = np.bincount(ends, minlength=n)
    edge = counts > 0
    if edge.sum() < 8:
        return np.zeros(n), np.zeros(n)
    mean = np.stack([gather(ends, mates[:, :, a].ravel(), n) for a in range(d)], axis=1)[edge] / counts[edge, None]
    normal = np.stack([gather(ends, np.repeat(vectors[:, a], d), n) for a in range(d)], axis=1)[edge]
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    offset = np.einsum("md,md->m", nodes[edge] - mean, normal) / spacing[edge]
    scatter = float(np.median(np.abs(offset - np.median(offset))))
    depth = min(STRIP[d] * max(scatter - SMOOTH, 0.0), 0.5) * spacing
    area = np.linalg.norm(vectors, axis=1)
    return gather(ends, np.repeat(area / d, d), n), np.asarray(depth)

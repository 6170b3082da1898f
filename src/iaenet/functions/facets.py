"""The facets of a domain's boundary, in arrays, without PyTorch.

Facets are those of the domain's simplices that belong to one simplex only: ends in 1-D, segments in 2-D, triangles in
3-D, each oriented so that the domain lies on one side of it.
"""

import numpy as np

from iaenet.functions.quadrature import Array, Index


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

"""Quadrature weights: what turns a sum over points into an integral.

`int_Omega f(x) dx  ~  sum_i w_i f(x_i)`

Every rule here gives a cell to each point and uses its size as the weight, so that refining or duplicating points
does not change an integral beyond the order of the rule.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import QhullError, Voronoi

from iaenet.errors import InvalidInputError

Array = NDArray[np.float64]


def trapezoid(x: Array, low: float, high: float, periodic: bool) -> Array:
    """Weights of points `x (n,)` on the interval [low, high], in whatever order they come.

    `w_i = (x_{i+1} - x_{i-1}) / 2`. The first and last point also get what lies between them and the ends of a closed
    interval; on a periodic one the neighbours wrap around. Points that coincide share the weight of one.

    >>> trapezoid(np.array([0.0, 1.0, 0.5]), 0.0, 1.0, periodic=False).tolist()
    [0.25, 0.25, 0.5]
    """
    if periodic:
        x = low + np.mod(x - low, high - low)
    nodes, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    if periodic:
        padded = np.concatenate([[nodes[-1] - (high - low)], nodes, [nodes[0] + (high - low)]])
    else:
        padded = np.concatenate([[2 * low - nodes[0]], nodes, [2 * high - nodes[-1]]])
    cells = (padded[2:] - padded[:-2]) / 2
    return np.asarray((cells / counts)[inverse])


def monte_carlo(n: int, volume: float) -> Array:
    """Equal weights `volume / n`, for points drawn uniformly at random. Error of order n^(-1/2).

    >>> monte_carlo(4, 2.0).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    return np.full(n, volume / n)


def lumped_mass(points: Array, cells: NDArray[np.int64]) -> Array:
    """Each simplex of a mesh gives an equal share of its size to its corners; second order for smooth functions.

    `points (n, d)`, `cells (e, k + 1)` with k <= d: segments, triangles or tetrahedra, also curved surfaces in space.

    >>> lumped_mass(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[0, 1, 2]])).round(4).tolist()
    [0.1667, 0.1667, 0.1667]
    """
    edges = points[cells[:, 1:]] - points[cells[:, :1]]  # (e, k, d)
    k = edges.shape[1]
    gram = edges @ edges.transpose(0, 2, 1)
    sizes = np.sqrt(np.maximum(np.linalg.det(gram), 0.0)) / math.factorial(k)
    return _gather(cells.ravel(), np.repeat(sizes / (k + 1), k + 1), len(points))


def voronoi(points: Array, bounds: Array, periodic: tuple[bool, ...]) -> Array:
    """Sizes of the Voronoi cells of `points (n, d)`, d = 2 or 3, clipped to the box `bounds (d, 2)`.

    Mirror images in the walls clip the cells exactly, and shifted copies wrap them around periodic axes. Points that
    coincide share one cell.

    >>> square = np.array([[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]])
    >>> voronoi(square, np.array([[0.0, 1.0], [0.0, 1.0]]), (False, False)).round(12).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    low, size = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
    unit = (points - low) / size
    wraps = np.array(periodic)
    unit[:, wraps] = np.mod(unit[:, wraps], 1.0)
    nodes, inverse, counts = np.unique(unit, axis=0, return_inverse=True, return_counts=True)
    # A node on a wall is its own mirror image: its cell sticks out, by as much as lies inside.
    on_walls = ((nodes == 0.0) | (nodes == 1.0))[:, ~wraps].sum(axis=1)
    spacing = (1.0 / len(nodes)) ** (1.0 / len(size))
    # Only images near the box can matter. Leaving out one that matters makes a cell too large, which the sum shows.
    for margin in (4 * spacing, math.inf):
        cells = _cell_sizes(nodes, _images(nodes, periodic, margin), size) / 2.0**on_walls
        if abs(cells.sum() / np.prod(size) - 1) < 1e-9:
            return np.asarray((cells / counts)[inverse.ravel()])
    raise InvalidInputError(
        "Voronoi cells of these points cannot be computed reliably (points nearly coincide); "
        "merge points that are closer than about 1e-9 of the domain, or use rule='monte-carlo'"
    )


def _images(nodes: Array, periodic: tuple[bool, ...], margin: float) -> Array:
    """Mirror images in the walls and periodic copies of nodes in the unit box, those within `margin` of it."""
    images = nodes
    for axis, wraps in enumerate(periodic):
        x = images[:, axis]
        # Reflections in two walls generate shifts by two, which close the cells of nodes on a wall.
        for moved in (x - 1, x + 1) if wraps else (-x, 2 - x, x - 2, x + 2):
            copy = images[: len(x)].copy()
            copy[:, axis] = moved
            images = np.concatenate([images, copy[(moved < 0) | (moved > 1) | (wraps & (moved == 1))]])
    images = images[len(nodes) :]
    return images[np.all((images > -margin) & (images < 1 + margin), axis=1)]


def _cell_sizes(nodes: Array, images: Array, size: Array) -> Array:
    """Cell sizes by pyramids: sum over faces of (area * distance to the face) / d, in true lengths."""
    n, d = nodes.shape
    try:
        diagram = Voronoi(np.concatenate([nodes, images]) * size)
    except QhullError as error:
        raise InvalidInputError(
            f"Voronoi cells need points that span the domain: {str(error).splitlines()[0]}"
        ) from None
    pairs = diagram.ridge_points
    ours = (pairs < n).any(axis=1)
    open_faces = np.array([-1 in face for face in diagram.ridge_vertices])
    if np.any(ours & open_faces):
        return np.full(n, np.inf)  # an image that matters was left out
    faces = [face for face, keep in zip(diagram.ridge_vertices, ours, strict=True) if keep]
    pairs = pairs[ours]
    areas = _face_areas(diagram.vertices, faces, d)
    height = np.linalg.norm(diagram.points[pairs[:, 0]] - diagram.points[pairs[:, 1]], axis=1) / 2
    share = areas * height / d
    inside = pairs < n
    return _gather(pairs[inside], np.stack([share, share], axis=1)[inside], n)


def _gather(owners: NDArray[np.int64], shares: Array, n: int) -> Array:
    """Sum of the shares that each of n owners receives."""
    total = np.zeros(n)
    np.add.at(total, owners, shares)
    return total


def _face_areas(vertices: Array, faces: list[list[int]], d: int) -> Array:
    """Lengths of edges (d = 2) or areas of ordered convex polygons (d = 3)."""
    if d == 2:
        ends = vertices[np.array(faces)]
        return np.asarray(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1))
    counts = np.array([len(face) for face in faces])
    flat = np.concatenate([np.asarray(face) for face in faces])
    owner = np.repeat(np.arange(len(faces)), counts)
    first = np.cumsum(counts) - counts
    following = np.arange(len(flat)) + 1
    following[first + counts - 1] = first
    origin = vertices[flat[first]][owner]
    # Fan of triangles from the first corner; the sum of their vector areas is the polygon's.
    vectors = np.cross(vertices[flat] - origin, vertices[flat[following]] - origin) / 2
    summed = np.add.reduceat(vectors, first, axis=0)
    return np.asarray(np.linalg.norm(summed, axis=1))

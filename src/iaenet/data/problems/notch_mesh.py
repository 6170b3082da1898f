"""Triangle meshes of the notched triangle: boundary points and a graded lattice, joined by Delaunay's rule.

`Omega = triangle (0, 0), (1, 0), (1/2, sqrt(3)/2)  minus  notch [0.49, 0.51] x [0, 0.4]`

The wanted edge length is `H = 1 / divisions` far from the notch and shrinks linearly towards it,

`size(x) = min(H, tip + GRADING * distance(x, notch)),   tip = min(H / 2, width of the notch)`.

Interior points are the points of nested equilateral lattices (spacing H, H/2, H/4, ...) whose spacing fits `size`.
None lies inside the circle over a boundary segment, so every boundary segment is an edge of the Delaunay mesh, and
dropping the triangles outside Omega leaves a mesh that fills Omega exactly.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay
from skfem import MeshTri

from iaenet.errors import InvalidInputError
from iaenet.functions.quadrature import Array

Box = tuple[tuple[float, float], tuple[float, float]]

TRIANGLE = ((0.0, 0.0), (1.0, 0.0), (0.5, math.sqrt(3) / 2))  # anticlockwise, sides of length one
NOTCH: Box = ((0.49, 0.51), (0.0, 0.4))  # (left, right), (bottom, top); the bottom lies on the base of the triangle
GRADING = 0.3  # growth of the edge length per unit distance from the notch
CLEARANCE = 0.55  # least distance of an interior point from the boundary, in local edge lengths; Delaunay needs > 1/2
ON_BOUNDARY = 1e-9  # points closer to the boundary than this are taken to lie on it


@lru_cache(maxsize=8)
def notched_triangle(divisions: int, notch: Box | None = NOTCH) -> MeshTri:
    """A mesh with edges of about `1 / divisions` far from the notch; `notch=None` meshes the whole triangle.

    >>> mesh = notched_triangle(4, notch=None)
    >>> mesh.p.shape, mesh.t.shape
    ((2, 15), (3, 16))
    """
    if divisions < 2:
        raise InvalidInputError(f"a mesh needs at least 2 divisions per unit length, got {divisions}")
    outline = _outline(divisions, notch)
    points = np.concatenate([outline, _lattice(divisions, notch)])
    cells = Delaunay(points).simplices
    corners = points[cells]  # (e, 3, 2)
    (ax, ay), (bx, by) = (corners[:, 1] - corners[:, 0]).T, (corners[:, 2] - corners[:, 0]).T
    # Rounding puts points of a slanted side a hair off it; the flat triangles that this makes have no area.
    keep = (np.abs(ax * by - ay * bx) > 1e-6 / divisions**2) & (depth(corners.mean(axis=1), notch) > 0)
    mesh = MeshTri(points.T.copy(), cells[keep].T.copy())
    if len(mesh.boundary_facets()) != len(outline):
        raise InvalidInputError(f"no mesh with {divisions} divisions fits the notch {notch}; take more divisions")
    return mesh


def refined(mesh: MeshTri, size: float, notch: Box = NOTCH) -> MeshTri:
    """`mesh` with its triangles divided until no edge is longer than `min(size, max(r / 2.5, 1e-4))`.

    The vertices of `mesh` stay the first ones. r is the distance from the nearest corner of the notch: solutions are
    singular there, like `r^(2/3)` at the top and discontinuous at the base, so every ring r .. 2r needs its triangles.

    >>> mesh = notched_triangle(16)
    >>> fine = refined(mesh, 0.05)
    >>> bool(np.all(fine.p[:, : mesh.p.shape[1]] == mesh.p)), fine.p.shape[1] > mesh.p.shape[1]
    (True, True)
    """
    tips = np.array([(x, y) for x in notch[0] for y in notch[1]])
    while True:
        corners = mesh.p.T[mesh.t.T]  # (e, 3, 2)
        longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1)
        r = np.linalg.norm(corners.mean(axis=1)[:, None] - tips, axis=-1).min(axis=1)
        too_long = np.flatnonzero(longest > (1 + 1e-9) * np.minimum(size, np.maximum(r / 2.5, 1e-4)))
        if not len(too_long):
            return mesh
        mesh = mesh.refined(too_long)


def outer_boundary(mesh: MeshTri, notch: Box | None = NOTCH) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Vertices of `mesh` on the sides of the triangle, and the segments `(e, 2)` between them as indices of that list.

    >>> vertices, segments = outer_boundary(notched_triangle(4, notch=None), notch=None)
    >>> vertices.shape, segments.shape
    ((12,), (12, 2))
    """
    ends = mesh.facets[:, mesh.boundary_facets()]  # (2, e)
    if notch is not None:
        ends = ends[:, notch_distance(mesh.p[:, ends].mean(axis=1).T, notch) > ON_BOUNDARY]
    vertices, indices = np.unique(ends, return_inverse=True)
    return vertices.astype(np.int64), indices.reshape(2, -1).T.astype(np.int64)


def depth(points: Array, notch: Box | None = NOTCH) -> Array:
    """Distance of `points (n, 2)` in Omega from its boundary; negative outside.

    >>> depth(np.array([[0.25, 0.1], [0.5, 0.1]])).round(3).tolist()
    [0.1, -0.01]
    """
    starts, sides = _sides()
    inward = np.stack([-sides[:, 1], sides[:, 0]], axis=1)
    inside: Array = np.einsum("nsd,sd->ns", points[:, None] - starts, inward).min(axis=1)
    return inside if notch is None else np.minimum(inside, notch_distance(points, notch))


def notch_distance(points: Array, notch: Box = NOTCH) -> Array:
    """Distance of `points (n, 2)` from the walls and the top of the notch; negative inside it.

    >>> notch_distance(np.array([[0.48, 0.2], [0.5, 0.6], [0.5, 0.2]])).round(3).tolist()
    [0.01, 0.2, -0.01]
    """
    (left, right), (_, top) = notch
    x, y = points[:, 0], points[:, 1]
    aside, above = np.maximum(left - x, x - right), y - top
    outside = np.hypot(np.maximum(aside, 0), np.maximum(above, 0))
    return np.where(outside > 0, outside, np.maximum(aside, above))


def nearest_on_sides(points: Array) -> Array:
    """The nearest points on the three sides of the triangle, `(n, 2) -> (n, 2)`.

    >>> nearest_on_sides(np.array([[0.5, 1.0]])).round(3).tolist()
    [[0.5, 0.866]]
    """
    starts, sides = _sides()
    along = np.clip(np.einsum("nsd,sd->ns", points[:, None] - starts, sides), 0, 1)
    feet = starts + along[..., None] * sides  # (n, 3, 2)
    nearest = np.linalg.norm(points[:, None] - feet, axis=-1).argmin(axis=1)
    found: Array = feet[np.arange(len(points)), nearest]
    return found


def _sides() -> tuple[Array, Array]:
    """Starting points and unit vectors of the sides, anticlockwise."""
    starts = np.array(TRIANGLE)
    return starts, np.roll(starts, -1, axis=0) - starts


def _size(points: Array, divisions: int, notch: Box | None) -> Array:
    if notch is None:
        return np.full(len(points), 1 / divisions)
    return np.minimum(1 / divisions, _tip(divisions, notch) + GRADING * np.maximum(notch_distance(points, notch), 0))


def _tip(divisions: int, notch: Box) -> float:
    return min(0.5 / divisions, notch[0][1] - notch[0][0])


def _outline(divisions: int, notch: Box | None) -> Array:
    """Points around the boundary: each edge holds a whole number of steps, equal when measured in the wanted size."""
    corners = [np.array(corner) for corner in TRIANGLE]
    if notch is not None:
        (left, right), (bottom, top) = notch
        walls = [(left, bottom), (left, top), (right, top), (right, bottom)]
        corners[1:1] = [np.array(corner) for corner in walls]
    fine = np.linspace(0, 1, 2001)
    points = []
    for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
        pace = np.linalg.norm(end - start) / _size(start + fine[:, None] * (end - start), divisions, notch)
        steps = np.concatenate([[0.0], np.cumsum((pace[1:] + pace[:-1]) / 2) / (len(fine) - 1)])
        count = max(1, math.ceil(steps[-1] - 1e-6))
        along = np.interp(np.arange(count) * steps[-1] / count, steps, fine)
        points.append(start + along[:, None] * (end - start))
    return np.concatenate(points)


def _lattice(divisions: int, notch: Box | None) -> Array:
    """Points of nested equilateral lattices: level l has spacing `2^-l / divisions`; each point of the finest is kept
    if it belongs to the level that fits the wanted size there, and is clear of the boundary.
    """
    finest = 0 if notch is None else math.ceil(-math.log2(_tip(divisions, notch) * divisions))
    n = divisions * 2**finest
    i, j = np.triu_indices(n + 1)
    j = j - i  # row i has the points j = 0 .. n - i
    points = np.stack([(j + i / 2) / n, i * math.sqrt(3) / 2 / n], axis=1)
    level = np.clip(np.ceil(-np.log2(_size(points, divisions, notch) * divisions) - 0.5), 0, finest).astype(np.int64)
    stride = 2 ** (finest - level)
    fits = (i % stride == 0) & (j % stride == 0)
    kept: Array = points[fits & (depth(points, notch) > CLEARANCE * 0.5**level / divisions)]
    return kept

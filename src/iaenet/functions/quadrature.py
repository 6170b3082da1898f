"""Quadrature weights: what turns a sum over points into an integral.

`int_Omega f(x) dx  ~  sum_i w_i f(x_i)`

Every rule here gives a cell to each point and uses its size as the weight, so that refining or duplicating points
does not change an integral beyond the order of the rule.
"""

import functools
import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve, distance_transform_edt
from scipy.spatial import Delaunay

from iaenet.errors import InvalidInputError

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Flags = NDArray[np.bool_]

FLAT = 1e-12  # a cell whose size over (longest edge)^k is below this has no size
AT_WALL = 1e-7  # nearer to a wall of the unit box, a node and its mirror image are one to a triangulation
SLIVER = 1e-10  # the same for Delaunay simplices: those of cospherical points, whose centres are lost to rounding


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


def lumped_mass(points: Array, cells: Index) -> Array:
    """Each simplex of a mesh gives an equal share of its size to its corners; second order for smooth functions.

    `points (n, d)`, `cells (e, k + 1)` with k <= d: segments, triangles or tetrahedra, also curved surfaces in space.
    Cells without size and cells that come twice are refused.

    >>> lumped_mass(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[0, 1, 2]])).round(4).tolist()
    [0.1667, 0.1667, 0.1667]
    """
    (n, d), k = points.shape, cells.shape[1] - 1
    ordered = np.sort(cells, axis=1)
    order = np.lexsort(ordered.T)
    again = np.flatnonzero(np.all(ordered[order][1:] == ordered[order][:-1], axis=1))
    if len(again):
        first = min(again, key=lambda at: order[at + 1])
        raise InvalidInputError(f"cell {order[first + 1]} is cell {order[first]} again; leave it out")
    # Lengths over the extent of the mesh, so that no power of them overflows; for full cells that of each axis.
    extent = np.ptp(points, axis=0)
    unit = np.where(extent > 0, extent, 1.0) if k == d else np.full(d, extent.max() or 1.0)
    edges = points[cells[:, 1:]] / unit - points[cells[:, :1]] / unit  # (e, k, d)
    sides = np.linalg.qr(edges.transpose(0, 2, 1), mode="r")
    sizes = np.abs(np.diagonal(sides, axis1=1, axis2=2)).prod(axis=1) / math.factorial(k)
    longest = np.linalg.norm(edges, axis=2).max(axis=1)
    flat = np.flatnonzero(sizes <= FLAT * longest**k)
    if len(flat):
        raise InvalidInputError(
            f"cell {flat[0]} {cells[flat[0]].tolist()} is flat: its corners coincide or lie on one line or plane; "
            f"leave it out ({len(flat)} such cells)"
        )
    return gather(cells, sizes[:, None] / (k + 1), n) * float(np.prod(unit[:k]))


def gather(owners: Index, shares: Array, n: int) -> Array:
    """Sum of the shares that each of n owners receives.

    >>> gather(np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]), 3).tolist()
    [4.0, 0.0, 2.0]
    """
    return np.bincount(owners.ravel(), np.broadcast_to(shares, owners.shape).ravel(), n).astype(np.float64)


def across(operation: np.ufunc, rows: NDArray[Any]) -> NDArray[Any]:
    """What an operation makes of the few entries of each row `(e, k)` -> `(e,)`; numpy's own way is slow there.

    >>> across(np.maximum, np.array([[1, 3], [4, 2]])).tolist()
    [3, 4]
    """
    return np.asarray(functools.reduce(operation, rows.T))


def binned(nodes: Array, periodic: tuple[bool, ...], whole: bool = False, per_bin: int = 16) -> Array:
    """Weights of distinct `nodes (n, d)` of the unit box by equal bins: size of the bin over its number of nodes.

    In linear time, for very many nodes. Bins without nodes are no part of the domain, unless most bins around them are
    or with `whole`; then they belong to the nearest bin with nodes. A bin on the border counts for as much of its size
    as its number of nodes suggests beside its neighbours.

    >>> x = (np.arange(32) + 0.5) / 32
    >>> grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    >>> [round(float(binned(part, (False, False)).sum()), 1) for part in (grid, grid[grid[:, 0] < 0.5])]
    [1.0, 0.5]
    """
    n, d = nodes.shape
    m = max(1, int((n / per_bin) ** (1 / d)))
    place = np.ravel_multi_index(tuple(np.minimum((nodes * m).astype(np.int64), m - 1).T), (m,) * d)
    counts = np.bincount(place, minlength=m**d).reshape((m,) * d).astype(np.float64)

    def around(values: Array) -> Array:
        wide = np.pad(values, [(1, 1)] * d)
        for axis in np.flatnonzero(periodic):
            ends = np.take(wide, [m, 1], axis=axis)
            wide[(slice(None),) * axis + ([0, m + 1],)] = ends
        return np.asarray(convolve(wide, np.ones((3,) * d), mode="constant")[(slice(1, -1),) * d])

    filled = counts > 0
    near = np.round(around(filled.astype(np.float64)))
    domain = np.full_like(filled, True) if whole else filled | (near >= 0.7 * (around(np.ones_like(counts)) - 1))
    nearest = distance_transform_edt(~filled, return_distances=False, return_indices=True)
    owner = np.ravel_multi_index(tuple(axis[domain] for axis in nearest), (m,) * d)
    sizes = np.bincount(owner, minlength=m**d).reshape(counts.shape).astype(np.float64)
    border = filled & (np.round(around((~domain).astype(np.float64))) > 0)
    inner = np.where(filled & ~border, 1.0, 0.0)
    beside, inner_beside = around(counts * inner), np.round(around(inner))
    expected = np.divide(beside, inner_beside, out=np.zeros_like(beside), where=inner_beside > 0)
    partly = border & (expected > 0)
    sizes[partly] = np.minimum(sizes[partly], counts[partly] / expected[partly])
    share = np.divide(sizes, counts, out=np.zeros_like(sizes), where=filled) / m**d
    return np.asarray(share.ravel()[place])


def distinct(unit: Array, periodic: tuple[bool, ...], decimals: int) -> tuple[Array, Index, Index]:
    """Nodes `(m, d)` of points `(n, d)` in the unit box, the first point of each node, and the node of each point.

    Points that agree to so many decimals are one node, and so are those on both ends of a periodic axis.

    >>> distinct(np.array([[0.5, 0.2], [0.0, 0.2], [1.0 - 1e-16, 0.2]]), (True, False), 10)[2].tolist()
    [1, 0, 0]
    """
    walls = np.round(unit)
    at_wall = np.abs(unit - walls) < AT_WALL
    place = np.where(at_wall, walls, np.round(unit, decimals))
    fine = np.where(at_wall, walls, np.round(unit, 13)) if decimals >= 10 else place.copy()
    for array in (place, fine):
        array[:, list(periodic)] %= 1.0
    order = np.lexsort(place.T)
    new = np.append(True, np.any(place[order][1:] != place[order][:-1], axis=1))
    inverse = np.empty(len(unit), np.int64)
    inverse[order] = np.cumsum(new) - 1
    first = order[new]
    return fine[first], first, inverse


@dataclass(frozen=True)
class Simplices:
    """Delaunay simplices of `nodes (n, d)` in the unit box and of their images outside it.

    Mirror images in closed walls clip the Voronoi cells to the box, and shifted copies wrap them around periodic axes.
    `points (p, d)` are the nodes, then images; point i is one of node `source[i]`.
    """

    nodes: Array
    points: Array
    source: Index
    periodic: tuple[bool, ...]
    corners: Index  # (e, d + 1)
    neighbours: Index  # (e, d + 1): the simplex opposite to each corner, or -1
    stars: tuple[Index, Index]  # neighbours of each point: where each list starts, and all lists

    @classmethod
    def of(cls, nodes: Array, points: Array, source: Index, periodic: tuple[bool, ...]) -> "Simplices":
        """Triangulate the points."""
        made = Delaunay(points)
        corners, neighbours = made.simplices.astype(np.int64), made.neighbors.astype(np.int64)
        return cls(nodes, points, source, periodic, corners, neighbours, made.vertex_neighbor_vertices)

    @functools.cached_property
    def ball(self) -> tuple[Array, Array, Array, Array]:
        """Sizes `(e,)`, radii `(e,)` and centres `(e, d)` of the circumscribed balls, and the pyramids `(e, d + 1)`.

        A pyramid is the signed size of the part of the simplex between a facet and the centre: `|T| lambda_j` with the
        barycentric coordinates lambda of the centre. Flat simplices have size 0 and radius infinity.
        """
        d = self.nodes.shape[1]
        at = self.points[self.corners]
        edges = at[:, 1:] - at[:, :1]
        squares = np.einsum("ekd,ekd->ek", edges, edges)
        if d == 2:
            normals = np.stack([edges[:, 1, ::-1] * [1, -1], edges[:, 0, ::-1] * [-1, 1]], axis=1)
        else:
            normals = np.cross(edges[:, [1, 2, 0]], edges[:, [2, 0, 1]])
        # Cofactors: edge j times normal k is the determinant if j = k, else 0. Exact enough for thin simplices.
        determinant = np.einsum("ed,ed->e", edges[:, 0], normals[:, 0])
        sizes = np.abs(determinant) / math.factorial(d)
        flat = sizes <= SLIVER * across(np.maximum, squares) ** (d / 2)
        determinant[flat] = 1.0
        to_centre = np.einsum("ek,ekd->ed", squares, normals) / (2 * determinant[:, None])
        rest = np.einsum("ekd,ed->ek", normals, to_centre) * np.sign(determinant)[:, None] / math.factorial(d)
        pyramids = np.concatenate([sizes[:, None] - rest.sum(axis=1, keepdims=True), rest], axis=1)
        sizes[flat], pyramids[flat] = 0.0, 0.0
        radii = np.where(flat, np.inf, np.linalg.norm(to_centre, axis=1))
        return sizes, radii, to_centre + at[:, 0], pyramids

    @functools.cached_property
    def inside(self) -> Flags:
        """Whether each simplex has a corner `(e,)` among the nodes themselves."""
        return across(np.logical_or, self.corners < len(self.nodes))

    @functools.cached_property
    def shares(self) -> Array:
        """Part `(e, d + 1)` of each simplex that is nearest to each corner; negative where the centre lies outside.

        A facet's pyramid is divided as the facet is: `(|T| - |T| lambda_i) / 2` in the plane, by recursion in space.
        """
        sizes, _, _, pyramids = self.ball
        if self.nodes.shape[1] == 2:
            return np.asarray((sizes[:, None] - pyramids) / 2)
        shares = np.zeros_like(pyramids)
        at = self.points[self.corners]
        squares = {pair: ((at[:, pair[0]] - at[:, pair[1]]) ** 2).sum(axis=1) for pair in combinations(range(4), 2)}
        for j in range(4):
            facet = [i for i in range(4) if i != j]
            c, b, a = (squares[pair] for pair in combinations(facet, 2))
            centre = np.stack([a * (b + c - a), b * (c + a - b), c * (a + b - c)], axis=1)
            total = centre.sum(axis=1, keepdims=True)
            centre = np.divide(centre, total, out=np.full_like(centre, 1 / 3), where=total > 0)
            shares[:, facet] += pyramids[:, j : j + 1] * (1 - centre) / 2
        return shares

    def weights(self, kept: Flags, shares: Array) -> Array:
        """What each node receives from the simplices kept; a node on walls has half of its cell outside for each."""
        closed = ~np.array(self.periodic)
        on_walls = ((self.nodes == 0.0) | (self.nodes == 1.0))[:, closed].sum(axis=1)
        own = (self.corners < len(self.nodes)) & kept[:, None]
        return np.asarray(gather(self.corners[own], shares[own], len(self.nodes)) / 2.0**on_walls)

    def cells(self, kept: Flags) -> Index:
        """Simplices kept, without mirror images, each once and by the numbers of its nodes."""
        if not any(self.periodic):  # all images are mirror images
            own = across(np.logical_and, self.corners < len(self.nodes))
            return np.asarray(self.corners[kept & own & (self.ball[0] > 0)])
        closed = ~np.array(self.periodic)
        at = self.points[self.corners]
        centroid = at.mean(axis=1)
        mirrored = ((at < 0) | (at > 1))[:, :, closed].any(axis=(1, 2))
        once = np.all((centroid >= 0) & (centroid < 1), axis=1)
        cells = self.source[self.corners[kept & once & ~mirrored & (self.ball[0] > 0)]]
        ordered = np.sort(cells, axis=1)
        return np.asarray(cells[np.all(ordered[:, 1:] > ordered[:, :-1], axis=1)])


def images(nodes: Array, periodic: tuple[bool, ...], reach: Array) -> tuple[Array, Index]:
    """The nodes, then their images that lie no further than `reach (n, d, 2)` beyond the low and high walls."""
    points, source = nodes, np.arange(len(nodes))
    for axis, wraps in enumerate(periodic):
        x = points[:, axis]
        # Reflections in two walls generate shifts by two, which close the cells of nodes on a wall.
        moves = (x - 1, x + 1, x - 2, x + 2) if wraps else (-x, 2 - x, x - 2, x + 2)
        all_points, all_sources = [points], [source]
        for side, moved in zip((0, 1, 0, 1), moves, strict=True):
            beyond = moved - 1 if side else -moved
            taken = ((beyond > 0) | (wraps & (moved == 1))) & (beyond <= reach[source, axis, side])
            copies = points[taken].copy()
            copies[:, axis] = moved[taken]
            all_points.append(copies)
            all_sources.append(source[taken])
        points, source = np.concatenate(all_points), np.concatenate(all_sources)
    return points, source

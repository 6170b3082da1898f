"""Triangle meshes of plane domains, finer near curved boundaries: a graded lattice, joined by Delaunay's rule.

The wanted edge length is `far` and shrinks linearly towards the curves,

`size(x) = far * clip(near + (1 - near) distance(x, curves) / reach, near, 1)`.

Interior points are those of nested equilateral lattices (spacing far, far / 2, far / 4, ...) that fit `size`. None lies
in the circle over a boundary segment, so that every boundary segment is an edge of the Delaunay mesh. One step halfway
to the mean of the neighbours then smooths the lattice.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.spatial import Delaunay, cKDTree

from iaenet.errors import InvalidInputError
from iaenet.functions.quadrature import Array

Cells = NDArray[np.int64]
Box = tuple[tuple[float, float], tuple[float, float]]

CLEARANCE = 0.6  # least distance of a lattice point from a curve, in its edge lengths; Delaunay needs > 1/2
WALL_CLEARANCE = 0.55  # the same for straight walls
LEAST_QUALITY = 0.1  # of a triangle
BEYOND = 1e9  # stands for distances that are of no interest
TRIES = 20  # lattices, at random angles, until one gives a mesh


class Curve(Protocol):
    """A simple closed curve."""

    def outline(self, count: int, start: float = 0.0) -> Array:
        """Points `(count, 2)` around it, anticlockwise; `start` in [0, 1) may shift them by a part of a step."""
        ...

    def holds(self, points: Array) -> NDArray[np.bool_]:
        """Which of `points (n, 2)` lie inside it."""
        ...


@dataclass(frozen=True)
class Mesh:
    """Vertices `(n, 2)`, those on the boundary first, and triangles `(e, 3)`, anticlockwise.

    `loops` are the numbers of vertices on each hole and then on the outer boundary, anticlockwise in this order.
    """

    points: Array
    cells: Cells
    loops: tuple[int, ...]

    @property
    def boundary(self) -> Cells:
        """Segments `(e, 2)` of the boundary.

        >>> Mesh(np.zeros((5, 2)), np.zeros((0, 3), dtype=np.int64), (3,)).boundary.tolist()
        [[0, 1], [1, 2], [2, 0]]
        """
        ends = np.cumsum(self.loops)
        after = np.arange(1, ends[-1] + 1)
        after[ends - 1] = ends - self.loops
        return np.stack([np.arange(ends[-1]), after], axis=1)


@dataclass(frozen=True)
class Region:
    """The inside of `outer`, or of the whole `box`, without the `holes`.

    box: lowest and highest coordinate along each axis.
    holes: curves inside, apart from each other; none only where there is an outer one.
    outer: curve inside the box. Default None, the walls of the box.
    reach: distance from the curves up to which edges grow. Default 0.2.
    unfold: conformal map of the region, `(n, 2) -> (n, 2)`. Delaunay's rule joins the images of the points: where a
        hole has a cusp, points of its two sides are close, and only an image that opens the cusp keeps them apart.
        Default None, the points themselves.
    guess: `far sqrt(count / area of the box)` to begin with; a good one saves time. Default 1.2.
    """

    box: Box
    holes: tuple[Curve, ...]
    outer: Curve | None = None
    reach: float = 0.2
    unfold: Callable[[Array], Array] | None = None
    guess: float = 1.2
    _dense: list[Array] = field(init=False, repr=False)  # points around each curve
    _trees: list[cKDTree] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        dense = [curve.outline(720) for curve in self.curves]
        object.__setattr__(self, "_dense", dense)
        object.__setattr__(self, "_trees", [cKDTree(points) for points in dense])

    @property
    def curves(self) -> tuple[Curve, ...]:
        """The holes, and then the outer curve if there is one."""
        return self.holes if self.outer is None else (*self.holes, self.outer)

    def distance(self, points: Array) -> Array:
        """Distance of `points (n, 2)` from the nearest curve, `BEYOND` if above `reach`; -1 outside the region."""
        inside = np.ones(len(points), dtype=bool) if self.outer is None else self.outer.holds(points)
        for hole in self.holes:
            inside &= ~hole.holds(points)
        found = np.full(len(points), -1.0)
        near = [tree.query(points[inside], distance_upper_bound=self.reach)[0] for tree in self._trees]
        found[inside] = np.minimum(np.min(near, axis=0), BEYOND)
        return found

    def mesh(self, count: int, near: float, rng: np.random.Generator) -> Mesh:
        """About `count` vertices; edges at the curves are `near` times those far away. A new lattice at each call.

        >>> from iaenet.data.problems.plane_curves import Ellipse
        >>> region = Region(((0, 1), (0, 1)), (Ellipse(np.array([0.5, 0.5]), np.array([0.2, 0.1]), 0.3),))
        >>> mesh = region.mesh(400, 0.4, np.random.default_rng(0))
        >>> abs(len(mesh.points) - 400) <= 4
        True
        """
        (left, right), (bottom, top) = self.box
        if count < 50 or not 0.01 <= near <= 1:
            raise InvalidInputError(f"a mesh needs 50 vertices or more and 0.01 <= near <= 1, got {count} and {near}")
        far = self.guess * math.sqrt((right - left) * (top - bottom)) / math.sqrt(count)
        for _ in range(TRIES):
            angle, shift, start = rng.uniform(0, np.pi / 3), rng.random(2), rng.random()
            for _ in range(8):  # the edge length that gives the count
                loops = self._loops(far, near, start)
                inner = self._lattice(far, near, angle, shift)
                found = sum(map(len, loops)) + len(inner)
                if abs(found - count) <= 0.01 * count:
                    break
                far *= math.sqrt(found / count)
            sizes = tuple(map(len, loops))
            points = np.concatenate([*loops, inner])
            points = smoothed(points, self._triangles(points, sizes), sum(sizes))
            cells = self._triangles(points, sizes)
            if fills(points, cells, sizes) and quality(points, cells).min() > LEAST_QUALITY:
                return Mesh(points, cells, sizes)
        raise InvalidInputError(f"no mesh of {count} vertices fits {self}; take more of them")

    def _triangles(self, points: Array, loops: tuple[int, ...]) -> Cells:
        cells = triangles(points if self.unfold is None else self.unfold(points), loops)
        # Rounding puts points of a straight wall a hair off it; the flat triangles that this makes have no area.
        return cells[areas(points, cells) > 1e-9 * np.prod(np.ptp(points, axis=0))]

    def _loops(self, far: float, near: float, start: float) -> list[Array]:
        loops = []
        for curve, dense in zip(self.curves, self._dense, strict=True):
            length = np.linalg.norm(np.diff(dense, axis=0), axis=1).sum()
            loops.append(curve.outline(max(3, round(length / (near * far))), start))
        return loops if self.outer is not None else [*loops, self._walls(far)]

    def _steps(self, far: float) -> tuple[int, int]:
        """Steps along each wall, at most `far` long."""
        (left, right), (bottom, top) = self.box
        return math.ceil((right - left) / far), math.ceil((top - bottom) / far)

    def _walls(self, far: float) -> Array:
        (left, right), (bottom, top) = self.box
        s, t = (np.arange(steps) / steps for steps in self._steps(far))
        sides = [(s, 0 * s), (0 * t + 1, t), (1 - s, 0 * s + 1), (0 * t, 1 - t)]
        unit = np.concatenate([np.stack(side, 1) for side in sides])
        return np.array([left, bottom]) + unit * np.array([right - left, top - bottom])

    def _lattice(self, far: float, near: float, angle: float, shift: Array) -> Array:
        """Points of nested lattices: level l has spacing `2^-l far`, and is there where so short edges are wanted."""
        levels = round(-math.log2(near))
        finest = far / 2**levels
        low, high = np.array(self.box, dtype=np.float64).T
        middle = (low + high) / 2
        turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        dense = np.concatenate(self._dense)
        clear = 0.0
        if self.outer is None:
            clear = WALL_CLEARANCE * float(np.max((high - low) / self._steps(far)))
        places, points = [], []
        for level in range(levels + 1):
            first, last = low, high
            if level:  # only near the curves
                width = self.reach * (2 ** (0.5 - level) - near) / max(1 - near, 1e-9) + finest
                first = np.maximum(low, dense.min(axis=0) - width)
                last = np.minimum(high, dense.max(axis=0) + width)
            corners = np.array([(x, y) for x in (first[0], last[0]) for y in (first[1], last[1])])
            at = ((corners - middle) @ turn.T - far * shift) / finest
            at[:, 1] /= math.sqrt(3) / 2
            at[:, 0] -= at[:, 1] / 2
            stride = 2 ** (levels - level)
            ranges = zip(np.floor(at.min(axis=0) / stride), np.ceil(at.max(axis=0) / stride), strict=True)
            i, j = (part.ravel() for part in np.meshgrid(*(stride * np.arange(a, b + 1) for a, b in ranges)))
            if level:  # the others belong to a coarser level
                new = (i % (2 * stride) != 0) | (j % (2 * stride) != 0)
                i, j = i[new], j[new]
            x = np.stack([i + j / 2, math.sqrt(3) / 2 * j], 1) * finest
            x = middle + (x + far * shift) @ turn
            inside = (x > np.maximum(first, low + clear)) & (x < np.minimum(last, high - clear))
            kept = np.flatnonzero(inside.all(axis=1))
            distance = self.distance(x[kept])
            wanted = np.clip(near + (1 - near) * distance / self.reach, near, 1)
            kept = kept[(np.rint(-np.log2(wanted)) >= level) & (distance > CLEARANCE * near * far)]
            places.append(np.stack([j[kept], i[kept]]))
            points.append(x[kept])
        order = np.lexsort(np.concatenate(places, axis=1)[::-1])
        return np.concatenate(points)[order]


def triangles(points: Array, loops: tuple[int, ...]) -> Cells:
    """Delaunay triangles `(e, 3)` between vertices as in `Mesh`, without those in holes or outside.

    These have their corners on one loop, in the loop's order clockwise for the outer one, anticlockwise for a hole.
    """
    cells = Delaunay(points).simplices.astype(np.int64)
    loop = np.concatenate([np.repeat(np.arange(len(loops)), loops), np.full(len(points) - sum(loops), len(loops))])
    first = loop[cells[:, 0]]
    on_one = (first < len(loops)) & np.all(loop[cells] == first[:, None], axis=1)
    a, b, c = points[np.sort(cells, axis=1)].transpose(1, 2, 0)
    turns = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    outer = first == len(loops) - 1
    return cells[~(on_one & ((turns < 0) == outer))]


def smoothed(points: Array, cells: Cells, fixed: int) -> Array:
    """`points`, of which all but the first `fixed` go halfway to the mean of their neighbours."""
    starts, ends = edges(cells, len(points))[0].T
    links = csr_matrix((np.ones(len(starts)), (starts, ends)), (len(points), len(points)))
    links = links + links.T
    mean = (links @ points) / np.maximum(np.diff(links.indptr), 1)[:, None]
    return np.concatenate([points[:fixed], 0.5 * (points + mean)[fixed:]])


def fills(points: Array, cells: Cells, loops: tuple[int, ...]) -> bool:
    """Whether triangles have the segments of the loops as their boundary, fill it, and use every vertex.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> [fills(square, np.array(cells), (4,)) for cells in ([[0, 1, 2], [0, 2, 3]], [[0, 1, 2]])]
    [True, False]
    """
    found, uses = edges(cells, len(points))
    wanted, _ = edges(Mesh(points, cells, loops).boundary, len(points))
    sizes = []
    for loop in np.split(points[: sum(loops)], np.cumsum(loops)[:-1]):
        (x, y), (x_next, y_next) = loop.T, np.roll(loop, -1, axis=0).T
        sizes.append(0.5 * abs(np.sum(x * y_next - y * x_next)))
    return bool(
        len(np.unique(cells)) == len(points)
        and np.array_equal(found[uses == 1], wanted)
        and abs(areas(points, cells).sum() - (sizes[-1] - sum(sizes[:-1]))) < 1e-9 * sizes[-1]
    )


def edges(cells: Cells, n: int) -> tuple[Cells, Cells]:
    """Edges `(e, 2)` of cells between n points, each once, and how many cells each belongs to.

    >>> [part.tolist() for part in edges(np.array([[0, 1, 2], [2, 1, 3]]), 4)]
    [[[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]], [1, 1, 2, 1, 1]]
    """
    k = cells.shape[1]
    ends = np.sort(np.concatenate([cells[:, [i, j]] for j in range(k) for i in range(j)]), axis=1)
    keys, uses = np.unique(ends[:, 0] * n + ends[:, 1], return_counts=True)
    return np.stack(np.divmod(keys, n), axis=1), uses


def areas(points: Array, cells: Cells) -> Array:
    """Areas `(e,)` of triangles.

    >>> areas(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[0, 1, 2]])).tolist()
    [0.5]
    """
    (ax, ay), (bx, by) = ((points[cells[:, k]] - points[cells[:, 0]]).T for k in (1, 2))
    size: Array = 0.5 * np.abs(ax * by - ay * bx)
    return size


def quality(points: Array, cells: Cells) -> Array:
    """`4 sqrt(3) area / (sum of the squares of the sides)` of triangles `(e,)`: 1 if equilateral, 0 if flat.

    >>> quality(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[0, 1, 2]])).round(3).tolist()
    [0.866]
    """
    corners = points[cells]
    good: Array = areas(points, cells) / ((corners - np.roll(corners, 1, axis=1)) ** 2).sum(axis=(1, 2))
    return 4 * math.sqrt(3) * good

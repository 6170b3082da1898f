"""The domain that scattered points fill, and the size of each point's part of it.

`w_i = sum_T |T cap C_i|` over the Delaunay simplices `T` kept, with `C_i` the Voronoi cell of point i: the sizes of the
Voronoi cells wherever all simplices are kept. A simplex is dropped (an alpha shape, Edelsbrunner and Mucke 1994) where
its empty circumscribed ball is large against the local spacing of the points.
"""

import contextlib
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree, QhullError

from iaenet.functions.beyond_walls import reach
from iaenet.functions.border_strip import SMOOTH, border, normals, scatter, strip
from iaenet.functions.quadrature import Array, Flags, Index, Simplices, across, binned, distinct, images, trapezoid
from iaenet.functions.spacing import local_spacing
from iaenet.functions.void_ends import to_their_ends

# Radii of empty balls in units of the local spacing times the upper quartile of all such ratios (about 0.73 for random
# points, 0.6 for the nodes of a mesh). Random points in a box exceed VOID, or VOID_AT_WALL for balls centred on a wall,
# in at most one set of a hundred. A void then reaches as far as balls exceed EDGE or EDGE_AT_WALL.
VOID = {2: 3.4, 3: 2.5}
VOID_AT_WALL = {2: 4.2, 3: 2.9}
EDGE, EDGE_AT_WALL = 1.6, 1.2
# Size of a connected set of such simplices, in units of the local spacing, that is a void even where no ball is large:
# flat voids. Random points in a box have at most 11 (2-D) and 3 (3-D) away from its walls.
LARGE = {2: 30.0, 3: 12.0}
QUARTILE = 0.9  # a larger upper quartile is that of points on curves or surfaces
FEWEST = 32  # fewer points say too little about their domain: it is the box
MOST = 2**17  # more points are weighed by bins
NEAR_WALLS = 2.5  # in mean spacings: only nodes that near to a wall, or hardly any others, have cells that reach it
# Decimals of places in the unit box: fewer where points nearly coincide and no triangulation is sound. In space that is
# so for points closer than CLOSE: balls through them may be of any size.
DECIMALS = (10, 6)
CLOSE = 9e-7


class Domain(NamedTuple):
    """A domain that is known: which places `(m, d)` of the unit box belong to it, and its measure, if that is known."""

    inside: Callable[[Array], Flags]
    measure: float | None = None


class Shape(NamedTuple):
    """Weights `(n,)` that add up to the measure of the domain, its simplices `(e, d + 1)`, and what it is, in words."""

    weights: Array
    cells: Index | None
    domain: str


BOX = "the whole box"


def scattered(
    points: Array, bounds: Array, periodic: tuple[bool, ...], whole: bool = False, known: Domain | None = None
) -> Shape:
    """The domain of any `points (n, d)` in the box `bounds (d, 2)`, d = 2 or 3; with `whole` it is the box in any case.

    A domain that is `known` need not be found.

    Points that coincide, up to 1e-10 of the box or to 1e-6 if need be, share one cell, and within 1e-7 of a wall they
    lie on it. Points that have no cells (too few, or on one line or plane, where no axis is periodic) have equal
    weights, and more than 2^17 points are weighed by bins.

    >>> square = np.array([[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]])
    >>> scattered(square, np.array([[0.0, 1.0], [0.0, 1.0]]), (False, False)).weights.round(12).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    low, size = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
    unit = np.clip((points - low) / size, 0.0, 1.0)
    for decimals in DECIMALS:
        nodes, first, inverse = distinct(unit, periodic, decimals)
        made = alpha_shape(nodes, periodic, whole, known) if len(nodes) <= MOST else None
        if made is not None or len(nodes) > MOST:
            break
    if made is None:
        weights = binned(nodes, periodic, whole)
        made = Shape(weights, None, _in_words(weights.sum()))
    weights = (made.weights / np.bincount(inverse))[inverse] * np.prod(size)
    return Shape(weights, None if made.cells is None else first[made.cells], made.domain)


def alpha_shape(
    nodes: Array, periodic: tuple[bool, ...], whole: bool = False, known: Domain | None = None
) -> Shape | None:
    """The domain of distinct `nodes (n, d)` of the unit box, d = 2 or 3; with `whole` it is the box in any case.

    None if some nodes are too close to each other, or to images, for cells that fill the box.

    >>> x = (np.arange(20) + 0.5) / 20
    >>> grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    >>> alpha_shape(grid, (False, False)).domain
    'the whole box'
    >>> alpha_shape(grid[~np.all(grid > 0.5, axis=1)], (False, False)).domain
    '72.6 % of its box, found from the points'
    """
    n, d = nodes.shape
    if d == 3 and KDTree(nodes).query(nodes, 2)[0][:, 1].min() < CLOSE:
        return None
    flat = n <= d or np.linalg.svd(nodes - nodes.mean(axis=0), compute_uv=False)[-1] < 1e-9 * math.sqrt(n)
    if flat:
        return _flat(nodes, periodic)
    if known is None and d == 2 and n > FEWEST and not any(periodic) and _fills_bins(nodes):
        made = _whole_box(nodes, whole)
        if made is not None:
            return made
    try:
        plain = Simplices.of(nodes, nodes, np.arange(n), periodic)
        spacing = local_spacing(plain)
        # Images near the box are enough almost always. One that is missing makes a cell too large, which the sum shows.
        for spacings in (3.0, 12.0, math.inf) if n > FEWEST else (math.inf,):
            beyond = reach(plain, spacings * spacing, everywhere=spacings > 3)
            found = Simplices.of(nodes, *images(nodes, periodic, beyond), periodic)
            if known is not None:
                kept: Flags | None = found.inside & known.inside(found.points[found.corners].mean(axis=1))
            else:
                kept = None if whole or n < FEWEST else _without_voids(found, spacing)
            if kept is not None and kept.any():
                return _part(found, kept, spacing, known.measure if known else None)
            weights = found.weights(found.inside, found.shares)
            off = abs(weights.sum() - 1)
            if off < 1e-9 or (spacings > 3 and n * 5**d > 2**17):
                break
    except QhullError:
        return None
    if off > (1e-6 if spacings == math.inf else 1e-2):
        return None
    return _box(found, weights)


def _box(found: Simplices, weights: Array) -> Shape | None:
    """All of the box; None if a node is so close to another that it has no simplex, or a cell that is none."""
    left_out = np.bincount(found.corners.ravel(), minlength=len(found.nodes))[: len(found.nodes)].min() == 0
    if left_out or weights.min() < -1e-8:
        return None
    weights = _positive(found, weights, found.inside)
    return Shape(weights / weights.sum(), found.cells(found.inside), BOX)


def _fills_bins(nodes: Array, per_bin: int = 8) -> bool:
    """Whether there are nodes in every one of equal bins of the unit box: if not, there may be voids."""
    n, d = nodes.shape
    m = max(1, int((n / per_bin) ** (1 / d)))
    place = np.minimum((nodes * m).astype(np.int64), m - 1) @ m ** np.arange(d)
    return bool(np.bincount(place, minlength=m**d).all())


def _whole_box(nodes: Array, whole: bool) -> Shape | None:
    """What `alpha_shape` finds where nodes fill a closed box evenly, by one triangulation; None where that does not do.

    Nodes within a few spacings of the walls have images. Whether more are needed is seen from the sum of the weights.
    """
    n, d = nodes.shape
    closed = (False,) * d
    try:
        found = Simplices.of(nodes, *images(nodes, closed, np.full((n, d, 2), NEAR_WALLS * n ** (-1 / d))), closed)
    except QhullError:
        return None
    weights = found.weights(found.inside, found.shares)
    if abs(weights.sum() - 1) > 1e-9 or not (whole or _without_voids(found, local_spacing(found)) is None):
        return None
    return _box(found, weights)


def _flat(nodes: Array, periodic: tuple[bool, ...]) -> Shape:
    """Nodes without simplices of their own: cells among their images if an axis is periodic, else equal parts."""
    n, d = nodes.shape
    wide = ~(np.array(periodic) & (np.ptp(nodes, axis=0) < 1e-7))  # at one place of a periodic axis all is constant
    rest = tuple(wraps for wraps, keep in zip(periodic, wide, strict=True) if keep)
    if sum(wide) == 1:
        return Shape(trapezoid(nodes[:, wide][:, 0], 0.0, 1.0, rest[0]), None, BOX)
    if sum(wide) == 2 < d and (made := alpha_shape(nodes[:, wide], rest, whole=True)) is not None:
        return made._replace(cells=None)
    if any(periodic) and n < FEWEST:
        with contextlib.suppress(QhullError):
            places = images(np.round(nodes, 8), periodic, np.full((n, d, 2), np.inf))
            found = Simplices.of(places[0][:n], *places, periodic)
            weights = found.weights(found.inside, found.shares)
            if abs(weights.sum() - 1) < 1e-6 and weights.min() > 0:
                return Shape(weights / weights.sum(), None, BOX)
    few = f"{n} distinct point{'s' if n > 1 else ''}, too few for cells"
    why = few if n <= d else f"the points span no {'area' if d == 2 else 'volume'}"
    return Shape(np.full(n, 1 / n), None, f"{BOX} in equal parts: {why}")


def _in_words(measure: float) -> str:
    return BOX if abs(measure - 1) < 1e-9 else f"{100 * measure:.3g} % of its box, found from the points"


def _positive(found: Simplices, weights: Array, kept: Flags) -> Array:
    """Weights with the same sum, all positive: a tenth of equal shares of the simplices where there was nothing."""
    if np.all(weights > 0):
        return weights
    sizes, d = found.ball[0], found.nodes.shape[1]
    equal = found.weights(kept, np.repeat(sizes[:, None] / (d + 1), d + 1, axis=1))
    raised = np.where(weights > 0, weights, np.maximum(0.1 * equal, weights[weights > 0].min()))
    return np.asarray(raised * (weights.sum() / raised.sum()))


def _at_wall(found: Simplices) -> Flags:
    closed = ~np.array(found.periodic)
    _, radii, centres, _ = found.ball
    if not closed.any():
        return np.zeros(len(radii), bool)
    off = np.minimum(np.abs(centres), np.abs(centres - 1))[:, closed]
    return np.asarray(across(np.minimum, off) < 1e-6 * np.where(np.isfinite(radii), radii, 0.0))


def _without_voids(found: Simplices, spacing: Array) -> Flags | None:
    """Which simplices `(e,)` belong to the domain, or None if they all do or too few to hold the points.

    As in edge detection, two thresholds: a void is a connected set of simplices beyond the lower one, with a simplex
    beyond the higher one, or of a size that chance does not make.
    """
    d = found.nodes.shape[1]
    sizes, radii, _, _ = found.ball
    local = across(np.maximum, spacing[found.source[found.corners]])
    ratio = radii / local
    solid = found.inside & np.isfinite(radii)
    within = solid & across(np.logical_and, found.corners < len(found.nodes))
    if not within.any():
        return None
    ratio /= min(float(np.quantile(ratio[within], 0.75)), QUARTILE)
    at_wall = _at_wall(found)
    seeds = solid & (ratio > np.where(at_wall, VOID_AT_WALL[d], VOID[d]))
    loose = found.inside & (ratio > np.where(at_wall, EDGE_AT_WALL, EDGE))
    volumes = np.where(loose & ~at_wall, sizes, 0.0) / local**d
    if not seeds.any() and volumes.sum() <= LARGE[d]:
        return None
    rows, columns = np.nonzero(loose[:, None] & (found.neighbours >= 0) & loose[found.neighbours])
    links = (np.ones(len(rows), bool), (rows, found.neighbours[rows, columns]))
    _, label = connected_components(coo_array(links, shape=(len(loose), len(loose))), directed=False)
    in_void = np.bincount(label, volumes) > LARGE[d]
    in_void[label[seeds]] = True
    if not in_void.any():
        return None
    kept = found.inside & ~(loose & in_void[label])
    # Points on curves or surfaces have no such domain.
    bare = np.bincount(found.corners[kept].ravel(), minlength=len(found.points))[: len(found.nodes)] == 0
    if bare.mean() > 0.1:
        return None
    rows, columns, facets = border(found, kept)
    vectors = normals(found.nodes[facets], found.points[found.corners[rows, columns]])
    is_mesh = scatter(found.nodes, facets, vectors, spacing) < SMOOTH
    return to_their_ends(found, kept) if d == 2 and is_mesh else np.asarray(kept)


def _part(found: Simplices, kept: Flags, spacing: Array, measure: float | None) -> Shape:
    """Weights of a domain that is a part of the box; with its `measure` they add up to that."""
    d = found.nodes.shape[1]
    sizes, _, _, pyramids = found.ball
    dropped = found.inside & ~kept
    at_border = kept[:, None] & (found.neighbours >= 0) & dropped[found.neighbours]
    # What a simplex takes from a neighbour that was dropped cannot be made good there: equal shares instead.
    beyond = (at_border & (pyramids < -1e-9 * sizes[:, None])).any(axis=1) & ~_at_wall(found)
    shares = np.where(beyond[:, None], sizes[:, None] / (d + 1), found.shares)
    weights = _positive(found, found.weights(kept, shares), kept)
    rows, columns, facets = border(found, kept)
    areas, depth = strip(found.nodes, facets, found.points[found.corners[rows, columns]], spacing)
    if measure is None:
        weights += areas * depth
        weights /= max(1.0, weights.sum())
    else:  # what is missing lies along the border
        missing = areas * ((measure - weights.sum()) / max(areas.sum(), 1e-300))
        weights = np.maximum(weights + missing, 0.1 * weights)
        weights *= measure / weights.sum()
    return Shape(weights, found.cells(kept), _in_words(weights.sum()))

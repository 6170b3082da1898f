"""A boundary that the user gives: facets in any order and orientation, and which side of them is the domain.

Facets are segments in 2-D and triangles in 3-D. Each connected piece is turned so that neighbours agree; pieces inside
one another bound the domain and its holes by turns. The domain is the side that the sample's points are on. Where that
is the outside of all pieces (a body in a box), the walls of the box bound it, too.
"""

import itertools

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from iaenet.errors import InvalidInputError
from iaenet.functions.alpha_shape import Domain, scattered
from iaenet.functions.boundary import AT_ONCE, signed_distance, winding
from iaenet.functions.discretization import Discretization
from iaenet.functions.domain_measure import volume
from iaenet.functions.point_checks import checked_cells, finite_numbers
from iaenet.functions.quadrature import Array, Flags, Index

FAR = 1e3  # walls across periodic axes, in boxes: far away in every direction
SAME = 9  # decimals, in the box, to which corners that coincide agree


def with_boundary(source: Discretization, points: ArrayLike, facets: ArrayLike) -> Discretization:
    """The same points in a domain whose boundary is given: corners `(v, d)` and facets `(m, d)` that name d of them.

    Distances are taken from it, see `iaenet.functions.geometry`. Points without a mesh that were weighed by cells are
    weighed anew: cells in the domain count, and all weights add up to its measure. On periodic axes the boundary is
    continued.

    >>> x = (torch.arange(20) + 0.5) / 20
    >>> square = [[0.25, 0.25], [0.75, 0.25], [0.75, 0.75], [0.25, 0.75]]
    >>> around = torch.cartesian_prod(x, x)[((torch.cartesian_prod(x, x) - 0.5).abs() > 0.25).any(dim=1)]
    >>> ring = with_boundary(Discretization.points(around), square, [[0, 1], [1, 2], [2, 3], [3, 0]])
    >>> round(ring.measure, 2), len(ring.boundary[1])
    (0.75, 8)
    """
    corners = finite_numbers(points, "corners of the boundary", ndim=2)
    d = source.dim
    if corners.shape[1] != d:
        raise InvalidInputError(f"the boundary lies in {corners.shape[1]}-D, but the points in {d}-D")
    index = checked_cells(facets, len(corners), d) if d > 1 else _ends(facets, len(corners))
    if index.shape[1] != d:
        kind = {2: "segments", 3: "triangles"}.get(d, f"facets of {d} corners")
        raise InvalidInputError(f"the boundary of a domain in {d}-D consists of {kind}, got {index.shape[1]} corners")
    low, high = source.bounds.cpu().numpy().T
    unit, index = _merged((corners - low) / (high - low), index)
    own = ((source.points.cpu().numpy() - low) / (high - low)).astype(np.float64)
    unit, index = _around(*_continued(unit, index, source.periodic), own, source.periodic)
    weights, cells, words = source.weights, source.cells, source.domain
    if source.rule == "cells" and d in (2, 3):
        at = source.points.cpu().numpy()

        def inside(middles: Array) -> Flags:
            return np.asarray(signed_distance(torch.from_numpy(middles), torch.from_numpy(unit[index])) > 0)

        within = unit.min() >= 0 and unit.max() <= 1
        known = Domain(inside, float(volume(torch.from_numpy(unit[index]))) if within else None)
        found, made, words = scattered(at, source.bounds.cpu().numpy(), source.periodic, known=known)
        weights = torch.from_numpy(found).to(weights)
        cells = None if made is None else torch.from_numpy(made).to(weights.device)
        words = words.replace("found from the points", "by its boundary")
    bound = torch.from_numpy(low + (high - low) * unit).to(weights), torch.from_numpy(index).to(weights.device)
    return Discretization(
        source.points,
        weights,
        source.bounds,
        source.periodic,
        source.axes,
        rule=source.rule,
        cells=cells,
        domain=words,
        boundary=bound,
    )


def _ends(facets: ArrayLike, count: int) -> Index:
    index = np.asarray(facets, dtype=np.int64).reshape(-1, 1)
    if not len(index) or index.min() < 0 or index.max() >= count:
        raise InvalidInputError(f"facets must name corners 0 to {count - 1}")
    return index


def _merged(points: Array, facets: Index) -> tuple[Array, Index]:
    """Corners that coincide are one (files of triangles repeat them), and facets without size are none."""
    _, first, inverse = np.unique(points.round(SAME), axis=0, return_index=True, return_inverse=True)
    facets = inverse.reshape(-1)[facets]
    ordered = np.sort(facets, axis=1)
    sound = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
    if not sound.any():
        raise InvalidInputError("the boundary has no facet with a size")
    _, once = np.unique(ordered[sound], axis=0, return_index=True)
    return points[first], facets[sound][np.sort(once)]


def _continued(points: Array, facets: Index, periodic: tuple[bool, ...]) -> tuple[Array, Index]:
    """The facets, and their images one period away along periodic axes."""
    steps = list(itertools.product(*[(0, -1, 1) if wraps else (0,) for wraps in periodic]))
    if len(steps) == 1:
        return points, facets
    images = np.concatenate([points + np.array(step) for step in steps])
    return _merged(images, np.concatenate([facets + i * len(points) for i in range(len(steps))]))


def _around(points: Array, facets: Index, own: Array, periodic: tuple[bool, ...]) -> tuple[Array, Index]:
    """Facets with the domain of the points `own (n, d)` on one side, and the walls of the box where they bound it."""
    facets = _turned(facets)
    piece = _pieces(facets)
    pieces = [facets[piece == i] for i in range(piece.max() + 1)]
    # A point lies inside an odd number of pieces, or outside of all; points on the boundary do not say.
    off = signed_distance(torch.from_numpy(own), torch.from_numpy(points[facets])).abs().numpy() > 10.0**-SAME
    counts = _enclosing(own[off], points, pieces)
    if np.mean(counts % 2 == 0) > 0.5 if len(counts) else False:
        low, high = np.array([(-FAR, 1 + FAR) if wraps else (0.0, 1.0) for wraps in periodic]).T
        corners, walls = _box(low, high)
        pieces.append(walls + len(points))
        points = np.concatenate([points, corners])
    turned = []
    for i, part in enumerate(pieces):
        others = [other for j, other in enumerate(pieces) if j != i]
        hole = _enclosing(points[part[:1, 0]], points, others)[0] % 2 == 1
        forward = len(periodic) == 1 or float(volume(torch.from_numpy(points[part]))) > 0
        turned.append(part if forward != hole else _flipped(part))
    return points, np.concatenate(turned)


def _enclosing(x: Array, points: Array, pieces: list[Index]) -> Index:
    """How many pieces go around each of the points x."""
    count = np.zeros(len(x), np.int64)
    for piece in pieces:
        corners = torch.from_numpy(points[piece])
        for some in np.array_split(np.arange(len(x)), max(1, len(x) * len(piece) // AT_ONCE)):
            count[some] += (winding(torch.from_numpy(x[some]), corners).abs() > 0.5).numpy()
    return count


def _ridges(facets: Index) -> tuple[Index, Index, Flags]:
    """Pairs of facets `(r,), (r,)` that share a ridge (a corner, an edge) with no third, and whether they agree there.

    Neighbours agree if they run through their ridge in opposite directions.
    """
    m, k = facets.shape
    if k == 1:
        none = np.zeros(0, np.int64)
        return none, none, np.zeros(0, bool)
    sides = [facets[:, [j for j in range(k) if j != i]] for i in range(k)]
    ridges = np.concatenate([side if i % 2 == 0 or k < 3 else side[:, ::-1] for i, side in enumerate(sides)])
    sign = np.concatenate([np.full(m, i % 2 == 0) for i in range(k)]) if k == 2 else ridges[:, 0] < ridges[:, -1]
    owner = np.tile(np.arange(m), k)
    _, inverse, uses = np.unique(np.sort(ridges, axis=1), axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(inverse.reshape(-1), kind="stable")
    starts = (np.cumsum(uses) - uses)[uses == 2]
    a, b = order[starts], order[starts + 1]
    return owner[a], owner[b], np.asarray(sign[a] != sign[b])


def _turned(facets: Index) -> Index:
    """Facets with the orientation of their neighbours, as far as these are connected."""
    m = len(facets)
    a, b, agree = _ridges(facets)
    if agree.all():
        return facets
    graph = coo_array((np.where(agree, 1, 2), (a, b)), shape=(m, m)).tocsr()
    graph = graph.maximum(graph.T)
    flip, seen = np.zeros(m, bool), np.zeros(m, bool)
    for start in range(m):
        if seen[start]:
            continue
        order, before = breadth_first_order(graph, start, directed=False)
        seen[order] = True
        turns = np.asarray(graph[before[order[1:]], order[1:]]).ravel() == 2
        for one, turn in zip(order[1:], turns, strict=True):
            flip[one] = flip[before[one]] ^ turn
    found = facets.copy()
    found[flip] = _flipped(facets[flip])
    return found


def _flipped(facets: Index) -> Index:
    return facets[:, [1, 0, *range(2, facets.shape[1])]] if facets.shape[1] > 1 else facets


def _pieces(facets: Index) -> Index:
    """Number of the connected piece that each facet belongs to; on a line all ends are one."""
    m, k = facets.shape
    if k == 1:
        return np.zeros(m, np.int64)
    corner = facets.ravel()
    links = (np.ones(m * k, bool), (np.repeat(np.arange(m), k), m + corner))
    size = m + int(corner.max()) + 1
    _, label = connected_components(coo_array(links, shape=(size, size)), directed=False)
    return np.unique(label[:m], return_inverse=True)[1].reshape(-1).astype(np.int64)


def _box(low: Array, high: Array) -> tuple[Array, Index]:
    """Corners and facets of a box, looking outward."""
    d = len(low)
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    if d == 1:
        return corners, np.array([[0], [1]])
    if d == 2:
        return corners, np.array([[0, 2], [2, 3], [3, 1], [1, 0]])
    if d > 3:
        raise InvalidInputError(f"boundaries are given in 1, 2 or 3 dimensions, not {d}")
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    return corners, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])

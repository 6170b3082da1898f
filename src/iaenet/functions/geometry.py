"""The domain of a sample as functions that a network can see: its measure, and the distance to its boundary.

    chi(z) = sum_k B_k(z) int_Omega B_k dx        about 1 in the domain and 0 outside, on the latent grid
    s(x)                                          signed distance to the boundary, positive inside, at any points

Both are taken in the unit box, so that stretching an axis changes nothing, and both from the boundary, where the domain
has one: they are the same whatever points are in it.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from iaenet.functions.between import between
from iaenet.functions.boundary import signed_distance
from iaenet.functions.discretization import Discretization
from iaenet.functions.domain_measure import volume
from iaenet.functions.latent_grid import LatentGrid, unit

Geometry = Literal["measure", "distance"]
SCALE = 4.0  # distances in quarters of the box: most are between -1 and 1
PIECES = 8  # of a segment of a curve, for its measure
SAME = 1e-3  # difference up to which weights and boundary tell of the same domain


def on_nodes(grid: LatentGrid, what: Geometry, source: Discretization) -> Tensor:
    """One of the domain's functions at the nodes of a latent grid: `(s, 1)`; kept with the discretization."""
    if source.moved_from is not None and grid.is_kept_by(source.moved_from[1]):
        domain, motion = source.moved_from
        moved: Tensor = motion.on_grid(on_nodes(grid, what, domain)[None], grid.shape, grid.periodic)[0]
        return moved
    key = (*grid.key, what)
    if key not in source.cache:
        if what == "measure":
            source.cache[key] = grid.measure_of(*_along_segments(source), enclosing(source))
        else:
            source.cache[key] = distance_at(source, grid.coordinates.to(source.bounds.device))
    kept: Tensor = source.cache[key]
    return kept


def own_distance(source: Discretization) -> Tensor:
    """`s` at the points of a discretization itself, `(n, 1)`; kept with it."""
    if source.moved_from is not None:  # an image has its points in the same order
        return own_distance(source.moved_from[0])
    if "own distance" not in source.cache:
        thin = source.given_boundary is None and source.cells is not None and source.cells.shape[1] <= source.dim
        x = unit(source, source)[0]
        source.cache["own distance"] = torch.zeros_like(x[:, :1]) if thin else distance_at(source, x)  # it is its nodes
    kept: Tensor = source.cache["own distance"]
    return kept


def distance_of(source: Discretization, target: Discretization) -> Tensor:
    """`s` of a domain at the points of another discretization, `(m, 1)`; kept with one of them."""
    if source.moved_from is not None and target.moved_from is not None:
        (domain, motion), (points, other) = source.moved_from, target.moved_from
        if motion == other:  # they were moved together
            return distance_of(domain, points)
    return between("distance", source, target, lambda: distance_at(source, unit(target, source)[0]))


def distance_at(source: Discretization, x: Tensor) -> Tensor:
    """`s(x)` at points `x (m, d)` of the unit box of a discretization: `(m, 1)`.

    The boundary is the discretization's; without one, that of the box, where its axes are closed.

    >>> grid = Discretization.uniform((3, 3))
    >>> distance_at(grid, torch.tensor([[0.5, 0.5], [0.5, 0.25]], dtype=torch.float64)).flatten().tolist()
    [2.0, 1.0]
    """
    return distance_to(boundary_corners(source), x, source.periodic)


def distance_to(corners: Tensor | None, x: Tensor, periodic: Sequence[bool], bounded: Tensor | None = None) -> Tensor:
    """`s(x)` at points `x (m, d)` of the unit box for facets with `corners (f, k, d)` there: `(m, 1)`.

    Without facets, or if `bounded` says that they do not count, the boundary is that of the box, where its axes are
    closed.
    """
    if corners is not None:
        found = SCALE * signed_distance(x, corners.to(x))[:, None]
        return found if bounded is None else torch.where(bounded, found, distance_to(None, x, periodic))
    closed = [axis for axis, wraps in enumerate(periodic) if not wraps]
    if not closed:
        return torch.full_like(x[:, :1], SCALE / 2)
    return SCALE * torch.minimum(x[:, closed], 1 - x[:, closed]).amin(dim=1, keepdim=True)


def boundary_corners(source: Discretization) -> Tensor | None:
    """Corners `(f, k, d)` of the facets of a discretization's boundary in its unit box; None if it has none.

    >>> corner = Discretization.mesh([[0, 0], [2, 0], [0, 2]], [[0, 1, 2]], bounds=[[0, 2], [0, 2]])
    >>> boundary_corners(corner)[1].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    boundary = source.boundary
    if boundary is None:
        return None
    low, high = source.bounds.unbind(1)
    return ((boundary[0] - low) / (high - low))[boundary[1]]


def enclosing(source: Discretization) -> Tensor | None:
    """The facets of the boundary, as `boundary_corners`, if they enclose what the weights of the points add up to.

    They do for a mesh. Random points stay away from the border of their domain, and a surface has no inside.
    """
    corners, d = boundary_corners(source), source.dim
    if corners is None or d not in (2, 3) or corners.shape[1] != d:
        return None
    return corners if bool(encloses(corners, source.weights.sum() / source.volume)) else None


def encloses(corners: Tensor, total: Tensor) -> Tensor:
    """Whether facets `(f, d, d)` enclose an area or a volume of this size."""
    return (volume(corners) - total).abs() <= SAME * total


def measured(
    corners: Tensor | None, bounded: Tensor | None, total: Tensor
) -> tuple[Tensor, Tensor] | tuple[None, None]:
    """Facets `(f, k, d)`, and whether the measure is theirs: if they count, and enclose what the weights add up to."""
    if corners is None or corners.shape[1] != corners.shape[2] or corners.shape[2] not in (2, 3):
        return None, None
    closed = encloses(corners, total)
    return corners, closed if bounded is None else closed & bounded


def _along_segments(source: Discretization) -> tuple[Tensor, Tensor]:
    """Points and weights of the measure, in the unit box: the given ones; on curves the middles of `PIECES` parts of
    each segment, since a line is thinner than what a grid holds and gaps between its points would show.
    """
    points, weights = unit(source, source)
    if source.cells is None or source.cells.shape[1] != 2 or source.dim < 2:
        return points, weights
    return along_segments(points[source.cells], source.bounds)


def points_or_segments(
    points: Tensor, weights: Tensor, corners: Tensor, bounds: Tensor, curve: Tensor
) -> tuple[Tensor, Tensor]:
    """Points and weights of the measure where a program leaves open whether the domain is a curve.

    `points (n, d)` and `weights (n,)` are those given, and `corners (f, d, d)` begin with the ends of the segments of
    a `curve ()`.
    """
    middles, sizes = along_segments(corners[:, :2], bounds)
    shares = torch.cat([weights * ~curve, sizes * curve])
    return torch.cat([points, middles]), shares


def along_segments(ends: Tensor, bounds: Tensor) -> tuple[Tensor, Tensor]:
    """Points `(k, d)` and weights `(k,)` along segments with `ends (e, 2, d)` in the unit box of `bounds (d, 2)`.

    >>> ends, bounds = torch.tensor([[[0.0, 0.0], [1.0, 0.0]]]), torch.tensor([[0.0, 3.0], [0.0, 1.0]])
    >>> points, weights = along_segments(ends, bounds)
    >>> points[:2, 0].tolist(), weights.sum().item()  # a segment of length 3 in a box of size 3
    ([0.0625, 0.1875], 1.0)
    """
    width = bounds[:, 1] - bounds[:, 0]
    share = ((torch.arange(PIECES) + 0.5) / PIECES).to(ends)[:, None, None]
    between = (1 - share) * ends[:, 0] + share * ends[:, 1]
    length = ((ends[:, 1] - ends[:, 0]) * width).norm(dim=1) / width.prod()
    return between.flatten(0, 1), (length / PIECES).repeat(PIECES)


def with_channel(values: Tensor, function: Tensor) -> Tensor:
    """A function `(s, 1)` as one more channel of values `(b, s, c)`."""
    return torch.cat([values, function.to(values)[None].expand(values.shape[0], -1, -1)], dim=-1)

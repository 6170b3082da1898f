"""The network's own grid: E takes a function there from any points, D reads it off at any points.

E is the projection (`projection.py`), evaluated at the nodes; on tensor grids, and on a line, axis by axis. D is the
smoothest function of the same kind through the values at the nodes. Between a uniform grid of the same shape and the
latent grid both are the identity.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.axis_projection import (
    axis_encoder,
    axis_reader,
    band,
    fills,
    reader,
    regularity,
    smoothest,
    uniform_nodes,
)
from iaenet.functions.discretization import Discretization
from iaenet.functions.domain_measure import boundary_moments
from iaenet.functions.field import Field
from iaenet.functions.projection import PENALTY, SCATTERED, Projection, apply_axes, read_points

MOST_COEFFICIENTS = {2: 441, 3: 729}  # of scattered points: an equation of this size is solved for each sample
MOST_PERIODIC = 1089  # the same in periodic squares, of fine grids, half of what they hold: small eddies matter in time
AXIS = 2**14  # points along an axis up to which a matrix is made for it; more are summed up some at a time
KEPT_GRID, KEPT_POINTS = 2**26, 2**21  # bytes of the matrices that a grid, or a sample's own points, may keep
BOXES = 64  # that the grid is kept in as a discretization
READ = 2**22  # numbers of an intermediate when functions are read off without a gradient

Matrices = tuple[Tensor, ...]


class LatentGrid:
    """Uniform nodes, `shape (s_1 .. s_d)`: `j / s` on a periodic axis, `j / (s - 1)` on a closed one, of the unit box.

    `smoothing` is that of the `Projection` of point sets in 2-D and 3-D; `best_smoothing` finds it from functions.
    `extend` says whether functions on curves and surfaces, of cells thinner than their space, are continued into it by
    one rule whatever their points are (`Projection.thin_penalty`).

    >>> grid = LatentGrid((64,), (False,))
    >>> some = Discretization.points(torch.rand(200, 1, generator=torch.Generator().manual_seed(0)))
    >>> latent = grid.encode(some, (3 * some.points).sin()[None])
    >>> other = Discretization.points([[0.2], [0.7]])
    >>> bool(torch.allclose(grid.read_off(latent, other), (3 * other.points).sin(), atol=1e-4))
    True
    """

    def __init__(
        self, shape: Sequence[int], periodic: Sequence[bool], smoothing: float = 1.0, extend: bool = False
    ) -> None:
        self.shape = tuple(int(size) for size in shape)
        self.periodic = tuple(periodic)
        if len(self.shape) != len(self.periodic) or min(self.shape) < 4:
            raise InvalidInputError(
                f"a latent grid has at least 4 points along each of {len(self.periodic)} axes, got {list(self.shape)}"
            )
        self.size = math.prod(self.shape)
        self.scattered = Projection(_modes(self.shape, self.periodic), self.periodic, smoothing)
        self.extend = extend
        self.key = ("latent", self.shape, self.periodic, smoothing, extend)
        self._boxes: dict[str, Discretization] = {}
        self._smoothest = [
            None if wraps else smoothest(size) for size, wraps in zip(self.shape, self.periodic, strict=True)
        ]  # made here, and not in a call that is traced

    @property
    def nodes(self) -> list[Tensor]:
        """Coordinates along each axis, float64."""
        return [uniform_nodes(size, wraps) for size, wraps in zip(self.shape, self.periodic, strict=True)]

    @property
    def coordinates(self) -> Tensor:
        """Coordinates of all nodes, `(s_1 .. s_d, d)`, flattened."""
        return torch.cartesian_prod(*self.nodes).reshape(self.size, len(self.shape))

    def in_box(self, bounds: Tensor) -> Discretization:
        """The grid in a box `(d, 2)`, as a discretization; the same object for the same box."""
        key = f"{bounds.tolist()} {bounds.device}"
        if key not in self._boxes:
            if len(self._boxes) >= BOXES:
                self._boxes.clear()
            self._boxes[key] = Discretization.uniform(self.shape, self.periodic, bounds.tolist()).to(bounds.device)
        return self._boxes[key]

    def encode(self, source: Discretization, values: Tensor) -> Tensor:
        """E: values `(b, n, c)` at the points of `source` -> values at the nodes `(b, s_1 .. s_d, c)`, flattened."""
        exact = values.to(source.weights)  # sums over many points: float32 would lose a digit
        matrices = self._axiswise(source, source, "encode", axis_encoder, exact)
        if matrices is None:
            if not values.requires_grad and not bool(values.any()):  # as a constant is, once it is normalised
                return values.new_zeros(len(values), self.size, values.shape[2])
            thin = self.extend and source.cells is not None and source.cells.shape[1] <= source.dim
            return self.project(*unit(source, source), values, thin)
        return apply_axes(matrices, exact).to(values) if matrices else values

    def encoded(self, field: Field) -> Tensor:
        """E of a field, `(b, s, c)`. What was projected once is kept with it, unless a gradient is wanted."""
        values, where = field.batch_values, field.discretization
        if values.requires_grad or where.axes is not None:
            return self.encode(where, values)
        if field.moved_from is not None and self.is_kept_by(field.moved_from[1]):
            function, motion = field.moved_from
            moved: Tensor = motion.on_grid(self.encoded(function), self.shape, self.periodic)
            return moved
        if self.key not in field.cache:
            with torch.no_grad():
                field.cache[self.key] = self.encode(where, values)
        kept: Tensor = field.cache[self.key]
        return kept

    def is_kept_by(self, motion: Any) -> bool:
        """Whether a motion takes the nodes to nodes; uniform ones are mirrored onto themselves."""
        return all(self.shape[i] == self.shape[j] for i, j in enumerate(motion.order))

    def project(self, points: Tensor, weights: Tensor, values: Tensor, thin: Tensor | bool = False) -> Tensor:
        """E for points `(n, d)` of the unit box with weights `(n,)`, whatever they are; `thin` as for `Projection`."""
        nyquist = regularity(points[:, 0], self.periodic[0]) if len(self.shape) == 1 else SCATTERED
        there = values.to(points.device)
        c = self.scattered.coefficients(points, weights, there, nyquist, thin)
        return self.scattered.on_axes(c, [x.to(c.device) for x in self.nodes]).to(values)

    def measure_of(
        self, points: Tensor, weights: Tensor, boundary: Tensor | None = None, bounded: Tensor | None = None
    ) -> Tensor:
        """The domain as a function: `chi(z) = sum_k B_k(z) int_Omega B_k dx`, about 1 in it and 0 outside: `(s, 1)`.

        Integrals are sums over points `(n, d)` of the unit box with weights `(n,)`, or those within facets `(f, d, d)`,
        unless `bounded` says that these do not count.
        """
        projection = self.scattered
        # A fixed filter: the same domain must look the same whatever its points are.
        damped = 1 / (1 + projection.penalty(weights.new_zeros(1), 1.0) / (projection.smoothing * PENALTY))
        if boundary is None or bounded is not None:
            sums = projection.moments(points, weights, torch.ones_like(points[None, :, :1]))[:, 0]
        if boundary is not None:
            within = boundary_moments(projection, boundary.to(points))[:, None]
            sums = within if bounded is None else torch.where(bounded, within, sums)
        c = damped[:, None] * sums / math.prod(projection.periods)
        return projection.on_axes(c[None], [x.to(c.device) for x in self.nodes])[0]

    def read_off(self, values: Tensor, target: Discretization, source: Discretization | None = None) -> Tensor:
        """D: values at the nodes `(b, s_1 .. s_d, c)` -> values `(b, n, c)` at the points of `target`.

        Coordinates are those in the box of `source`, if given: a point is the same whatever box it came with.
        """
        box = source or target
        matrices = self._axiswise(target, box, "read", lambda x, _, size, wraps: axis_reader(x, size, wraps), values)
        if matrices is None:
            return self.read(values, unit(target, box)[0])
        return apply_axes(matrices, values) if matrices else values

    def read(self, values: Tensor, points: Tensor) -> Tensor:
        """D at points `(n, d)` of the unit box; without gradients, some of them at a time."""
        if torch.compiler.is_compiling() or (torch.is_grad_enabled() and values.requires_grad):
            return read_points(values, self._factors(points, values))
        step = max(1, READ // max(self.size, len(values) * values.shape[2] * math.prod(self.shape[1:])))
        parts = [points[start : start + step] for start in range(0, len(points), step)]
        return torch.cat([read_points(values, self._factors(part, values)) for part in parts], dim=1)

    def _factors(self, points: Tensor, like: Tensor) -> list[Tensor]:
        pairs = enumerate(zip(self.shape, self._smoothest, strict=True))
        return [reader(points[:, i].double(), size, through).to(like) for i, (size, through) in pairs]

    def _axiswise(
        self,
        points: Discretization,
        box: Discretization,
        what: str,
        make: Callable[[Tensor, Tensor, int, bool], Tensor],
        like: Tensor,
    ) -> Matrices | None:
        """A matrix for each axis; none at all if the points are the nodes, None where points have no axes."""
        axes = None if points.points.requires_grad else _unit_axes(points, box)
        if axes is None or max(len(x) for x, _ in axes) > AXIS:
            return None
        if all(
            len(x) == size and fills(x, wraps)
            for (x, _), size, wraps in zip(axes, self.shape, self.periodic, strict=True)
        ):
            return ()
        key = (*self.key, what, like.dtype, like.device, None if box is points else str(box.bounds.tolist()))
        if key in points.cache:
            kept: Matrices = points.cache[key]
            return kept
        made = tuple(
            make(x, w, size, wraps).to(like)
            for (x, w), size, wraps in zip(axes, self.shape, self.periodic, strict=True)
        )
        if sum(matrix.nbytes for matrix in made) <= (KEPT_POINTS if points.axes is None else KEPT_GRID):
            points.cache[key] = made
        return made


def unit(points: Discretization, box: Discretization) -> tuple[Tensor, Tensor]:
    """Points `(n, d)` and weights `(n,)` as they are when the bounds of `box` are scaled to the unit box."""
    low, high = box.bounds.to(points.bounds).unbind(1)
    return (points.points - low) / (high - low), points.weights / (high - low).prod()


def _unit_axes(points: Discretization, box: Discretization) -> list[tuple[Tensor, Tensor]] | None:
    """Coordinates and weights along each axis of a tensor grid, or of points on a line."""
    low, high = box.bounds.to(points.bounds).unbind(1)
    if points.axes is not None:
        pairs = zip(points.axes, points.axis_weights, strict=True)
        return [((x - low[i]) / (high[i] - low[i]), w) for i, (x, w) in enumerate(pairs)]
    return [((points.points[:, 0] - low) / (high - low), points.weights)] if points.dim == 1 else None


def _modes(shape: Sequence[int], periodic: Sequence[bool]) -> list[int]:
    """Harmonics for scattered points: what the nodes hold, lowered together until there are not too many."""
    modes = [band(size, wraps) for size, wraps in zip(shape, periodic, strict=True)]
    share = 1.0
    most: float = MOST_COEFFICIENTS[min(len(modes), 3)] if len(modes) > 1 else math.inf
    if len(modes) == 2 and all(periodic):
        most = max(most, min(MOST_PERIODIC, math.prod(2 * count + 1 for count in modes) / 2))
    while math.prod(2 * max(1, int(share * count)) + 1 for count in modes) > most and share > 0.01:
        share *= 0.98
    return [max(1, int(share * count)) for count in modes]

"""The network's own grid: E takes a function there from any points, D reads it off at any points.

E is the projection (`projection.py`), evaluated at the nodes; on tensor grids, and on a line, axis by axis. D is the
smoothest function of the same kind through the values at the nodes. Between a uniform grid of the same shape and the
latent grid both are the identity.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.basis import Cardinal
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.projection import (
    PENALTY,
    PERIOD,
    SCATTERED,
    Projection,
    apply_axes,
    distinct,
    read_points,
    trigonometric,
)

MOST_COEFFICIENTS = {2: 441, 3: 729}  # of scattered points: an equation of this size is solved for each sample
AXIS = 2**14  # points along an axis up to which a matrix is made for it; more are summed up some at a time
KEPT = 2**24  # bytes of the matrices that a discretization may keep
SMOOTHINGS = (1.0, 10.0, 100.0)
LOOKED_AT = 16  # functions by which the smoothing is chosen
READ = 2**22  # numbers of an intermediate when functions are read off without a gradient

Matrices = tuple[Tensor, ...]


class LatentGrid:
    """Uniform nodes, `shape (s_1 .. s_d)`: `j / s` on a periodic axis, `j / (s - 1)` on a closed one, of the unit box.

    `smoothing` is that of the `Projection` of point sets in 2-D and 3-D; `best_smoothing` finds it from functions.

    >>> grid = LatentGrid((64,), (False,))
    >>> some = Discretization.points(torch.rand(200, 1, generator=torch.Generator().manual_seed(0)))
    >>> latent = grid.encode(some, (3 * some.points).sin()[None])
    >>> other = Discretization.points([[0.2], [0.7]])
    >>> bool(torch.allclose(grid.read_off(latent, other), (3 * other.points).sin(), atol=1e-4))
    True
    """

    def __init__(self, shape: Sequence[int], periodic: Sequence[bool], smoothing: float = 1.0) -> None:
        self.shape = tuple(int(size) for size in shape)
        self.periodic = tuple(periodic)
        if len(self.shape) != len(self.periodic) or min(self.shape) < 4:
            raise InvalidInputError(
                f"a latent grid has at least 4 points along each of {len(self.periodic)} axes, got {list(self.shape)}"
            )
        self.size = math.prod(self.shape)
        self.scattered = Projection(_modes(self.shape, self.periodic), self.periodic, smoothing)
        self.key = ("latent", self.shape, self.periodic, smoothing)
        self._smoothest = [
            None if wraps else _smoothest(size) for size, wraps in zip(self.shape, self.periodic, strict=True)
        ]  # made here, and not in a call that is traced

    @property
    def nodes(self) -> list[Tensor]:
        """Coordinates along each axis, float64."""
        return [uniform_nodes(size, wraps) for size, wraps in zip(self.shape, self.periodic, strict=True)]

    @property
    def coordinates(self) -> Tensor:
        """Coordinates of all nodes, `(s_1 .. s_d, d)`, flattened."""
        return torch.cartesian_prod(*self.nodes).reshape(self.size, len(self.shape))

    def encode(self, source: Discretization, values: Tensor) -> Tensor:
        """E: values `(b, n, c)` at the points of `source` -> values at the nodes `(b, s_1 .. s_d, c)`, flattened."""
        exact = values.double()  # sums over many points: float32 would lose a digit
        matrices = self._axiswise(source, source, "encode", _encoder, exact)
        if matrices is None:
            return self.project(*unit(source, source), values)
        return apply_axes(matrices, exact).to(values) if matrices else values

    def project(self, points: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """E for points `(n, d)` of the unit box with weights `(n,)`, whatever they are."""
        nyquist = regularity(points[:, 0], self.periodic[0]) if len(self.shape) == 1 else SCATTERED
        c = self.scattered.coefficients(points, weights, values, nyquist)
        return self.scattered.on_axes(c, [x.to(c.device) for x in self.nodes]).to(values.dtype)

    def measure(self, source: Discretization) -> Tensor:
        """The domain as a function: `chi(z) = sum_k B_k(z) sum_i w_i B_k(x_i)`, about 1 in it and 0 outside: `(s, 1)`.

        Weights are those of the unit box.
        """
        if self.key not in source.cache:
            source.cache[self.key] = self.measure_of(*unit(source, source))
        kept: Tensor = source.cache[self.key]
        return kept

    def measure_of(self, points: Tensor, weights: Tensor) -> Tensor:
        """The measure of points `(n, d)` of the unit box with weights `(n,)`."""
        projection = self.scattered
        # A fixed filter: the same domain must look the same whatever its points are.
        damped = 1 / (1 + projection.penalty(weights.new_zeros(1), 1.0) / (projection.smoothing * PENALTY))
        sums = projection.moments(points, weights, torch.ones_like(points[None, :, :1]))[:, 0]
        c = damped[:, None] * sums / math.prod(projection.periods)
        return projection.on_axes(c[None], [x.to(c.device) for x in self.nodes])[0]

    def read_off(self, values: Tensor, target: Discretization, source: Discretization | None = None) -> Tensor:
        """D: values at the nodes `(b, s_1 .. s_d, c)` -> values `(b, n, c)` at the points of `target`.

        Coordinates are those in the box of `source`, if given: a point is the same whatever box it came with.
        """
        box = source or target
        matrices = self._axiswise(target, box, "read", lambda x, _, size, wraps: _reader(x, size, wraps), values)
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
        axes = _unit_axes(points, box)
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
        if sum(matrix.nbytes for matrix in made) <= KEPT:
            points.cache[key] = made
        return made


def best_smoothing(fields: Sequence[Field], shape: Sequence[int], periodic: Sequence[bool]) -> float:
    """Which of `SMOOTHINGS` finds some functions at half of their points best from the other half.

    >>> where = Discretization.points(torch.rand(400, 2, generator=torch.Generator().manual_seed(0)))
    >>> smooth, jump = (3 * where.points[:, :1]).sin(), (where.points[:, :1] > 0.4).double()
    >>> [best_smoothing([Field(where, f)], (28, 28), (False, False)) for f in (smooth, jump)]
    [1.0, 10.0]
    """
    some = [f for f in fields if f.discretization.axes is None and f.discretization.n >= 16]
    if not some or len(shape) == 1:
        return 1.0
    errors = dict.fromkeys(SMOOTHINGS, 0.0)
    for field in some[:: max(1, len(some) // LOOKED_AT)][:LOOKED_AT]:
        points, weights = unit(field.discretization, field.discretization)
        values = (field.values if field.batched else field.values[None])[:1].double()
        order = torch.randperm(len(points), generator=torch.Generator().manual_seed(0)).to(points.device)
        known, held = order[::2], order[1::2]
        for smoothing in SMOOTHINGS:
            projection = LatentGrid(shape, periodic, smoothing).scattered
            c = projection.coefficients(points[known], weights[known], values[:, known])
            found = projection.evaluate(c, points[held])
            errors[smoothing] += float(
                (found - values[:, held]).square().mean() / values.square().mean().clamp_min(1e-300)
            )
    return min(errors, key=errors.__getitem__)


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


def uniform_nodes(size: int, periodic: bool) -> Tensor:
    """`j / size` on a periodic axis, `j / (size - 1)` on a closed one."""
    return torch.arange(size, dtype=torch.float64) / (size if periodic else max(1, size - 1))


def fills(x: Tensor, periodic: bool) -> bool:
    """Whether coordinates `x (n,)` of the unit interval are the `uniform_nodes`, in their order."""
    return bool((x - uniform_nodes(len(x), periodic).to(x)).abs().max() < 1e-9)


def band(size: int, periodic: bool) -> int:
    """The highest harmonic of the period below the Nyquist frequency of uniform nodes.

    >>> band(64, True), band(65, False)
    (31, 48)
    """
    return (size - 1) // 2 if periodic else int(PERIOD * (size - 1) / 2)


def _modes(shape: Sequence[int], periodic: Sequence[bool]) -> list[int]:
    """Harmonics for scattered points: what the nodes hold, lowered together until there are not too many."""
    modes = [band(size, wraps) for size, wraps in zip(shape, periodic, strict=True)]
    share = 1.0
    most = MOST_COEFFICIENTS[min(len(modes), 3)] if len(modes) > 1 else math.inf
    while math.prod(2 * max(1, int(share * count)) + 1 for count in modes) > most and share > 0.01:
        share *= 0.98
    return [max(1, int(share * count)) for count in modes]


def reader(x: Tensor, size: int, smoothest: Tensor | None) -> Tensor:
    """D along an axis: the matrix `(n, size)` from values at uniform nodes to values at `x (n,)`.

    `smoothest` are the coefficients for a closed axis, None stands for a periodic one.
    """
    if smoothest is None:
        return Cardinal(size).functions(x, periodic=True)
    return trigonometric(x / PERIOD, band(size, False)) @ smoothest.to(x)


@lru_cache(maxsize=64)
def _smoothest(size: int) -> Tensor:
    """Coefficients `(p, size)` of the smoothest function through values at the nodes of a closed axis."""
    nodes = uniform_nodes(size, False)
    weights = torch.ones(size, dtype=torch.float64)
    weights[[0, -1]] /= 2
    return _least_squares(nodes, weights, band(size, False), False)


def _reader(x: Tensor, size: int, periodic: bool) -> Tensor:
    if fills(x, periodic):
        return _uniform_reader(len(x), size, periodic)
    return reader(x, size, None if periodic else _smoothest(size))


@lru_cache(maxsize=16)
def _uniform_reader(n: int, size: int, periodic: bool) -> Tensor:
    return reader(uniform_nodes(n, periodic), size, None if periodic else _smoothest(size))


def _encoder(x: Tensor, weights: Tensor, size: int, periodic: bool) -> Tensor:
    """E along an axis: the matrix `(size, n)` from values at `x (n,)` to values at uniform nodes."""
    order = torch.argsort(x)
    if fills(x[order], periodic):
        return _uniform_encoder(len(x), size, periodic).to(x)[:, torch.argsort(order)]
    modes = band(size, periodic)
    period = 1.0 if periodic else PERIOD
    return trigonometric(uniform_nodes(size, periodic).to(x) / period, modes) @ _least_squares(
        x, weights, modes, periodic
    )


@lru_cache(maxsize=16)
def _uniform_encoder(n: int, size: int, periodic: bool) -> Tensor:
    x, nodes, modes = uniform_nodes(n, periodic), uniform_nodes(size, periodic), band(size, periodic)
    if n <= size:  # the function through the values
        return reader(nodes, n, None if periodic else _smoothest(n))
    if periodic:  # the sums are exact, and G = 1
        return trigonometric(nodes, modes) @ trigonometric(x, modes).T / n
    weights = torch.ones(n, dtype=torch.float64)
    weights[[0, -1]] /= 2
    return trigonometric(nodes / PERIOD, modes) @ _least_squares(x, weights, modes, periodic)


def _least_squares(x: Tensor, weights: Tensor, modes: int, periodic: bool) -> Tensor:
    """The projection along an axis as a matrix `(p, n)`."""
    projection = Projection([modes], [periodic])
    share = weights / weights.sum()
    B = projection.functions(x, 0)
    weighted = share[:, None] * B
    penalty = projection.penalty(distinct(x[:, None], share), regularity(x, periodic))
    return projection.solve(weighted.T @ B, penalty, weighted.T[:, None])[0]  # points in the place of channels


def regularity(x: Tensor, periodic: bool) -> Tensor:
    """Mean ratio of neighbouring gaps, the smaller to the larger: 1 for uniform points, about 0.4 for random ones.

    >>> x = torch.linspace(0, 1, 9)
    >>> regularity(x, False).item(), round(regularity(x**2, False).item(), 2)
    (1.0, 0.71)
    """
    # Points that coincide are one; where the number of points is free, that cannot be known.
    nodes = torch.sort(x).values if torch.compiler.is_compiling() else torch.unique(x)
    gaps = torch.cat([nodes, nodes[:1] + 1] if periodic else [nodes]).diff()
    ratio = torch.minimum(gaps[1:], gaps[:-1]) / torch.maximum(gaps[1:], gaps[:-1])
    return (
        torch.nan_to_num(ratio, nan=1.0)
        .sum()
        .add(1e-12)
        .div(ratio.shape[0] + 1e-12)
        .round(decimals=9)
        .clamp_min(SCATTERED)
    )

"""The screened Poisson equation in a square: boundary values, source and coefficient -> solution, exact."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.ranges import Range, check_range
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.sample import SCALARS, one_point

BOX = ((0.0, 1.0), (0.0, 1.0))
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])  # along the boundary
SOURCE = 60.0  # size of the source's coefficients: both parts of u are then of size one
JITTER = 0.3  # of a step, by which the axes of the source's grid are moved


@dataclass(frozen=True, eq=False)
class Solution:
    """`u = sum_mn F_mn S_m(x) S_n(y) / (pi^2 (m^2 + n^2) + kappa)` and what the boundary adds, `S_m(x) = sin(pi m x)`.

    To the side y = 1 belong `b_k S_k(x) s(mu_k, y)` with `s(mu, y) = sinh(mu y) / sinh(mu)`, `mu_k^2 = pi^2 k^2 +
    kappa`, to the corner (1, 1) `c s(l, x) s(l, y)` with `l^2 = kappa / 2`; the other sides and corners likewise. Each
    of these solves `Lap u = kappa u`.
    """

    kappa: float
    source: Array  # F (m, n)
    sides: Array  # b (4, k): of y = 0, x = 1, y = 1, x = 0
    corners: Array  # c (4,), in the order of CORNERS

    def __call__(self, points: Array) -> Array:
        """Values `(n,)` at `points (n, 2)`."""
        m, n = self.source.shape
        x, y = _sines(points[:, 0], m), _sines(points[:, 1], n)
        squares = np.add.outer(np.arange(1, m + 1) ** 2, np.arange(1, n + 1) ** 2)
        found = np.einsum("pm,pn,mn->p", x, y, self.source / (np.pi**2 * squares + self.kappa))
        k = np.arange(1, self.sides.shape[1] + 1)
        mu = np.sqrt(np.pi**2 * k**2 + self.kappa)
        for axis, towards, b in (
            (1, 0, self.sides[0]),
            (0, 1, self.sides[1]),
            (1, 1, self.sides[2]),
            (0, 0, self.sides[3]),
        ):
            depth = points[:, axis] if towards else 1 - points[:, axis]
            found += (_sines(points[:, 1 - axis], len(k)) * _decay(mu, depth[:, None])) @ b
        for corner, c in zip(CORNERS, self.corners, strict=True):
            depth = np.where(corner > 0, points, 1 - points)
            found += c * _decay(np.sqrt(self.kappa / 2), depth).prod(axis=1)
        return found

    def right_side(self, points: Array) -> Array:
        """f `(n,)` at `points (n, 2)`."""
        m, n = self.source.shape
        found: Array = np.einsum("pm,pn,mn->p", _sines(points[:, 0], m), _sines(points[:, 1], n), self.source)
        return found


@dataclass(frozen=True)
class ScreenedPoisson:
    """`(g, f, kappa) -> u`: `-Lap u + kappa u = f` in the unit square, `u = g` on its boundary.

    f is a sum of sines, g of sines on each side and values at the corners, kappa a number; all are random, and u is a
    finite sum: exact at every point. The input is a sample of two functions and a number, each function on points of
    its own that are new for each sample: `boundary` g on a closed curve, the corners and random points between them;
    `source` f on a tensor grid whose axes are moved at random; `scalars` kappa. The output is u at random points.

    kappa: range of the coefficient, drawn uniformly in its logarithm. Default 1 to 200.
    modes: sines along each axis of f, and along each side of g. Default 4.

    A resolution s means `s x s` points of the source, 4 s points of the boundary and s^2 points of the output.

    >>> pair = ScreenedPoisson().record(np.random.default_rng(0), [8])[0][8]
    >>> [values.shape for values, _ in pair.parts]
    [(32, 1), (64, 1), (1, 1), (64, 1)]
    >>> round(pair.input_at.measure, 9)  # the length of the boundary
    4.0
    """

    kappa: Range = (1.0, 200.0)
    modes: int = 4

    name: ClassVar[str] = "screened-poisson"
    inputs: ClassVar[tuple[Channel, ...]] = (
        Channel("g", function="boundary"),
        Channel("f", function="source"),
        Channel("kappa", function=SCALARS),
    )
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u"),)

    def __post_init__(self) -> None:
        check_range("kappa", self.kappa, 0.0, np.inf)
        if self.kappa[0] <= 0 or self.modes < 1:
            raise InvalidInputError(f"kappa must be positive and modes at least 1, got {self.kappa} and {self.modes}")

    @property
    def windows(self) -> int:
        """One sample per record."""
        return 1

    def draw(self, rng: np.random.Generator) -> Solution:
        """A random source, boundary values and coefficient."""
        k = np.arange(1, self.modes + 1)
        size = SOURCE / np.add.outer(k**2, k**2) ** 0.5
        kappa = float(np.exp(rng.uniform(*np.log(self.kappa))))
        source = size * rng.standard_normal((self.modes, self.modes))
        return Solution(kappa, source, rng.standard_normal((4, self.modes)) / k, rng.standard_normal(4))

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One solution."""
        u = self.draw(rng)
        seed = int(rng.integers(2**62))
        return [{s: _sample(u, s, np.random.default_rng([seed, s])) for s in resolutions}]


def _sample(u: Solution, s: int, rng: np.random.Generator) -> Sample:
    if s < 4:
        raise InvalidInputError(f"a resolution is at least 4, got {s}")
    along = np.sort(np.concatenate([np.arange(4.0), rng.uniform(0, 4, 4 * s - 4)]))
    side = along.astype(int) % 4
    share = (along - np.floor(along))[:, None]
    edge = (1 - share) * CORNERS[side] + share * CORNERS[(side + 1) % 4]
    order = np.arange(len(edge))
    boundary = Discretization.mesh(edge, np.stack([order, np.roll(order, -1)], axis=1), bounds=BOX)
    moved = np.arange(s) + JITTER * rng.uniform(-1, 1, (2, s))
    moved[:, [0, -1]] = 0, s - 1
    grid = Discretization.tensor_grid(*(moved / (s - 1)), bounds=BOX)
    at = Discretization.points(rng.random((s * s, 2)), bounds=BOX, domain="box")
    f = u.right_side(grid.points.numpy())
    kappa = np.array([[u.kappa]])
    return Sample(
        u(edge)[:, None],
        u(at.points.numpy())[:, None],
        boundary,
        at,
        more=((f[:, None], grid), (kappa, one_point())),
    )


def _sines(x: Array, count: int) -> Array:
    found: Array = np.sin(np.pi * x[:, None] * np.arange(1, count + 1))
    return found


def _decay(mu: Array | float, depth: Array) -> Array:
    """`sinh(mu d) / sinh(mu)`, without overflow."""
    found: Array = np.exp(-mu * (1 - depth)) * np.expm1(-2 * mu * depth) / np.expm1(-2 * mu)
    return found

"""Darcy flow on the unit square, `-div(a grad u) = 1`, `u = 0` on the boundary: two-phase permeability -> pressure."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from scipy.fft import dstn, idstn

from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.random_fields import cell_centres, gaussian_field
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization


@dataclass(frozen=True)
class Darcy:
    """`a -> u`, `-div(a grad u) = 1` on [0, 1]^2, `u = 0` on its boundary, `a = high` where `g >= 0`, `low` elsewhere.

    `g = sum_kl c_kl phi_k(x) phi_l(y)`, k, l < fine, with `phi_k = sqrt(2) cos(pi k x)`, is a Gaussian field:
    `c_kl = tau^(alpha - 1) (pi^2 (k^2 + l^2) + tau^2)^(-alpha / 2) N(0, 1)`, `c_00 = 0`. All quantities are
    dimensionless (unit 1).

    alpha, tau: smoothness and inverse length of g. Defaults 2 and 3.
    high, low: permeability of the two phases. Defaults 12 and 3 as in the paper; the authors' script has 4 for low.
    fine: cells along one side of the grid that g is drawn on and the equation is solved on. Default 421.
    label: "fine" (default) or "solve", what a resolution s means.

    "fine": as in the paper, every r-th value of the fine grid in each direction, `s = (fine - 1) / r + 1` (421, 211,
    141, 106, 85, ... of 421), of the coefficient and of the solution alike; the label is as good on a coarse grid.
    "solve": the field g is evaluated on `s x s` cells, any s, and the scheme is solved on these.

    Values belong to cell centres, since the inverse DCT-II and the finite volumes both live there: the points are
    `(r i + 1/2) / fine`, not `i / (s - 1)` as the numbers of points suggest, and the outermost lie half a fine cell
    inside the boundary. The two differ by up to 1/2 fine cell.

    >>> pair = Darcy(fine=29).record(np.random.default_rng(0), [15])[0][15]
    >>> sorted(set(pair.input[:, 0].tolist())), pair.output.shape
    ([3.0, 12.0], (225, 1))
    >>> (pair.output_at.axes[0][:3] * 29).tolist()
    [0.5, 2.5, 4.5]
    """

    alpha: float = 2.0
    tau: float = 3.0
    high: float = 12.0
    low: float = 3.0
    fine: int = 421
    label: Literal["fine", "solve"] = "fine"

    name: ClassVar[str] = "darcy"
    dim: ClassVar[int] = 2
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("a"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u"),)

    def __post_init__(self) -> None:
        if not (self.alpha > 1 and 0 < self.tau < np.inf):
            raise InvalidInputError(f"alpha must be above 1 and tau positive, got {self.alpha} and {self.tau}")
        if not (0 < self.high < np.inf and 0 < self.low < np.inf):
            raise InvalidInputError(f"high and low must be positive numbers, got {self.high} and {self.low}")
        if self.fine < 2:
            raise InvalidInputError(f"fine must be at least 2 cells, got {self.fine}")
        if self.label not in ("fine", "solve"):
            raise InvalidInputError(f"label must be 'fine' or 'solve', got {self.label!r}")

    @property
    def windows(self) -> int:
        """One sample per record."""
        return 1

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One sample; a resolution s is the number of points along one side."""
        g = gaussian_field(rng, self.fine, self.alpha, self.tau)

        def pair(cells: int) -> tuple[Array, Array]:
            a = np.where(g.on_cells(cells) >= 0, self.high, self.low)
            return a, solve(a)

        sample = {}
        strides = {s: self._stride(s) for s in resolutions}
        if self.label == "fine" and strides:
            a, u = pair(self.fine)
        for s, r in strides.items():
            if self.label == "solve":
                a, u = pair(s)
            at = _points(self.fine if self.label == "fine" else s, r)
            sample[s] = Sample(a[::r, ::r].reshape(-1, 1), u[::r, ::r].reshape(-1, 1), at, at)
        return [sample]

    def _stride(self, s: int) -> int:
        if s < 2:
            raise InvalidInputError(f"resolution must be at least 2 points along a side, got {s}")
        if self.label == "solve":
            return 1
        if (self.fine - 1) % (s - 1):
            raise InvalidInputError(
                f"resolution {s} is no subsampling of {self.fine} points: {s - 1} must divide {self.fine - 1}; "
                f"change fine, or use label='solve'"
            )
        return (self.fine - 1) // (s - 1)


def solve(a: Array, source: Array | float = 1.0, tolerance: float = 1e-9) -> Array:
    """`-div(a grad u) = source` on n x n cells, from and to values `(n, n)` at the cell centres.

    Finite volumes: `sum over the faces of a_face (u_here - u_there) = h^2 source`, with the mean of the two cells as
    `a_face`, and `a_face = 2 a`, `u_there = 0` at a wall, which is half a cell away. Solved by conjugate gradients
    preconditioned by the same scheme for a = 1, which the sine transform DST-II inverts: the condition number is at
    most `max(a) / min(a)` on any grid. Stops at residual `tolerance` relative to the source (default 1e-9).

    >>> round(float(solve(np.ones((63, 63)))[31, 31]), 4)  # the torsion function at the centre of the square
    0.0737
    """
    if a.ndim != 2 or a.shape[0] != a.shape[1] or not np.all(np.isfinite(a) & (a > 0)):
        raise InvalidInputError(f"a must be positive numbers of shape (n, n), got shape {a.shape}")
    if not np.all(np.isfinite(source)):
        raise InvalidInputError("source must be finite numbers")
    if not 1e-14 <= tolerance < 1:
        raise InvalidInputError(f"tolerance must be 1e-14 (about the rounding of float64) to 1, got {tolerance}")
    n = len(a)
    walls = np.pad(a, 1, mode="edge")
    across, along = walls[1:, 1:-1] + walls[:-1, 1:-1], walls[1:-1, 1:] + walls[1:-1, :-1]  # 2 a at the walls
    across[1:-1] /= 2
    along[:, 1:-1] /= 2
    diagonal = across[1:] + across[:-1] + along[:, 1:] + along[:, :-1]
    across, along = across[1:-1], along[:, 1:-1]

    def scheme(u: Array) -> Array:
        flux = diagonal * u
        flux[1:] -= across * u[:-1]
        flux[:-1] -= across * u[1:]
        flux[:, 1:] -= along * u[:, :-1]
        flux[:, :-1] -= along * u[:, 1:]
        return flux

    residual = np.broadcast_to(np.asarray(source, dtype=np.float64) / n**2, a.shape).copy()
    goal = tolerance**2 * _dot(residual, residual)
    u = np.zeros_like(a)
    if goal == 0:
        return u
    direction, energy = np.zeros_like(a), np.inf
    for _ in range(1000):  # 25 are enough for a contrast of 4; they grow like its square root
        step = _constant_coefficient(residual)
        energy, before = _dot(residual, step), energy
        direction = step + energy / before * direction
        image = scheme(direction)
        length = energy / _dot(direction, image)
        u += length * direction
        residual -= length * image
        if _dot(residual, residual) <= goal:
            return u
    reached = tolerance * np.sqrt(_dot(residual, residual) / goal)
    raise InvalidInputError(
        f"after 1000 iterations the residual is {reached:.1e}, not {tolerance:.1e}; "
        f"the contrast max(a) / min(a) = {a.max() / a.min():.1e} is too high for this solver, lower it"
    )


def _dot(x: Array, y: Array) -> float:
    return float(np.sum(x * y))  # BLAS would round differently for each number of threads


def _constant_coefficient(source: Array) -> Array:
    """The scheme for a = 1, solved by DST-II: eigenvalues `4 sin^2(pi k / 2n) + 4 sin^2(pi l / 2n)`, k, l = 1 .. n."""
    u: Array = idstn(dstn(source, type=2) / _eigenvalues(len(source)), type=2)
    return u


@lru_cache(maxsize=8)
def _eigenvalues(n: int) -> Array:
    one = 4 * np.sin(np.pi * np.arange(1, n + 1) / (2 * n)) ** 2
    values: Array = np.add.outer(one, one)
    return values


@lru_cache(maxsize=64)
def _points(cells: int, stride: int) -> Discretization:
    axis = cell_centres(cells)[::stride]
    return Discretization.tensor_grid(axis, axis)

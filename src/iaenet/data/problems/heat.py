"""Steady flow of heat in an insulated cube, `-div(a grad u) + h u = q`: conductivity and heating -> temperature."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.fft import dct, dst, idct, idst

from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

MOST_ITERATIONS = 400


@dataclass(frozen=True)
class Heat:
    """`(a, q) -> u`, `-div(a grad u) + cooling u = q` on [0, 1]^3, no flow through its walls.

    `a = exp(contrast g)`; g and q are Gaussian fields `sum_k c_k prod_i cos(pi k_i x_i)`, k_i < modes,
    `c_k ~ (pi^2 |k|^2 + tau^2)^(-alpha / 2) N(0, 1)`, `c_0 = 0`, of variance 1 (a mean over the cube and the draws).
    All three are smooth across the walls as even functions, so cosines converge exponentially: a Galerkin method on
    `fine` cells a side, solved by preconditioned conjugate gradients in float64. Labels at any points are values of one
    series, whatever the resolution. All quantities are dimensionless (unit 1).

    contrast: standard deviation of log a. Default 0.5.
    cooling: h, heat lost at each point per degree. Default 1.
    alpha, tau, modes: smoothness, inverse length and modes along an axis of log a and of q. Defaults 3, 5 and 6.
    fine: cells along a side of the solver's grid. Default 24.

    >>> pair = Heat(fine=16).record(np.random.default_rng(0), [5])[0][5]
    >>> pair.input.shape, pair.output.shape, pair.output_at.shape
    ((125, 2), (125, 1), (5, 5, 5))
    """

    contrast: float = 0.5
    cooling: float = 1.0
    alpha: float = 3.0
    tau: float = 5.0
    modes: int = 6
    fine: int = 24

    name: ClassVar[str] = "heat"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("a"), Channel("q"))
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u"),)
    windows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name in ("cooling", "alpha", "tau"):
            if not 0 < getattr(self, name) < np.inf:
                raise InvalidInputError(f"{name} must be positive, got {getattr(self, name)}")
        if not 0 <= self.contrast <= 5:
            raise InvalidInputError(f"contrast must be 0 to 5, got {self.contrast}")
        if not 2 <= self.modes <= self.fine:
            raise InvalidInputError(f"modes must be 2 to fine = {self.fine}, got {self.modes}")

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One sample; a resolution s is the number of points along a side, walls included."""
        k2 = np.arange(self.modes) ** 2
        deviation = (np.pi**2 * np.add.outer(np.add.outer(k2, k2), k2) + self.tau**2) ** (-self.alpha / 2)
        deviation[0, 0, 0] = 0
        deviation /= np.linalg.norm(deviation)
        g, q = deviation * rng.standard_normal((2, *deviation.shape))
        grids = {s: _closed_grid(s) for s in resolutions}
        centres = (np.arange(self.fine) + 0.5) / self.fine
        heating = np.zeros((self.fine,) * 3)
        heating[tuple(slice(self.modes) for _ in range(3))] = q
        u = solve_heat(np.exp(self.contrast * cosine_values(g, centres)), heating, self.cooling)
        sample = {}
        for s, at in grids.items():
            x = np.linspace(0, 1, s)
            given = np.stack([np.exp(self.contrast * cosine_values(g, x)), cosine_values(q, x)], axis=-1)
            sample[s] = Sample(given.reshape(-1, 2), cosine_values(u, x).reshape(-1, 1), at, at)
        return [sample]


def cosine_values(c: Array, x: Array) -> Array:
    """`sum_k c_k phi_k1(x_i) phi_k2(x_j) phi_k3(x_l)`, `phi_0 = 1`, `phi_k = sqrt(2) cos(pi k x)`, on a tensor grid.

    >>> c = np.zeros((2, 2, 2)); c[1, 0, 0] = 1.0
    >>> cosine_values(c, np.array([0.0, 1.0]))[:, 0, 0].round(6).tolist()
    [1.414214, -1.414214]
    """
    for _ in range(c.ndim):  # the first axis is summed, and its points come last
        basis = np.sqrt(2) * np.cos(np.pi * np.multiply.outer(np.arange(len(c)), x))
        basis[0] = 1
        c = np.tensordot(c, basis, axes=(0, 0))
    return c


def solve_heat(a: Array, q: Array, cooling: float, tolerance: float = 1e-11) -> Array:
    """Coefficients of u on orthonormal cosines: `(cooling + sum_i D_i^T a D_i) u = q`, with `D_i` the derivative.

    `D_i` takes cosines along axis i to sines, `k -> -pi k`, and a multiplies values at the cell centres: symmetric and
    positive, whatever a is. Preconditioned by the same with one number for a, the geometric mean of its extremes, so
    that the condition number is at most `max(a) / min(a)` for any number of cells.

    Args:
        a: conductivity `(n, .., n)` at the cell centres `(i + 1/2) / n`, in any number of dimensions.
        q: coefficients of the heating, of the same shape.
        cooling: positive.
        tolerance: residual relative to q. Default 1e-11.

    >>> q = np.zeros((4, 4)); q[1, 2] = 1.0
    >>> u = solve_heat(np.full((4, 4), 2.0), q, cooling=3.0)
    >>> bool(abs(u[1, 2] - 1 / (3 + 2 * np.pi**2 * (1 + 4))) < 1e-12)
    True
    """
    if a.shape != q.shape or len(set(a.shape)) != 1 or not np.all(np.isfinite(a) & (a > 0)):
        raise InvalidInputError(f"a must be positive numbers of shape (n, .., n), as q is, got {a.shape} and {q.shape}")
    scheme = _scheme(a, cooling)
    typical = float(np.sqrt(a.min() * a.max()))
    inverse = 1 / (cooling + typical * sum(np.square(w) for w in _frequencies(a.shape)))
    u, residual, direction, energy = np.zeros_like(q), q.copy(), np.zeros_like(q), np.inf
    goal = tolerance * np.linalg.norm(q)
    for _ in range(MOST_ITERATIONS):
        if np.linalg.norm(residual) <= goal:
            return u
        step = inverse * residual
        energy, before = float(np.vdot(residual, step)), energy
        direction = step + energy / before * direction
        image = scheme(direction)
        length = energy / float(np.vdot(direction, image))
        u += length * direction
        residual -= length * image
    raise InvalidInputError(
        f"the residual is above {tolerance:.1e} after {MOST_ITERATIONS} iterations: "
        f"max(a) / min(a) = {a.max() / a.min():.1e} is too high, lower contrast"
    )


def _scheme(a: Array, cooling: float) -> Callable[[Array], Array]:
    axes, waves = range(a.ndim), _frequencies(a.shape)

    def apply(c: Array) -> Array:
        image = cooling * c
        for i in axes:
            others = [j for j in axes if j != i]
            slope = np.roll(-waves[i] * c, -1, axis=i)  # sine k + 1 is number k; cosine 0 has no slope
            for j in others:
                slope = idct(slope, axis=j, norm="ortho")
            flow = dst(a * idst(slope, axis=i, norm="ortho"), axis=i, norm="ortho")
            for j in others:
                flow = dct(flow, axis=j, norm="ortho")
            image -= waves[i] * np.roll(flow, 1, axis=i)
        return image

    return apply


@lru_cache(maxsize=8)
def _frequencies(shape: tuple[int, ...]) -> list[Array]:
    """`pi k` along each axis."""
    return [np.pi * each for each in np.meshgrid(*(np.arange(n, dtype=np.float64) for n in shape), indexing="ij")]


@lru_cache(maxsize=64)
def _closed_grid(s: int) -> Discretization:
    if s < 2:
        raise InvalidInputError(f"resolution must be at least 2 points along a side, got {s}")
    return Discretization.uniform((s,) * 3)

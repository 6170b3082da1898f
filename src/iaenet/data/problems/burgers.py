"""Burgers' equation on the periodic line, `u_t + u u_x = nu u_xx`: initial condition -> solution at a later time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import logsumexp

from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.random_fields import FourierSeries, gaussian_series, series_deviations
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

GRID = 8192  # the grid that random points are chosen from
DIFFUSIVE = 1e-2  # nu t from which the heat kernel is applied mode by mode
NEGLIGIBLE = 40.0  # exp(-40) = 4e-18 is below the rounding of a float64


@dataclass(frozen=True)
class Burgers:
    """`u(., 0) -> u(., time)` for `u_t + u u_x = viscosity u_xx` on [0, 1), periodic, exact at every point.

    `u(x, 0) = sum_k a_k cos(2 pi k x) + b_k sin(2 pi k x)` with independent
    `a_k, b_k = sqrt(2) sigma ((2 pi k)^2 + tau^2)^(-gamma / 2) N(0, 1)` and zero mean. All quantities are
    dimensionless (unit 1).

    viscosity: nu; the paper uses 1e-4 .. 1. Default 0.1.
    gamma, tau, sigma: decay, inverse length and amplitude of the initial condition. Defaults 2.5, 5, 25, those of the
        authors' script; the paper's text has gamma = 2, and sigma = tau^2 = 25.
    time: of the output. Default 1.
    modes: of the initial condition. Default 512, the Nyquist mode of the training grid of 1024 points: what is left out
        is 3e-6 of the standard deviation of u(., 0), and the function does not depend on the grid that it is shown on.
    points: "uniform" (default), `i / s`; or "random", s points of the grid `i / 8192`, its first and last among them,
        chosen anew for every sample and nested over the resolutions.
    normalize: divide the output by `scale`. Default None: only if `viscosity * time >= 1`, where u is below 1e-17.

    >>> pair = Burgers().record(np.random.default_rng(0), [256])[0][256]
    >>> pair.input.shape, pair.output.shape, pair.output_at.periodic
    ((256, 1), (256, 1), (True,))
    """

    viscosity: float = 0.1
    gamma: float = 2.5
    tau: float = 5.0
    sigma: float = 25.0
    time: float = 1.0
    modes: int = 512
    points: Literal["uniform", "random"] = "uniform"
    normalize: bool | None = None

    name: ClassVar[str] = "burgers"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("u(x, 0)"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u(x, t)"),)

    def __post_init__(self) -> None:
        series_deviations(self.modes, self.gamma, self.tau, self.sigma)  # refuses what is no Gaussian series
        for name in ("viscosity", "time"):
            if not 0 < getattr(self, name) < np.inf:
                raise InvalidInputError(f"{name} must be a positive number, got {getattr(self, name)}")
        if self.points not in ("uniform", "random"):
            raise InvalidInputError(f"points must be 'uniform' or 'random', got {self.points!r}")

    @property
    def windows(self) -> int:
        """One sample per record."""
        return 1

    @property
    def scale(self) -> float:
        """What the output is divided by: 1, or if normalised `(sum_k s_k^2 exp(-8 pi^2 k^2 nu t))^(1/2)`.

        That is the standard deviation, at any point, of the solution of the linear equation `u_t = nu u_xx`. It depends
        on the parameters alone, so every sample and every data set with these parameters is scaled alike; and where it
        is used u is so small that the nonlinear term changes little.

        >>> Burgers().scale, f"{Burgers(viscosity=1).scale:.2e}"
        (1.0, '1.38e-18')
        """
        return float(np.exp(self._log_scale))

    @property
    def _log_scale(self) -> float:
        active = self.viscosity * self.time >= 1 if self.normalize is None else self.normalize
        if not active:
            return 0.0
        s = series_deviations(self.modes, self.gamma, self.tau, self.sigma)
        k = np.arange(1, self.modes + 1)
        return float(logsumexp(2 * np.log(s) - 8 * np.pi**2 * k**2 * self.viscosity * self.time) / 2)

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One sample; a resolution s is the number of points."""
        initial = gaussian_series(rng, self.modes, self.gamma, self.tau, self.sigma)
        order = 1 + rng.permutation(GRID - 2) if self.points == "random" else None
        sample = {}
        for s in resolutions:
            if order is None:
                if s < 1:
                    raise InvalidInputError(f"resolution must be at least 1 point, got {s}")
                at, u0 = _uniform(s), initial.on_grid(s)
            else:
                if not 2 <= s <= GRID:
                    raise InvalidInputError(f"resolution must be 2 to {GRID} random points, got {s}")
                index = np.sort(np.concatenate([[0, GRID - 1], order[: s - 2]]))
                at = Discretization.points(index[:, None] / GRID, periodic=True)
                u0 = initial.on_grid(GRID)[index]
            x = at.points[:, 0].numpy()
            u = cole_hopf(initial, x, self.viscosity, self.time, growth=-self._log_scale)
            sample[s] = Sample(u0[:, None], u[:, None], at, at)
        return [sample]


def cole_hopf(initial: FourierSeries, x: Array, viscosity: float, time: float, growth: float = 0.0) -> Array:
    """`u(x, t) = -2 nu phi_x / phi`, `phi_t = nu phi_xx`, `phi(., 0) = exp(-U / 2 nu)`, `U' = u(., 0)`.

    At any points `x (n,)`, from an initial condition of zero mean. Returns `exp(growth) u`: the factor (default 1)
    enters before anything can underflow.

    >>> sine = FourierSeries(np.array([0, -1j]))
    >>> cole_hopf(sine, np.array([0.25, 0.75]), viscosity=0.1, time=1.0).round(6).tolist()
    [0.017914, -0.017914]
    """
    method = _heat_kernel if viscosity * time >= DIFFUSIVE else _quadrature
    return method(initial, x, viscosity, time, growth)


def _heat_kernel(initial: FourierSeries, x: Array, nu: float, t: float, growth: float) -> Array:
    """`phi(x, t) = sum_k c_k exp(-4 pi^2 k^2 nu t) exp(2 pi i k x)`, summed at the points over the surviving modes."""
    potential = initial.antiderivative().on_grid(_nodes(initial, nu, t))
    rise = np.expm1(-(potential - potential.min()) / (2 * nu))  # phi(., 0) - 1, to full relative accuracy for large nu
    kept = 1 + int(np.sqrt(1 + 2 * NEGLIGIBLE / (4 * np.pi**2 * nu * t)))  # the others are exp(-80) of mode 1
    c = 2 * np.fft.rfft(rise, norm="forward")[: kept + 1]
    c[0] /= 2
    exponent = -4 * np.pi**2 * np.arange(len(c)) ** 2 * nu * t
    phi = 1 + FourierSeries(c * np.exp(exponent)).at(x)
    c[0], exponent[0] = 0, -np.inf  # phi_x has no constant
    phi_x = FourierSeries(c * np.exp(exponent + growth)).derivative().at(x)
    u: Array = -2 * nu * phi_x / phi
    return u


def _quadrature(initial: FourierSeries, x: Array, nu: float, t: float, growth: float) -> Array:
    """`u(x, t) = <(x - y) / t>` under the weight `exp(-[U(y) + (x - y)^2 / 2t] / 2 nu)`, by the trapezoid rule in y.

    The exponent is taken relative to its maximum (log-sum-exp). Beyond `|x - y| = t max|u0| + r` the weight is at most
    `exp(-r^2 / 4 nu t)` of its maximum, which bounds the y that are needed.
    """
    n = _nodes(initial, nu, t)
    potential = initial.antiderivative().on_grid(n)
    reach = t * np.abs(initial.on_grid(n)).max() + np.sqrt(4 * nu * t * NEGLIGIBLE)
    width = int(np.ceil(2 * reach * n)) + 1
    windows = np.lib.stride_tricks.sliding_window_view(np.resize(potential, n + width - 1), width)
    first = np.ceil((x - reach) * n).astype(np.int64)  # y = (first + 0 .. width - 1) / n
    u: Array = np.empty(len(x))
    rows = max(1, 2**15 // width)  # 256 KB at a time: it stays in cache, and its memory with the process
    for start in range(0, len(x), rows):
        part = slice(start, start + rows)
        distance = (x[part] - first[part] / n)[:, None] - np.arange(width) / n
        weight = -(windows[first[part] % n] + distance**2 / (2 * t)) / (2 * nu)
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        u[part] = (weight * distance).sum(axis=1) / weight.sum(axis=1)
    u *= np.exp(growth) / t
    return u


def _nodes(initial: FourierSeries, nu: float, t: float) -> int:
    """Nodes per period that resolve the initial condition and the narrowest peak of the integrand, of curvature
    at most `(max|u0'| + 1/t) / 2 nu`."""
    modes = len(initial.coefficients) - 1
    steepest = np.abs(initial.derivative().on_grid(4 * modes)).max()
    return int(next_fast_len(max(2 * modes + 2, 64, int(6 * np.sqrt((steepest + 1 / t) / (2 * nu))))))


@lru_cache(maxsize=64)
def _uniform(s: int) -> Discretization:
    return Discretization.uniform(s, periodic=True)

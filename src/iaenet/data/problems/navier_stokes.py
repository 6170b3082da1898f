"""Incompressible flow in a periodic square, `w_t + v . grad w = nu Lap w - mu w + f`: vorticity -> vorticity later."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft2, rfft2

from iaenet.data.problems.exponential_steps import ETDRK4, Spectrum
from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.random_fields import gaussian_waves
from iaenet.data.problems.trajectory import check_times, consecutive, on_periodic_grid, periodic_grid, trajectory
from iaenet.errors import InvalidInputError

MODES = 16  # of the vorticity at time 0, each way


@dataclass(frozen=True)
class NavierStokes:
    """`w(., t) -> w(., t + time_step)` for `w_t + v . grad w = viscosity Lap w - drag w + f` on [0, 1)^2, periodic.

    `v = (psi_y, -psi_x)`, `-Lap psi = w`, and `f = forcing 2 pi m cos(2 pi m y)` stirs the flow with m = `forcing_mode`
    (Kolmogorov flow). At time 0, w is a Gaussian field with the spectrum `(4 pi^2 |k|^2 + tau^2)^(-alpha / 2)`,
    |k_i| <= 16, and root mean square `amplitude`. Solved in float64 by a Fourier pseudo-spectral method (2/3 rule) and
    exponential time steps of order four; values on any grid are exact for the solver's Fourier sum. All quantities are
    dimensionless (unit 1).

    viscosity: nu. Default 1e-3.
    drag: mu, friction that takes energy from large eddies. Default 0.1.
    forcing: amplitude of the force on the flow. Default 0.5.
    forcing_mode: waves of the force along a side. Default 2.
    amplitude, alpha, tau: root mean square, smoothness and inverse length of w at time 0. Defaults 5, 2.5, 7.
    time_step: between input and output. Default 1.
    steps: pairs of a trajectory, one after another; they share a record, and so a split. Default 1.
    start: time of the first input. Default 0.
    fine: points along a side of the solver's grid. Default 96.
    solver_step: longest time step of the solver. Default 0.02.

    >>> pair = NavierStokes(time_step=0.1).record(np.random.default_rng(0), [32])[0][32]
    >>> pair.input.shape, pair.output.shape, pair.output_at.periodic
    ((1024, 1), (1024, 1), (True, True))
    """

    viscosity: float = 1e-3
    drag: float = 0.1
    forcing: float = 0.5
    forcing_mode: int = 2
    amplitude: float = 5.0
    alpha: float = 2.5
    tau: float = 7.0
    time_step: float = 1.0
    steps: int = 1
    start: float = 0.0
    fine: int = 96
    solver_step: float = 0.02

    name: ClassVar[str] = "navier-stokes"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("w(x, t)"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("w(x, t + T)"),)

    def __post_init__(self) -> None:
        check_times(**vars(self))
        if self.fine < 3 * MODES:
            raise InvalidInputError(f"fine must be at least {3 * MODES} points along a side, got {self.fine}")
        if self.forcing_mode >= self.fine / 3:
            raise InvalidInputError(f"forcing_mode must be below fine / 3 of {self.fine}, got {self.forcing_mode}")

    @property
    def windows(self) -> int:
        """Pairs of one trajectory."""
        return self.steps

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One trajectory; a resolution s is the number of points along a side."""
        first = self.initial(rng)
        grids = {s: periodic_grid(s, 2, 1.0) for s in resolutions}
        y = np.arange(self.fine) / self.fine
        wave = 2 * np.pi * self.forcing_mode
        force = np.tile(self.forcing * wave * np.cos(wave * y), (self.fine, 1))
        make = stepper(self.viscosity, self.drag, force.tobytes(), self.fine)
        times = self.start + self.time_step * np.arange(self.steps + 1)
        states = trajectory(first, make, times.tolist(), self.solver_step, stable_step)
        whole = [np.fft.fft2(irfft2(c, (self.fine,) * 2, norm="forward"), norm="forward") for c in states]
        return consecutive([{s: on_periodic_grid(c, (s, s)).reshape(-1, 1) for s in grids} for c in whole], grids)

    def initial(self, rng: np.random.Generator) -> Spectrum:
        """Coefficients `rfft2(w) / n^2` of a random vorticity on the solver's grid."""
        k = np.fft.ifftshift(np.arange(-MODES, MODES + 1))
        c = np.zeros((self.fine, self.fine), dtype=np.complex128)
        c[np.ix_(k, k)] = gaussian_waves(rng, 2, MODES, self.alpha, self.tau, self.amplitude)
        found: Spectrum = rfft2(np.fft.ifft2(c, norm="forward").real, norm="forward")
        return found


@lru_cache(maxsize=8)
def stepper(viscosity: float, drag: float, force: bytes, n: int) -> Callable[[float], ETDRK4]:
    """Time steps of any length for the coefficients `rfft2(w) / n^2` of w on n x n points.

    `w_t = (nu Lap - mu) w - div(v w) + f`; the product is without aliasing for `|k_i| < n / 3`. `force` are the values
    of f, `(n, n)` float64 numbers.
    """
    source = np.where(_kept(n), rfft2(np.frombuffer(force).reshape(n, n), norm="forward"), 0)
    linear = viscosity * laplacian(n) - drag
    return lru_cache(maxsize=8)(lambda step: ETDRK4(linear, lambda w: transport(w, velocity(w), source), step))


def transport(c: Spectrum, v: tuple[Array, Array], source: Spectrum) -> Spectrum:
    """`f - div(v c)`, |k_i| < n / 3, from `rfft2(c) / n^2`, v on the grid of n x n points, and `rfft2(f) / n^2`."""
    values = irfft2(c, (len(c), len(c)), norm="forward")
    rates = source.copy()
    for along, outward in zip(v, _divergence(len(c)), strict=True):
        rates += outward * rfft2(along * values, norm="forward")
    return rates


def velocity(c: Spectrum) -> tuple[Array, Array]:
    """`v = (psi_y, -psi_x)`, `psi_k = w_k / |2 pi k|^2`, on the grid of n x n points, from `rfft2(w) / n^2`."""
    x, y = (irfft2(factor * c, (len(c), len(c)), norm="forward") for factor in _biot_savart(len(c)))
    return x, y


def stable_step(c: Spectrum) -> float:
    """`2 / (max (|v_1| + |v_2|) 2 pi n / 3)`: the highest mode turns by two radians in a step."""
    x, y = velocity(c)
    return float(2 / (2 * np.pi * len(c) / 3 * max((np.abs(x) + np.abs(y)).max(), 1e-9)))


@lru_cache(maxsize=8)
def laplacian(n: int) -> Array:
    """`-|2 pi k|^2` of the coefficients `rfft2(w)` on n x n points."""
    k, m = _wave_numbers(n)
    return -4 * np.pi**2 * (k**2 + m**2)


@lru_cache(maxsize=8)
def _wave_numbers(n: int) -> tuple[Array, Array]:
    return np.fft.fftfreq(n, 1 / n)[:, None].astype(np.float64), np.arange(n // 2 + 1, dtype=np.float64)[None, :]


def _kept(n: int) -> NDArray[np.bool_]:
    k, m = _wave_numbers(n)
    return (np.abs(k) < n / 3) & (m < n / 3)


@lru_cache(maxsize=8)
def _divergence(n: int) -> tuple[Spectrum, Spectrum]:
    k, m = _wave_numbers(n)
    return np.where(_kept(n), -2j * np.pi * k, 0), np.where(_kept(n), -2j * np.pi * m, 0)


@lru_cache(maxsize=8)
def _biot_savart(n: int) -> tuple[Spectrum, Spectrum]:
    k, m = _wave_numbers(n)
    square = np.maximum(-laplacian(n), 1)  # w has no mean
    return 2j * np.pi * m / square, -2j * np.pi * k / square

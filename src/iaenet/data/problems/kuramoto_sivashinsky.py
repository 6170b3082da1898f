"""The Kuramoto-Sivashinsky equation on the periodic line, chaotic: state -> state a while later."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.fft import irfft, rfft

from iaenet.data.problems.exponential_steps import ETDRK4, Spectrum
from iaenet.data.problems.problem import Channel, Sample
from iaenet.data.problems.random_fields import FourierSeries
from iaenet.data.problems.trajectory import check_times, consecutive, periodic_grid, trajectory
from iaenet.errors import InvalidInputError

SMOOTH = 8  # modes of the state at time 0


@dataclass(frozen=True)
class KuramotoSivashinsky:
    """`u(., t) -> u(., t + time_step)` for `u_t + u u_x + u_xx + u_xxxx = 0` on [0, length), periodic.

    At time 0 u is a random series of 8 modes; at time `start` it is on the attractor, where neighbouring solutions part
    like `exp(0.09 t)` for lengths of 60 and more. Solved in float64 by a Fourier pseudo-spectral method (2/3 rule) and
    exponential time steps of order four; values on any grid are exact for the solver's Fourier sum. All quantities are
    dimensionless (unit 1).

    length: of the period. Default 64.
    time_step: between input and output. Default 1.
    steps: pairs of a trajectory, one after another; they share a record, and so a split. Default 1.
    start: time of the first input. Default 100.
    fine: points of the solver's grid; two a unit of length are enough for 1e-6. Default 256.
    solver_step: longest time step of the solver. Default 0.05.

    >>> pair = KuramotoSivashinsky(start=10.0).record(np.random.default_rng(0), [64])[0][64]
    >>> pair.input.shape, pair.output_at.bounds.tolist(), pair.output_at.periodic
    ((64, 1), [[0.0, 64.0]], (True,))
    """

    length: float = 64.0
    time_step: float = 1.0
    steps: int = 1
    start: float = 100.0
    fine: int = 256
    solver_step: float = 0.05

    name: ClassVar[str] = "kuramoto-sivashinsky"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("u(x, t)"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u(x, t + T)"),)

    def __post_init__(self) -> None:
        check_times(**vars(self))
        if self.fine < 3 * SMOOTH:
            raise InvalidInputError(f"fine must be at least {3 * SMOOTH} points, got {self.fine}")

    @property
    def windows(self) -> int:
        """Pairs of one trajectory."""
        return self.steps

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One trajectory; a resolution s is the number of points."""
        a, b = rng.standard_normal((2, SMOOTH)) / np.sqrt(SMOOTH)
        grids = {s: periodic_grid(s, 1, self.length) for s in resolutions}
        first = np.zeros(self.fine // 2 + 1, dtype=np.complex128)
        first[1 : SMOOTH + 1] = (a - 1j * b) / 2
        times = self.start + self.time_step * np.arange(self.steps + 1)
        found = trajectory(first, stepper(self.fine, self.length), times.tolist(), self.solver_step)
        states = [series(c) for c in found]
        return consecutive([{s: u.on_grid(s)[:, None] for s in grids} for u in states], grids)


def series(c: Spectrum) -> FourierSeries:
    """The function, in units of the period, of the coefficients `rfft(u) / n`."""
    return FourierSeries(np.concatenate([c[:1], 2 * c[1:]]))


@lru_cache(maxsize=8)
def stepper(n: int, length: float) -> Callable[[float], ETDRK4]:
    """Time steps of any length for the coefficients `rfft(u) / n` of u on n points of a period.

    `c_k' = (q^2 - q^4) c_k - (i q / 2) (u^2)_k`, `q = 2 pi k / length`; there is no aliasing for `k < n / 3`.
    """
    k = np.arange(n // 2 + 1)
    q = 2 * np.pi * k / length
    factor = np.where(k < n / 3, -0.5j * q, 0)

    def nonlinear(c: Spectrum) -> Spectrum:
        u = irfft(c, n, norm="forward")
        product: Spectrum = factor * rfft(u * u, norm="forward")
        return product

    return lru_cache(maxsize=8)(lambda step: ETDRK4(np.where(k < n / 3, q**2 - q**4, -(q**4)), nonlinear, step))

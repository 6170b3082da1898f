"""The Allen-Cahn equation on the periodic line: interfaces between two phases form, move together and vanish."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.fft import irfft, rfft

from iaenet.data.problems.exponential_steps import ETDRK4, Spectrum
from iaenet.data.problems.kuramoto_sivashinsky import series
from iaenet.data.problems.problem import Channel, Sample
from iaenet.data.problems.trajectory import check_times, consecutive, periodic_grid, trajectory
from iaenet.errors import InvalidInputError


@dataclass(frozen=True)
class AllenCahn:
    """`u(., t) -> u(., t + time_step)` for `u_t = epsilon^2 u_xx + u - u^3` on [0, 1), periodic.

    At time 0 u is a random series of `modes` waves of equal variance. Within a few units of time it is near 1 or -1 but
    at interfaces `tanh(x / (sqrt(2) epsilon))`; two of them at a distance d attract one another like
    `exp(-sqrt(2) d / epsilon)` and vanish when they meet. Solved in float64 by a Fourier pseudo-spectral method (1/2
    rule, as u^3 needs) and exponential time steps of order four; values on any grid are exact for the solver's
    Fourier sum. All quantities are dimensionless (unit 1).

    epsilon: width of an interface. Default 0.01.
    modes: waves of the state at time 0, k = 1 .. modes. Default 16.
    amplitude: root mean square of the state at time 0. Default 0.5.
    time_step: between input and output. Default 10.
    steps: pairs of a trajectory, one after another; they share a record, and so a split. Default 1.
    start: time of the first input. Default 0.
    fine: points of the solver's grid; five in a width epsilon are enough for 1e-6. Default 512.
    solver_step: longest time step of the solver. Default 0.05.

    >>> pair = AllenCahn().record(np.random.default_rng(0), [64])[0][64]
    >>> pair.input.shape, pair.output_at.bounds.tolist(), pair.output_at.periodic
    ((64, 1), [[0.0, 1.0]], (True,))
    >>> [int(np.sum(u[1:] * u[:-1] < 0)) for u in (pair.input, pair.output)]  # interfaces
    [21, 10]
    """

    epsilon: float = 0.01
    modes: int = 16
    amplitude: float = 0.5
    time_step: float = 10.0
    steps: int = 1
    start: float = 0.0
    fine: int = 512
    solver_step: float = 0.05

    name: ClassVar[str] = "allen-cahn"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("u(x, t)"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u(x, t + T)"),)

    def __post_init__(self) -> None:
        check_times(**vars(self))
        if self.modes >= self.fine / 4:
            raise InvalidInputError(f"modes must be below fine / 4 of {self.fine}, got {self.modes}")

    @property
    def windows(self) -> int:
        """Pairs of one trajectory."""
        return self.steps

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One trajectory; a resolution s is the number of points."""
        a, b = self.amplitude / np.sqrt(self.modes) * rng.standard_normal((2, self.modes))
        grids = {s: periodic_grid(s, 1, 1.0) for s in resolutions}
        first = np.zeros(self.fine // 2 + 1, dtype=np.complex128)
        first[1 : self.modes + 1] = (a - 1j * b) / 2
        times = self.start + self.time_step * np.arange(self.steps + 1)
        found = trajectory(first, stepper(self.fine, self.epsilon), times.tolist(), self.solver_step)
        states = [series(c) for c in found]
        return consecutive([{s: u.on_grid(s)[:, None] for s in grids} for u in states], grids)


@lru_cache(maxsize=8)
def stepper(n: int, epsilon: float) -> Callable[[float], ETDRK4]:
    """Time steps of any length for the coefficients `rfft(u) / n` of u on n points of [0, 1).

    `c_k' = (1 - (2 pi k epsilon)^2) c_k - (u^3)_k`; there is no aliasing for `k < n / 4`, and no other k is kept.
    """
    k = np.arange(n // 2 + 1)
    kept = k < n / 4

    def nonlinear(c: Spectrum) -> Spectrum:
        u = irfft(c, n, norm="forward")
        product: Spectrum = np.where(kept, -rfft(u**3, norm="forward"), 0)
        return product

    linear = np.where(kept, 1.0, 0.0) - (2 * np.pi * k * epsilon) ** 2
    return lru_cache(maxsize=8)(lambda step: ETDRK4(linear, nonlinear, step))

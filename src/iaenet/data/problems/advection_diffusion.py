"""A dye carried and spread by a steady flow in a periodic square: stream function and dye -> dye later."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.fft import irfft2, rfft2

from iaenet.data.problems.exponential_steps import ETDRK4, Spectrum
from iaenet.data.problems.navier_stokes import laplacian, stable_step, transport, velocity
from iaenet.data.problems.problem import Channel, Sample
from iaenet.data.problems.random_fields import gaussian_waves
from iaenet.data.problems.trajectory import check_times, on_periodic_grid, periodic_grid, trajectory
from iaenet.errors import InvalidInputError


@dataclass(frozen=True)
class AdvectionDiffusion:
    """`(psi, c(., 0)) -> c(., time)` for `c_t + v . grad c = diffusivity Lap c` on [0, 1)^2, periodic.

    `v = (psi_y, -psi_x)`, `psi = (-Lap)^(-1/2) g`; g and c at time 0 are Gaussian fields with the spectrum
    `(4 pi^2 |k|^2 + tau^2)^(-alpha / 2)`, |k_i| <= modes, and root mean squares `speed`, which is that of v then, and 1
    (means over the square and the draws). The map is linear in c, but not in psi. Solved in float64 by a Fourier
    pseudo-spectral method (2/3 rule) and exponential time steps of order four; values on any grid are exact for the
    solver's Fourier sum. All quantities are dimensionless (unit 1).

    diffusivity: of the dye. Default 3e-3.
    speed: root mean square of v. Default 1.
    time: of the output. Default 0.5.
    alpha, tau, modes: smoothness, inverse length and waves along a side of g and of c at time 0. Defaults 3, 7 and 8.
    fine: points along a side of the solver's grid. Default 128.
    solver_step: longest time step of the solver. Default 0.01.

    >>> pair = AdvectionDiffusion(time=0.05).record(np.random.default_rng(0), [32])[0][32]
    >>> pair.input.shape, pair.output.shape, pair.output_at.periodic
    ((1024, 2), (1024, 1), (True, True))
    """

    diffusivity: float = 3e-3
    speed: float = 1.0
    time: float = 0.5
    alpha: float = 3.0
    tau: float = 7.0
    modes: int = 8
    fine: int = 128
    solver_step: float = 0.01

    name: ClassVar[str] = "advection-diffusion"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("psi"), Channel("c(x, 0)"))
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("c(x, T)"),)
    windows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_times(**vars(self))
        if self.modes >= self.fine / 3:
            raise InvalidInputError(f"modes must be below fine / 3 of {self.fine}, got {self.modes}")

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One sample; a resolution s is the number of points along a side."""
        g, first = (gaussian_waves(rng, 2, self.modes, self.alpha, self.tau, size) for size in (self.speed, 1.0))
        k2 = np.fft.ifftshift(np.arange(-self.modes, self.modes + 1)) ** 2
        psi = g / np.maximum(2 * np.pi * np.sqrt(np.add.outer(k2, k2)), 1)  # g_0 = 0
        grids = {s: periodic_grid(s, 2, 1.0) for s in resolutions}
        fine = (self.fine, self.fine)
        stream, dye = (rfft2(on_periodic_grid(c, fine), norm="forward") for c in (psi, first))
        last = carried(stream, dye, self.diffusivity, self.time, self.solver_step)
        later = np.fft.fft2(irfft2(last, fine, norm="forward"), norm="forward")
        sample = {}
        for s, at in grids.items():
            a, b, u = (on_periodic_grid(c, (s, s)).ravel() for c in (psi, first, later))
            sample[s] = Sample(np.stack([a, b], axis=-1), u[:, None], at, at)
        return [sample]


def carried(psi: Spectrum, c: Spectrum, diffusivity: float, time: float, solver_step: float) -> Spectrum:
    """Coefficients of the dye at a time from those at time 0, all `rfft2 / n^2` on n x n points.

    `c_t = diffusivity Lap c - div(v c)`, without aliasing for |k_i| < n / 3. Steps are at most `solver_step`, and
    shorter where the flow is fast.

    >>> psi = np.zeros((12, 7), dtype=np.complex128); psi[1, 1] = psi[-1, 1] = 0.25  # cos(2 pi x) cos(2 pi y)
    >>> c = carried(psi, psi, 0.1, 0.5, 0.01)  # the dye lies along the streamlines: it spreads alone
    >>> bool(abs(c[1, 1] - 0.25 * np.exp(-0.1 * 8 * np.pi**2 * 0.5)) < 1e-12)
    True
    """
    vorticity = -laplacian(len(psi)) * psi
    v, nothing = velocity(vorticity), np.zeros_like(c)

    @lru_cache(maxsize=1)
    def stepper(step: float) -> ETDRK4:
        return ETDRK4(diffusivity * laplacian(len(c)), lambda now: transport(now, v, nothing), step)

    return trajectory(c, stepper, [time], min(solver_step, stable_step(vorticity)))[0]

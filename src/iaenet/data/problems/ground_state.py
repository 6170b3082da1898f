"""The ground state of a particle in a periodic cube, `-1/2 Lap psi + V psi = E psi`: potential -> density."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from scipy.fft import irfftn, rfftn

from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.random_fields import gaussian_waves
from iaenet.data.problems.trajectory import check_times, on_periodic_grid, periodic_grid
from iaenet.errors import InvalidInputError

MOST_ITERATIONS = 400


@dataclass(frozen=True)
class GroundState:
    """`V -> |psi|^2`, psi the lowest eigenfunction of `-1/2 Lap psi + V psi = E psi` on [0, 1)^3, periodic.

    V is a Gaussian field with the spectrum `(4 pi^2 |k|^2 + tau^2)^(-alpha / 2)`, |k_i| <= modes, of mean 0 and root
    mean square `strength`; the density has mean 1. V is a finite Fourier sum, and so waves of psi fall faster than
    exponentially: a collocation method in float64, whose lowest eigenvector is found by locally optimal preconditioned
    conjugate gradients. Values on any grid are exact for the solver's Fourier sum of psi. In atomic units; all
    quantities are dimensionless (unit 1).

    strength: root mean square of V, to compare with the energy `2 pi^2` of the first wave. Default 10.
    alpha, tau, modes: smoothness, inverse length and waves along a side of V. Defaults 3, 5 and 3.
    fine: points along a side of the solver's grid. Default 24.

    >>> pair = GroundState(fine=16).record(np.random.default_rng(0), [6])[0][6]
    >>> pair.input.shape, pair.output.shape, pair.output_at.periodic
    ((216, 1), (216, 1), (True, True, True))
    """

    strength: float = 10.0
    alpha: float = 3.0
    tau: float = 5.0
    modes: int = 3
    fine: int = 24

    name: ClassVar[str] = "ground-state"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("V"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("density"),)
    windows: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_times(**vars(self))
        if self.modes >= self.fine / 2:
            raise InvalidInputError(f"modes must be below fine / 2 of {self.fine}, got {self.modes}")

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One sample; a resolution s is the number of points along a side."""
        potential = gaussian_waves(rng, 3, self.modes, self.alpha, self.tau, self.strength)
        grids = {s: periodic_grid(s, 3, 1.0) for s in resolutions}
        psi, _ = ground_state(on_periodic_grid(potential, (self.fine,) * 3))
        waves = np.fft.fftn(psi, norm="forward")
        sample = {}
        for s, at in grids.items():
            v, u = (on_periodic_grid(c, (s,) * 3).reshape(-1, 1) for c in (potential, waves))
            sample[s] = Sample(v, u**2, at, at)
        return [sample]


def ground_state(potential: Array, tolerance: float = 1e-10) -> tuple[Array, float]:
    """The lowest eigenfunction and eigenvalue of `H = -1/2 Lap + V` on a uniform grid of the periodic unit cube.

    Each iteration takes the lowest state in the span of the last one, its residual under `(-1/2 Lap + s)^-1`, s the
    deviation of V, and the last change (LOBPCG of one vector, Knyazev 2001): 12 to 18 times for the default strength,
    whatever the grid.

    Args:
        potential: values `(n, .., n)` at the points `j / n`, in any number of dimensions.
        tolerance: residual `|H psi - E psi|` relative to `pi^2 |psi|`, half the gap above the ground state without a
            potential. Default 1e-10.

    Returns:
        psi of mean square 1, positive in the mean, and E.

    >>> psi, energy = ground_state(np.full((4, 4), 3.0))
    >>> psi.round(12).tolist()[0], round(energy, 12)
    ([1.0, 1.0, 1.0, 1.0], 3.0)
    """
    if len(set(potential.shape)) != 1 or not np.isfinite(potential).all():
        raise InvalidInputError(f"the potential must be finite numbers of shape (n, .., n), got {potential.shape}")
    shape, n = potential.shape, len(potential)
    waves = [np.fft.fftfreq(n, 1 / n) ** 2] * (len(shape) - 1) + [np.arange(n // 2 + 1.0) ** 2]
    kinetic: Array = 2 * np.pi**2 * reduce(np.add.outer, waves)
    inverse = 1 / (kinetic + max(float(potential.std()), 1.0))
    mean = float(potential.mean())
    centred = potential - mean  # E does not cancel

    def applied(factor: Array, u: Array) -> Array:
        image: Array = irfftn(factor * rfftn(u), shape)
        return image

    def hamiltonian(u: Array) -> Array:
        return applied(kinetic, u) + centred * u

    psi: Array = np.full(shape, potential.size**-0.5)
    image, change = hamiltonian(psi), list[Array]()
    for _ in range(MOST_ITERATIONS):
        energy = float(np.vdot(psi, image))
        residual = image - energy * psi
        if np.linalg.norm(residual) <= tolerance * np.pi**2:
            found: Array = psi * np.copysign(np.sqrt(psi.size), psi.sum())
            return found, energy + mean
        span = np.stack([each.ravel() for each in (psi, applied(inverse, residual), *change)], axis=1)
        basis = np.linalg.qr(span)[0].T
        images = np.stack([hamiltonian(u.reshape(shape)).ravel() for u in basis])
        lowest = np.linalg.eigh(basis @ images.T)[1][:, 0]
        psi, image = (lowest @ basis).reshape(shape), (lowest @ images).reshape(shape)
        change = [lowest[1:] @ basis[1:]]
    raise InvalidInputError(
        f"the residual is {np.linalg.norm(residual):.1e} after {MOST_ITERATIONS} iterations, above "
        f"{tolerance * np.pi**2:.1e}: the ground state is not well separated from the next one; lower strength"
    )

"""Joukowsky profiles, and the exact potential flow around them.

`z = zeta + 1 / zeta` takes the outside of the circle `|zeta - mu| = R` through `zeta = 1` to the outside of a profile
with a cusp, the trailing edge, at z = 2. With `mu = 1 - R e^(-i beta)` the profile meets the real axis again at the
image of `1 - 2 R cos beta`, its nose; a shift and a scale put nose and trailing edge at 0 and 1. The flow around the
circle with the circulation of the Kutta condition (no flow around the trailing edge) has its velocity in two factors,

`dw/dzeta = e^(-i alpha) (zeta - 1) (zeta - zeta_s) / (zeta - mu)^2,   zeta_s = mu - R e^(i (2 alpha + beta))`,

and `zeta - 1` cancels against `dz/dzeta = (zeta - 1) (zeta + 1) / zeta^2`: finite at the trailing edge.
"""

import cmath
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iaenet.functions.quadrature import Array

Complex = NDArray[np.complex128]
EVEN = 0.2  # share of equal steps in the angle, shorter at nose and trailing edge, against equal steps in length


@dataclass(frozen=True)
class Profile:
    """A profile of chord 1, from its nose at the origin to its trailing edge at (1, 0); a curve as meshes need it.

    thickness: about the largest thickness, in chords; `R cos beta = 1 + 4 thickness / 3 sqrt(3)`.
    camber: the largest height of the middle line, in chords, at no thickness; `tan beta = 2 camber`.

    >>> profile = Profile(0.12, 0.02)
    >>> profile.holds(np.array([[0.5, 0.0], [0.5, 0.2], [-0.1, 0.0]])).tolist()
    [True, False, False]
    """

    thickness: float
    camber: float

    @property
    def beta(self) -> float:
        """Angle of the trailing edge, seen from the middle of the circle, below the real axis."""
        return math.atan(2 * self.camber)

    @property
    def radius(self) -> float:
        """R."""
        return (1 + 4 * self.thickness / (3 * math.sqrt(3))) / math.cos(self.beta)

    @property
    def middle(self) -> complex:
        """mu."""
        return 1 - self.radius * cmath.exp(-1j * self.beta)

    @property
    def scale(self) -> float:
        """Chord before it is scaled to one."""
        nose = 1 - 2 * self.radius * math.cos(self.beta)
        return 2 - nose - 1 / nose

    def to_plane(self, zeta: Complex) -> Array:
        """Points `(n, 2)` of the plane of the profile, from the plane of the circle."""
        z = 1 + (zeta + 1 / zeta - 2) / self.scale
        return np.stack([z.real, z.imag], axis=1)

    def to_circle(self, points: Array) -> Complex:
        """zeta of `points (n, 2)` outside the profile: of both solutions of the quadratic equation the outer one.

        >>> profile, zeta = Profile(0.1, 0.05), np.array([3.0 + 1.0j])
        >>> bool(abs(profile.to_circle(profile.to_plane(zeta)) - zeta) < 1e-14)
        True
        """
        z = 2 + self.scale * (points[:, 0] - 1 + 1j * points[:, 1])
        root = np.sqrt(z - 2) * np.sqrt(z + 2)
        both = np.stack([z + root, z - root]) / 2
        outer: Complex = both[np.abs(both - self.middle).argmax(axis=0), np.arange(len(z))]
        return outer

    def velocity(self, zeta: Complex, attack: float) -> Array:
        """Velocity `(n, 2)` at points of the circle's plane, for a stream of speed 1 at the angle `attack`.

        >>> Profile(0.1, 0.05).velocity(np.array([1e9 + 0j]), 0.1).round(6).tolist()  # (cos 0.1, sin 0.1)
        [[0.995004, 0.099833]]
        """
        rear = self.middle - self.radius * cmath.exp(1j * (2 * attack + self.beta))
        w = cmath.exp(-1j * attack) * (zeta - rear) / (zeta + 1) * (zeta / (zeta - self.middle)) ** 2
        return np.stack([w.real, -w.imag], axis=1)

    def lift(self, attack: float) -> float:
        """Lift coefficient, `8 pi R sin(alpha + beta) / scale`, by the theorem of Kutta and Joukowsky."""
        return 8 * math.pi * self.radius * math.sin(attack + self.beta) / self.scale

    def outline(self, count: int, start: float = 0.0) -> Array:  # noqa: ARG002
        """Points `(count, 2)` around the profile, the first at the trailing edge; see `around`."""
        return self.to_plane(self.around(count))

    def around(self, count: int) -> Complex:
        """`count` points of the circle, from that of the trailing edge on, whose images are apart by about equal steps
        of the profile's length, shorter at its ends.
        """
        angles = np.linspace(0, 2 * np.pi, 721)
        zeta = self.middle + self.radius * np.exp(1j * (angles - self.beta))
        pace = np.abs(1 - 1 / zeta**2)
        pace += EVEN * pace.mean()
        steps = np.concatenate([[0.0], np.cumsum(pace[1:] + pace[:-1])])
        chosen = np.interp(np.arange(count) / count * steps[-1], steps, angles)
        placed: Complex = self.middle + self.radius * np.exp(1j * (chosen - self.beta))
        placed[0] = 1.0
        return placed

    def holds(self, points: Array) -> NDArray[np.bool_]:
        """Which points lie inside."""
        inside: NDArray[np.bool_] = np.abs(self.to_circle(points) - self.middle) < self.radius
        return inside

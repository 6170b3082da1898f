"""Potential flow around random Joukowsky profiles: domain and angle of attack -> pressure coefficient, exact."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from iaenet.data.problems.graded_mesh import Box, Mesh, Region
from iaenet.data.problems.joukowsky import Complex, Profile
from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.ranges import Range, check_range, drawn
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

BOX: Box = ((-0.5, 1.5), (-1.0, 1.0))
NEAR, REACH = 0.15, 0.6  # edges at the profile, as a share of those far away; distance up to which they grow
GUESS = 2.03  # of the edge length far away
LARGEST = {"thickness": (0.02, 0.4), "camber": (-0.15, 0.15), "attack": (-20.0, 20.0)}


@dataclass(frozen=True)
class Airfoil:
    """`(Omega, alpha) -> Cp = 1 - |v|^2`: flow of speed 1 at the angle alpha around a profile, without friction.

    Omega is the box `[-0.5, 1.5] x [-1, 1]` without a Joukowsky profile of random thickness and camber, which reaches
    from its nose at (0, 0) to its trailing edge at (1, 0). The flow is that of the unbounded plane, with the
    circulation that lets it leave the trailing edge smoothly (Kutta), exact at every point by a conformal map. The
    input has two constants: 1, as the mesh tells where the profile is, and alpha.

    thickness: least and greatest thickness, in chords. Default 0.08,0.2.
    camber: least and greatest height of the middle line, in chords. Default 0,0.06.
    attack: least and greatest angle of attack alpha, in degrees; the input has it in radians. Default -4,8.
    at: "field" (default) or "surface", where the functions are given.

    "field": at the nodes of a triangle mesh of Omega that is finer at the profile, new for each sample and resolution;
    the output is Cp and the velocity (u, v). A resolution is a number of nodes, met to about 1 %.
    "surface": on the profile alone, a closed curve of as many points as the resolution says; the output is Cp.

    >>> pair = Airfoil().record(np.random.default_rng(0), [800])[0][800]
    >>> pair.output.shape[1], float(pair.output[:, 0].max()) <= 1
    (3, True)
    """

    thickness: Range = (0.08, 0.2)
    camber: Range = (0.0, 0.06)
    attack: Range = (-4.0, 8.0)
    at: Literal["field", "surface"] = "field"

    name: ClassVar[str] = "airfoil"
    dim: ClassVar[int] = 2
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("domain"), Channel("alpha", "rad"))

    def __post_init__(self) -> None:
        for name, (least, most) in LARGEST.items():
            check_range(name, getattr(self, name), least, most)
        if self.at not in ("field", "surface"):
            raise InvalidInputError(f"at must be 'field' or 'surface', got {self.at!r}")

    @property
    def outputs(self) -> tuple[Channel, ...]:
        """Cp, and in the field the velocity."""
        return (Channel("Cp"), Channel("u"), Channel("v")) if self.at == "field" else (Channel("Cp"),)

    @property
    def windows(self) -> int:
        """One sample per record."""
        return 1

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One profile and one angle; see the class for what a resolution means."""
        profile = Profile(drawn(rng, self.thickness), drawn(rng, self.camber))
        attack = math.radians(drawn(rng, self.attack))
        seed = int(rng.integers(2**62))
        make = self._on_mesh if self.at == "field" else self._on_surface
        return [{n: make(profile, attack, n, np.random.default_rng([seed, n])) for n in resolutions}]

    def _on_mesh(self, profile: Profile, attack: float, n: int, rng: np.random.Generator) -> Sample:
        mesh = exterior(profile, n, rng)
        fixed = mesh.loops[0]  # the nodes on the profile, whose places on the circle are known
        zeta = np.concatenate([profile.around(fixed), profile.to_circle(mesh.points[fixed:])])
        at = Discretization.mesh(mesh.points, mesh.cells, bounds=BOX)
        velocity = profile.velocity(zeta, attack)
        return Sample(_given(n=at.n, attack=attack), np.concatenate([pressure(velocity), velocity], 1), at, at)

    def _on_surface(self, profile: Profile, attack: float, n: int, _: np.random.Generator) -> Sample:
        if n < 8:
            raise InvalidInputError(f"resolution must be at least 8, got {n}")
        zeta: Complex = profile.around(n)
        segments = np.stack([np.arange(n), np.roll(np.arange(n), -1)], axis=1)
        at = Discretization.mesh(profile.to_plane(zeta), segments, bounds=BOX)
        return Sample(_given(n, attack), pressure(profile.velocity(zeta, attack)), at, at)


def exterior(profile: Profile, count: int, rng: np.random.Generator) -> Mesh:
    """A mesh of the box without the profile, whose nodes come first."""

    def unfold(points: Array) -> Array:
        zeta = profile.to_circle(points)
        return np.stack([zeta.real, zeta.imag], axis=1)

    return Region(BOX, (profile,), reach=REACH, unfold=unfold, guess=GUESS).mesh(count, NEAR, rng)


def pressure(velocity: Array) -> Array:
    """`Cp = 1 - |v|^2` by Bernoulli's law, `(n, d) -> (n, 1)`, for a stream of speed 1.

    >>> pressure(np.array([[0.0, 0.0], [0.6, 0.8]])).round(12).tolist()
    [[1.0], [0.0]]
    """
    cp: Array = 1 - (velocity**2).sum(axis=1, keepdims=True)
    return cp


def _given(n: int, attack: float) -> Array:
    return np.stack([np.ones(n), np.full(n, attack)], axis=1)

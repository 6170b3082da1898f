"""Laplace's equation in random rings: values on both boundaries -> the harmonic function between them, exact."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from iaenet.data.problems.graded_mesh import Box, Mesh, Region
from iaenet.data.problems.plane_curves import Ellipse, Star
from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.ranges import drawn
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

Complex = NDArray[np.complex128]
BOX: Box = ((-1.0, 1.0), (-1.0, 1.0))
NEAR, REACH = 0.75, 0.3  # edges at the boundary, as a share of those far away; distance up to which they grow
GUESS = 0.7  # of the edge length far away
LOBES = 6  # harmonics of the outer boundary
HOLE = (0.15, 0.3)  # longer half axis of the hole, in radii of the outer boundary
GAP = 0.12  # least distance between the boundaries, in such radii


@dataclass(frozen=True, eq=False)
class Harmonic:
    """`u(z) = Re sum_k c_k (z / s)^k + q log(|z - p| / t) + Re sum_k d_k (t / (z - p))^k`, in a ring.

    >>> u = Harmonic(np.array([1.0, 0.5]), np.array([3.0]), 0.0, reach=1.0, width=1.0, pole=0j)
    >>> u(np.array([[2.0, 0.0], [0.0, 1.0]])).tolist()  # 1 + x / 2 + 3 x / r^2
    [3.5, 1.0]
    """

    regular: Complex  # c (k,), from k = 0
    singular: Complex  # d (k,), from k = 1
    source: float  # q
    reach: float  # s, the largest radius of the curve
    width: float  # t, the smallest radius of the hole
    pole: complex  # p, in the hole

    def __call__(self, points: Array) -> Array:
        """Values `(n,)` at `points (n, 2)`."""
        z = points[:, 0] + 1j * points[:, 1]
        values = np.polynomial.polynomial.polyval(z / self.reach, self.regular).real
        away = self.width / (z - self.pole)
        values = values + np.polynomial.polynomial.polyval(away, np.concatenate([[0.0], self.singular])).real
        found: Array = values - self.source * np.log(np.abs(away))
        return found


@dataclass(frozen=True)
class LaplaceRing:
    """`g -> u`: `Lap u = 0` between an outer boundary `r(theta)` and an elliptic hole, `u = g` on both.

    Both boundaries are random, and u is a random harmonic function, a sum of powers of z, of inverse powers about the
    centre of the hole, and a logarithm: exact at every point. g is u on the boundary, given on its own points, two
    closed curves; u is given in the ring, at the nodes of a mesh. All lies in the box `[-1, 1]^2`.

    bumps: greatest `|r(theta) / r_0 - 1|`, below 0.5; r_0 is random. Default 0.3.
    modes: powers of each kind. Default 8.
    decay: ratio of the standard deviations of one coefficient and the one before it. Default 0.8.

    A resolution is a number of nodes, met to about 1 %, of a mesh that is new for each sample and resolution. Its
    nodes on the boundary are the points of the input.

    >>> pair = LaplaceRing().record(np.random.default_rng(0), [500])[0][500]
    >>> pair.input_at.cells.shape[1], pair.output_at.cells.shape[1]  # segments, triangles
    (2, 3)
    >>> bool(np.all(pair.output[: pair.input_at.n] == pair.input))
    True
    """

    bumps: float = 0.3
    modes: int = 8
    decay: float = 0.8

    name: ClassVar[str] = "laplace-ring"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("g"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u"),)

    def __post_init__(self) -> None:
        if not 0 <= self.bumps < 0.5:
            raise InvalidInputError(f"bumps must be at least 0 and below 0.5, got {self.bumps}")
        if self.modes < 1 or not 0 < self.decay <= 1:
            raise InvalidInputError(f"modes must be at least 1 and 0 < decay <= 1, got {self.modes} and {self.decay}")

    @property
    def windows(self) -> int:
        """One sample per record."""
        return 1

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One ring and one harmonic function."""
        outer, hole = self.draw(rng)
        u = self.function(outer, hole, rng)
        ring = Region(BOX, (hole,), outer, REACH, guess=GUESS)
        seed = int(rng.integers(2**62))
        return [{n: _sample(ring.mesh(n, NEAR, np.random.default_rng([seed, n])), u) for n in resolutions}]

    def draw(self, rng: np.random.Generator) -> tuple[Star, Ellipse]:
        """An outer boundary, and a hole clear of it."""
        waves = rng.standard_normal((2, LOBES)) / np.arange(1, LOBES + 1)
        bumps = rng.uniform(0, self.bumps)
        waves *= bumps / np.hypot(*waves).sum()
        radius = rng.uniform(0.8, 0.96) / (1 + self.bumps)
        longer = drawn(rng, HOLE)
        axes = radius * np.array([longer, longer * rng.uniform(0.5, 1)])
        away = radius * (1 - bumps - GAP - longer) * np.sqrt(rng.random())
        direction, angle = rng.uniform(0, 2 * np.pi, 2)
        hole = Ellipse(away * np.array([np.cos(direction), np.sin(direction)]), axes, angle)
        return Star(radius, *waves), hole

    def function(self, outer: Star, hole: Ellipse, rng: np.random.Generator) -> Harmonic:
        """A random harmonic function, of values about one, between these boundaries."""
        sizes = self.decay ** np.arange(self.modes + 1)
        sizes /= np.linalg.norm(sizes)
        c, d = sizes * (rng.standard_normal((2, len(sizes))) + 1j * rng.standard_normal((2, len(sizes))))
        reach = float(np.hypot(*outer.outline(360).T).max())
        return Harmonic(c, d[1:], float(d[0].real), reach, float(hole.axes.min()), complex(*hole.centre))


def _sample(mesh: Mesh, u: Harmonic) -> Sample:
    values = u(mesh.points)[:, None]
    fixed = sum(mesh.loops)
    boundary = Discretization.mesh(mesh.points[:fixed], mesh.boundary, bounds=BOX)
    at = Discretization.mesh(mesh.points, mesh.cells, bounds=BOX)
    return Sample(values[:fixed], values, boundary, at)

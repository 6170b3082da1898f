"""Potential flow in space around random ellipsoids: surface -> pressure coefficient, on it or around it, exact."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from iaenet.data.problems.airfoil import pressure
from iaenet.data.problems.ellipsoid_flow import Ellipsoid
from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.ranges import Range, check_range, drawn
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

BOX = ((-1.0, 1.0),) * 3
STREAM = np.array([1.0, 0.0, 0.0])
CP, VELOCITY = Channel("Cp"), (Channel("u"), Channel("v"), Channel("w"))


@dataclass(frozen=True)
class Bodies:
    """`Gamma -> Cp = 1 - |v|^2`: flow of speed 1 along x around the ellipsoid Gamma, without friction, exact (Lamb).

    The ellipsoid stands in the middle of the box `[-1, 1]^3`, with three random half axes and a random orientation;
    the flow is that of unbounded space. The input is given on its surface, triangles whose nodes are a random
    rotation of a subdivided icosahedron, stretched along the axes: the function 1, or the normals as well.

    half_axis: least and greatest half axis. Default 0.25,0.6.
    normals: outward unit normals as three more input channels. Default false.
    at: "surface" (default) or "volume", where the output is given.

    "surface": Cp at the nodes of the surface. A resolution is a number of nodes; there are 10 k^2 + 2 for some whole k,
    the nearest to it (162, 642, 2562).
    "volume": Cp and the velocity (u, v, w) at as many points as the resolution says, uniformly random in the box
    outside the ellipsoid; the surface has about a quarter as many nodes.

    >>> pair = Bodies().record(np.random.default_rng(0), [642])[0][642]
    >>> pair.output.shape, pair.output_at.cells.shape
    ((642, 1), torch.Size([1280, 3]))
    """

    half_axis: Range = (0.25, 0.6)
    normals: bool = False
    at: Literal["surface", "volume"] = "surface"

    name: ClassVar[str] = "bodies"
    dim: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_range("half_axis", self.half_axis, 0.05, 0.95)
        if self.at not in ("surface", "volume"):
            raise InvalidInputError(f"at must be 'surface' or 'volume', got {self.at!r}")

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """The function 1, and the normals if they are asked for."""
        return (Channel("surface"), *((Channel("nx"), Channel("ny"), Channel("nz")) if self.normals else ()))

    @property
    def outputs(self) -> tuple[Channel, ...]:
        """Cp, and in the volume the velocity."""
        return (CP,) if self.at == "surface" else (CP, *VELOCITY)

    @property
    def windows(self) -> int:
        """One sample per record."""
        return 1

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One ellipsoid; see the class for what a resolution means."""
        axes = np.array([drawn(rng, self.half_axis) for _ in range(3)])
        body = Ellipsoid(axes, Rotation.random(rng=rng).as_matrix())
        seed = int(rng.integers(2**62))
        return [{n: self.sample(body, n, np.random.default_rng([seed, n])) for n in resolutions}]

    def sample(self, body: Ellipsoid, resolution: int, rng: np.random.Generator) -> Sample:
        """The pair of an ellipsoid, its points drawn from `rng`."""
        if resolution < 12:
            raise InvalidInputError(f"resolution must be at least 12, got {resolution}")
        sphere, cells = icosphere(resolution if self.at == "surface" else max(12, resolution // 4))
        points = body.surface(sphere @ Rotation.random(rng=rng).as_matrix())
        surface = Discretization.mesh(points, cells, bounds=BOX)
        given = np.concatenate([np.ones((len(points), 1)), *([body.normals(points)] if self.normals else [])], axis=1)
        if self.at == "surface":
            return Sample(given, pressure(body.velocity(points, STREAM)), surface, surface)
        around = outside(body, resolution, rng)
        size = 8 - 4 / 3 * math.pi * body.axes.prod()
        at = Discretization.points(around, np.full(resolution, size / resolution), bounds=BOX)
        velocity = body.velocity(around, STREAM)
        return Sample(given, np.concatenate([pressure(velocity), velocity], axis=1), surface, at)


def outside(body: Ellipsoid, count: int, rng: np.random.Generator) -> Array:
    """`count` points, uniformly random in the box outside the ellipsoid."""
    found = np.zeros((0, 3))
    while len(found) < count:
        more = rng.uniform(-1, 1, (2 * count, 3))
        found = np.concatenate([found, more[~body.holds(more)]])
    return found[:count]


@lru_cache(maxsize=16)
def icosphere(count: int) -> tuple[Array, NDArray[np.int64]]:
    """Nodes on the unit sphere, `10 k^2 + 2` of them, the nearest to `count`, and triangles, outward anticlockwise.

    Each side of an icosahedron is cut into k^2 triangles, whose corners then move out to the sphere.

    >>> points, cells = icosphere(160)
    >>> points.shape, cells.shape
    ((162, 3), (320, 3))
    """
    k = max(1, round(math.sqrt(max(count - 2, 0) / 10)))
    golden = (1 + math.sqrt(5)) / 2
    corners = np.array([np.roll([0, one, two], r) for r in range(3) for one in (-1, 1) for two in (-golden, golden)])
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    i, j = np.array([(i, j) for i in range(k + 1) for j in range(k + 1 - i)]).T
    shares = np.stack([k - i - j, i, j], axis=1) / k
    flat = np.einsum("ps,fsd->fpd", shares, corners[ConvexHull(corners).simplices]).reshape(-1, 3)
    sphere = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    _, once = np.unique(sphere.round(9), axis=0, return_index=True)  # nodes on edges come twice, at corners five times
    points = sphere[np.sort(once)]
    hull = ConvexHull(points)
    cells = hull.simplices.astype(np.int64)
    a, b, c = points[cells].transpose(1, 0, 2)
    inward = np.einsum("nd,nd->n", np.cross(b - a, c - a), a) < 0
    cells[inward] = cells[inward][:, ::-1]
    return points, cells

"""Plane stress of a square plate with a random elliptic hole: its domain -> von Mises stress."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import block_array
from scipy.sparse.linalg import splu
from skfem import Basis, BilinearForm, ElementTriP2, FacetBasis, LinearForm, MeshTri

from iaenet.data.problems.graded_mesh import Box, Mesh, Region
from iaenet.data.problems.plane_curves import Ellipse
from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.quadratic_elements import evaluation
from iaenet.data.problems.ranges import Range, check_range, drawn
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

SQUARE: Box = ((0.0, 1.0), (0.0, 1.0))
NEAR = 0.4  # edges at the hole, as a share of those far away
REFERENCE_NEAR = 0.2  # the same on the mesh that is solved on
POISSON_RATIO = 0.3  # without influence: no force acts on the hole, and the left side is a plane of symmetry
NODES = np.array([[0, 1, 0, 0.5, 0.5, 0], [0, 0, 1, 0, 0.5, 0.5]])  # corners and midpoints of the edges 01, 12, 02


@dataclass(frozen=True)
class Plate:
    """`Omega -> s = sqrt(s_xx^2 - s_xx s_yy + s_yy^2 + 3 s_xy^2)`: `div sigma = 0` in the unit square without a hole.

    Tension 1 pulls the right side to the right; the left side keeps its x and is free to slide, top, bottom and hole
    are free. The hole is an ellipse with random centre, axes and angle. Stress is in units of the tension and does
    not depend on the material. The input is the function 1 on the domain: the mesh tells where the hole is.

    half_axis: least and greatest longer half axis of the hole. Default 0.1,0.2.
    ratio: least and greatest ratio of the shorter half axis to the longer. Default 0.55,1.
    offset: greatest distance of the centre from that of the plate along each axis. Default 0.12.
    vertices: of the mesh, of quadratic elements, that is solved on. Default 1200.

    A resolution is a number of nodes, met to about 1 %, of a triangle mesh that is new for each sample and resolution
    and finer at the hole. Input and output are given at its nodes. The stress at all resolutions is that of one
    solution on a mesh of its own, within 0.2 % of the exact one (relative L2) at the defaults.

    >>> pair = Plate().record(np.random.default_rng(0), [450])[0][450]
    >>> pair.input.shape == pair.output.shape, abs(pair.output_at.n - 450) <= 5
    (True, True)
    >>> float(pair.output.max()) > 2.5  # three times the tension at a small round hole
    True
    """

    half_axis: Range = (0.1, 0.2)
    ratio: Range = (0.55, 1.0)
    offset: float = 0.12
    vertices: int = 1200

    name: ClassVar[str] = "plate"
    dim: ClassVar[int] = 2
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("domain"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("von Mises stress"),)

    def __post_init__(self) -> None:
        check_range("half_axis", self.half_axis, 0.01, 0.45)
        check_range("ratio", self.ratio, 0.1, 1.0)
        if not 0 <= self.offset <= 0.45 - self.half_axis[1]:
            raise InvalidInputError(
                f"offset must be at least 0, and with the greatest half axis at most 0.45, got {self.offset}"
            )
        if self.vertices < 200:
            raise InvalidInputError(f"vertices must be at least 200, got {self.vertices}")

    @property
    def windows(self) -> int:
        """One sample per record."""
        return 1

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One plate on meshes of about so many nodes."""
        plate = self.draw(rng)
        stress = VonMises(plate.mesh(self.vertices, REFERENCE_NEAR, rng))
        seed = int(rng.integers(2**62))
        made = {}
        for n in resolutions:
            mesh = plate.mesh(n, NEAR, np.random.default_rng([seed, n]))
            at = Discretization.mesh(mesh.points, mesh.cells, bounds=SQUARE)
            made[n] = Sample(np.ones((at.n, 1)), stress(mesh.points)[:, None], at, at)
        return [made]

    def draw(self, rng: np.random.Generator) -> Region:
        """The plate with a random hole."""
        longer = drawn(rng, self.half_axis)
        axes = np.array([longer, longer * drawn(rng, self.ratio)])
        centre = rng.uniform(0.5 - self.offset, 0.5 + self.offset, 2)
        return Region(SQUARE, (Ellipse(centre, axes, rng.uniform(0, np.pi)),))


class VonMises:
    """The von Mises stress of a mesh of the plate by quadratic displacements, as a quadratic function.

    The stress is linear on each triangle; at corners and midpoints the mean over their triangles is taken.

    >>> whole = MeshTri().refined(2)
    >>> stress = VonMises(Mesh(whole.p.T, whole.t.T, ()))
    >>> round(float(stress(np.array([[0.3, 0.7]]))[0]), 9)
    1.0
    """

    def __init__(self, plate: Mesh) -> None:
        mesh = MeshTri(plate.points.T.copy(), plate.cells.T.copy())
        self.basis = Basis(mesh, ElementTriP2(), intorder=2)  # of each displacement, and of the stress
        n = self.basis.N
        shear = 0.5 / (1 + POISSON_RATIO)
        first = POISSON_RATIO / (1 - POISSON_RATIO**2)  # Lame's first parameter in plane stress, Young's modulus 1
        xx, xy, yy = (_slopes(i, j).assemble(self.basis) for i, j in ((0, 0), (0, 1), (1, 1)))
        cross = first * xy.T + shear * xy
        stiff = first + 2 * shear
        matrix = block_array([[stiff * xx + shear * yy, cross], [cross.T, shear * xx + stiff * yy]], format="csr")
        right = FacetBasis(mesh, ElementTriP2(), facets=mesh.facets_satisfying(lambda x: x[0] > 1 - 1e-9))
        load = np.concatenate([LinearForm(lambda v, _: v).assemble(right), np.zeros(n)])
        left = self.basis.get_dofs(mesh.facets_satisfying(lambda x: x[0] < 1e-9)).flatten()
        corner = n + np.flatnonzero(np.abs(self.basis.doflocs).max(axis=0) < 1e-9)
        free = np.setdiff1d(np.arange(2 * n), np.concatenate([left, corner]))
        u = np.zeros(2 * n)
        # The matrix is symmetric and positive definite: order it by its graph, and do not pivot.
        options = {"SymmetricMode": True}
        inner = matrix[free][:, free].tocsc()
        u[free] = splu(inner, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options).solve(load[free])

        nodes = Basis(mesh, ElementTriP2(), quadrature=(NODES, np.ones(6)))
        across, along = (nodes.interpolate(part).grad for part in np.split(u, 2))  # (2, e, 6)
        parts = [stiff * across[0] + first * along[1], first * across[0] + stiff * along[1]]
        parts += [shear * (across[1] + along[0])]
        places = self.basis.element_dofs.T.ravel()
        times = np.bincount(places)
        xx, yy, xy = (np.bincount(places, part.ravel()) / times for part in parts)
        self.coefficients: Array = np.sqrt(xx**2 - xx * yy + yy**2 + 3 * xy**2)

    def __call__(self, points: Array) -> Array:
        """The stress `(n,)` at `points (n, 2)` of the plate."""
        found: Array = evaluation(self.basis, points) @ self.coefficients
        return found


def _slopes(i: int, j: int) -> BilinearForm:
    """`int d_i u d_j v dx`."""
    return BilinearForm(lambda u, v, _: u.grad[i] * v.grad[j])

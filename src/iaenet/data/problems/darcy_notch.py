"""Darcy flow in a triangle with a notch: boundary values -> pressure. The case of a general domain."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from scipy.sparse import csr_matrix, diags_array
from skfem import Basis
from skfem.models.poisson import unit_load

from iaenet.data.problems.notch_mesh import (
    ON_BOUNDARY,
    depth,
    nearest_on_sides,
    notch_distance,
    notched_triangle,
    outer_boundary,
    refined,
)
from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.quadratic_elements import Poisson, evaluation
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

KNOTS = np.arange(101) / 100  # the points of [0, 1] at which the Gaussian process h is drawn
BOUNDS = ((0.0, 1.0), (0.0, 1.0))  # one box for every layout and resolution


@dataclass(frozen=True)
class DarcyNotch:
    """`h -> u`: `-div(a grad u) = f` in the notched triangle, `u(x, y) = h(x)` on its sides, `u = g` on the notch.

    `h` is a Gaussian process with covariance `exp(-(x - x')^2 / 2 l^2)`, drawn at 101 points of [0, 1] and linear
    between them; the same h(x) holds on all three sides. The notch is closed: its two corners on the base have the
    value g, where u jumps. All quantities are dimensionless (unit 1).

    coefficient: a. Default 0.1.
    source: f. Default -1, as in the paper; the authors' script has +1 (see `released`).
    notch_value: g. Default 1, as in the paper; the authors' script has 0.
    correlation: length l. Default 0.2.
    mesh_size: longest edge far from the notch of the mesh that is solved on. Default 0.02; see below.
    layout: "mesh" (default) or "square", what a sample looks like.

    "mesh": the domain as it is. A resolution is the number of divisions per unit length of a mesh that is finer at the
    notch (64 gives 2302 nodes; the paper has 2295). The input is h at the nodes on the sides of the triangle, a field
    on a curve, weighted by arc length; the output is u at all nodes, weighted by the lumped mass.
    "square": the padded form of the data. A resolution s means `s x s` points of the closed unit square (101 in the
    authors' file). The input is h(x) at every (x, y). The output is u at the points themselves, g inside the notch,
    and outside the triangle the value at its nearest point (the authors take that of the nearest mesh node).

    The label is solved by quadratic finite elements: in "mesh" on the sample's own mesh, its triangles divided until no
    edge is longer than `mesh_size`, and further at the corners of the notch, where u is singular; in "square" on one
    such mesh. At the defaults u is within 1e-4 of the exact solution (relative L2 error, mean over samples).

    >>> pair = DarcyNotch().record(np.random.default_rng(0), [16])[0][16]
    >>> pair.input.shape, pair.output.shape
    ((53, 1), (247, 1))
    >>> round(float(pair.input_at.weights.sum()), 12), round(float(pair.output_at.weights.sum()), 6)  # length, area
    (2.98, 0.425013)
    """

    coefficient: float = 0.1
    source: float = -1.0
    notch_value: float = 1.0
    correlation: float = 0.2
    mesh_size: float = 0.02
    layout: Literal["mesh", "square"] = "mesh"

    name: ClassVar[str] = "darcy-notch"
    dim: ClassVar[int] = 2
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("h"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u"),)

    def __post_init__(self) -> None:
        if not (0 < self.coefficient < math.inf and 0 < self.correlation < math.inf):
            raise InvalidInputError(
                f"coefficient and correlation must be positive numbers, got {self.coefficient} and {self.correlation}"
            )
        if not (math.isfinite(self.source) and math.isfinite(self.notch_value)):
            raise InvalidInputError(f"source and notch_value must be numbers, got {self.source}, {self.notch_value}")
        if not 1e-3 <= self.mesh_size <= 0.5:
            raise InvalidInputError(f"mesh_size must be between 0.001 and 0.5, got {self.mesh_size}")
        if self.layout not in ("mesh", "square"):
            raise InvalidInputError(f"layout must be 'mesh' or 'square', got {self.layout!r}")

    @classmethod
    def released(cls, layout: Literal["mesh", "square"] = "mesh") -> "DarcyNotch":
        """The data of the authors' script, which differ from the paper's: `-0.1 Lap u = +1`, and `u = 0` on the notch.

        >>> DarcyNotch.released().notch_value
        0.0
        """
        return cls(source=1.0, notch_value=0.0, layout=layout)

    @property
    def windows(self) -> int:
        """One sample per record."""
        return 1

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One sample; see the class for what a resolution means in each layout."""
        h = covariance_root(self.correlation) @ rng.standard_normal(len(KNOTS))
        return [{s: self.sample(h, s) for s in resolutions}]

    def sample(self, h: Array, resolution: int) -> Sample:
        """The pair that belongs to the boundary values `h (101,)` at the points i / 100.

        >>> pair = DarcyNotch(source=0.0, notch_value=2.0).sample(np.full(101, 2.0), 8)
        >>> float(np.abs(pair.output - 2).max()) < 1e-12
        True
        """
        if h.shape != KNOTS.shape or not np.all(np.isfinite(h)):
            raise InvalidInputError(f"h must be {len(KNOTS)} finite numbers, got shape {h.shape}")
        if resolution < 2:
            raise InvalidInputError(f"resolution must be at least 2, got {resolution}")
        # u = sum_k h_k (hat function k) + g (one on the notch) + f / a (unit source): three kinds of columns.
        parts = np.concatenate([h, [self.notch_value, self.source / self.coefficient]])
        if self.layout == "mesh":
            input_at, output_at, response = _on_mesh(resolution, self.mesh_size)
            values = np.interp(input_at.points[:, 0].numpy(), KNOTS, h)
            return Sample(values[:, None], (response @ parts)[:, None], input_at, output_at)
        at, pads, inside = _on_square(resolution, self.mesh_size)
        _, response = _solved(math.ceil(1 / self.mesh_size), self.mesh_size)
        u = pads @ parts + inside @ (response @ parts)
        return Sample(np.interp(at.points[:, 0].numpy(), KNOTS, h)[:, None], u[:, None], at, at)


@lru_cache(maxsize=4)
def covariance_root(correlation: float) -> Array:
    """`K^(1/2) (101, 101)`, `K_ij = exp(-(x_i - x_j)^2 / 2 l^2)`; the symmetric root, as it is the same everywhere.

    >>> root = covariance_root(0.2)
    >>> round(float((root @ root)[0, 20]), 12) == round(float(np.exp(-0.5)), 12)
    True
    """
    eigenvalues, vectors = np.linalg.eigh(np.exp(-0.5 * (np.subtract.outer(KNOTS, KNOTS) / correlation) ** 2))
    root: Array = (vectors * np.sqrt(np.maximum(eigenvalues, 0))) @ vectors.T  # most are zero up to rounding
    return root


def boundary_columns(points: Array) -> csr_matrix:
    """Matrix `(n, 103)` from `(h, g, f / a)` to the values at `points (n, 2)` of the boundary: hat functions, or g.

    >>> boundary_columns(np.array([[0.255, 0.0], [0.49, 0.1]])).toarray()[:, [25, 26, 101]].round(3).tolist()
    [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    """
    cells = len(KNOTS) - 1
    left = np.clip(np.floor(points[:, 0] * cells), 0, cells - 1)
    right_share = points[:, 0] * cells - left
    on_notch = notch_distance(points) < ON_BOUNDARY
    shares = np.stack([(1 - right_share) * ~on_notch, right_share * ~on_notch, on_notch], axis=1)
    columns = np.stack([left, left + 1, np.full(len(points), cells + 1)], axis=1).astype(np.int64)
    rows = np.repeat(np.arange(len(points)), 3)
    return csr_matrix((shares.ravel(), (rows, columns.ravel())), shape=(len(points), cells + 3))


@lru_cache(maxsize=2)
def _solved(divisions: int, mesh_size: float) -> tuple[Basis, Array]:
    """Solutions `(dofs, 103)` for the 101 hat functions, one on the notch, and a unit source; vertices come first."""
    problem = Poisson(refined(notched_triangle(divisions), mesh_size))
    values = boundary_columns(problem.basis.doflocs[:, problem.boundary].T).toarray()
    load = np.zeros((problem.basis.N, values.shape[1]))
    load[:, -1] = unit_load.assemble(problem.basis)
    return problem.basis, problem.solve(values, load)


@lru_cache(maxsize=16)
def _on_mesh(divisions: int, mesh_size: float) -> tuple[Discretization, Discretization, Array]:
    """Nodes on the sides, all nodes, and the matrix `(nodes, 103)` from `(h, g, f / a)` to u at the nodes."""
    mesh = notched_triangle(divisions)
    vertices, segments = outer_boundary(mesh)
    sides = Discretization.mesh(mesh.p[:, vertices].T, segments, bounds=BOUNDS)
    nodes = Discretization.mesh(mesh.p.T, mesh.t.T, bounds=BOUNDS)
    return sides, nodes, _solved(divisions, mesh_size)[1][: nodes.n].copy()


@lru_cache(maxsize=16)
def _on_square(side: int, mesh_size: float) -> tuple[Discretization, csr_matrix, csr_matrix]:
    """The grid, and matrices to u on it: from `(h, g, f / a)` outside the domain, from the finite elements inside."""
    at = Discretization.uniform((side, side), bounds=BOUNDS)
    points = at.points.numpy()
    inside = depth(points) > ON_BOUNDARY
    padded = np.where(depth(points, notch=None)[:, None] < 0, nearest_on_sides(points), points)
    pads = diags_array(np.where(inside, 0.0, 1.0)) @ boundary_columns(padded)
    basis, _ = _solved(math.ceil(1 / mesh_size), mesh_size)
    spread = csr_matrix(
        (np.ones(inside.sum()), (np.flatnonzero(inside), np.arange(inside.sum()))), (at.n, inside.sum())
    )
    return at, pads.tocsr(), (spread @ evaluation(basis, points[inside])).tocsr()

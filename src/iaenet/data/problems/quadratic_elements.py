"""Quadratic finite elements on triangles: Poisson's equation with Dirichlet data, and values at any point."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import splu
from scipy.spatial import cKDTree
from skfem import Basis, ElementTriP2, MeshTri
from skfem.models.poisson import laplace

from iaenet.errors import InvalidInputError
from iaenet.functions.quadrature import Array


class Poisson:
    """`-Lap u = f` with Dirichlet data by quadratic finite elements, factored once: `A_II u_I = F_I - A_IB u_B`.

    >>> problem = Poisson(MeshTri().refined(2))
    >>> x, y = problem.basis.doflocs
    >>> u = problem.solve((x**2 - y**2)[problem.boundary, None], np.zeros((len(x), 1)))  # a harmonic polynomial
    >>> float(np.abs(u[:, 0] - (x**2 - y**2)).max()) < 1e-12
    True
    """

    def __init__(self, mesh: MeshTri) -> None:
        self.basis = Basis(mesh, ElementTriP2())
        self.boundary: NDArray[np.int64] = self.basis.get_dofs().flatten()
        self._inner = self.basis.complement_dofs(self.boundary)
        rows = laplace.assemble(self.basis).tocsr()[self._inner]
        self._coupling = rows[:, self.boundary]
        # The matrix is symmetric and positive definite: order it by its graph, and do not pivot.
        options = {"SymmetricMode": True}
        inner = rows[:, self._inner].tocsc()
        self._factor = splu(inner, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)

    def solve(self, values: Array, load: Array) -> Array:
        """Solutions `(dofs, k)` for boundary values `(boundary, k)` and loads `(dofs, k)`, `load_i = int f phi_i`."""
        u = np.zeros(load.shape)
        u[self.boundary] = values
        u[self._inner] = self._factor.solve(load[self._inner] - self._coupling @ values)
        return u


def evaluation(basis: Basis, points: Array) -> csr_matrix:
    """Matrix `(n, dofs)` from a quadratic finite element function to its values at `points (n, 2)` of the mesh.

    >>> basis = Basis(MeshTri().refined(2), ElementTriP2())
    >>> x, y = basis.doflocs
    >>> (evaluation(basis, np.array([[0.3, 0.2], [0.6, 0.1]])) @ (x * y)).round(12).tolist()
    [0.06, 0.06]
    """
    corners = basis.mesh.p.T[basis.mesh.t.T]  # (e, 3, 2)
    centres = corners.mean(axis=1)
    radii = np.linalg.norm(corners - centres[:, None], axis=-1).max(axis=1)
    near = cKDTree(points).query_ball_point(centres, radii * (1 + 1e-9))
    cells = np.repeat(np.arange(len(centres)), [len(found) for found in near])
    owners = np.concatenate(near).astype(np.int64)
    # Barycentric coordinates of each point in each triangle that may hold it; the triangle that fits best holds it.
    edges = (corners[:, 1:] - corners[:, :1])[cells].transpose(0, 2, 1)
    last = np.linalg.solve(edges, (points[owners] - corners[cells, 0])[..., None])[..., 0]
    weights = np.concatenate([1 - last.sum(axis=1, keepdims=True), last], axis=1)  # (pairs, 3)
    best_first = np.argsort(-weights.min(axis=1), kind="stable")
    held, first = np.unique(owners[best_first], return_index=True)
    best = best_first[first]
    if len(held) < len(points) or np.any(weights[best] < -1e-9):
        raise InvalidInputError("some points lie outside the mesh; leave them out")
    w = weights[best].T
    shapes = [*(w * (2 * w - 1)), *(4 * w[[0, 1, 0]] * w[[1, 2, 2]])]  # corners, then edges 01, 12, 02
    rows = np.tile(np.arange(len(points)), 6)
    return csr_matrix(
        (np.concatenate(shapes), (rows, basis.element_dofs[:, cells[best]].ravel())), (len(points), basis.N)
    )

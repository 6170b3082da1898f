"""Far field of `-Lap u - (omega^2 + eta) u = 0` on a square with absorbing layers (PML), by two routes.

With `L_0 = -Lap - omega^2` (five-point stencil, layers included), plane waves `UI` and `u = UI + U`,

    (L_0 - eta) U = eta UI,        R = h^2 / (2 pi) UI^H diag(eta) (UI + U).

`far_field_lu` factors the sparse `L_0 - eta` of each medium. `far_field` solves where the medium is only:
`u = UI + G_0 eta u` with `G_0 = L_0^-1`, which needs `G_0` between points of the support alone.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from iaenet.data.problems.problem import Array
from iaenet.errors import InvalidInputError

Complex = NDArray[np.complex128]

CORE = 1e-5  # |eta| / max|eta| above which a point takes part in the dense solve; the error is of order CORE^2
BROAD = 11  # a core of more than BROAD n points is solved faster by sparse LU than densely (measured, n = 81 to 241)
LAYERS = 1e-9  # |eta| / max|eta| in the layers above which the two-potential formula, for symmetric G_0, is not used
SUPPORT = 1e-12  # |eta| / max|eta| below which a point is left out


@dataclass(frozen=True)
class Background:
    """Homogeneous square `(-1/2, 1/2)^2`, nodes `x_i = i h - 1/2`, i = 1..n, `h = 1 / (n + 1)`, `u = 0` outside.

    n: nodes per axis.
    wavelengths: K, wavelengths per side of the square; `omega = 2 pi K`. Default 9.
    pml_cells: width of the absorbing layer on each side, in cells of h. Default 8.
    pml_strength: `sigma = strength / (cells h) g^2`, g from 0 to 1 across the layer. Default 10.

    >>> Background(81).omega / (2 * np.pi), float(Background(81).nodes[40])
    (9.0, 0.0)
    """

    n: int
    wavelengths: float = 9
    pml_cells: int = 8
    pml_strength: float = 10

    def __post_init__(self) -> None:
        if self.pml_cells < 1 or self.n < 2 * self.pml_cells + 1:
            raise InvalidInputError(
                f"n = {self.n} nodes leave no room between two layers of {self.pml_cells} cells; "
                f"use pml_cells >= 1 and n >= 2 pml_cells + 1, or the option base= of the problem"
            )
        if not (0 < self.wavelengths < np.inf and 0 <= self.pml_strength < np.inf):
            raise InvalidInputError(
                f"wavelengths must be positive and pml_strength >= 0, got {self.wavelengths} and {self.pml_strength}"
            )
        if self.omega * self.h >= 2:  # cos(k h) = 1 - (omega h)^2 / 2 has no real k that is resolved
            raise InvalidInputError(
                f"n = {self.n} nodes carry no wave of {self.wavelengths} wavelengths per side; "
                f"use n > {int(np.pi * self.wavelengths)}, or the option base= of the problem"
            )

    @property
    def h(self) -> float:
        """Distance `1 / (n + 1)` between nodes."""
        return 1 / (self.n + 1)

    @property
    def omega(self) -> float:
        """Wave number `2 pi K`."""
        return 2 * np.pi * self.wavelengths

    @property
    def nodes(self) -> Array:
        """Coordinates `i h - 1/2`, i = 1..n."""
        return self.h * np.arange(1, self.n + 1, dtype=np.float64) - 0.5

    def stretch(self, x: Array) -> Complex:
        """`s(x) = 1 / (1 + i sigma(x) / K)`, 1 between the layers. K, not omega, as in the released script."""
        width = self.pml_cells * self.h
        g = np.maximum(np.abs(x) - (0.5 - width), 0) / width
        return np.asarray(1 / (1 + 1j * self.pml_strength / width * g**2 / self.wavelengths))

    def axis(self) -> Complex:
        """`A = s d/dx s d/dx` along one axis, `(n, n)`, with s at the half points: `L_0 = -A x I - I x A - omega^2`."""
        half = self.stretch(self.h * (np.arange(self.n + 1, dtype=np.float64) + 0.5) - 0.5)
        inner = np.diag(half[1:-1], 1) + np.diag(half[1:-1], -1) - np.diag(half[:-1] + half[1:])
        return self.stretch(self.nodes)[:, None] * inner / self.h**2

    def waves(self, directions: int) -> tuple[Complex, Complex]:
        """`exp(i omega x . d_j) = X[x_1, j] Y[x_2, j]`, `X, Y (n, directions)`, `d_j` at `2 pi j / directions`."""
        theta = 2 * np.pi * np.arange(directions) / directions
        phase = 1j * self.omega * self.nodes
        return np.exp(np.outer(phase, np.cos(theta))), np.exp(np.outer(phase, np.sin(theta)))


@lru_cache(maxsize=4)
def green(background: Background) -> tuple[Complex, Complex, Complex]:
    """`G_0[(x, y), (x', y')] = sum_j V[y, j] g[x', x, j] W[j, y']`, as `(V, g, W)`: n^3 numbers instead of n^4.

    `L_0` is a Kronecker sum: with `A V = V diag(lambda)` and `W = V^-1`, mode j in y leaves the one-dimensional
    problem `g_j = (-A - lambda_j - omega^2)^-1` in x. The eigenvectors are not orthogonal (condition about 1e4).
    """
    A = background.axis()
    eigenvalues, V = np.linalg.eig(A)
    W = np.linalg.inv(V)
    shifted = -A - (eigenvalues + background.omega**2)[:, None, None] * np.eye(background.n)
    g = np.linalg.inv(shifted)  # (j, x, x')
    return V, np.ascontiguousarray(g.transpose(2, 1, 0)), W


def green_block(background: Background, to: NDArray[np.intp], source: NDArray[np.intp]) -> Complex:
    """`G_0[to, source]` for node indices `to (p, 2)`, `source (q, 2)`.

    >>> at = np.array([[40, 40], [30, 50]])
    >>> block = green_block(Background(81), at, at)
    >>> bool(np.allclose(block, block.T))  # away from the layers G_0 is symmetric
    True
    """
    V, g, W = green(background)
    block = np.empty((len(to), len(source)), dtype=np.complex128)
    for row in np.unique(source[:, 0]):
        columns = np.flatnonzero(source[:, 0] == row)
        block[:, columns] = (V[to[:, 1]] * g[row][to[:, 0]]) @ W[:, source[columns, 1]]
    return block


def far_field(eta: Array, background: Background, angles: int | None = None) -> Complex:
    """`R[r, s]`, receiver r and source s, of the medium `eta (n, n)`, solved on its support.

    Directions are `2 pi j / angles`, n of them by default.

    Points with large `eta` (core C) are solved for densely, `u_C = (I - G_CC eta_C)^-1 UI_C`. The others (tail T) see
    `w = UI + G_TC eta_C u_C`, and enter by the two-potential formula

        R = h^2 / (2 pi) (UI_C^H eta_C u_C + w_T(-d_r)^T eta_T w_T(d_s)) + O(eta_T^2),

    where `w(-d)` is the wave of the opposite direction. For an odd number of angles that direction is none of the
    sources, so twice as many waves are solved for. The formula uses that `G_0` is symmetric, which holds between the
    layers. So a medium that enters them goes to `far_field_lu`, and so does a core of more than `BROAD` n points, where
    that is faster.

    >>> float(abs(far_field(np.zeros((81, 81)), Background(81))).max())
    0.0
    """
    core, tail = _support(eta, background)
    outside = np.abs(background.nodes) > 0.5 - background.pml_cells * background.h
    in_layers = max(np.abs(eta[outside]).max(initial=0), np.abs(eta[:, outside]).max(initial=0))
    if len(core) > BROAD * background.n or in_layers > LAYERS * np.abs(eta).max():
        return far_field_lu(eta, background, angles)
    angles = angles or background.n
    directions = angles * (1 + angles % 2)
    X, Y = background.waves(directions)
    incident = X[core[:, 0]] * Y[core[:, 1]]
    eta_C, eta_T = eta[tuple(core.T)], eta[tuple(tail.T)]
    block = green_block(background, np.concatenate([core, tail]), core) * eta_C  # G_0 eta
    u = np.linalg.solve(np.eye(len(core)) - block[: len(core)], incident)
    w = X[tail[:, 0]] * Y[tail[:, 1]] + block[len(core) :] @ u

    source = np.arange(0, directions, directions // angles)
    opposite = (source + directions // 2) % directions
    field = incident[:, source].conj().T @ (eta_C[:, None] * u[:, source])
    field += w[:, opposite].T @ (eta_T[:, None] * w[:, source])
    return np.asarray(field * (background.h**2 / (2 * np.pi)))


def born(eta: Array, background: Background, angles: int | None = None) -> Complex:
    """First-order far field `h^2 / (2 pi) UI^H diag(eta) UI`.

    >>> R = born(-np.eye(81), Background(81))
    >>> bool(np.allclose(R, R.conj().T))
    True
    """
    at = np.concatenate(_support(eta, background))
    X, Y = background.waves(angles or background.n)
    incident = X[at[:, 0]] * Y[at[:, 1]]
    field = incident.conj().T @ (eta[tuple(at.T)][:, None] * incident)
    return np.asarray(field * (background.h**2 / (2 * np.pi)))


def far_field_lu(eta: Array, background: Background, angles: int | None = None) -> Complex:
    """The same `R` by sparse LU of the whole `L_0 - diag(eta)`: slower, the check of `far_field`.

    >>> eta = np.zeros((81, 81)); eta[40, 40] = -600.0
    >>> R, check = (solve(eta, Background(81)) for solve in (far_field, far_field_lu))
    >>> bool(np.allclose(R, check, rtol=1e-10))
    True
    """
    _check(eta, background)
    A, eye = sparse.csc_array(background.axis()), sparse.eye_array(background.n, format="csc")
    operator = -sparse.kron(A, eye) - sparse.kron(eye, A) - sparse.diags_array(background.omega**2 + eta.ravel())
    X, Y = background.waves(angles or background.n)
    incident = (X[:, None] * Y[None]).reshape(background.n**2, -1)
    weighted = eta.reshape(-1, 1) * incident
    total = incident + splu(operator.tocsc()).solve(weighted)
    return np.asarray(weighted.conj().T @ total * (background.h**2 / (2 * np.pi)))


def _support(eta: Array, background: Background) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices `(p, 2)` of the core and `(q, 2)` of the tail."""
    _check(eta, background)
    size = np.abs(eta)
    core = size > CORE * size.max()
    return np.argwhere(core), np.argwhere((size > SUPPORT * size.max()) & ~core)


def _check(eta: Array, background: Background) -> None:
    if eta.shape != (background.n, background.n) or not np.all(np.isfinite(eta)):
        raise InvalidInputError(f"eta must be finite, of shape ({background.n}, {background.n}); got {eta.shape}")

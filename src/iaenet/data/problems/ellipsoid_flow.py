"""Potential flow around an ellipsoid, exact (Lamb, Hydrodynamics, articles 114 to 116).

In the axes of the ellipsoid, with `lambda(x) >= 0` the root of `sum_j x_j^2 / (a_j^2 + lambda) = 1`,

`phi = sum_i U_i x_i (1 + chi_i(lambda) / (2 - chi_i(0))),`

`chi_i(lambda) = a_1 a_2 a_3 int_lambda^inf ds / ((a_i^2 + s) sqrt((a_1^2 + s) (a_2^2 + s) (a_3^2 + s)))`,

which is `2/3 a_1 a_2 a_3 R_D(a_j^2 + lambda, a_k^2 + lambda, a_i^2 + lambda)` with Carlson's integral R_D.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import elliprd

from iaenet.functions.quadrature import Array


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """Half axes `axes (3,)`, whose directions are the columns of the rotation `turn (3, 3)`, about the origin.

    >>> ball = Ellipsoid(np.ones(3), np.eye(3))
    >>> ball.velocity(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]]), np.array([1.0, 0.0, 0.0])).round(6).tolist()
    [[1.5, 0.0, 0.0], [0.875, 0.0, 0.0]]
    """

    axes: Array
    turn: Array

    def holds(self, points: Array) -> NDArray[np.bool_]:
        """Which of `points (n, 3)` lie inside."""
        inside: NDArray[np.bool_] = ((points @ self.turn / self.axes) ** 2).sum(axis=1) < 1
        return inside

    def surface(self, sphere: Array) -> Array:
        """Points of the ellipsoid `(n, 3)` from those of the unit sphere, stretched along its axes."""
        stretched: Array = (sphere * self.axes) @ self.turn.T
        return stretched

    def normals(self, points: Array) -> Array:
        """Outward unit normals at points `(n, 3)` of the surface."""
        along: Array = (points @ self.turn / self.axes**2) @ self.turn.T
        return along / np.linalg.norm(along, axis=1, keepdims=True)

    def added_mass(self) -> Array:
        """`chi_i(0) / (2 - chi_i(0))`: mass of fluid that moves along, over that displaced, for each axis.

        >>> Ellipsoid(np.array([2.0, 1.0, 1.0]), np.eye(3)).added_mass().round(3).tolist()  # Lamb's table: 0.209, 0.702
        [0.21, 0.704, 0.704]
        """
        chi = self._chi(np.zeros(1))[0]
        return chi / (2 - chi)

    def velocity(self, points: Array, stream: Array) -> Array:
        """Velocity `(n, 3)` at `points (n, 3)` outside or on the surface, in a `stream (3,)`; `grad phi`."""
        x, u = points @ self.turn, stream @ self.turn
        level = self.level(points)
        squares = self.axes**2 + level[:, None]  # a_i^2 + lambda
        share = u / (2 - self._chi(np.zeros(1))[0])
        # d lambda / d x_j = 2 x_j / (a_j^2 + lambda) / sum_k (x_k / (a_k^2 + lambda))^2
        slope = 2 * x / squares / ((x / squares) ** 2).sum(axis=1, keepdims=True)
        fall = -self.axes.prod() / np.sqrt(squares.prod(axis=1)) * (share * x / squares).sum(axis=1)
        found: Array = (u + share * self._chi(level) + fall[:, None] * slope) @ self.turn.T
        return found

    def level(self, points: Array) -> Array:
        """lambda `(n,)`, by Newton's method from below: the sum is convex and falls, so that it never goes too far.

        >>> Ellipsoid(np.array([1.0, 2.0, 3.0]), np.eye(3)).level(np.array([[2.0, 0.0, 0.0]])).tolist()
        [3.0]
        """
        squares = (points @ self.turn) ** 2
        level = np.maximum(squares.sum(axis=1) - (self.axes**2).max(), 0.0)
        for _ in range(60):
            parts = squares / (self.axes**2 + level[:, None])
            over = parts.sum(axis=1) - 1
            step = over / (parts / (self.axes**2 + level[:, None])).sum(axis=1)
            level = np.maximum(level + step, 0.0)
            if np.all(np.abs(step) <= 1e-15 * (level + self.axes.min() ** 2)):
                break
        return level

    def _chi(self, level: Array) -> Array:
        """`chi_i(lambda) (n, 3)`."""
        first, second, third = (self.axes**2 + level[:, None]).T
        whole = np.stack([elliprd(second, third, first), elliprd(third, first, second), elliprd(first, second, third)])
        chi: Array = 2 / 3 * self.axes.prod() * whole.T
        return chi

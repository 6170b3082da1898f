"""Closed curves in the plane: ellipses, and stars `r(theta)`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iaenet.functions.quadrature import Array

ANGLES = np.linspace(0, 2 * np.pi, 1025)


@dataclass(frozen=True, eq=False)
class Ellipse:
    """Centre, half axes, and the direction of the first of them.

    >>> Ellipse(np.zeros(2), np.array([2.0, 1.0]), 0.0).holds(np.array([[1.9, 0.0], [0.0, 1.1]])).tolist()
    [True, False]
    """

    centre: Array  # (2,)
    axes: Array  # (2,)
    angle: float

    def outline(self, count: int, start: float = 0.0) -> Array:
        """Points `(count, 2)` around the ellipse, at equal steps of its length."""
        return self._at(equal_steps(self._at(ANGLES), count, start))

    def _at(self, angles: Array) -> Array:
        turn = np.array([[np.cos(self.angle), np.sin(self.angle)], [-np.sin(self.angle), np.cos(self.angle)]])
        placed: Array = self.centre + (np.stack([np.cos(angles), np.sin(angles)], axis=1) * self.axes) @ turn
        return placed

    def holds(self, points: Array) -> NDArray[np.bool_]:
        """Which points lie inside."""
        turn = np.array([[np.cos(self.angle), -np.sin(self.angle)], [np.sin(self.angle), np.cos(self.angle)]])
        inside: NDArray[np.bool_] = (((points - self.centre) @ turn / self.axes) ** 2).sum(axis=1) < 1
        return inside


@dataclass(frozen=True, eq=False)
class Star:
    """`r(theta) = radius (1 + sum_k cosines_k cos k theta + sines_k sin k theta)`, k = 1, 2, ..., about the origin.

    >>> star = Star(1.0, np.array([0.0, 0.5]), np.zeros(2))
    >>> star.holds(np.array([[1.4, 0.0], [0.0, 1.4]])).tolist()
    [True, False]
    """

    radius: float
    cosines: Array  # (k,)
    sines: Array  # (k,)

    def outline(self, count: int, start: float = 0.0) -> Array:
        """Points `(count, 2)` around the curve, at equal steps of its length."""
        return self._at(equal_steps(self._at(ANGLES), count, start))

    def reach(self, angles: Array) -> Array:
        """`r(theta)` at `angles (n,)`."""
        turns = np.outer(angles, np.arange(1, len(self.cosines) + 1))
        r: Array = self.radius * (1 + np.cos(turns) @ self.cosines + np.sin(turns) @ self.sines)
        return r

    def _at(self, angles: Array) -> Array:
        return self.reach(angles)[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def holds(self, points: Array) -> NDArray[np.bool_]:
        """Which points lie inside."""
        inside: NDArray[np.bool_] = np.hypot(*points.T) < self.reach(np.arctan2(points[:, 1], points[:, 0]))
        return inside


def equal_steps(around: Array, count: int, start: float) -> Array:
    """Angles `(count,)` at which a curve, given by its points `(1025, 2)` at `ANGLES`, has gone equal lengths.

    >>> circle = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
    >>> (equal_steps(circle, 4, 0.0) / np.pi).round(6).tolist()
    [0.0, 0.5, 1.0, 1.5]
    """
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(around, axis=0), axis=1))])
    return np.interp((np.arange(count) + start) / count * length[-1], length, ANGLES)

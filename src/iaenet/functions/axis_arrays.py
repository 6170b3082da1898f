"""E along an axis in arrays, without PyTorch: the matrices of `axis_projection.py` where exported files are run.

c = argmin  sum_i w_i |f(x_i) - sum_k c_k b_k(x_i)|^2  +  sum_k lambda_k |c_k|^2
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from iaenet.functions.quadrature import Array


@dataclass(frozen=True)
class AxisRule:
    """The numbers of the projection, as `projection.py` has them; an exported file says which it was made with."""

    period: float
    penalty: float
    order: int
    floor: float
    iterations: int
    scattered: float

    def encoder(self, x: Array, weights: Array, size: int, periodic: bool) -> Array:
        """The matrix `(size, n)` from values at `x (n,)` of the unit interval to values at uniform nodes.

        >>> rule = AxisRule(1.5, 1e-3, 4, 1e-12, 4, 0.4)
        >>> rule.encoder(np.array([0.0, 0.5, 1.0, 0.25, 0.75]), np.ones(5), 5, False).round(6).argmax(axis=1).tolist()
        [0, 3, 1, 4, 2]
        """
        order = np.argsort(x, kind="stable")
        n = len(x)
        nodes = uniform_nodes(size, periodic)
        found = np.empty((size, n))
        if n > size or not is_regular(x[order], periodic):
            return self._functions(nodes, band(size, periodic, self.period), periodic) @ self.least_squares(
                x, weights, band(size, periodic, self.period), periodic
            )
        found[:, order] = np.eye(n) if n == size else self._reader(nodes, n, periodic)
        return found

    def least_squares(self, x: Array, weights: Array, modes: int, periodic: bool) -> Array:
        """Coefficients `(p, n)` of the functions through ones at each of `x (n,)`."""
        nodes, owner = np.unique(x, return_inverse=True)
        share = weights / weights.sum()
        together = np.bincount(owner, share)
        regular = _regularity(nodes, periodic, self.scattered)
        period = 1.0 if periodic else self.period
        k = np.arange(modes + 1) / period
        squares = np.concatenate([k, k[1:]]) ** 2
        top = min(regular / (2 * (together**2).sum()), modes / period)
        penalty = self.penalty * regular**-2.5 * ((1 + 4 * squares) / (1 + 4 * top**2)) ** self.order + self.floor
        B = self._functions(x, modes, periodic)
        image = (share[:, None] * B).T
        gram = image @ B
        factor = cho_factor(gram + np.diag(penalty), lower=True)
        c = cho_solve(factor, image)
        for _ in range(self.iterations - 1):
            c = c + cho_solve(factor, image - gram @ c)
        return np.asarray(c)

    def _functions(self, x: Array, modes: int, periodic: bool) -> Array:
        angle = 2 * math.pi * x[:, None] * np.arange(1, modes + 1) / (1.0 if periodic else self.period)
        root = math.sqrt(2)
        return np.concatenate([np.ones((len(x), 1)), root * np.cos(angle), root * np.sin(angle)], axis=1)

    def _reader(self, x: Array, size: int, periodic: bool) -> Array:
        """The function through values at uniform nodes, at other points `x (m,)`: `(m, size)`."""
        nodes = uniform_nodes(size, periodic)
        if periodic:
            k = np.arange(size // 2 + 1)
            share = np.where((k == 0) | (2 * k == size), 1.0, 2.0)
            return np.asarray(np.cos(2 * math.pi * (x[:, None, None] - nodes[:, None]) * k) @ share / size)
        weights = np.ones(size)
        weights[[0, -1]] /= 2
        modes = band(size, False, self.period)
        return self._functions(x, modes, False) @ self.least_squares(nodes, weights, modes, False)


def uniform_nodes(size: int, periodic: bool) -> Array:
    """`j / size` on a periodic axis, `j / (size - 1)` on a closed one."""
    return np.arange(size) / (size if periodic else max(1, size - 1))


def band(size: int, periodic: bool, period: float) -> int:
    """The highest harmonic of the period below the Nyquist frequency of uniform nodes."""
    return (size - 1) // 2 if periodic else int(period * (size - 1) / 2)


def is_regular(x: Array, periodic: bool) -> bool:
    """Whether ordered coordinates of the unit interval are `uniform_nodes`."""
    return bool(np.abs(x - uniform_nodes(len(x), periodic)).max() < 1e-9)


def _regularity(nodes: Array, periodic: bool, least: float) -> float:
    gaps = np.diff(np.append(nodes, nodes[0] + 1) if periodic else nodes)
    ratio = np.minimum(gaps[1:], gaps[:-1]) / np.maximum(gaps[1:], gaps[:-1])
    return max(least, round(float(ratio.mean()), 9) if len(ratio) else 1.0)

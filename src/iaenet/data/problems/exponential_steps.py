"""Time steps of stiff equations `v' = L v + N(v)` with a diagonal L: exponential Runge-Kutta of order four."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.data.problems.problem import Array

Spectrum = NDArray[np.complex128]
NODES = 32  # of the contour, which are enough for rounding


class ETDRK4:
    """`v(t + h) = e^(Lh) v + f_1 N(v) + 2 f_2 (N(a) + N(b)) + f_3 N(c)`.

    The scheme of Cox and Matthews (2002): `a = e^(Lh/2) v + q N(v)`, `b = e^(Lh/2) v + q N(a)` and
    `c = e^(Lh/2) a + q (2 N(b) - N(v))`. Coefficients are quotients like `q = (e^(Lh/2) - 1) / L`, which cancel near
    L = 0; as by Kassam and Trefethen (2005), they are means over a circle around each value of Lh.

    Args:
        linear: the diagonal L, real, of the shape of v.
        nonlinear: N, which takes v to an array of its shape.
        step: h.

    >>> decay = ETDRK4(np.array([-2.0]), lambda v: -(v**2), step=0.1)  # v = 2 / (3 exp(2 t) - 1) from v(0) = 1
    >>> bool(abs(decay(np.array([1.0 + 0j]), 10)[0] - 2 / (3 * np.exp(2.0) - 1)) < 1e-6)
    True
    """

    def __init__(self, linear: Array, nonlinear: Callable[[Spectrum], Spectrum], step: float) -> None:
        z = step * linear
        circle = np.exp(2j * np.pi * (np.arange(NODES) + 0.5) / NODES)
        self.nonlinear = nonlinear
        self.whole, self.half = np.exp(z), np.exp(z / 2)
        sums: Any = [np.zeros_like(z) for _ in range(4)]
        for node in circle:  # one node at a time: a spectrum in space is large
            r = z + node
            e = np.exp(r)
            terms = (
                (np.exp(r / 2) - 1) / r,
                (-4 - r + e * (4 - 3 * r + r**2)) / r**3,
                (2 + r + e * (r - 2)) / r**3,
                (-4 - 3 * r - r**2 + e * (4 - r)) / r**3,
            )
            for total, term in zip(sums, terms, strict=True):
                total += step / NODES * term.real
        self.q, self.f1, self.f2, self.f3 = sums

    def __call__(self, v: Spectrum, steps: int) -> Spectrum:
        """v after so many steps."""
        for _ in range(steps):
            nv = self.nonlinear(v)
            a = self.half * v + self.q * nv
            na = self.nonlinear(a)
            b = self.half * v + self.q * na
            nb = self.nonlinear(b)
            c = self.half * a + self.q * (2 * nb - nv)
            v = self.whole * v + self.f1 * nv + 2 * self.f2 * (na + nb) + self.f3 * self.nonlinear(c)
        return v

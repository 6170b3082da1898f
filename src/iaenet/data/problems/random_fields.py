"""Gaussian random functions given by series: periodic in any dimension, and on the square by the inverse DCT-II."""

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import idctn

from iaenet.data.problems.problem import Array
from iaenet.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """`f(x) = Re sum_{k=0}^M c_k exp(2 pi i k x)` with complex coefficients `c (M + 1,)`: a function, not samples.

    >>> FourierSeries(np.array([0, -1j])).at(np.array([0.0, 0.25])).round(12).tolist()  # sin(2 pi x)
    [0.0, 1.0]
    """

    coefficients: NDArray[np.complex128]

    @property
    def frequencies(self) -> Array:
        """`2 pi k`, k = 0 .. M."""
        frequencies: Array = 2 * np.pi * np.arange(len(self.coefficients), dtype=np.float64)
        return frequencies

    def at(self, x: Array) -> Array:
        """Values `(n,)` at any points `x (n,)`, by Horner's rule in `exp(2 pi i x)`."""
        values: Array = np.polynomial.polynomial.polyval(np.exp(2j * np.pi * x), self.coefficients).real
        return values

    def on_grid(self, n: int) -> Array:
        """Values at `j / n`, j = 0 .. n - 1; exact for any n, since `c_k` and `c_{k+n}` act alike on these points."""
        c = self.coefficients
        folded = np.pad(c, (0, -len(c) % n)).reshape(-1, n).sum(axis=0)
        values: Array = n * np.fft.ifft(folded).real
        return values

    def derivative(self) -> "FourierSeries":
        """`f'`: `c_k -> 2 pi i k c_k`."""
        return FourierSeries(1j * self.frequencies * self.coefficients)

    def antiderivative(self) -> "FourierSeries":
        """The periodic F with `F' = f - mean(f)` and mean 0: `c_k -> c_k / (2 pi i k)`."""
        c = np.zeros_like(self.coefficients)
        c[1:] = self.coefficients[1:] / (1j * self.frequencies[1:])
        return FourierSeries(c)


@dataclass(frozen=True, eq=False)
class CosineSeries:
    """`f(x, y) = sum_kl c_kl phi_k(x) phi_l(y)`, `phi_0 = 1`, `phi_k = sqrt(2) cos(pi k x)`, orthonormal on [0, 1].

    >>> CosineSeries(np.array([[0.0, 1.0]])).on_cells(2).round(12).tolist()  # sqrt(2) cos(pi y)
    [[1.0, -1.0], [1.0, -1.0]]
    """

    coefficients: Array  # (k, l)

    def at(self, x: Array, y: Array) -> Array:
        """Values `(n, m)` on the product of the axes `x (n,)` and `y (m,)`."""
        k, m = self.coefficients.shape
        return _cosines(x, k) @ self.coefficients @ _cosines(y, m).T

    def on_cells(self, n: int) -> Array:
        """Values `(n, n)` at the cell centres `(i + 1/2) / n`: `n` times the orthonormal inverse DCT-II."""
        k, m = self.coefficients.shape
        if max(k, m) > n:  # the transform of length n has no room for these modes
            return self.at(cell_centres(n), cell_centres(n))
        values: Array = n * idctn(self.coefficients, type=2, s=(n, n), norm="ortho")
        return values


def gaussian_series(rng: np.random.Generator, modes: int, gamma: float, tau: float, sigma: float) -> FourierSeries:
    """`sum_{k=1}^modes a_k cos(2 pi k x) + b_k sin(2 pi k x)`, `a_k, b_k = s_k N(0, 1)`.

    `s_k` is that of `series_deviations`. More modes from the same stream only add to the function.

    >>> coarse, fine = (gaussian_series(np.random.default_rng(0), modes, 2.5, 5.0, 25.0) for modes in (4, 8))
    >>> bool(np.all(coarse.coefficients == fine.coefficients[:5]))
    True
    """
    a, b = series_deviations(modes, gamma, tau, sigma) * rng.standard_normal((modes, 2)).T
    return FourierSeries(np.concatenate([[0], a - 1j * b]))


def series_deviations(modes: int, gamma: float, tau: float, sigma: float) -> Array:
    """`s_k = sqrt(2) sigma ((2 pi k)^2 + tau^2)^(-gamma / 2)`, k = 1 .. modes.

    >>> s = series_deviations(512, 2.5, 5.0, 25.0)  # standard deviation of the function at a point
    >>> round(float(np.sqrt(np.sum(s**2))), 3)
    0.202
    """
    if modes < 1:
        raise InvalidInputError(f"modes must be at least 1, got {modes}")
    if not gamma > 0.5:
        raise InvalidInputError(f"gamma must be above 1/2 for a function on the line of finite variance, got {gamma}")
    _positive(tau=tau, sigma=sigma)
    k = np.arange(1, modes + 1)
    s: Array = np.sqrt(2) * sigma * ((2 * np.pi * k) ** 2 + tau**2) ** (-gamma / 2)
    return s


def gaussian_field(rng: np.random.Generator, modes: int, alpha: float, tau: float) -> CosineSeries:
    """`c_kl = tau^(alpha - 1) (pi^2 (k^2 + l^2) + tau^2)^(-alpha / 2) N(0, 1)`, k, l < modes, and `c_00 = 0`.

    >>> field = gaussian_field(np.random.default_rng(0), 16, alpha=2.0, tau=3.0)
    >>> bool(abs(field.on_cells(16).mean()) < 1e-15)
    True
    """
    if modes < 2:
        raise InvalidInputError(f"modes must be at least 2, got {modes}")
    if not alpha > 1:
        raise InvalidInputError(f"alpha must be above 1 for a function on the square of finite variance, got {alpha}")
    _positive(tau=tau)
    k2 = np.arange(modes) ** 2
    c = tau ** (alpha - 1) * (np.pi**2 * np.add.outer(k2, k2) + tau**2) ** (-alpha / 2)
    c *= rng.standard_normal((modes, modes))
    c[0, 0] = 0.0
    return CosineSeries(c)


def gaussian_waves(
    rng: np.random.Generator, dim: int, modes: int, alpha: float, tau: float, deviation: float = 1.0
) -> NDArray[np.complex128]:
    """`c_k (2 modes + 1, ..)`, in the order of the FFT, of `f = Re sum_k c_k exp(2 pi i k x)` on [0, 1)^dim, periodic.

    `c_k = s_k (N(0, 1) + i N(0, 1))`, `s_k ~ (4 pi^2 |k|^2 + tau^2)^(-alpha / 2)`, `|k_i| <= modes`, `c_0 = 0`; the
    mean of f^2 over the cube and the draws is `deviation^2`.

    >>> c = gaussian_waves(np.random.default_rng(0), 2, 16, alpha=2.5, tau=7.0, deviation=5.0)
    >>> c.shape, bool(c[0, 0] == 0)
    ((33, 33), True)
    """
    k2 = np.arange(-modes, modes + 1) ** 2
    s = (4 * np.pi**2 * reduce(np.add.outer, [k2] * dim) + tau**2) ** (-alpha / 2)
    s[(modes,) * dim] = 0
    s *= deviation / np.linalg.norm(s)
    real, imaginary = rng.standard_normal((2, *s.shape))
    c: NDArray[np.complex128] = np.fft.ifftshift(s * (real + 1j * imaginary))
    return c


def cell_centres(n: int) -> Array:
    """`(i + 1/2) / n`, i = 0 .. n - 1.

    >>> cell_centres(2).tolist()
    [0.25, 0.75]
    """
    centres: Array = (np.arange(n) + 0.5) / n
    return centres


def _cosines(x: Array, modes: int) -> Array:
    basis: Array = np.sqrt(2) * np.cos(np.pi * np.multiply.outer(x, np.arange(modes)))
    basis[:, 0] = 1.0
    return basis


def _positive(**numbers: Any) -> None:
    for name, number in numbers.items():
        if not (np.isfinite(number) and number > 0):
            raise InvalidInputError(f"{name} must be a positive number, got {number}")

"""The frequency domain."""

import torch
from torch import Tensor

from iaenet.domain.basis import Trigonometric
from iaenet.geometry import Geometry


class Fourier:
    """Fourier coefficients of the function, `c_k = int f(x) e_k(x) dx`, for the lowest frequencies.

    They are quadratures against `Trigonometric` functions, so a coefficient belongs to a frequency, never to an index
    that depends on the grid.
    """

    def __init__(self, modes: int) -> None:
        self.modes = modes
        self.basis = Trigonometric(modes)

    def forward(self, values: Tensor, geometry: Geometry) -> Tensor:
        """Values `(b, n, c)` -> coefficients `(b, p, c)`."""
        return geometry.analyse(self.basis, values)

    def inverse(self, coefficients: Tensor, geometry: Geometry) -> Tensor:
        """Coefficients `(b, p, c)` -> values `(b, n, c)`."""
        return geometry.synthesise(self.basis, coefficients)

    def sizes(self, periodic: tuple[bool, ...]) -> Tensor:
        """Fall like `(1 + |k|)^-0.5` along each axis: what a branch gives back is a smooth function from the start."""
        sizes = torch.ones(1, dtype=torch.float64)
        for wraps in periodic:
            sizes = torch.outer(sizes, 1 / (1 + self.basis.frequencies(wraps).abs()) ** 0.5).reshape(-1)
        return sizes / sizes.norm()

    def __repr__(self) -> str:
        return f"Fourier(modes={self.modes})"

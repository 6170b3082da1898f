"""The frequency domain."""

import torch
from torch import Tensor

from iaenet.domain.basis import Trigonometric
from iaenet.geometry import Geometry


class Fourier:
    """Fourier coefficients of the function, `c_k = int f(x) e_k(x) dx`, for the lowest frequencies.

    They are quadratures against `Trigonometric` functions, so a coefficient belongs to a frequency, never to an index
    that depends on the grid.

    With `wide`, coefficients go up to there, and a branch maps only those up to `modes`; the others it scales.
    """

    def __init__(self, modes: int, wide: int = 0) -> None:
        self.modes = max(modes, wide)
        self.inner = modes if wide > modes else None
        self.basis = Trigonometric(self.modes)

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

    def mapped(self, periodic: tuple[bool, ...]) -> Tensor | None:
        """Places of the coefficients up to `modes` if there are more."""
        if self.inner is None:
            return None
        low = torch.ones(1, dtype=torch.bool)
        for wraps in periodic:
            k = self.basis.frequencies(wraps).abs() * (1 if wraps else 2)
            low = (low[:, None] & (k <= self.inner + 0.1)).reshape(-1)
        return low.nonzero()[:, 0]

    def __repr__(self) -> str:
        return f"Fourier(modes={self.modes if self.inner is None else f'{self.inner}, wide={self.modes}'})"

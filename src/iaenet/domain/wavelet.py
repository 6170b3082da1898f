"""The wavelet domain."""

import torch
from torch import Tensor

from iaenet.domain.basis import Wavelets
from iaenet.geometry import Geometry


class Wavelet:
    """Wavelet coefficients `c_{j,l} = int f(x) psi_{j,l}(x) dx` of the coarsest `levels` scales.

    Scales are physical (`2^-j` of the axis), not counted from the grid's spacing, so that every grid gives the same
    coefficients up to quadrature. `wavelet` is any orthogonal wavelet of PyWavelets.
    """

    def __init__(self, levels: int = 5, wavelet: str = "db6") -> None:
        self.levels = levels
        self.basis = Wavelets(levels, wavelet)

    def forward(self, values: Tensor, geometry: Geometry) -> Tensor:
        """Values `(b, n, c)` -> coefficients `(b, p, c)`."""
        return geometry.analyse(self.basis, values)

    def inverse(self, coefficients: Tensor, geometry: Geometry) -> Tensor:
        """Coefficients `(b, p, c)` -> values `(b, n, c)`."""
        return geometry.synthesise(self.basis, coefficients)

    def sizes(self, periodic: tuple[bool, ...]) -> Tensor:
        """All alike."""
        count = 2 ** (self.levels * len(periodic))
        return torch.full((count,), count**-0.5, dtype=torch.float64)

    def __repr__(self) -> str:
        return f"Wavelet(levels={self.levels}, wavelet={self.basis.wavelet!r})"

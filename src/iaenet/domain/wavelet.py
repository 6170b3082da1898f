"""The wavelet domain."""

from torch import Tensor

from iaenet.domain.basis import Wavelets
from iaenet.domain.fourier import product_sites
from iaenet.geometry import Geometry, Sites


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

    def sites(self, periodic: tuple[bool, ...]) -> Sites:
        """Scale and position of the p coefficients; unit weights."""
        return product_sites(tuple(self.basis.places() for _ in periodic))

    def __repr__(self) -> str:
        return f"Wavelet(levels={self.levels}, wavelet={self.basis.wavelet!r})"

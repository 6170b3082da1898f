"""The frequency domain."""

from dataclasses import replace

import torch
from torch import Tensor

from iaenet.domain.basis import Trigonometric
from iaenet.geometry import Geometry, Sites


class Fourier:
    """Fourier coefficients of the function, `c_k = int f(x) e_k(x) dx`, for the lowest frequencies.

    They are quadratures against `Trigonometric` functions, so the coordinate of a coefficient is a frequency on a fixed
    scale (k / modes, in [-1, 1]), never an index that depends on the grid. Keep `modes` well below the Nyquist
    frequency of the coarsest grid: an axis of s points holds s / 2 periods.
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

    def sites(self, periodic: tuple[bool, ...]) -> Sites:
        """Frequencies k / modes of the p coefficients; unit weights (Parseval: sums over k are integrals over x).

        Sizes fall like `(1 + |k|)^-1.5` along each axis: what a branch gives back is a smooth function from the start.
        """
        axes = tuple(self.basis.frequencies(wraps) for wraps in periodic)
        sizes = torch.ones((), dtype=torch.float64)
        for k in axes:
            sizes = torch.outer(sizes.reshape(-1), 1 / (1 + k.abs()) ** 1.5)
        sites = product_sites(tuple((k / k.abs().max())[:, None] for k in axes))
        return replace(sites, sizes=(sizes / sizes.norm()).reshape(-1))

    def __repr__(self) -> str:
        return f"Fourier(modes={self.modes})"


def product_sites(axes: tuple[Tensor, ...]) -> Sites:
    """Sites of a tensor product: each axis has coordinates `(p_i, f_i)`; all weights are one."""
    places = torch.cartesian_prod(*[torch.arange(len(axis)) for axis in axes]).reshape(-1, len(axes))
    coordinates = torch.cat([axis[places[:, i]] for i, axis in enumerate(axes)], dim=1).to(torch.float64)
    along = tuple(Sites(axis, torch.ones(len(axis), dtype=torch.float64)) for axis in axes)
    return Sites(coordinates, torch.ones(len(coordinates), dtype=torch.float64), along)

"""The domains of a spectral branch: functions as Fourier or wavelet coefficients."""

from dataclasses import dataclass

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.basis import Trigonometric, Wavelets
from iaenet.nn.branch import branch
from iaenet.nn.transform import Grid, GridTransform


@branch("fourier")
@dataclass(frozen=True)
class Fourier:
    """The frequency domain: `c_k = int f(x) e_k(x) dx` for the lowest `modes` harmonics of each axis.

    A grid that holds fewer has those that it holds.
    """

    modes: int

    def transform(self, grid: Grid) -> GridTransform:
        """Coefficients of values on a grid, and back."""
        return GridTransform(grid, Trigonometric(grid.held(self.modes)))

    def sizes(self, grid: Grid) -> Tensor:
        """Coefficients of an output at first, with squares that sum to 1: smooth functions, `(1 + |k|)^-0.5`."""
        sizes = torch.ones(1, dtype=torch.float64)
        for wraps in grid.periodic:
            frequencies = Trigonometric(grid.held(self.modes)).frequencies(wraps)
            sizes = torch.outer(sizes, 1 / (1 + frequencies.abs()) ** 0.5).reshape(-1)
        return sizes / sizes.norm()


@branch("wavelet")
@dataclass(frozen=True)
class Wavelet:
    """The wavelet domain: `c_{j,l} = int f(x) psi_{j,l}(x) dx` of the coarsest `levels` scales.

    `wavelet` is any orthogonal wavelet of PyWavelets.
    """

    levels: int = 5
    wavelet: str = "db6"

    def transform(self, grid: Grid) -> GridTransform:
        """Coefficients of values on a grid, and back."""
        if 2**self.levels > min(grid.shape):
            raise InvalidInputError(f"wavelets of {self.levels} levels need {2**self.levels} points along each axis")
        return GridTransform(grid, Wavelets(self.levels, self.wavelet))

    def sizes(self, grid: Grid) -> Tensor:
        """All alike."""
        count = 2 ** (self.levels * len(grid.shape))
        return torch.full((count,), count**-0.5, dtype=torch.float64)

"""The branches and domains of this package: those that files and the command line may name.

A new one is a file of its own and a line here; an installed package adds its own by an entry point in
`iaenet.branches`.
"""

from iaenet.nn.branch import Branch, BranchLayer, branch, from_plain, to_plain
from iaenet.nn.domains import Fourier, Wavelet
from iaenet.nn.grid_branch import GridConv, GridUNet
from iaenet.nn.point_branch import PointIAE
from iaenet.nn.spectral_branch import SpectralConv, SpectralIAE

__all__ = [
    "Branch",
    "BranchLayer",
    "Fourier",
    "GridConv",
    "GridUNet",
    "PointIAE",
    "SpectralConv",
    "SpectralIAE",
    "Wavelet",
    "branch",
    "from_plain",
    "to_plain",
]

"""Fourier neural operator (Li et al. 2021, arXiv 2010.08895), on any points."""

from collections.abc import Sequence

from torch import nn

from iaenet.baselines.layered import Layered
from iaenet.discretization import Periodic
from iaenet.model import Presets
from iaenet.pointwise import linear
from iaenet.spectral import FourierLayer

# Sizes by dimension (3 stands for 3 and more). FNO's own "16 modes" are k = 0 .. 15: one less here, where `modes` is
# the highest frequency.
PRESETS: Presets = {
    "default": {
        1: {"width": 64, "modes": 16},
        2: {"width": 32, "modes": 12},
        3: {"width": 20, "modes": 6},
    },
    "paper": {
        1: {"width": 64, "modes": 15},
        2: {"width": 32, "modes": 11},
        3: {"width": 20, "modes": 7},
    },
}


class FNO(Layered):
    """`a_{l+1} = sigma(W a_l + K a_l)`, `(K a)(x) = sum_{|k_i| <= modes} R_k a_k e^{2 pi i k x}`, last without sigma.

    The Fourier layers are those of IAE-Net's post-processing. On a uniform periodic grid they are FNO's as published;
    elsewhere the coefficients `a_k` are quadratures, which is our extension (`docs/baselines.md`).

    Args:
        in_channels, out_channels: components of the input and output function.
        dim: dimension d of the domain.
        periodic: which axes are periodic; one flag, or one per axis.
        width: channels of the intermediate functions.
        modes: highest frequency kept on each axis: periods on a periodic one, half periods on a closed one.
        layers: number of Fourier layers.
        hidden: width of the projection's hidden layer.

    >>> import torch
    >>> from iaenet import Discretization, Field
    >>> grid = Discretization.uniform(64, periodic=True)
    >>> model = FNO(1, 1, periodic=True)
    >>> model(Field(grid, torch.ones(64, 1))).values.shape
    torch.Size([64, 1])
    """

    presets = PRESETS
    layers: Sequence[FourierLayer]
    project: nn.Sequential

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        width: int = 64,
        modes: int = 16,
        layers: int = 4,
        hidden: int = 128,
    ) -> None:
        super().__init__(in_channels, dim, periodic)
        self.lift = linear(in_channels + self.coordinates, width)
        fourier = [FourierLayer(width, modes, self.periodic, last=i == layers - 1) for i in range(layers)]
        self.layers = nn.ModuleList(fourier)  # type: ignore[assignment]
        self.project = nn.Sequential(linear(width, hidden), nn.GELU(), linear(hidden, out_channels))

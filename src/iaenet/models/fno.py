"""Fourier neural operator (Li et al. 2021, arXiv 2010.08895), on a latent grid."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from iaenet.functions.discretization import Periodic
from iaenet.models.base import Presets
from iaenet.models.grid_model import GridModel
from iaenet.models.linear_start import start_of
from iaenet.nn.coordinates import coordinate_count
from iaenet.nn.pointwise import linear
from iaenet.nn.spectral import FourierLayer

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


class FNO(GridModel):
    """`a_{l+1} = sigma(W a_l + K a_l)`, `(K a)(x) = sum_{|k_i| <= modes} R_k a_k e^{2 pi i k x}`, last without sigma.

    The Fourier layers are those of IAE-Net's post-processing, on a latent grid. On a uniform periodic grid of that
    shape they are FNO's as published; functions on other points reach it by the projection, which is our extension
    (`docs/baselines.md`).

    Args:
        in_channels, out_channels: components of the input and output function.
        dim: dimension d of the domain.
        periodic: which axes are periodic; one flag, or one per axis.
        grid: points along each axis of the latent grid; `for_data` takes that of the data.
        width: channels of the intermediate functions.
        modes: highest frequency kept on each axis: periods on a periodic one, half periods on a closed one.
        layers: number of Fourier layers.
        hidden: width of the projection's hidden layer.
        linear_start: what the network starts from, as for `IAENet`: 0 for nothing, as published.

    >>> from iaenet import Discretization, Field
    >>> grid = Discretization.uniform(64, periodic=True)
    >>> model = FNO(1, 1, periodic=True)
    >>> model(Field(grid, torch.ones(64, 1))).values.shape
    torch.Size([64, 1])
    """

    presets = PRESETS

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        grid: int | Sequence[int] | None = None,
        width: int = 64,
        modes: int = 16,
        layers: int = 4,
        hidden: int = 128,
        linear_start: int | Literal["auto", "identity"] = 0,
    ) -> None:
        super().__init__(in_channels, out_channels, dim, periodic, grid)
        modes = self.grid.held(modes)
        self.lift = linear(in_channels + coordinate_count(self.periodic, 1), width)
        fourier = [FourierLayer(width, modes, self.periodic, last=i == layers - 1) for i in range(layers)]
        self.layers: Sequence[FourierLayer] = nn.ModuleList(fourier)  # type: ignore[assignment]
        self.project = nn.Sequential(linear(width, hidden), nn.GELU(), linear(hidden, out_channels))
        self.linear_start, self.worth = start_of(linear_start, in_channels, out_channels, self.grid)

    def on_grid(self, values: Tensor) -> Tensor:
        """Values `(b, s, c)` on the latent grid -> `(b, s, c')`."""
        a = self.lift(torch.cat([values, self.coordinates(values)], dim=-1))
        for layer in self.layers:
            a = layer(a, self.grid.shape)
        if self.linear_start is None:
            return self.project(a)
        return torch.addcmul(self.linear_start(values), self.linear_start.residual, self.project(a))

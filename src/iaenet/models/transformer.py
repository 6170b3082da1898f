"""Galerkin and Fourier transformers (Cao 2021, arXiv 2105.14995), on a latent grid."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Periodic
from iaenet.models.base import Presets
from iaenet.models.galerkin_attention import Attention, EncoderLayer, FourierAttention, GalerkinAttention
from iaenet.models.grid_model import GridModel
from iaenet.nn.coordinates import coordinate_count
from iaenet.nn.point_branch import grid_sites
from iaenet.nn.spectral import SpectralConvolution

# Sizes by dimension (3 stands for 3 and more); "paper" in 1-D is his Burgers network, whose 16 modes are k = 0 .. 15.
PRESETS: Presets = {
    "default": {
        1: {"width": 96, "heads": 1, "decoder_width": 48, "modes": 16},
        2: {"width": 96, "heads": 4, "decoder_width": 32, "modes": 12},
        3: {"width": 64, "heads": 4, "decoder_width": 16, "modes": 6},
    },
    "paper": {
        1: {"width": 96, "heads": 1, "decoder_width": 48, "modes": 15},
        2: {"width": 128, "heads": 4, "layers": 6, "decoder_width": 32, "modes": 11},
        3: {"width": 128, "heads": 4, "layers": 6, "decoder_width": 16, "modes": 5},
    },
}


class DecoderLayer(nn.Module):
    """`silu(W a + K a)` from `width` to `out` channels: a Fourier layer that narrows."""

    def __init__(self, width: int, out: int, modes: int, periodic: tuple[bool, ...]) -> None:
        super().__init__()
        self.convolution = SpectralConvolution(width, out, modes, periodic)
        self.pointwise = nn.Linear(width, out)

    def forward(self, a: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Values `(b, s, c)` on a grid of `shape` -> `(b, s, c')`."""
        return nn.functional.silu(self.pointwise(a) + self.convolution(a, shape))


class Transformer(GridModel):
    """A pointwise lift, attention layers, two narrowing Fourier layers and a pointwise projection.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim: dimension d of the domain.
        periodic: which axes are periodic; one flag, or one per axis.
        grid: points along each axis of the latent grid; `for_data` takes that of the data.
        width: channels of the encoder.
        heads: heads of each attention layer; they share the channels.
        layers: attention layers.
        modes: highest frequency kept by the decoder on each axis.
        decoder_width: channels of the decoder.
    """

    presets = PRESETS
    attention: ClassVar[type[Attention]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        grid: int | Sequence[int] | None = None,
        width: int = 96,
        heads: int = 1,
        layers: int = 4,
        modes: int = 16,
        decoder_width: int = 48,
    ) -> None:
        super().__init__(in_channels, out_channels, dim, periodic, grid)
        if width % heads:
            raise InvalidInputError(f"{heads} heads cannot share {width} channels evenly; choose a multiple")
        modes = self.grid.held(modes)
        count = coordinate_count(self.periodic, 1)
        self.lift = nn.Linear(in_channels + count, width)
        attention = [EncoderLayer(self.attention(width, heads, count), width) for _ in range(layers)]
        self.layers: Sequence[EncoderLayer] = nn.ModuleList(attention)  # type: ignore[assignment]
        decoder = [DecoderLayer(c, decoder_width, modes, self.periodic) for c in (width, decoder_width)]
        self.decoder: Sequence[DecoderLayer] = nn.ModuleList(decoder)  # type: ignore[assignment]
        self.project = nn.Sequential(
            nn.Linear(decoder_width, decoder_width), nn.SiLU(), nn.Linear(decoder_width, out_channels)
        )
        self._sites = grid_sites(self.grid, harmonics=1)

    def on_grid(self, values: Tensor) -> Tensor:
        """Values `(b, s, c)` on the latent grid -> `(b, s, c')`."""
        sites = self._sites.like(values)
        a = self.lift(torch.cat([values, sites.coordinates.expand(len(values), -1, -1)], dim=-1))
        for layer in self.layers:
            a = layer(a, sites)
        for narrowing in self.decoder:
            a = narrowing(a, self.grid.shape)
        return self.project(a)


class GalerkinTransformer(Transformer):
    """`a_{l+1} = b + MLP(b)`, `b = a + Q int K~ V~^T` (`GalerkinAttention`), then a spectral decoder.

    >>> from iaenet import Discretization, Field
    >>> grid = Discretization.uniform(64, periodic=True)
    >>> model = GalerkinTransformer(1, 1, periodic=True)
    >>> model(Field(grid, torch.ones(64, 1))).values.shape
    torch.Size([64, 1])
    """

    attention = GalerkinAttention


class FourierTransformer(Transformer):
    """As `GalerkinTransformer`, with `b = a + int (Q~(x) . K~(y)) V(y) dy` (`FourierAttention`).

    >>> from iaenet import Discretization, Field
    >>> field = Field(Discretization.points([[0.1], [0.7]]), torch.ones(2, 1))
    >>> FourierTransformer(1, 1)(field).values.shape
    torch.Size([2, 1])
    """

    attention = FourierAttention

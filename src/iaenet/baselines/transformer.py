"""Galerkin and Fourier transformers (Cao 2021, arXiv 2105.14995), on any points."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn

from iaenet.baselines.attention import Attention, EncoderLayer, FourierAttention, GalerkinAttention
from iaenet.baselines.layered import Layered
from iaenet.block import Layer
from iaenet.discretization import Periodic
from iaenet.errors import InvalidInputError
from iaenet.geometry import Basis, Geometry
from iaenet.model import Presets
from iaenet.spectral import SpectralConvolution

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
    """`silu(W a + K a)` from `width` to `out` channels: a Fourier layer that narrows, in the steps of `block.py`."""

    def __init__(self, width: int, out: int, modes: int, periodic: tuple[bool, ...]) -> None:
        super().__init__()
        self.convolution = SpectralConvolution(width, out, modes, periodic)
        self.pointwise = nn.Linear(width, out)

    @property
    def bases(self) -> list[tuple[Basis, Basis]]:
        """Analysis and synthesis of the convolution."""
        return [(self.convolution.analysis, self.convolution.synthesis)]

    def local(self, history: Sequence[Tensor], geometry: Geometry) -> list[Tensor]:  # noqa: ARG002 - as in IAEBlock
        """The layer's input is the last output."""
        return [history[-1]]

    def reduce(self, local: list[Tensor], geometry: Geometry) -> list[Tensor]:
        """Fourier coefficients of values `(b, n, c)`."""
        return [self.convolution.reduce(local[0], geometry)]

    def latent(self, coefficients: list[Tensor]) -> list[Tensor]:
        """The spectral product."""
        return [self.convolution.latent(coefficients[0])]

    def expand(self, codes: list[Tensor], local: list[Tensor], geometry: Geometry) -> Tensor:
        """The layer's output `(b, n, c')` at the points of `geometry`."""
        return nn.functional.silu(self.pointwise(local[0]) + self.convolution.expand(codes[0], geometry))


class _Transformer(Layered):
    """A pointwise lift, attention layers, two narrowing Fourier layers and a pointwise projection."""

    presets = PRESETS
    attention: ClassVar[type[Attention]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        width: int = 96,
        heads: int = 1,
        layers: int = 4,
        modes: int = 16,
        decoder_width: int = 48,
    ) -> None:
        super().__init__(in_channels, dim, periodic)
        if width % heads:
            raise InvalidInputError(f"{heads} heads cannot share {width} channels evenly; choose a multiple")
        self.lift = nn.Linear(in_channels + self.coordinates, width)
        stack: list[Layer] = [
            EncoderLayer(self.attention(width, heads, self.coordinates), width) for _ in range(layers)
        ]
        stack += [DecoderLayer(c, decoder_width, modes, self.periodic) for c in (width, decoder_width)]
        self.layers = nn.ModuleList(stack)  # type: ignore[assignment, arg-type]
        self.project = nn.Sequential(
            nn.Linear(decoder_width, decoder_width), nn.SiLU(), nn.Linear(decoder_width, out_channels)
        )


class GalerkinTransformer(_Transformer):
    """`a_{l+1} = b + MLP(b)`, `b = a + Q int K~ V~^T` (`GalerkinAttention`), then a spectral decoder.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim: dimension d of the domain.
        periodic: which axes are periodic; one flag, or one per axis.
        width: channels of the encoder.
        heads: heads of each attention layer; they share the channels.
        layers: attention layers.
        modes: highest frequency kept by the decoder on each axis.
        decoder_width: channels of the decoder.

    >>> import torch
    >>> from iaenet import Discretization, Field
    >>> grid = Discretization.uniform(64, periodic=True)
    >>> model = GalerkinTransformer(1, 1, periodic=True)
    >>> model(Field(grid, torch.ones(64, 1))).values.shape
    torch.Size([64, 1])
    """

    attention = GalerkinAttention


class FourierTransformer(_Transformer):
    """As `GalerkinTransformer`, with `b = a + int (Q~(x) . K~(y)) V(y) dy` (`FourierAttention`).

    >>> import torch
    >>> from iaenet import Discretization, Field
    >>> field = Field(Discretization.points([[0.1], [0.7]]), torch.ones(2, 1))
    >>> FourierTransformer(1, 1)(field).values.shape
    torch.Size([2, 1])
    """

    attention = FourierAttention

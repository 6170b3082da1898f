"""The published form of IAE-Net, for honest comparison: invariant only as far as augmentation makes it so.

It sums over grid points without weights, gives coordinates and frequencies as an index divided by the grid size, keeps
the whole Fourier band, has ReLU kinks, and normalises latent values. Kernels are evaluated in factored form, which
changes no value (`tests/models/test_published.py` compares with dense kernels), so it is also cheaper than it was.
Where text and released code differ (layer normalisation, the local path in the merge) this follows the code, without
its dropout.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization, Periodic
from iaenet.models.base import Accepts, Model
from iaenet.nn.axiswise import AxiswiseDecoder, AxiswiseEncoder
from iaenet.nn.kernels import Sites
from iaenet.nn.spectral import FourierLayer


def index_sites(shape: Sequence[int], like: Tensor) -> Sites:
    """Coordinates `i / (s - 1)` of each axis and weights 1, whatever the grid is."""
    axes = []
    for s in shape:
        x = torch.linspace(0, 1, s, dtype=like.dtype, device=like.device)[:, None]
        axes.append(Sites(x, torch.ones_like(x[:, 0])))
    return Sites(axes[0].coordinates, axes[0].weights, tuple(axes))


class PublishedIAE(nn.Module):
    """Encoder, phi_0 and decoder with layer normalisation after each integral, kernels of rank m."""

    def __init__(self, channels: int, latent: Sequence[int]) -> None:
        super().__init__()
        rank = max(latent)
        ones = [1] * len(latent)
        self.encoder = AxiswiseEncoder(channels, ones, latent, rank, activation=torch.relu)
        self.decoder = AxiswiseDecoder(channels, ones, latent, rank, activation=torch.relu)
        m = math.prod(latent)
        hidden = 2 * m if len(latent) == 1 else m
        self.phi_0 = nn.Sequential(nn.Linear(m, hidden), nn.ReLU(), nn.Linear(hidden, m), nn.ReLU(), nn.Linear(m, m))
        self.mlps = nn.ModuleList(_mlp(channels, 2 * channels, channels) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(4))

    def forward(self, a: Tensor, shape: Sequence[int]) -> Tensor:
        """Values `(b, n, c)` on a grid of `shape` -> `(b, n, c)`."""
        sites = index_sites(shape, a)
        v = self.norms[0](self.encoder(a, sites))
        v = self.norms[1](v + self.mlps[0](v))
        u = self.phi_0(v.transpose(1, 2)).transpose(1, 2)
        b = self.norms[2](self.decoder(u, a, sites))
        out: Tensor = self.norms[3](b + self.mlps[1](b))
        return out


class PublishedBlock(nn.Module):
    """Original and Fourier branch with a linear path, merged (eqs. multichannel, densenet)."""

    def __init__(self, channels: int, latent: Sequence[int], inputs: int) -> None:
        super().__init__()
        self.gather = nn.Linear(inputs * channels, channels)
        self.original = PublishedIAE(channels, latent)
        self.fourier = PublishedIAE(2 * channels, latent)  # real and imaginary parts
        self.straight = nn.Linear(channels, channels)
        self.norm = nn.LayerNorm(3 * channels)
        self.merge_linear = nn.Linear(3 * channels, channels)
        self.merge = _mlp(3 * channels, 2 * channels, channels)
        self.norm_out = nn.LayerNorm(channels)

    def forward(self, history: Sequence[Tensor], shape: tuple[int, ...]) -> Tensor:
        """Earlier outputs `(b, n, c)` on a grid of `shape` -> `(b, n, c)`."""
        a = self.gather(torch.cat(list(history), dim=-1))
        b, n, c = a.shape
        axes = tuple(range(1, len(shape) + 1))
        spectrum = torch.fft.rfftn(a.reshape(b, *shape, c), dim=axes, norm="ortho")
        band = tuple(spectrum.shape[1:-1])
        parts = torch.cat([spectrum.real, spectrum.imag], dim=-1).reshape(b, -1, 2 * c)
        real, imag = self.fourier(parts, band).reshape(b, *band, 2 * c).chunk(2, dim=-1)
        back = torch.fft.irfftn(torch.complex(real, imag), s=shape, dim=axes, norm="ortho").reshape(b, n, c)
        merged = self.norm(torch.cat([self.straight(a), self.original(a, shape), back], dim=-1))
        return torch.relu(self.norm_out(self.merge_linear(merged) + self.merge(merged)))


class PublishedIAENet(Model):
    """The paper's network at the paper's size: width 64, 4 dense blocks, latent grid 256 in 1-D and 64 x 64 in 2-D.

    Takes tensor grids, gives the output on the same points. In 2-D the dense phi_0 has 403 of 409 million parameters.

    >>> model = PublishedIAENet(1, 1)
    >>> round(sum(p.numel() for p in model.parameters()) / 1e6, 1)
    5.3
    """

    accepts = Accepts(resolutions=True, points=False, elsewhere=False)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,  # noqa: ARG002 - every axis is taken for one period
        *,
        width: int = 64,
        latent: int | None = None,
        blocks: int = 4,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.dim = dim
        points = latent if latent is not None else (256 if dim == 1 else 64)
        self.lift = nn.Linear(in_channels + dim, width)
        self.blocks = nn.ModuleList(PublishedBlock(width, (points,) * dim, i + 1) for i in range(blocks))
        modes = 16 if dim == 1 else 12
        # G's frequencies are those of the index: every axis counts as one period.
        post = [FourierLayer(width, modes, (True,) * dim, last=i == 1) for i in range(2)]
        self.post: Sequence[FourierLayer] = nn.ModuleList(post)  # type: ignore[assignment]
        self.project = nn.Linear(width, out_channels)

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values on a tensor grid -> values on the same grid."""
        if target.key != source.key:
            raise InvalidInputError("the published form gives its output on the input's own grid; leave `at` out")
        if source.axes is None or source.dim != self.dim or values.shape[-1] != self.in_channels:
            raise InvalidInputError(
                f"the published form takes {self.in_channels} channels on {self.dim}-D tensor grids, "
                f"got {values.shape[-1]} on {source}"
            )
        sites = index_sites(source.shape, values)
        places = torch.cartesian_prod(*[axis.coordinates[:, 0] for axis in sites.axes]).reshape(-1, self.dim)
        history = [self.lift(torch.cat([values, places.expand(len(values), -1, -1)], dim=-1))]
        for block in self.blocks:
            history.append(block(history, source.shape))
        a = history[-1]
        for layer in self.post:
            a = layer(a, source.shape)
        return self.project(a)


def _mlp(channels_in: int, hidden: int, channels_out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(channels_in, hidden), nn.ReLU(), nn.Linear(hidden, channels_out))

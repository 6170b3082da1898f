"""What stands around the integral autoencoders in the published form: the block, the skips between blocks, and G."""

from collections.abc import Sequence
from typing import ClassVar, Unpack

import torch
from torch import Tensor, nn

from iaenet.nn.published_iae import FourierIAE, IAEOptions, PublishedIAE, pointwise_mlp

BRANCHES: dict[str, tuple[type[PublishedIAE], ...]] = {
    "both": (PublishedIAE, FourierIAE),
    "original": (PublishedIAE,),
    "fourier": (FourierIAE,),
}


class PublishedBlock(nn.Module):
    """`IAE(a) = M([A a, Phi_1(a), F^-1 Phi_2(F a)])` (eq. multichannel, with the program's linear path A beside it).

    `M(w) = LN(C w' + B relu(D w'))`, `w' = LN(w)`: one hidden layer and a linear path.
    """

    def __init__(self, channels: int, latent: Sequence[int], branches: str, **options: Unpack[IAEOptions]) -> None:
        super().__init__()
        self.straight = nn.Linear(channels, channels)
        self.branches = nn.ModuleList(branch(channels, latent, **options) for branch in BRANCHES[branches])
        total = (1 + len(self.branches)) * channels
        self.norm = nn.LayerNorm(total)
        self.merge_linear = nn.Linear(total, channels)
        self.merge = pointwise_mlp(total, 2 * channels, channels)
        self.norm_out = nn.LayerNorm(channels)

    def forward(self, a: Tensor, axes: Sequence[Tensor]) -> Tensor:
        """Values `(b, s_1 .. s_d, c)` at coordinates `(s_i, 1)` of each axis -> the same, before the activation."""
        merged = self.norm(torch.cat([self.straight(a), *[branch(a, axes) for branch in self.branches]], dim=-1))
        return self.norm_out(self.merge_linear(merged) + self.merge(merged))


class NoSkips(nn.Module):
    """`a_i = relu(IAE_i(a_{i-1}))`, and `a_L` goes to G. The interface of all kinds of skips."""

    dense: ClassVar[bool] = False

    def __init__(self, channels: int, blocks: int) -> None:  # noqa: ARG002 - as the others
        super().__init__()

    def before(self, i: int, history: Sequence[Tensor]) -> Tensor:  # noqa: ARG002
        """The input of block i, counted from 0, made of `a_0 .. a_i`."""
        return history[-1]

    def beside(self, i: int, a: Tensor, b: Tensor) -> Tensor:  # noqa: ARG002
        """The output b of block i with what goes past it."""
        return b

    def after(self, history: Sequence[Tensor]) -> Tensor:
        """What G gets of `a_0 .. a_L`."""
        return history[-1]


class ResidualSkips(NoSkips):
    """`a_i = relu(IAE_i(a_{i-1}) + A_i(a_{i-1}))` (eq. resnet)."""

    def __init__(self, channels: int, blocks: int) -> None:
        super().__init__(channels, blocks)
        self.maps = nn.ModuleList(nn.Linear(channels, channels) for _ in range(blocks))

    def beside(self, i: int, a: Tensor, b: Tensor) -> Tensor:
        """`IAE_i(a) + A_i(a)`."""
        return b + self.maps[i](a)


class DenseSkips(NoSkips):
    """`a_i = relu(IAE_i(A_i [a_0, .., a_{i-1}]))`, and `A_{L+1} [a_0, .., a_L]` goes to G: as in the program."""

    dense = True

    def __init__(self, channels: int, blocks: int) -> None:
        super().__init__(channels, blocks)
        self.maps = nn.ModuleList(nn.Linear((i + 1) * channels, channels) for i in range(blocks + 1))

    def before(self, i: int, history: Sequence[Tensor]) -> Tensor:
        """One linear map of all earlier outputs."""
        return self.maps[i](torch.cat(list(history), dim=-1))

    def after(self, history: Sequence[Tensor]) -> Tensor:
        """The same, of all outputs."""
        return self.maps[-1](torch.cat(list(history), dim=-1))


class TextSkips(NoSkips):
    """`a_i = relu(IAE_i(M_i([A_0 a_0, .., A_{i-1} a_{i-1}])))`, and `a_L` goes to G (eq. densenet to the letter).

    `M_i` has one hidden layer, of twice the channels. `A_j` belongs to `a_j`, whichever block takes it.
    """

    dense = True

    def __init__(self, channels: int, blocks: int) -> None:
        super().__init__(channels, blocks)
        self.maps = nn.ModuleList(nn.Linear(channels, channels) for _ in range(blocks))
        self.mixes = nn.ModuleList(pointwise_mlp((i + 1) * channels, 2 * channels, channels) for i in range(blocks))

    def before(self, i: int, history: Sequence[Tensor]) -> Tensor:
        """`M_i` of the linear maps of all earlier outputs."""
        return self.mixes[i](torch.cat([self.maps[j](a) for j, a in enumerate(history)], dim=-1))


SKIPS: dict[str, type[NoSkips]] = {
    "dense": DenseSkips,
    "dense-text": TextSkips,
    "residual": ResidualSkips,
    "none": NoSkips,
}


class FNOLayer(nn.Module):
    """`sigma(W a + F^-1(R_k (F a)_k))`, a layer of FNO as its authors released it; `last` leaves sigma = relu out.

    Kept are `0 <= k_d < modes` and `-modes <= k_i < modes` on the axes before, as far as the grid has them. The
    frequencies are those of the index: every axis counts as one period.
    """

    def __init__(self, channels: int, modes: int, dim: int, *, last: bool = False) -> None:
        super().__init__()
        self.modes = modes
        self.last = last
        self.pointwise = nn.Linear(channels, channels)
        kept = (2 * modes,) * (dim - 1) + (modes,)
        self.weight = nn.Parameter(torch.rand(*kept, channels, channels, 2) / channels**2)  # real and imaginary part

    def forward(self, a: Tensor) -> Tensor:
        """Values `(b, s_1 .. s_d, c)` -> the same."""
        shape = a.shape[1:-1]
        dims = tuple(range(1, len(shape) + 1))
        spectrum = torch.fft.rfftn(a, dim=dims)
        # Places of the kept frequencies in the spectrum, and of their R_k among the weights, axis by axis.
        grid, weights = [], []
        for s in shape[:-1]:
            up, down = min(self.modes, (s + 1) // 2), min(self.modes, s // 2)
            grid.append(_ends(s, up, down, a.device))
            weights.append(_ends(2 * self.modes, up, down, a.device))
        kept = min(self.modes, spectrum.shape[-2])
        grid.append(torch.arange(kept, device=a.device))
        weights.append(grid[-1])
        at: tuple[slice | Tensor, ...] = (slice(None), *torch.meshgrid(*grid, indexing="ij"))
        matrices = torch.view_as_complex(self.weight)[torch.meshgrid(*weights, indexing="ij")]
        out = torch.zeros_like(spectrum)
        out[at] = torch.einsum("b...c,...ce->b...e", spectrum[at], matrices)
        total = self.pointwise(a) + torch.fft.irfftn(out, s=shape, dim=dims)
        return total if self.last else torch.relu(total)


def _ends(size: int, up: int, down: int, device: torch.device) -> Tensor:
    """Indices `0 .. up - 1` and `size - down .. size - 1`: frequencies from 0 up and from -1 down."""
    return torch.cat([torch.arange(up, device=device), torch.arange(size - down, size, device=device)])

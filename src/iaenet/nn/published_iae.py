"""The integral autoencoder as published: kernel networks along each axis, phi_0 on a fixed latent grid.

Values are grids `(b, s_1 .. s_d, c)`, and a transform works along one axis, on lines `(.., n, c)`: the 2-layer IAE of
the paper is one transform for each of two axes. The kernel matrix `(n, m)` is not assembled where the kernel's last
layer can be applied after the sum instead, which is exactly the same function.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, TypedDict, Unpack

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.utils.checkpoint import checkpoint

PIECE = 2**24  # hidden values of the text's decoder that exist at a time


class KernelNetwork(nn.Module):
    """`phi(q, x, z_j) = W_j h + b_j` with `h = relu(LN(A [q, x] + c))`, an output for each of the m latent points z_j.

    q is the auxiliary value with its `channels`, none for linear kernels (table linear), and x one coordinate. The z_j
    are fixed: they are outputs, not inputs. There are m hidden units; `depth` counts hidden layers.
    """

    def __init__(self, channels: int, latent: int, depth: int = 1) -> None:
        super().__init__()
        self.first = nn.Linear(channels + 1, latent)
        self.norm = nn.LayerNorm(latent)
        self.deeper = nn.ModuleList(nn.Linear(latent, latent) for _ in range(depth - 1))
        self.last = nn.Linear(latent, latent)

    def features(self, x: Tensor, auxiliary: Tensor | None) -> Tensor:
        """The last hidden layer h `(.., m)` at coordinates `(.., 1)` with auxiliary values `(.., c)`."""
        weight = self.first.weight
        z = linear(x, weight[:, -1:], self.first.bias)
        if auxiliary is not None:
            z = z + linear(auxiliary, weight[:, :-1])
        h = torch.relu(self.norm(z))
        for layer in self.deeper:
            h = torch.relu(layer(h))
        return h


class AxisEncoder(nn.Module):
    """`v(z_j) = 1/n sum_i phi_1(a(x_i), x_i, z_j) a(x_i)` along an axis (eqs. numintegraltransform2, composedforward).

    Evaluated as `v = W M + b a'` with the moments `M = 1/n sum_i h(x_i) a(x_i)^T` and the mean a' of a. Without
    `auxiliary` the kernel does not see a.
    """

    def __init__(self, channels: int, latent: int, depth: int, *, auxiliary: bool) -> None:
        super().__init__()
        self.kernel = KernelNetwork(channels if auxiliary else 0, latent, depth)
        self.auxiliary = auxiliary

    def forward(self, a: Tensor, x: Tensor) -> Tensor:
        """Values `(.., n, c)` at coordinates `(n, 1)` -> `(.., m, c)`."""
        h, last = self.kernel.features(x, a if self.auxiliary else None), self.kernel.last
        return last.weight @ (h.mT @ a / len(x)) + last.bias[:, None] * a.mean(dim=-2, keepdim=True)


class LinearDecoder(nn.Module):
    """`b(x) = 1/m sum_j phi_2(x, z_j) u(z_j)` along an axis: the kernel sees no function (table linear).

    Evaluated as `b(x) = (h(x)^T W^T u + b^T u) / m`.
    """

    auxiliary: ClassVar[bool] = False

    def __init__(self, channels: int, latent: int, depth: int) -> None:
        super().__init__()
        self.kernel = KernelNetwork(channels if self.auxiliary else 0, latent, depth)

    def seen(self, u: Tensor) -> Tensor | None:  # noqa: ARG002 - other decoders look at it
        """The auxiliary value that latent values `(.., m, c)` give the kernel, the same for all x."""
        return None

    def forward(self, u: Tensor, x: Tensor) -> Tensor:
        """Latent values `(.., m, c)` -> values `(.., n, c)` at coordinates `(n, 1)`."""
        h, last = self.kernel.features(x, self.seen(u)), self.kernel.last
        return (h @ (last.weight.mT @ u) + (last.bias @ u)[..., None, :]) / u.shape[-2]


class ProgramDecoder(LinearDecoder):
    """`b(x) = 1/m sum_j phi_2(t, x, z_j) u(z_j)`, `t = sum_j p_j u(z_j) + p_0` one auxiliary value for each channel.

    The authors' program compresses u by learned numbers p, the same for all channels and lines.
    """

    auxiliary = True

    def __init__(self, channels: int, latent: int, depth: int) -> None:
        super().__init__(channels, latent, depth)
        self.compress = nn.Linear(latent, 1)

    def seen(self, u: Tensor) -> Tensor:
        """t `(.., 1, c)`."""
        return self.compress(u.mT).mT


class TextDecoder(LinearDecoder):
    """`b(x) = 1/m sum_j phi_2(u(z_j), x, z_j) u(z_j)` (eqs. backwardintegraltransform, composedbackward).

    The hidden layer differs for each of the n m pairs (x, z_j), so nothing can be factored: `O(n m^2)` for each line.
    Points are done some at a time, and again for the gradient, so that memory does not grow with n.
    """

    auxiliary = True

    def forward(self, u: Tensor, x: Tensor) -> Tensor:
        """Latent values `(.., m, c)` -> values `(.., n, c)` at coordinates `(n, 1)`."""
        some = max(1, PIECE // (u.shape[:-1].numel() * self.kernel.last.in_features))
        if some >= len(x):
            return self._at(u, x)
        if not torch.is_grad_enabled():
            return torch.cat([self._at(u, part) for part in x.split(some)], dim=-2)
        return torch.cat([checkpoint(self._at, u, part, use_reentrant=False) for part in x.split(some)], dim=-2)

    def _at(self, u: Tensor, x: Tensor) -> Tensor:
        h, last = self.kernel.features(x[:, None], u[..., None, :, :]), self.kernel.last  # (.., n, m, r)
        matrix = torch.einsum("...jr,jr->...j", h, last.weight) + last.bias
        return matrix @ u / u.shape[-2]


class Processed(nn.Module):
    """`LN(v' + B relu(A v'))`, `v' = LN(v)`: the channel MLP after an integral transform, or `v'` without it."""

    def __init__(self, channels: int, *, channel_mlp: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.mlp = pointwise_mlp(channels, 2 * channels, channels) if channel_mlp else None
        self.norm_out = nn.LayerNorm(channels) if channel_mlp else None

    def forward(self, v: Tensor) -> Tensor:
        """Values `(.., c)` -> `(.., c)`."""
        v = self.norm(v)
        return v if self.mlp is None or self.norm_out is None else self.norm_out(v + self.mlp(v))


class IAEOptions(TypedDict):
    """What all integral autoencoders of a network have in common."""

    decoder: type[LinearDecoder]
    channel_mlp: bool
    depth: int | None


class PublishedIAE(nn.Module):
    """`Phi = a -> v -> u -> b` (section iae), encoders from the last axis to the first, decoders back.

    phi_0 is a network of all m latent points with two hidden layers, the same for all channels; the kernels have one.
    `depth` replaces both numbers.
    """

    def __init__(self, channels: int, latent: Sequence[int], **options: Unpack[IAEOptions]) -> None:
        super().__init__()
        self.latent = tuple(latent)
        decoder, depth = options["decoder"], options["depth"]
        layers = depth or 1
        self.encoders = nn.ModuleList(AxisEncoder(channels, m, layers, auxiliary=decoder.auxiliary) for m in latent)
        self.decoders = nn.ModuleList(decoder(channels, m, layers) for m in latent)
        self.phi_0 = latent_network(self.latent, depth or 2)
        self.encoded = Processed(channels, channel_mlp=options["channel_mlp"])
        self.decoded = Processed(channels, channel_mlp=options["channel_mlp"])

    def forward(self, a: Tensor, axes: Sequence[Tensor]) -> Tensor:
        """Values `(b, s_1 .. s_d, c)` at coordinates `(s_i, 1)` of each axis -> the same."""
        for i in reversed(range(len(axes))):
            a = along(i + 1, self.encoders[i], a, axes[i])
        v = self.encoded(a)
        u = self.phi_0(v.flatten(1, -2).mT).mT.unflatten(1, self.latent)
        for i, x in enumerate(axes):
            u = along(i + 1, self.decoders[i], u, x)
        return self.decoded(u)


class FourierIAE(PublishedIAE):
    """`F^-1 Phi(F a)` with the FFT of the values and all its frequencies (eq. multichannel).

    Real and imaginary parts are channels. The coordinate of a frequency is its place in the order of the FFT, from 0 to
    1, as in the program: it does not know the grid's points.
    """

    def __init__(self, channels: int, latent: Sequence[int], **options: Unpack[IAEOptions]) -> None:
        super().__init__(2 * channels, latent, **options)

    def forward(self, a: Tensor, axes: Sequence[Tensor]) -> Tensor:
        """Values `(b, s_1 .. s_d, c)` -> the same; of the coordinates only their number matters."""
        dims = tuple(range(1, len(axes) + 1))
        spectrum = torch.fft.rfftn(a, dim=dims, norm="ortho")
        places = [torch.linspace(0, 1, s, dtype=a.dtype, device=a.device)[:, None] for s in spectrum.shape[1:-1]]
        real, imag = super().forward(torch.cat([spectrum.real, spectrum.imag], dim=-1), places).chunk(2, dim=-1)
        return torch.fft.irfftn(torch.complex(real, imag), s=a.shape[1:-1], dim=dims, norm="ortho")


def along(axis: int, transform: nn.Module, values: Tensor, x: Tensor) -> Tensor:
    """A transform of lines `(.., n, c)` applied along one axis of a grid."""
    return transform(values.movedim(axis, -2), x).movedim(-2, axis)


def latent_network(latent: Sequence[int], hidden: int) -> nn.Sequential:
    """phi_0, a fully connected network (eq. fnn): hidden layers of m units, the first of 2 m if there is one axis."""
    m = math.prod(latent)
    sizes = [m, 2 * m if len(latent) == 1 else m, *[m] * (hidden - 1)]
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], m))


def pointwise_mlp(channels_in: int, hidden: int, channels_out: int) -> nn.Sequential:
    """`B relu(A v + a) + b`, a pointwise MLP with one hidden layer (eq. mlp)."""
    return nn.Sequential(nn.Linear(channels_in, hidden), nn.ReLU(), nn.Linear(hidden, channels_out))

"""Integral transforms with learned kernels, in factored form: the kernel matrix is never assembled.

A kernel network ends in a linear layer, so with hidden features `h(x) in R^r` its values at the m latent points are
`W h(x) + b`. The transform then needs `r + 1` moments of the function and not `n m` kernel values. Here `h` carries a
constant 1 as last feature and `W` the bias as last column.

Encoder and decoder have three steps, so that sums over points can be streamed and batches can be ragged:
`reduce` (a sum over points), a fixed-size linear map, and `expand` (point by point).
"""

import math
from dataclasses import dataclass
from typing import TypedDict, Unpack

import torch
from torch import Tensor, nn

from iaenet.nn.features import EPS, expansion, moments
from iaenet.nn.pointwise import GAIN, full_precision


@dataclass(frozen=True)
class Sites:
    """Where a function is known: coordinates as features `(n, f)`, and quadrature weights `(n,)`."""

    coordinates: Tensor
    weights: Tensor
    axes: tuple["Sites", ...] = ()  # along each axis of a tensor grid, for the axis-wise transforms

    def like(self, values: Tensor) -> "Sites":
        """The same in the precision and on the device of some values."""
        axes = tuple(axis.like(values) for axis in self.axes)
        return Sites(self.coordinates.to(values), self.weights.to(values), axes)


class KernelOptions(TypedDict, total=False):
    """Options that encoder and decoder hand on to their `Kernel`."""

    auxiliary: bool
    depth: int


class Kernel(nn.Module):
    """Hidden features `h(x) = sigma(LN(A [a(x), xi(x)] + c)) in R^r` of a kernel network, xi the coordinates.

    Without `auxiliary` the function value is left out (the paper's linear kernels, table linear). `depth` counts hidden
    layers. Layer normalisation is over the r features of a point; it does not see other points.
    """

    def __init__(
        self,
        channels: int,
        coordinates: int,
        rank: int,
        *,
        auxiliary: bool = True,
        depth: int = 1,
    ) -> None:
        super().__init__()
        self.place = nn.Linear(coordinates, rank)
        self.value = nn.Linear(channels, rank, bias=False) if auxiliary else None
        self.norm = nn.LayerNorm(rank, eps=EPS)
        self.deeper = nn.ModuleList(nn.Linear(rank, rank) for _ in range(depth - 1))
        # One linear layer on [a, xi], split in two since the coordinates' part is the same for the whole batch. It is
        # initialised as one: c values outweigh few coordinates, so kernels are nearly translation-equivariant.
        bound = 1 / math.sqrt(coordinates + (channels if auxiliary else 0))
        for parameter in [*self.place.parameters(), *(self.value.parameters() if self.value is not None else ())]:
            nn.init.uniform_(parameter, -bound, bound)

    def hidden(self, values: Tensor | None, coordinates: Tensor) -> Tensor:
        """`z = A [a(x), xi(x)] + c`: values `(b, n, c)`, coordinates `(n, f)` -> `(b, n, r)`, or `(1, n, r)`."""
        z = self.place(coordinates)[None]
        return z if self.value is None else self.value(values).add_(z)

    def features(self, z: Tensor) -> Tensor:
        """`h` from z, as a tensor of the same shape."""
        h = nn.functional.gelu(self.norm(z))
        for layer in self.deeper:
            h = nn.functional.gelu(layer(h))
        return h

    def moments(self, z: Tensor, weighted: Tensor) -> Tensor:
        """`sum_i h(x_i) w_i a(x_i)^T`: z `(b, n, r)`, weighted values `(b, n, c)` -> `(b, r, c)`."""
        if self._lean():
            return moments(z, self.norm.weight, self.norm.bias, weighted)
        h = self.features(z)
        with full_precision(weighted):
            return h.to(weighted.dtype).transpose(1, 2) @ weighted

    def expansion(self, z: Tensor, code: Tensor) -> Tensor:
        """`h(x_i)^T u`: z `(b, n, r)`, code `(b, r, c)` -> `(b, n, c)`."""
        if self._lean():
            return expansion(z, self.norm.weight, self.norm.bias, code)
        h = self.features(z)
        with full_precision(code):
            return h.to(code.dtype) @ code

    def _lean(self) -> bool:
        """Whether features are made piece by piece. Autocast and compilation have their own ways to save."""
        plain = self.value is not None and not self.deeper
        return (
            plain and not torch.compiler.is_compiling() and not torch.is_autocast_enabled(self.norm.weight.device.type)
        )


class IntegralEncoder(nn.Module):
    """`v(z) = int phi_1(a(x), x, z) a(x) dx` at m latent points (eq. forwardintegraltransform).

    `v = W M` with the moments `M = sum_i w_i h(x_i) a(x_i)^T`, h including the constant: `O(n r c + m r c)`.
    """

    muon = ("weight",)

    def __init__(
        self, channels: int, coordinates: int, latent: int, rank: int, **kernel: Unpack[KernelOptions]
    ) -> None:
        super().__init__()
        self.kernel = Kernel(channels, coordinates, rank, **kernel)
        self.weight = nn.Parameter(2 * GAIN * torch.randn(latent, rank + 1) / math.sqrt(rank))

    def local(self, values: Tensor, sites: Sites) -> Tensor:
        """The kernel's hidden values z `(b, n, r)`."""
        return self.kernel.hidden(values, sites.coordinates)

    def reduce(self, values: Tensor, sites: Sites, z: Tensor | None = None) -> Tensor:
        """Moments `(b, r + 1, c)` of values `(b, n, c)`; a sum over points, so those of parts add up."""
        weighted = values * sites.weights[:, None]
        moments = self.kernel.moments(self.local(values, sites) if z is None else z, weighted)
        return torch.cat([moments, weighted.sum(dim=1, keepdim=True)], dim=1)

    def latent(self, moments: Tensor) -> Tensor:
        """Latent values `(b, m, c)`."""
        return self.weight @ moments

    def forward(self, values: Tensor, sites: Sites) -> Tensor:
        """Values `(b, n, c)` -> latent values `(b, m, c)`."""
        return self.latent(self.reduce(values, sites))


class IntegralDecoder(nn.Module):
    """`b(x) = int phi_2(a(x), x, z) u(z) dz` at any points (eq. backwardintegraltransform).

    `b(x) = h(x)^T (W^T u) / sqrt(m)`: `O(n r c + m r c)`. The kernel's auxiliary value is that of the block's input at
    x; the paper's text has u(z), which would cost a kernel network for each of the n m pairs (`nn/published_iae.py`).
    `kernel` is an encoder's, if its features are to be used again instead of own ones.
    """

    muon = ("weight",)

    def __init__(
        self,
        channels: int,
        coordinates: int,
        latent: int,
        rank: int,
        kernel: Kernel | None = None,
        **options: Unpack[KernelOptions],
    ) -> None:
        super().__init__()
        self.own = Kernel(channels, coordinates, rank, **options) if kernel is None else None
        self._borrowed = (kernel,)  # in a tuple: its parameters belong to the encoder
        self.weight = nn.Parameter(GAIN * torch.randn(latent, rank + 1) / math.sqrt(rank))

    @property
    def kernel(self) -> Kernel:
        """The kernel in use."""
        kernel = self.own or self._borrowed[0]
        assert kernel is not None
        return kernel

    def code(self, latent: Tensor) -> Tensor:
        """Latent values `(b, m, c)` -> `(b, r + 1, c)`: all that the points need to know."""
        return self.weight.T @ latent / math.sqrt(self.weight.shape[0])

    def expand(self, code: Tensor, values: Tensor | None, sites: Sites, z: Tensor | None = None) -> Tensor:
        """Values `(b, n, c)` of the decoded function; `values` are the block's input (None for linear kernels)."""
        if z is None:
            z = self.kernel.hidden(values, sites.coordinates)
        return self.kernel.expansion(z, code[:, :-1]).add_(code[:, -1:])

    def forward(self, latent: Tensor, values: Tensor | None, sites: Sites) -> Tensor:
        """Latent values `(b, m, c)` -> values `(b, n, c)`."""
        return self.expand(self.code(latent), values, sites)

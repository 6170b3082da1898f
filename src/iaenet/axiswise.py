"""Integral transforms on tensor grids, one axis after another (the paper's 2-layer IAE for images, in any dimension).

With the same rank r per axis, a product of axis transforms reaches r^d functions where one transform has r.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Unpack

from torch import Tensor, nn

from iaenet.geometry import Sites
from iaenet.integral import IntegralDecoder, IntegralEncoder, KernelOptions


class AxiswiseEncoder(nn.Module):
    """`v_i(.., z_i, ..) = int phi_1^i(v_{i-1}, x_i, z_i) v_{i-1}(.., x_i, ..) dx_i`, i = d .. 1 (eq. composedforward).

    The first axis comes last, so that a grid can be streamed by its rows. `coordinates` are the features per axis and
    `shape` is the latent grid.
    """

    def __init__(
        self,
        channels: int,
        coordinates: Sequence[int],
        shape: Sequence[int],
        rank: int,
        **kernel: Unpack[KernelOptions],
    ) -> None:
        super().__init__()
        self.shape = tuple(shape)
        self.axes: Sequence[IntegralEncoder] = nn.ModuleList(  # type: ignore[assignment]
            IntegralEncoder(channels, f, m, rank, **kernel) for f, m in zip(coordinates, shape, strict=True)
        )

    def reduce(self, values: Tensor, sites: Sites) -> Tensor:
        """Moments `(b, m_2 ... m_d, r + 1, c)` of values `(b, n, c)` on a tensor grid."""
        b, _, c = values.shape
        grid = values.reshape(b, *(len(axis.weights) for axis in sites.axes), c)
        for i in reversed(range(1, len(self.axes))):
            grid = _along(grid, i + 1, partial(self.axes[i], sites=sites.axes[i]))
        rows = grid.movedim(1, -2)
        moments = self.axes[0].reduce(rows.reshape(-1, *rows.shape[-2:]), sites.axes[0])
        return moments.reshape(b, -1, *moments.shape[1:])

    def latent(self, moments: Tensor) -> Tensor:
        """Latent values `(b, m, c)`, m the product of the latent grid."""
        v = self.axes[0].latent(moments)  # (b, m_2 ... m_d, m_1, c)
        return v.transpose(1, 2).reshape(len(v), -1, v.shape[-1])

    def forward(self, values: Tensor, sites: Sites) -> Tensor:
        """Values `(b, n, c)` -> latent values `(b, m, c)`."""
        return self.latent(self.reduce(values, sites))


class AxiswiseDecoder(nn.Module):
    """`u_i(.., x_i, ..) = int phi_2^i(x_i, z_i) u_{i-1}(.., z_i, ..) dz_i`, i = 1 .. d (eq. composedbackward).

    Only the last axis' kernel has the value a(x) as auxiliary input: it is not defined on half-decoded grids.
    """

    def __init__(
        self,
        channels: int,
        coordinates: Sequence[int],
        shape: Sequence[int],
        rank: int,
        **kernel: Unpack[KernelOptions],
    ) -> None:
        super().__init__()
        self.shape = tuple(shape)
        inner: KernelOptions = {**kernel, "auxiliary": False}
        last = len(self.shape) - 1
        self.axes: Sequence[IntegralDecoder] = nn.ModuleList(  # type: ignore[assignment]
            IntegralDecoder(channels, f, m, rank, **(kernel if i == last else inner))
            for i, (f, m) in enumerate(zip(coordinates, shape, strict=True))
        )

    def code(self, latent: Tensor) -> Tensor:
        """Latent values `(b, m, c)` as they are; each axis makes its own code in `expand`."""
        return latent

    def expand(self, code: Tensor, values: Tensor, sites: Sites) -> Tensor:
        """Values `(b, n, c)` of the decoded function on the tensor grid."""
        b, n, c = values.shape
        grid = code.reshape(b, *self.shape, c)
        for i in range(len(self.axes) - 1):
            grid = _along(grid, i + 1, partial(self.axes[i], values=None, sites=sites.axes[i]))
        flat = grid.reshape(-1, *grid.shape[-2:])
        own = values.reshape(len(flat), -1, c)
        decoded: Tensor = self.axes[-1](flat, own, sites.axes[-1])
        return decoded.reshape(b, n, c)

    def forward(self, latent: Tensor, values: Tensor, sites: Sites) -> Tensor:
        """Latent values `(b, m, c)` -> values `(b, n, c)`."""
        return self.expand(self.code(latent), values, sites)


def _along(grid: Tensor, axis: int, transform: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply a transform `(b, s, c) -> (b, s', c)` along one axis of `(b, s_1, ..., s_d, c)`."""
    moved = grid.movedim(axis, -2)
    done = transform(moved.reshape(-1, *moved.shape[-2:]))
    return done.reshape(*moved.shape[:-2], *done.shape[-2:]).movedim(-2, axis)

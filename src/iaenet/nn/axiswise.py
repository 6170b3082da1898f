"""Integral transforms on tensor grids, one axis after another (the paper's 2-layer IAE for images, in any dimension).

With the same rank r per axis, a product of axis transforms reaches r^d functions where one transform has r.
"""

import math
from collections.abc import Sequence
from typing import Unpack

from torch import Tensor, nn

from iaenet.nn.kernels import IntegralDecoder, IntegralEncoder, Kernel, KernelOptions, Sites


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

    @property
    def kernel(self) -> Kernel:
        """The kernel of the last axis, which sees the function itself."""
        return self.axes[-1].kernel

    def local(self, values: Tensor, sites: Sites) -> Tensor:
        """Hidden values z of the last axis' kernel, `(b n / s_d, s_d, r)`."""
        return self.axes[-1].local(_lines(values, sites), sites.axes[-1])

    def reduce(self, values: Tensor, sites: Sites, z: Tensor | None = None) -> Tensor:
        """Moments `(b, m_2 ... m_d, r + 1, c)` of values `(b, n, c)` on a tensor grid."""
        b, _, c = values.shape
        moments = self.axes[-1].reduce(_lines(values, sites), sites.axes[-1], z)
        ahead, done = [len(axis.weights) for axis in sites.axes[:-1]], 1
        while ahead:
            i = len(ahead)
            v = self.axes[i].latent(moments).reshape(-1, done, self.shape[i], c).transpose(1, 2)
            done *= self.shape[i]
            grid = v.reshape(-1, ahead.pop(), done, c).transpose(1, 2)  # latent axes in front, the next one behind
            moments = self.axes[i - 1].reduce(grid.reshape(-1, grid.shape[2], c), sites.axes[i - 1])
        return moments.reshape(b, done, *moments.shape[1:])

    def latent(self, moments: Tensor) -> Tensor:
        """Latent values `(b, m, c)`, m the product of the latent grid."""
        v = self.axes[0].latent(moments)  # (b, m_2 ... m_d, m_1, c)
        return v.transpose(1, 2).reshape(v.shape[0], -1, v.shape[-1])

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
        kernel: Kernel | None = None,
        **options: Unpack[KernelOptions],
    ) -> None:
        super().__init__()
        self.shape = tuple(shape)
        inner: KernelOptions = {**options, "auxiliary": False}
        *before, last = zip(coordinates, shape, strict=True)
        axes = [IntegralDecoder(channels, f, m, rank, **inner) for f, m in before]
        axes.append(IntegralDecoder(channels, *last, rank, kernel, **options))
        self.axes: Sequence[IntegralDecoder] = nn.ModuleList(axes)  # type: ignore[assignment]

    def code(self, latent: Tensor) -> Tensor:
        """Latent values `(b, m, c)` as they are; each axis makes its own code in `expand`."""
        return latent

    def expand(self, code: Tensor, values: Tensor, sites: Sites, z: Tensor | None = None) -> Tensor:
        """Values `(b, n, c)` of the decoded function on the tensor grid."""
        b, n, c = *values.shape[:2], code.shape[-1]
        ahead = math.prod(self.shape)
        u = code
        for axis, m, where in zip(self.axes[:-1], self.shape, sites.axes, strict=False):
            ahead //= m
            # One product for all latent axes still ahead: they count as channels.
            u = axis(u.reshape(-1, m, ahead * c), None, where)
        last = self.axes[-1]
        code = last.code(u.reshape(-1, self.shape[-1], c))
        return last.expand(code, _lines(values, sites), sites.axes[-1], z).reshape(b, n, c)

    def forward(self, latent: Tensor, values: Tensor, sites: Sites) -> Tensor:
        """Latent values `(b, m, c)` -> values `(b, n, c)`."""
        return self.expand(self.code(latent), values, sites)


def _lines(values: Tensor, sites: Sites) -> Tensor:
    """Values `(b, n, c)` of a grid as lines along its last axis: `(b n / s_d, s_d, c)`."""
    return values.reshape(-1, len(sites.axes[-1].weights), values.shape[-1])

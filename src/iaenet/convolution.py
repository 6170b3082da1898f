"""Small convolutions on a grid."""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

CONVOLUTIONS: tuple[type[nn.Conv1d | nn.Conv2d | nn.Conv3d], ...] = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


class Convolution(nn.Module):
    """Convolution with an odd kernel that keeps the grid: around periodic axes, into zeros beyond closed ones."""

    def __init__(
        self, channels_in: int, channels_out: int, periodic: tuple[bool, ...], kernel: int = 3, dilation: int = 1
    ) -> None:
        super().__init__()
        self.periodic = periodic
        self.reach = dilation * (kernel // 2)
        padding = tuple(0 if wraps else self.reach for wraps in periodic)
        self.convolution = CONVOLUTIONS[len(periodic) - 1](
            channels_in,
            channels_out,
            kernel,
            dilation=dilation,
            padding=padding,  # type: ignore[arg-type] # as many as the dimension
        )
        nn.init.normal_(self.convolution.weight, std=1 / math.sqrt(channels_in * kernel ** len(periodic)))
        assert self.convolution.bias is not None
        nn.init.zeros_(self.convolution.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Values `(b, c, s_1 .. s_d)` -> `(b, c', s_1 .. s_d)`."""
        for axis, wraps in enumerate(self.periodic, start=2):
            if wraps and self.reach:
                x = wrapped(x, axis, self.reach)
        return self.convolution(x)


def wrapped(x: Tensor, axis: int, reach: int) -> Tensor:
    """The values continued periodically by `reach` points on both sides of an axis, more than once around if need be.

    >>> wrapped(torch.arange(3)[None], 1, 4).tolist()
    [[2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]]
    """
    size = x.shape[axis]
    turns, rest = divmod(reach, size)
    before, after = x.narrow(axis, size - rest, rest), x.narrow(axis, 0, rest)
    return torch.cat([before, *[x] * (2 * turns + 1), after], dim=axis)


class RasterConvolutions(nn.Module):
    """Convolutions on the values of a `Raster`: what happens between neighbours, and with `levels` farther away.

    `C_2 sigma(C_1 v)` without levels. A level halves the raster and doubles the channels. With D a convolution of 2
    points that steps over 2, U its transpose and E one that keeps its grid,

        d_0 = sigma(C_1 v),   d_{l+1} = sigma(D_l d_l),   u_l = d_l + U_l sigma(E_l u_{l+1}),   C_2 u_0,

    u = d at the coarsest level.
    """

    def __init__(self, count: int, channels: int, periodic: tuple[bool, ...], kernel: int, levels: int = 0) -> None:
        super().__init__()
        self.shape = (count,) * len(periodic)
        self.first = Convolution(channels, channels, periodic, kernel)
        self.second = Convolution(channels, channels, periodic, kernel)
        sizes = [channels * 2**level for level in range(levels + 1)]
        self.down = nn.ModuleList(_halving(fine, coarse, len(periodic)) for fine, coarse in pairwise(sizes))
        self.up = nn.ModuleList(_doubling(coarse, fine, len(periodic)) for fine, coarse in pairwise(sizes))
        self.even = nn.ModuleList(Convolution(size, size, periodic, kernel) for size in sizes[1:])

    def forward(self, values: Tensor) -> Tensor:
        """Values `(b, count^d, c)` -> `(b, count^d, c)`."""
        grid = values.unflatten(1, self.shape).movedim(-1, 1)
        levels = [nn.functional.gelu(self.first(grid))]
        for down in self.down:
            levels.append(nn.functional.gelu(down(_filled(levels[-1]))))
        x = levels.pop()
        for up, even in zip(reversed(self.up), reversed(self.even), strict=True):
            finer = levels.pop()
            x = up(nn.functional.gelu(even(x)))
            x = x[(..., *(slice(0, size) for size in finer.shape[2:]))] + finer
        return self.second(x).movedim(1, -1).flatten(1, -2)


def _filled(x: Tensor) -> Tensor:
    """One more point, a zero, along axes with an odd number of them."""
    pads = [pad for size in reversed(x.shape[2:]) for pad in (0, size % 2)]
    return nn.functional.pad(x, pads) if any(pads) else x


TRANSPOSES: tuple[type[nn.ConvTranspose1d | nn.ConvTranspose2d | nn.ConvTranspose3d], ...] = (
    nn.ConvTranspose1d,
    nn.ConvTranspose2d,
    nn.ConvTranspose3d,
)


def _halving(fine: int, coarse: int, dim: int) -> nn.Module:
    made = CONVOLUTIONS[dim - 1](fine, coarse, 2, stride=2)
    nn.init.normal_(made.weight, std=1 / math.sqrt(fine * 2**dim))
    return made


def _doubling(coarse: int, fine: int, dim: int) -> nn.Module:
    made = TRANSPOSES[dim - 1](coarse, fine, 2, stride=2)
    nn.init.normal_(made.weight, std=1 / math.sqrt(coarse))
    return made

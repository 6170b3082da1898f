"""U-Net (Ronneberger et al., MICCAI 2015) on a fixed tensor grid."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from iaenet.baselines.resnet import GridNetwork, Residual
from iaenet.convolution import Convolution
from iaenet.discretization import Periodic
from iaenet.model import Presets

POOLS: tuple[Callable[..., Tensor], ...] = (
    nn.functional.avg_pool1d,
    nn.functional.avg_pool2d,
    nn.functional.avg_pool3d,
)

WIDEST = 8  # channels double from level to level up to this many times the first

# Sizes by dimension (3 stands for 3 and more). "paper": 9.2 million parameters in 1-D.
PRESETS: Presets = {
    "default": {1: {"width": 16}, 2: {"width": 16}, 3: {"width": 8}},
    "paper": {1: {"width": 72, "levels": 4}, 2: {"width": 72, "levels": 4}, 3: {"width": 32, "levels": 3}},
}


class UNet(GridNetwork):
    """Down: `x_{l+1} = D_l(mean over 2^d cells of x_l)`. Up: `y_l = U_l(y_{l+1} repeated, x_l)`.

    D and U are residual pairs of convolutions; level l has `width min(2^l, 8)` channels. An odd number of points is
    halved upwards, its last cell being one point, and what is too much after doubling is cut off.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim, periodic: of the domain.
        shape: points along each axis of its grid.
        width: channels at full resolution.
        levels: how often the grid is halved. Default: until less than 8 points are left along its longest axis.
        kernel: points of a convolution along each axis, odd.

    >>> from iaenet import Discretization, Field
    >>> grid = Discretization.uniform((17, 9))
    >>> UNet(1, 2, 2, shape=[17, 9], width=8)(Field(grid, torch.rand(17 * 9, 1))).values.shape
    torch.Size([153, 2])
    """

    presets = PRESETS

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        shape: Sequence[int],
        width: int = 32,
        levels: int | None = None,
        kernel: int = 3,
    ) -> None:
        super().__init__(in_channels, dim, periodic, shape, kernel)
        halvings = max(1, (max(self.shape) // 4).bit_length() - 1) if levels is None else levels
        self.network = Levels(in_channels, out_channels, self.periodic, width, halvings, kernel)


class Levels(nn.Module):
    """The two ways through the levels, from finest to coarsest and back."""

    def __init__(
        self, channels_in: int, channels_out: int, periodic: tuple[bool, ...], width: int, levels: int, kernel: int
    ) -> None:
        super().__init__()
        sizes = [width * min(2**level, WIDEST) for level in range(levels + 1)]
        self.pool = POOLS[len(periodic) - 1]
        self.lift = Convolution(channels_in, width, periodic, kernel)
        self.down = nn.ModuleList(
            Residual(before, size, periodic, kernel) for before, size in zip([width, *sizes], sizes, strict=False)
        )
        self.up = nn.ModuleList(Residual(below + size, size, periodic, kernel) for size, below in pairwise(sizes))
        self.project = nn.Sequential(nn.GELU(), Convolution(width, channels_out, periodic, kernel=1))

    def forward(self, x: Tensor) -> Tensor:
        """Values `(b, c, s_1 .. s_d)` -> `(b, c', s_1 .. s_d)`."""
        x = self.lift(x)
        skips = []
        for i, layer in enumerate(self.down):
            x = layer(self.pool(x, 2, ceil_mode=True) if i else x)
            skips.append(x)
        skips.pop()
        for layer in reversed(self.up):
            skip = skips.pop()
            x = layer(torch.cat([doubled(x, skip.shape[2:]), skip], dim=1))
        return self.project(x)


def doubled(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Values `(b, c, s_1 .. s_d)`, each twice along every axis, cut to a grid of `shape`.

    >>> doubled(torch.tensor([[[1, 2]]]), [3]).tolist()
    [[[1, 1, 2]]]
    """
    for axis, size in enumerate(shape, start=2):
        x = x.repeat_interleave(2, dim=axis).narrow(axis, 0, size)
    return x

"""Convolutions on a grid and on ever coarser ones (U-Net, Ronneberger et al. 2015), with attention on one of them."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.nn.local import Convolution, Residual
from iaenet.nn.tokens import TokenLayer

POOLS: tuple[Callable[..., Tensor], ...] = (
    nn.functional.avg_pool1d,
    nn.functional.avg_pool2d,
    nn.functional.avg_pool3d,
)
TOKENS = 128  # most points of a grid that are all compared with each other


class Levels(nn.Module):
    """Down: `x_{l+1} = D_l(mean over 2^d cells of x_l)`. Up: `y_l = U_l(y_{l+1} repeated, x_l)`.

    D and U are residual pairs of convolutions; level l has `width min(2^l, widest)` channels. An odd number of points
    is halved upwards, its last cell being one point, and what is too much after doubling is cut off. Layers of
    `attention`, if any, follow on U at level `attended`.
    """

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        periodic: tuple[bool, ...],
        width: int,
        levels: int,
        kernel: int,
        attention: int = 0,
        attended: int = 0,
        widest: int = 8,
    ) -> None:
        super().__init__()
        sizes = [width * min(2**level, widest) for level in range(levels + 1)]
        self.pool = POOLS[len(periodic) - 1]
        self.lift = Convolution(channels_in, width, periodic, kernel)
        self.down = nn.ModuleList(
            Residual(before, size, periodic, kernel) for before, size in zip([width, *sizes], sizes, strict=False)
        )
        self.up = nn.ModuleList(Residual(below + size, size, periodic, kernel) for size, below in pairwise(sizes))
        self.attend = nn.Sequential(*(TokenLayer(sizes[attended], periodic, attention) for _ in range(attention)))
        self.attended = attended
        self.project = nn.Sequential(nn.GELU(), Convolution(width, channels_out, periodic, kernel=1))

    def forward(self, x: Tensor) -> Tensor:
        """Values `(b, c, s_1 .. s_d)` -> `(b, c', s_1 .. s_d)`."""
        x = self.lift(x)
        skips = []
        for i, layer in enumerate(self.down):
            x = layer(self.pool(x, 2, ceil_mode=True) if i else x)
            skips.append(x)
        skips.pop()
        for level, layer in reversed(list(enumerate(self.up))):
            skip = skips.pop()
            x = layer(torch.cat([doubled(x, skip.shape[2:]), skip], dim=1))
            if level == self.attended:
                x = self.attend(x)
        return self.project(x)


def doubled(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Values `(b, c, s_1 .. s_d)`, each twice along every axis, cut to a grid of `shape`.

    >>> doubled(torch.tensor([[[1, 2]]]), [3]).tolist()
    [[[1, 1, 2]]]
    """
    for axis, size in enumerate(shape, start=2):
        x = x.repeat_interleave(2, dim=axis).narrow(axis, 0, size)
    return x


class GridLevels(nn.Module):
    """`Levels` on a grid, as many channels wide as its values; attention on a level of at most 128 points.

    >>> GridLevels((13, 13), 16, (False, False), 3, levels=2, attention=1)(torch.randn(2, 169, 16)).shape
    torch.Size([2, 169, 16])
    """

    def __init__(
        self,
        shape: Sequence[int],
        channels: int,
        periodic: tuple[bool, ...],
        kernel: int,
        *,
        levels: int,
        attention: int,
        widest: int = 8,
    ) -> None:
        super().__init__()
        if kernel < 1 or kernel % 2 == 0:
            raise InvalidInputError(f"kernel_size must be odd, got {kernel}")
        if levels < 1 or min(shape) < 2**levels:
            raise InvalidInputError(f"a grid of {list(shape)} points cannot be halved {levels} times")
        if attention < 0:
            raise InvalidInputError(f"attention must not be negative, got {attention}")
        self.shape = tuple(shape)
        points = [math.prod(math.ceil(size / 2**level) for size in shape) for level in range(levels)]
        attended = next((level for level, n in enumerate(points) if n <= TOKENS), None)
        if attention and attended is None:
            raise InvalidInputError(
                f"attention is on a grid of at most {TOKENS} points, and on the way up: more levels than {levels}"
            )
        self.levels = Levels(channels, channels, periodic, channels, levels, kernel, attention, attended or 0, widest)

    def forward(self, values: Tensor) -> Tensor:
        """Values `(b, s_1 .. s_d, c)`, flattened to `(b, s, c)` -> the same."""
        grid = values.unflatten(1, self.shape).movedim(-1, 1)
        return self.levels(grid).movedim(1, -1).flatten(1, -2)

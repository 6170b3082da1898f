"""Small convolutions on a grid."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError

CONVOLUTIONS: tuple[type[nn.Conv1d | nn.Conv2d | nn.Conv3d], ...] = (nn.Conv1d, nn.Conv2d, nn.Conv3d)


class Convolution(nn.Module):
    """Convolution with an odd kernel that keeps the grid: around periodic axes, into zeros beyond closed ones."""

    def __init__(
        self,
        channels_in: int,
        channels_out: int,
        periodic: tuple[bool, ...],
        kernel: int = 3,
        dilation: int = 1,
        groups: int = 1,
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
            groups=groups,
            padding=padding,  # type: ignore[arg-type] # as many as the dimension
        )
        nn.init.normal_(self.convolution.weight, std=1 / math.sqrt(channels_in // groups * kernel ** len(periodic)))
        assert self.convolution.bias is not None
        nn.init.zeros_(self.convolution.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Values `(b, c, s_1 .. s_d)` -> `(b, c', s_1 .. s_d)`."""
        for axis, wraps in enumerate(self.periodic, start=2):
            if wraps and self.reach:
                x = wrapped(x, axis, self.reach)
        if isinstance(self.convolution, nn.Conv1d):  # as one row: PyTorch is faster with channels last, from 2-D on
            own = self.convolution
            return nn.functional.conv2d(
                x[:, :, None], own.weight[:, :, None], own.bias, 1, (0, *own.padding), (1, *own.dilation), own.groups
            )[:, :, 0]
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


class Residual(nn.Module):
    """`x + C_2 sigma(N_2(C_1 sigma(N_1 x)))`, C convolutions, N group normalisation: amplitudes pass unchanged.

    With other channels out than in, x goes through a pointwise linear map.
    """

    def __init__(
        self, channels_in: int, channels: int, periodic: tuple[bool, ...], kernel: int = 3, dilation: int = 1
    ) -> None:
        super().__init__()
        self.path = nn.Sequential(
            normalisation(channels_in),
            nn.GELU(),
            Convolution(channels_in, channels, periodic, kernel, dilation),
            normalisation(channels),
            nn.GELU(),
            Convolution(channels, channels, periodic, kernel, dilation),
        )
        same = channels_in == channels
        self.straight: nn.Module = nn.Identity() if same else Convolution(channels_in, channels, periodic, kernel=1)

    def forward(self, x: Tensor) -> Tensor:
        """Values `(b, c, s_1 .. s_d)` -> `(b, c', s_1 .. s_d)`."""
        return self.straight(x) + self.path(x)


def normalisation(channels: int) -> nn.GroupNorm:
    """Group normalisation in at most 8 groups of 4 or more channels: alone, a channel would lose its mean and size.

    >>> normalisation(48).num_groups, normalisation(64).num_groups, normalisation(6).num_groups
    (4, 8, 1)
    """
    groups = next(count for count in (8, 4, 2, 1) if channels % (4 * count) == 0 or count == 1)
    return nn.GroupNorm(groups, channels)


class GridConvolutions(nn.Module):
    """`C_2 sigma(C_1 v)` with convolutions C on a grid: what happens between neighbours."""

    def __init__(self, shape: Sequence[int], channels: int, periodic: tuple[bool, ...], kernel: int) -> None:
        super().__init__()
        if kernel < 1 or kernel % 2 == 0:
            raise InvalidInputError(f"kernel_size must be odd, got {kernel}")
        self.shape = tuple(shape)
        self.first = Convolution(channels, channels, periodic, kernel)
        self.second = Convolution(channels, channels, periodic, kernel)

    def forward(self, values: Tensor) -> Tensor:
        """Values `(b, s_1 .. s_d, c)`, flattened to `(b, s, c)` -> the same."""
        grid = values.unflatten(1, self.shape).movedim(-1, 1)
        return self.second(nn.functional.gelu(self.first(grid))).movedim(1, -1).flatten(1, -2)

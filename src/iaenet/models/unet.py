"""U-Net (Ronneberger et al., MICCAI 2015) on a fixed tensor grid."""

from collections.abc import Sequence

from iaenet.functions.discretization import Periodic
from iaenet.models.base import Presets
from iaenet.models.resnet import GridNetwork
from iaenet.nn.levels import Levels

# Sizes by dimension (3 stands for 3 and more). "paper": 9.2 million parameters in 1-D.
PRESETS: Presets = {
    "default": {1: {"width": 16}, 2: {"width": 16}, 3: {"width": 8}},
    "paper": {1: {"width": 72, "levels": 4}, 2: {"width": 72, "levels": 4}, 3: {"width": 32, "levels": 3}},
}


class UNet(GridNetwork):
    """`Levels` from the finest grid, that of the data, to the coarsest and back.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim, periodic: of the domain.
        shape: points along each axis of its grid.
        width: channels at full resolution.
        levels: how often the grid is halved. Default: until less than 8 points are left along its longest axis.
        kernel: points of a convolution along each axis, odd.

    >>> import torch
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

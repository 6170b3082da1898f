"""ResNet (He et al., CVPR 2016) on a fixed tensor grid, and what it shares with other convolutional networks."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization, Periodic
from iaenet.models.base import Accepts, Model, Pair, Presets, infer_shape, preset_options
from iaenet.nn.local import CONVOLUTIONS, Convolution, Residual

TOLERANCE = 1e-5  # of the domain: how far the points of a grid may be from those that a network was built for


class GridNetwork(Model):
    """A network on one tensor grid: it sees values in their order, not where they are.

    Other grids would run, and give nonsense (the paper's figures for Unet): they are refused. The grid is uniform, or
    that of the training data; its domain may have any bounds. `Interpolated` brings any discretization to it.
    """

    accepts = Accepts(resolutions=False, points=False, query_points=False)
    presets: ClassVar[Presets]
    spacing: Tensor

    def __init__(self, in_channels: int, dim: int, periodic: Periodic, shape: Sequence[int], kernel: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.shape = tuple(shape)
        self.periodic = (periodic,) * dim if isinstance(periodic, bool) else tuple(periodic)
        if not len(self.periodic) == len(self.shape) == dim <= len(CONVOLUTIONS):
            raise InvalidInputError(
                f"shape and periodic must have one entry for each of 1 to {len(CONVOLUTIONS)} axes, got dim {dim}, "
                f"shape {list(self.shape)}, periodic {list(self.periodic)}"
            )
        if kernel < 1 or kernel % 2 == 0:
            raise InvalidInputError(f"kernel must be odd, got {kernel}")
        steps = [size if wraps else max(1, size - 1) for size, wraps in zip(self.shape, self.periodic, strict=True)]
        axes = [torch.arange(size).double() / step for size, step in zip(self.shape, steps, strict=True)]
        self.register_buffer("spacing", torch.cat(axes))  # coordinates along each axis, in the unit box
        self.network: nn.Module  # (b, c, s_1 .. s_d) -> (b, c', s_1 .. s_d)

    @classmethod
    def for_data(cls, data: Sequence[Pair], *, preset: str = "default", **options: Any) -> "GridNetwork":
        """A network for the grid of the data, which must be the same in all pairs."""
        shapes = grid_shapes(data)
        shape = next(iter(shapes))
        if shape is None or len(shapes) > 1:
            found = " and ".join("point sets" if other is None else f"grids {other}" for other in shapes)
            raise InvalidInputError(
                f"the inputs are on {found}, but this network needs one tensor grid; wrap it in Interpolated "
                "(unet-interpolation, resnet-interpolation)"
            )
        made = infer_shape(data)
        sizes = preset_options(cls.presets, preset, made["dim"])
        model = cls(**made, shape=list(shape), **{**sizes, **options})
        model.spacing.copy_(unit_axes(data[0][0].discretization))
        return model

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values `(b, n, c)` on the grid -> `(b, n, c')` on the grid."""
        if source.axes is None or source.shape != self.shape or source.periodic != self.periodic:
            raise InvalidInputError(
                f"input is on {source}, but the network was built for a tensor grid {self.shape}, periodic="
                f"{self.periodic}, and cannot adapt; build it for that grid, or use Interpolated"
            )
        if bool((unit_axes(source).to(self.spacing) - self.spacing).abs().max() > TOLERANCE):
            raise InvalidInputError(
                f"input is on {source}, whose points lie at other shares of the domain than those of the grid that "
                "the network was built for; build it for that grid, or use Interpolated"
            )
        if target.key != source.key:
            raise InvalidInputError(
                f"output is asked for on {target}, but the network gives it on the input's own grid {self.shape}; "
                "leave `at` out, interpolate the output, or use Interpolated"
            )
        grid = values.movedim(-1, 1).unflatten(2, self.shape)
        return self.network(grid).flatten(2).movedim(1, -1)


def unit_axes(grid: Discretization) -> Tensor:
    """Coordinates along each axis of a tensor grid, in the unit box, one axis after the other.

    >>> unit_axes(Discretization.uniform((2, 3), bounds=[(0, 8), (1, 2)])).tolist()
    [0.0, 1.0, 0.0, 0.5, 1.0]
    """
    box = grid.bounds.tolist()
    return torch.cat([(axis - low) / (high - low) for axis, (low, high) in zip(grid.axes or (), box, strict=True)])


def grid_shapes(data: Sequence[Pair]) -> "Counter[tuple[int, ...] | None]":
    """How often each shape of tensor grid occurs among the inputs; None stands for point sets."""
    return Counter(None if given.discretization.axes is None else given.discretization.shape for given, _ in data)


# Sizes by dimension (3 stands for 3 and more). "paper": 5.3 million parameters.
PRESETS: Presets = {
    "default": {
        1: {"width": 48, "blocks": 8, "kernel": 5},
        2: {"width": 32, "blocks": 8, "kernel": 3},
        3: {"width": 16, "blocks": 6, "kernel": 3},
    },
    "paper": {
        1: {"width": 256, "blocks": 8, "kernel": 5},
        2: {"width": 128, "blocks": 18, "kernel": 3},
        3: {"width": 74, "blocks": 18, "kernel": 3},
    },
}


class ResNet(GridNetwork):
    """Residual blocks of two dilated convolutions at full resolution: `x_{l+1} = x_l + R_l(x_l)`.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim, periodic: of the domain.
        shape: points along each axis of its grid.
        width: channels of the blocks.
        blocks: number of blocks.
        kernel: points of a convolution along each axis, odd.
        dilations: steps between the points of a convolution, block by block, from the first again after the last. They
            let an output depend on the input far away. Default: 1, 2, 4 .. up to an eighth of the grid.

    >>> from iaenet.functions.field import Field
    >>> grid = Discretization.uniform(32, periodic=True)
    >>> ResNet(1, 2, 1, True, shape=[32])(Field(grid, torch.rand(32, 1))).values.shape
    torch.Size([32, 2])
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
        width: int = 64,
        blocks: int = 8,
        kernel: int = 5,
        dilations: Sequence[int] | None = None,
    ) -> None:
        super().__init__(in_channels, dim, periodic, shape, kernel)
        steps = dilations or [2**i for i in range(max(1, (max(self.shape) // 8).bit_length()))]
        layers: list[nn.Module] = [Convolution(in_channels, width, self.periodic, kernel)]
        for i in range(blocks):
            layers.append(Residual(width, width, self.periodic, kernel, steps[i % len(steps)]))
        layers += [nn.GELU(), Convolution(width, out_channels, self.periodic, kernel=1)]
        self.network = nn.Sequential(*layers)

"""Branches on the values at the nodes: convolutions, and a U-Net."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.basis import Cardinal
from iaenet.nn.branch import Branch, BranchLayer, branch
from iaenet.nn.levels import GridLevels
from iaenet.nn.local import GridConvolutions
from iaenet.nn.transform import Grid, GridTransform


@branch("grid-conv")
@dataclass(frozen=True)
class GridConv(Branch):
    """`C_2 sigma(C_1 a)`: convolutions of `kernel_size` points on a grid of `size` points along each axis.

    Without `size` that is the latent grid itself; else values are taken there and back by trigonometric functions.
    """

    size: int | None = None
    kernel_size: int = 3

    def build(self, width: int, grid: Grid) -> BranchLayer:
        """The layer."""
        own = _own_grid(self.size, grid)
        return _ResampledLayer(GridConvolutions(own.shape, width, grid.periodic, self.kernel_size), own, grid)


@branch("grid-unet")
@dataclass(frozen=True)
class GridUNet(Branch):
    """A U-Net that halves the grid `depth` times, with layers of `attention` on the first level of at most 128 points.

    Channels double from level to level, up to `widest` times. `size` as for `GridConv`.
    """

    depth: int = 3
    attention: int = 0
    widest: int = 8
    size: int | None = None
    kernel_size: int = 3

    def build(self, width: int, grid: Grid) -> BranchLayer:
        """The layer."""
        own = _own_grid(self.size, grid)
        options = {"levels": self.depth, "attention": self.attention, "widest": self.widest}
        levels = GridLevels(own.shape, width, grid.periodic, self.kernel_size, **options)
        return _ResampledLayer(levels, own, grid)


class _ResampledLayer(BranchLayer):
    """A layer on another uniform grid of the same box."""

    def __init__(self, layer: nn.Module, own: Grid, grid: Grid) -> None:
        super().__init__()
        self.layer = layer
        self._transform = None
        if own != grid:
            count = own.shape[0]
            self._transform = GridTransform(grid, Cardinal(count, dual=True), Cardinal(count))

    def encode(self, a: Tensor) -> tuple[Tensor, Any]:
        return self.layer(a if self._transform is None else self._transform.analyse(a)), None

    def decode(self, code: Tensor, memory: Any) -> Tensor:  # noqa: ARG002 - as every branch
        return code if self._transform is None else self._transform.synthesise(code)

    def forward(self, a: Tensor) -> Tensor:
        return self.decode(*self.encode(a))


def _own_grid(size: int | None, grid: Grid) -> Grid:
    if size is None:
        return grid
    if not 4 <= size <= min(grid.shape):
        raise InvalidInputError(
            f"a grid of {size} points along each axis is none of 4 to {min(grid.shape)}, which the latent grid holds"
        )
    return Grid((size,) * len(grid.shape), grid.periodic)

"""dgFNO+ (Lu et al., Comput. Methods Appl. Mech. Engrg. 393, 2022): FNO for a general domain, on a grid around it."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization, Periodic
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.models.base import Accepts, Model, Pair, Presets, preset_options
from iaenet.models.fno import FNO
from iaenet.models.interpolated import uniform_grid

# Sizes by dimension (3 stands for 3 and more). "paper": those of Lu et al. for the triangle with a notch, on a grid of
# 50 x 50.
PRESETS: Presets = {
    "default": {1: {"width": 64, "modes": 16}, 2: {"width": 32, "modes": 12}, 3: {"width": 20, "modes": 6}},
    "paper": {
        1: {"width": 32, "modes": 8},
        2: {"width": 32, "modes": 8, "shape": [50, 50]},
        3: {"width": 32, "modes": 8},
    },
}
MOST = 4096  # points of a grid that `for_data` chooses: 64 along each of two axes


class DgFNO(Model):
    """`Psi = I_target FNO S`: input spread to a uniform grid around the domain, FNO on it, output read off at points.

    S interpolates an input that is given all over the domain or along a curve in it; an input that is a function of
    some coordinates only, such as boundary values h(x), is continued constantly along the other axes. The grid is that
    of the output's domain in the training data, wherever the output is asked for.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim, periodic: of the output's domain.
        shape: points along each axis of the grid.
        axes: which axes the input depends on: those that its coordinates belong to or, if it has all coordinates, those
            of them that count. Default: the first ones, as many as it has coordinates.
        width, modes, layers: of the FNO.

    >>> sides = Discretization.uniform(20)  # h(x)
    >>> inside = Discretization.points(torch.rand(100, 2))  # u(x, y)
    >>> model = DgFNO(1, 1, 2, shape=[16, 16], modes=4)
    >>> model(Field(sides, torch.rand(20, 1)), at=inside).values.shape
    torch.Size([100, 1])
    """

    accepts = Accepts(resolutions=True, points=True, query_points=True)
    bounds: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 2,
        periodic: Periodic = False,
        *,
        shape: Sequence[int],
        axes: Sequence[int] | None = None,
        width: int = 32,
        modes: int = 12,
        layers: int = 4,
    ) -> None:
        super().__init__()
        self.shape = tuple(shape)
        if len(self.shape) != dim:
            raise InvalidInputError(f"shape must have one entry for each of {dim} axes, got {list(self.shape)}")
        self.axes = None if axes is None else tuple(axes)
        self.network = FNO(
            in_channels, out_channels, dim, periodic, grid=shape, width=width, modes=modes, layers=layers
        )
        self.in_channels = in_channels
        self.register_buffer("bounds", torch.tensor([[0.0, 1.0]] * dim, dtype=torch.float64))
        if self.axes is not None and not (self.axes and self.axes == tuple(i for i in range(dim) if i in self.axes)):
            raise InvalidInputError(f"axes must be some of 0 to {dim - 1}, in this order, got {list(self.axes)}")

    @classmethod
    def for_data(
        cls, data: Sequence[Pair], *, preset: str = "default", grid: Sequence[int] | None = None, **options: Any
    ) -> "DgFNO":
        """A network on a grid around the domain of the outputs.

        grid: points along each axis. Default: as dense as the output points are in their domain, up to 64 in 2-D.
        """
        given, wanted = data[0]
        place = wanted.discretization
        chosen = {**preset_options(PRESETS, preset, place.dim), **options}
        if grid is not None or "shape" not in chosen:
            chosen["shape"] = list(grid or enclosing_grid(place))
        model = cls(given.channels, wanted.channels, place.dim, list(place.periodic), **chosen)
        model.bounds.copy_(place.bounds)
        return model

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values `(b, n, c)` -> `(b, n', c')`."""
        if target.periodic != self.network.periodic:
            raise InvalidInputError(
                f"output is asked for in {target.dim}-D with periodic axes {target.periodic}, the network was built "
                f"for {self.network.periodic} in {len(self.shape)}-D; say where with `at`"
            )
        grid = uniform_grid(self.shape, self.network.periodic, self.bounds, values)
        found = self.network.transform(self._spread(Field.unchecked(source, values), grid), grid, grid)
        return interpolate(Field.unchecked(grid, found), target).values

    def _spread(self, field: Field, grid: Discretization) -> Tensor:
        """`(S a)(x_1 .. x_d) = a(x_i, i in axes)`: values `(b, n, c)` -> values on the grid."""
        source = field.discretization
        axes = tuple(range(source.dim)) if self.axes is None else self.axes
        if source.dim not in (len(axes), grid.dim) or source.dim > grid.dim:
            raise InvalidInputError(
                f"input is given in {source.dim}-D, but it should depend on axes {list(axes)} of a {grid.dim}-D domain"
            )
        if len(axes) == grid.dim:
            return interpolate(field, grid).values
        if source.dim == grid.dim:
            field = Field.unchecked(_projected(source, axes), field.values)
        shape, periodic = [grid.shape[axis] for axis in axes], [grid.periodic[axis] for axis in axes]
        part = uniform_grid(shape, periodic, grid.bounds[list(axes)], field.values)
        values = interpolate(field, part).values
        kept = [size if axis in axes else 1 for axis, size in enumerate(grid.shape)]
        spread = values.reshape(len(values), *kept, -1).expand(-1, *grid.shape, -1)
        return spread.reshape(len(values), grid.n, -1)


def enclosing_grid(place: Discretization) -> tuple[int, ...]:
    """Shape of a grid over the bounding box as dense as the points in their domain, of at most about 4096 points.

    >>> half = Discretization.points(torch.rand(200, 2) * torch.tensor([1.0, 0.5]), weights=torch.full((200,), 0.0025))
    >>> enclosing_grid(half)  # 200 points in half of the unit square
    (20, 20)
    """
    most = round(MOST ** (1 / place.dim))
    if place.axes is not None:
        return tuple(min(most, max(4, size)) for size in place.shape)
    lengths = (place.bounds[:, 1] - place.bounds[:, 0]).tolist()
    filled = float(place.weights.sum())
    density = place.n / filled if filled > 0 else place.n / place.volume
    return tuple(min(most, max(4, round(length * density ** (1 / place.dim)))) for length in lengths)


def _projected(source: Discretization, axes: tuple[int, ...]) -> Discretization:
    """The points with some of their coordinates only; the same object each time, see `uniform_grid`."""
    key = ("projected", axes)
    if key not in source.cache:
        kept = list(axes)
        source.cache[key] = Discretization(
            source.points[:, kept], source.weights, source.bounds[kept], tuple(source.periodic[axis] for axis in axes)
        )
    found: Discretization = source.cache[key]
    return found

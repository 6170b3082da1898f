"""Fixed-grid networks between two interpolations: any discretization in, any out (the paper's ResNet+Interpolation)."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.models.base import Accepts, Model, Pair, infer_shape, preset_options
from iaenet.models.resnet import GridNetwork, ResNet, grid_shapes
from iaenet.models.unet import UNet

NETWORKS: dict[str, type[GridNetwork]] = {"resnet": ResNet, "unet": UNet}


class Interpolated(Model):
    """`Psi = I_target N I_grid`: input interpolated to a uniform grid, network N on it, output interpolated from it.

    The grid fills the domain of the input, whatever its bounds are; what is finer than its cells is lost.

    Args:
        network: "resnet" or "unet".
        options: of that network; `shape` among them is the grid.

    >>> model = Interpolated("resnet", {"in_channels": 1, "out_channels": 1, "shape": [64], "width": 8})
    >>> some = Discretization.points(torch.rand(50, 1))
    >>> model(Field(some, torch.rand(50, 1)), at=Discretization.uniform(200)).values.shape
    torch.Size([200, 1])
    """

    accepts = Accepts(resolutions=True, points=True, query_points=True)
    default: ClassVar[str] = "resnet"  # the network of `for_data` if not told otherwise

    def __init__(self, network: str, options: Mapping[str, Any]) -> None:
        super().__init__()
        if network not in NETWORKS:
            raise InvalidInputError(f"no grid network {network!r}; there are {', '.join(sorted(NETWORKS))}")
        self.network = NETWORKS[network](**options)
        self.in_channels = self.network.in_channels

    @classmethod
    def for_data(
        cls,
        data: Sequence[Pair],
        *,
        preset: str = "default",
        network: str | None = None,
        grid: Sequence[int] | None = None,
        **options: Any,
    ) -> "Interpolated":
        """A network on a grid for such data, with its own preset and options.

        network: resnet or unet. Default: that of the class.
        grid: points along each axis. Default: those of the tensor grid that most inputs are on or, if most are on
        other points, about as many as input or output have.
        """
        name = network or cls.default
        if name not in NETWORKS:
            raise InvalidInputError(f"no grid network {name!r}; there are {', '.join(sorted(NETWORKS))}")
        made = infer_shape(data)
        sizes = preset_options(NETWORKS[name].presets, preset, made["dim"])
        shape = [int(size) for size in (grid or commonest_grid(data))]
        return cls(name, {**made, "periodic": list(made["periodic"]), "shape": shape, **sizes, **options})

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values `(b, n, c)` -> `(b, n', c')`."""
        for what, where in (("input", source), ("output", target)):
            if where.periodic != self.network.periodic:
                raise InvalidInputError(
                    f"{what} is on a domain with periodic axes {where.periodic}, "
                    f"the network was built for {self.network.periodic} in {len(self.network.periodic)}-D"
                )
        grid = uniform_grid(self.network.shape, self.network.periodic, source.bounds, values)
        found = self.network.transform(interpolate(Field.unchecked(source, values), grid).values, grid, grid)
        return interpolate(Field.unchecked(grid, found), target).values


class InterpolatedResNet(Interpolated):
    """ResNet+Interpolation, a baseline of the paper: `for_data` takes a ResNet.

    >>> InterpolatedResNet("resnet", {"in_channels": 1, "out_channels": 1, "shape": [16], "width": 8}).network.shape
    (16,)
    """

    default = "resnet"


class InterpolatedUNet(Interpolated):
    """U-Net between two interpolations: `for_data` takes a U-Net.

    >>> InterpolatedUNet("unet", {"in_channels": 1, "out_channels": 1, "shape": [16], "width": 8}).network.shape
    (16,)
    """

    default = "unet"


def commonest_grid(data: Sequence[Pair]) -> tuple[int, ...]:
    """Shape of the grid that most inputs are on; for point sets one with about as many points as the first pair has."""
    shape = grid_shapes(data).most_common(1)[0][0]
    if shape is not None:
        return shape
    given, wanted = (field.discretization for field in data[0])
    return (max(4, math.ceil(max(given.n, wanted.n) ** (1 / given.dim))),) * given.dim


def uniform_grid(shape: Sequence[int], periodic: Sequence[bool], bounds: Tensor, like: Tensor) -> Discretization:
    """A uniform grid over a box, on the device of `like`; the same object each time, with its interpolations.

    >>> box = torch.tensor([[0.0, 2.0]])
    >>> uniform_grid([3], [False], box, box) is uniform_grid([3], [False], box, box)
    True
    """
    return _uniform_grid(tuple(shape), tuple(periodic), tuple(map(tuple, bounds.tolist())), like.device)


@lru_cache(maxsize=256)
def _uniform_grid(shape: Any, periodic: Any, bounds: Any, device: torch.device) -> Discretization:
    return Discretization.uniform(shape, periodic=periodic, bounds=bounds).to(device)

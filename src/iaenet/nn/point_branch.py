"""A branch in the original domain: kernels that see the function."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from iaenet.nn.branch import Branch, BranchLayer, branch
from iaenet.nn.coordinates import coordinate_count, coordinate_features
from iaenet.nn.iae import IAE
from iaenet.nn.kernels import Sites
from iaenet.nn.transform import Grid


@branch("point-iae")
@dataclass(frozen=True)
class PointIAE(Branch):
    """`Phi_1(a)`: an integral autoencoder in the original domain, whose kernels see the function (section iae).

    `latent` points along each axis, hidden width `rank` of the kernels; `harmonics` of the coordinates, see
    `coordinate_features`; the other options are those of `IAE`.
    """

    latent: int = 64
    rank: int = 64
    harmonics: int = 1
    auxiliary: bool = True
    channel_mlp: bool = True
    depth: int = 1
    dense: bool = False
    axiswise: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Those of `IAE`."""
        return {key: getattr(self, key) for key in ("auxiliary", "channel_mlp", "depth", "dense", "axiswise")}

    def build(self, width: int, grid: Grid) -> BranchLayer:
        """The layer."""
        return _PointLayer(self, width, grid)


class _PointLayer(BranchLayer):
    autocast = True

    def __init__(self, spec: PointIAE, width: int, grid: Grid) -> None:
        super().__init__()
        features = [coordinate_count((wraps,), spec.harmonics) for wraps in grid.periodic]
        self.iae = IAE(width, features, (spec.latent,) * len(grid.shape), spec.rank, **spec.options)
        self._sites = grid_sites(grid, spec.harmonics)

    def encode(self, a: Tensor) -> tuple[Tensor, Any]:
        sites = self._sites.like(a)
        code, z = self.iae.encode(a, sites)
        return code, (a, z, sites)

    def decode(self, code: Tensor, memory: Any) -> Tensor:
        a, z, sites = memory
        return self.iae.decode(code, a, sites, z)

    def forward(self, a: Tensor) -> Tensor:
        return self.decode(*self.encode(a))


def grid_sites(grid: Grid, harmonics: int) -> Sites:
    """Coordinates as features and quadrature weights of the nodes."""
    points = torch.cartesian_prod(*grid.nodes).reshape(-1, len(grid.shape))
    weights = torch.ones(1, dtype=torch.float64)
    for along in grid.weights:
        weights = torch.outer(weights, along).flatten()
    axes = zip(grid.nodes, grid.weights, grid.periodic, strict=True)
    return Sites(
        coordinate_features(points, grid.periodic, harmonics),
        weights,
        tuple(Sites(coordinate_features(x[:, None], (wraps,), harmonics), w) for x, w, wraps in axes),
    )

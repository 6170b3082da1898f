"""Geometry-informed neural operator (Li et al. 2023, arXiv 2309.00583): neighbourhood sums to a grid and back."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization, Periodic
from iaenet.functions.latent_grid import unit
from iaenet.models.base import Presets
from iaenet.models.grid_model import GridModel, Group
from iaenet.nn.coordinates import HARMONICS, coordinate_count
from iaenet.nn.neighbourhood import NeighbourhoodIntegral, Neighbourhoods, Neighbours, neighbours
from iaenet.nn.pointwise import linear
from iaenet.nn.spectral import FourierLayer

KEPT = 2**24  # bytes of the index lists that a discretization may keep
SPACINGS = 1.7  # of the latent grid in the radius, if none is given; on few grids are points at just this distance

# Sizes by dimension (3 stands for 3 and more). "paper" has those of the authors' library: in 3-D for pressure on cars
# (16 modes along an axis are k = -8 .. 7), in 2-D for Poisson's equation, in 1-D, where they have none, its defaults.
PRESETS: Presets = {
    "default": {
        1: {"width": 64, "modes": 16, "encoder": [64], "decoder": [64]},
        2: {"width": 32, "modes": 12, "encoder": [64], "decoder": [64]},
        3: {"width": 20, "modes": 6, "encoder": [64], "decoder": [64]},
    },
    "paper": {
        1: {"width": 64, "modes": 8, "hidden": 256, "encoder": [80, 80, 80], "decoder": [512, 256]},
        2: {
            "radius": 0.16,
            "width": 64,
            "modes": 10,
            "hidden": 256,
            "encoder": [256, 512, 256],
            "decoder": [512, 1024, 512],
        },
        3: {
            "grid": 32,
            "radius": 0.033,
            "width": 64,
            "modes": 7,
            "hidden": 256,
            "encoder": [80, 80, 80],
            "decoder": [512, 256],
        },
    },
}


class GINO(GridModel):
    """`g = Q G_out FNO G_in f`: sums over neighbourhoods to a latent grid, Fourier layers there, and sums back.

        G_in:  v(z) = sum_i w_i k(z, x_i, f(x_i)) P(f(x_i), x_i) / sum_i w_i      points x_i with |x_i - z| <= radius
        FNO:   a_0 = W (v, mu / (1 + mu), z),  a_{l+1} = gelu(W_l a_l + K_l a_l),  the last without gelu
        G_out: u(y) = sum_j w_j k'(y, z_j) a_L(z_j) / sum_j w_j                   nodes z_j with |z_j - y| <= radius

    P is linear, Q has one hidden layer, k and k' are `NeighbourhoodIntegral`'s. w_i are the quadrature weights of the
    points, and mu(z) is the measure of the domain within the radius of z, as a share of the ball: it tells where the
    domain ends. A node without points near it has the nearest one's.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim: dimension d of the domain.
        periodic: which axes are periodic; one flag, or one per axis.
        grid: points along each axis of the latent grid; `for_data` takes that of the data.
        radius: of the neighbourhoods, in the unit box; 1.7 times the grid's largest spacing if not given.
        width: channels of the intermediate functions.
        modes: highest frequency kept on each axis.
        layers: number of Fourier layers.
        hidden: width of Q's hidden layer.
        encoder, decoder: widths of the hidden layers of k and of k'.

    >>> from iaenet.functions.field import Field
    >>> points = Discretization.points(torch.rand(50, 2))
    >>> model = GINO(1, 2, dim=2, grid=12, modes=4)
    >>> model(Field(points, torch.rand(50, 1))).values.shape
    torch.Size([50, 2])
    """

    presets = PRESETS

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        grid: int | Sequence[int] | None = None,
        radius: float | None = None,
        width: int = 32,
        modes: int = 12,
        layers: int = 4,
        hidden: int = 128,
        encoder: Sequence[int] = (64,),
        decoder: Sequence[int] = (64,),
    ) -> None:
        super().__init__(in_channels, out_channels, dim, periodic, grid, harmonics=HARMONICS[min(dim, 3)])
        spacings = [
            1 / (size if wraps else size - 1) for size, wraps in zip(self.latent.shape, self.periodic, strict=True)
        ]
        self.radius = SPACINGS * max(spacings) if radius is None else float(radius)
        if self.radius < math.hypot(*spacings) / 2:
            raise InvalidInputError(
                f"a radius of {self.radius:g} leaves points between the nodes of the grid {list(self.latent.shape)} "
                f"without any: it must be at least {math.hypot(*spacings) / 2:.3g}"
            )
        if not encoder or not decoder:
            raise InvalidInputError("a kernel has at least one hidden layer: encoder=[64], decoder=[64]")
        modes = self.grid.held(modes)
        count = coordinate_count(self.periodic, self.harmonics)
        self.lift = linear(in_channels + count, width)
        self.encoder = NeighbourhoodIntegral(width, self.periodic, encoder, in_channels)
        self.enter = linear(width + 1 + count, width)
        fourier = [FourierLayer(width, modes, self.periodic, last=i == layers - 1) for i in range(layers)]
        self.layers: Sequence[FourierLayer] = nn.ModuleList(fourier)  # type: ignore[assignment]
        self.decoder = NeighbourhoodIntegral(width, self.periodic, decoder)
        self.project = nn.Sequential(linear(width, hidden), nn.GELU(), linear(hidden, out_channels))

    def encode(self, group: Group) -> Tensor:
        """G_in and the measure of the neighbourhoods, of functions on the same points: `(b, s, width + 1)`."""
        at, f = self.to_grid(group.source), group.values
        phi = self.encoder.features(at.points, f).expand(len(f), -1, -1)
        v = self.encoder(self.lift(torch.cat([f, phi], dim=-1)), at, f)
        mu = at.measure.to(v)[:, None].expand(len(v), -1, -1)
        return torch.cat([v, mu / (1 + mu)], dim=-1)

    def on_grid(self, values: Tensor) -> Tensor:
        """FNO: `(b, s, width + 1)` on the latent grid -> `(b, s, width)`."""
        a = self.enter(torch.cat([values, self.coordinates(values)], dim=-1))
        for layer in self.layers:
            a = layer(a, self.grid.shape)
        return a

    def decode(self, values: Tensor, group: Group) -> Tensor:
        """Q G_out of values `(b, s, width)` at the points that a group is asked for at."""
        return self.project(self.decoder(values, self.from_grid(group.target, group.source)))

    def known(
        self,
        latent: Tensor,  # noqa: ARG002
        points: Tensor,  # noqa: ARG002
        weights: Tensor,  # noqa: ARG002
        boundary: Tensor | None = None,  # noqa: ARG002
        bounded: Tensor | None = None,  # noqa: ARG002
    ) -> Tensor:
        """Refused: the lists of neighbours are found by a tree, which no exported program has."""
        raise InvalidInputError("GINO cannot be called as a map between tensors: it needs lists of neighbours")

    def to_grid(self, source: Discretization) -> Neighbourhoods:
        """Points around each node."""
        points, weights = unit(source, source)
        nodes = self.latent.coordinates.to(points)
        near = self._near("to grid", source, source, nodes, points)
        return Neighbourhoods(nodes, points, weights, near, self.radius, self.periodic)

    def from_grid(self, target: Discretization, source: Discretization) -> Neighbourhoods:
        """Nodes around each point of `target`, in the box of `source`."""
        places, _ = unit(target, source)
        weights = torch.cartesian_prod(*self.grid.weights).reshape(self.latent.size, -1).prod(dim=1).to(places)
        nodes = self.latent.coordinates.to(places)
        near = self._near("from grid", target, source, places, nodes)
        return Neighbourhoods(places, nodes, weights, near, self.radius, self.periodic)

    def _near(
        self, what: str, owner: Discretization, box: Discretization, places: Tensor, points: Tensor
    ) -> Neighbours:
        """Lists of neighbours, kept with their owner: one in each direction, of the box that was asked for last."""
        key = ("neighbours", what, self.latent.shape, self.periodic, self.radius)
        bounds = None if box is owner else box.bounds.tolist()
        kept: tuple[object, Neighbours] | None = owner.cache.get(key)
        if kept is not None and kept[0] == bounds:
            return kept[1]
        near = neighbours(places, points, self.radius, self.periodic)
        if near.nbytes <= KEPT:
            owner.cache[key] = bounds, near
        return near

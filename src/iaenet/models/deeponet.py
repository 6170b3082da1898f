"""DeepONet (Lu et al., Nature Machine Intelligence 3, 2021): values at fixed sensors in, any output points out."""

from collections.abc import Sequence
from typing import Any

import torch
from scipy.spatial import KDTree
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization, Periodic
from iaenet.models.base import Accepts, Model, Pair, Presets, preset_options
from iaenet.nn.coordinates import coordinate_count, coordinate_features
from iaenet.nn.pointwise import linear

TOLERANCE = 1e-6  # of the extent of the sensors: how far a point may be from the sensor that it is


class Sensors(nn.Module):
    """The points that a network was built for, as a buffer: saved with its weights.

    >>> sensors = Sensors(3, 1)
    >>> _ = sensors.points.copy_(torch.tensor([[0.0], [0.5], [1.0]]))
    >>> sensors.order(Discretization.points([[1.0], [0.5], [0.0]])).tolist()
    [2, 1, 0]
    """

    points: Tensor

    def __init__(self, count: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("points", torch.zeros(count, dim, dtype=torch.float64))

    def order(self, given: Discretization) -> Tensor | None:
        """Which of the given points each sensor is; None if they are not the sensors."""
        found = given.points.to(self.points)
        if found.shape != self.points.shape:
            return None
        limit = TOLERANCE * (self.points.amax(0) - self.points.amin(0)).amax()
        if bool(((found - self.points).abs() <= limit).all()):
            return torch.arange(len(found), device=found.device)
        distance, nearest = KDTree(found.cpu().numpy()).query(self.points.cpu().numpy(), p=float("inf"))
        order = torch.from_numpy(nearest)
        matched = bool((torch.from_numpy(distance) <= limit.cpu()).all()) and len(order.unique()) == len(order)
        return order.to(found.device) if matched else None

    def __repr__(self) -> str:
        n, d = self.points.shape
        ends = ", ".join(str([round(x, 6) for x in point]) for point in self.points[[0, -1]].tolist())
        return f"{n} sensors in {d}-D, the first and last at {ends}"


class SensorNetwork(Model):
    """What DeepONet and POD-DeepONet share: a branch network on the input's values at fixed sensors."""

    accepts = Accepts(resolutions=False, points=True, query_points=True)

    def __init__(self, in_channels: int, dim: int, periodic: Periodic, sensors: int, sensor_dim: int | None) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.periodic = (periodic,) * dim if isinstance(periodic, bool) else tuple(periodic)
        if len(self.periodic) != dim:
            raise InvalidInputError(f"periodic must be one flag or {dim} of them, got {len(self.periodic)}")
        self.sensors = Sensors(sensors, dim if sensor_dim is None else sensor_dim)
        self.branch: nn.Module

    def coefficients(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """`b_1 .. b_p` of values `(b, n, c)` at the sensors -> `(b, p)`."""
        if target.periodic != self.periodic:
            raise InvalidInputError(
                f"output is asked for on a domain with periodic axes {target.periodic}, "
                f"the network was built for {self.periodic} in {len(self.periodic)}-D"
            )
        order = self.sensors.order(source)
        if order is None:
            raise InvalidInputError(
                f"input is on {_described(source)}, but the network was built for {self.sensors}; its input points "
                "are fixed: build it for these points, or bring the input to its sensors with iaenet.interpolate"
            )
        return self.branch(values[:, order].flatten(1))


class DeepONet(SensorNetwork):
    """`u_j(y) = sum_k b_jk(a(x_1) .. a(x_n)) t_jk(y) + bias_j` for each output channel j.

    The branch b is a network on the values at the sensors x_i, all channels; the trunk t one on the coordinates y, in
    which a periodic axis enters as cosines and sines. The sensors are those of the training data: no other input points
    are taken (in whatever order); output points are free, also in another dimension than the sensors'.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim, periodic: of the output's domain.
        sensors, sensor_dim: number of input points, and the dimension that they lie in (default `dim`).
        width: of both networks.
        branch_depth, trunk_depth: hidden layers of each.
        terms: p, products in the sum, for each output channel.
        harmonics: frequencies in which output coordinates enter, see `coordinate_features`.

    >>> from iaenet.functions.field import Field
    >>> grid = Discretization.uniform(32, periodic=True)
    >>> pair = (Field(grid, torch.rand(32, 1)), Field(grid, torch.rand(32, 1)))
    >>> model = DeepONet.for_data([pair])
    >>> model(pair[0], at=Discretization.uniform(100, periodic=True)).values.shape
    torch.Size([100, 1])
    """

    bounds: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        sensors: int,
        sensor_dim: int | None = None,
        width: int = 128,
        branch_depth: int = 3,
        trunk_depth: int = 3,
        terms: int = 128,
        harmonics: int = 2,
    ) -> None:
        super().__init__(in_channels, dim, periodic, sensors, sensor_dim)
        self.harmonics = harmonics
        self.register_buffer("bounds", torch.tensor([[0.0, 1.0]] * dim, dtype=torch.float64))  # of the output's domain
        outputs = out_channels * terms
        self.branch = mlp(in_channels * sensors, width, branch_depth, outputs, terms=terms)
        coordinates = coordinate_count(self.periodic, harmonics)
        self.trunk = nn.Sequential(*mlp(coordinates, width, trunk_depth, outputs), nn.GELU())
        self.bias = nn.Parameter(torch.zeros(out_channels))

    @classmethod
    def for_data(cls, data: Sequence[Pair], *, preset: str = "default", **options: Any) -> "DeepONet":
        """A network whose sensors are the input points of the data, which must be the same in all pairs."""
        domain = data[0][1].discretization
        model = cls(**sensor_shape(data), **{**preset_options(PRESETS, preset, domain.dim), **options})
        model.sensors.points.copy_(common_sensors(data))
        model.bounds.copy_(domain.bounds)
        return model

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values `(b, sensors, c)` -> `(b, n', c')`."""
        b = self.coefficients(values, source, target).unflatten(1, (len(self.bias), -1))  # (b, c', p)
        low, high = self.bounds.to(target.points).unbind(1)
        y = coordinate_features((target.points - low) / (high - low), self.periodic, self.harmonics)
        t = self.trunk(y.to(values)).unflatten(1, (len(self.bias), -1))  # (n', c', p)
        return torch.einsum("bjk,njk->bnj", b, t) + self.bias


def mlp(inputs: int, width: int, depth: int, outputs: int, *, terms: int = 1) -> nn.Sequential:
    """A network with `depth` hidden layers of GELU; its output starts small enough to be one of `terms` summands."""
    layers: list[nn.Module] = []
    for i in range(depth):
        layers += [linear(width if i else inputs, width), nn.GELU()]
    return nn.Sequential(*layers, linear(width if depth else inputs, outputs, terms=terms))


def sensor_shape(data: Sequence[Pair]) -> dict[str, Any]:
    """The constructor's arguments that follow from the data; the domain is the output's."""
    given, wanted = data[0]
    return {
        "in_channels": given.channels,
        "out_channels": wanted.channels,
        "dim": wanted.discretization.dim,
        "periodic": wanted.discretization.periodic,
        "sensors": given.discretization.n,
        "sensor_dim": given.discretization.dim,
    }


def common_sensors(data: Sequence[Pair]) -> Tensor:
    """Points `(n, d)` at which all inputs are given; an error that names the first pair which has others."""
    first = data[0][0].discretization
    sensors = Sensors(first.n, first.dim)
    sensors.points.copy_(first.points)
    seen = {first.key}
    for i, (given, _) in enumerate(data):
        place = given.discretization
        if place.key not in seen and sensors.order(place) is None:
            raise InvalidInputError(
                f"pair {i}: input is on {_described(place)}, but that of pair 0 on {_described(first)}; this network "
                "needs the same input points in all pairs"
            )
        seen.add(place.key)
    return first.points


def _described(place: Discretization) -> str:
    ends = ", ".join(str([round(x, 6) for x in point]) for point in place.points[[0, -1]].tolist())
    return f"{place} from {ends}"


# Sizes by dimension (3 stands for 3 and more). "paper": 4.8 million parameters with 1024 sensors in 1-D.
PRESETS: Presets = {
    "default": {
        1: {"width": 256, "branch_depth": 3, "trunk_depth": 3, "terms": 128, "harmonics": 2},
        2: {"width": 256, "branch_depth": 3, "trunk_depth": 3, "terms": 128, "harmonics": 3},
        3: {"width": 256, "branch_depth": 3, "trunk_depth": 3, "terms": 128, "harmonics": 3},
    },
    "paper": {
        1: {"width": 1024, "branch_depth": 2, "trunk_depth": 3, "terms": 256, "harmonics": 2},
        2: {"width": 1024, "branch_depth": 2, "trunk_depth": 3, "terms": 256, "harmonics": 3},
        3: {"width": 1024, "branch_depth": 2, "trunk_depth": 3, "terms": 256, "harmonics": 3},
    },
}

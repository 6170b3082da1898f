"""A trained model as a map between arrays in the data's units: what goes into a file."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from iaenet.errors import InvalidInputError
from iaenet.functions.geometry import points_or_segments
from iaenet.functions.projection import FLOOR, ITERATIONS, ORDER, PENALTY, PERIOD, SCATTERED
from iaenet.models.grid_model import GridModel
from iaenet.models.iae_net import IAENet
from iaenet.models.operator import Operator
from iaenet.models.point_model import PointModel

OPTIONAL = ("bounds", "use_latent", "latent", "use_boundary", "boundary", "curve", "thin")  # inputs with a default
MOST = 10**9  # points
N, M, B, T, F = (Dim(name, min=least, max=MOST) for name, least in (("n", 4), ("m", 2), ("b", 0), ("t", 0), ("f", 2)))
FREE: dict[str, dict[int, Any]] = {  # numbers of points, functions and facets in the inputs
    "points": {0: N},
    "values": {0: B, 1: N},
    "query": {0: M},
    "weights": {0: N},
    "bounds": {},
    "use_latent": {},
    "latent": {0: B},
    "near": {0: M, 1: T},
    "shares": {0: M, 1: T},
    "use_boundary": {},
    "boundary": {0: F},
    "curve": {},
}


class Portable(nn.Module):
    """`g(y) = undo(D N E normalise(f))` of values `(b, n, c)` at `points (n, d)`, at `query (m, d)`, in their units.

    `bounds (d, 2)` are the box of the domain, `weights (n,)` those of the points in it. E is the projection inside,
    unless `use_latent` says that the function on the latent grid is given: `latent (b, s, c)`. That function is the
    second output. `near (m, t)` and `shares (m, t)` interpolate the input at query points, for networks with a head.
    `boundary (f, d, d)` has the corners of the facets around the domain, for networks that are told of it; unless
    `use_boundary` the boundary is that of the box, and the domain what the weights say. Of a `curve`, facets begin with
    the ends of its segments.
    """

    outputs = ("output", "on_grid")

    def __init__(self, operator: Operator) -> None:
        super().__init__()
        network = operator.network
        self.model = PointModel(on_grid(network))
        self.geometry: tuple[str, ...] = getattr(network, "geometry", ())
        self.head = isinstance(network, IAENet) and network.head is not None
        self.kernels = isinstance(network, IAENet) and network.head is not None and network.head.iae is not None
        keep_statistics(self, operator)

    def forward(
        self,
        points: Tensor,
        values: Tensor,
        query: Tensor,
        weights: Tensor,
        bounds: Tensor,
        use_latent: Tensor,
        latent: Tensor,
        near: Tensor | None = None,
        shares: Tensor | None = None,
        use_boundary: Tensor | None = None,
        boundary: Tensor | None = None,
        curve: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Values at the query points `(b, m, c')`, and the input on the latent grid `(b, s, c)`."""
        mean, std = self.get_buffer("input_mean"), self.get_buffer("input_std")
        low, high = bounds.unbind(1)
        x, y = (points - low) / (high - low), (query - low) / (high - low)
        share, a = weights / (high - low).prod(), (values - mean) / std
        facets = None if boundary is None else (boundary - low) / (high - low)
        projected = self.model.network.latent.project(x, share, a)
        found = torch.where(use_latent, (latent - mean) / std, projected)
        measured = None
        if facets is not None and curve is not None:
            measured = points_or_segments(x, share, facets, bounds, curve)
        output = self.model(x, a, y, share, facets, near, shares, found, use_boundary, measured)
        scaled = output * self.get_buffer("output_std") + self.get_buffer("output_mean")
        return scaled, found * std + mean

    def example(self, n: int = 40, m: int = 24, batch: int = 2) -> dict[str, Tensor]:
        """Inputs of the right kinds and shapes, by name."""
        network = self.model.network
        d, like = len(network.periodic), next(network.parameters())
        x, y = (torch.rand(count, d, dtype=torch.float64) for count in (n, m))
        values, latent = (like.new_zeros(batch, size, network.in_channels) for size in (n, network.latent.size))
        box = torch.tensor([[0.0, 1.0]] * d, dtype=torch.float64)
        found = {"points": x, "values": values, "query": y, "weights": torch.full_like(x[:, 0], 1 / n), "bounds": box}
        found |= {"use_latent": torch.tensor(False), "latent": latent}
        if self.head:
            found |= example_taps(y)
        if self.geometry:
            found |= {"use_boundary": torch.tensor(False), "boundary": torch.rand(6, d, d, dtype=torch.float64)}
        if self.along_curves:
            found["curve"] = torch.tensor(False)
        return found

    @property
    def along_curves(self) -> bool:
        """Whether it makes a difference that a domain is a curve; a line has none."""
        return "measure" in self.geometry and len(self.model.network.periodic) > 1

    def shapes(self) -> dict[str, Any]:
        """Which sizes of the inputs are free."""
        return {name: FREE[name] for name in self.example()}

    def describe(self, operator: Operator) -> dict[str, Any]:
        """The domain trained on, as JSON."""
        trained = operator.metadata.get("trained") or {}
        return {"bounds": trained.get("bounds", [[0.0, 1.0]] * len(self.model.network.periodic))}


def on_grid(network: nn.Module) -> GridModel:
    """The network, if it is one that can be exported."""
    if not isinstance(network, GridModel):
        raise InvalidInputError(
            f"{type(network).__name__} cannot be exported: models on a latent grid can, such as iaenet and fno"
        )
    return network


def keep_statistics(module: nn.Module, operator: Operator) -> None:
    """Means and deviations of the operator's normalisation as buffers of a module."""
    like = next(operator.network.parameters())
    for side, normalizer in (("input", operator.input_normalizer), ("output", operator.output_normalizer)):
        module.register_buffer(f"{side}_mean", normalizer.mean.to(like))
        module.register_buffer(f"{side}_std", normalizer.std.to(like))


def example_taps(query: Tensor) -> dict[str, Tensor]:
    """An interpolation at `query (m, d)`, of the right shape."""
    m, d = query.shape
    shares = torch.ones_like(query[:, :1]).expand(-1, d + 1) / (d + 1)
    return {"near": torch.zeros(m, d + 1, dtype=torch.int64), "shares": shares}


def projection_numbers() -> dict[str, Any]:
    """What `AxisRule` needs."""
    return {
        "period": PERIOD,
        "penalty": PENALTY,
        "order": ORDER,
        "floor": FLOOR[0],
        "iterations": ITERATIONS,
        "scattered": SCATTERED,
    }

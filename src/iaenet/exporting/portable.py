"""A trained model as a map between arrays in the data's units: what goes into a file."""

from typing import Any

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.projection import FLOOR, ITERATIONS, ORDER, PENALTY, PERIOD, SCATTERED
from iaenet.models.grid_model import GridModel
from iaenet.models.iae_net import IAENet
from iaenet.models.operator import Operator
from iaenet.models.point_model import PointModel
from iaenet.models.sample_model import SampleModel

INPUTS = ("points", "values", "query", "weights", "bounds", "use_latent", "latent")
OF_HEAD = ("near", "shares")  # further inputs of a network with a head
OF_DOMAIN = ("use_boundary", "boundary")  # and of one that is told of the domain
OUTPUTS = ("output", "on_grid")


class Portable(nn.Module):
    """`g(y) = undo(D N E normalise(f))` of values `(b, n, c)` at `points (n, d)`, at `query (m, d)`, in their units.

    `bounds (d, 2)` are the box of the domain, `weights (n,)` those of the points in it. E is the projection inside,
    unless `use_latent` says that the function on the latent grid is given: `latent (b, s, c)`. That function is the
    second output. `near (m, t)` and `shares (m, t)` interpolate the input at query points, for networks with a head.
    `boundary (f, d, d)` has the corners of the facets around the domain, for networks that are told of it; unless
    `use_boundary` the boundary is that of the box, and the domain what the weights say.
    """

    def __init__(self, operator: Operator) -> None:
        super().__init__()
        network = operator.network
        if isinstance(network, SampleModel):
            raise InvalidInputError(
                "a model of several functions or numbers cannot be exported: a file takes one function"
            )
        if not isinstance(network, GridModel):
            raise InvalidInputError(
                f"{type(network).__name__} cannot be exported: models on a latent grid can, such as iaenet and fno"
            )
        self.geometry: tuple[str, ...] = getattr(network, "geometry", ())
        self.model = PointModel(network)
        self.head = isinstance(network, IAENet) and network.head is not None
        self.kernels = isinstance(network, IAENet) and network.head is not None and network.head.iae is not None
        like = next(network.parameters())
        for side, normalizer in (("input", operator.input_normalizer), ("output", operator.output_normalizer)):
            self.register_buffer(f"{side}_mean", normalizer.mean.to(like))
            self.register_buffer(f"{side}_std", normalizer.std.to(like))

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
    ) -> tuple[Tensor, Tensor]:
        """Values at the query points `(b, m, c')`, and the input on the latent grid `(b, s, c)`."""
        mean, std = self.get_buffer("input_mean"), self.get_buffer("input_std")
        low, high = bounds.unbind(1)
        x, y = (points - low) / (high - low), (query - low) / (high - low)
        share, a = weights / (high - low).prod(), (values - mean) / std
        facets = None if boundary is None else (boundary - low) / (high - low)
        projected = self.model.network.latent.project(x, share, a)
        found = torch.where(use_latent, (latent - mean) / std, projected)
        output = self.model(x, a, y, share, facets, near, shares, found, use_boundary)
        scaled = output * self.get_buffer("output_std") + self.get_buffer("output_mean")
        return scaled, found * std + mean

    def example(self, n: int = 40, m: int = 24, batch: int = 2) -> tuple[Tensor, ...]:
        """Inputs of the right kinds and shapes."""
        network = self.model.network
        d, like = len(network.periodic), next(network.parameters())
        x, y = (torch.rand(count, d, dtype=torch.float64) for count in (n, m))
        values, latent = (like.new_zeros(batch, size, network.in_channels) for size in (n, network.latent.size))
        box = torch.tensor([[0.0, 1.0]] * d, dtype=torch.float64)
        parts: tuple[Tensor, ...] = (x, values, y, torch.full_like(x[:, 0], 1 / n), box, torch.tensor(False), latent)
        if self.head:
            parts += (torch.zeros(m, d + 1, dtype=torch.int64), torch.ones_like(y[:, :1]).expand(-1, d + 1) / (d + 1))
        if self.geometry:
            parts += (torch.tensor(False), torch.rand(6, d, d, dtype=torch.float64))
        return parts

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return INPUTS + (OF_HEAD if self.head else ()) + (OF_DOMAIN if self.geometry else ())


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

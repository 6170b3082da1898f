"""E for samples: each function, and each number, as channels on one latent grid in the output's space.

    projected    a function in the output's space, a curve or surface in it included: the projection of its own
                 discretization, and the measure of its domain where that differs from sample to sample
    transferred  a function in another space (a line into a plane): its projection a on a grid of its own, then a
                 learned kernel, v(z) = int phi(z, t) a(t) dt with phi = sum_r psi_r(z) w_r(t)
    constant     numbers

`docs/samples.md` says why.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field
from iaenet.functions.geometry import on_nodes, with_channel
from iaenet.functions.latent_grid import LatentGrid
from iaenet.nn.coordinates import HARMONICS, coordinate_count, coordinate_features
from iaenet.nn.pointwise import linear

RANK, FEATURES = 32, 8  # of a kernel between two spaces: terms of its sum, channels that it gives


@dataclass(frozen=True)
class Part:
    """One function of a sample, or its numbers, as a network takes them; all of it plain, so that files can hold it.

    name: of the function; "scalars" for numbers.
    channels: how many.
    scalars: names of the numbers.
    grid, periodic: of the function's own space, if it is not the output's.
    smoothing: of its projection, see `Projection`.
    measure: size of the measure's deviation from its mean, by which it is divided as a channel; 0 for no such channel.
    """

    name: str
    channels: int
    scalars: tuple[str, ...] = ()
    grid: tuple[int, ...] = ()
    periodic: tuple[bool, ...] = ()
    smoothing: float = 1.0
    measure: float = 0.0

    def build(self, latent: LatentGrid) -> "PartEncoder":
        """The layer that brings it to a latent grid."""
        if self.scalars:
            return Constant(self.channels, latent)
        if self.grid:
            return Transferred(self, latent)
        return Projected(self, latent)


class PartEncoder(nn.Module):
    """Fields, one function each or a batch, on whatever points -> `(b, s, width)` at the nodes of a latent grid."""

    width: int  # channels that it gives
    in_output_space = False

    def check(self, name: str, field: Field) -> None:
        """Refuse a function in another space than the layer was built for."""


class Projected(PartEncoder):
    """`E f`, and the measure of the domain of f."""

    in_output_space = True

    def __init__(self, part: Part, latent: LatentGrid) -> None:
        super().__init__()
        self.latent = LatentGrid(latent.shape, latent.periodic, part.smoothing, extend=True)
        self.measure = part.measure
        self.width = part.channels + (part.measure > 0)

    def check(self, name: str, field: Field) -> None:
        """Refuse other axes."""
        _check_axes(name, field, self.latent.periodic)

    def forward(self, fields: Sequence[Field]) -> Tensor:
        """The projections."""
        parts = []
        for field in fields:
            measure = on_nodes(self.latent, "measure", field.discretization) if self.measure else None
            parts.append(self.channels(self.latent.encoded(field), measure))
        return torch.cat(parts)

    def channels(self, projected: Tensor, measure: Tensor | None = None) -> Tensor:
        """A function on the grid `(b, s, c)`, and the measure of its domain there `(s, 1)`, as channels."""
        return projected if measure is None else with_channel(projected, measure / self.measure)


class Transferred(PartEncoder):
    """`v_j(z) = sum_r psi_r(z) int w_rj(t) a(t) dt`: a is f on a grid of its own, psi a network of coordinates."""

    def __init__(self, part: Part, latent: LatentGrid) -> None:
        super().__init__()
        self.latent = LatentGrid(part.grid, part.periodic, part.smoothing)
        self.width = FEATURES
        harmonics = HARMONICS[min(len(latent.shape), 3)]
        features = coordinate_features(latent.coordinates, latent.periodic, harmonics)
        self.register_buffer("coordinates", features.float(), persistent=False)
        count = coordinate_count(latent.periodic, harmonics)
        self.places = nn.Sequential(linear(count, RANK), nn.GELU(), linear(RANK, RANK), nn.GELU(), linear(RANK, RANK))
        self.integrals = linear(self.latent.size * part.channels, RANK * FEATURES, bias=False)

    def check(self, name: str, field: Field) -> None:
        """Refuse other axes."""
        _check_axes(name, field, self.latent.periodic)

    def forward(self, fields: Sequence[Field]) -> Tensor:
        """The kernel's integrals at the nodes."""
        return self.channels(torch.cat([self.latent.encoded(field) for field in fields]))

    def channels(self, projected: Tensor, measure: Tensor | None = None) -> Tensor:  # noqa: ARG002 - it has no channel
        """The integrals of a function on its own grid, `(b, s', c)`."""
        moments = self.integrals(projected.flatten(1)).unflatten(1, (RANK, FEATURES))
        return self.places(self.coordinates) @ moments / math.sqrt(RANK)


class Constant(PartEncoder):
    """Numbers as constant functions."""

    def __init__(self, channels: int, latent: LatentGrid) -> None:
        super().__init__()
        self.width, self.size = channels, latent.size

    def forward(self, fields: Sequence[Field]) -> Tensor:
        """The numbers at every node."""
        return torch.cat([field.batch_values for field in fields]).expand(-1, self.size, -1)


def _check_axes(name: str, field: Field, periodic: tuple[bool, ...]) -> None:
    if field.discretization.periodic != periodic:
        raise InvalidInputError(
            f"{name} has periodic axes {field.discretization.periodic} in {field.discretization.dim}-D, the network "
            f"was built for {periodic}"
        )

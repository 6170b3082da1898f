"""The head: a pointwise network at the query points, which sees the input there."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.functions.latent_grid import LatentGrid
from iaenet.nn.branch import branch
from iaenet.nn.coordinates import HARMONICS, coordinate_count, coordinate_features
from iaenet.nn.iae import IAE
from iaenet.nn.kernels import Sites
from iaenet.nn.point_branch import PointIAE
from iaenet.nn.pointwise import full_precision, linear


@branch("head")
@dataclass(frozen=True)
class Head:
    """`g(x) = P_2 sigma(P_1 sigma(A [f(x), xi(x)] + V u(x) + b(x)))` at the query points, with `size` features.

    u is what is read off the latent grid, xi the coordinates, f(x) the input there. b, if there are `kernels`, is the
    output of an integral autoencoder on the input's own points: the learned part of E and D beside the projection, for
    functions that no grid resolves.

    With `shifts` the latent grid lies anywhere between the points in training, by a random part of a cell along
    periodic axes. Jumps, which no grid resolves, are then right between its nodes, too: u is smooth, P makes the jump.
    """

    size: int = 32
    kernels: PointIAE | None = None
    shifts: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.size < 1:
            raise InvalidInputError(f"a head has at least one feature, got {self.size}")
        if not (self.kernels is None or isinstance(self.kernels, PointIAE)):
            raise InvalidInputError(f"kernels are a PointIAE, got {self.kernels!r}")
        if self.kernels is not None and self.kernels.axiswise:
            raise InvalidInputError("kernels on any points cannot work axis by axis")

    def build(self, in_channels: int, width: int, out_channels: int, periodic: tuple[bool, ...]) -> "HeadLayer":
        """The layer, for values of `width` channels on the grid, 0 if there is none."""
        return HeadLayer(self, in_channels, width, out_channels, periodic)


class HeadLayer(nn.Module):
    """The layer of a `Head`."""

    def __init__(self, spec: Head, in_channels: int, width: int, out_channels: int, periodic: tuple[bool, ...]) -> None:
        super().__init__()
        size, kernels = spec.size, spec.kernels
        self.periodic, self.shifts = periodic, spec.shifts
        self.harmonics = kernels.harmonics if kernels is not None else HARMONICS[min(len(periodic), 3)]
        self.own = linear(in_channels + coordinate_count(periodic, self.harmonics), size)
        self.features = linear(width, size) if width else nn.Identity()
        self.project = nn.Sequential(nn.GELU(), linear(size, size), nn.GELU(), linear(size, out_channels))
        self.iae = None
        if kernels is not None:
            count = [coordinate_count((wraps,), kernels.harmonics) for wraps in periodic]
            self.iae = IAE(size, count, (kernels.latent,) * len(periodic), kernels.rank, **kernels.options)
            self.merge = linear(size, size, bias=False)
            with torch.no_grad():
                self.merge.weight *= 0.25  # as the branches of a block

    def encode(self, here: Tensor, points: Tensor, weights: Tensor) -> Tensor | None:
        """The learned transform of E: input values `(b, n, c)` at its points -> the code of the kernels, if any."""
        if self.iae is None:
            return None
        sites = Sites(self._features(points, here), weights.to(here))
        code, _ = self.iae.encode(self._lift(here, sites.coordinates), sites)
        with full_precision(code):
            return code @ self.merge.weight.T

    def forward(self, there: Tensor, read: Tensor | None, code: Tensor | None, query: Tensor) -> Tensor:
        """Input values `(b, m, c)` at query points, features read off there, the kernels' code -> `(b, m, c')`."""
        features = self._features(query, there)
        own = self._lift(there, features)
        total = own if read is None else own + read
        if self.iae is not None and code is not None:
            total = total + self.iae.decode(code, own, Sites(features, features[:, 0]))  # decoders need no weights
        return self.project(total)

    def _features(self, points: Tensor, like: Tensor) -> Tensor:
        return coordinate_features(points, self.periodic, self.harmonics).to(like)

    def _lift(self, values: Tensor, features: Tensor) -> Tensor:
        return self.own(torch.cat([values, features[None].expand(values.shape[0], -1, -1)], dim=-1))


def input_at(target: Discretization, fields: Sequence[Field], latent: LatentGrid | None) -> Tensor:
    """Functions on the same points at query points, `(b, m, c)`: their projection there and, of the rest, interpolants.

    What was found of a single function is kept with it, at the query points that it had last, unless a gradient is
    wanted.
    """
    first = fields[0]
    if len(fields) > 1 or first.values.requires_grad or target.points.requires_grad:
        return _input_at(target, fields, latent)
    key = ("at query points", None if latent is None else latent.key)
    where, found = first.cache.get(key, ("", first.values))
    if where != target.key:
        with torch.no_grad():
            found = _input_at(target, fields, latent)
        first.cache[key] = target.key, found
    return found


def _input_at(target: Discretization, fields: Sequence[Field], latent: LatentGrid | None) -> Tensor:
    source, values = fields[0].discretization, torch.cat([one.batch_values for one in fields])
    if latent is None:
        return interpolate(Field.unchecked(source, values), target).values
    code = torch.cat([latent.encoded(one) for one in fields])
    near = interpolate(Field.unchecked(source, values - latent.read_off(code, source)), target).values
    return latent.read_off(code, target, source) + near

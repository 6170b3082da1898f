"""Models that are a lift, layers and a projection: on any points, and with the output wherever it is asked for."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from iaenet.block import Layer
from iaenet.discretization import Discretization, Periodic
from iaenet.errors import InvalidInputError
from iaenet.field import Field
from iaenet.geometry import Geometry, coordinate_count, geometry_in, geometry_of
from iaenet.model import Accepts, Model, Pair, Presets, preset_options, shape_of
from iaenet.pointwise import full_precision
from iaenet.resample import interpolate


class Layered(Model):
    """`f -lift-> a_0 -layer_1-> a_1 ... -layer_L-> a_L -project-> g`, each layer in the four steps of `block.py`.

    A subclass sets `lift` (of values and coordinates, see `coordinate_features`), `layers` and `project`. What a layer
    integrates, it integrates over the input's points; what comes of it is evaluated there and, if the output is asked
    for elsewhere, at those points too. There the input is interpolated, so that `model(f, at=d)` and `model(f)` agree
    wherever points coincide.
    """

    accepts = Accepts(resolutions=True, points=True, elsewhere=True)
    presets: ClassVar[Presets]

    lift: nn.Linear
    layers: Sequence[Layer]
    project: nn.Module

    def __init__(self, in_channels: int, dim: int, periodic: Periodic) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.periodic = (periodic,) * dim if isinstance(periodic, bool) else tuple(periodic)
        if len(self.periodic) != dim:
            raise InvalidInputError(f"periodic must be one flag or {dim} of them, got {len(self.periodic)}")
        self.coordinates = coordinate_count(self.periodic, harmonics=1)

    @classmethod
    def for_data(cls, data: Sequence[Pair], *, preset: str = "default", **options: Any) -> Model:
        """A model for such pairs, of a size from `presets`; options change it."""
        shape = shape_of(data)
        return cls(**shape, **preset_options(cls.presets, preset, shape["dim"]) | options)

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values `(b, n, c)` at the points of `source` -> values `(b, n', c')` at those of `target`."""
        self._check(source, target)
        with full_precision(values):  # autocast would cost percents, see `pointwise.py`
            return self._run(values, source, target)

    def _run(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        here = geometry_of(source, values.dtype)
        own = source.key == target.key
        a = self._lifted(values, here)
        there = here if own else geometry_in(source, target, values.dtype)
        b = a if own else self._lifted(interpolate(Field.unchecked(source, values), target).values, there)
        for number, layer in enumerate(self.layers, 1):
            local = layer.local([a], here)
            codes = layer.latent(layer.reduce(local, here))
            b = layer.expand(codes, local if own else layer.local([b], there), there)
            if number < len(self.layers):
                a = b if own else layer.expand(codes, local, here)
        return self.project(b)

    def _lifted(self, values: Tensor, geometry: Geometry) -> Tensor:
        coordinates = geometry.sites(harmonics=1).coordinates.expand(len(values), -1, -1)
        return self.lift(torch.cat([values, coordinates], dim=-1))

    def _check(self, source: Discretization, target: Discretization) -> None:
        for what, where in (("input", source), ("output", target)):
            if where.periodic != self.periodic:
                raise InvalidInputError(
                    f"{what} is on a domain with periodic axes {where.periodic}, "
                    f"the network was built for {self.periodic} in {len(self.periodic)}-D"
                )

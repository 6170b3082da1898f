"""Models between E and D: a network on a latent grid, whatever points functions come on and are asked for at."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization, Periodic
from iaenet.functions.field import Field
from iaenet.functions.latent_grid import LatentGrid
from iaenet.models.base import (
    Accepts,
    Model,
    Pair,
    Presets,
    as_batch,
    group_by_discretization,
    infer_shape,
    preset_options,
)
from iaenet.models.linear_start import Start, some_of
from iaenet.nn.branches import BranchLayer
from iaenet.nn.coordinates import coordinate_features
from iaenet.nn.pointwise import full_precision
from iaenet.nn.transform import Grid

# Points along an axis of the latent grid, by dimension, where the data have no uniform grid of their own, and at most.
DEFAULT = {1: 128, 2: 28, 3: 12}
MOST = {1: 1024, 2: 64, 3: 20}
COARSE, LOOKED_AT, AS_GOOD = 8, 3, 1.1  # in 3-D, if it leaves at most so many times as much of some outputs


@dataclass(frozen=True)
class Group:
    """Functions of a call that share their points, and the points where they are asked for."""

    members: list[int]
    fields: list[Field]
    source: Discretization
    target: Discretization

    @property
    def counts(self) -> list[int]:
        """Functions in each member."""
        return [field.count for field in self.fields]

    @property
    def values(self) -> Tensor:
        """Values of all of them, `(b, n, c)`."""
        parts = [field.batch_values for field in self.fields]
        return parts[0] if len(parts) == 1 else torch.cat(parts)


class GridModel(Model):
    """`g = D N E f`: E takes functions to the latent grid, N is a network there, D reads its output off.

    A subclass writes `on_grid`. Functions on points of their own are one batch of N.
    """

    accepts = Accepts(resolutions=True, points=True, query_points=True)
    presets: ClassVar[Presets]
    autocast: ClassVar[bool] = False  # whether layers know what may follow autocast, as the kernels of IAE-Net do

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int,
        periodic: Periodic,
        grid: int | Sequence[int] | None,
        smoothing: float = 1.0,
        harmonics: int = 1,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.periodic = (periodic,) * dim if isinstance(periodic, bool) else tuple(periodic)
        if len(self.periodic) != dim:
            raise InvalidInputError(f"periodic must be one flag or {dim} of them, got {len(self.periodic)}")
        self.latent = LatentGrid(as_shape(grid, dim), self.periodic, smoothing)
        self.grid = Grid(self.latent.shape, self.periodic)
        self.linear_start: Start | None = None  # what the network starts from, where it has that,
        self.worth = 1.0  # and how much that may leave
        self.harmonics = harmonics  # in which coordinates enter the network
        self._coordinates = coordinate_features(self.latent.coordinates, self.periodic, harmonics)

    @classmethod
    def for_data(cls, data: Sequence[Pair], *, preset: str = "default", **options: Any) -> Model:
        """A model for such pairs, of a size from `presets`, on a grid like theirs; options change it."""
        shape = infer_shape(data)
        sizes: dict[str, Any] = {"grid": list(latent_shape(data)), **preset_options(cls.presets, preset, shape["dim"])}
        return cls(**shape, **sizes | options)

    def initialise(self, data: Sequence[Pair]) -> None:
        """Fit the linear start, if there is one, to pairs of the training."""
        if self.linear_start is None:
            return
        for i, (given, wanted) in enumerate(data):
            self.check_domain(f"sample {i}", given.discretization, wanted.discretization)
        data = some_of(data)
        with torch.no_grad():
            inputs = [self.encode(Group([0], [given], given.discretization, given.discretization)) for given, _ in data]
            outputs = [self.latent.encode(wanted.discretization, wanted.batch_values) for _, wanted in data]
        if self.linear_start.fit(inputs, outputs, self.worth):
            self.linear_start.share_with([part for part in self.modules() if isinstance(part, BranchLayer)])

    def on_grid(self, values: Tensor) -> Tensor:
        """N: values `(b, s_1 .. s_d, c)`, flattened to `(b, s, c)` -> `(b, s, c')`."""
        raise NotImplementedError

    def forward(self, field: Any, at: Any = None) -> Any:
        """The output function of each input function, on its own points or `at` others."""
        single = not isinstance(field, Sequence)
        fields, targets = as_batch(field, at)
        groups = self._groups(fields, targets)
        results = self._outputs(self._inside(self._latent(groups)), groups) if groups else []
        return results[0] if single else results

    @torch.compiler.disable
    def _outputs(self, values: Tensor, groups: list[Group]) -> list[Field]:
        found: dict[int, Field] = {}
        for group, all_values in zip(groups, self._read(values, groups), strict=True):
            for i, one, part in zip(group.members, group.fields, all_values.split(group.counts), strict=True):
                found[i] = Field.unchecked(group.target, part if one.batched else part[0])
        return [found[i] for i in range(len(found))]

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values `(b, n, c)` at the points of `source` -> values `(b, n', c')` at those of `target`."""
        groups = [Group([0], [Field.unchecked(source, values)], source, target)]
        return self._read(self._inside(self._latent(groups)), groups)[0]

    def encode(self, group: Group) -> Tensor:
        """E of a group: `(b, s, c)`. What was projected once is kept with its function, unless a gradient is wanted."""
        return torch.cat([self.latent.encoded(field) for field in group.fields])

    def known(
        self,
        latent: Tensor,
        points: Tensor,  # noqa: ARG002 - for subclasses
        weights: Tensor,  # noqa: ARG002
        boundary: Tensor | None = None,  # noqa: ARG002
        bounded: Tensor | None = None,  # noqa: ARG002
    ) -> Tensor:
        """What `on_grid` takes, for functions on the grid that were given at points of the unit box."""
        return latent

    def decode(self, values: Tensor, group: Group) -> Tensor:
        """D of values `(b, s, c)` at the points that a group is asked for at."""
        return self.latent.read_off(values, group.target, group.source)

    def coordinates(self, like: Tensor) -> Tensor:
        """Coordinates of the nodes as features, `(b, s, f)`."""
        return self._coordinates.to(like)[None].expand(like.shape[0], -1, -1)

    def _inside(self, latent: Tensor) -> Tensor:
        with nullcontext() if self.autocast else full_precision(latent):
            return self.on_grid(latent)

    # E and D are not compiled: they depend on how many points there are, and on which. They are in full precision:
    # autocast would cost percents (`nn/pointwise.py`).
    @torch.compiler.disable
    def _latent(self, groups: list[Group]) -> Tensor:
        with full_precision(groups[0].fields[0].values):
            parts = [self.encode(group) for group in groups]
            return parts[0] if len(parts) == 1 else torch.cat(parts)

    @torch.compiler.disable
    def _read(self, values: Tensor, groups: list[Group]) -> list[Tensor]:
        parts = values.split([sum(group.counts) for group in groups])
        with full_precision(values):
            return [self.decode(part, group) for part, group in zip(parts, groups, strict=True)]

    def check_domain(self, name: str, source: Discretization, target: Discretization) -> None:
        """Refuse input and output points on another kind of domain than the latent grid's."""
        for what, where in (("input", source), ("output", target)):
            if where.periodic != self.periodic:
                raise InvalidInputError(
                    f"{name}: {what} is on a domain with periodic axes {where.periodic}, "
                    f"the network was built for {self.periodic} in {len(self.periodic)}-D"
                )

    @torch.compiler.disable
    def _groups(self, fields: list[Field], targets: list[Discretization]) -> list[Group]:
        for i, (field, target) in enumerate(zip(fields, targets, strict=True)):
            self.check(i, field)
            self.check_domain(f"field {i}", field.discretization, target)
        made = []
        for members in group_by_discretization(fields, targets):
            own = [fields[i] for i in members]
            made.append(Group(members, own, own[0].discretization, targets[members[0]]))
        return made


def as_shape(grid: int | Sequence[int] | None, dim: int) -> tuple[int, ...]:
    """Points along each axis, from one number for all axes, or from none.

    >>> as_shape(None, 2), as_shape(16, 2), as_shape([8, 12], 2)
    ((28, 28), (16, 16), (8, 12))
    """
    if grid is None:
        grid = DEFAULT[min(dim, max(DEFAULT))]
    shape = (grid,) * dim if isinstance(grid, int) else tuple(grid)
    if len(shape) != dim:
        raise InvalidInputError(f"grid must be one number or {dim} of them, got {list(shape)}")
    return shape


def latent_shape(data: Sequence[Pair]) -> tuple[int, ...]:
    """The latent grid for such data: as fine as the finest tensor grid of the inputs, up to a limit by dimension.

    Inputs on other points have one by dimension alone, in 3-D a coarser one where it holds the outputs as well.

    >>> from iaenet.functions.discretization import Discretization
    >>> grid = Discretization.uniform((43, 43))
    >>> f = Field(grid, torch.zeros(43 * 43, 1))
    >>> latent_shape([(f, f)])
    (43, 43)
    """
    dim = data[0][0].discretization.dim
    most, usual = (sizes[min(dim, max(sizes))] for sizes in (MOST, DEFAULT))
    grids = [given.discretization for given, _ in data]
    if any(grid.axes is None for grid in grids):
        some = [wanted for _, wanted in data[:: max(1, len(data) // LOOKED_AT)]][:LOOKED_AT]
        coarse = dim == 3 and left_by(COARSE, some) <= AS_GOOD * left_by(usual, some)
        return (COARSE if coarse else usual,) * dim
    return tuple(max(4, min(most, max(sizes))) for sizes in zip(*(grid.shape for grid in grids), strict=True))


def left_by(size: int | Sequence[int], fields: Sequence[Field]) -> float:
    """What a latent grid of so many points along its axes leaves of functions, as a share of their deviations.

    >>> grid = Discretization.uniform((9, 9, 9))
    >>> wave = Field(grid, torch.cos(torch.pi * grid.points[:, :1]))
    >>> left_by(8, [wave]) < 1e-3
    True
    """
    left = whole = 0.0
    for field in fields:
        where, values = field.discretization, field.batch_values[:16].double()
        values = values - values.mean(dim=1, keepdim=True)
        grid = LatentGrid(as_shape(size, where.dim), where.periodic)
        left += float((values - grid.read_off(grid.encode(where, values), where)).square().sum())
        whole += float(values.square().sum())
    return (left / whole) ** 0.5 if whole else 0.0

"""The same functions on other points: coarser and finer grids, fewer points, points in another order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch
from scipy.spatial import KDTree

from iaenet.data.dataset import Dataset
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate, random_subset
from iaenet.models.base import Pair
from iaenet.training.batches import stream

FINEST = 2**17  # points of the finest grid that is made by interpolation, unless twice the given one has more
COARSEST = 16  # gaps along each axis of the coarsest grid that is made
FINER = (2, 4, 8)  # how many times finer than the data


@dataclass(frozen=True)
class Rung:
    """Inputs of some samples at one resolution, and where their outputs are asked for and perhaps known."""

    name: str
    resolution: int | None  # None where samples have none in common, or where points are left out
    given: list[Field]
    at: list[Discretization]
    wanted: list[Field] = field(default_factory=list)  # none if the data have none at this resolution
    ratio: float = 1.0  # how many times finer than the data's own

    @property
    def size(self) -> float:
        """`n^(1/d)`: points along an axis, or as many as there would be on a grid."""
        return float(np.mean([one.discretization.n ** (1 / one.discretization.dim) for one in self.given]))


def rungs(dataset: Dataset, samples: Sequence[int], ladder: Sequence[int] | None = None, seed: int = 0) -> list[Rung]:
    """Some samples (by their place in the data set) at each resolution, coarsest first.

    ladder: resolutions; those not in the data are interpolated from the finest grid there is. Default: all that the
        samples have in common. Samples of one resolution each are then also halved and refined: grids to every second
        point and to 2, 4 and 8 times more, point sets to random halves and quarters.

    >>> import tempfile
    >>> from iaenet import load_dataset, write_dataset
    >>> from iaenet.data.problems.problem import Channel
    >>> grid = Discretization.uniform(33)
    >>> pair = Field(grid, torch.ones(33, 1)), Field(grid, torch.zeros(33, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dataset(f"{folder}/a.h5", [pair], inputs=[Channel("a")], outputs=[Channel("u")])
    ...     [rung.name for rung in rungs(load_dataset(f"{folder}/a.h5"), [0])]
    ['17', '33', '65', '129', '257']
    """
    found = [dataset.sample(i) for i in samples]
    common = sorted(set.intersection(*(set(pairs) for pairs in found)))
    base = [pairs[max(common or pairs)] for pairs in found]
    grids = all(given.discretization.axes is not None for given, _ in base)
    if ladder is None and len(common) <= 1:
        return _refined(base, common) if grids else _thinned(base, common, seed)
    if not common or not (grids or set(ladder or ()) <= set(common)):
        raise InvalidInputError(
            f"{dataset.path}: the samples have resolutions {common} in common and cannot be brought to others; "
            "leave the ladder out"
        )
    finest = base[0][0].discretization
    return [
        _given([pairs[s] for pairs in found], str(s), s)
        if s in common
        else _regridded(base, str(s), s, _gaps(finest, s) / _gaps(finest, common[-1]))
        for s in sorted(set(ladder or common))
    ]


def _refined(base: list[Pair], common: list[int]) -> list[Rung]:
    """The grids themselves, every second point of them, and grids of moderate size that are finer."""
    places = [given.discretization for given, _ in base]
    gaps = [_gaps(at, n, axis) for at in places for axis, n in enumerate(at.shape)]
    halves = min(gaps) >= 2 * COARSEST and all(n % 2 == 0 for n in gaps)
    most = max(at.n for at in places)
    finer = [float(ratio) for ratio in FINER if ratio == 2 or most * ratio ** places[0].dim <= FINEST]
    made = []
    for ratio in [*([0.5] if halves else []), 1.0, *finer]:
        resolution = round(_gaps(places[0], common[0]) * ratio) + (not places[0].periodic[0]) if common else None
        name = "the given grids" if ratio == 1 else f"{ratio:g} x as fine"
        name = name if resolution is None else str(resolution)
        made.append(_given(base, name, resolution) if ratio == 1 else _regridded(base, name, resolution, ratio))
    return made


def _thinned(base: list[Pair], common: list[int], seed: int) -> list[Rung]:
    """A quarter, half and all of the points."""
    made = []
    for share in (4, 2):
        counts = [min(given.discretization.n, max(2, given.discretization.n // share)) for given, _ in base]
        fields = [
            some_points(given, count, stream(seed, "some points", share, i))
            for i, ((given, _), count) in enumerate(zip(base, counts, strict=True))
        ]
        at = [wanted.discretization for _, wanted in base]
        made.append(Rung(f"1/{share} of the points", None, fields, at, [wanted for _, wanted in base], 1 / share))
    return [*made, _given(base, "all points", common[0] if common else None)]


def _given(pairs: list[Pair], name: str, resolution: int | None) -> Rung:
    return Rung(name, resolution, [a for a, _ in pairs], [u.discretization for _, u in pairs], [u for _, u in pairs])


def _regridded(pairs: list[Pair], name: str, resolution: int | None, ratio: float) -> Rung:
    made: dict[str, Discretization] = {}
    fields, at = [], []
    for given, wanted in pairs:
        source = given.discretization
        if source.key not in made:
            made[source.key] = regrid(source, ratio)
        grid = made[source.key]
        fields.append(interpolate(given, grid))
        at.append(grid if wanted.discretization.key == source.key else wanted.discretization)
    return Rung(name, resolution, fields, at, ratio=ratio)


def _gaps(at: Discretization, points: int, axis: int = 0) -> int:
    """Gaps between so many points along an axis."""
    return points if at.periodic[axis] else points - 1


def regrid(source: Discretization, ratio: float) -> Discretization:
    """A tensor grid with `ratio` times as many gaps along each axis, spread as they are there.

    >>> regrid(Discretization.uniform(5), 2).shape, regrid(Discretization.uniform(4, periodic=True), 2).shape
    ((9,), (8,))
    """
    if source.axes is None:
        raise InvalidInputError(f"only tensor grids can be refined, not {source}")
    axes = []
    for axis, (low, high), wraps in zip(source.axes, source.bounds.tolist(), source.periodic, strict=True):
        x = np.append(axis.numpy(), axis[0].item() + high - low) if wraps else axis.numpy()
        gaps = max(1, round((len(x) - 1) * ratio))
        fine = np.interp(np.linspace(0, len(x) - 1, gaps + 1), np.arange(len(x)), x)
        axes.append(np.sort(low + np.mod(fine[:-1] - low, high - low)) if wraps else fine)
    return Discretization.tensor_grid(*axes, bounds=source.bounds.tolist(), periodic=source.periodic)


def some_points(field: Field, count: int, generator: torch.Generator) -> Field:
    """`count` of the points, chosen at random, with weights that still add up to the size of the domain.

    Where the domain is the whole box these are the weights of cells; elsewhere the weight of a point that is left out
    goes to its nearest neighbour.

    >>> corner = Discretization.mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
    >>> some_points(Field(corner, corner.points), 2, torch.Generator()).discretization.weights.sum().item()
    0.5
    """
    source = field.discretization
    some = random_subset(field, count, generator)
    if abs(float(source.weights.sum()) / source.volume - 1) < 1e-6:
        return some
    points = some.discretization.points
    nearest = KDTree(points.numpy()).query(source.points.numpy())[1]
    weights = np.bincount(nearest, source.weights.numpy(), minlength=count)
    made = Discretization.points(points, weights, bounds=source.bounds.tolist(), periodic=source.periodic)
    return Field.unchecked(made, some.values)


def random_pair(given: Field, wanted: Field, count: int, generator: torch.Generator) -> Pair:
    """Input and output at the same `count` of their points; an output that has points of its own keeps them.

    >>> grid = Discretization.uniform(9)
    >>> a, u = random_pair(Field(grid, grid.points), Field(grid, grid.points**2), 5, torch.Generator())
    >>> a.discretization is u.discretization, torch.equal(a.values**2, u.values)
    (True, True)
    """
    if given.discretization.key != wanted.discretization.key:
        return some_points(given, count, generator), wanted
    both = Field.unchecked(given.discretization, torch.cat([given.values, wanted.values], dim=-1))
    some = some_points(both, count, generator)
    first, second = some.values.split([given.channels, wanted.channels], dim=-1)
    return Field.unchecked(some.discretization, first), Field.unchecked(some.discretization, second)


def permuted(field: Field, order: torch.Tensor) -> Field:
    """The same points and weights in another order, as a point set.

    >>> grid = Discretization.uniform(3)
    >>> permuted(Field(grid, grid.points), torch.tensor([2, 0, 1])).values[:, 0].tolist()
    [1.0, 0.0, 0.5]
    """
    source = field.discretization
    made = Discretization.points(
        source.points[order], source.weights[order], bounds=source.bounds.tolist(), periodic=source.periodic
    )
    return Field.unchecked(made, field.values[..., order, :])


@lru_cache(maxsize=16)
def coincident(some: Discretization, among: Discretization) -> tuple[torch.Tensor, torch.Tensor]:
    """Places of the points that both have: in the first, and in the second.

    >>> coincident(Discretization.uniform(3), Discretization.uniform(5))[1].tolist()
    [0, 2, 4]
    """
    scale = (among.bounds[:, 1] - among.bounds[:, 0]).cpu().numpy()
    distance, nearest = KDTree(among.points.cpu().numpy() / scale).query(some.points.cpu().numpy() / scale)
    here = np.flatnonzero(distance < 1e-9)
    return torch.from_numpy(here), torch.from_numpy(nearest[here])

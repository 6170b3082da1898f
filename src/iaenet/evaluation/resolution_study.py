"""The cases of a resolution study: the same functions on coarser and finer grids, or on fewer points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from iaenet.data.dataset import Dataset
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.functions.point_checks import check_points
from iaenet.functions.resample import random_subset, refined
from iaenet.functions.seeds import stream
from iaenet.models.base import Given, Pair

FINEST = 2**17  # points of the finest grid that is made by interpolation, unless twice the given one has more
COARSEST = 16  # gaps along each axis of the coarsest grid that is made
FINER = (2, 4, 8)  # how many times finer than the data


@dataclass(frozen=True)
class StudyCase:
    """Inputs of some samples at one resolution, the query points of their outputs, and these where they are known."""

    name: str
    resolution: int | None  # None where samples have none in common, or where points are left out
    given: list[Any]  # a `Field` or a `Sample` each
    query_points: list[Discretization]
    wanted: list[Field] = field(default_factory=list)  # none if the data have none at this resolution
    ratio: float = 1.0  # how many times finer than the data's own

    @property
    def size(self) -> float:
        """`n^(1/d)`: points along an axis, or as many as there would be on a grid."""
        points = [[part.discretization for part in one.parts] for one in self.given]
        return float(np.mean([max(at.n ** (1 / at.dim) for at in sample) for sample in points]))


def study_cases(
    dataset: Dataset, samples: Sequence[int], resolutions: Sequence[int] | None = None, seed: int = 0
) -> list[StudyCase]:
    """Some samples (by their index in the data set) at each resolution, coarsest first.

    resolutions: those not in the data are interpolated from the finest grid there is. Default: all that the samples
        have in common. Samples of one resolution each are then also halved and refined: grids to every second point
        and to 2, 4 and 8 times more, point sets to random halves and quarters.

    >>> import tempfile, torch
    >>> from iaenet import load_dataset, write_dataset
    >>> from iaenet.data.problems.problem import Channel
    >>> grid = Discretization.uniform(33)
    >>> pair = Field(grid, torch.ones(33, 1)), Field(grid, torch.zeros(33, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dataset(f"{folder}/a.h5", [pair], inputs=[Channel("a")], outputs=[Channel("u")])
    ...     [case.name for case in study_cases(load_dataset(f"{folder}/a.h5"), [0])]
    ['17', '33', '65', '129', '257']
    """
    found = [dataset.sample(i) for i in samples]
    common = sorted(set.intersection(*(set(pairs) for pairs in found)))
    base = [pairs[max(common or pairs)] for pairs in found]
    grids = all(is_grid(given) for given, _ in base)
    for resolution in resolutions or () if grids else ():
        check_points((resolution,) * base[0][1].discretization.dim)
    if resolutions is None and len(common) <= 1:
        return _refined(base, common) if grids else _thinned(base, common, seed)
    if not common or not (grids or set(resolutions or ()) <= set(common)):
        raise InvalidInputError(
            f"{dataset.path}: the samples have resolutions {common} in common and cannot be brought to others; "
            "leave the resolutions out"
        )
    finest = base[0][0].discretization
    return [
        _given([pairs[s] for pairs in found], str(s), s)
        if s in common
        else _regridded(base, str(s), s, _gaps(finest, s) / _gaps(finest, common[-1]))
        for s in sorted(set(resolutions or common))
    ]


def _refined(base: list[Pair], common: list[int]) -> list[StudyCase]:
    """The grids themselves, every second point of them, and grids of moderate size that are finer."""
    grids = [given.discretization for given, _ in base]
    gaps = [_gaps(grid, n, axis) for grid in grids for axis, n in enumerate(grid.shape)]
    halves = min(gaps) >= 2 * COARSEST and all(n % 2 == 0 for n in gaps)
    most = max(grid.n for grid in grids)
    finer = [float(ratio) for ratio in FINER if ratio == 2 or most * ratio ** grids[0].dim <= FINEST]
    made = []
    for ratio in [*([0.5] if halves else []), 1.0, *finer]:
        resolution = round(_gaps(grids[0], common[0]) * ratio) + (not grids[0].periodic[0]) if common else None
        name = "the given grids" if ratio == 1 else f"{ratio:g} x as fine"
        name = name if resolution is None else str(resolution)
        made.append(_given(base, name, resolution) if ratio == 1 else _regridded(base, name, resolution, ratio))
    return made


def _thinned(base: list[Pair], common: list[int], seed: int) -> list[StudyCase]:
    """A quarter, half and all of the points."""
    made = []
    wanted = [wanted for _, wanted in base]
    for share in (4, 2):
        fields = [thinned(given, 1 / share, stream(seed, "some points", share, i)) for i, (given, _) in enumerate(base)]
        at = [one.discretization for one in wanted]
        made.append(StudyCase(f"1/{share} of the points", None, fields, at, wanted, 1 / share))
    return [*made, _given(base, "all points", common[0] if common else None)]


def thinned(given: Given, share: float, generator: torch.Generator) -> Given:
    """An input at a share of its points, chosen at random; of a sample, of each of its functions."""
    found = []
    for part in given.parts:
        n = part.discretization.n
        found += random_subset([part], min(n, max(2, math.floor(n * share))), generator) if n > 1 else [part]
    return given.with_parts(found)


def is_grid(given: Given) -> bool:
    """Whether an input is one function on a tensor grid."""
    return len(given.parts) == 1 and given.parts[0].discretization.axes is not None


def _given(pairs: list[Pair], name: str, resolution: int | None) -> StudyCase:
    at = [u.discretization for _, u in pairs]
    return StudyCase(name, resolution, [a for a, _ in pairs], at, [u for _, u in pairs])


def _regridded(pairs: list[Pair], name: str, resolution: int | None, ratio: float) -> StudyCase:
    made: dict[str, Discretization] = {}
    fields, at = [], []
    for given, wanted in pairs:
        source = given.discretization
        if source.key not in made:
            made[source.key] = refined(source, ratio)
        grid = made[source.key]
        fields.append(interpolate(given, grid))
        at.append(grid if wanted.discretization.key == source.key else wanted.discretization)
    return StudyCase(name, resolution, fields, at, ratio=ratio)


def _gaps(at: Discretization, points: int, axis: int = 0) -> int:
    """Gaps between so many points along an axis."""
    return points if at.periodic[axis] else points - 1


def random_pair(given: Field, wanted: Field, count: int, seed: int, number: int) -> Pair:
    """Input and output at the same `count` of their points; an output that has points of its own keeps them.

    >>> import torch
    >>> grid = Discretization.uniform(9)
    >>> a, u = random_pair(Field(grid, grid.points), Field(grid, grid.points**2), 5, 0, 0)
    >>> a.discretization is u.discretization, torch.equal(a.values**2, u.values)
    (True, True)
    """
    both = [given, wanted] if given.discretization.key == wanted.discretization.key else [given]
    some = random_subset(both, count, stream(seed, "random points", number))
    return some[0], some[-1] if len(both) == 2 else wanted

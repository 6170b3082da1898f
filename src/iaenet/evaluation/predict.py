"""A trained operator applied to any functions at any points, with notes where these lie far from its training."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from iaenet.data.reading.files import naming
from iaenet.errors import InvalidInputError
from iaenet.evaluation.bands import Band, BandMaker
from iaenet.evaluation.calibration import Calibration, Kind, load_calibration
from iaenet.evaluation.input_checks import InputChecks
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.models.base import Given, as_given
from iaenet.models.differentiated import Derivative, differentiated
from iaenet.models.inference import MOST_POINTS, ModelLike, infer
from iaenet.models.operator import Operator

At = int | Sequence[int] | Discretization | Sequence[Discretization] | None
Target = Callable[[int, Given], Discretization | None]  # of input i, which is this; None: its own points


@dataclass(frozen=True)
class Prediction:
    """Predicted functions, and what a careful reader of them should know."""

    fields: list[Field]
    notes: list[str]
    mismatch: float | None = None  # the largest that was estimated, see `iaenet.evaluation.mismatch`
    bands: list[Band] = dataclasses.field(default_factory=list)  # of the level asked for
    gradients: list[Field] = dataclasses.field(default_factory=list)  # if asked for: (n, c d), du_1/dx_1, du_1/dx_2, ..
    laplacians: list[Field] = dataclasses.field(default_factory=list)  # if asked for: (n, c)


def predict(
    operator: Operator,
    fields: Any,
    at: At = None,
    *,
    band: float | None = None,
    band_kind: Kind = "points",
    calibration: Calibration | None = None,
    derivatives: Derivative | Sequence[Derivative] = (),
) -> Prediction:
    """The output function of each input function, at its own points or `at` others.

    Args:
        operator: a trained model, as `iaenet.load(run)` gives it.
        fields: one function or `Sample`, a batch, or any number of them on any points.
        at: 256 or (64, 64), a uniform grid over the domain trained on; or a discretization for all functions, or one
            for each. Default: the input's own points, of a sample those of its first function.
        band: level of a band around each prediction, such as 0.9. Default: no bands.
        band_kind: what a band is to hold: points (that share of every function, in the mean) or function (all of a
            function, with that probability). Default points.
        calibration: that of the model, as `calibrate` gives it. Default: the one in the run that it was loaded from.
        derivatives: gradient, laplacian, or both: of each prediction, at its points. Default: none.

    There is a note, and an estimate of the discretization mismatch, where an input has less than half of the points of
    the coarsest one trained on, is a point set where only grids were trained on (or the reverse), or lies in a domain
    that differs by more than 1 % of its width. Another dimension, other periodic axes or another number of channels are
    refused.

    >>> from iaenet import IAENet
    >>> from iaenet.functions.normalizer import Normalizer
    >>> from iaenet.models.operator import describe
    >>> grid = Discretization.uniform(64)
    >>> metadata = {"trained": describe([grid])}
    >>> operator = Operator(IAENet(1, 1, blocks=1), Normalizer([0.0], [1.0]), Normalizer([0.0], [1.0]), metadata)
    >>> found = predict(operator, Field(grid, grid.points.float()), at=100)
    >>> found.fields[0].values.shape, found.notes
    (torch.Size([100, 1]), [])
    """
    checks = InputChecks(operator)
    given = fields if isinstance(fields, Sequence) else [as_given(fields, "input")]
    maker = None if band is None else band_maker(operator, band, band_kind, calibration)
    plain = operator if maker is None else maker.model
    which = [derivatives] if isinstance(derivatives, str) else derivatives
    wide = differentiated(operator, which, plain) if which else None
    found = Prediction([], [])
    for start, made in predictions(wide or plain, given, targets(operator, at, len(given)), checks):
        end, slopes = (made, {}) if wide is None else wide.split(made)
        around = None if maker is None else maker.band(start, end)
        found.fields.append(end if around is None else around.prediction)
        found.bands.extend([] if around is None else [around])
        found.gradients.extend([slopes["gradient"]] if "gradient" in slopes else [])
        found.laplacians.extend([slopes["laplacian"]] if "laplacian" in slopes else [])
    return dataclasses.replace(found, notes=checks.notes, mismatch=checks.mismatch)


def band_maker(operator: Operator, level: float, kind: Kind, calibration: Calibration | None = None) -> BandMaker:
    """What puts bands around predictions; the calibration is that of the run that the model was loaded from."""
    if calibration is None:
        run = operator.metadata.get("run")
        if run is None:
            raise InvalidInputError("a band needs a calibration: iaenet.calibrate(model, pairs) makes one")
        calibration = load_calibration(run)
    return BandMaker(operator, calibration, level, kind)


def targets(operator: Operator, at: At, count: int) -> Target:
    """The query points of each function, from the words of `predict`."""
    if at is None:
        vectors = (operator.metadata.get("targets") or {}).get("points") == [1, 1]
        return lambda _, source: _one_point(source.discretization) if vectors else None
    if isinstance(at, Discretization):
        one = at
        return lambda _, __: one
    if isinstance(at, int | np.integer):
        at = [at]
    if all(isinstance(each, Discretization) for each in at):
        each_own: list[Any] = list(at)
        if len(each_own) != count:
            raise InvalidInputError(f"{count} functions, but {len(each_own)} sets of query points")
        return lambda i, _: each_own[i]
    sizes: list[Any] = list(at)
    box = (operator.metadata.get("trained") or {}).get("bounds")
    if "sample" in operator.metadata:  # functions may lie elsewhere than the output
        space = operator.metadata["targets"]
        whole = _rows(space["bounds"])
        return lambda _, __: _grid(tuple(sizes), whole, whole, tuple(space["periodic"]))

    def grid(_: int, source: Given) -> Discretization:
        own = source.discretization
        return _grid(tuple(sizes), _rows(box), _rows(own.bounds.tolist()), own.periodic)

    return grid


def predictions(
    model: ModelLike,
    fields: Sequence[Given],
    at: Target,
    checks: InputChecks,
    name: Callable[[int], str] = "sample {}".format,
) -> Iterator[tuple[Any, Field]]:
    """Input and prediction of each function, in order; functions are read, and batches made, as they are needed."""
    waiting: list[tuple[str, Given, Discretization]] = []
    room = MOST_POINTS
    for i, field in enumerate(fields):
        with naming(name(i)):
            checks.check(field)
            target = at(i, field)
            checks.compare(name(i), field, target)
        target = field.discretization if target is None else target
        size = field.count * max(field.most_points, target.n)
        if waiting and size > room:
            yield from _run(model, waiting)
            waiting, room = [], MOST_POINTS
        waiting.append((name(i), field, target))
        room -= size
    if waiting:
        yield from _run(model, waiting)


def _run(model: ModelLike, batch: list[tuple[str, Given, Discretization]]) -> Iterator[tuple[Any, Field]]:
    names, fields, query_points = zip(*batch, strict=True)
    try:
        found = infer(model, fields, query_points)
    except InvalidInputError:  # which of them it was, one by one will show
        found = []
        for name, field, target in zip(names, fields, query_points, strict=True):
            with naming(name):
                found.append(infer(model, field, target))
    yield from zip(fields, found, strict=True)


def _one_point(source: Discretization) -> Discretization:
    """A vector is a function on one point, wherever in the domain that may be."""
    middle = source.bounds.mean(dim=1, keepdim=True).T
    return Discretization.points(middle, bounds=source.bounds.tolist(), periodic=source.periodic)


@lru_cache(maxsize=64)
def _grid(sizes: tuple[int, ...], trained: Any, domain: Any, periodic: tuple[bool, ...]) -> Discretization:
    """A uniform grid over the bounds trained on, as points of the input's domain."""
    d = len(domain)
    if len(sizes) not in (1, d):
        raise InvalidInputError(f"a grid of {len(sizes)} sizes, but the functions have {d} dimensions")
    within = trained is not None and all(
        low <= a and b <= high for (a, b), (low, high) in zip(trained, domain, strict=True)
    )
    shape = sizes * d if len(sizes) == 1 else sizes
    grid = Discretization.uniform(shape, periodic, trained if within else domain)
    assert grid.axes is not None
    return Discretization.tensor_grid(*grid.axes, periodic=periodic, bounds=domain)


def _rows(box: Any) -> Any:
    return None if box is None else tuple((float(low), float(high)) for low, high in box)

"""Measuring the invariance of a model: the same functions on other grids and points, reordered, in other batches."""

import math
import sys
from collections.abc import Sequence

import numpy as np
import torch

from iaenet.data.dataset import Dataset
from iaenet.errors import InvalidInputError
from iaenet.evaluation.certificate import Certificate, Line, Thresholds, fitted_order
from iaenet.evaluation.evaluate import Progress, only_split
from iaenet.evaluation.resolution_study import StudyCase, is_grid, study_cases, thinned
from iaenet.evaluation.study_results import (
    StudyResult,
    at_points,
    case_mismatch,
    difference,
    differences,
    random_case,
    run_case,
)
from iaenet.functions.field import Field
from iaenet.functions.local_refinement import half_refined, low_half
from iaenet.functions.resample import common_points, permuted
from iaenet.functions.seeds import stream
from iaenet.models.inference import ModelLike, infer

FEW = 4  # functions in the tests of permuted points and of ragged batches


def certify(
    model: ModelLike,
    dataset: Dataset,
    *,
    resolutions: Sequence[int] | None = None,
    training_resolution: int | None = None,
    thresholds: Thresholds | None = None,
    samples: int = 16,
    seed: int = 0,
    progress: Progress | None = None,
) -> Certificate:
    """Whether the output depends on the function and not on how it is sampled: `Thresholds` says what that means.

    resolutions: those to compare, see `study_cases`. Default: those of the data.
    training_resolution: resolution that the model was trained on. Coarser grids are shown but not judged: they may not
        carry what the input is made of. Default: unknown; the resolution of the smallest error stands for it, and all
        resolutions in the data are judged.
    thresholds: limits. Default `Thresholds()`.
    samples: how many, spread over the data set. Default 16.
    seed: of random points and orders. Default 0.
    progress: called with the numbers of steps done and in all.

    A discretization that the model refuses is a line that fails, with the reason.

    >>> import tempfile
    >>> from iaenet import Discretization, load_dataset, write_dataset
    >>> from iaenet.data.problems.problem import Channel
    >>> grid = Discretization.uniform(64, periodic=True)
    >>> wave = Field(grid, torch.sin(2 * torch.pi * grid.points).float())
    >>> def mean_removed(field, at=None):
    ...     if not isinstance(field, Field):
    ...         return [mean_removed(one) for one in field]
    ...     mean = field.discretization.integrate(field.values)[..., None, :]
    ...     return Field(field.discretization, field.values - mean)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     channels = {"inputs": [Channel("a")], "outputs": [Channel("u")]}
    ...     write_dataset(f"{folder}/a.h5", [(wave, wave)], splits=["test"], **channels)
    ...     certify(mean_removed, load_dataset(f"{folder}/a.h5")).passed
    True
    """
    split = only_split(dataset)
    if samples < 1:
        raise InvalidInputError(f"samples must be at least 1, got {samples}")
    limits = thresholds or Thresholds()
    chosen = np.unique(np.linspace(0, dataset.samples - 1, min(samples, dataset.samples)).round().astype(int)).tolist()
    cases = study_cases(dataset, chosen, resolutions, seed)
    own = {case.resolution for case in cases if case.ratio == 1}
    if training_resolution is None and len(own) == 1:
        (training_resolution,) = own
    results: list[StudyResult] = []
    for case in cases:
        results.append(run_case(model, case))
        if progress is not None:
            progress(len(results), len(cases))
    lines = [_refused(one.case, one.refused) for one in results if one.refused]
    accepted = [one for one in results if not one.refused]
    grids = all(is_grid(given) for case in cases for given in case.given)
    facts = len(chosen), split, dataset.content_hash, grids
    if not accepted:
        return Certificate(tuple(lines), limits, "none", "none", None, *facts)
    finest, home = accepted[-1], _home(accepted, training_resolution)
    spared = {one.case.name: _spared(one.case, training_resolution) for one in accepted}
    limit = limits.mismatch_limit(home.error)
    for one in accepted[:-1]:
        lines.append(_judged("mismatch", one.case, case_mismatch(model, one, finest), limit, spared[one.case.name]))
    lines += _order(finest.case, lines, limits, limit)
    for one in accepted:
        if one is not home and one.error is not None and home.error is not None:
            ratio = _ratio(one.error, home.error, limits)
            lines.append(_judged("error ratio", one.case, ratio, limits.error_ratio, spared[one.case.name]))
    lines += _random(model, finest, home, limits, seed)
    lines += [
        _refined(model, home, limits),
        _permuted(model, home, limits, seed),
        _ragged(model, accepted, home, limits),
    ]
    return Certificate(tuple(lines), limits, finest.case.name, home.case.name, home.error, *facts)


def _home(accepted: list[StudyResult], training: int | None) -> StudyResult:
    """The training grid; if it is not known or not there, what is nearest to it."""
    own = [one for one in accepted if one.case.ratio == 1] or accepted
    among = [one for one in own if one.error is not None] or own
    if training is None:
        return min(among, key=lambda one: one.error or 0.0)
    return min(among, key=lambda one: abs(math.log((one.case.resolution or training) / training)))


def _spared(case: StudyCase, training: int | None) -> str:
    """Why a case is not judged, if it is not."""
    if training is not None and case.resolution is not None:
        return "coarser than the training grid" if case.resolution < training else ""
    return "fewer points than the data have" if case.ratio < 1 else ""


def _judged(test: str, case: StudyCase, value: float, limit: float, spared: str = "", random: bool = False) -> Line:
    return Line(test, case.name, value, limit, None if spared else value <= limit, spared, case.size, random)


def _refused(case: StudyCase, reason: str, random: bool = False) -> Line:
    return Line("mismatch", case.name, None, None, False, reason, case.size, random)


def _ratio(error: float, unit: float, limits: Thresholds) -> float:
    return max(error, limits.rounding) / max(unit, limits.rounding)


def _order(finest: StudyCase, lines: list[Line], limits: Thresholds, limit: float) -> list[Line]:
    """The order at which the mismatch falls, from at least two grids that are coarser than the finest."""
    grids = [line for line in lines if line.value is not None and line.size is not None and line.size < finest.size]
    if len(grids) < 2:
        return []
    on = f"{grids[0].on} to {grids[-1].on}"
    judged = [line.value or 0.0 for line in grids if line.passed is not None]
    values = [max(line.value or 0.0, limits.rounding) for line in grids]
    # Up to the first that is lost in rounding: those after it say nothing about the order.
    count = next((i + 1 for i, value in enumerate(values) if value <= limits.rounding), len(values))
    if count == 1:
        note = "the mismatch is that of rounding"
        return [Line("order", on, None, limits.order, True if judged else None, note)]
    order, _ = fitted_order([line.size or 0.0 for line in grids[:count]], values[:count], finest.size)
    if not judged:
        return [Line("order", on, order, limits.order, None, grids[0].note)]
    small = order < limits.order and max(judged) <= limit / 10
    note = "the mismatch is below a tenth of its limit" if small else ""
    return [Line("order", on, order, limits.order, small or order >= limits.order, note)]


def _random(model: ModelLike, finest: StudyResult, home: StudyResult, limits: Thresholds, seed: int) -> list[Line]:
    """Mismatch and error ratio on random points of the finest inputs, as many as the training grid has."""
    if len(finest.case.given[0].parts) > 1:
        return _random_samples(model, finest, home, limits, seed)
    grids = [given.discretization for given in finest.case.given]
    counts = [given.discretization.n for given in home.case.given]
    name = f"{counts[0]} random points" if len(set(counts)) == 1 else "as many random points"
    if any(at.axes is None for at in grids):
        counts, name = [min(at.n, max(2, 9 * at.n // 10)) for at in grids], "9/10 of the points"
    elif any(at.n < 2 * count for at, count in zip(grids, counts, strict=True)):
        note = f"the finest grid has only {grids[0].n} points to choose from"
        return [Line("mismatch", name, None, None, None, note, random=True)]
    case = random_case(finest, counts, name, seed)
    found = run_case(model, case)
    if found.refused:
        return [_refused(case, found.refused, random=True)]
    channels = found.found[0].channels
    before, known = ([_channels(one, part) for one in case.wanted] for part in (slice(channels), slice(channels, None)))
    limit = limits.mismatch_limit(home.error, random=True)
    lines = [_judged("mismatch", case, difference(found.found, before), limit, random=True)]
    if home.error is not None and finest.case.wanted:
        ratio = _ratio(difference(found.found, known), home.error, limits)
        lines.append(_judged("error ratio", case, ratio, limits.random_ratio, random=True))
    return lines


def _random_samples(
    model: ModelLike, finest: StudyResult, home: StudyResult, limits: Thresholds, seed: int
) -> list[Line]:
    """The same for samples, with some points of each of their functions left out."""
    case = finest.case
    some = [thinned(one, 0.9, stream(seed, "some points", i)) for i, one in enumerate(case.given)]
    fewer = StudyCase("9/10 of the points", None, some, case.query_points, case.wanted)
    found = run_case(model, fewer)
    if found.refused:
        return [_refused(fewer, found.refused, random=True)]
    limit = limits.mismatch_limit(home.error, random=True)
    lines = [_judged("mismatch", fewer, difference(found.found, finest.found), limit, random=True)]
    if home.error is not None and found.error is not None:
        lines.append(
            _judged("error ratio", fewer, _ratio(found.error, home.error, limits), limits.random_ratio, random=True)
        )
    return lines


def _refined(model: ModelLike, home: StudyResult, limits: Thresholds) -> Line:
    """One half of the domain sampled four times denser leaves the output in the other half what it is."""
    limit = max(limits.refined, limits.mismatch_limit(home.error))
    if len(home.case.given[0].parts) > 1:
        return Line("refined half", home.case.name, None, limit, None, "for inputs of one function")
    worst = 0.0
    try:
        for given, found in list(zip(home.case.given, home.found, strict=True))[:FEW]:
            fine = half_refined(given)
            own = found.discretization.key == given.discretization.key
            try:
                after = infer(model, fine, found.discretization)
            except InvalidInputError:
                if not own:
                    raise
                after = infer(model, fine)  # a model without query points: on all points, the old ones among them
            here, there = common_points(found.discretization, after.discretization)
            high = ~low_half(found.discretization, given.discretization)[here]
            if bool(high.any()):
                before = at_points(found, here[high])
                now = Field.unchecked(before.discretization, after.values[..., there[high], :])
                worst = max(worst, *differences([now], [before]))
    except InvalidInputError as reason:
        return Line("refined half", home.case.name, None, limit, False, str(reason))
    return Line("refined half", home.case.name, worst, limit, worst <= limit)


def _permuted(model: ModelLike, home: StudyResult, limits: Thresholds, seed: int) -> Line:
    """Points in another order give the same values in that order."""
    on = f"{home.case.name}, as points"
    worst = 0.0
    try:
        for i, (given, at) in enumerate(list(zip(home.case.given, home.case.query_points, strict=True))[:FEW]):
            generator = stream(seed, "order", i)
            orders = [torch.randperm(part.discretization.n, generator=generator) for part in given.parts]
            one, other = (
                given.with_parts([permuted(part, new) for part, new in zip(given.parts, some, strict=True)])
                for some in ([order.sort().values for order in orders], orders)
            )
            order = orders[0]
            if given.points_key == (at.key,):
                true = infer(model, one)
                found = infer(model, other)
                true = Field.unchecked(found.discretization, true.values[order])
            else:
                true, found = infer(model, one, at), infer(model, other, at)
            worst = max(worst, *differences([found], [true]))
    except InvalidInputError as reason:
        return Line("permuted points", on, None, limits.rounding, False, str(reason))
    return Line("permuted points", on, worst, limits.rounding, worst <= limits.rounding)


def _ragged(model: ModelLike, accepted: list[StudyResult], home: StudyResult, limits: Thresholds) -> Line:
    """A function gives the same in a batch with others, on the same points and on other ones, as alone."""
    fields, query_points = [], []
    for i, one in enumerate([home, *accepted[:FEW]]):
        fields.append(one.case.given[i % len(one.case.given)])
        query_points.append(one.case.query_points[i % len(one.case.query_points)])
    on = f"{len(fields)} functions"
    try:
        together = infer(model, fields, query_points, most_points=sys.maxsize)
        alone = [infer(model, field, at) for field, at in zip(fields, query_points, strict=True)]
    except InvalidInputError as reason:
        return Line("ragged batch", on, None, limits.rounding, False, str(reason))
    worst = max(differences(together, alone))
    return Line("ragged batch", on, worst, limits.rounding, worst <= limits.rounding)


def _channels(field: Field, part: slice) -> Field:
    return Field.unchecked(field.discretization, field.values[:, part])

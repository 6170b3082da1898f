"""What a model makes of the cases of a resolution study, and how far its outputs are apart."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from iaenet.errors import InvalidInputError
from iaenet.evaluation.resolution_study import StudyCase, random_pair
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.functions.metrics import relative_l2
from iaenet.functions.resample import common_points, restrict
from iaenet.models.base import group_by_discretization
from iaenet.models.inference import ModelLike, infer

DRAWS = 8  # sets of random points that the samples share
ENOUGH = 16  # outputs are compared on common points if at least one in so many is common


@dataclass(frozen=True)
class StudyResult:
    """The outputs of a model for the inputs of a case, or why it gave none."""

    case: StudyCase
    found: list[Field]
    refused: str = ""

    @cached_property
    def error(self) -> float | None:
        """Mean relative L2 error, if the outputs are known."""
        return None if self.refused or not self.case.wanted else difference(self.found, self.case.wanted)


def run_case(model: ModelLike, case: StudyCase) -> StudyResult:
    """The outputs of a model for a case, functions on different points apart from each other.

    >>> grid = Discretization.uniform(3)
    >>> ones = [Field(grid, torch.ones(3, 1))]
    >>> run_case(lambda field, at=None: field, StudyCase("3", 3, ones, [grid], ones)).error
    0.0
    """
    try:
        return StudyResult(case, infer(model, case.given, case.query_points, ragged=False))
    except InvalidInputError as reason:
        return StudyResult(case, [], str(reason))


def differences(found: list[Field], true: list[Field]) -> list[float]:
    """`||found - true|| / ||true||` of each function.

    >>> grid = Discretization.uniform(3)
    >>> differences([Field(grid, torch.full((3, 1), 1.5))], [Field(grid, torch.ones(3, 1))])
    [0.5]
    """
    return [float(relative_l2(one.to(torch.float64), other)) for one, other in zip(found, true, strict=True)]


def difference(found: list[Field], true: list[Field]) -> float:
    """Mean over functions of `||found - true|| / ||true||`."""
    return float(np.mean(differences(found, true)))


def case_mismatch(model: ModelLike, one: StudyResult, finest: StudyResult) -> float:
    """Mean of `||u_s - u_S|| / ||u_S||`, s the points of one case and S those of the finest.

    On the points that both outputs have. If these are few, u_S is evaluated at the points of u_s, and interpolated
    where a model gives its output on the input's points only.
    """
    first, second = [], []
    common: dict[tuple[str, str], tuple[torch.Tensor, torch.Tensor]] = {}
    for given, coarse, fine in zip(finest.case.given, one.found, finest.found, strict=True):
        key = coarse.discretization.key, fine.discretization.key
        if key not in common:
            common[key] = common_points(coarse.discretization, fine.discretization)
        here, there = common[key]
        if ENOUGH * len(here) >= coarse.discretization.n:
            first.append(at_points(coarse, here))
            second.append(at_points(fine, there))
        else:
            first.append(coarse)
            try:
                second.append(infer(model, given, coarse.discretization))
            except InvalidInputError:
                second.append(interpolate(fine, coarse.discretization))
        second[-1] = _with(first[-1], second[-1].values)  # with the same weights
    return difference(first, second)


def random_case(finest: StudyResult, counts: list[int], name: str, seed: int) -> StudyCase:
    """The inputs of the finest case at some of their points, chosen at random, so many for each sample.

    What is wanted is the model's own output from all points and, as further channels, the known output if there is one.

    >>> grid = Discretization.uniform(9)
    >>> line = [Field(grid, grid.points)]
    >>> some = random_case(StudyResult(StudyCase("9", 9, line, [grid]), line), [5], "5 random points", seed=0)
    >>> some.given[0].discretization.n, torch.equal(some.given[0].values, some.wanted[0].values)
    (5, True)
    """
    case = finest.case
    truth = list(finest.found)
    if case.wanted:
        both = zip(finest.found, case.wanted, strict=True)
        truth = [_with(out, torch.cat([out.values, known.values.to(out.values)], dim=-1)) for out, known in both]
    given, wanted = list(case.given), list(truth)
    for members in group_by_discretization(case.given, case.query_points):
        for draw in range(min(DRAWS, len(members))):
            some = members[draw::DRAWS]
            first, second = (
                _with(fields[some[0]], torch.stack([fields[i].values for i in some])) for fields in (case.given, truth)
            )
            first, second = random_pair(first, second, counts[some[0]], seed, some[0])
            for row, i in enumerate(some):
                given[i], wanted[i] = _with(first, first.values[row]), _with(second, second.values[row])
    return StudyCase(name, None, given, [one.discretization for one in wanted], wanted)


def _with(field: Field, values: torch.Tensor) -> Field:
    return Field.unchecked(field.discretization, values)


def at_points(field: Field, indices: torch.Tensor) -> Field:
    """The field at some of its points, with their weights."""
    whole = field.discretization
    part = Discretization(whole.points[indices], whole.weights[indices], whole.bounds, whole.periodic)
    return restrict(field, indices, part)

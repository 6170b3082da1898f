"""What a model makes of the same functions on different points, and how far its answers are apart."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from iaenet.errors import InvalidInputError
from iaenet.evaluation.resolution_study import Rung, coincident, random_pair
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.functions.metrics import relative_l2
from iaenet.models.base import group_by_discretization
from iaenet.models.inference import Ask, ask, ask_all
from iaenet.training.batches import stream

DRAWS = 8  # sets of random points that the samples share
ENOUGH = 16  # outputs are compared on common points if at least one in so many is common


@dataclass(frozen=True)
class Answer:
    """The outputs of a model for the inputs of a rung, or why it gave none."""

    rung: Rung
    found: list[Field]
    refused: str = ""

    @cached_property
    def error(self) -> float | None:
        """Mean relative L2 error, if the outputs are known."""
        return None if self.refused or not self.rung.wanted else difference(self.found, self.rung.wanted)


def answer(model: Ask, rung: Rung) -> Answer:
    """Ask a model for the outputs of a rung.

    >>> grid = Discretization.uniform(3)
    >>> ones = [Field(grid, torch.ones(3, 1))]
    >>> answer(lambda field, at=None: field, Rung("3", 3, ones, [grid], ones)).error
    0.0
    """
    try:
        return Answer(rung, ask_all(model, rung.given, rung.at))
    except InvalidInputError as reason:
        return Answer(rung, [], str(reason))


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


def mismatch(model: Ask, one: Answer, finest: Answer) -> float:
    """Mean of `||u_s - u_S|| / ||u_S||`, s the points of one rung and S those of the finest.

    On the points that both outputs have. If these are few the model is asked for u_S at the points of u_s, and a model
    that gives its output on the input's points only is interpolated.
    """
    first, second = [], []
    for given, coarse, fine in zip(finest.rung.given, one.found, finest.found, strict=True):
        here, there = coincident(coarse.discretization, fine.discretization)
        if ENOUGH * len(here) >= coarse.discretization.n:
            first.append(_at(coarse, here))
            second.append(_at(fine, there))
        else:
            first.append(coarse)
            try:
                second.append(ask(model, given, coarse.discretization))
            except InvalidInputError:
                second.append(interpolate(fine, coarse.discretization))
        second[-1] = Field.unchecked(first[-1].discretization, second[-1].values)  # with the same weights
    return difference(first, second)


def drawn(finest: Answer, counts: list[int], name: str, seed: int) -> Rung:
    """The inputs of the finest rung at some of their points, chosen at random, so many for each sample.

    What is wanted is the model's own output from all points and, as further channels, the known output if there is one.

    >>> grid = Discretization.uniform(9)
    >>> line = [Field(grid, grid.points)]
    >>> some = drawn(Answer(Rung("9", 9, line, [grid]), line), [5], "5 random points", seed=0)
    >>> some.given[0].discretization.n, torch.equal(some.given[0].values, some.wanted[0].values)
    (5, True)
    """
    rung = finest.rung
    truth = list(finest.found)
    if rung.wanted:
        both = zip(finest.found, rung.wanted, strict=True)
        truth = [_with(out, torch.cat([out.values, known.values.to(out.values)], dim=-1)) for out, known in both]
    given, wanted = list(rung.given), list(truth)
    for members in group_by_discretization(rung.given, rung.at):
        for draw in range(min(DRAWS, len(members))):
            some = members[draw::DRAWS]
            first, second = (
                _with(fields[some[0]], torch.stack([fields[i].values for i in some])) for fields in (rung.given, truth)
            )
            first, second = random_pair(first, second, counts[some[0]], stream(seed, "random points", some[0]))
            for place, i in enumerate(some):
                given[i], wanted[i] = _with(first, first.values[place]), _with(second, second.values[place])
    return Rung(name, None, given, [one.discretization for one in wanted], wanted)


def _with(field: Field, values: torch.Tensor) -> Field:
    return Field.unchecked(field.discretization, values)


def _at(field: Field, places: torch.Tensor) -> Field:
    """The field at some of its points, with their weights."""
    whole = field.discretization
    part = Discretization(whole.points[places], whole.weights[places], whole.bounds, whole.periodic)
    return Field.unchecked(part, field.values[places])

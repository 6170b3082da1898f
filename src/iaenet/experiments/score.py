"""Errors of a trained network on every column of a table."""

from typing import Any

import torch

from iaenet.data.dataset import Dataset
from iaenet.errors import InvalidInputError
from iaenet.evaluation.certify import certify
from iaenet.evaluation.evaluate import evaluate
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.functions.metrics import relative_l2
from iaenet.models.inference import ModelLike, infer

Scores = dict[str, Any]


def score(model: ModelLike, test: Dataset, home: int, interpolated: bool) -> Scores:
    """Mean relative L2 errors by resolution; `refused` says why there is none.

    `interpolated` adds, for resolutions above `home`, the errors on samples that were interpolated from `home`, input
    and label alike: what the paper's figures above its training resolution are.
    """
    found: Scores = {"errors": {}, "refused": {}, "interpolated": {}}
    for row in evaluate(model, test).rows:
        if row.refused:
            found["refused"][row.on] = row.refused
        else:
            found["errors"][row.on] = row.statistics["mean"]
    for resolution in test.resolutions if interpolated else ():
        if resolution > home and str(resolution) in found["errors"]:
            found["interpolated"][str(resolution)] = on_interpolated(model, test, home, resolution)
    return found


def invariance(model: ModelLike, test: Dataset, home: int) -> Scores:
    """What becomes of the output at `home` when the same functions are given otherwise.

    `points` is the mean error on the points of the inputs without their cells, `refined_half` the largest change of the
    output in one half of the domain when the other is sampled four times denser; `verdict` is that of the certificate.
    """
    part = test.select(resolution=home)
    found: Scores = {"points": None, "points_refused": "", "refined_half": None}
    try:
        errors = []
        for given, wanted in part:
            same = wanted.discretization.key == given.discretization.key
            guess = infer(model, bare(given), None if same else wanted.discretization)
            errors.append(float(relative_l2(Field.unchecked(wanted.discretization, guess.values.double()), wanted)))
        found["points"] = sum(errors) / len(errors)
    except InvalidInputError as reason:
        found["points_refused"] = str(reason)
    certificate = certify(model, test, training_resolution=home)
    found["verdict"] = certificate.verdict
    found["refined_half"] = next((line.value for line in certificate.lines if line.test == "refined half"), None)
    return found


def bare(field: Field) -> Field:
    """A function at the points of a mesh, whose domain has to be found from these; on a grid or surface as it is."""
    at = field.discretization
    if at.cells is None or at.cells.shape[1] != at.dim + 1:
        return field
    points = Discretization.points(at.points, bounds=at.bounds.tolist(), periodic=at.periodic)
    return Field.unchecked(points, field.values)


def on_interpolated(model: ModelLike, test: Dataset, home: int, resolution: int) -> float:
    """Mean error on the grid of `resolution`, of samples that are known at `home` only."""
    known = test.select(resolution=home)
    at = grid_of(test, resolution)
    errors = []
    for given, wanted in known:
        guess = infer(model, interpolate(given, at), at)
        errors.append(relative_l2(guess.to(torch.float64), interpolate(wanted, at)))
    return float(torch.stack(errors).mean())


def grid_of(test: Dataset, resolution: int) -> Discretization:
    """The grid that all samples of a resolution have, inputs and outputs."""
    given, wanted = test.select(resolution=resolution)[0]
    if given.discretization.axes is None or wanted.discretization.key != given.discretization.key:
        raise InvalidInputError("labels can be interpolated where input and output are on one tensor grid only")
    return given.discretization

"""Scores on each column, on solved and on interpolated labels."""

import torch

from iaenet import Field
from iaenet.errors import InvalidInputError
from iaenet.experiments.data import made
from iaenet.experiments.plan import Data
from iaenet.experiments.score import on_interpolated, score
from iaenet.functions.interpolate import interpolate
from iaenet.functions.metrics import relative_l2


def identity(field, at=None):
    assert at is None
    return field


def test_scores_are_mean_errors_and_refusals_are_kept(tmp_path):
    test = made(Data("burgers", {}, (0, 0, 4), (16, 32, 64), 1), tmp_path)

    def picky(field, at=None):
        if field.discretization.n == 64:
            raise InvalidInputError("too fine")
        return field

    found = score(picky, test, home=16, interpolated=True)
    part = test.select(resolution=32)
    mean = torch.stack([relative_l2(given.to(torch.float64), wanted) for given, wanted in part]).mean()
    assert abs(found["errors"]["32"] - float(mean)) < 1e-6
    assert found["refused"] == {"64": "too fine"}
    assert list(found["interpolated"]) == ["32"]  # above home, and taken


def test_interpolated_labels_come_from_the_training_grid(tmp_path):
    # rough solutions: what the training grid cannot show makes solved and interpolated labels differ
    test = made(Data("burgers", {"viscosity": 0.001}, (0, 0, 3), (16, 128), 1), tmp_path)
    fine = test.select(resolution=128)[0][0].discretization
    truth = {}
    for given, wanted in test.select(resolution=16):
        truth[interpolate(given, fine).values.numpy().tobytes()] = interpolate(wanted, fine)

    def knows(field, at=None):
        return Field(field.discretization, truth[field.values.numpy().tobytes()].values)

    assert on_interpolated(knows, test, 16, 128) < 1e-6
    assert score(identity, test, 16, True)["interpolated"]["128"] != score(identity, test, 16, True)["errors"]["128"]

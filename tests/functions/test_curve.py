"""Points on curves: told from areas, weighed by length, and projected by the spacing along the curve."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, LatentGrid
from iaenet.functions.curve import curve_segments
from iaenet.functions.geometry import on_nodes
from iaenet.functions.resample import subset


def circle(n, seed=0):
    angle = 2 * np.pi * (np.arange(n) + 0.6 * np.random.default_rng(seed).random(n)) / n
    points = 0.5 + 0.4 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.random.default_rng(seed).permutation(points)


def test_a_circle_is_closed_and_has_its_length():
    found = Discretization.points(circle(200))
    assert found.cells.shape == (200, 2)
    assert found.measure == pytest.approx(2 * np.pi * 0.4, rel=1e-3)
    assert found.domain.startswith("a curve of length 2.5")


def test_areas_are_no_curves():
    for seed in range(20):
        assert curve_segments(np.random.default_rng(seed).random((200, 2))) is None
    x, y = np.meshgrid(np.arange(8.0), np.arange(8.0))
    assert curve_segments(np.stack([x.ravel(), y.ravel()], axis=1)) is None
    lines = np.stack(np.meshgrid(np.linspace(0, 1, 100), np.linspace(0, 1, 20)), axis=-1).reshape(-1, 2)
    assert curve_segments(lines + 1e-4 * np.random.default_rng(0).random(lines.shape)) is None
    assert Discretization.points(circle(200), domain="box").measure == pytest.approx(1)


def test_some_of_the_points_are_the_same_curve():
    whole = Discretization.points(circle(200))
    some = subset(whole, torch.arange(0, 200, 2))
    assert some.cells is not None
    assert some.measure == pytest.approx(whole.measure, rel=5e-3)


def test_projection_and_measure_of_a_curve_do_not_depend_on_its_points():
    latent = LatentGrid((24, 24), (False, False), extend=True)
    f = lambda at: torch.sin(5 * at.points[None, :, :1]) * torch.cos(4 * at.points[None, :, 1:])  # noqa: E731
    fine = Discretization.points(circle(800))
    true, measure = latent.encode(fine, f(fine)), on_nodes(latent, "measure", fine)
    for n in (50, 100, 200):
        some = Discretization.points(circle(n, seed=1))
        back = latent.read_off(latent.encode(some, f(some)), fine)
        assert float((back - f(fine)).norm() / f(fine).norm()) < 1e-4
        assert float((on_nodes(latent, "measure", some) - measure).norm() / measure.norm()) < 0.05
        off = latent.encode(some, f(some)) - true
        assert float(off.norm() / true.norm()) < 0.02
    assert float((latent.read_off(true, fine) - f(fine)).norm() / f(fine).norm()) < 1e-3

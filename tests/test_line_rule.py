"""Integrals over uneven points on a line: exact where they must be, close where they can be."""

import numpy as np
import pytest
import torch

from iaenet import Discretization
from iaenet.domain.basis import Trigonometric
from iaenet.geometry import Geometry
from iaenet.line_rule import IN_SPLINE, local_cubics, spline


def fine_grid(periodic, size=4096):
    return Discretization.uniform(size if periodic else size + 1, periodic=periodic)


@pytest.mark.parametrize("rule", [spline, local_cubics])
@pytest.mark.parametrize("periodic", [False, True])
def test_constants_and_lines_are_exact(rule, periodic):
    rng = np.random.default_rng(0)
    nodes = np.sort(rng.random(60))
    fine = fine_grid(periodic)
    found = rule(nodes, fine.points[:, 0], fine.weights[:, None], periodic)[:, 0].numpy()
    assert abs(found.sum() - 1) < 1e-5
    if not periodic and rule is spline:
        assert abs(found @ nodes - 0.5) < 1e-4


@pytest.mark.parametrize("periodic", [False, True])
def test_spline_beats_local_cubics_on_random_points(periodic):
    """Coefficients of smooth random functions on 128 random points: at least 1.5 times closer, in the mean."""
    rng = np.random.default_rng(1)
    fine = fine_grid(periodic)
    basis = Trigonometric(16)
    functions = basis.functions(fine.points[:, 0], periodic) * fine.weights[:, None]
    k = np.arange(1, 21)
    errors = {spline: 0.0, local_cubics: 0.0}
    for _ in range(10):
        size, phase = rng.standard_normal(20) / k**2, rng.random(20)

        def f(x, size=size, phase=phase):
            return np.cos((2 if periodic else 1.3) * np.pi * np.outer(x, k) + 2 * np.pi * phase) @ size

        nodes = np.sort(rng.random(128))
        truth = functions.numpy().T @ f(fine.points[:, 0].numpy())
        for rule in errors:
            found = rule(nodes, fine.points[:, 0], functions, periodic).numpy().T @ f(nodes)
            errors[rule] += np.linalg.norm(found - truth) / np.linalg.norm(truth)
    assert errors[spline] < errors[local_cubics] / 1.5


def test_noise_over_a_tiny_gap_is_not_continued():
    """Two sensors side by side that disagree by 1 % say nothing about the slope there."""
    nodes = np.sort(np.append(np.linspace(0, 1, 40, endpoint=False), 0.5001))
    values = np.ones(41)
    values[np.searchsorted(nodes, 0.5001)] += 0.01
    fine = fine_grid(True)
    rule = spline(nodes, fine.points[:, 0], torch.eye(fine.n, dtype=torch.float64), periodic=True)
    assert np.abs(rule.numpy().T @ values - 1).max() < 0.03


def test_both_rules_are_in_use_and_agree():
    for n in (IN_SPLINE.stop - 1, IN_SPLINE.stop):
        points = torch.rand(n, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        geometry = Geometry.of(Discretization.points(points, periodic=True), torch.float64)
        found = geometry.analyse(Trigonometric(4), torch.cos(2 * torch.pi * points)[None])
        assert abs(found[0, 1, 0] - 0.5**0.5) < 1e-5

"""What `Discretization` makes, and what it refuses."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, InvalidInputError


def test_periodic_and_closed_axes():
    grid = Discretization.uniform((4, 3), periodic=(True, False), bounds=[(0, 2), (0, 1)])
    assert grid.shape == (4, 3)
    assert grid.axes[0].tolist() == [0, 0.5, 1, 1.5]
    assert grid.axes[1].tolist() == [0, 0.5, 1]
    assert grid.weights.sum().item() == pytest.approx(2)
    torch.testing.assert_close(grid.weights, torch.outer(*grid.axis_weights).reshape(-1))


def test_uniform_is_the_tensor_grid_of_its_axes():
    grid = Discretization.uniform((3, 4, 5))
    assert Discretization.tensor_grid(*grid.axes).key == grid.key


def test_key_tells_discretizations_apart():
    grid = Discretization.uniform(8)
    assert grid.key == Discretization.uniform(8).key
    others = [
        Discretization.uniform(9),
        Discretization.uniform(8, periodic=True),
        Discretization.uniform(8, bounds=[(0, 2)]),
        Discretization.points(grid.points),
    ]
    assert len({grid.key, *(other.key for other in others)}) == 5


def test_tight_bounds():
    made = Discretization.points([[2.0, 5.0], [4.0, 9.0], [3.0, 6.0]], bounds="tight")
    assert made.bounds.tolist() == [[2, 4], [5, 9]]
    assert made.weights.sum().item() == pytest.approx(8)


@pytest.mark.parametrize("given", [[[0.1], [0.7]], np.array([[0.1], [0.7]], np.float32), torch.tensor([[0.1], [0.7]])])
def test_input_is_read_and_never_changed(given):
    before = np.array(given.tolist() if isinstance(given, torch.Tensor) else given)
    if isinstance(given, np.ndarray):
        given.flags.writeable = False
    made = Discretization.points(given)
    made.points.add_(1)
    assert np.array_equal(given.tolist() if isinstance(given, torch.Tensor) else given, before)


def test_non_contiguous_and_read_only_input():
    base = np.random.default_rng(0).random((10, 4))
    base.flags.writeable = False
    made = Discretization.points(base[::2, ::2])
    assert torch.equal(made.points, torch.tensor(base[::2, ::2].copy()))


def test_one_point_is_the_whole_domain():
    for d in (1, 2, 3):
        assert Discretization.points(np.full((1, d), 0.5)).weights.tolist() == [1.0]


BAD = {
    "NaN": (lambda: Discretization.points([[0.1], [np.nan]]), "point 1, coordinate 0 is nan"),
    "infinite": (lambda: Discretization.points([[0.1, np.inf]]), "point 0, coordinate 1 is inf"),
    "empty": (lambda: Discretization.points(np.zeros((0, 2))), r"n >= 1, got \(0, 2\)"),
    "wrong shape": (lambda: Discretization.points([0.1, 0.2]), r"shape \(n, d\)"),
    "complex": (lambda: Discretization.points(np.array([[1j]])), "real numbers, got complex"),
    "object": (lambda: Discretization.points(np.array([[None]])), "real numbers, got object"),
    "text": (lambda: Discretization.points([["a"]]), "real numbers"),
    "outside": (lambda: Discretization.points([[0.5], [1.5]]), r"point 1 \[1.5\] lies outside .* bounds="),
    "length": (lambda: Discretization.points([[0.5], [0.6]], weights=[1.0]), "2 points, but 1 weights"),
    "NaN weight": (lambda: Discretization.points([[0.5]], weights=[np.nan]), "weights: entry 0 is nan"),
    "rule": (lambda: Discretization.points([[0.5]], rule="simpson"), "'cells' or 'monte-carlo'"),
    "four dimensions": (lambda: Discretization.points(np.zeros((5, 4))), "1, 2 or 3 dimensions"),
    "unsorted axis": (lambda: Discretization.tensor_grid([0, 0.5, 0.4]), "entry 2 .0.4. follows 0.5"),
    "axis twice": (lambda: Discretization.tensor_grid([0, 0.5, 0.5]), "must increase strictly"),
    "periodic end": (lambda: Discretization.tensor_grid([0, 0.5, 1.0], periodic=True), "same place as"),
    "axis outside": (lambda: Discretization.tensor_grid([0, 2.0]), "axis 0: point 1"),
    "no axes": (lambda: Discretization.tensor_grid(), "at least one axis"),
    "too few": (lambda: Discretization.uniform(1), "axis 0: needs at least 2 points, got 1"),
    "fraction": (lambda: Discretization.uniform((4, 2.5)), "axis 1: needs at least"),
    "flags": (lambda: Discretization.uniform(4, periodic=(True, False)), "one flag or 1 of them, got 2"),
    "bounds": (lambda: Discretization.uniform(4, bounds=[(1, 0)]), "low < high"),
    "bounds shape": (lambda: Discretization.uniform(4, bounds=[(0, 1), (0, 1)]), "1 pairs"),
    "cells beyond": (lambda: Discretization.mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 3]]), "points 0 to 2"),
    "no cells": (lambda: Discretization.mesh([[0, 0]], np.zeros((0, 3), int)), "there are none"),
    "cells of floats": (lambda: Discretization.mesh([[0.0, 0.0]], [[0.0, 0.0, 0.0]]), "whole numbers"),
    "cells too large": (lambda: Discretization.mesh([[0.0], [1.0]], [[0, 1, 1]]), r"2 to 2"),
    "length of values": (lambda: Discretization.uniform(4).integrate(torch.ones(5)), "4 points, but values"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    call, message = BAD[case]
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_points_on_a_line_in_the_plane_have_cells():
    made = Discretization.points([[0.25, 0.5], [0.75, 0.5]])
    assert made.weights.tolist() == pytest.approx([0.5, 0.5])

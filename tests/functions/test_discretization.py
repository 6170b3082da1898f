"""What `Discretization` makes, and what it refuses."""

import copy
import pickle

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
    "negative weight": (lambda: Discretization.points([[0.5], [0.6]], weights=[1, -2.0]), "weights: entry 1 is -2.0"),
    "no weight": (lambda: Discretization.points([[0.5], [0.6]], weights=[0, 0]), "weights are all zero"),
    "infinite weight": (lambda: Discretization.points([[0.5], [0.6]], weights=[0, np.inf]), "weights: entry 1 is inf"),
    "domain": (lambda: Discretization.points([[0.5]], domain="disc"), "'auto' or 'box'"),
    "flat and tight": (lambda: Discretization.points([[0, 1], [0, 2]], bounds="tight"), "coordinate 0 of all points"),
    "NaN weight": (lambda: Discretization.points([[0.5]], weights=[np.nan]), "weights: entry 0 is nan"),
    "rule": (lambda: Discretization.points([[0.5]], rule="simpson"), "'cells' or 'monte-carlo'"),
    "four dimensions": (lambda: Discretization.points(np.zeros((5, 4))), "1, 2 or 3 dimensions"),
    "unsorted axis": (lambda: Discretization.tensor_grid([0, 0.5, 0.4]), "entry 2 .0.4. follows 0.5"),
    "axis twice": (lambda: Discretization.tensor_grid([0, 0.5, 0.5]), "must increase strictly"),
    "periodic end": (lambda: Discretization.tensor_grid([0, 0.5, 1.0], periodic=True), "same point as"),
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


HUGE = [
    [(0, 1e151), (0, 1)],
    [(-1e160, 0), (0, 1)],
    [(0, 1e-160), (0, 1)],
    [(0, 1e-140), (0, 1e-140)],
    [(0, 1e140), (0, 1e140)],
    [(-1.7e308, 1.7e308), (0, 1)],
]


@pytest.mark.parametrize("bounds", HUGE)
def test_boxes_beyond_float64_are_refused(bounds):
    box = np.array(bounds, float)
    points = box[:, 0] + np.random.default_rng(0).random((20, 2)) * (box[:, 1] / 2 - box[:, 0] / 2)
    for call in (Discretization.points, lambda x, bounds: Discretization.mesh(x, [[0, 1, 2]], bounds=bounds)):
        with pytest.raises(InvalidInputError, match="too large or too small for float64"):
            call(points, bounds=bounds)


def made_in_every_way():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.4, 0.6]])
    scattered = np.random.default_rng(0).random((50, 2))
    return {
        "uniform": Discretization.uniform((3, 4)),
        "tensor grid": Discretization.tensor_grid([0, 0.2, 1], [0, 1]),
        "cells": Discretization.points(scattered),
        "monte-carlo": Discretization.points(scattered, rule="monte-carlo"),
        "given": Discretization.points(scattered, weights=np.full(50, 0.01)),
        "mesh": Discretization.mesh(corners, [[0, 1, 4], [0, 4, 2], [1, 3, 4]]),
    }


WAYS = ("uniform", "tensor grid", "cells", "monte-carlo", "given", "mesh")


@pytest.mark.parametrize("rule", WAYS)
def test_a_discretization_says_how_it_was_made(rule):
    made = made_in_every_way()[rule]
    assert made.rule == rule
    words = {"given": "50 % of its box, by the weights given", "mesh": "a mesh of 3 cells"}
    assert made.domain == words.get(rule, "the whole box")
    assert (made.cells is not None) == (rule in ("cells", "mesh"))
    assert made.measure == pytest.approx(made.weights.sum().item())


@pytest.mark.parametrize("rule", WAYS)
@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, lambda x: x.to("cpu")])
def test_copies_carry_everything_over(rule, copied):
    made = made_in_every_way()[rule]
    same = copied(made)
    assert (same.key, same.rule, same.domain) == (made.key, made.rule, made.domain)
    assert (same.cells is None) == (made.cells is None)
    assert made.cells is None or (torch.equal(same.cells, made.cells) and same.cells.dtype == torch.int64)
    assert same.uniform_axes == made.uniform_axes


def test_a_move_to_another_device_carries_everything_over():
    made = made_in_every_way()["mesh"]
    moved = made.to("meta")
    assert {part.device.type for part in (moved.points, moved.weights, moved.bounds, moved.cells)} == {"meta"}
    assert (moved.rule, moved.domain, moved.periodic) == (made.rule, made.domain, made.periodic)


def test_the_cache_stays_here():
    made = Discretization.uniform(4)
    assert made.cache == {}
    made.cache["plan"] = lambda: None  # could not be pickled
    assert pickle.loads(pickle.dumps(made)).cache == {}
    assert "plan" in made.cache


def test_nothing_that_was_given_is_shared():
    points, weights, bounds = torch.rand(6, 2, dtype=torch.float64), torch.ones(6), torch.tensor([[0.0, 1.0]] * 2)
    cells = torch.tensor([[0, 1, 2]])
    made = Discretization(points, weights, bounds, (False, False), cells=cells)
    before = [part.clone() for part in (made.points, made.weights, made.bounds, made.cells)]
    for given in (points, weights, bounds, cells):
        given.add_(1)
    for part, old in zip((made.points, made.weights, made.bounds, made.cells), before, strict=True):
        assert torch.equal(part, old)
    index = np.array([[0, 1, 2]])
    mesh = Discretization.mesh([[0, 0], [1, 0], [0, 1]], index)
    index += 1
    assert mesh.cells.tolist() == [[0, 1, 2]]


UNIFORM_AXES = {
    "closed": (lambda: Discretization.uniform((5, 6), bounds=[(2, 3), (-1e9, 1e9)]), (True, True)),
    "periodic": (lambda: Discretization.uniform(5, periodic=True), (True,)),
    "their axes": (lambda: Discretization.tensor_grid(np.linspace(0, 1, 7), [0, 0.3, 1]), (True, False)),
    "not to the walls": (lambda: Discretization.tensor_grid([0.25, 0.5, 0.75]), (False,)),
    "shifted": (lambda: Discretization.tensor_grid([0.1, 0.6], periodic=True), (False,)),
    "one point": (lambda: Discretization.tensor_grid([0.5]), (False,)),
    "one periodic point": (lambda: Discretization.tensor_grid([0.0], periodic=True), (True,)),
    "almost": (lambda: Discretization.tensor_grid([0, 0.5 + 1e-7, 1]), (False,)),
    "up to rounding": (lambda: Discretization.tensor_grid([0, 0.5 + 1e-11, 1]), (True,)),
    "points on a line": (lambda: Discretization.points([[1.0], [0.0], [0.5]]), (True,)),
    "random points": (lambda: Discretization.points([[0.9], [0.0], [0.5]]), (False,)),
    "points in the plane": (lambda: Discretization.points(Discretization.uniform((3, 3)).points), ()),
}


@pytest.mark.parametrize("case", UNIFORM_AXES)
def test_uniform_axes_are_recognised(case):
    make, wanted = UNIFORM_AXES[case]
    assert make().uniform_axes == wanted


def test_weights_given_may_be_zero_in_places():
    assert Discretization.points([[0.2], [0.4]], weights=[0, 3]).weights.tolist() == [0, 3]

"""The learning rate of a row, the time of a step, and what a row is trained on."""

import math
from dataclasses import replace

import pytest
import torch

from iaenet.data.dataset import load_dataset
from iaenet.experiments import rate_search, step_time
from iaenet.experiments.data import ARRAY, extended, fixed_sensors, made, material, spread
from iaenet.experiments.plan import Data, Training
from iaenet.experiments.progress import Whole
from iaenet.experiments.rate_search import best_rate, forget, search
from iaenet.experiments.step_time import EPOCHS, Clock, Enough, step_seconds
from iaenet.functions.metrics import relative_l2
from iaenet.training.config import TrainConfig

DATA = Data("burgers", {"viscosity": 0.1}, (24, 6, 0), (16,), 0)
FNO = Training(
    model={"name": "fno", "width": 4, "modes": 2, "layers": 1, "hidden": 4},
    data=DATA,
    spread=False,
    inputs="given",
    budget=1.0,
    epochs=1,
    rates=(1e-5, 1e-2),
    share=0.5,
    config={"batch_size": 4, "threads": 1},
)
PART = Whole(1.0, 1).begin("row", 1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


def test_measuring_leaves_nothing_behind_and_is_deterministic_in_what_it_trains(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert 0 < step_seconds(FNO, material(FNO, folder)) < 5
    assert list(tmp_path.iterdir()) == []


def test_a_clock_counts_steps_after_the_first_epoch_and_no_validation(monkeypatch):
    now = 0.0
    monkeypatch.setattr(step_time.time, "process_time", lambda: now)
    clock = Clock(limit=1e9)
    step = clock("run")
    for done in range(1, 3 * EPOCHS + 1):  # three steps in each epoch
        now += 50.0 if done <= 3 else 9.0 if done % 3 == 1 else 2.0  # the first of an epoch follows a validation
        step(done, 3 * EPOCHS, "")
    assert clock.seconds == 2.0
    impatient = Clock(limit=0.0)("run")
    now += 1.0
    impatient(1, 3 * EPOCHS, "")
    with pytest.raises(Enough):
        impatient(6, 3 * EPOCHS, "")


def test_the_rate_that_does_best_on_validation_is_taken(folder, tmp_path):
    learnt = material(FNO, folder)
    tried = search(FNO, learnt, tmp_path, PART)
    assert list(tried)[:2] == ["1e-05", "0.01"]
    assert tried["0.01"] < tried["1e-05"]
    rate = best_rate(FNO, tried)
    assert tried[f"{rate:g}"] == min(tried.values())
    assert {path.name for path in tmp_path.iterdir()} == {f"rate-{rate}" for rate in tried}
    forget(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("best", "tried"),
    [
        (0.003, [0.001, 0.003, 0.009]),  # at the upper edge: one more, and it is not
        (0.02, [0.001, 0.003, 0.009, 0.027, 0.081]),
        (10.0, [0.001, 0.003, 0.009, 0.027, 0.081, 0.243]),  # four times at most
        (0.001, [0.001, 0.003, 0.000333333]),
        (1e-7, [0.001, 0.003, 0.000333333, 0.000111111, 3.7037e-05, 1.23457e-05]),
    ],
)
def test_a_search_goes_on_while_the_best_rate_is_at_an_edge(folder, tmp_path, monkeypatch, best, tried):
    learnt = material(FNO, folder)

    def error(training, material, rate, folder, part):
        return abs(math.log(rate / best))

    monkeypatch.setattr(rate_search, "_error", error)
    found = search(replace(FNO, rates=(0.001, 0.003)), learnt, tmp_path, PART)
    assert [float(rate) for rate in found] == tried
    assert best_rate(FNO, found) == min(tried, key=lambda rate: abs(math.log(rate / best)))


def test_a_rate_that_diverges_is_not_taken(folder, tmp_path):
    wild = replace(FNO, rates=(1e-2, 1e30), config={**FNO.config, "optimizer": {"name": "adam", "clip": 0.0}})
    tried = search(wild, material(wild, folder), tmp_path, PART)
    assert tried["1e+30"] is None
    assert best_rate(wild, tried) <= 1e-2


def test_a_single_rate_is_not_tried(folder, tmp_path):
    single = replace(FNO, rates=(1e-3,))
    assert search(single, material(single, folder), tmp_path, PART) == {}
    assert best_rate(single, {}) == 1e-3


def test_rate_seed_and_length_reach_the_config():
    config = FNO.made(0.02, seed=3, share=0.5)
    assert isinstance(config, TrainConfig)
    assert (config.budget, config.optimizer.lr, config.optimizer.name, config.seed) == ("0.5s cpu", 0.02, "muon", 3)
    assert (config.batch_size, config.threads) == (4, 1)
    assert (FNO.made(0.02, epochs=12).budget, FNO.made(0.02, epochs=12).epochs) == ("", 12)
    assert replace(FNO, budget=0.0, epochs=7).made(0.02).epochs == 7


def test_spread_gives_each_sample_one_resolution_and_each_resolution_its_share(folder):
    whole = made(Data("burgers", {}, (6, 3, 0), (16, 24, 32), 0), folder)
    some = spread(whole)
    entries = [some.entry(i) for i in range(len(some))]
    assert sorted(entry.sample for entry in entries) == list(range(9))
    for split, count in (("train", 2), ("validation", 1)):
        found = [entry.resolution for entry in entries if entry.split == split]
        assert sorted(found) == sorted([16, 24, 32] * count)


def test_sensors_are_the_common_points_or_a_grid(folder):
    grids = made(DATA, folder)
    assert fixed_sensors(grids.select(split="train")).key == grids[0][0].discretization.key
    random = made(Data("burgers", {"points": "random"}, (4, 2, 0), (16,), 0), folder)
    sensors = fixed_sensors(random.select(split="train"))
    assert (sensors.shape, sensors.periodic) == ((16,), (True,))
    training = replace(FNO, data=Data("burgers", {"points": "random"}, (4, 2, 0), (16,), 0), inputs="sensors")
    learnt = material(training, folder)
    assert {given.discretization.key for given, _ in learnt.data} == {sensors.key}
    assert len({wanted.discretization.key for _, wanted in learnt.data}) == 4  # outputs stay where they are
    assert load_dataset(folder / training.data.name).splits == {"train": 4, "validation": 2}


def test_boundary_values_are_extended_to_the_mesh(folder):
    data = Data("darcy-notch", {"mesh_size": 0.2}, (3, 1, 0), (8,), 0)
    given, wanted = made(data, folder)[0]
    h = extended(given, wanted.discretization)
    assert h.discretization.key == wanted.discretization.key
    x, y = wanted.discretization.points.T
    for point, value in zip(given.discretization.points, given.values, strict=True):
        here = (x - point[0]).abs() + (y - point[1]).abs() < 1e-9
        assert torch.allclose(h.values[here], value, atol=1e-5)  # on the boundary itself nothing changes
    column = (x - x[y.argmax()]).abs() < 1e-9
    assert float(h.values[column].std()) < 1e-5  # constant along y


def test_boundary_values_on_every_mesh_become_the_same_function_on_a_grid(folder):
    parameters = {"mesh_size": 0.2, "correlation": 0.5}
    data = Data("darcy-notch", parameters, (3, 1, 0), (16,), 0)
    learnt = material(replace(FNO, data=data, inputs="extended"), folder)
    grid = learnt.data[0][0].discretization
    assert grid.axes is not None
    assert all(one.discretization.key == grid.key for one, _ in learnt.data)
    both = made(replace(data, resolutions=(16, 32)), folder)
    asked = learnt.as_operator(lambda field, at: (field, at))
    coarse, fine = (asked(pair[0], pair[1].discretization) for pair in (both[0], both[1]))
    assert (coarse[1].n, fine[1].n) == (247, 640)  # outputs stay where they are
    assert coarse[0].discretization.key == fine[0].discretization.key == grid.key
    assert torch.allclose(coarse[0].values, fine[0].values, atol=2e-3)


def test_functions_on_meshes_become_arrays_and_come_back(folder):
    data = Data("darcy-notch", {"mesh_size": 0.2, "correlation": 0.5}, (3, 1, 0), (32,), 0)
    learnt = material(replace(FNO, data=data, inputs="arrays"), folder)
    (given, wanted), pair = learnt.data[0], made(data, folder)[0]
    assert given.discretization.shape == wanted.discretization.shape == (ARRAY, ARRAY)
    assert float(given.values.unflatten(0, (ARRAY, ARRAY)).std(dim=1).max()) < 1e-5  # constant along y
    some = learnt.some(2)
    assert (some.samples, some.held, some.on_arrays) == (2, 1, True)
    back = learnt.as_operator(lambda field: wanted)(pair[0], pair[1].discretization)
    assert back.discretization.key == pair[1].discretization.key
    assert float(relative_l2(back, pair[1])) < 0.1  # but for what an array loses at the notch
    square = replace(data, parameters={"mesh_size": 0.2, "layout": "square"})
    assert material(replace(FNO, data=square, inputs="arrays"), folder).bring is None  # is one already

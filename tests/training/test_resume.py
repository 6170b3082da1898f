"""A stopped training goes on as if it had not been: weights, optimizer, metrics and best checkpoint, bit for bit."""

import json
import random
import signal

import pytest
import torch

from iaenet import load
from iaenet.models.inference import infer
from iaenet.training.distributed import Distributed
from iaenet.training.run_folder import RunFolder
from tests.trainings import (
    SCENARIOS,
    STAGES,
    Stopper,
    finish,
    give_up,
    outcome,
    run_and_die,
    run_scenario,
    start,
    train_scenario,
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """What trainings leave behind that were never stopped."""
    kept = {}

    def of(name):
        if name not in kept:
            run = tmp_path_factory.mktemp(name) / "run"
            torch.set_num_threads(1)
            train_scenario(name, run)
            kept[name] = outcome(run)
        return kept[name]

    return of


def differences(found, expected):
    return [key for key in sorted({*found, *expected}) if found.get(key) != expected.get(key)]


def without(found, *keys):
    return {key: value for key, value in found.items() if key not in keys}


# ------------------------------------------------------------------ the trainings are what the tests need


def test_the_trainings_use_all_there_is_to_remember(reference):
    history = json.loads(reference("paper")["metrics.json"])["epochs"]
    assert len(history) < SCENARIOS["paper"][2]["epochs"]  # stopped early
    assert history[-1]["lr"] < history[0]["lr"]  # met a plateau
    assert "last/mean.safetensors" in reference("paper")
    steps = [epoch["step"] for epoch in json.loads(reference("sequential")["metrics.json"])["epochs"]]
    assert steps == [3, 6, 9, 12, 15, 18]  # 12 samples of one resolution in each epoch


# ------------------------------------------------------------------ exact resume, in this process


def train_with_stops(name, run, stopper, errors, **more):
    for _ in range(200):
        try:
            return train_scenario(name, run, progress=stopper, **more)
        except errors:
            continue
    raise AssertionError("it never ended")


@pytest.mark.parametrize(
    ("name", "every", "number", "error"),
    [
        ("muon", 3, signal.SIGINT, KeyboardInterrupt),
        ("paper", 4, signal.SIGTERM, SystemExit),
        ("own", 1, signal.SIGTERM, SystemExit),
        ("sequential", 2, signal.SIGINT, KeyboardInterrupt),
    ],
)
def test_stopped_by_signals_it_goes_on_exactly(name, every, number, error, reference, tmp_path):
    stopper = Stopper(every, lambda: signal.raise_signal(number))
    train_with_stops(name, tmp_path / "run", stopper, error)
    assert len(stopper.stops) >= 3
    assert differences(outcome(tmp_path / "run"), reference(name)) == []


@pytest.mark.parametrize("name", ["paper", "own"])
def test_stopped_by_an_error_it_goes_on_exactly(name, reference, tmp_path):
    stopper = Stopper(4, give_up)
    train_with_stops(name, tmp_path / "run", stopper, InterruptedError, save_seconds=0)
    found = without(outcome(tmp_path / "run"), "config.yaml")  # save_seconds is another
    assert differences(found, without(reference(name), "config.yaml")) == []


def test_an_error_without_a_save_starts_over_exactly(reference, tmp_path):
    """Checkpoints are a minute apart here: the run begins again, and the best one of the first try is forgotten."""
    stopper = Stopper(9, give_up)  # epochs have 4 steps
    with pytest.raises(InterruptedError):
        train_scenario("muon", tmp_path / "run", progress=stopper)
    assert RunFolder(tmp_path / "run").has("best")
    train_scenario("muon", tmp_path / "run")
    assert differences(outcome(tmp_path / "run"), reference("muon")) == []


@pytest.mark.parametrize(("number", "error"), [(signal.SIGTERM, SystemExit), (signal.SIGINT, KeyboardInterrupt)])
def test_a_signal_during_validation_stops_after_the_batch(number, error, reference, tmp_path, monkeypatch):
    """Two samples a batch: three batches in each validation, of which the first gets the signal."""
    calls = []

    def signalled(*arguments, **options):
        calls.append(len(calls))
        if calls[-1] == 3 * 3:  # the fourth epoch
            signal.raise_signal(number)
        return infer(*arguments, **options)

    monkeypatch.setattr("iaenet.training.loop.infer", signalled)
    with pytest.raises(error) as stopped:
        train_scenario("muon", tmp_path / "run", batch_size=1)
    assert "Stopped after step 96, which is saved" in str(stopped.value)
    assert len(calls) == 10
    assert RunFolder(tmp_path / "run").newest("step")[0]["training"]["epoch"] == 3
    train_scenario("muon", tmp_path / "run", batch_size=1)
    assert len(calls) == 9 + 1 + 5 * 3
    train_scenario("muon", tmp_path / "whole", batch_size=1)
    assert differences(outcome(tmp_path / "run"), outcome(tmp_path / "whole")) == []


@pytest.mark.parametrize("every", [1, 3])
def test_no_sample_is_lost_or_repeated(every, tmp_path, monkeypatch):
    taken, share = [], Distributed.share

    def note(team, indices):
        taken.append(indices)
        return share(team, indices)

    monkeypatch.setattr(Distributed, "share", note)
    stopper = Stopper(every, lambda: signal.raise_signal(signal.SIGTERM))
    train_with_stops("muon", tmp_path / "run", stopper, SystemExit)
    epochs, steps = 8, 4
    assert len(taken) == epochs * steps
    stopped, taken[:] = list(taken), []
    train_scenario("muon", tmp_path / "whole")
    assert stopped == taken  # the same order
    for epoch in range(epochs):
        seen = [place for places in stopped[steps * epoch : steps * (epoch + 1)] for place in places]
        assert sorted(seen) == list(range(24))


def test_a_finished_run_is_left_as_it_is(reference, tmp_path):
    train_scenario("muon", tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    again = train_scenario("muon", tmp_path / "run")
    after = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert after == before
    assert again.network.lift.weight.equal(load(tmp_path / "run").network.lift.weight)


# ------------------------------------------------------------------ exact resume, killed processes


def kill_after(process, seconds):
    """Kill the process when its time has come; its exit code."""
    process.join(seconds)
    process.kill()
    return finish(process)


def kill_in_a_save(run, process, skip=0):
    """Kill the process as soon as an unfinished checkpoint is there (after `skip` others); its exit code."""
    seen = set()
    while process.is_alive() and len(seen) <= skip:
        seen |= {path.name for path in run.glob("checkpoints/.*.tmp")}
    process.kill()
    return finish(process)


def in_a_save(run):
    return any(run.glob("checkpoints/.*.tmp"))


SAVING = {"save_seconds": 0}


def resumed(name, run):
    assert finish(start(run_scenario, name, run, SAVING)) == 0
    return without(outcome(run), "config.yaml")


@pytest.mark.parametrize("name", ["muon", pytest.param("own", marks=pytest.mark.slow)])
def test_killed_it_goes_on_exactly(name, reference, tmp_path):
    """Several times in one run: at each stage of a save, then in a save and at random moments, as far as it goes."""
    chance = random.Random(name)
    run = tmp_path / "run"
    for stage, count in (("sync", 3), ("rename", 1), ("rmtree", 2)):
        assert finish(start(run_and_die, name, run, SAVING, stage, count)) == -signal.SIGKILL
    kill_in_a_save(run, start(run_scenario, name, run, SAVING), skip=1)
    for _ in range(3):
        kill_after(start(run_scenario, name, run, SAVING), chance.uniform(0.05, 0.4))
    assert differences(resumed(name, run), without(reference(name), "config.yaml")) == []


@pytest.mark.slow
def test_killed_many_times_it_goes_on_exactly(reference, tmp_path):
    chance = random.Random(0)
    kills, midway, inside, wrong = 0, 0, 0, []
    for number in range(60):
        name = list(SCENARIOS)[number % 4]
        run = tmp_path / f"{name}{number}"
        how = number // 4 % 3
        if how == 0:  # at any moment
            code = kill_after(start(run_scenario, name, run, SAVING), chance.uniform(0.2, 1.5))
        elif how == 1:  # as soon as an unfinished checkpoint is there
            code = kill_in_a_save(run, start(run_scenario, name, run, SAVING), skip=chance.randrange(12))
        else:  # at a stage of a save
            stage = STAGES[number % 3]
            code = finish(start(run_and_die, name, run, SAVING, stage, 1 + chance.randrange(30)))
        if code == 0:  # it was faster
            continue
        assert code == -signal.SIGKILL
        kills, midway = kills + 1, midway + RunFolder(run).has("step")
        inside += how == 2 or in_a_save(run)
        wrong += [(number, key) for key in differences(resumed(name, run), without(reference(name), "config.yaml"))]
    print(f"{kills} kills, {midway} with a checkpoint to go on from, {inside} inside a save, {len(wrong)} differences")
    assert wrong == []
    assert kills >= 30
    assert midway >= 20
    assert inside >= 10


# ------------------------------------------------------------------ damage


def damage(folder):
    path = folder / "weights.safetensors"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(bytes(data))


def test_a_damaged_newest_checkpoint_costs_some_steps_and_nothing_else(reference, tmp_path, caplog):
    run = tmp_path / "run"
    with pytest.raises(InterruptedError):
        train_scenario("muon", run, progress=Stopper(11, give_up), save_seconds=0)
    newest = sorted(run.glob("checkpoints/step-*"))[-1]
    assert newest.name == "step-000000010"
    damage(newest)
    train_scenario("muon", run, save_seconds=0)
    assert "step-000000010 is damaged" in caplog.text
    assert "going back to the one before" in caplog.text
    assert differences(without(outcome(run), "config.yaml"), without(reference("muon"), "config.yaml")) == []

"""One training in two real processes: the same losses as in one, and a rank that dies is told and does no harm."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
import torch

from iaenet import (
    DivergedError,
    InvalidInputError,
    Model,
    differentiable,
    fit,
    gradient,
    relative_l2,
    write_dataset,
)
from iaenet.data.problems.problem import Channel
from iaenet.errors import LostProcessError
from tests.trainings import TINY, finish, outcome, run_command, start, waves

SMALL = [part for key, value in TINY.items() for part in (f"--model.{key}", str(value))]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Mixed resolutions and random points; 17 samples to train on, so that a batch of 4 leaves one over."""
    path = tmp_path_factory.mktemp("data") / "waves.h5"
    splits = ["train"] * 17 + ["validation"] * 3
    pairs = waves(20, grids=(16, 24, 32), points=(18,))
    write_dataset(path, pairs, splits=splits, inputs=[Channel("a")], outputs=[Channel("u")])
    return path


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environments(size=2):
    """What a launcher tells each process."""
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": str(size)}
    return [{**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(size)]


class Together:
    """The same command in two processes."""

    def __init__(self, folder, *arguments):
        self.words = [folder / f"rank{rank}-{time.monotonic_ns()}.txt" for rank in range(2)]
        self.processes = [
            start(run_command, arguments, words, environment)
            for words, environment in zip(self.words, environments(), strict=True)
        ]

    def codes(self, seconds=120):
        return [finish(process, seconds) for process in self.processes]

    def said(self, rank):
        return self.words[rank].read_text()


def arguments(file, run, *more, epochs=5):
    brief = ["--epochs", epochs, "--batch_size", 4, "--threads", 1]
    return ["train", "--data", file, "--run", run, *SMALL, *brief, *more]


def losses(run):
    history = json.loads((run / "metrics.json").read_text())["epochs"]
    return [number for epoch in history for number in (epoch["loss"], epoch["validation"])]


def steps(run):
    return sorted(path.name for path in run.glob("checkpoints/step-*"))


def wait_for(condition, seconds=120):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


# ------------------------------------------------------------------ the same as one process


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--augment.weight", 0.5, "--augment.sizes", "20,40", "--optimizer.ema", 0.9, "--optimizer.name", "adamw"],
    ],
)
def test_two_processes_have_the_losses_of_one(file, tmp_path, more):
    together = Together(tmp_path, *arguments(file, tmp_path / "two", *more))
    assert finish(start(run_command, arguments(file, tmp_path / "one", *more), tmp_path / "one.txt")) == 0
    assert together.codes() == [0, 0]
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(one) == 10
    assert two == pytest.approx(one, rel=1e-4)
    assert "validation error" in together.said(0)
    assert together.said(1).strip() == ""  # one speaks for all


# ------------------------------------------------------------------ stopping and resuming


@pytest.fixture(scope="module")
def whole(file, tmp_path_factory):
    """What two processes leave behind that are never stopped, and one."""
    folder = tmp_path_factory.mktemp("whole")
    assert Together(folder, *arguments(file, folder / "two", "--save_seconds", 0, epochs=12)).codes() == [0, 0]
    assert finish(start(run_command, arguments(file, folder / "one", epochs=12), folder / "one.txt")) == 0
    return outcome(folder / "two"), losses(folder / "one")


@pytest.mark.parametrize(("dead", "others"), [(0, 2), *(pytest.param(1, n, marks=pytest.mark.slow) for n in (2, 1))])
def test_a_killed_rank_ends_the_other_by_name_and_training_resumes(dead, others, file, tmp_path, whole):
    run, alive = tmp_path / "run", 1 - dead
    command = arguments(file, run, "--save_seconds", 0, epochs=12)
    together = Together(tmp_path, *command)
    wait_for(lambda: len(steps(run)) == 2)
    os.kill(together.processes[dead].pid, signal.SIGKILL)
    assert finish(together.processes[alive], 60) == 1
    said = together.said(alive)
    assert f"iaenet: error: rank {alive} stops, because rank {dead} is gone; start the training again" in said
    assert "Traceback" not in said
    before = steps(run)
    if others == 2:
        assert Together(tmp_path, *command).codes() == [0, 0]
        assert outcome(run) == whole[0]  # bit for bit
    else:
        assert finish(start(run_command, command, tmp_path / "alone.txt")) == 0
        assert losses(run) == pytest.approx(whole[1], rel=1e-4)
    assert before[0] != steps(run)[0]


def test_a_signal_to_one_stops_all_at_the_same_step(file, tmp_path, whole):
    run = tmp_path / "run"
    command = arguments(file, run, "--save_seconds", 0, epochs=12)
    together = Together(tmp_path, *command)
    wait_for(lambda: len(steps(run)) == 2)
    os.kill(together.processes[1].pid, signal.SIGTERM)
    assert together.codes(60) == [143, 143]
    said = [re.findall(r"Stopped after step (\d+), which is saved", together.said(rank)) for rank in range(2)]
    assert said[0] == said[1] != []
    assert steps(run)[-1] == f"step-{int(said[0][0]):09d}"
    assert Together(tmp_path, *command).codes() == [0, 0]
    assert outcome(run) == whole[0]


# ------------------------------------------------------------------ one folder


@pytest.mark.slow
def test_only_the_first_rank_has_the_lock(file, tmp_path):
    run = tmp_path / "run"
    first = Together(tmp_path, *arguments(file, run, "--save_seconds", 0, epochs=300))
    wait_for(lambda: len(steps(run)) > 0)
    holder = f"process {first.processes[0].pid} on {socket.gethostname()}"
    assert (run / "lock").read_text() == holder
    second = Together(tmp_path, *arguments(file, run, epochs=300))
    assert second.codes(60) == [2, 1]
    assert second.said(0) == f"iaenet: error: {run}: {holder} is training here\n"
    assert "rank 1 stops, because rank 0 is gone" in second.said(1)
    assert all(process.is_alive() for process in first.processes)
    for process in first.processes:
        process.kill()
    first.codes()


def train_without_a_folder(environment, words):
    os.environ.update(environment)
    try:
        fit(TINY, waves(12), epochs=1, threads=1)
    except InvalidInputError as error:
        words.write_text(str(error))


def test_several_processes_need_a_folder(tmp_path):
    words = [tmp_path / f"{rank}.txt" for rank in range(2)]
    both = [start(train_without_a_folder, *pair) for pair in zip(environments(), words, strict=True)]
    assert [finish(process, 60) for process in both] == [0, 0]
    assert all("give it as run=" in path.read_text() for path in words)


# ------------------------------------------------------------------ numbers


class Breaking(Model):
    """Breaks in one process only."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(0.5))
        self.calls = 0

    def transform(self, values, source, target):
        self.calls += self.training
        bad = self.calls == 3 and os.environ["RANK"] == "1"
        return self.factor * values * (torch.nan if bad else 1)


def train_until_it_breaks(environment, run, words):
    os.environ.update(environment)
    try:
        fit(Breaking(), waves(12), run, validation=waves(2), batch_size=4, epochs=3, threads=1)
    except (DivergedError, LostProcessError) as error:
        words.write_text(f"{type(error).__name__}: {error}")


def test_a_number_that_breaks_in_one_process_stops_all_at_that_step(tmp_path):
    words = [tmp_path / f"{rank}.txt" for rank in range(2)]
    both = [
        start(train_until_it_breaks, environment, tmp_path / "run", path)
        for environment, path in zip(environments(), words, strict=True)
    ]
    assert [finish(process, 60) for process in both] == [0, 0]
    assert [path.read_text()[:40] for path in words] == ["DivergedError: the loss is nan at step 3"] * 2


# ------------------------------------------------------------------ under torchrun


def children(process):
    with open(f"/proc/{process}/task/{process}/children") as file:
        return [int(child) for child in file.read().split()]


def rank_of(process):
    with open(f"/proc/{process}/environ", "rb") as file:
        found = [part[5:] for part in file.read().split(b"\0") if part.startswith(b"RANK=")]
    return int(found[0]) if found else None


@pytest.mark.slow
def test_torchrun_names_the_rank_and_passes_a_signal_on(file, tmp_path):
    run = tmp_path / "run"
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", free_port()]
    command += ["-m", "--", "iaenet", *arguments(file, run, "--save_seconds", 0, epochs=400)]
    with open(tmp_path / "words.txt", "w") as words:
        launcher = subprocess.Popen([str(part) for part in command], stdout=words, stderr=words)
        wait_for(lambda: len(steps(run)) == 2)
        (victim,) = [child for child in children(launcher.pid) if rank_of(child) == 1]
        os.kill(victim, signal.SIGKILL)
        assert launcher.wait(60) != 0
    said = (tmp_path / "words.txt").read_text()
    assert "rank 0 stops, because another rank is gone, which torchrun names; start the training again" in said
    assert re.search(r"rank +: 1 .*\n +exitcode +: -9", said)
    with open(tmp_path / "words.txt", "w") as words:  # and a signal to the launcher saves
        launcher = subprocess.Popen([str(part) for part in command], stdout=words, stderr=words)
        before = steps(run)
        wait_for(lambda: steps(run)[-1] > before[-1])
        launcher.terminate()
        launcher.wait(60)
    (step,) = set(re.findall(r"Stopped after step (\d+), which is saved", (tmp_path / "words.txt").read_text()))
    assert steps(run)[-1] == f"step-{int(step):09d}"


def slopes(model, given, wanted):
    """A loss that calls the model twice, once with derivatives."""
    at = differentiable(wanted.discretization)
    slope = gradient(model(given, at).values, at)
    return relative_l2(model(given, wanted.discretization), wanted) + 0.01 * slope.square().mean(dim=(1, 2, 3))


def run_with_loss(run, environment):
    """To be started: one process of a training with that loss."""
    os.environ.update(environment)
    fit(TINY, waves(12), run, validation=waves(3, seed=1), epochs=2, batch_size=4, threads=1, loss=slopes)


@pytest.mark.slow
def test_a_loss_of_derivatives_in_two_processes_is_that_in_one(tmp_path):
    assert finish(start(run_with_loss, tmp_path / "one", {})) == 0
    both = [start(run_with_loss, tmp_path / "two", environment) for environment in environments()]
    assert [finish(process) for process in both] == [0, 0]
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), rel=1e-3)

"""Training: what it optimises, that it learns, and what cannot be trained."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from iaenet import Discretization, DivergedError, Field, Model, fit, load
from iaenet.data.problems.burgers import Burgers
from iaenet.errors import InvalidInputError
from iaenet.training.checkpoint import load_checkpoint
from iaenet.training.run_folder import RunFolder
from iaenet.training.signals import PATIENCE
from tests.sizes import sizes
from tests.trainings import SCENARIOS, TINY, Stopper, finish, give_up, outcome, start, train_scenario, wave, waves

# ------------------------------------------------------------------ NaN


class Breaking(Model):
    """Learns a factor; its gradient or value breaks at a step."""

    def __init__(self, at: int = 6, how: str = "value") -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(0.5))
        self.at, self.how, self.calls = at, how, 0

    def transform(self, values, source, target):
        self.calls += self.training
        out = self.factor * values
        if self.calls == self.at and self.training:
            return out * torch.nan if self.how == "value" else out + 0 * torch.sqrt(self.factor - self.factor)
        return out


@pytest.mark.parametrize(("how", "what"), [("value", "loss is nan"), ("gradient", "gradient is nan")])
def test_a_loss_that_is_no_number_stops_at_that_step(how, what, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(DivergedError, match=rf"the {what} at step 6 \(epoch 2\); the last checkpoint is kept"):
        fit(Breaking(how=how), waves(12), run, validation=waves(2), batch_size=3, epochs=3, threads=1, save_seconds=0)
    state, parts = RunFolder(run).newest("step")
    assert state["training"]["step"] == 5
    assert all(bool(torch.isfinite(one).all()) for part in parts.values() for one in part.values())
    assert torch.isfinite(load(run, Breaking()).network.factor)


# ------------------------------------------------------------------ learning


def test_three_resolutions_and_random_points_in_one_batch_are_learned(tmp_path):
    pairs = waves(96, grids=(16, 24, 32), points=(20, 28))
    held = waves(20, grids=(16, 24, 32), points=(20, 28), seed=1)
    made = fit(
        TINY, pairs, tmp_path / "run", validation=held, epochs=25, batch_size=12, optimizer={"lr": 0.01}, threads=1
    )
    history = json.loads((tmp_path / "run" / "metrics.json").read_text())["epochs"]
    assert history[-1]["loss"] < 0.15 * history[0]["loss"]
    assert history[-1]["validation"] < 0.15
    new = Discretization.uniform(64, periodic=True)
    given, wanted = wave(new, 12345)
    error = (made.predict(given).values - wanted.values).norm() / wanted.values.norm()
    assert error < 0.3  # on a grid that it never saw


def burgers(count, first):
    """Functions of their own on three grids and on random points."""
    kinds = [(Burgers(viscosity=0.02, points="random" if n == 56 else "uniform"), n) for n in (32, 48, 56, 64)]
    pairs = []
    for i in range(count):
        problem, n = kinds[i % 4]
        sample = problem.record(np.random.default_rng([7, first + i]), [n])[0][n]
        given, wanted = (torch.from_numpy(values).float() for values in (sample.input, sample.output))
        pairs.append((Field(sample.input_at, given), Field(sample.output_at, wanted)))
    return pairs


@pytest.mark.slow
def test_mixed_batches_beat_one_resolution_after_the_other(tmp_path):
    """Burgers, ten functions of each kind, 160 steps; the paper's variant spends 10 epochs on each kind in turn."""
    model = {"name": "iaenet", **sizes(width=16, latent=16, rank=16, blocks=2, modes=8, post=8)}
    pairs, held = burgers(40, 0), burgers(40, 1000)
    errors = {}
    for order, epochs in (("mixed", 40), ("sequential", 160)):
        for seed in (0, 1):
            run = tmp_path / f"{order}{seed}"
            fit(model, pairs, run, validation=held, epochs=epochs, batch_size=10, sampling=order, seed=seed, threads=1)
            metrics = json.loads((run / "metrics.json").read_text())
            assert metrics["epochs"][-1]["step"] == 160
            errors.setdefault(order, []).append(metrics["best"]["validation"])
    # By little: every resolution is the same function on the latent grid, so that their order hardly matters.
    assert np.mean(errors["mixed"]) < np.mean(errors["sequential"])


def test_the_weights_that_did_best_are_given_back(tmp_path):
    run = tmp_path / "run"
    made = train_scenario("paper", run)
    metrics = json.loads((run / "metrics.json").read_text())
    errors = [epoch["validation"] for epoch in metrics["epochs"]]
    assert metrics["best"] == {"epoch": errors.index(min(errors)) + 1, "validation": min(errors)}
    held = waves(6, **SCENARIOS["paper"][1], seed=1)
    found = [
        ((made.predict(given).values - wanted.values).norm() / wanted.values.norm()).item() for given, wanted in held
    ]
    assert np.mean(found) == pytest.approx(min(errors), rel=1e-5)
    assert metrics["best"]["epoch"] < len(errors)  # the last is not the best


@pytest.mark.parametrize("name", ["muon", "adamw", "adam"])
def test_every_optimizer_learns(name, tmp_path):
    run = tmp_path / "run"
    config = {"epochs": 8, "batch_size": 8, "optimizer": {"name": name, "lr": 0.01}, "threads": 1}
    fit(TINY, waves(40), run, validation=waves(8, seed=1), **config)
    history = json.loads((run / "metrics.json").read_text())["epochs"]
    assert history[-1]["validation"] < 0.6 * history[0]["validation"]


def test_bfloat16_trains_and_comes_back_in_float32(tmp_path):
    errors = {}
    for precision in ("float32", "bf16", "float32"):
        run = tmp_path / precision
        made = fit(
            TINY, waves(40), run, validation=waves(8, seed=1), epochs=8, batch_size=8, precision=precision, threads=1
        )
        errors[precision] = json.loads((run / "metrics.json").read_text())["best"]["validation"]
        assert {parameter.dtype for parameter in made.parameters()} == {torch.float32}
    assert errors["bf16"] != errors["float32"]
    assert errors["bf16"] < 1.2 * errors["float32"]


def test_float64_data_train_a_float64_network(tmp_path):
    pairs = [(given.to(torch.float64), wanted.to(torch.float64)) for given, wanted in waves(12)]
    made = fit(TINY, pairs, tmp_path / "run", epochs=2, threads=1)
    assert {parameter.dtype for parameter in made.parameters()} == {torch.float64}
    assert made.predict(pairs[0][0]).values.dtype == torch.float64
    assert load(tmp_path / "run").predict(pairs[0][0]).values.equal(made.predict(pairs[0][0]).values)


def test_a_running_mean_is_that_of_the_weights(tmp_path):
    """ema: m <- d m + (1 - d) w after every step; buffers are those of the network."""
    run = tmp_path / "run"
    with pytest.raises(InterruptedError):
        train_scenario("own", run, progress=Stopper(6, give_up), save_seconds=0)
    before, after = (load_checkpoint(path)[1] for path in sorted(run.glob("checkpoints/step-*")))
    for name, new in after["weights"].items():
        if "running" in name or "num_batches" in name:
            assert torch.equal(after["mean"][name], new)
        else:
            expected = 0.8 * before["mean"][name] + 0.2 * new
            assert torch.allclose(after["mean"][name], expected, rtol=1e-5, atol=1e-7)


def test_clipping_bounds_the_gradient(tmp_path, monkeypatch):
    seen = []

    class Watching(torch.optim.Adam):
        def step(self, closure=None):
            gradients = [p.grad.norm() for group in self.param_groups for p in group["params"]]
            seen.append(torch.stack(gradients).norm().item())
            return super().step(closure)

    monkeypatch.setattr(torch.optim, "Adam", Watching)
    for clip in (0.0, 0.01):
        fit(TINY, waves(12), None, epochs=2, batch_size=4, optimizer={"name": "adam", "clip": clip}, threads=1)
    free, clipped = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    assert min(free) > 0.012
    assert max(clipped) == pytest.approx(0.01, rel=1e-3)


# ------------------------------------------------------------------ random numbers


def test_the_random_numbers_of_the_caller_are_left_alone(tmp_path):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    fit(TINY, waves(10), tmp_path / "run", epochs=1, threads=1)
    assert torch.equal(torch.rand(3), expected)


def test_the_random_numbers_of_the_caller_do_not_matter(tmp_path):
    made = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        fit(TINY, waves(12), tmp_path / f"run{seed}", epochs=2, threads=1)
        made.append(outcome(tmp_path / f"run{seed}"))
    assert made[0] == made[1]


# ------------------------------------------------------------------ what cannot be trained


def test_a_symmetry_that_the_data_do_not_have_leaves_no_folder(tmp_path):
    with pytest.raises(InvalidInputError, match="symmetry shift"):
        fit(TINY, waves(12, points=(16,)), tmp_path / "run", epochs=1, augment={"symmetries": ["shift"]}, threads=1)
    assert not (tmp_path / "run").exists()


def test_interrupts_are_handled_as_before_when_training_is_over(tmp_path):
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    fit(TINY, waves(12), tmp_path / "run", epochs=1, threads=1)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers


class Sleeping(Model):
    """A step that lasts."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(0.5))
        self.path = path

    def transform(self, values, source, target):
        open(self.path, "w").close()
        for _ in range(3000):
            time.sleep(0.1)
        return self.factor * values


def train_asleep(folder):
    fit(Sleeping(f"{folder}/asleep"), waves(4), f"{folder}/run", epochs=1, threads=1)


def test_a_later_signal_does_not_wait_for_the_step(tmp_path):
    process = start(train_asleep, tmp_path)
    while not (tmp_path / "asleep").exists():
        assert process.is_alive()
        time.sleep(0.01)
    for _ in range(2):  # the second one may be the same, passed on by a launcher
        os.kill(process.pid, signal.SIGTERM)
        time.sleep(0.2)
    assert process.is_alive()
    time.sleep(PATIENCE)
    os.kill(process.pid, signal.SIGTERM)
    assert finish(process, 60) == 143


def test_samples_with_different_channels_are_refused(tmp_path):
    grid = Discretization.uniform(16, periodic=True)
    pairs = [*waves(6), (Field(grid, torch.rand(16, 2)), Field(grid, torch.rand(16, 1)))]
    with pytest.raises(InvalidInputError, match="channels"):
        fit(TINY, pairs, tmp_path / "run", epochs=1, threads=1)
    assert not (tmp_path / "run").exists()


# ------------------------------------------------------------------ memory


GROWTH = """
import gc, sys
from iaenet import fit
from tests.trainings import TINY, waves

seen = {}

def progress(title):
    def step(done, total, note):
        if done in (1000, 2000):
            gc.collect()
            with open("/proc/self/status") as status:
                seen[done] = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return step

fit(TINY, waves(40, grids=(16, 24), points=(20,)), sys.argv[1] + "/run", epochs=500, batch_size=10, threads=1,
    validation=waves(2), progress=progress, augment={"weight": 0.5, "sizes": [32], "points": [20]})
print(*seen.values())
"""


@pytest.mark.slow
def test_memory_does_not_grow(tmp_path):
    """2000 steps: what is in use after 1000 is in use after 2000, random points at every step or not."""
    done = subprocess.run([sys.executable, "-c", GROWTH, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    early, late = (int(number) for number in done.stdout.split())
    print(f"{early} kB after 1000 steps, {late} kB after 2000")
    assert late - early < 4096


# ------------------------------------------------------------------ a budget of time


def test_a_budget_is_a_whole_training(tmp_path):
    pairs = waves(40)
    fit(TINY, pairs, tmp_path / "run", budget="4s cpu", batch_size=5, threads=1)
    log = json.loads((tmp_path / "run" / "metrics.json").read_text())["epochs"]
    assert log[-1]["lr"] < 0.1 * max(entry["lr"] for entry in log)  # the schedule came to its end
    assert (tmp_path / "run" / "pace.json").exists()
    again = (tmp_path / "run" / "metrics.json").read_bytes()
    fit(TINY, pairs, tmp_path / "run", budget="4s cpu", batch_size=5, threads=1)  # is over: nothing is trained
    assert (tmp_path / "run" / "metrics.json").read_bytes() == again


def test_a_stopped_run_with_a_budget_follows_its_plan(tmp_path):
    """Stopped after the pace was written down, it takes the same steps again with the same rates."""
    pairs = waves(40)

    class Stop(Exception):
        pass

    def stopper(_title):
        def step(done, _total, _note=""):
            if done == 60:
                raise Stop

        return step

    options = {"budget": "6s cpu", "batch_size": 5, "threads": 1, "save_seconds": 0.0}
    with pytest.raises(Stop):
        fit(TINY, pairs, tmp_path / "run", progress=stopper, **options)
    written = json.loads((tmp_path / "run" / "pace.json").read_text())
    fit(TINY, pairs, tmp_path / "run", **options)
    after = json.loads((tmp_path / "run" / "pace.json").read_text())
    assert {step: after[step] for step in written} == written
    assert len(after) > len(written)

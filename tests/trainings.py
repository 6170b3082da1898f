"""Small trainings, what they leave behind, and processes to run them in."""

import json
import math
import multiprocessing
import os
import shutil
import signal
import sys

import torch
from torch import nn

from iaenet import Discretization, Field, Model
from iaenet.cli.main import main
from iaenet.training import checkpoint
from iaenet.training.fit import fit
from tests.sizes import sizes

# Children of a process that has imported everything: they start at once, and can be killed.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload([__name__, "iaenet.cli.train_command", "iaenet.training.curves", "matplotlib.figure"])

SIZES = sizes(blocks=2)
# Something of everything, but no linear start: the waves below are smoothed, which it would learn at once.
TINY = {"name": "iaenet", **SIZES, "post": 4, "linear_start": 0}


def wave(at, seed):
    """Three random harmonics on the periodic line, and the same smoothed: the heat equation after some time."""
    a = torch.randn(2, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    k = torch.arange(1, 4, dtype=torch.float64)
    angle = 2 * math.pi * at.points[:, :1] * k
    parts = a[0] * angle.cos() + a[1] * angle.sin()
    smoothed = parts * torch.exp(-0.1 * k**2)
    return Field(at, parts.sum(1, keepdim=True).float()), Field(at, smoothed.sum(1, keepdim=True).float())


def waves(count, grids=(16,), points=(), seed=0):
    """Pairs that take turns over uniform grids and sets of random points."""
    places = [Discretization.uniform(size, periodic=True) for size in grids]
    chance = torch.Generator().manual_seed(seed)
    for n in points:
        places.append(Discretization.points(torch.rand(n, 1, generator=chance, dtype=torch.float64), periodic=True))
    return [wave(places[i % len(places)], 1000 * seed + i) for i in range(count)]


class Dropping(Model):
    """A network of one's own, with dropout, a buffer that moves, tied weights, and a part used only now and then."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.lift = nn.Linear(3, width)
        self.drop = nn.Dropout(0.3)
        self.middle = nn.Linear(width, width)
        self.tied = self.middle
        self.fine = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)
        self.project = nn.Linear(width, 1)

    def transform(self, values, source, target):
        x = 2 * math.pi * source.points.float().expand(len(values), -1, -1)
        hidden = torch.tanh(self.lift(torch.cat([values, x.cos(), x.sin()], dim=-1)))
        if source.n > 20:
            hidden = hidden + self.fine(hidden)
        hidden = self.tied(self.drop(self.middle(self.norm(hidden.transpose(1, 2)).transpose(1, 2))))
        return self.project(hidden)


# ------------------------------------------------------------------ trainings that use all there is to remember

MIXED = {"grids": (16, 32), "points": (20,)}
SCENARIOS = {
    "muon": (TINY, MIXED, {"epochs": 8, "batch_size": 7}),
    "paper": (
        TINY,
        {"grids": (16,)},
        {
            "epochs": 20,
            "batch_size": 8,
            "optimizer": {"name": "adam", "lr": 0.2, "ema": 0.5},
            "schedule": {"name": "plateau", "patience": 0},
            "patience": 2,
            "augment": {"weight": 0.5, "sizes": [24, 32], "points": [20], "symmetries": ["shift", "odd-reflect"]},
        },
    ),
    "own": (
        None,
        {"grids": (16, 16, 16, 32)},
        {"epochs": 12, "batch_size": 3, "optimizer": {"name": "adamw", "lr": 0.02, "weight_decay": 0.1, "ema": 0.8}},
    ),
    "sequential": (
        TINY,
        {"grids": (16, 32)},
        {"epochs": 6, "batch_size": 5, "sampling": "sequential", "epochs_per_resolution": 2},
    ),
}


def train_scenario(name, run, **more):
    """One of the trainings above, in this process."""
    model, data, config = SCENARIOS[name]
    torch.manual_seed(1)  # for the weights of a network of one's own
    return fit(
        model or Dropping(),
        waves(24, **data),
        run,
        validation=waves(6, **data, seed=1),
        **{"threads": 1, **config, **more},
    )


class Stopper:
    """Progress that stops the training at steps of its choice, once at each."""

    def __init__(self, every, how):
        self.every, self.how, self.stops = every, how, []

    def __call__(self, title):
        return self.step

    def step(self, done, total, note):
        if done % self.every == 0 and done not in self.stops:
            self.stops.append(done)
            self.how()


def give_up():
    raise InterruptedError


def outcome(run):
    """All that a finished run leaves behind but times: bytes by name."""
    found = {name: (run / name).read_bytes() for name in ("metrics.json", "config.yaml")}
    newest = sorted(run.glob("checkpoints/step-*"))[-1]
    best = sorted(run.glob("checkpoints/best-*"))
    assert len(best) == 1
    for folder, kind in ((newest, "last"), (best[0], "best")):
        for file in folder.iterdir():
            found[f"{kind}/{file.name}"] = file.read_bytes()
    state = json.loads(found.pop("last/state.json"))
    del state["training"]["seconds"], found["last/SHA256SUMS"]
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    for line in log:
        del line["seconds"]
    return {**found, "last/state": json.dumps(state).encode(), "log": json.dumps(log).encode()}


# ------------------------------------------------------------------ processes


def start(target, *arguments):
    """A process of its own."""
    process = PROCESSES.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def finish(process, seconds=300):
    """Its exit code: minus the signal if one ended it."""
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
        raise TimeoutError(f"still running after {seconds} s")
    return process.exitcode


def run_scenario(name, run, more):
    """To be started: one of the trainings above."""
    train_scenario(name, run, **more)


def run_command(arguments, words, environment=None):
    """To be started: the command line, what it says in the file `words`."""
    with open(words, "ab", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ.update(environment or {})
    code = main([str(argument) for argument in arguments])
    sys.stdout.flush()
    sys.exit(code)


STAGES = ("sync", "rename", "rmtree")  # of a save: each file and the folder written, the name given, old ones dropped


def run_and_die(name, run, more, stage, count):
    """To be started: killed at the start of the `count`-th call of a stage of a save."""
    calls = 0

    def deadly(real):
        def call(*arguments, **options):
            nonlocal calls
            if any(".tmp" in str(one) or "checkpoints" in str(one) for one in arguments[:1]):
                calls += 1
                if calls == count:
                    os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        return call

    if stage == "sync":
        checkpoint.sync = deadly(checkpoint.sync)
    elif stage == "rename":
        os.rename = deadly(os.rename)
    else:
        shutil.rmtree = deadly(shutil.rmtree)
    train_scenario(name, run, **more)

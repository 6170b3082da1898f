"""Does everything start? Each training once, on a few samples at the coarsest resolution, for one step."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import torch

from iaenet.data.dataset import Dataset
from iaenet.experiments.data import material
from iaenet.experiments.plan import Job, Training, jobs
from iaenet.experiments.run import chosen
from iaenet.models.registry import build
from iaenet.training.fit import fit

FEW = (2, 1, 0)  # samples for training, validation and test
HUGE = 10**8  # parameters from which a network is built without memory for them, and takes no step

Progress = Callable[..., None]


def check(
    names: Sequence[str], preset: str, folder: Traversable, work: Path, progress: Progress | None = None
) -> list[str]:
    """Build the data plan and the models of every row, and take a training step; a line for each table."""
    lines, seen = [], set()
    planned = {table.name: jobs(table, preset) for table in chosen(names, folder) if table.rows}
    total, done = sum(len(rows) for rows in planned.values()), 0
    for name, rows in planned.items():
        built = 0
        for job in rows:
            training = small(job)
            if training.name not in seen:
                built += not one_step(training, work)
                seen.add(training.name)
            done += 1
            if progress is not None:
                progress(done, total, f"{name}, {job.row}")
        note = f", {built} too large for a step here: built only" if built else ""
        lines.append(f"{name}: {len(rows)} rows start{note}")
    return lines


def small(job: Job) -> Training:
    """The training of a row on a few samples at the coarsest resolutions, for one step."""
    job.test.source()  # refuses parameters that cannot be
    training = job.training
    count = len(training.data.resolutions)
    coarse = tuple(sorted({*job.test.resolutions, *training.data.resolutions}))[:count]
    data = replace(training.data, samples=FEW, resolutions=coarse)
    config = {**training.config, "batch_size": FEW[0] * count, "sampling": "mixed", "threads": 1}
    augment: dict[str, Any] = dict(config.get("augment", {}))
    if augment.get("sizes"):
        config["augment"] = {**augment, "sizes": list(coarse)}
    return replace(training, data=data, spread=False, budget=0.0, epochs=1, rates=training.rates[:1], config=config)


def one_step(training: Training, work: Path) -> bool:
    """Take a step; False if the network is so large that it was only built."""
    learnt = material(training, work)
    if isinstance(learnt.data, Dataset):
        given, wanted = learnt.data[0]
        options = {key: value for key, value in training.model.items() if key != "name"}
        with torch.device("meta"):
            empty = build(training.model["name"], [(given, wanted)], **options) if _bare(training) else None
        if empty is not None and sum(math.prod(p.shape) for p in empty.parameters()) > HUGE:
            return False
    fit(training.model, config=training.made(1, training.rates[0], seed=0), **learnt.options)
    return True


def _bare(training: Training) -> bool:
    """Whether the network can be built without data in it."""
    return training.model["name"] == "published"

"""Does everything start? Each training once, on a few samples at the coarsest resolution, for one step."""

import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import torch

from iaenet.experiments.data import material
from iaenet.experiments.plan import Job, Training, jobs
from iaenet.experiments.run import chosen
from iaenet.experiments.step_time import Enough
from iaenet.experiments.table import PUBLISHED
from iaenet.functions.interpolate import interpolate
from iaenet.functions.resample import uniform_grid
from iaenet.models.registry import build
from iaenet.training.config import TrainConfig
from iaenet.training.fit import fit

FEW = (2, 1, 0)  # samples for training, validation and test
HUGE = 10**8  # parameters from which IAE-Net alone takes a step, once, and others are built without memory for them
SIDE = 16  # points along each axis that it takes its step on
MEMORY = 10 * 2**30  # bytes of a machine on which that step, which needs 8 GiB with Adam, is taken

Progress = Callable[..., None]


def check(
    names: Sequence[str], preset: str, folder: Traversable, work: Path, progress: Progress | None = None
) -> list[str]:
    """Build the data plan and the models of every row, and take a training step; a line for each table."""
    lines: list[str] = []
    seen: set[str] = set()
    planned = {table.name: jobs(table, preset) for table in chosen(names, folder) if table.rows}
    total, done, stepped = sum(len(rows) for rows in planned.values()), 0, 0
    for name, rows in planned.items():
        built, notes = 0, []
        for job in rows:
            training = small(job)
            if training.name not in seen:
                size = huge(training, work)
                if not size:
                    fit(training.model, config=one_epoch(training), **material(training, work).options)
                elif stepped or job.row != PUBLISHED or memory() < MEMORY:
                    built += 1
                else:
                    huge_step(training, work)
                    stepped = size
                    notes.append(f"with a step of {size:,} parameters on {SIDE} points along each axis")
                seen.add(training.name)
            done += 1
            if progress is not None:
                progress(done, total, f"{name}, {job.row}")
        notes += [f"{built} of over {HUGE // 10**6} million parameters built only"] if built else []
        lines.append(", ".join([f"{name}: {len(rows)} rows start", *notes]))
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
    once = replace(training, data=data, config=config, epochs=1, rates=training.rates[:1])
    return replace(once, spread=False, budget=0.0, steps_of=None)


def one_epoch(training: Training) -> TrainConfig:
    """The config of a step."""
    return training.made(training.rates[0], epochs=1)


def huge(training: Training, work: Path) -> int:
    """The parameters of a network that is too large to be built as others are; 0 if it is not."""
    if training.model["name"] != "published":  # all others are of a few million
        return 0
    options = {key: value for key, value in training.model.items() if key != "name"}
    with torch.device("meta"):
        empty = build("published", [material(training, work).data[0]], **options)
    count = sum(math.prod(parameter.shape) for parameter in empty.parameters())
    return count if count > HUGE else 0


def huge_step(training: Training, work: Path) -> None:
    """A step on one sample at few points, which ends the training before anything of that size is validated or kept."""
    given, wanted = material(training, work).data[0]
    at = uniform_grid(given.discretization, SIDE)
    pair = interpolate(given, at), interpolate(wanted, at)
    config = one_epoch(training)
    config = config.but(batch_size=1, augment={"sizes": [SIDE // 2 for _ in config.augment.sizes[:1]]})

    def stop(*_step: object) -> None:
        raise Enough

    with suppress(Enough):
        fit(training.model, [pair], validation=[pair], config=config, progress=lambda _title: stop)


def memory() -> float:
    """Bytes of memory that the machine has; infinite if it does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf

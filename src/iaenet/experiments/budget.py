"""How many epochs fit into the time that every row gets.

The number is fixed before the training and kept, so that a training which was stopped resumes to the same end, and so
that the same seed gives the same weights on any machine that is told the number. It is found by the processor's time,
which other work on the machine hardly changes; the training itself may then take longer by the clock on the wall.
"""

import statistics
import time
from contextlib import suppress
from typing import Any

from iaenet.experiments.data import Material
from iaenet.experiments.plan import Training
from iaenet.training.fit import fit

STEPS, EPOCHS = 6, 200  # of the training that is measured, at most
SHARE = 0.03  # of the budget that measuring takes, once two epochs are over


def epochs_within(training: Training, material: Material) -> tuple[int, float]:
    """Epochs that the budget pays for, and the seconds that one takes here; no budget: as the preset says."""
    if not training.budget:
        return training.epochs, 0.0
    config = training.made(1, training.rates[0], 0)
    sets = len(training.data.resolutions) if config.sampling == "sequential" else 1  # an epoch sees one of them
    # Validation has no backward pass, which is about two thirds of a step.
    samples = material.samples / sets + material.held / 3
    seconds = step_seconds(training, material) * samples / config.batch_size
    epochs = min(training.most_epochs, max(1, round(training.budget / seconds)))
    return epochs, seconds


def step_seconds(training: Training, material: Material) -> float:
    """Median processor time of a training step, in a training on a few samples that is then forgotten.

    Its first epoch does what is done once for each set of points, and is not counted.
    """
    config = training.made(EPOCHS, training.rates[0], 0).but(sampling="mixed")
    clock = Clock(SHARE * training.budget)
    with suppress(Enough):
        fit(training.model, config=config, progress=clock, **material.some(STEPS * config.batch_size).options)
    return clock.seconds


class Enough(Exception):
    """Ends a training that was only measured."""


class Clock:
    """Progress of a training that notes how long its steps take, and ends it when `limit` seconds are over."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.times: list[float] = []  # when steps ended
        self.each = 1  # steps of an epoch

    def __call__(self, _title: str) -> Any:
        """The function to call after each step."""
        self.times = [time.process_time()]
        return self.step

    def step(self, done: int, total: int, _note: str = "") -> None:
        """Note a step."""
        self.times.append(time.process_time())
        self.each = max(1, total // EPOCHS)
        if done >= 2 * self.each and self.times[-1] - self.times[0] > self.limit:
            raise Enough

    @property
    def seconds(self) -> float:
        """Median time of a step. Before the first of an epoch there is a validation, so it counts only if all are."""
        gaps = [after - before for before, after in zip(self.times, self.times[1:], strict=False)]
        later = [gap for i, gap in enumerate(gaps) if i >= self.each]
        inner = [gap for i, gap in enumerate(gaps) if i >= self.each and i % self.each]
        return statistics.median(inner or later or gaps)

"""How long a training step takes, by the processor's time, which other work on the machine hardly changes."""

import statistics
import time
from contextlib import suppress
from typing import Any

from iaenet.experiments.data import Material
from iaenet.experiments.plan import Training
from iaenet.training.fit import fit

STEPS, EPOCHS = 6, 200  # of the training that is measured, at most
LIMIT = 7.0  # seconds that measuring takes, once two epochs are over


def step_seconds(training: Training, material: Material) -> float:
    """Median processor time of a training step, in a training on a few samples that is then forgotten.

    Its first epoch does what is done once for each set of points, and is not counted.
    """
    config = training.made(training.rates[0], epochs=EPOCHS).but(sampling="mixed")
    clock = Clock(LIMIT)
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

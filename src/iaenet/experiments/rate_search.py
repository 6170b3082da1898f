"""The learning rate of a row: each is tried for a small share of the steps, the lowest validation error wins.

Every row gets the same rates and the same share, and nothing of it looks at test samples. Where the share is less than
an epoch, a trial is one epoch of fewer samples. Where it is all of the training, the trial that won is the training.
"""

import math
import shutil
from pathlib import Path
from typing import Any

from iaenet.errors import DivergedError
from iaenet.experiments.data import Material
from iaenet.experiments.plan import Training
from iaenet.experiments.progress import Part
from iaenet.training.fit import fit
from iaenet.training.run_folder import RunFolder

LEAST = 100  # steps of a trial; fewer tell little


def search(training: Training, material: Material, epochs: int, folder: Path, part: Part) -> dict[str, float | None]:
    """The validation error that each rate reached, None if it diverged. A single rate is not tried."""
    if len(training.rates) == 1:
        return {}
    some, few = trial(training, material, epochs)
    found: dict[str, float | None] = {}
    for rate in training.rates:
        run = folder / f"rate-{rate:g}"
        config = training.made(few, rate, seed=0)
        show = part.take(training.share * (training.budget or 1.0), f"rate {rate:g}")
        try:
            fit(training.model, run=run, config=config, progress=show, **some.options)
            found[f"{rate:g}"] = RunFolder(run).read_json("metrics.json")["best"]["validation"]
        except DivergedError:
            found[f"{rate:g}"] = None
    return found


def best_rate(training: Training, tried: dict[str, float | None]) -> float:
    """The rate with the lowest validation error, the lower one of equals.

    >>> from iaenet.experiments.plan import Data
    >>> data = Data("burgers", {}, (8, 2, 0), (64,), 0)
    >>> training = Training({"name": "fno"}, data, False, "given", 60.0, 1, 9, (1e-3, 3e-3), 0.1, {})
    >>> best_rate(training, {"0.001": 0.2, "0.003": 0.1}), best_rate(training, {"0.001": 0.2, "0.003": None})
    (0.003, 0.001)
    """

    def error(rate: float) -> float:
        value = tried.get(f"{rate:g}")
        return math.inf if value is None else value

    return min(sorted(training.rates), key=error)


def trial(training: Training, material: Material, epochs: int) -> tuple[Material, int]:
    """Samples and epochs of a trial, for a training of so many epochs."""
    batch = training.made(1, training.rates[0], 0).batch_size
    each = math.ceil(material.samples / batch)  # steps of an epoch
    steps = max(LEAST, training.share * epochs * each)
    if steps < 0.75 * each:
        return material.some(round(steps) * batch), 1
    return material, min(epochs, max(1, round(steps / each)))


def forget(training: Training, material: Material, folder: Path, plan: dict[str, Any]) -> None:
    """Remove the trials; what they found is in the plan. One that is as long as the training is kept, as seed 0."""
    best = folder / f"rate-{plan['rate']:g}"
    some, few = trial(training, material, plan["epochs"])
    if some is material and few == plan["epochs"] and best.exists() and not (folder / "seed-0").exists():
        best.rename(folder / "seed-0")
    for rate in training.rates:
        shutil.rmtree(folder / f"rate-{rate:g}", ignore_errors=True)

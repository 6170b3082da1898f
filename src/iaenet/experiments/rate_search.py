"""The learning rate of a row: each is tried for a small share of the seconds, the lowest validation error wins.

Every row gets the same rates and the same share, and nothing of it looks at test samples. Where the best is the lowest
or the highest of the rates, one further by a factor of three is tried, and so on, four times at most, so that the best
lies between others.
"""

import math
import shutil
from pathlib import Path

from iaenet.errors import DivergedError
from iaenet.experiments.data import Material
from iaenet.experiments.plan import Training
from iaenet.experiments.progress import Part
from iaenet.training.fit import fit
from iaenet.training.run_folder import RunFolder

FACTOR, FURTHER = 3.0, 4  # between a rate at the edge and the next one, and how many of these are tried

Tried = dict[str, float | None]  # by rate: the validation error, None if it diverged


def search(training: Training, material: Material, folder: Path, part: Part) -> Tried:
    """The validation error that each rate reached, None if it diverged. A single rate is not tried."""
    if len(training.rates) == 1:
        return {}
    found: Tried = {}
    for rate in training.rates:
        found[f"{rate:g}"] = _error(training, material, rate, folder, part)
    for _ in range(FURTHER):
        further = beyond(found)
        if further is None:
            break
        found[f"{further:g}"] = _error(training, material, further, folder, part)
    return found


def _error(training: Training, material: Material, rate: float, folder: Path, part: Part) -> float | None:
    """The validation error of a trial."""
    run = folder / f"rate-{rate:g}"
    show = part.take(training.share * (training.budget or 1.0), f"rate {rate:g}")
    config = training.made(rate, share=training.share)
    try:
        fit(training.model, run=run, config=config, progress=show, **material.options)
    except DivergedError:
        return None
    error: float = RunFolder(run).read_json("metrics.json")["best"]["validation"]
    return error


def best_of(tried: Tried) -> float:
    """The rate with the lowest validation error, the lower one of equals.

    >>> best_of({"0.001": 0.2, "0.003": 0.1}), best_of({"0.001": 0.2, "0.003": None})
    (0.003, 0.001)
    """
    return min(sorted(map(float, tried)), key=lambda rate: _value(tried, rate))


def best_rate(training: Training, tried: Tried) -> float:
    """The best of those that were tried, or the only one that there is."""
    return best_of(tried) if tried else training.rates[0]


def beyond(tried: Tried) -> float | None:
    """The rate to try next where the best is at an edge; None where it lies between others.

    >>> beyond({"0.001": 0.2, "0.003": 0.1}), beyond({"0.001": 0.1, "0.003": 0.2})
    (0.009, 0.000333333)
    >>> beyond({"0.001": 0.2, "0.003": 0.1, "0.009": 0.3}) is None, beyond({"0.001": None, "0.003": None})
    (True, 0.000333333)
    """
    best, rates = best_of(tried), sorted(map(float, tried))
    if best == rates[0]:
        return float(f"{best / FACTOR:g}")
    return float(f"{best * FACTOR:g}") if best == rates[-1] else None


def _value(tried: Tried, rate: float) -> float:
    value = tried[f"{rate:g}"]
    return math.inf if value is None else value


def forget(folder: Path) -> None:
    """Remove the trials; what they found is in the plan."""
    for path in folder.glob("rate-*"):
        shutil.rmtree(path, ignore_errors=True)

"""One row of a table: at which rate it is trained, the training, its scores.

runs/MODEL-DIGEST/plan.json      the learning rate, once it is known
runs/MODEL-DIGEST/seed-S/        a run folder of `iaenet.training.fit.fit`
TABLE/ROW-seed-S.json            the scores
"""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iaenet.data.atomic import replacing
from iaenet.data.dataset import Dataset
from iaenet.errors import CorruptFileError, DivergedError, InvalidInputError
from iaenet.experiments.data import Material, made, material
from iaenet.experiments.machine import machine
from iaenet.experiments.plan import Job, Training, digest
from iaenet.experiments.progress import Part
from iaenet.experiments.rate_search import best_rate, forget, search
from iaenet.experiments.score import invariance, score
from iaenet.reports.plots import save
from iaenet.reports.result_plots import draw_predictions
from iaenet.training.config import TrainConfig
from iaenet.training.fit import fit
from iaenet.training.run_folder import RunFolder

DRAWN = 3  # samples in the picture
MOST_DRAWN = 2  # of its rows in 2-D, where panels are large


@dataclass(frozen=True)
class WorkFolder:
    """Where data, runs and scores are kept, and how many processes generate data."""

    folder: Path
    workers: int = 1

    def result(self, job: Job, seed: int) -> Path:
        """The scores of a row."""
        return self.folder / job.table / f"{slug(job.row)}-seed-{seed}.json"

    def picture(self, table: str) -> Path:
        """Samples of a table, drawn by its reference row."""
        return self.folder / table / "samples.png"

    def run(self, training: Training) -> Path:
        """Folder of a training, with a folder for each seed."""
        return self.folder / "runs" / training.name

    @property
    def data(self) -> Path:
        """Folder of data files."""
        return self.folder / "data"


def slug(name: str) -> str:
    """A name for files.

    >>> slug("IAE-Net (No Skip)")
    'iae-net-no-skip'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def finished(job: Job, seed: int, work: WorkFolder) -> dict[str, Any] | None:
    """The scores of a row with a seed, if they are there and belong to this job."""
    found = read_json(work.result(job, seed))
    return found if found is not None and found.get("key") == _key(job, seed) else None


def run_row(job: Job, work: WorkFolder, part: Part, draw: bool) -> list[dict[str, Any]]:
    """Train and score a row with each of its seeds, from wherever an earlier try was stopped."""
    outcomes = []
    for seed in job.seeds:
        outcome = finished(job, seed, work)
        pictured = not draw or seed != job.seeds[0] or work.picture(job.table).exists()
        if outcome is None or not (pictured or "diverged" in outcome):
            outcome = _run_seed(job, seed, work, part, draw and seed == job.seeds[0])
        outcomes.append(outcome)
    return outcomes


def _run_seed(job: Job, seed: int, work: WorkFolder, part: Part, draw: bool) -> dict[str, Any]:
    training, folder = job.training, work.run(job.training)
    learnt = material(training, work.data, work.workers, part.note)
    test = made(job.test, work.data, work.workers, part.note)
    folder.mkdir(parents=True, exist_ok=True)
    plan = planned(training, learnt, folder, part)
    epochs = _epochs_like(training.steps_of, folder.parent, training, learnt) if training.steps_of else 0
    config = training.made(plan["rate"], seed, epochs=epochs)  # a rate of 0 is for the run itself to find
    outcome: dict[str, Any] = {"key": _key(job, seed), "row": job.row, "seed": seed, "training": training.name, **plan}
    outcome["machine"] = machine(config.threads)
    run = folder / f"seed-{seed}"
    show = part.take(training.budget or 1.0, f"seed {seed}")
    try:
        operator = fit(training.model, run=run, config=config, progress=show, **learnt.options)
    except DivergedError as error:
        return _keep({**outcome, "diverged": str(error)}, job, seed, work)
    metrics, choice = (RunFolder(run).read_json(name) for name in ("metrics.json", "choice.json"))
    best, steps = metrics["best"], metrics["epochs"][-1]["step"]
    outcome |= {"best_epoch": best["epoch"], "validation": best["validation"], "seconds": training_seconds(run)}
    outcome |= {"steps": steps, "epochs": round(steps / _steps_of_an_epoch(training, config, learnt), 1)}
    outcome |= {} if choice is None else {"choice": choice, "rate": choice["lr"]}
    outcome["parameters"] = sum(parameter.numel() for parameter in operator.network.parameters())
    outcome["ideas"] = ideas_of(operator.network, config)
    part.note(f"seed {seed}, scoring")
    outcome |= score(learnt.as_operator(operator), test, job.home, job.interpolated)
    if job.invariance:
        outcome["invariance"] = invariance(learnt.as_operator(operator), test, job.home)
    if draw:
        _draw(learnt, operator, test, job, work)
    return _keep(outcome, job, seed, work)


def planned(training: Training, learnt: Material, folder: Path, part: Part) -> dict[str, Any]:
    """The learning rate, and how it was found; written down, so that a training resumes as it began."""
    plan = read_json(folder / "plan.json")
    if training.steps_of is not None:  # and its rate
        plan = read_json(folder.parent / training.steps_of.name / "plan.json")
    if plan is None:
        tried = search(training, learnt, folder, part)
        plan = {"rate": best_rate(training, tried), "tried": tried}
        write_json(folder / "plan.json", plan)
        forget(folder)
    return plan


def _epochs_like(other: Training, runs: Path, training: Training, learnt: Material) -> int:
    """Epochs that come to as many steps as another training had."""
    metrics = RunFolder(runs / other.name / "seed-0").read_json("metrics.json")
    if metrics is None:
        raise InvalidInputError(f"{runs / other.name / 'seed-0'}: the row whose steps this one takes was not trained")
    config = training.made(training.rates[0], epochs=1)
    return max(1, round(metrics["epochs"][-1]["step"] / _steps_of_an_epoch(training, config, learnt)))


def _steps_of_an_epoch(training: Training, config: TrainConfig, learnt: Material) -> int:
    """Batches; an epoch of sequential sampling sees the samples of one resolution."""
    sets = len(training.data.resolutions) if config.sampling == "sequential" else 1
    return math.ceil(learnt.samples / sets / config.settled(learnt.samples).batch_size)


def ideas_of(network: Any, config: TrainConfig) -> dict[str, bool]:
    """Which of the paper's ideas a row has: those of the network, and augmentation, which is one of the training.

    >>> from iaenet.models.fno import FNO
    >>> ideas_of(FNO(1, 1), TrainConfig())["augmentation"]
    False
    """
    return {**network.ideas, "augmentation": config.augment.weight > 0}


def training_seconds(run: Path) -> float:
    """How long a training took, all sittings together, by the last line of its log."""
    log_file = run / "log.jsonl"
    try:
        seconds: float = json.loads(log_file.read_text().splitlines()[-1])["seconds"]
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise CorruptFileError(f"{log_file}: {error}") from None
    return seconds


def _draw(learnt: Material, operator: Any, test: Dataset, job: Job, work: WorkFolder) -> None:
    part = test.select(resolution=job.home)
    count = DRAWN if part[0][1].discretization.dim == 1 else MOST_DRAWN
    indices = sorted({round(i * (len(part) - 1) / max(1, count - 1)) for i in range(min(count, len(part)))})
    work.picture(job.table).parent.mkdir(parents=True, exist_ok=True)
    save(draw_predictions(learnt.as_operator(operator), part, indices), work.picture(job.table))


def _key(job: Job, seed: int) -> str:
    more = ["invariance"] if job.invariance else []
    return digest([job.training.name, job.test.name, job.home, job.interpolated, seed, *more])


def _keep(outcome: dict[str, Any], job: Job, seed: int, work: WorkFolder) -> dict[str, Any]:
    path = work.result(job, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, outcome)
    return outcome


def write_json(path: Path, content: object) -> None:
    """A JSON file, in full or not at all."""
    with replacing(path) as beside:
        beside.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def read_json(path: Path) -> dict[str, Any] | None:
    """What `write_json` wrote, or None."""
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise CorruptFileError(f"{path}: {error}") from None
    return found

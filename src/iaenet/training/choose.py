"""Which network is trained: short trials on the validation samples, within the budget of time.

    1  each candidate (`models.candidates`) for 2.5 % and for 5 % of the budget, and what follows by a power law for
       the rest, e(T) = e_2 (T / t_2)^-s,  s = log(e_1 / e_2) / log(t_2 / t_1): what learns fast at first may soon stop
    2  the best of them with a linear start, likewise, if by then it has not come below what the best linear map leaves;
       all of them, if it is far above
    3  the learning rate, from the number of steps that there is time for

A single candidate without that doubt has one trial, which tells its pace.

What was found is written to `choice.json` trial by trial: a run that was stopped goes on where it was, and its report
says what was chosen and why. Options that the user gives hold for every candidate.
"""

import dataclasses
import logging
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from iaenet.errors import CorruptFileError, DivergedError
from iaenet.models.base import Pair
from iaenet.models.candidates import Candidate, candidates
from iaenet.models.operator import Operator
from iaenet.training.batches import Samples
from iaenet.training.config import LR, TrainConfig
from iaenet.training.distributed import Distributed
from iaenet.training.horizon import budget_of
from iaenet.training.loop import Progress, train
from iaenet.training.losses import Loss
from iaenet.training.run_folder import RunFolder

log = logging.getLogger("iaenet")
SHORT, LONG = 0.025, 0.05  # shares of the budget, for trials
LEAST, LEAST_1D = 20, 100  # steps of a short trial that tell something; on a line the best may begin slowly
STEEPEST = 1.5  # s, at most
FAR = 0.5  # times the lowest error of the trials: a linear map that leaves less is tried with every candidate
CLEARLY = 0.9  # times what is expected of the likeliest: what another must stay below
RATE = 0.3  # the learning rate is RATE / sqrt(steps),
SLOWEST, FASTEST = 0.003, 0.006  # from many steps to few,
STARTED = 0.008  # and up to this beside a linear start, which leaves a network only a small part
FILE, FOLDER = "choice.json", "trials"

Make = Callable[[Mapping[str, Any]], Operator]


@dataclasses.dataclass(frozen=True)
class Trial:
    """A network and a learning rate, and what came of them: None for an error that diverged."""

    name: str
    because: str
    options: dict[str, Any]
    lr: float
    share: float = SHORT
    error: float | None = None
    steps: int = 0
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Choice:
    """The trials of a run, and which of them won."""

    trials: list[Trial]
    chosen: Trial
    why: str
    facts: dict[str, float]
    looked: float  # seconds, for the facts

    @property
    def seconds(self) -> float:
        """What facts and trials took."""
        return self.looked + sum(one.seconds for one in self.trials)


class Chooser:
    """The trials of one run. `make` builds an operator from the options of IAE-Net."""

    def __init__(
        self,
        make: Make,
        training: Samples,
        validation: Samples,
        config: TrainConfig,
        folder: RunFolder,
        team: Distributed,
        progress: Callable[[str], Progress] | None = None,
        loss: Loss | None = None,
    ) -> None:
        self.make, self.training, self.validation = make, training, validation
        self.config, self.folder, self.team, self.progress, self.loss = config, folder, team, progress, loss
        self.seconds, self.clock = budget_of(config.budget)
        self.known = _read(folder)
        self.done: list[Trial] = []
        self.facts: dict[str, float] = {}
        self.looked = 0.0

    def choose(self, data: Sequence[Pair], given: Mapping[str, Any]) -> Choice:
        """The best network for normalised pairs, of those that the options `given` leave open."""
        begin = self.clock()
        found, facts = candidates(data)
        self.facts, self.looked = dataclasses.asdict(facts), self.clock() - begin
        likeliest, *others = [
            Trial(one.name, one.because, {**one.options, **given}, self.config.optimizer.lr or LR)
            for one in _differing(found, given)
        ]
        first = self._run(likeliest)
        least = LEAST_1D if data[0][0].discretization.dim == 1 else LEAST
        if first.steps < least:
            return self._chosen(first, f"a trial has fewer than {least} steps: the likeliest network is taken")
        doubtful = data[0][0].discretization.dim > 1 and facts.linear_residual < _error(first)
        if not others and not (doubtful and _may_start(first.options)):
            return self._chosen(first, "there is no other candidate")
        best, lowest = self._tried(likeliest, first)
        why, likely, tried = "the likeliest; the trials promise nothing clearly better", lowest, [best]
        for one in others:
            long, expected = self._tried(one)
            tried.append(long)
            if expected < min(lowest, CLEARLY * likely):
                best, lowest = long, expected
                why = f"its trials promise an error of {expected:.2g}, those of the likeliest {likely:.2g}"
        if not doubtful or facts.linear_residual > _error(best):
            return self._chosen(best, why)
        far = facts.linear_residual < FAR * min(map(_error, tried))  # then trials without it tell nothing
        without = lowest
        for one in [other for other in (tried if far else [best]) if _may_start(other.options)]:
            options = {**one.options, "linear_start": facts.linear_modes}
            name = f"{one.name} with a linear start"
            long, expected = self._tried(dataclasses.replace(one, name=name, options=options))
            if expected < min(lowest, CLEARLY * without):
                best, lowest = long, expected
                why = f"its trials promise an error of {expected:.2g}, without that start {without:.2g}"
        return self._chosen(best, why)

    def _tried(self, trial: Trial, short: Trial | None = None) -> tuple[Trial, float]:
        """Both trials of a network, of which it may have had the short one: the long one, and what it promises."""
        fresh = dataclasses.replace(trial, share=SHORT, error=None, steps=0, seconds=0.0)
        short = short or self._run(fresh)
        long = self._run(dataclasses.replace(fresh, share=LONG))
        return long, self._expected(long, short)

    @staticmethod
    def _expected(long: Trial, short: Trial) -> float:
        """The error after the budget, by the power law through both trials."""
        errors = _error(long), _error(short)
        if not all(map(math.isfinite, errors)) or min(errors) <= 0:
            return _error(long)
        steepness = math.log(_error(short) / _error(long)) / math.log(LONG / SHORT)
        return _error(long) * LONG ** min(max(steepness, 0.0), STEEPEST)

    def _run(self, trial: Trial) -> Trial:
        """Train it for a share of the budget, unless that was done before the run was stopped."""
        over = self.known[len(self.done)] if len(self.done) < len(self.known) else None
        if over is None or (over.name, over.share) != (trial.name, trial.share):
            begin = self.clock()
            place = RunFolder(self.folder.path / FOLDER / f"{len(self.done)}")
            place.checkpoints.mkdir(parents=True, exist_ok=True)
            words = f"{trial.share * self.seconds:.3f}s{' cpu' if self.config.budget.rstrip().endswith('cpu') else ''}"
            config = self.config.but(budget=words, patience=0, optimizer={"lr": trial.lr})
            show = None if self.progress is None else self.progress(f"trial of {trial.name}")
            operator = self.make(trial.options)
            spent = self.clock() - begin
            try:
                samples = self.training, self.validation
                state = train(operator, *samples, config, place, self.team, show, loss=self.loss)
                found: dict[str, Any] = {"error": state.history[-1]["validation"], "steps": state.step}
                found["seconds"] = spent + state.seconds  # building it is none of its share
            except DivergedError:
                found = {"seconds": self.clock() - begin}
            over = dataclasses.replace(trial, **found)
        self.done.append(over)
        if self.team.is_main:
            self.folder.write_json(FILE, {"format": 1, "trials": [dataclasses.asdict(one) for one in self.done]})
            shutil.rmtree(self.folder.path / FOLDER, ignore_errors=True)
        self.team.wait()
        return over

    def _chosen(self, trial: Trial, why: str) -> Choice:
        """The end of it, in the file and in the log; `1 / sqrt(steps)` is how the best learning rate falls."""
        steps = trial.steps * (1 - sum(one.share for one in self.done)) / trial.share
        most = STARTED if trial.options.get("linear_start") else FASTEST
        lr = self.config.optimizer.lr or min(max(RATE / max(steps, 1.0) ** 0.5, SLOWEST), most)
        choice = Choice(self.done, dataclasses.replace(trial, lr=float(f"{lr:.2g}")), why, self.facts, self.looked)
        if self.team.is_main:
            content = dataclasses.asdict(choice) | {"format": 1, "chosen": trial.name, "lr": choice.chosen.lr}
            self.folder.write_json(FILE, content)
            log.info("%s: %s, learning rate %g (%s)", self.folder.path.name, trial.name, choice.chosen.lr, why)
        return choice


def _differing(found: Sequence[Candidate], given: Mapping[str, Any]) -> list[Candidate]:
    """Those that are still different networks once the options that were given hold for all."""
    kept: list[Candidate] = []
    if "branches" in given:  # what else candidates have goes with their own
        found = [one for one in found if "branches" not in one.options][:1] or found[:1]
    for one in found:
        if {**one.options, **given} not in [{**other.options, **given} for other in kept]:
            kept.append(one)
    return kept


def _error(trial: Trial) -> float:
    return float("inf") if trial.error is None else trial.error


def _may_start(options: Mapping[str, Any]) -> bool:
    """Whether a network can have a linear start, and nobody has said that it should not."""
    return "linear_start" not in options and options.get("blocks", 1) != 0


def _read(folder: RunFolder) -> list[Trial]:
    found = folder.read_json(FILE) or {"trials": []}
    try:
        return [Trial(**one) for one in found["trials"]]
    except (TypeError, KeyError) as error:
        raise CorruptFileError(f"{folder.path / FILE}: {error}") from None

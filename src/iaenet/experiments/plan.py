"""What has to be trained for a table. Rows of different tables that are trained alike are trained once."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from iaenet.data.problems import PROBLEMS
from iaenet.data.problems.problem import Problem
from iaenet.errors import InvalidInputError
from iaenet.experiments.table import Preset, Row, Table, merged
from iaenet.training.config import TrainConfig

TRAINING_SEED, TEST_SEED = 0, 1  # of the data: test samples are never drawn from the stream of the training


@dataclass(frozen=True)
class Data:
    """Samples of a problem: numbers for training, validation and test, at some resolutions.

    >>> one = Data("burgers", {"viscosity": 0.1}, (8, 2, 0), (64,), 0)
    >>> one.name.startswith("burgers-"), one.name == Data("burgers", {"viscosity": 0.2}, (8, 2, 0), (64,), 0).name
    (True, False)
    """

    problem: str
    parameters: dict[str, Any]
    samples: tuple[int, int, int]
    resolutions: tuple[int, ...]
    seed: int

    @property
    def name(self) -> str:
        """Of the file: the problem, and what the rest comes to."""
        return f"{self.problem}-{digest(asdict(self))}.h5"

    def source(self) -> Problem:
        """The problem that it is drawn from."""
        if self.problem not in PROBLEMS:
            raise InvalidInputError(f"no problem {self.problem!r}; there are {', '.join(PROBLEMS)}")
        given = {key: tuple(value) if isinstance(value, list) else value for key, value in self.parameters.items()}
        try:
            return PROBLEMS[self.problem](**given)
        except TypeError as error:  # an option that it does not have, or a word where a number belongs
            raise InvalidInputError(f"problem {self.problem}: {str(error).split('() ')[-1]}") from None


@dataclass(frozen=True)
class Training:
    """A network, what it is trained on and for how long; its seeds and its scores are not part of it."""

    model: dict[str, Any]
    data: Data
    spread: bool
    inputs: str  # see `Row`
    budget: float
    epochs: int
    rates: tuple[float, ...]
    share: float
    config: dict[str, Any]
    steps_of: "Training | None" = None  # see `Row`

    @property
    def name(self) -> str:
        """Of the folder: the model, and what the rest comes to."""
        return f"{self.model['name']}-{digest(asdict(self))}"

    def made(self, rate: float, seed: int = 0, *, share: float = 1.0, epochs: int = 0) -> TrainConfig:
        """How it is trained: so many epochs, or else a share of its budget, or the epochs of the preset."""
        length = {"budget": f"{share * self.budget:g}s cpu"} if self.budget and not epochs else {}
        options = {"epochs": epochs or self.epochs, "seed": seed, "optimizer": {"lr": rate}, **length}
        return TrainConfig().but(**merged(self.config, options))


@dataclass(frozen=True)
class Job:
    """A row of a table: a training, its seeds, and the samples and resolutions that it is scored on."""

    table: str
    row: str
    training: Training
    seeds: tuple[int, ...]
    test: Data
    interpolated: bool
    home: int
    invariance: bool = False

    @property
    def weight(self) -> float:
        """What it costs: seconds of training, or 1 for each training if there is no budget."""
        tries = (len(self.training.rates) + 1) * self.training.share if len(self.training.rates) > 1 else 0.0
        return (len(self.seeds) + tries) * (self.training.budget or 1.0)


def jobs(table: Table, preset: str) -> list[Job]:
    """The rows of a table in a preset, each with all that it needs."""
    sizes = table.preset(preset)
    return [_job(table, name, row, sizes) for name, row in table.rows_of(preset).items()]


def _job(table: Table, name: str, row: Row, sizes: Preset) -> Job:
    test = sizes.samples[2]
    return Job(
        table=table.name,
        row=name,
        training=_training(table, name, row, sizes),
        seeds=tuple(sizes.repeats.headline if row.headline else sizes.repeats.seeds),
        test=Data(
            table.problem,
            merged(table.parameters, sizes.parameters),
            (0, 0, test),
            tuple(sizes.resolutions),
            TEST_SEED,
        ),
        interpolated="interpolated" in table.also,
        home=sizes.at,
        invariance="invariance" in table.also,
    )


def _training(table: Table, name: str, row: Row, sizes: Preset) -> Training:
    train, validation, _ = sizes.samples
    parameters = merged(table.parameters, sizes.parameters)
    as_published: dict[str, Any] = {"augment": {"symmetries": []}} if row.model.get("name") == "published" else {}
    config = merged(merged(as_published, sizes.config), row.config)
    other = None
    if row.steps_of is not None and sizes.length.budget:
        if row.steps_of not in table.rows:
            raise InvalidInputError(f"{table.name}: row {name!r}: steps_of: there is no row {row.steps_of!r}")
        other = _training(table, row.steps_of, table.rows[row.steps_of], sizes)
    if row.resample and sizes.resample:
        config = merged(config, {"augment": {"weight": 1.0, "sizes": sizes.resample}})
    if "name" not in row.model:
        raise InvalidInputError(f"{table.name}: row {name!r}: model needs a name")
    finds_its_own = row.model["name"] == "iaenet" and bool(sizes.length.budget)  # in trials within its budget
    training = Training(
        model=merged(sizes.models.get(row.model["name"], {}), row.model),
        data=Data(table.problem, parameters, (train, validation, 0), tuple(sizes.training), TRAINING_SEED),
        spread=sizes.spread,
        inputs=row.inputs,
        budget=round(row.share * sizes.length.budget, 2),
        epochs=sizes.length.epochs,
        rates=(0.0,) if finds_its_own else tuple(sizes.search.rates),
        share=sizes.search.share,
        config=config,
        steps_of=other,
    )
    training.made(training.rates[0], epochs=1)  # refuses a config that cannot be
    return training


def digest(content: object) -> str:
    """Eight letters that differ if the content does."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]

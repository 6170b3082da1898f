"""What a table is: the problem, its rows, and how large everything is in each preset; read from YAML files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal, get_args

import yaml

from iaenet.errors import InvalidInputError, no_such
from iaenet.outside import read_yaml
from iaenet.typed import typed

Name = Literal["smoke", "cpu", "paper"]
PRESETS: tuple[Name, ...] = get_args(Name)
TABLES = files("iaenet.experiments") / "tables"  # the paper's, which come with the package
PUBLISHED, OURS = "IAE-Net", "IAE-Net (ours)"  # rows: the published form, and this package's network


@dataclass(frozen=True)
class Row:
    """One network of a table.

    model: its name and options; sizes that are not given here are those of the preset.
    config: what is trained differently from the other rows, see `iaenet.training.config.TrainConfig`.
    resample: train with eq. (loss), weight 1, on the preset's `resample` grids, if it has any. Default false.
    inputs: given, as the data have them; sensors, interpolated to the points of the training inputs (to a uniform grid
        of as many if these differ), for networks with fixed sensors; extended, from the boundary to a grid of the
        box around the domain, constant along all axes but the first; arrays, both functions on a square grid of the
        box, for networks that take nothing else. Default given.
    trials: trainings by hand that went into its settings, null if nobody counted; trials of learning rates are counted
        by themselves. Default 0: its size is that of its authors, or of our presets.
    steps_of: another row of the table, which this one is trained for as many steps as, whatever its own seconds.
    share: of the seconds that other rows have. Default 1.
    headline: trained with the seeds of the preset's `repeats.headline`. Default false.
    presets: the presets that have this row. Default all.
    published: the published row to compare with, if it has another name. Default: same name.
    published_table: the table of published.toml that has it, if not the table's own.
    published_column: its column that this row stands for, if not the table's `trained`.
    at: position on the horizontal axis of the figure, in tables whose rows are points of a curve.
    note: shown below the table.
    """

    model: dict[str, Any]
    config: dict[str, Any] = field(default_factory=dict)
    resample: bool = False
    inputs: Literal["given", "sensors", "extended", "arrays"] = "given"
    trials: int | None = 0
    steps_of: str | None = None
    share: float = 1.0
    headline: bool = False
    presets: list[Name] = field(default_factory=lambda: list(PRESETS))
    published: str | None = None
    published_table: str | None = None
    published_column: int | None = None
    at: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Length:
    """How long rows are trained.

    budget: seconds of a processor that every row may train for; 0: `epochs` epochs each. Default 0.
    epochs: see budget. Default 1.
    """

    budget: float = 0.0
    epochs: int = 1


@dataclass(frozen=True)
class Search:
    """How learning rates are chosen.

    rates: to try; the best on the validation samples is taken. Default 0.001 and 0.003.
    share: of the steps, for trying each rate; at least 100 of them. Default 0.08.
    """

    rates: list[float] = field(default_factory=lambda: [1e-3, 3e-3])
    share: float = 0.08


@dataclass(frozen=True)
class Repeats:
    """Seeds of a row, and of a headline row. Default [0] and [0, 1]."""

    seeds: list[int] = field(default_factory=lambda: [0])
    headline: list[int] = field(default_factory=lambda: [0, 1])


@dataclass(frozen=True)
class Paper:
    """What a table is compared with.

    table: the one in published.toml. Default: the same name.
    reference: the row whose published figures others' are compared with. Default IAE-Net.
    """

    table: str | None = None
    reference: str = PUBLISHED


@dataclass(frozen=True)
class MadeOf:
    """The results that a table is made of.

    parts: tables, by what they stand for.
    limit: largest error that counts as success in a summary. Default 0.1.
    answers: the published answers of a summary, by row, in the order of its columns; none for a row of our own.
    """

    parts: dict[str, str] = field(default_factory=dict)
    limit: float = 0.1
    answers: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Preset:
    """How large everything is.

    samples: numbers of training, validation and test samples.
    training: resolutions to train on.
    columns: resolutions to score on; those of the training come with them.
    spread: each training sample is given at one of the training resolutions only. Default false.
    home: the resolution that rows are ranked at. Default: the first of the training.
    parameters: of the problem, where they differ from the table's.
    length, search, repeats: how long rows are trained, with which rates, how often.
    resample: grids for rows that are trained with eq. (loss). Default none.
    config: how to train, see `iaenet.training.config.TrainConfig`.
    models: sizes of the models, by name.
    changes: what differs from the paper, one sentence each.
    """

    samples: list[int]
    training: list[int]
    columns: list[int]
    spread: bool = False
    home: int | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    length: Length = field(default_factory=Length)
    search: Search = field(default_factory=Search)
    repeats: Repeats = field(default_factory=Repeats)
    resample: list[int] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if len(self.samples) != 3 or min(self.samples) < 1:
            raise InvalidInputError(
                f"samples must be three positive numbers, for training, validation and test; got {self.samples}"
            )
        if not (self.training and self.search.rates and self.repeats.seeds and self.repeats.headline):
            raise InvalidInputError("training, rates and seeds need at least one entry each")
        if self.home is not None and self.home not in self.resolutions:
            raise InvalidInputError(f"home is {self.home}, which is none of {self.resolutions}")
        length = self.length
        if not (length.budget >= 0 and length.epochs >= 1 and 0 < self.search.share <= 1):
            raise InvalidInputError("needs budget >= 0, epochs >= 1 and 0 < share <= 1")

    @cached_property
    def resolutions(self) -> list[int]:
        """All resolutions that rows are scored on."""
        return sorted({*self.columns, *self.training})

    @property
    def at(self) -> int:
        """The resolution that rows are ranked at."""
        return self.training[0] if self.home is None else self.home


@dataclass(frozen=True)
class Table:
    """A published table or figure.

    kind: errors (rows are trained and scored), times (rows are timed), viscosity (a figure made of other tables) or
        summary (yes or no, made of other tables). Default errors.
    title: of the page.
    paper: what it is compared with.
    trained: the published resolution that rows are ranked at.
    reference: the row that others are compared with. Default IAE-Net (ours).
    problem, parameters: where the data come from, see `iaenet generate`.
    axis: horizontal axis of the figure, resolution or blocks. Default resolution.
    also: further scores: interpolated (resolutions above the training also on interpolated labels, as the paper did),
        invariance (also on the points of the inputs without their cells, and a certificate). Default none.
    rows: the networks, by name.
    presets: sizes, by name.
    made_of: the results that it is made of, if it is made of others.
    comment: written by hand, shown on the page.
    """

    name: str
    title: str
    kind: Literal["errors", "times", "viscosity", "summary"] = "errors"
    paper: Paper = field(default_factory=Paper)
    trained: int | None = None
    reference: str = OURS
    problem: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    axis: Literal["resolution", "blocks"] = "resolution"
    also: list[Literal["interpolated", "invariance"]] = field(default_factory=list)
    rows: dict[str, Row] = field(default_factory=dict)
    presets: dict[str, Preset] = field(default_factory=dict)
    made_of: MadeOf = field(default_factory=MadeOf)
    comment: str = ""

    def preset(self, name: str) -> Preset:
        """The sizes of a preset."""
        if name not in self.presets:
            raise InvalidInputError(f"{self.name} has no preset {name!r}; there are {', '.join(self.presets)}")
        return self.presets[name]

    def rows_of(self, preset: str) -> dict[str, Row]:
        """The rows of a preset."""
        return {name: row for name, row in self.rows.items() if preset in row.presets}


def table_names(folder: Traversable = TABLES) -> list[str]:
    """The tables that a folder describes.

    >>> table_names()[:4]
    ['aliasing', 'aliasing-64', 'burgers001', 'burgers01']
    """
    found = (
        sorted(path.name[:-5] for path in folder.iterdir() if path.name.endswith(".yaml")) if folder.is_dir() else []
    )
    if not found:
        raise InvalidInputError(f"there is no table (NAME.yaml) in {folder}")
    return found


def load_table(name: str, folder: Traversable = TABLES) -> Table:
    """The table NAME.yaml, with what it shares with others: settings/common.yaml, and the file that `setting` names.

    That file may name another. Settings that the folder does not have are those of the paper's tables.

    >>> load_table("burgers1").title
    "Burgers' equation, viscosity 0.1, 1000 training samples"
    """
    path = folder / f"{name}.yaml"
    if not path.is_file():
        raise InvalidInputError(no_such("table", name, ["all", *table_names(folder)]))
    own = _read(path)
    setting = own.pop("setting", None)
    if setting is not None:
        shared, common = (_setting(one, folder) for one in (setting, "common"))
        common["presets"] = {key: one for key, one in common["presets"].items() if key in shared.get("presets", {})}
        both = merged(common, shared)
        if own.get("kind") == "times":  # what others say of their training does not concern it
            both["presets"] = {key: {**one, "changes": []} for key, one in both["presets"].items()}
        own = merged(both, own)
    for preset in own.get("presets") or {}:
        if preset not in PRESETS:
            raise InvalidInputError(f"{path}: presets: there is no key {preset!r}; there are {', '.join(PRESETS)}")
    table: Table = typed(Table, {**own, "name": name}, str(path))
    if table.kind in ("errors", "times") and not (table.rows and table.presets and table.problem):
        raise InvalidInputError(f"{path}: a table of {table.kind} needs a problem, rows and presets")
    return table


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with what `over` says, mapping by mapping; lists of `changes` are put together.

    >>> merged({"a": {"x": 1, "y": 2}, "changes": ["p"]}, {"a": {"y": 3}, "changes": ["q"]})
    {'a': {'x': 1, 'y': 3}, 'changes': ['p', 'q']}
    """
    result = dict(base)
    for key, value in over.items():
        before = result.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            result[key] = merged(before, value)
        elif key == "changes" and isinstance(before, list) and isinstance(value, list):
            result[key] = before + value
        else:
            result[key] = value
    return result


def _setting(name: str, folder: Traversable) -> dict[str, Any]:
    found = [path for one in (folder, TABLES) if (path := one / "settings" / f"{name}.yaml").is_file()]
    if not found:
        raise InvalidInputError(f"there is no {folder / 'settings' / name}.yaml")
    own = _read(found[0])
    wider = own.pop("setting", None)
    return own if wider is None else merged(_setting(wider, folder), own)


def _read(path: Traversable) -> dict[str, Any]:
    found = read_yaml(path) if isinstance(path, Path) else yaml.safe_load(path.read_text())  # ours may be in an archive
    if not isinstance(found, dict):
        raise InvalidInputError(f"{path} must be a mapping of keys to values")
    return found

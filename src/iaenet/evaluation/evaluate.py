"""Errors of a model on data that it has not seen, discretization by discretization."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from iaenet.data.dataset import Dataset
from iaenet.data.text_columns import aligned
from iaenet.errors import InvalidInputError
from iaenet.evaluation.resolution_study import random_pair
from iaenet.evaluation.rollout_errors import RolloutErrors, rollout_table
from iaenet.functions.field import Field
from iaenet.functions.metrics import channel_l2, relative_l2, relative_max, rmse
from iaenet.models.base import Pair
from iaenet.models.inference import ModelLike, infer

Progress = Callable[[int, int], None]

MOST_RESOLUTIONS = 12  # with a row each; more share one
DRAWS = 8  # sets of random points that the samples share
SHOWN = 5  # worst cases kept in the JSON file


@dataclass(frozen=True)
class Row:
    """Errors of all samples on one kind of points, or why the model would not take them.

    `errors` are relative L2 over all channels, one for each of `samples` (numbers in the data file). `channels`
    (relative L2), `rmse` (in the channel's unit) and `largest` (relative maximum) are means over samples.

    >>> Row("64", 64, (64, 64), samples=(3, 7), errors=(0.1, 0.3)).worst
    [(7, 0.3), (3, 0.1)]
    """

    on: str
    resolution: int | None  # None for random points, or for many resolutions together
    points: tuple[int, int]  # of the inputs, fewest and most
    samples: tuple[int, ...] = ()
    errors: tuple[float, ...] = ()
    channels: dict[str, float] = field(default_factory=dict)
    rmse: dict[str, float] = field(default_factory=dict)
    largest: float = 0.0
    refused: str = ""

    @property
    def statistics(self) -> dict[str, float]:
        """Mean, median, largest and standard deviation of the errors."""
        errors = np.array(self.errors)
        found = {"mean": errors.mean(), "median": np.median(errors), "worst": errors.max(), "std": errors.std()}
        return {name: float(number) for name, number in found.items()}

    @property
    def worst(self) -> list[tuple[int, float]]:
        """Sample numbers and errors, the worst first."""
        return sorted(zip(self.samples, self.errors, strict=True), key=lambda case: (-case[1], case[0]))


@dataclass(frozen=True)
class Evaluation:
    """A row for each discretization; `print(evaluation.table())`, and `to_json` for other programs."""

    rows: tuple[Row, ...]
    split: str
    content: str  # SHA-256 of the data
    rollout: tuple[RolloutErrors, ...] = ()  # along trajectories, if there are some

    def table(self) -> str:
        """The rows as text: relative errors over all samples, and the mean of each channel if there are several."""
        accepted = [row for row in self.rows if not row.refused]
        channels = list(accepted[0].channels) if accepted and len(accepted[0].channels) > 1 else []
        lines = [("resolution", "samples", "mean", "median", "worst", "std", "max norm", *channels)]
        for row in accepted:
            numbers = [*row.statistics.values(), row.largest, *(row.channels[name] for name in channels)]
            lines.append((row.on, str(len(row.errors)), *(f"{number:.3g}" for number in numbers)))
        refused = [f"{row.on}: not taken: {row.refused}" for row in self.rows if row.refused]
        along = [rollout_table(self.rollout)] if self.rollout else []
        return "\n".join([f"relative L2 error, {self.split} samples", *aligned(lines), *refused, *along])

    def to_json(self) -> str:
        """All of it as text; the same model and data give the same text."""
        rows = []
        for row in self.rows:
            entry: dict[str, Any] = {"on": row.on, "resolution": row.resolution, "points": list(row.points)}
            if row.refused:
                entry["refused"] = row.refused
            else:
                entry |= {"samples": len(row.errors), "relative_l2": row.statistics, "relative_max": row.largest}
                entry |= {"channels": row.channels, "rmse": row.rmse}
                entry["worst"] = [{"sample": sample, "relative_l2": error} for sample, error in row.worst[:SHOWN]]
            rows.append(entry)
        document: dict[str, Any] = {"split": self.split, "data": self.content, "rows": rows}
        document |= {"rollout": [row.to_json() for row in self.rollout]} if self.rollout else {}
        return json.dumps(document, indent=1, allow_nan=False) + "\n"


def evaluate(
    model: ModelLike,
    dataset: Dataset,
    *,
    resolutions: Sequence[int] | None = None,
    random_points: int | None = None,
    batch_size: int = 32,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """The errors of `model(field, at=...)` against the outputs in the data, at the outputs' own points.

    resolutions: those to evaluate at. Default: all in the data; samples with point sets of their own, one each, share
        a row, and so do more than 12 resolutions.
    random_points: adds a row for so many points, chosen at random among those of the finest grid. Default: no such row.
    batch_size: most functions at a time. Default 32.
    seed: of the random points. Default 0.
    progress: called with the numbers of pairs done and in all.

    The data set holds samples of one split: errors on samples that a model was trained on say something else.

    >>> import tempfile
    >>> from iaenet import Discretization, load_dataset, write_dataset
    >>> from iaenet.data.problems.problem import Channel
    >>> grid = Discretization.uniform(4)
    >>> pair = Field(grid, torch.ones(4, 1)), Field(grid, torch.full((4, 1), 2.0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     channels = {"inputs": [Channel("a")], "outputs": [Channel("u")]}
    ...     write_dataset(f"{folder}/a.h5", [pair], splits=["test"], **channels)
    ...     evaluation = evaluate(lambda field, at=None: field, load_dataset(f"{folder}/a.h5"))
    >>> evaluation.rows[0].errors
    (0.5,)
    """
    if batch_size < 1:
        raise InvalidInputError(f"batch_size must be at least 1, got {batch_size}")
    split = only_split(dataset)
    chosen = dataset.resolutions if resolutions is None else tuple(resolutions)
    if resolutions is None and (len(chosen) > MOST_RESOLUTIONS or has_points_of_its_own(dataset)):
        parts: list[tuple[Dataset, int | None]] = [(dataset, None)]
    else:
        parts = [(dataset.select(resolution=resolution), None) for resolution in chosen]
    if random_points is not None:
        parts.append((dataset.select(resolution=max(chosen)), random_points))
    rows: list[Row] = []
    done, total = 0, sum(len(part) for part, _ in parts)
    for part, count in parts:
        pairs = _pairs(part, batch_size) if count is None else _random_pairs(part, batch_size, count, seed)
        rows.append(_row(model, part, count, pairs, _shifted(progress, done, total)))
        done += len(part)
    return Evaluation(tuple(rows), split, dataset.content_hash)


def has_points_of_its_own(dataset: Dataset) -> bool:
    """Whether each sample is there once, on points that are no grid: their number is then no resolution."""
    first = dataset[0][0]
    points = [part.discretization for part in first.parts]
    return len(dataset) == dataset.samples and any(one.axes is None and one.n > 1 for one in points)


def only_split(dataset: Dataset) -> str:
    """The split that all samples belong to; an error if there are several, for their errors mean different things."""
    first, *others = dataset.splits
    if others:
        raise InvalidInputError(
            f"{dataset.path}: use one split at a time, not {' and '.join(dataset.splits)} together; "
            "choose with dataset.select(split='test')"
        )
    return first


Batches = Iterator[tuple[list[int], Pair]]  # indices of the pairs, and the pairs as one


def _pairs(part: Dataset, batch_size: int) -> Batches:
    """Pairs that share their points, some at a time."""
    for group in part.groups:
        for start in range(0, len(group), batch_size):
            indices = group[start : start + batch_size].tolist()
            yield indices, part.batch(indices)


def _random_pairs(part: Dataset, batch_size: int, count: int, seed: int) -> Batches:
    """The same on `count` random points of theirs."""
    most = -(-len(part) // DRAWS)
    for number, (indices, (given, wanted)) in enumerate(_pairs(part, min(batch_size, most))):
        if not isinstance(given, Field):
            raise InvalidInputError("random points are chosen of one function, and these are samples of several")
        if given.discretization.axes is None or given.discretization.n < 2 * count:
            raise InvalidInputError(
                f"{count} random points are chosen from a grid of at least {2 * count} points, "
                f"the finest one is {given.discretization}"
            )
        yield indices, random_pair(given, wanted, count, seed, number)


def _row(model: ModelLike, part: Dataset, count: int | None, pairs: Batches, report: Callable[[int], None]) -> Row:
    samples: list[int] = []
    sizes: list[int] = [] if count is None else [count]
    found: list[Tensor] = []
    low, high = part.resolutions[0], part.resolutions[-1]
    on, resolution = (str(low), low) if low == high else (f"{low} to {high}", None)
    if count is not None:
        on, resolution = f"{count} random points", None
    try:
        for indices, (given, wanted) in pairs:
            sizes.append(given.most_points)
            found.append(_errors(infer(model, given, wanted.discretization), wanted))
            samples += [part.entry(i).sample for i in indices]
            report(len(samples))
    except InvalidInputError as reason:
        return Row(on, resolution, (min(sizes), max(sizes)), refused=str(reason))
    order = np.argsort(samples, kind="stable").tolist()
    errors, largest, *others = torch.cat(found)[order].T
    names = [channel.name for channel in part.outputs]
    means = [float(other.mean()) for other in others]
    return Row(
        on,
        resolution,
        (min(sizes), max(sizes)),
        samples=tuple(samples[i] for i in order),
        errors=tuple(errors.tolist()),
        channels=dict(zip(names, means[: len(names)], strict=True)),
        rmse=dict(zip(names, means[len(names) :], strict=True)),
        largest=float(largest.mean()),
    )


def _errors(found: Field, wanted: Field) -> Tensor:
    """Relative L2, relative maximum, relative L2 and root mean square of each channel: `(b, 2 + 2 c)`."""
    found, wanted = found.to(torch.float64), wanted.to(torch.float64)
    single = [measure(found, wanted)[:, None] for measure in (relative_l2, relative_max)]
    return torch.cat([*single, channel_l2(found, wanted), rmse(found, wanted)], dim=1)


def _shifted(progress: Progress | None, before: int, total: int) -> Callable[[int], None]:
    return lambda done: None if progress is None else progress(before + done, total)

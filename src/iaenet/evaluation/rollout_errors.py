"""Errors of a model along trajectories, each step taken from the one before it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from iaenet.data.dataset import Dataset
from iaenet.data.text_columns import aligned
from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field
from iaenet.functions.metrics import relative_l2
from iaenet.functions.resample import random_indices, restrict, subset
from iaenet.functions.seeds import stream
from iaenet.models.inference import ModelLike
from iaenet.models.rollout import rollout

SHOWN = 10  # every so many steps in a table
TOGETHER = 16  # trajectories at a time


@dataclass(frozen=True)
class RolloutErrors:
    """`errors[k][j]`: relative L2 of trajectory j after k + 1 steps, on one kind of points.

    `still` are the errors of standing still, of the first state as a prediction for all times: a model above has
    forgotten where it began.

    >>> RolloutErrors("64", 64, 0.5, ((0.1, 0.3), (0.5, 0.7)), (0.2, 0.4)).mean.tolist()
    [0.2, 0.6]
    """

    on: str
    resolution: int | None  # None for random points
    time_step: float
    errors: tuple[tuple[float, ...], ...]
    still: tuple[float, ...]

    @property
    def mean(self) -> Any:
        """The mean over trajectories after each step."""
        return np.array(self.errors).mean(axis=1)

    def to_json(self) -> dict[str, Any]:
        """Mean, median and largest error after each step, for `evaluation.json`."""
        errors = np.array(self.errors)
        return {
            "on": self.on,
            "resolution": self.resolution,
            "trajectories": errors.shape[1],
            "time_step": self.time_step,
            "mean": self.mean.tolist(),
            "median": np.median(errors, axis=1).tolist(),
            "worst": errors.max(axis=1).tolist(),
            "standing_still": list(self.still),
        }


def shown_steps(count: int) -> list[int]:
    """The first, every tenth and the last of so many steps.

    >>> shown_steps(25), shown_steps(1), shown_steps(0)
    ([1, 10, 20, 25], [1], [])
    """
    return sorted({1, count, *range(SHOWN, count, SHOWN)}) if count else []


def rollout_table(rows: Sequence[RolloutErrors]) -> str:
    """Errors after the first step, every tenth, and the last, as text.

    >>> print(rollout_table([RolloutErrors("64", 64, 0.5, ((0.1, 0.3), (0.5, 0.7)), (0.2, 0.4))]))
    relative L2 error of the roll-out, mean of 2 trajectories
    after step        1    2
    64              0.2  0.6
    standing still  0.2  0.4
    """
    steps = shown_steps(len(rows[0].errors))
    lines = [("after step", *map(str, steps))]
    lines += [(row.on, *(f"{row.mean[step - 1]:.3g}" for step in steps)) for row in rows]
    lines.append(("standing still", *(f"{rows[0].still[step - 1]:.3g}" for step in steps)))
    title = f"relative L2 error of the roll-out, mean of {len(rows[0].errors[0])} trajectories"
    return "\n".join([title, *aligned(lines)])


def evaluate_rollout(
    model: ModelLike,
    dataset: Dataset,
    steps: int | None = None,
    *,
    resolutions: Sequence[int] | None = None,
    random_points: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[RolloutErrors]:
    """The errors of `model` along the trajectories of a data set, for each resolution.

    steps: how many; trajectories that are shorter are left out. Default: as many as the shortest has.
    resolutions: Default: all in the data.
    random_points: adds a roll-out on so many points, chosen at random among those of the finest grid and the same for
        all trajectories. Default: none.
    seed: of the random points. Default 0.
    progress: called with the numbers of trajectories done and in all.
    """
    chosen = dataset.resolutions if resolutions is None else tuple(resolutions)
    parts = [(dataset.select(resolution=resolution), resolution) for resolution in chosen]
    if not dataset.trajectories:
        raise InvalidInputError(
            f"{dataset.path} holds no trajectories: its parameters have no time_step; generate with --steps, or import "
            "with --time"
        )
    least = min(len(one) for one in dataset.trajectories) if steps is None else steps
    long = [[one[:least] for one in part.trajectories if len(one) >= least] for part, _ in parts]
    if least < 1 or not all(long):
        most = max(len(one) for one in dataset.trajectories)
        raise InvalidInputError(f"{least} steps of a roll-out, but the trajectories of {dataset.path} have {most}")
    jobs: list[tuple[Dataset, list[list[int]], str, int | None, int | None]] = [
        (part, found, str(resolution), resolution, None) for (part, resolution), found in zip(parts, long, strict=True)
    ]
    if random_points is not None:
        finest = int(np.argmax(chosen))
        jobs.append((parts[finest][0], long[finest], f"{random_points} random points", None, random_points))
    total, done, rows = sum(len(found) for _, found, *_ in jobs), 0, []
    for part, found, on, resolution, count in jobs:
        columns: list[list[list[float]]] = []
        for start in range(0, len(found), TOGETHER):
            some = found[start : start + TOGETHER]
            columns.append(_errors(model, part, some, count, seed))
            done += len(some)
            if progress is not None:
                progress(done, total)
        errors, still = (np.concatenate([np.array(each[side]) for each in columns], axis=1) for side in (0, 1))
        time_step = float(dataset.parameters["time_step"])
        rows.append(RolloutErrors(on, resolution, time_step, _tuples(errors), tuple(still.mean(axis=1).tolist())))
    return rows


def _errors(model: ModelLike, part: Dataset, chains: list[list[int]], count: int | None, seed: int) -> list[Any]:
    """Errors `(steps, trajectories)` of the model, and of standing still."""
    truth = [[part[i] for i in chain] for chain in chains]
    for chain in truth:
        for (_, wanted), (given, _) in pairwise(chain):
            if not torch.equal(given.values[:, : wanted.channels], wanted.values):
                raise InvalidInputError(
                    f"{part.path}: the samples of a record do not follow one another, although it has a time_step"
                )
    if count is not None:
        at = truth[0][0][0].discretization
        indices = random_indices(at, count, stream(seed, "rollout"))
        points = subset(at, indices)
        truth = [[(restrict(a, indices, points), restrict(u, indices, points)) for a, u in chain] for chain in truth]
    starts = [chain[0][0] for chain in truth]
    errors, still = [], []
    for step, states in enumerate(rollout(model, starts, len(chains[0]))):
        truths = [chain[step][1].to(torch.float64) for chain in truth]
        errors.append([float(relative_l2(u.to(torch.float64), v)) for u, v in zip(states, truths, strict=True)])
        first = [
            Field.unchecked(v.discretization, a.values[:, : v.channels].double())
            for a, v in zip(starts, truths, strict=True)
        ]
        still.append([float(relative_l2(a, v)) for a, v in zip(first, truths, strict=True)])
    return [errors, still]


def _tuples(errors: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in errors.tolist())

"""Arrays with an axis of time: each step from one state to the next is a sample, each trajectory a record."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iaenet.data.reading.files import missing
from iaenet.data.reading.imported import Imported, Lazy
from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field

if TYPE_CHECKING:
    from iaenet.data.reading.stacks import Stack

PIECES = 10  # that a single trajectory is cut into, so that there is something to validate and test on


class States:
    """All states of all trajectories as one stack, `(S, T, ...) -> (S T, ...)`; without `sample_axis` there is one.

    >>> runs = np.arange(12.0).reshape(2, 3, 2)  # two trajectories of three states
    >>> States(runs, sample_axis=0, time_axis=1)[(slice(2, 4), slice(None))].tolist()
    [[4.0, 5.0], [6.0, 7.0]]
    """

    def __init__(self, stack: "Stack", sample_axis: int | None, time_axis: int) -> None:
        self._stack = stack
        self._axes = (sample_axis, time_axis)
        self._times = stack.shape[time_axis]
        count = 1 if sample_axis is None else stack.shape[sample_axis]
        rest = [n for axis, n in enumerate(stack.shape) if axis not in self._axes]
        self.shape: tuple[int, ...] = (count * self._times, *rest)
        self.dtype: np.dtype[Any] = stack.dtype

    def __getitem__(self, index: tuple[slice, ...]) -> NDArray[Any]:
        rows, others = range(self.shape[0])[index[0]], list(index[1:])
        parts, row = [], rows.start
        while row < rows.stop:
            run, first = divmod(row, self._times)
            last = min(self._times, first + rows.stop - row)
            chosen = {self._axes[0]: slice(run, run + 1), self._axes[1]: slice(first, last)}
            rest = iter(others)
            part = self._stack[tuple(chosen.get(axis) or next(rest) for axis in range(len(self._stack.shape)))]
            ends = [axis for axis in self._axes if axis is not None]
            moved = np.moveaxis(part, ends, range(len(ends)))
            parts.append(moved if self._axes[0] is None else moved[0])
            row += last - first
        return np.concatenate(parts)


def time_axis(file: object, stacks: Any, time: str | int, lead: str, sample_axis: int) -> tuple[int | None, int, float]:
    """Axis of trajectories (None if there is one), axis of time and time step, of the array `lead`.

    `time` is the number of the axis, or the name of an array of times as long as it.

    >>> arrays = {"u": np.zeros((5, 20, 64)), "t": np.linspace(0, 1.9, 20)}
    >>> time_axis("run.npz", arrays, "t", "u", 0), time_axis("run.npz", arrays, 1, "u", 0)
    ((0, 1, 0.1), (0, 1, 1.0))
    """
    shape = stacks[lead].shape
    samples = sample_axis % len(shape)
    try:
        axis = int(time)
    except ValueError:
        if time not in stacks:
            raise missing(file, "array", str(time), list(stacks)) from None
        times = np.asarray(stacks[time][(slice(None),) * len(stacks[time].shape)], dtype=np.float64).ravel()
        axes = [i for i, size in enumerate(shape) if size == len(times)]
        axes = [i for i in axes if i != samples] or axes
        if len(axes) != 1:
            raise InvalidInputError(
                f"{file}: {len(times)} times in {time!r}, but {lead!r} has shape {shape}: give the number of its "
                "axis of time, as in --time 1"
            ) from None
        return None if axes[0] == samples else samples, axes[0], even_step(file, times)
    if not -len(shape) <= axis < len(shape):
        raise InvalidInputError(f"{file}: {lead!r} has shape {shape}, and no axis {axis} of time")
    axis %= len(shape)
    return None if axis == samples else samples, axis, 1.0


def even_step(file: object, times: NDArray[np.float64]) -> float:
    """The step between times, which must be the same everywhere.

    >>> even_step("run.nc", np.array([0.0, 6.0, 12.0]))
    6.0
    """
    steps = np.diff(times)
    if len(steps) < 1 or not np.all(steps > 0) or np.ptp(steps) > 1e-4 * steps[0]:
        raise InvalidInputError(
            f"{file}: times must grow by equal steps, got {', '.join(f'{t:.6g}' for t in times[:4])}, ...; "
            "a model of one step knows one length of it"
        )
    return float(f"{steps.mean():.6g}")


def in_time(states: Imported, runs: Sequence[int], time_step: float, segment: int | None = None) -> Imported:
    """The pairs of consecutive states; `runs` are the trajectories that the states belong to, in order.

    A trajectory is one record; `segment` cuts it into records of so many pairs, with the pair between two left out: no
    state is in two of them.

    >>> states = Imported(Lazy(6, lambda i: (i, i)), (), (), given=Lazy(6, lambda i: i))
    >>> pairs = in_time(states, [0, 0, 0, 1, 1, 1], 0.5)
    >>> list(pairs.pairs), pairs.records
    ([(0, 1), (1, 2), (3, 4), (4, 5)], ('0', '0', '1', '1'))
    >>> list(in_time(states, [0] * 6, 0.5, segment=2).pairs)
    [(0, 1), (1, 2), (3, 4), (4, 5)]
    """
    if segment is not None and segment < 1:
        raise InvalidInputError(f"segment must be at least 1 pair, got {segment}")
    first: list[int] = []
    records: list[str] = []
    for run in dict.fromkeys(runs):
        members = [i for i, own in enumerate(runs) if own == run]
        size = segment
        if size is None and len(set(runs)) == 1:
            size = max(1, (len(members) - 1) // PIECES)
        size = len(members) if size is None else size
        for piece, start in enumerate(range(0, len(members), size + 1)):
            inside = members[start : start + size + 1][:-1]
            first += inside
            records += [f"{run}" if size >= len(members) - 1 else f"{run}.{piece}"] * len(inside)
    if not first:
        raise InvalidInputError(f"{states.where(0)}: a trajectory needs at least two times")

    def pair(k: int) -> tuple[Field, Field]:
        return states.given[first[k]], states.pairs[first[k] + 1][1]

    return replace(
        states,
        pairs=Lazy(len(first), pair),
        parameters={**states.parameters, "time_step": time_step},
        records=tuple(records),
        given=Lazy(len(first), lambda k: states.given[first[k]]),
        where=lambda k: states.where(first[k]),
    )

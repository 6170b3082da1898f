"""Solutions in time: a record is one trajectory, its samples are the pairs `u(t_i) -> u(t_i + T)` one after another."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from iaenet.data.problems.exponential_steps import ETDRK4, Spectrum
from iaenet.data.problems.problem import Array, Sample
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

LEAST = 4  # points along an axis
ASKED = 8  # solver steps between two looks at their stability


def check_times(**given: float) -> None:
    """Refuse times, steps and sizes that cannot be: all positive, `start` and `drag` not negative.

    >>> check_times(time_step=0.0)
    Traceback (most recent call last):
    iaenet.errors.InvalidInputError: time_step must be positive, got 0.0
    """
    for name, value in given.items():
        least_is_zero = name in ("start", "drag", "forcing")
        if not (0 < value < math.inf or (least_is_zero and value == 0)):
            raise InvalidInputError(f"{name} must be {'at least 0' if least_is_zero else 'positive'}, got {value}")


def trajectory(
    first: Spectrum,
    stepper: Callable[[float], ETDRK4],
    times: Sequence[float],
    solver_step: float,
    stable: Callable[[Spectrum], float] | None = None,
) -> list[Spectrum]:
    """Coefficients at growing `times`, from those at time 0.

    `stepper(h)` makes time steps of length h, at most `solver_step`; where `stable(v)`, the longest step that is stable
    in state v, is below, that is halved until it is not above. It is asked for once in eight steps of the longest kind.
    """
    found, v, now = [], first, 0.0
    for time in times:
        pieces = math.ceil((time - now) / (ASKED * solver_step) - 1e-9)
        for _ in range(pieces):
            step = (time - now) / pieces / ASKED
            halvings = 0 if stable is None else max(0, math.ceil(math.log2(step / stable(v))))
            v = stepper(step / 2**halvings)(v, ASKED * 2**halvings)
        if not np.isfinite(v).all():
            raise InvalidInputError(f"the solution is not finite at time {time}: lower solver_step = {solver_step}")
        found.append(v)
        now = time
    return found


def consecutive(states: Sequence[Mapping[int, Array]], at: Mapping[int, Discretization]) -> list[dict[int, Sample]]:
    """The pairs of consecutive states, each given by resolution as values `(n, c)`.

    >>> grid = Discretization.uniform(2)
    >>> pairs = consecutive([{2: np.full((2, 1), i)} for i in (1.0, 2.0, 3.0)], {2: grid})
    >>> [(pair[2].input[0, 0].item(), pair[2].output[0, 0].item()) for pair in pairs]
    [(1.0, 2.0), (2.0, 3.0)]
    """
    return [{s: Sample(now[s], later[s], at[s], at[s]) for s in now} for now, later in pairwise(states)]


def on_periodic_grid(coefficients: Spectrum, sizes: Sequence[int]) -> Array:
    """Values at `j / sizes` of `sum_k c_k exp(2 pi i k x)`, from all `c_k (n_1, .., n_d)` in the order of the FFT.

    Exact for any sizes: on such points `c_k` acts like `c_(k + size)`.

    >>> c = np.fft.fft([0.0, 1.0, 0.0, -1.0], norm="forward")  # sin(2 pi x)
    >>> on_periodic_grid(c, [8]).round(12)[1:3].tolist()
    [0.707106781187, 1.0]
    """
    values: NDArray[np.complex128] = coefficients
    for axis, size in enumerate(sizes):
        n = values.shape[axis]
        k = np.fft.fftfreq(n, 1 / n).astype(np.int64)
        folded = np.zeros((size, *np.delete(values.shape, axis)), dtype=np.complex128)
        np.add.at(folded, k % size, np.moveaxis(values, axis, 0))
        values = np.moveaxis(size * np.fft.ifft(folded, axis=0), 0, axis)
    return np.ascontiguousarray(values.real)


@lru_cache(maxsize=64)
def periodic_grid(s: int, dim: int, length: float) -> Discretization:
    """The uniform grid of `s` points along each axis of a periodic cube of side `length`, one object for all."""
    if s < LEAST:
        raise InvalidInputError(f"resolution must be at least {LEAST} points along an axis, got {s}")
    return Discretization.uniform((s,) * dim, periodic=True, bounds=[[0, length]] * dim)

"""A record of a problem as bytes, so that it can be made in another process and kept in a journal."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.data.journal import discretization_entry, entry
from iaenet.data.packing import pack
from iaenet.data.problems.problem import Channel, Problem, function_names
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

# Resolution, hashes of the discretizations of each function of the input and of the output, and their values (n, c).
Decoded = tuple[int, list[str], list[NDArray[Any]]]


def encoded_record(
    problem: Problem, resolutions: Sequence[int], seed: int, precision: str, i: int
) -> tuple[int, dict[str, bytes], bytes]:
    """Record i, from `default_rng([seed, i])`: its number, its discretizations by their hash, and its entry.

    >>> from iaenet.data.problems.burgers import Burgers
    >>> number, found, _ = encoded_record(Burgers(), [32, 64], seed=0, precision="float32", i=5)
    >>> number, len(found)
    (5, 2)
    """
    record = problem.record(np.random.default_rng([seed, i]), resolutions)
    if len(record) != problem.windows:
        raise InvalidInputError(f"{problem.name}: a record has {len(record)} samples, not {problem.windows}")
    found: dict[str, bytes] = {}
    heads, bodies = [], []
    for window, sample in enumerate(record):
        for resolution in resolutions:
            pair = sample[resolution]
            here = f"{problem.name}: record {i}, sample {window}, resolution {resolution}"
            head: dict[str, object] = {"window": window, "resolution": resolution}
            names = function_names(problem.inputs)
            kinds = [tuple(c for c in problem.inputs if c.function == name) for name in names] + [problem.outputs]
            for side, (values, at), channels in zip(sides(len(names)), pair.parts, kinds, strict=True):
                stored = _stored(values, (at.n, len(channels)), precision, channels, f"{here}, {side}")
                digest, written = _entry_of(at)
                found[digest] = written
                head |= {f"{side}_at": digest, side: stored.shape}
                bodies.append(stored.tobytes())
            heads.append(head)
    return i, found, entry({"record": i, "pairs": heads}, b"".join(bodies))


def decoded_record(head: dict[str, Any], body: bytes, precision: str) -> list[list[Decoded]]:
    """The samples of a record, each a list of its pairs.

    >>> decoded_record({"pairs": []}, b"", "float32")
    []
    """
    samples: list[list[Decoded]] = []
    numbers, start = np.frombuffer(body, np.dtype(precision).newbyteorder("<")), 0
    for pair in head["pairs"]:
        arrays, names = [], sides(sum(name.startswith("input") for name in pair) // 2)
        for side in names:
            n, c = pair[side]
            arrays.append(numbers[start : start + n * c].reshape(n, c))
            start += n * c
        if pair["window"] == len(samples):
            samples.append([])
        samples[-1].append((pair["resolution"], [pair[f"{side}_at"] for side in names], arrays))
    return samples


def sides(functions: int) -> list[str]:
    """What the functions of an input, and the output, are called in an entry.

    >>> sides(1), sides(3)
    (['input', 'output'], ['input', 'input1', 'input2', 'output'])
    """
    return ["input", *(f"input{i}" for i in range(1, functions)), "output"]


def _stored(
    values: NDArray[Any], shape: tuple[int, int], precision: str, channels: Sequence[Channel], here: str
) -> NDArray[Any]:
    if values.shape != shape:
        raise InvalidInputError(f"{here} should have shape {shape}, got {values.shape}")
    with np.errstate(over="ignore"):
        stored = np.ascontiguousarray(values, dtype=np.dtype(precision).newbyteorder("<"))
    if not np.isfinite(stored).all():
        point, channel = np.argwhere(~np.isfinite(stored))[0]
        number = values[point, channel]
        reason = "; use precision float64" if np.isfinite(number) else ""
        raise InvalidInputError(f"{here}: channel {channels[channel].name}, point {point} is {number}{reason}")
    return stored


@lru_cache(maxsize=64)
def _entry_of(at: Discretization) -> tuple[str, bytes]:
    return discretization_entry(pack(at))

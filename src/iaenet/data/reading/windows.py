"""Recordings cut into windows of equal length, lead by lead: each window of each lead is a sample."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from iaenet.data.reading.imported import Imported
from iaenet.data.reading.sample_files import assemble
from iaenet.data.reading.sample_points import Array, Bounds, Periodic, SamplePoints, TensorGrid
from iaenet.errors import InvalidInputError


@dataclass(frozen=True)
class Recording:
    """Signals of one recording; `load` gives inputs `(length, leads, c)` and outputs `(length, leads, c')`."""

    file: str  # its header, for messages
    name: str  # what a split keeps together
    rate: float  # samples per second
    length: int  # samples
    leads: tuple[str, ...]  # names of the leads, each of which gives samples of its own
    load: Callable[[], tuple[Array, Array]]


def cut(
    recordings: Sequence[Recording],
    inputs: list[str],
    outputs: list[str],
    *,
    window: int,
    bounds: Bounds,
    periodic: Periodic,
    units: Mapping[str, str] | None,
    provenance: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
) -> Imported:
    """Samples in the order recording, window, lead; in time from 0 to `window / rate` seconds."""
    if window < 2:
        raise InvalidInputError(f"window must be at least 2 samples, got {window}")
    rate = recordings[0].rate
    for each in recordings:
        if each.rate != rate:
            raise InvalidInputError(f"{each.file}: {each.rate} Hz, but {recordings[0].file} has {rate} Hz")
        if each.length < window:
            raise InvalidInputError(f"{each.file}: {each.length} samples are less than one window of {window}")
    samples = [
        (number, start, lead)
        for number, each in enumerate(recordings)
        for start in range(0, each.length - window + 1, window)
        for lead in range(len(each.leads))
    ]
    loaded = lru_cache(maxsize=1)(lambda number: recordings[number].load())
    # k * (1 / rate), not k / rate: to the last bit the times of the generated recordings.
    times = TensorGrid((np.arange(window, dtype=np.float64) * (1 / rate),))

    def part(side: int) -> Callable[[int], Array]:
        def values(sample: int) -> Array:
            number, start, lead = samples[sample]
            return loaded(number)[side][start : start + window, lead]

        return values

    def where(sample: int) -> str:
        number, start, lead = samples[sample]
        each = recordings[number]
        return f"{each.file}: window {start // window}{f', lead {each.leads[lead]}' if len(each.leads) > 1 else ''}"

    return assemble(
        where,
        len(samples),
        _Windows(inputs, times, part(0)),
        _Windows(outputs, times, part(1)),
        bounds=[(0.0, window * (1 / rate))] if bounds is None else bounds,
        periodic=periodic,
        rule="cells",
        units=units,
        parameters={"rate": rate, "window": window, **(parameters or {})},
        provenance=provenance,
        records=[recordings[number].name for number, _, _ in samples],
    )


@dataclass
class _Windows:
    """One side of all windows."""

    names: list[str]
    times: TensorGrid
    values: Callable[[int], Array]
    per_sample: bool = False

    def points(self, sample: int) -> SamplePoints:  # noqa: ARG002
        return self.times

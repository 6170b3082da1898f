"""Recordings cut into windows of equal duration, lead by lead: each window of each lead is a sample.

Input and output, and recordings among each other, may be sampled at different rates: a window of T seconds has the
samples `k / rate` of its own signals that lie in it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.sample_files import Missing, assemble
from iaenet.data.reading.sample_points import Array, Bounds, Periodic, SamplePoints, TensorGrid
from iaenet.errors import InvalidInputError


@dataclass(frozen=True)
class Recording:
    """Signals of one recording; `load` gives inputs `(length, leads, c)` and outputs `(length', leads, c')`."""

    file: str  # its header, for messages
    name: str  # what a split keeps together
    rates: tuple[float, float]  # samples per second, of inputs and of outputs
    duration: float  # seconds
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
    missing: Missing = "refuse",
    bad: BadRecords | None = None,
) -> Imported:
    """Samples in the order recording, window, lead; in time from 0 to T = `window / rate` seconds.

    `window` counts samples of the inputs of the first recording, whose rate it is.
    """
    if window < 2:
        raise InvalidInputError(f"window must be at least 2 samples, got {window}")
    bad = bad or BadRecords()
    step = 1 / recordings[0].rates[0]
    span = window * step
    long = []
    for each in recordings:
        with bad.passed_over():
            if each.duration < span * (1 - 1e-9):
                length = round(each.duration * each.rates[0])
                raise InvalidInputError(f"{each.file}: {length} samples are less than one window of {window}")
            long.append(each)
    bad.check(long, "records")
    samples = [
        (number, place, lead)
        for number, each in enumerate(long)
        for place in range(math.floor(each.duration / span + 1e-9))
        for lead in range(len(each.leads))
    ]
    loaded = lru_cache(maxsize=1)(lambda number: long[number].load())

    def where(sample: int) -> str:
        number, place, lead = samples[sample]
        each = long[number]
        return f"{each.file}: window {place}{f', lead {each.leads[lead]}' if len(each.leads) > 1 else ''}"

    rates = sorted({rate for each in long for rate in each.rates})
    notes = []
    if len(rates) > 1:
        notes = [f"signals at {', '.join(f'{rate:g}' for rate in rates)} Hz, each at its own: windows of {span:g} s"]
    sides = [
        _Windows(names, side, [each.rates[side] for each in long], span, samples, lambda number: loaded(number))
        for side, names in enumerate((inputs, outputs))
    ]
    return assemble(
        where,
        len(samples),
        *sides,
        bounds=[(0.0, span)] if bounds is None else bounds,
        periodic=periodic,
        rule="cells",
        units=units,
        parameters={"rate": rates[0] if len(rates) == 1 else rates, "window": window, **(parameters or {})},
        provenance=provenance,
        records=[long[number].name for number, _, _ in samples],
        positions=[place for _, place, _ in samples],
        missing=missing,
        bad=bad,
        notes=notes,
    )


@dataclass
class _Windows:
    """One side of all windows."""

    names: list[str]
    side: int
    rates: list[float]  # of each recording
    span: float  # seconds of a window
    samples: list[tuple[int, int, int]]  # recording, window, lead
    loaded: Callable[[int], tuple[Array, Array]]
    per_sample: bool = True

    def _range(self, sample: int) -> tuple[int, int]:
        """The first sample of the recording that is in the window, and the first after it."""
        number, place, _ = self.samples[sample]
        ends = (place * self.span * self.rates[number], (place + 1) * self.span * self.rates[number])
        return math.ceil(ends[0] - 1e-6), math.ceil(ends[1] - 1e-6)

    def points(self, sample: int) -> SamplePoints:
        number, place, _ = self.samples[sample]
        start, stop = self._range(sample)
        late = start - place * self.span * self.rates[number]  # parts of a step; 0 where windows are whole steps
        # k * (1 / rate), not k / rate: to the last bit the times of the generated recordings.
        times = np.arange(stop - start, dtype=np.float64) * (1 / self.rates[number])
        return TensorGrid((times if abs(late) < 1e-6 else times + late / self.rates[number],))

    def values(self, sample: int) -> Array:
        number, _, lead = self.samples[sample]
        start, stop = self._range(sample)
        found: Array = self.loaded(number)[self.side][start:stop, lead]
        if len(found) < stop - start:
            raise InvalidInputError(f"the window has {stop - start} samples, but {len(found)} are there")
        return found

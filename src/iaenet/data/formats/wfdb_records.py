"""WFDB records (PhysioNet's format of signals), cut into windows of equal length."""

import logging
import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from iaenet.data.formats.format import Format
from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.channel_names import Names, chosen
from iaenet.data.reading.files import existing_file, missing, natural, reading, required
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.sample_files import Missing
from iaenet.data.reading.sample_points import Array, Bounds, Periodic
from iaenet.data.reading.windows import Recording, cut
from iaenet.errors import InvalidInputError

LOG = logging.getLogger(__name__)
# Bytes of a sample in the signal file, by format; compressed formats tell nothing about the size.
BYTES = {"8": 1, "16": 2, "24": 3, "32": 4, "61": 2, "80": 1, "160": 2, "212": 1.5, "310": 4 / 3, "311": 4 / 3}


def read_wfdb(
    path: str | Path,
    *,
    inputs: Names,
    outputs: Names,
    window: int = 2000,
    bounds: Bounds = None,
    periodic: Periodic = False,
    missing: Missing = "refuse",
    skip_bad: bool = False,
    units: Mapping[str, str] | None = None,
) -> Imported:
    """Pairs of windows of named signals, from one record (`NAME`, `NAME.hea`) or all records in a folder and below it.

    inputs, outputs: names of signals, which every record must have.
    window: length in samples of the first record; windows follow one another, and what remains of a record is left
        out. Default 2000.
    bounds: in seconds from the start of a window. Default (0, window / rate); the points are `k / rate`, k < window.
    periodic: Default False.
    missing, skip_bad: as for `read_npz`.
    units: Default: those of the first record.

    Values are physical. Records, and the input and output of one, may be sampled at different rates: all windows have
    the duration of the first record's, each on its own times. A split keeps the windows of a record together, or cuts
    each record in time.
    """
    names = [
        [item.name for item in chosen(given, role, given if not isinstance(given, str) else ())]
        for given, role in ((inputs, "inputs"), (outputs, "outputs"))
    ]
    recordings, known, bad = [], dict[str, str](), BadRecords(skip_bad)
    for header in headers_in(path):
        with bad.passed_over():
            record = Record(header)
            columns = [[record.column(name) for name in side] for side in names]
            rates = record.rate_of(columns[0]), record.rate_of(columns[1])
            load = partial(_load, record, columns)
            recordings.append(Recording(str(header), record.name, rates, record.length / record.rate, ("",), load))
            known = known or {name: record.units[record.column(name)] for side in names for name in side}
    bad.check(recordings, "records")
    return cut(
        recordings,
        *names,
        window=window,
        bounds=bounds,
        periodic=periodic,
        units=known | dict(units or {}),
        provenance={"reader": "wfdb", "source": str(path)},
        missing=missing,
        bad=bad,
    )


def _load(record: "Record", columns: Sequence[list[int]]) -> tuple[Array, Array]:
    inputs, outputs = (record.signals(side)[:, None, :] for side in columns)
    return inputs, outputs


def headers_in(path: str | Path) -> list[Path]:
    """The header of a record, or all headers in a folder and below it, in order of name."""
    folder = Path(path)
    if not folder.is_dir():
        return [existing_file(folder if folder.suffix == ".hea" else folder.with_name(folder.name + ".hea"))]
    found = sorted(folder.rglob("*.hea"), key=lambda file: natural(str(file)))
    if not found:
        raise InvalidInputError(f"{folder}: no record (.hea file) in this folder")
    return found


class Record:
    """A record of one segment, all of whose signals lie in files beside its header."""

    def __init__(self, header: Path) -> None:
        self._wfdb = required("wfdb", "ecg")
        self.header = existing_file(header)
        self.name = str(self.header.with_suffix(""))
        with reading(self.header, "a WFDB header"):
            found = self._wfdb.rdheader(str(self.header.absolute().with_suffix("")))
            if not isinstance(found, self._wfdb.Record):
                raise InvalidInputError(f"{self.header}: a record of several segments; import the segments themselves")
            if not found.n_sig:
                raise InvalidInputError(f"{self.header}: the record has no signals")
            self.rate = float(found.fs)  # of frames, which may hold several samples of a signal
            self._per_frame = [int(count or 1) for count in found.samps_per_frame]
            self.signal_names: list[str] = found.sig_name
            self.units: list[str] = found.units
            self.comments: list[str] = found.comments
            self._checksums: list[int | None] = found.checksum
            self._check(found)
            self.length = int(found.sig_len)

    def _check(self, found: Any) -> None:
        """What the header says of its signal files, before they are read."""
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise InvalidInputError(f"{self.header}: a rate of {found.fs} samples a second; it must be positive")
        nameless = [i for i, name in enumerate(self.signal_names) if not name]
        if nameless:
            raise InvalidInputError(f"{self.header}: signal {nameless[0]} has no name; give it one")
        if not found.sig_len:
            raise InvalidInputError(f"{self.header}: the header does not say how long the signals are")
        for name in dict.fromkeys(found.file_name):
            if Path(name).name != name:
                raise InvalidInputError(f"{self.header}: signal file {name!r} is not beside its header; not read")
            file = existing_file(self.header.with_name(name))
            mine = [i for i, other in enumerate(found.file_name) if other == name]
            if found.fmt[mine[0]] in BYTES:
                frame = sum(self._per_frame[i] for i in mine)
                needed = BYTES[found.fmt[mine[0]]] * frame * found.sig_len + (found.byte_offset[mine[0]] or 0)
                size = file.stat().st_size
                if size < int(needed):
                    raise InvalidInputError(
                        f"{file}: {size} bytes, but the header promises {int(needed)}; is the file whole?"
                    )

    def column(self, name: str) -> int:
        """The index of a signal among the signals of the record."""
        if name not in self.signal_names:
            raise missing(self.header, "signal", name, self.signal_names)
        return self.signal_names.index(name)

    def rate_of(self, columns: Sequence[int]) -> float:
        """The rate of signals that are sampled together."""
        counts = {self._per_frame[column] for column in columns}
        if len(counts) > 1:
            shown = ", ".join(f"{self.signal_names[c]} {self.rate * self._per_frame[c]:g} Hz" for c in columns)
            raise InvalidInputError(f"{self.header}: {shown}: channels of one function must have one rate")
        return self.rate * counts.pop()

    def signals(self, columns: Sequence[int]) -> Array:
        """Physical values `(length, signals)`, of signals of one rate."""
        with reading(self.header, "a WFDB record"):
            name = str(self.header.absolute().with_suffix(""))
            record = self._wfdb.rdrecord(name, channels=list(columns), physical=False, smooth_frames=False)
            for column, signal in zip(columns, record.e_d_signal, strict=True):
                said = self._checksums[column]
                if said is not None and (int(signal.sum()) - said) % 2**16:
                    # Not refused: writers of the format do not all agree on the checksum.
                    LOG.warning("%s: signal %s does not match its checksum", self.header, self.signal_names[column])
            return np.stack(record.dac(expanded=True), axis=1).astype(np.float64)


FORMAT = Format("wfdb", read_wfdb, (".hea",), folders=True)

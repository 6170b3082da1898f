"""The PhysioNet database fecgsyndb (Andreotti et al., 2016): mixture -> (maternal, fetal) electrocardiogram.

Its files are `subXX/snrYYdB/subXX_snrYYdB_lZ[_cW]_SOURCE.{hea,dat}`: pregnancy XX, noise level YY, repetition Z, case W
(absent in the baseline), and SOURCE `mecg`, `fecg1` (`fecg2` for twins), `noise1`, `noise2`: 34 channels at 250 Hz.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from iaenet.data.formats.format import Format
from iaenet.data.formats.wfdb_records import Record
from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.files import natural
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.sample_files import Missing
from iaenet.data.reading.sample_points import Array, Bounds, Periodic
from iaenet.data.reading.windows import Recording, cut
from iaenet.errors import InvalidInputError

NAME = re.compile(r"(?P<subject>sub\d+)_snr(?P<snr>-?\d+)dB_l(?P<repetition>\d+)(_c(?P<case>\d+))?_mecg")


def read_fecgsyndb(
    path: str | Path,
    *,
    leads: Sequence[int] = (1, 8, 11, 22, 25),
    window: int = 2000,
    split_by: Literal["record", "subject"] = "record",
    bounds: Bounds = None,
    periodic: Periodic = False,
    missing: Missing = "refuse",
    skip_bad: bool = False,
    units: Mapping[str, str] | None = None,
) -> Imported:
    """`mixture = maternal + fetal + noise -> (maternal, fetal)`, each window of each lead being a sample.

    path: the folder of the database, or any folder within it.
    leads: channels, numbered from 1; 1 to 32 are abdominal, 33 and 34 maternal references. Default (1, 8, 11, 22, 25).
    window: length in samples, at 250 Hz. Default 2000, 8 seconds.
    split_by: what a split keeps together, a "record" (default) or all records of a "subject".
    bounds, periodic, missing, skip_bad, units: as for `read_wfdb`.

    The fetal signal is the sum over twins, and noise the sum over its sources (none in the baseline case). Samples come
    in the order of `iaenet generate fetal-ecg`: record, window, lead.
    """
    if split_by not in ("record", "subject"):
        raise InvalidInputError(f"split_by must be 'record' or 'subject', got {split_by!r}")
    if not leads or len(set(leads)) < len(leads) or min(leads) < 1:
        raise InvalidInputError(f"leads must be different channels, numbered from 1, got {tuple(leads)}")
    folder = Path(path)
    if not folder.is_dir():
        raise InvalidInputError(f"{folder}: no such folder")
    mothers = sorted(
        (file for file in folder.rglob("*_mecg.hea") if NAME.fullmatch(file.stem)), key=lambda file: natural(file.name)
    )
    if not mothers:
        raise InvalidInputError(f"{folder}: no record of fecgsyndb (subXX_snrYYdB_lZ_cW_mecg.hea) in this folder")
    recordings, bad = [], BadRecords(skip_bad)
    for mother in mothers:
        with bad.passed_over():
            recordings.append(_recording(mother, leads, split_by == "subject"))
    bad.check(recordings, "records")
    unit = Record(Path(recordings[0].file)).units[0]
    return cut(
        recordings,
        ["mixture"],
        ["maternal", "fetal"],
        window=window,
        bounds=bounds,
        periodic=periodic,
        units={"mixture": unit, "maternal": unit, "fetal": unit} | dict(units or {}),
        parameters={"leads": list(leads)},
        provenance={"reader": "fecgsyndb", "source": str(path)},
        missing=missing,
        bad=bad,
    )


def _recording(mother: Path, leads: Sequence[int], by_subject: bool) -> Recording:
    sources = _sources(mother)
    first = sources["mecg"][0]
    for record in (record for records in sources.values() for record in records):
        if max(leads) > len(record.signal_names):
            raise InvalidInputError(f"{record.header}: no lead {max(leads)}: there are {len(record.signal_names)}")
        if (record.length, record.rate) != (first.length, first.rate):
            raise InvalidInputError(
                f"{record.header}: {record.length} samples at {record.rate} Hz, "
                f"but {first.header} has {first.length} at {first.rate} Hz"
            )
    match = NAME.fullmatch(mother.stem)
    name = match["subject"] if match is not None and by_subject else mother.stem.removesuffix("_mecg")
    load = partial(_load, sources, [lead - 1 for lead in leads])
    rate = first.rate_of([lead - 1 for lead in leads])
    return Recording(str(mother), name, (rate, rate), first.length / first.rate, tuple(map(str, leads)), load)


def _sources(mother: Path) -> dict[str, list[Record]]:
    """The records of the mother, the fetuses and the noise sources, as many as the header says."""
    base = mother.stem.removesuffix("_mecg")
    found = {"mecg": [Record(mother)]}
    said = dict(comment.split(":", 1) for comment in found["mecg"][0].comments if ":" in comment)
    for kind, count in ("fecg", "nfetus"), ("noise", "nnoise"):
        files = sorted(mother.parent.glob(f"{base}_{kind}[0-9]*.hea"), key=lambda file: natural(file.name))
        promised = said.get(count, "").strip()
        if promised.isdecimal() and int(promised) != len(files):
            raise InvalidInputError(
                f"{mother}: the record has {promised} sources {base}_{kind}N, but {len(files)} are in the folder"
            )
        found[kind] = [Record(file) for file in files]
    if not found["fecg"]:
        raise InvalidInputError(f"{mother}: {base}_fecg1.hea is missing")
    return found


def _load(sources: Mapping[str, Sequence[Record]], columns: Sequence[int]) -> tuple[Array, Array]:
    maternal, fetal = (
        np.sum([record.signals(columns) for record in sources[kind]], axis=0) for kind in ("mecg", "fecg")
    )
    mixture: Array = maternal + fetal + sum(record.signals(columns) for record in sources["noise"])
    return mixture[:, :, None], np.stack([maternal, fetal], axis=-1)


FORMAT = Format("fecgsyndb", read_fecgsyndb)

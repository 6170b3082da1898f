"""Predictions of many files, each written by the process that made it: here, in several processes, or on a cluster."""

import glob
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import iaenet
from iaenet.data.atomic import apart, replacing
from iaenet.data.file_format import as_json
from iaenet.data.formats import DATA, FORMATS, format_names
from iaenet.data.pool import pool
from iaenet.data.reading.bad_records import SHOWN, BadRecords, told
from iaenet.data.reading.files import existing, natural
from iaenet.data.reading.inputs import format_of
from iaenet.errors import InvalidInputError
from iaenet.models.inference import use_device
from iaenet.models.operator import Operator
from iaenet.models.saved import digest
from iaenet.reports.predict_files import predict_files
from iaenet.training.fit import load

MANIFEST = "predictions.json"  # what the files of a folder were made by, so that only the same call adds to them


def files_of(source: str) -> list[str]:
    """The files that a pattern stands for, or those in a folder that can be read; in order of name.

    >>> files_of("nothing/*.npz")
    Traceback (most recent call last):
        ...
    iaenet.errors.InvalidInputError: nothing/*.npz: no file has such a name
    """
    if is_pattern(source):
        found = glob.glob(source, recursive=True)
    else:
        known = format_names()
        found = [str(file) for file in existing(source).iterdir() if file.suffix.lower() in known]
    if not found:
        raise InvalidInputError(f"{source}: no file {'has such a name' if is_pattern(source) else 'that can be read'}")
    return sorted(found, key=natural)


def is_pattern(source: str) -> bool:
    """Whether a name stands for several files."""
    return not Path(source).exists() and glob.has_magic(source)


def predict_many(
    run: str | os.PathLike[str],
    sources: Sequence[str],
    output: str | os.PathLike[str],
    *,
    at: str | tuple[int, ...] | None = None,
    format: str | None = None,
    output_format: str | None = None,
    device: str = "auto",
    workers: int = 1,
    backend: Literal["dask"] | None = None,
    scheduler: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    skip_bad: bool = False,
    **options: Any,
) -> str:
    """Predict from every file in `sources`, write a file of the same name to the folder `output`, tell what was done.

    Every file is complete when it is there. The same call resumes: files that are there are not made again. A process
    has one file in hand at a time, so that memory does not grow with their number.

    run: folder of a training run, or a saved model; every process loads it from there.
    workers: processes on this machine; 1 (default) is this one.
    backend, scheduler: "dask" and the address of a cluster whose workers see the same files, as for `generate`.
    skip_bad: leave out files that cannot be used, and list them. Default False: the first of them is an error.
    at, format, output_format, options: as for `predict_files`.
    """
    folder = Path(output)
    if folder.suffix or (folder.exists() and not folder.is_dir()):
        raise InvalidInputError(f"{output}: many files go to a folder (a name without suffix)")
    apart(folder, list(sources))
    jobs = [
        _Job(str(Path(source).absolute()), str(folder / _name(source, format, output_format))) for source in sources
    ]
    if len({job.target for job in jobs}) < len(jobs):
        twice = next(job for i, job in enumerate(jobs) if job.target in {other.target for other in jobs[:i]})
        raise InvalidInputError(f"{twice.source}: another file would be written under the same name, {twice.target}")
    call = {"at": at, "format": format, "output_format": output_format, **options}
    _claim(folder, {"iaenet": iaenet.__version__, "weights": digest(_operator(str(run), device)), **call})
    waiting = [job for job in jobs if not Path(job.target).exists()]
    task = partial(_predict, str(Path(run).absolute()), device, skip_bad, call)
    together = workers > 1 or backend is not None
    results = pool(workers, backend, scheduler)(task, waiting) if together else map(task, waiting)
    notes: dict[str, None] = {}
    bad: list[str] = []
    done = len(jobs) - len(waiting)
    before = f", {done} of which were there" if done else ""
    for reason, found in results:
        done += 1
        bad += reason
        notes |= dict.fromkeys(found) if len(notes) <= SHOWN else {}
        if progress is not None:
            progress(done, len(jobs))
    lines = [f"{output}: {len(jobs) - len(bad)} files{before}", *list(notes)[:SHOWN]]
    return "\n".join(lines + told(bad))


class _Job(NamedTuple):
    """A file to read, and the file to write."""

    source: str
    target: str


def _name(source: str, format: str | None, output_format: str | None) -> str:
    """The same name, with the suffix of the format that is written."""
    kind = format or format_of(source)
    written = output_format or kind
    if written not in FORMATS or not (FORMATS[written].write or FORMATS[written].write_sample):
        written = "npz"  # of a format that is only read
    suffixes = (".h5",) if written == DATA else FORMATS[written].suffixes
    suffix = Path(source).suffix.lower()
    return Path(source).stem + (suffix if suffix in suffixes else suffixes[0])


def _claim(folder: Path, call: Mapping[str, Any]) -> None:
    """Make the folder, or see that what lies in it was made by the same call."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / MANIFEST
    plain = json.loads(json.dumps(as_json(dict(call), MANIFEST)))
    if manifest.exists():
        if json.loads(manifest.read_text()) != plain:
            raise InvalidInputError(
                f"{folder}: holds predictions of another model or with other options; choose another"
            )
    elif any(folder.iterdir()):
        raise InvalidInputError(f"{folder} is not empty; give the name of a new folder")
    else:
        with replacing(manifest) as beside:
            beside.write_text(json.dumps(plain, indent=1))


@lru_cache(maxsize=1)
def _operator(run: str, device: str) -> Operator:
    """The model of this process, for all files that it is given."""
    return load(run).to(use_device(device))


def _predict(run: str, device: str, skip_bad: bool, call: Mapping[str, Any], job: _Job) -> tuple[list[str], list[str]]:
    """One file: why it was left out, if it was, and what is to be noted of it."""
    bad, found = BadRecords(skip_bad), ""
    options = {name: value for name, value in call.items() if value is not None}
    options |= {"skip_bad": True} if skip_bad else {}
    with bad.passed_over():
        found = predict_files(_operator(run, device), job.source, job.target, origin={"run": run}, **options)
    lines = found.splitlines()
    samples = [f"skipped: {line.strip()}" for line in lines if line.startswith("  ")]  # of a file with several
    return bad.reasons, [line for line in lines if line.startswith("note: ")] + samples

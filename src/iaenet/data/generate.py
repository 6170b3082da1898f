"""Data sets of any size from a problem: in parallel, the same for any number of workers, and resumable."""

import dataclasses
import glob
import logging
import math
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import iaenet
from iaenet.data.atomic import unfinished
from iaenet.data.file_format import SPLITS, as_json
from iaenet.data.file_reader import DataFile
from iaenet.data.file_writer import Precision, Writer
from iaenet.data.journal import Journal, differences, lock_of
from iaenet.data.pool import Pool, pool
from iaenet.data.problems.problem import Problem
from iaenet.data.records import decoded_record, encoded_record
from iaenet.data.splits import split_sizes
from iaenet.errors import InvalidInputError
from iaenet.outside import check_size

Progress = Callable[[int, int], None]
MOST_SAMPLES = 10**7  # the plan of more takes minutes, and their index gigabytes
NUMBERS = 8 * 8  # bytes for each point, at the least
log = logging.getLogger(__name__)


def generate(
    problem: Problem,
    path: str | os.PathLike[str],
    samples: int,
    resolutions: Sequence[int],
    *,
    seed: int = 0,
    splits: Sequence[float] = (0.8, 0.1, 0.1),
    precision: Precision = "float32",
    workers: int = 1,
    backend: Literal["dask"] | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    command: str | None = None,
) -> None:
    """Write `samples` samples of a problem at each of `resolutions` to a data file.

    Record i is drawn from `numpy.random.default_rng([seed, i])` alone, in a process with one thread for linear algebra:
    the content does not depend on the number or order of `workers`. Finished records are kept in `path` + ".partial";
    the same call goes on from there, after whatever stopped it, and ends with the same content. A call whose file is
    there already does nothing.

    splits: shares of train, validation and test, with sum 1; or numbers of samples, with sum `samples`. Whole records
        go to one split. Default (0.8, 0.1, 0.1).
    precision: "float32" (default) or "float64", of the values.
    workers: processes on this machine. Default 1.
    backend: "dask" runs on a Dask cluster (extra `cluster`): that at the address `scheduler`, or a new one of `workers`
        processes here. Default None.
    progress: called with the numbers of finished and of all samples.
    command: kept in the file as its origin.

    >>> import tempfile
    >>> from iaenet.data.dataset import load_dataset
    >>> from iaenet.data.problems.burgers import Burgers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     generate(Burgers(), f"{folder}/a.h5", samples=5, resolutions=[32, 64], splits=(3, 1, 1))
    ...     data = load_dataset(f"{folder}/a.h5")
    ...     len(data), data.splits
    (10, {'train': 3, 'validation': 1, 'test': 1})
    """
    target = Path(path)
    resolutions = [int(resolution) for resolution in resolutions]
    if not resolutions or len(set(resolutions)) < len(resolutions):
        raise InvalidInputError(f"resolutions must be one or more different numbers, got {resolutions}")
    if precision not in ("float32", "float64"):
        raise InvalidInputError(f"precision must be 'float32' or 'float64', got {precision!r}")
    if samples > MOST_SAMPLES:
        raise InvalidInputError(
            f"samples must be at most {MOST_SAMPLES} in one file, got {samples}; make several files"
        )
    for resolution in resolutions:
        check_size(f"resolution {resolution}", NUMBERS * max(resolution, 0) ** getattr(problem, "dim", 1))
    if seed < 0 or workers < 1:
        raise InvalidInputError(f"seed must be at least 0 and workers at least 1, got {seed} and {workers}")
    plan = allot(samples, problem.windows, splits)
    run = {
        "iaenet": iaenet.__version__,
        "problem": problem.name,
        "parameters": _parameters(problem),
        "resolutions": resolutions,
        "seed": seed,
        "precision": precision,
    }
    # A finished file also says how many samples it has; an unfinished run may be asked for more.
    whole = {**run, "samples": samples, "splits": {name: sum(n for s, n in plan if s == name) for name in SPLITS}}
    if target.exists():
        _refuse_other(target, whole)
        unfinished_records(target).unlink(missing_ok=True)
        lock_of(unfinished_records(target)).unlink(missing_ok=True)
        return
    with Journal(unfinished_records(target), run) as journal:
        for leftover in target.parent.glob(f"{glob.escape(unfinished(target))}*.tmp"):
            leftover.unlink()  # of a run that was killed while it wrote: who has the journal is alone here
        _fill(journal, problem, [n for _, n in plan], run, pool(workers, backend, scheduler), progress)
        _assemble(journal, problem, plan, target, whole, command)
        unfinished_records(target).unlink()


def unfinished_records(path: Path) -> Path:
    """Where the finished records of an unfinished file are kept.

    >>> str(unfinished_records(Path("data/a.h5")))
    'data/a.h5.partial'
    """
    return path.with_name(f"{path.name}.partial")


def allot(samples: int, windows: int, splits: Sequence[float]) -> list[tuple[str, int]]:
    """Split and number of samples of each record, for records of `windows` samples.

    >>> allot(5, 1, (3, 1, 1))
    [('train', 1), ('train', 1), ('train', 1), ('validation', 1), ('test', 1)]
    >>> allot(25, 10, (0.8, 0.1, 0.1))
    [('train', 10), ('validation', 10), ('test', 5)]
    """
    if samples < 1:
        raise InvalidInputError(f"samples must be at least 1, got {samples}")
    if math.isclose(sum(splits), 1):
        counts = split_sizes(splits, -(-samples // windows), "records")
        order = [name for name, count in zip(SPLITS, counts, strict=True) for _ in range(count)]
        return [(name, min(windows, samples - i * windows)) for i, name in enumerate(order)]
    return [
        (name, min(windows, count - start))
        for name, count in zip(SPLITS, split_sizes(splits, samples), strict=True)
        for start in range(0, count, windows)
    ]


def _parameters(problem: Problem) -> dict[str, Any]:
    declared: Any = type(problem)
    if not dataclasses.is_dataclass(declared):
        raise InvalidInputError(f"a problem must be a dataclass whose fields are its parameters, got {problem!r}")
    hints = get_type_hints(declared)
    given = {}
    for field in dataclasses.fields(declared):
        value = getattr(problem, field.name)
        # 9 and 9.0 are the same wavelengths, and must give the same hash.
        real = float in (hints[field.name], *get_args(hints[field.name])) and type(value) is int
        given[field.name] = float(value) if real else value
    parameters: dict[str, Any] = as_json(given, problem.name)
    return parameters


def _refuse_other(target: Path, whole: dict[str, Any]) -> None:
    """A file that is there must be what is asked for."""
    origin = DataFile(target).provenance
    differ = differences({key: origin.get(key) for key in whole}, whole)
    if differ:
        raise InvalidInputError(f"{target} is there already, and differs: {differ}. Delete it, or choose another name")
    log.info("%s is complete", target)


def _fill(
    journal: Journal, problem: Problem, kept: list[int], run: dict[str, Any], pool: Pool, progress: Progress | None
) -> None:
    """Make the records that the journal lacks."""
    missing = [i for i in range(len(kept)) if i not in journal.records]
    done = sum(n for i, n in enumerate(kept) if i in journal.records)
    if progress is not None:
        progress(done, sum(kept))
    task = partial(encoded_record, problem, run["resolutions"], run["seed"], run["precision"])
    for i, made, record in pool(task, missing):
        journal.append(*(new for digest, new in made.items() if digest not in journal.discretizations), record)
        done += kept[i]
        if progress is not None:
            progress(done, sum(kept))


def _assemble(
    journal: Journal,
    problem: Problem,
    plan: list[tuple[str, int]],
    target: Path,
    whole: dict[str, Any],
    command: str | None,
) -> None:
    """Write the file: records in their order, as if they had been made in it."""
    origin = whole if command is None else {**whole, "command": command}
    rows: dict[str, int] = {}
    sample = 0
    with Writer(target, problem.inputs, problem.outputs, whole["parameters"], origin, whole["precision"]) as writer:
        for i, (split, windows) in enumerate(plan):
            for window in decoded_record(*journal.record(i), whole["precision"])[:windows]:
                for resolution, digests, values in window:
                    for digest in digests:
                        if digest not in rows:
                            rows[digest] = writer.packed(journal.discretization(digest))
                    at = [rows[digest] for digest in digests]
                    writer.add(values, at, sample=sample, record=i, resolution=resolution, split=split)
                sample += 1

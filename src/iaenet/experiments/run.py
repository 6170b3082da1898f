"""All rows of all tables that were chosen for, one after the other, from wherever it was stopped."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from iaenet.errors import InvalidInputError
from iaenet.experiments.derived import derived
from iaenet.experiments.page import write_pages
from iaenet.experiments.plan import Job, jobs
from iaenet.experiments.progress import Whole
from iaenet.experiments.published_figures import published
from iaenet.experiments.readme import write_readme
from iaenet.experiments.result import Result, collected, timed
from iaenet.experiments.row import WorkFolder, finished, read_json, run_row, write_json
from iaenet.experiments.side_by_side import side_by_side
from iaenet.experiments.table import TABLES, Table, load_table, table_names
from iaenet.experiments.times import time_row

Show = Callable[..., None]
NOTHING = Whole(0.0, 0).begin("", 0.0)  # progress of what is finished


@dataclass(frozen=True)
class Folders:
    """Where tables are described, results go, and work is kept."""

    tables: Traversable
    results: Path
    work: Path
    readme: Path

    @classmethod
    def of(cls, out: Path, preset: str, work: Path | None = None, tables: Traversable = TABLES) -> "Folders":
        """As the command has them: the `cpu` preset has OUT/results and OUT/README.md, the others OUT/results-PRESET.

        >>> str(Folders.of(Path("experiments"), "cpu").readme), str(Folders.of(Path("experiments"), "smoke").results)
        ('experiments/README.md', 'experiments/results-smoke')
        """
        results = out / ("results" if preset == "cpu" else f"results-{preset}")
        return cls(
            tables, results, (work or out / "work") / preset, (out if preset == "cpu" else results) / "README.md"
        )


def reproduce(
    names: Sequence[str],
    preset: str,
    folders: Folders,
    workers: int = 1,
    progress: Show | None = None,
    rows_at_once: int = 1,
) -> list[Result]:
    """Measure tables: data, trainings, scores, documents and pages. What is finished is not done again.

    names: of tables; `all` for every one in the folder. Tables that others are made of come with them, unless their
        results are there: those are taken as they are.
    preset: smoke, cpu or paper.
    workers: processes that make data.
    progress: called with work done, work in all, and a note.
    rows_at_once: rows that are trained at the same time, each in a process of its own.
    """
    if rows_at_once < 1:
        raise InvalidInputError(f"at least one row is trained at a time, got {rows_at_once}")
    tables = chosen(names, folders.tables, lambda name: _document(name, preset, folders) is not None)
    work = WorkFolder(folders.work, workers)
    planned = {table.name: jobs(table, preset) for table in tables if table.rows}
    missing = [job for table in tables for job in planned.get(table.name, []) if not _is_done(job, table, work)]
    costs = {job.training.name: job.weight for job in reversed(missing)}  # a training that rows share is done once
    whole = Whole(sum(costs.values()), len(missing), progress)
    folders.results.mkdir(parents=True, exist_ok=True)
    if rows_at_once > 1:
        reference = {table.name: table.reference for table in tables}
        trained = [job for table in tables if table.kind == "errors" for job in missing if job.table == table.name]
        side_by_side([(job, job.row == reference[job.table]) for job in trained], work, rows_at_once, whole)
    results = []
    for table in tables:
        rows = planned.get(table.name, [])
        if table.made_of.parts:
            result = derive(table, preset, folders)
        else:
            result = measure(table, preset, rows, work, whole, folders, costs)
        write_json(folders.results / f"{table.name}.json", result)
        write_pages(result, folders.results, work.picture(table.name))
        write_readme(folders.tables, folders.results, folders.readme)
        results.append(result)
    return results


def chosen(
    names: Sequence[str], folder: Traversable = TABLES, measured: Callable[[str], bool] | None = None
) -> list[Table]:
    """The tables of these names, those made of others last, and with the parts that are not `measured` yet."""
    every = table_names(folder)
    wanted = every if "all" in names else list(names)
    for table in [load_table(name, folder) for name in wanted]:
        wanted += [part for part in table.made_of.parts.values() if measured is None or not measured(part)]
    tables = [load_table(name, folder) for name in dict.fromkeys(wanted)]
    for table in tables:
        if any(load_table(part, folder).made_of.parts for part in table.made_of.parts.values()):
            raise InvalidInputError(f"{table.name} is made of tables that are made of others; name those")
    return sorted(tables, key=lambda table: bool(table.made_of.parts))


def _is_done(job: Job, table: Table, work: WorkFolder) -> bool:
    if table.kind == "times":
        return False  # it takes seconds, or is found at once
    return all(finished(job, seed, work) is not None for seed in job.seeds)


def measure(
    table: Table,
    preset: str,
    rows: Sequence[Job],
    work: WorkFolder,
    whole: Whole,
    folders: Folders,
    costs: dict[str, float],
) -> Result:
    """Train and score, or time, each row of a table; `costs` of trainings are taken off as they are paid."""
    outcomes: list[tuple[Job, Any]] = []
    for job in rows:
        done = _is_done(job, table, work)
        part = NOTHING if done else whole.begin(f"{table.name}, {job.row}", costs.pop(job.training.name, 0.0))
        if table.kind == "times":
            outcomes.append((job, time_row(job, work, part)))
        else:
            outcomes.append((job, run_row(job, work, part, draw=job.row == table.reference)))
        part.end()
    put_together = timed if table.kind == "times" else collected
    return put_together(table, preset, outcomes, published(table, folders.tables))


def derive(table: Table, preset: str, folders: Folders) -> Result:
    """Make a table of others, which come before it."""
    parts = {key: _document(name, preset, folders) for key, name in table.made_of.parts.items()}
    return derived(table, preset, {key: part for key, part in parts.items() if part is not None})


def _document(name: str, preset: str, folders: Folders) -> Result | None:
    found = read_json(folders.results / f"{name}.json")
    return found if found is not None and found["preset"] == preset else None

"""Rows that are trained at the same time, each in a process of its own."""

import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from iaenet.data.pool import pool
from iaenet.experiments.data import made
from iaenet.experiments.plan import Job
from iaenet.experiments.progress import Whole
from iaenet.experiments.row import WorkFolder, run_row

Row = tuple[Job, bool]  # and whether its samples are drawn
EVERY = 1.0  # seconds between two notes


def side_by_side(rows: Sequence[Row], work: WorkFolder, processes: int, whole: Whole) -> None:
    """Train and score rows, so many at a time; then they are found finished.

    Rows of one training stay together, and those with the steps of another come after it.
    """
    needed = {data.name: data for job, _ in rows for data in (job.training.data, job.test)}
    for data in needed.values():  # once, and not by two processes
        made(data, work.data, work.workers, partial(whole.show, 0.0))
    units: dict[str, list[Row]] = {}
    for job, draw in rows:
        units.setdefault((job.training.steps_of or job.training).name, []).append((job, draw))
    with tempfile.TemporaryDirectory() as notes, _shown(Path(notes), whole):
        task = partial(_run, list(units.values()), work, Path(notes))
        for _ in pool(processes)(task, range(len(units))):
            pass


def _run(units: list[list[Row]], work: WorkFolder, notes: Path, number: int) -> None:
    """The rows of a unit, in a process that notes in a file how far it is."""
    unit, last = units[number], 0.0

    def note(done: int, _total: int, text: str) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY or not text:
            last = time.monotonic()
            (notes / f"new-{number}").write_text(f"{done}\n{text.partition(': ')[2]}", encoding="utf-8")
            os.replace(notes / f"new-{number}", notes / f"note-{number}")

    costs = {job.training.name: job.weight for job, _ in reversed(unit)}  # each is trained once
    whole = Whole(sum(costs.values()), len(unit), note)
    for job, draw in unit:
        part = whole.begin(f"{job.table}, {job.row}", costs.pop(job.training.name, 0.0))
        run_row(job, work, part, draw)
        part.end()


@contextmanager
def _shown(notes: Path, whole: Whole) -> Iterator[None]:
    """While it is open, the notes in a folder are shown: what is done, and what is under way."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(EVERY):
            found = [path.read_text(encoding="utf-8").partition("\n") for path in sorted(notes.glob("note-*"))]
            whole.show(sum(int(done) for done, _, _ in found), "; ".join(text for _, _, text in found if text))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

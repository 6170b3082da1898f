"""Progress on standard error: a bar on a terminal, else a line now and then."""

import sys
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any


class Display:
    """Progress with the time left: a bar on a terminal, else a line every few seconds.

    >>> with Display() as display:
    ...     display("checking")(1, 1)
    """

    def __init__(self, every: float = 5.0) -> None:
        self.every = every  # seconds between lines
        self._bar: Any = None

    def __enter__(self) -> "Display":
        return self

    def __call__(self, what: str) -> Callable[..., None]:
        """The function to call with what is done and all there is to do, and a note if there is one."""
        if sys.stderr.isatty():
            return self._on_terminal(what)
        last, left = time.monotonic(), TimeLeft()

        def line(done: int, total: int, note: str = "") -> None:
            nonlocal last
            now = time.monotonic()
            seconds = left(done, total, now)
            if now - last >= self.every and (seconds is not None or note):
                last = now
                words = [f"{what}: {done} of {total}"]
                words += [] if seconds is None else [f"about {duration(seconds)} left"]
                print(", ".join([*words, note] if note else words), file=sys.stderr, flush=True)

        return line

    def _on_terminal(self, what: str) -> Callable[..., None]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        if self._bar is not None:  # of what came before
            self._bar.stop()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("time left {task.fields[left]}"),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self._bar.start()
        task, left = self._bar.add_task(what, total=None, left="-", note=""), TimeLeft()

        def update(done: int, total: int, note: str = "") -> None:
            seconds = left(done, total, time.monotonic())
            shown = "-" if seconds is None else duration(seconds)
            self._bar.update(task, completed=done, total=total, left=shown, note=note)

        return update

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


class TimeLeft:
    """Seconds left, by the speed over the more recent half of the time.

    What comes before the second report is set-up (workers that start, the first step of a training) and is not counted;
    a first epoch that is slow, because it prepares each sample, is forgotten as the next ones go by.

    >>> left = TimeLeft()
    >>> [left(done, 10, now) for done, now in ((0, 0.0), (1, 60.0), (2, 61.0), (3, 62.0))]
    [None, None, 8.0, 7.0]
    """

    def __init__(self) -> None:
        self._reports, self._begin = 0, 0.0
        self._marks: deque[tuple[float, int]] = deque()  # times, and what was done by then

    def __call__(self, done: int, total: int, now: float) -> float | None:
        """Seconds left at the time `now`; None while there is no telling."""
        self._reports += 1
        if self._reports <= 2:
            self._begin = now
            self._marks.clear()
        self._marks.append((now, done))
        while len(self._marks) > 2 and self._marks[1][0] <= (self._begin + now) / 2:
            self._marks.popleft()
        then, before = self._marks[0]
        return (now - then) / (done - before) * (total - done) if done > before else None


def duration(seconds: float) -> str:
    """Hours, minutes and seconds, as many as are worth reading.

    >>> duration(42), duration(150), duration(3700)
    ('42 s', '2 min 30 s', '1 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"

"""SIGTERM and Ctrl-C: the step under way is finished and saved."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

PATIENCE = 3.0  # seconds; launchers pass on a signal that the terminal has already sent
LONGEST = 9.0  # seconds that a step may take to end after SIGTERM; the last checkpoint is there in any case


@dataclass
class Stop:
    """The signal to stop the training, 0 if none, and when it came."""

    signal: int = 0
    since: float = 0.0


def stopped(number: int, step: int) -> BaseException:
    """What to raise after a signal, when all is saved."""
    text = f"Stopped after step {step}, which is saved: repeat the command and it resumes there."
    return Terminated(text) if number == signal.SIGTERM else KeyboardInterrupt(text)


class Terminated(SystemExit):
    """The process got SIGTERM; exit code 143."""

    def __init__(self, text: str) -> None:
        super().__init__(143)
        self.text = text

    def __str__(self) -> str:
        return self.text


@contextmanager
def interrupts() -> Iterator[Stop]:
    """Note SIGTERM and Ctrl-C, so that the step under way is finished and saved; one more, later, does not wait.

    Nor does SIGTERM wait for a step or a save that takes too long: who sent it would kill the process.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, _frame: FrameType | None) -> None:
        if not stop.signal:
            stop.signal, stop.since = number, time.monotonic()
            if number == signal.SIGTERM:
                watch.start()
        elif time.monotonic() - stop.since > PATIENCE:
            os._exit(128 + number)

    watch = threading.Timer(LONGEST, os._exit, [128 + signal.SIGTERM])
    watch.daemon = True
    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        watch.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)

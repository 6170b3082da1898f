"""How far a training is, from 0 to 1: by its epochs, or by what is left of a budget of time.

    p <- p + (1 - p) / N        at each step, N the steps that there is still time for

With a budget, N follows from the pace: it is estimated after a few steps and again at every fiftieth of the way, and
what was estimated is written down. A run that was stopped follows what is written as far as it goes, so that it ends
with the same bits as if it had not been stopped there, and its learning rate, a function of p alone, never jumps.
"""

import re
import time
from collections.abc import Callable
from typing import Any

from iaenet.errors import InvalidInputError

FIRST = (5, 10, 20, 40)  # steps after which the pace is looked at first
EVERY = 0.02  # of the way, later
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def budget_of(text: str) -> tuple[float, Callable[[], float]]:
    """A time in words as seconds, and the clock that it counts: a number with s, m or h, and perhaps cpu; none is 0.

    >>> [budget_of(text)[0] for text in ("90", "10m", "1.5h cpu", "")]
    [90.0, 600.0, 5400.0, 0.0]
    """
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*([smh]?)(\s*cpu)?", text.strip())
    if text.strip() and (found is None or float(found[1]) <= 0):
        raise InvalidInputError(f"budget must be a time such as 90s, 10m or 1.5h, got {text!r}")
    if found is None:
        return 0.0, time.monotonic
    return float(found[1]) * UNITS[found[2]], time.process_time if found[3] else time.monotonic


class Horizon:
    """The end of a training with a budget. `known` are estimates by step, from before it was stopped.

    >>> horizon = Horizon(seconds=10.0, known={5: 5})
    >>> [horizon.advance(step, elapsed=0.1 * step) for step in range(10)].index(True)  # the pace is not known before
    5
    >>> round(horizon.progress, 9), horizon.over
    (1.0, True)
    """

    def __init__(self, seconds: float, known: dict[int, int] | None = None, share: Callable[[int], int] = int) -> None:
        self.seconds = seconds
        self.known = dict(known or {})
        self.share = share  # the estimate of one process becomes that of all
        self.progress, self.left = 0.0, 0
        self._last: tuple[int, float, float] = (0, 0.0, 0.0)  # step, elapsed and progress when it was last estimated

    @property
    def over(self) -> bool:
        """Whether all of the way is done."""
        return self.progress >= 1 - 1e-9

    @property
    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"progress": self.progress, "left": self.left, "last": list(self._last)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.progress, self.left = state["progress"], state["left"]
        step, elapsed, progress = state["last"]
        self._last = int(step), float(elapsed), float(progress)

    def advance(self, step: int, elapsed: float) -> bool:
        """Take a step, the `step`-th from 0, after so many seconds; whether the steps left were estimated anew."""
        if step == 0:
            self._last = 0, elapsed, 0.0  # what went by before, and the first step, tell nothing of the pace
        new = step in FIRST or (step > FIRST[-1] and self.progress - self._last[2] >= EVERY)
        if new:
            self.left = self.known.get(step) or self.share(self._estimate(step, elapsed))
            self.known[step] = self.left
            self._last = step, elapsed, self.progress
        if self.left:
            self.progress += (1 - self.progress) / self.left
            self.left -= 1
        return new

    def _estimate(self, step: int, elapsed: float) -> int:
        before, then, _ = self._last
        pace = max(1e-6, (elapsed - then) / max(1, step - before))
        return max(1, int((self.seconds - elapsed) / pace))

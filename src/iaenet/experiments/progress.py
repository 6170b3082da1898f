"""Progress over all rows, in one line."""

from collections.abc import Callable
from typing import Any

Show = Callable[..., None]


class Whole:
    """Work done, of all there is to do, in units of what it costs.

    >>> shown = []
    >>> whole = Whole(10.0, 2, lambda done, total, note: shown.append((done, total, note)))
    >>> part = whole.begin("darcybenchmark, FNO", 4.0)
    >>> part.take(2.0, "seed 0")("run")(1, 2, "epoch 1")
    >>> part.end()
    >>> shown[1:]
    [(1, 10, 'row 1 of 2: darcybenchmark, FNO, seed 0, epoch 1'), (4, 10, '')]
    """

    def __init__(self, total: float, rows: int, show: Show | None = None) -> None:
        self.total, self.rows = total, rows
        self.done, self.row = 0.0, 0
        self._show = show

    def begin(self, name: str, weight: float) -> "Part":
        """The next row begins."""
        self.row += 1
        part = Part(self, name, weight)
        part.note("")
        return part

    def show(self, done: float, note: str) -> None:
        """Tell where we are."""
        if self._show is not None:
            self._show(int(min(done, self.total)), max(1, round(self.total)), note)


class Part:
    """One row: its share of the whole."""

    def __init__(self, whole: Whole, name: str, weight: float) -> None:
        self.whole, self.name, self.weight = whole, name, weight
        self.start = self.at = whole.done

    def note(self, text: str) -> None:
        """Tell what is being done, without progress."""
        words = ", ".join(word for word in (self.name, text) if word)
        self.whole.show(self.at, f"row {self.whole.row} of {self.whole.rows}: {words}")

    def take(self, weight: float, what: str) -> Any:
        """What `fit` takes as `progress`, for a training that is `weight` of the whole."""
        begin = self.at

        def titled(_title: str) -> Show:
            def step(done: int, total: int, note: str = "") -> None:
                self.at = begin + weight * done / max(1, total)
                self.note(f"{what}, {note}" if note else what)

            return step

        return titled

    def end(self) -> None:
        """The row is finished, however much of it was done before."""
        self.whole.done = self.at = self.start + self.weight
        self.whole.show(self.whole.done, "")

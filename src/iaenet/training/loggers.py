"""Where the figures of a training go beside its own files: TensorBoard, or any object with three methods."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from iaenet.errors import InvalidInputError, no_such

Record = Callable[[int, Mapping[str, float]], None]


class Logger(Protocol):
    """What a logger does. It is called in one process only, whatever the number of processes that train."""

    def start(self, run: Path, config: Mapping[str, Any], step: int) -> None:
        """A training begins, or resumes, after `step` steps, in this folder; what was logged of later ones is void."""

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Figures by name: `batch_loss` and `lr` after each step; `epoch`, `loss` and `validation` after an epoch."""

    def finish(self) -> None:
        """The training has ended, or stopped; also after an error."""


class TensorBoard:
    """Event files in `RUN/tensorboard`; look at them with `tensorboard --logdir RUN`."""

    def __init__(self) -> None:
        if find_spec("tensorboard") is None:
            raise InvalidInputError("the logger tensorboard needs TensorBoard: pip install 'iaenet[tensorboard]'")
        self._writer: Any = None

    def start(self, run: Path, config: Mapping[str, Any], step: int) -> None:
        """Open a file; the configuration is its first text."""
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(run / "tensorboard"), purge_step=step + 1)
        self._writer.add_text("config", "\n".join(f"    {key}: {value}" for key, value in config.items()), step + 1)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """A point of each curve."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def finish(self) -> None:
        """Write what is left."""
        self._writer.close()


LOGGERS: dict[str, Callable[[], Logger]] = {"tensorboard": TensorBoard}


def make_logger(name: str) -> Logger:
    """The logger of a name: one of `LOGGERS`, or of an installed package with an entry point in `iaenet.loggers`.

    >>> make_logger("tensorbord")
    Traceback (most recent call last):
        ...
    iaenet.errors.InvalidInputError: no logger 'tensorbord'; did you mean tensorboard?
    """
    if name in LOGGERS:
        return LOGGERS[name]()
    others = {entry.name: entry for entry in entry_points(group="iaenet.loggers")}
    if name not in others:
        raise InvalidInputError(no_such("logger", name, [*LOGGERS, *others]))
    found: Logger = others[name].load()()
    return found


@contextmanager
def recording(loggers: Sequence[Logger], run: Path, config: Mapping[str, Any], step: int) -> Iterator[Record]:
    """A function that hands figures on to loggers, which are started before and finished after the block."""
    started: list[Logger] = []

    def record(step: int, values: Mapping[str, float]) -> None:
        for logger in started:
            logger.log(step, values)

    try:
        for logger in loggers:
            logger.start(run, config, step)
            started.append(logger)
        yield record
    finally:
        for logger in started:
            logger.finish()

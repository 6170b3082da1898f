"""The command `iaenet`."""

import re
import sys
import time
import warnings
from argparse import ArgumentError
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from iaenet.errors import CorruptFileError, DivergedError, InvalidInputError, LostProcessError

Show = Callable[[str], Callable[..., None]]


def _generate(arguments: list[str], show: Show) -> str:
    from iaenet.cli.generate_command import generate_command

    return generate_command(arguments, show)


def _inspect(arguments: list[str], show: Show) -> str:
    from iaenet.cli.inspect_command import inspect_command

    return inspect_command(arguments, show)


def _import(arguments: list[str], show: Show) -> str:
    from iaenet.cli.import_command import import_command

    return import_command(arguments, show)


def _train(arguments: list[str], show: Show) -> str:
    from iaenet.cli.train_command import train_command

    return train_command(arguments, show)


def _evaluate(arguments: list[str], show: Show) -> str:
    from iaenet.cli.evaluate_command import evaluate_command

    return evaluate_command(arguments, show)


def _certify(arguments: list[str], show: Show) -> str:
    from iaenet.cli.certify_command import certify_command

    return certify_command(arguments, show)


def _predict(arguments: list[str], show: Show) -> str:
    from iaenet.cli.predict_command import predict_command

    return predict_command(arguments, show)


def _report(arguments: list[str], show: Show) -> str:
    from iaenet.cli.report_command import report_command

    return report_command(arguments, show)


def _reproduce(arguments: list[str], show: Show) -> str:
    from iaenet.cli.reproduce_command import reproduce_command

    return reproduce_command(arguments, show)


# A command takes its arguments and gives the text to print. It is imported when it is called, so that help is instant.
COMMANDS: dict[str, tuple[Callable[[list[str], Show], str], str]] = {
    "generate": (_generate, "make a data set of one of the built-in problems"),
    "import": (_import, "bring your own files into a data file"),
    "inspect": (_inspect, "show what is in a data file, with statistics and a picture"),
    "train": (_train, "train a model on a data file; stop it, and it goes on where it was"),
    "evaluate": (_evaluate, "errors of a trained model on each discretization of test data"),
    "certify": (_certify, "does a trained model give the same function on every discretization?"),
    "predict": (_predict, "apply a trained model to files of yours, at any points"),
    "report": (_report, "one HTML page about training runs, with tables and pictures"),
    "reproduce": (_reproduce, "the published tables, trained and scored here"),
}

HELP = """usage: iaenet COMMAND [options]

Learn maps between functions whose samples do not share a grid.

commands:
{commands}

  iaenet COMMAND --help  shows the options of a command, with examples
  iaenet --version       shows the version

examples:
  iaenet generate burgers --samples 1200 --resolutions 256,1024 --out burgers.h5
  iaenet train --data burgers.h5 --resolution 256 --run burgers
  iaenet evaluate burgers
  iaenet predict burgers --input measurements.csv --output predictions.csv --at 512
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Exit code 0 if all went well, 2 after a mistake (one line says which), 130 after Ctrl-C."""
    arguments = [_underscored(argument) for argument in (sys.argv[1:] if argv is None else argv)]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(HELP.format(commands="\n".join(f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items())), end="")
        return 0 if arguments else 2
    if arguments[0] == "--version":
        import iaenet

        print(f"iaenet {iaenet.__version__}")
        return 0
    if arguments[0] not in COMMANDS:
        return _mistake(f"no command {arguments[0]!r}; there are: {', '.join(COMMANDS)}")
    command, _ = COMMANDS[arguments[0]]
    warnings.filterwarnings("ignore", message="A worker stopped")  # joblib replaces workers that have grown large
    try:
        with Display() as display:
            text = command(arguments[1:], display)
        if text:  # only one of several processes tells
            print(text)
    except ArgumentError as error:
        path = " ".join(arguments[:2] if arguments[0] == "generate" else arguments[:1])
        return _mistake(f"{error}; see iaenet {path} --help")
    except (InvalidInputError, CorruptFileError) as error:
        return _mistake(str(error))
    except OSError as error:
        return _mistake(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (DivergedError, LostProcessError) as error:
        _mistake(str(error))
        return 1
    except KeyboardInterrupt as error:
        print(str(error) or "Stopped.", file=sys.stderr)
        return 130
    except SystemExit as error:
        if error.code == 143:  # SIGTERM
            print(str(error), file=sys.stderr)
            return 143
        raise
    return 0


def _mistake(text: str) -> int:
    print(f"iaenet: error: {' '.join(text.split())}", file=sys.stderr)
    return 2


def _underscored(argument: str) -> str:
    """`--mesh-size` as `--mesh_size`: options may be written either way."""
    name, equals, value = argument.partition("=")
    return (name.replace("-", "_").replace("__", "--", 1) + equals + value) if re.match(r"--\w", argument) else argument


class Display:
    """Progress: a bar with the time left on a terminal, else a line now and then; on standard error.

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
        last = time.monotonic()
        marks: list[tuple[float, int]] = []  # the start, and the first result: workers take seconds to get there

        def line(done: int, total: int, note: str = "") -> None:
            nonlocal last
            now = time.monotonic()
            if len(marks) < 2:
                marks.append((now, done))
            begin, first = marks[-1]
            if now - last >= self.every and (done > first or note):
                last = now
                words = [f"{what}: {done} of {total}"]
                if done > first:
                    words.append(f"about {_duration((now - begin) / (done - first) * (total - done))} left")
                print(", ".join([*words, note] if note else words), file=sys.stderr, flush=True)

        return line

    def _on_terminal(self, what: str) -> Callable[..., None]:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("time left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
        )
        self._bar.start()
        task = self._bar.add_task(what, total=None, note="")
        return lambda done, total, note="": self._bar.update(task, completed=done, total=total, note=note)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"

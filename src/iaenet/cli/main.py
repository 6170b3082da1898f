"""The command `iaenet`."""

import os
import re
import signal
import sys
import threading
import warnings
from argparse import ArgumentError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType

from iaenet.cli.display import Display
from iaenet.errors import CorruptFileError, DivergedError, InvalidInputError, LostProcessError, no_such, short_of_memory
from iaenet.outside import check_name
from iaenet.training.signals import LONGEST, Stop

# NAME is the function NAME_command of the module NAME_command: it takes its arguments and a display, and gives the text
# to print. It is imported when it is called, so that help is instant.
COMMANDS = {
    "generate": "make a data set of one of the built-in problems",
    "import": "bring your own files into a data file",
    "inspect": "show what is in a data file, with statistics and a picture",
    "train": "train a model on a data file; stop it, and it resumes where it was",
    "evaluate": "errors of a trained model on each discretization of test data",
    "certify": "does a trained model give the same function on every discretization?",
    "calibrate": "bands around predictions that hold as much of the truth as they say",
    "predict": "apply a trained model to files of yours, at any points",
    "export": "a trained model as one ONNX or PyTorch file, for other programs",
    "play": "one HTML page on which trained models can be played with",
    "report": "one HTML page about training runs, with tables and pictures",
    "reproduce": "the published tables, trained and scored here",
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


def command() -> int:
    """What a shell starts: `main` in a process of its own, which answers SIGTERM from here on to its very end."""
    with terminable(after=signal.SIG_IGN) as stop:  # when all is done, the exit code is known
        code = _ended(sys.argv[1:], stop)
    if code == 128 + signal.SIGTERM:
        _leave(
            code
        )  # all is closed by now, and to take PyTorch apart is a second's work, of which a busy one makes ten
    return code


def _leave(code: int) -> None:
    """End the process as it is; what it has not finished is as after SIGKILL."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, RuntimeError):  # closed, nobody reads it, or it is being written to
            stream.flush()
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Exit code 0 if all went well, 2 after a mistake (one line says which), 130 after Ctrl-C."""
    with terminable() as stop:
        return _ended(sys.argv[1:] if argv is None else argv, stop)


def _ended(argv: Sequence[str], stop: Stop) -> int:
    """The exit code. After SIGTERM, a library that was half imported, say, may fail with any error, or with none."""
    try:
        code = _main(argv)
    except Exception:
        if not stop.signal:
            raise
        code = 1
    if not stop.signal or code == 0:
        return code
    if code != 128 + stop.signal:
        print("Stopped.", file=sys.stderr)
    return 128 + stop.signal


def _main(argv: Sequence[str]) -> int:
    arguments = [_underscored(argument) for argument in argv]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(HELP.format(commands="\n".join(f"  {name:<10} {text}" for name, text in COMMANDS.items())), end="")
        return 0 if arguments else 2
    if arguments[0] == "--version":
        import iaenet

        print(f"iaenet {iaenet.__version__}")
        return 0
    if arguments[0] not in COMMANDS:
        return _mistake(no_such("command", arguments[0], COMMANDS))
    warnings.filterwarnings("ignore", message="A worker stopped")  # workers that have grown large are replaced
    try:
        for argument in arguments:
            check_name(re.sub(r"\s", " ", argument), "an argument")
        with Display() as display:
            module = import_module(f"iaenet.cli.{arguments[0]}_command")
            text = getattr(module, f"{arguments[0]}_command")(arguments[1:], display)
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
    except Exception as error:
        short = short_of_memory(error)
        if short is None:
            raise
        return _mistake(f"not enough memory for {' '.join(arguments)}: {str(short) or 'it was refused'}")
    except SystemExit as error:
        if error.code == 143:  # SIGTERM
            print(str(error) if str(error) != "143" else "Stopped.", file=sys.stderr)
            return 143
        raise
    return 0


def _mistake(text: str) -> int:
    shown = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in " ".join(text.split()))
    print(f"iaenet: error: {shown}", file=sys.stderr)
    return 2


@contextmanager
def terminable(after: signal.Handlers | None = None) -> Iterator[Stop]:
    """SIGTERM ends a command with exit code 143, from its very start; a training then has its own way to end.

    Worker processes are ended, and unfinished files removed, on the way out, but not for longer than is promised.
    After the block the handler of before is back, or `after`: then the process is about to end.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    watch = threading.Timer(LONGEST, os._exit, [128 + signal.SIGTERM])
    watch.daemon = True

    def end(number: int, frame: FrameType | None) -> None:
        if not stop.signal:
            stop.signal = number
            watch.start()
        if after is not None and _imports(frame):  # C++ that loads a library aborts if it meets an exception
            _leave(128 + number)
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield stop
    finally:
        if after is None:
            watch.cancel()
        signal.signal(signal.SIGTERM, before if after is None else after)


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported."""
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


def _underscored(argument: str) -> str:
    """`--mesh-size` as `--mesh_size`: options may be written either way."""
    name, equals, value = argument.partition("=")
    return (name.replace("-", "_").replace("__", "--", 1) + equals + value) if re.match(r"--\w", argument) else argument

"""Parsers with one voice: help as it was written, and a mistake as one line."""

import re
from argparse import Action, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, NoReturn

from jsonargparse import ArgumentParser, DefaultHelpFormatter

from iaenet.errors import InvalidInputError
from iaenet.outside import read_yaml

MOST_DRAWN = 50  # samples in a picture: larger ones take minutes, and no viewer shows them


class _Plain(RawDescriptionHelpFormatter, DefaultHelpFormatter):
    """Keeps the lines of descriptions and examples; help texts say their defaults themselves."""

    def _get_help_string(self, action: Action) -> str:
        return action.help or ""


class RefusedError(ArgumentTypeError, ValueError):
    """A value that cannot be: the first is what argparse wants to hear, the second what jsonargparse does of a file."""


class _Parser(ArgumentParser):
    """Says of an option that there is not which one may be meant."""

    other_names: Mapping[str, str] = {}

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Raise the mistake, with advice."""
        found = re.search(r"(?:unrecognized arguments: --|Option ')([\w.]+)", message)
        if found:
            within, dot, name = found[1].rpartition(".")
            known = [action.dest.rpartition(".") for action in self._actions]
            near = get_close_matches(name, [each for its, _, each in known if its == within], n=1)
            if found[1] in self.other_names:
                message = f"no option --{found[1]}; it is called --{self.other_names[found[1]]}"
            elif near:
                message = f"no option --{found[1]} (did you mean --{within}{dot}{near[0]}?)"
        super().error(message, ex)

    def parse_args(self, args: Sequence[str], *rest: Any, **options: Any) -> Any:  # type: ignore[override]
        """Parse the options, after a look at the files that they may be in."""
        for i, argument in enumerate(args):
            name, equals, value = argument.partition("=")
            if name == "--config" and (equals or i + 1 < len(args)):
                read_yaml(value if equals else args[i + 1])
        try:
            return super().parse_args(args, *rest, **options)
        except RecursionError:
            raise InvalidInputError("an option is nested too deeply") from None


def new_parser(
    command: str, description: str, examples: str = "", other_names: Mapping[str, str] | None = None
) -> ArgumentParser:
    """A parser for a command, with `--config` for a YAML file; a mistake raises `argparse.ArgumentError`.

    `other_names` are names that people try, with the names that the options have here.

    >>> parser = new_parser("count", "Count something.")
    >>> _ = parser.add_argument("--most", type=int, default=3)
    >>> parser.parse_args(["--most", "4"]).most
    4
    """
    parser = _Parser(
        prog=f"iaenet {command}",
        description=description,
        epilog=examples and f"examples:\n{examples}",
        formatter_class=_Plain,
        exit_on_error=False,
        allow_abbrev=False,
    )
    parser.other_names = other_names or {}
    parser.add_argument("--config", action="config", help="YAML file with any of the options below.")
    return parser


def add_pool_options(parser: Any) -> None:
    """Where work on many samples or files is done: processes here, or a Dask cluster."""
    parser.add_argument("--workers", type=int, default=1, help="Processes on this machine. Default 1.")
    parser.add_argument(
        "--backend", type=Literal["dask"] | None, default=None, help="Run on a Dask cluster. Default: processes here."
    )
    parser.add_argument(
        "--scheduler",
        type=str | None,
        default=None,
        help="Address of the Dask scheduler. Default: a cluster of --workers processes here.",
    )


def whole_numbers(given: Any) -> tuple[int, ...]:
    """Numbers written as `256,1024`, or as a list in YAML.

    >>> whole_numbers("256,1024"), whole_numbers([1, 8])
    ((256, 1024), (1, 8))
    """
    return _row(given, int, "whole numbers")


def real_numbers(given: Any) -> tuple[float, ...]:
    """Numbers written as `0.8,0.1,0.1`, or as a list in YAML.

    >>> real_numbers("0.8,0.1,0.1")
    (0.8, 0.1, 0.1)
    """
    return _row(given, float, "numbers")


def words(given: Any) -> tuple[str, ...]:
    """Words written as `MA,EM`, or as a list in YAML.

    >>> words("MA,EM")
    ('MA', 'EM')
    """
    return _row(given, str, "words")


def _row(given: Any, kind: type, wanted: str) -> tuple[Any, ...]:
    parts = given if isinstance(given, list | tuple) else str(given).strip("[]() ").split(",")
    try:
        return tuple(kind(part.strip() if isinstance(part, str) else part) for part in parts)
    except (TypeError, ValueError):
        raise RefusedError(f"expected {wanted} with commas between them, got {given!r}") from None


def check_count(option: str, value: int, most: int | None = None, least: int = 1) -> None:
    """Refuse a number that is too small or too large.

    >>> check_count("samples", 0)
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: --samples must be at least 1, got 0
    """
    if value < least:
        raise InvalidInputError(f"--{option} must be at least {least}, got {value}")
    if most is not None and value > most:
        raise InvalidInputError(f"--{option} must be at most {most}, got {value}")


def field_texts(docstring: str, names: list[str]) -> dict[str, str]:
    """What a docstring says of each field, in paragraphs that begin `name: ...` or `name, name: ...`.

    >>> field_texts('''Waves.
    ...
    ...     speed: c.
    ...         Default 1.
    ...     low, high: the range.
    ...     ''', ["speed", "low", "high"])
    {'speed': 'c. Default 1.', 'low': 'low, high: the range.', 'high': 'low, high: the range.'}
    """
    texts: dict[str, str] = {}
    current: list[str] = []
    for line in docstring.splitlines():
        start = re.match(r"\s*((?:\w+, )*\w+): (.*)", line)
        found = start.group(1).split(", ") if start else []
        if start and set(found) <= set(names):
            current = found
            texts |= dict.fromkeys(found, start.group(2) if len(found) == 1 else line.strip())
        elif line.strip():
            texts |= {name: f"{texts[name]} {line.strip()}" for name in current}
        else:
            current = []
    return texts


def value_of(arguments: list[str], option: str) -> str | None:
    """The value of an option, before anything else is known.

    >>> value_of(["--run", "a", "--data=b.h5"], "--data"), value_of(["--run", "a"], "--data")
    ('b.h5', None)
    """
    for i, argument in enumerate(arguments):
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
        if argument == option and i + 1 < len(arguments):
            return arguments[i + 1]
    return None

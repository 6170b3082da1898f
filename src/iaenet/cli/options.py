"""Parsers with one voice: help as it was written, and a mistake as one line."""

import re
from argparse import Action, ArgumentTypeError, RawDescriptionHelpFormatter
from typing import Any

from jsonargparse import ArgumentParser, DefaultHelpFormatter


class _Plain(RawDescriptionHelpFormatter, DefaultHelpFormatter):
    """Keeps the lines of descriptions and examples; help texts say their defaults themselves."""

    def _get_help_string(self, action: Action) -> str:
        return action.help or ""


def new_parser(command: str, description: str, examples: str = "") -> ArgumentParser:
    """A parser for a command, with `--config` for a YAML file; a mistake raises `argparse.ArgumentError`.

    >>> parser = new_parser("count", "Count something.")
    >>> _ = parser.add_argument("--most", type=int, default=3)
    >>> parser.parse_args(["--most", "4"]).most
    4
    """
    parser = ArgumentParser(
        prog=f"iaenet {command}",
        description=description,
        epilog=examples and f"examples:\n{examples}",
        formatter_class=_Plain,
        exit_on_error=False,
        allow_abbrev=False,
    )
    parser.add_argument("--config", action="config", help="YAML file with any of the options below.")
    return parser


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
        raise ArgumentTypeError(f"expected {wanted} with commas between them, got {given!r}") from None


def field_texts(docstring: str, names: list[str]) -> dict[str, str]:
    """What a docstring says of each field, in paragraphs that begin `name: ...` or `name, name: ...`.

    >>> field_texts('''Waves.
    ...
    ...     speed: c.
    ...         Default 1.
    ...     low, high: the range.
    ...     ''', ["speed", "low", "high"])
    {'speed': 'c. Default 1.', 'low': 'low, high: the range.', 'high': 'See --low.'}
    """
    texts: dict[str, str] = {}
    current = ""
    for line in docstring.splitlines():
        start = re.match(r"\s*((?:\w+, )*\w+): (.*)", line)
        found = start.group(1).split(", ") if start else []
        if start and set(found) <= set(names):
            current = found[0]
            texts[current] = start.group(2) if len(found) == 1 else line.strip()
            texts |= dict.fromkeys(found[1:], f"See --{current}.")
        elif current and line.strip():
            texts[current] += f" {line.strip()}"
        else:
            current = ""
    return texts

"""What an option of readers may be: a name, numbers, pairs of numbers, a choice. No PyTorch here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Kind:
    """What an option is: `convert` takes a plain value, or raises TypeError or ValueError."""

    metavar: str  # in a command's help
    wanted: str  # in messages
    convert: Callable[[Any], Any]
    plain_text: bool = False  # whether text stays as it is, unless it is a list in brackets


def _exactly(kind: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if type(value) is not kind:  # true is no whole number
            raise TypeError
        return value

    return convert


def _each(convert: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def several(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple) or not value:
            raise TypeError
        return [convert(one) for one in value]

    return several


def _one_or_each(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: _each(convert)(value) if isinstance(value, list | tuple) else convert(value)


def _pair(value: Any) -> tuple[float, float]:
    low, high = value
    return float(low), float(high)


def _units(value: Any) -> dict[str, str]:
    return {_word(name): str(unit) for name, unit in dict(value).items()}


def _name_or_number(value: Any) -> Any:
    return _whole(value) if type(value) is int else _word(value)


def choice(*choices: str) -> Kind:
    """One of these words."""
    return Kind(f"{{{','.join(choices)}}}", f"one of {', '.join(choices)}", lambda v: choices[choices.index(v)], True)


_word, _whole, _flag = _exactly(str), _exactly(int), _exactly(bool)
NAMES = Kind("NAME,...", "names with commas between them", _one_or_each(_word), True)
NAME = Kind("NAME", "a name", _word, True)
CHARACTER = Kind("CHARACTER", "one character", _word, True)
PAIRS = Kind("[[LOW,HIGH],...]", "pairs of numbers, one for each axis, as [[0,1],[-1,1]]", _each(_pair))
FLAG = Kind("true|false", "true or false", _flag)
FLAGS = Kind("true|false|[true,...]", "true or false, or a list of them, one for each axis", _one_or_each(_flag))
NUMBER = Kind("N", "a whole number", _whole)
AXIS = Kind("NAME|N", "a name, or the number of an axis", _name_or_number, True)
NUMBER_OR_LIST = Kind("N|N,...", "a whole number, or several with commas between them", _one_or_each(_whole))
NUMBERS = Kind("N,...", "whole numbers with commas between them", _each(_whole))
UNITS = Kind("{NAME: UNIT,...}", "units by name, as {u: m/s, p: Pa}", _units)

"""Plain data, as YAML gives it, into dataclasses: a key that is unknown, missing or of another type is named."""

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from iaenet.errors import InvalidInputError, no_such


def typed(kind: Any, value: Any, where: str, *, more: bool = False) -> Any:
    """`value` as `kind`: a dataclass, list, dict with words as keys, Literal, union, number, word or anything.

    A key that a dataclass does not have is refused, or with `more` passed over.

    >>> @dataclasses.dataclass
    ... class Wave:
    ...     modes: int
    ...     speed: float = 1.0
    >>> typed(Wave, {"modes": 3}, "wave.yaml")
    Wave(modes=3, speed=1.0)
    >>> typed(Wave, {"modes": 3, "sped": 2}, "wave.yaml")
    Traceback (most recent call last):
        ...
    iaenet.errors.InvalidInputError: wave.yaml: no option 'sped'; did you mean speed?
    """
    origin, parts = get_origin(kind), get_args(kind)
    if dataclasses.is_dataclass(kind):
        if type(value) is kind:
            return value
        return _object(kind, value, where, more)
    if kind is Any:
        return value
    if origin is Literal:
        if not any(value == part and type(value) is type(part) for part in parts):
            raise InvalidInputError(f"{where} must be one of {', '.join(map(str, parts))}, got {_shown(value)}")
        return value
    if origin in (Union, UnionType):
        if value is None and NoneType in parts:
            return None
        return _any_of([part for part in parts if part is not NoneType], value, where, more)
    if origin in (list, tuple, Sequence):
        if not isinstance(value, list if origin is list else list | tuple):
            raise InvalidInputError(f"{where} must be a list, got {_shown(value)}")
        if origin is tuple and parts[-1] is not Ellipsis and len(value) != len(parts):
            raise InvalidInputError(f"{where} must have {len(parts)} entries, got {_shown(value)}")
        return [typed(parts[0], one, f"{where}[{i}]", more=more) for i, one in enumerate(value)]
    if origin is dict:
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"{where} must be a mapping, got {_shown(value)}")
        return {str(key): typed(parts[1], one, f"{where}.{key}", more=more) for key, one in value.items()}
    return _single(kind, value, where)


def _any_of(kinds: list[Any], value: Any, where: str, more: bool) -> Any:
    for kind in kinds[:-1]:
        try:
            return typed(kind, value, where, more=more)
        except InvalidInputError:
            continue
    return typed(kinds[-1], value, where, more=more)


def plain(kind: Any) -> bool:
    """Whether values of a type are numbers, words and lists of them.

    >>> plain(int | list[int] | None), plain(object)
    (True, False)
    """
    if get_origin(kind) in (UnionType, Union, list, tuple, Sequence):
        return all(plain(part) for part in get_args(kind) if part is not Ellipsis)
    return get_origin(kind) is Literal or kind in (bool, int, float, str, NoneType)


def _object(kind: Any, value: Any, where: str, more: bool) -> Any:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{where} must be a mapping, got {_shown(value)}")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    hints = get_type_hints(kind)
    for key in value:
        if key not in fields and not more:
            raise InvalidInputError(f"{where}: {no_such('option', str(key), fields)}")
    for name, field in fields.items():
        optional = field.default is not dataclasses.MISSING
        if name not in value and not optional and field.default_factory is dataclasses.MISSING:
            raise InvalidInputError(f"{where}: the key {name!r} is missing")
    known = {key: one for key, one in value.items() if key in fields}
    return kind(**{key: typed(hints[key], one, f"{where}: {key}", more=more) for key, one in known.items()})


def _single(kind: Any, value: Any, where: str) -> Any:
    if kind is float and type(value) in (int, float) and abs(value) <= sys.float_info.max:  # no NaN either
        return float(value)
    if kind is not float and type(value) is kind and (kind is not int or abs(value) < 2**63):
        return value
    names = {int: "a whole number", float: "a number (with a point, as in 1.0e-3)", bool: "true or false", str: "text"}
    raise InvalidInputError(f"{where} must be {names[kind]}, got {_shown(value)}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."

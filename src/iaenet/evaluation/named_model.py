"""Somebody else's network, by its name in Python: a callable that takes fields."""

import importlib
import sys
from pathlib import Path
from typing import Any

from torch import nn

from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field


class NamedModel(nn.Module):
    """`module:callable`, called as `model(field, at=None) -> field` or, if it knows them, with lists of both.

    The module is imported, from the working folder or from what is installed: its code runs with all the rights of the
    user. What it raises becomes a refusal that names it. Fields come in the precision of its parameters, if it is a
    PyTorch module, with values `(n, c)`, or `(b, n, c)` of several functions on the same points.

    >>> NamedModel("math:tau")
    Traceback (most recent call last):
        ...
    iaenet.errors.InvalidInputError: math:tau is a float, not a callable `model(field, at=None)`
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        module, colon, attribute = name.partition(":")
        if not (module and colon and attribute):
            raise InvalidInputError(f"a model is named as module:callable, got {name!r}")
        self.name = name
        folder = str(Path.cwd())
        sys.path.insert(0, folder)
        try:
            found: Any = importlib.import_module(module)
            for part in attribute.split("."):
                found = getattr(found, part)
        except Exception as error:  # whatever their code raises
            raise InvalidInputError(f"{name} cannot be imported ({type(error).__name__}: {error})") from error
        finally:
            sys.path.remove(folder)
        if not callable(found):
            raise InvalidInputError(f"{name} is a {type(found).__name__}, not a callable `model(field, at=None)`")
        self.model = found

    def forward(self, field: Any, at: Any = None) -> Any:
        """The output function of each input function."""
        if isinstance(field, Field):
            return self._one(field, at)
        try:
            found = self.model(field) if at is None else self.model(field, at)
            if isinstance(found, list | tuple) and all(isinstance(one, Field) for one in found):
                return list(found)
        except (TypeError, AttributeError):  # it takes one field at a time
            pass
        except Exception as error:
            raise self._refusal(error) from error
        return [self._one(one, None if at is None else at[i]) for i, one in enumerate(field)]

    def _one(self, field: Field, at: Any) -> Field:
        try:
            found = self.model(field) if at is None else self.model(field, at)
        except Exception as error:
            raise self._refusal(error) from error
        if not isinstance(found, Field):
            raise InvalidInputError(f"{self.name} gave a {type(found).__name__} instead of a Field")
        return found

    def _refusal(self, error: Exception) -> InvalidInputError:
        if isinstance(error, InvalidInputError):
            return error
        return InvalidInputError(f"{self.name} raised {type(error).__name__}: {error}")

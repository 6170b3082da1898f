"""Parts of the package by name, each imported when it is asked for: together they take seconds."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

T = TypeVar("T")


class LazyRegistry(Mapping[str, T], Generic[T]):
    """What the modules of a package define, by the names of the command line, with a line about each.

    A line of the table is `name: ("module:attribute", "what it is")`.

    >>> registry = LazyRegistry("iaenet", {"line": ("data.text_columns:aligned", "text in columns")})
    >>> list(registry), registry.meaning("line"), registry["line"].__name__
    (['line'], 'text in columns', 'aligned')
    """

    def __init__(self, package: str, table: Mapping[str, tuple[str, str]]) -> None:
        self._package = package
        self._table = table

    def __getitem__(self, name: str) -> T:
        module, _, attribute = self._table[name][0].partition(":")
        found: T = getattr(import_module(f"{self._package}.{module}"), attribute)
        return found

    def __contains__(self, name: object) -> bool:  # that of Mapping would import it
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def meaning(self, name: str) -> str:
        """What it is, in one line."""
        return self._table[name][1]

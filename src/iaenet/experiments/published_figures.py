"""The figures that the paper has, from published.toml."""

import tomllib
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from typing import Any

from iaenet.errors import InvalidInputError
from iaenet.experiments.table import TABLES, Row, Table

Figures = dict[int, float]  # by column


@dataclass(frozen=True)
class Published:
    """One published table: errors by row and column, or times by row and name; empty where the paper gives none."""

    note: str = ""
    columns: tuple[int, ...] = ()
    errors: dict[str, Figures] = field(default_factory=dict)
    times: dict[str, dict[str, float]] = field(default_factory=dict)

    def of(self, name: str, row: Row, trained: int | None) -> Figures:
        """The published figures that a row of ours is compared with, those for `trained` being ranked."""
        figures = self.errors.get(row.published or name, {})
        if row.published_column is None or trained is None:
            return figures
        return {trained: figures[row.published_column]} if row.published_column in figures else {}


def published(table: Table, folder: Traversable = TABLES) -> Published:
    """What published.toml in the folder has of a table; nothing if there is no such file."""
    path = folder / "published.toml"
    try:
        found = tomllib.loads(path.read_text()) if path.is_file() else {}
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"{path}: {error}") from None
    name = table.paper.table or table.name
    if name not in found and table.paper.table is None:
        return Published()
    part = _part(found, name, path, table)
    errors = _errors(part)
    for key, row in table.rows.items():
        if row.published_table is not None:
            errors[key] = _errors(_part(found, row.published_table, path, table)).get(row.published or key, {})
    columns = part.get("resolutions") or sorted({column for figures in errors.values() for column in figures})
    return Published(part.get("note", ""), tuple(columns), errors, part.get("times", {}))


def _part(found: dict[str, Any], name: str, path: Traversable, table: Table) -> dict[str, Any]:
    if name not in found:
        raise InvalidInputError(f"{path} has no table {name!r}, which {table.name}.yaml names")
    part: dict[str, Any] = found[name]
    return part


def _errors(part: dict[str, Any]) -> dict[str, Figures]:
    return {row: {int(column): value for column, value in e.items()} for row, e in part.get("errors", {}).items()}

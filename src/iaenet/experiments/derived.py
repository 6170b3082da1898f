"""Tables that are made of others: the figure over viscosities, and the paper's yes and no."""

from collections.abc import Mapping
from typing import Any

from iaenet.errors import InvalidInputError
from iaenet.experiments.result import Result, head
from iaenet.experiments.table import Table

INVARIANCE, IRREGULAR = "Discretization Invariance", "Irregular Grids"
INVARIANT = 1.2  # largest error on any resolution, in units of that at home, that counts as invariance


def derived(table: Table, preset: str, parts: Mapping[str, Result]) -> Result:
    """The document of a table from those that it is made of, by what they stand for."""
    machine = next(iter(parts.values()))["machine"]
    make = {"viscosity": _viscosity, "summary": _summary}[table.kind]
    return {**head(table, preset, machine), "parts": dict(table.made_of.parts), **make(table, parts)}


def _viscosity(table: Table, parts: Mapping[str, Result]) -> Result:
    """Errors at home against viscosity: rows that every part has."""
    names = [row["name"] for row in next(iter(parts.values()))["rows"]]
    shared = [name for name in names if all(_row(part, name) is not None for part in parts.values())]
    known: dict[str, dict[str, float]] = {}
    for viscosity, part in parts.items():
        for name, figures in part["published"]["errors"].items():
            if all(name in other["published"]["errors"] for other in parts.values()):
                known.setdefault(name, {})[viscosity] = figures[part["published"]["trained"]]
    rows: list[dict[str, Any]] = []
    for name in shared:
        errors: dict[str, float] = {}
        for viscosity, part in parts.items():
            row = _row(part, name) or {}
            if part["home"] in row["errors"]:
                errors[viscosity] = row["errors"][part["home"]]
        rows.append({"name": name, "errors": errors, "published": known.get(name, {})})
    reference: dict[str, float] = next((row["errors"] for row in rows if row["name"] == table.reference), {})
    for row in rows:
        row["ratios"] = _ratios(row["errors"], reference)
    columns, base = list(parts), known.get(table.paper.reference, {})
    ratios = {name: _ratios(figures, base) for name, figures in known.items()}
    return {
        "columns": columns,
        "rows": rows,
        "published": {"columns": columns, "errors": known, "ratios": ratios},
        "changes": [],
    }


def _summary(table: Table, parts: Mapping[str, Result]) -> Result:
    """Yes where the error at home is below the limit, no where it is not, nothing where it was not measured."""
    for needed in (INVARIANCE, IRREGULAR):
        if needed not in parts:
            raise InvalidInputError(f"{table.name}: parts: the key {needed!r} is missing")
    rows = []
    for name, answers in table.made_of.answers.items():
        found: dict[str, str] = {}
        for column, part in parts.items():
            row = _row(part, name)
            if row is None:
                found[column] = ""
            elif column == INVARIANCE:
                found[column] = _word(_worst(row["errors"], part) <= INVARIANT)
            else:
                found[column] = _word(row["errors"].get(part["home"], table.made_of.limit) < table.made_of.limit)
        known = dict(zip(parts, answers, strict=True)) if answers else {}
        rows.append({"name": name, "answers": found, "published": known})
    return {"columns": list(parts), "limit": table.made_of.limit, "rows": rows, "published": {}, "changes": []}


def _worst(errors: Mapping[str, float], part: Result) -> float:
    """Largest error on any column in units of that at home; infinite if a resolution is refused."""
    home = part["home"]
    if home not in errors or any(column not in errors for column in part["columns"]):
        return float("inf")
    return max(errors.values()) / errors[home]


def _row(part: Result, name: str) -> dict[str, Any] | None:
    return next((row for row in part["rows"] if row["name"] == name), None)


def _ratios(errors: Mapping[str, float], reference: Mapping[str, float]) -> dict[str, float]:
    """`(m - i) / i`, the paper's relative error ratio of a network with errors m to a reference with errors i."""
    return {key: (value - reference[key]) / reference[key] for key, value in errors.items() if key in reference}


def _word(yes: bool) -> str:
    return "Yes" if yes else "No"

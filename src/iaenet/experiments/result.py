"""What a table came to, as one JSON document: our figures beside the published ones, and how they were made."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from iaenet.experiments.plan import Job
from iaenet.experiments.published_figures import Published
from iaenet.experiments.table import Table

Result = dict[str, Any]


def collected(
    table: Table, preset: str, rows: Sequence[tuple[Job, list[dict[str, Any]]]], figures: Published
) -> Result:
    """The document of a table whose rows were trained and scored."""
    sizes = table.preset(preset)
    columns = [str(resolution) for resolution in sizes.resolutions]
    result: Result = {
        **head(table, preset, rows[0][1][0]["machine"]),
        "columns": columns,
        "home": str(sizes.at),
        "training": [str(resolution) for resolution in sizes.training],
        "samples": dict(zip(("training", "validation", "test"), sizes.samples, strict=True)),
        "budget_seconds": sizes.length.budget or None,
        "clock": "processor",
        "published": _published(table, figures),
        "changes": sizes.changes,
    }
    result["rows"] = [_row(table, job, outcomes, columns, figures) for job, outcomes in rows]
    reference = next((row for row in result["rows"] if row["name"] == table.reference), None)
    known = _known(table, table.paper.reference, figures)
    for row in result["rows"]:
        row["ratio"] = _ratio(row["errors"], reference and reference["errors"], result["home"])
        row["published_ratio"] = _ratio(row["published"], known, result["published"]["trained"])
    return result


def timed(table: Table, preset: str, rows: Sequence[tuple[Job, dict[str, Any]]], figures: Published) -> Result:
    """The document of a table of times."""
    sizes = table.preset(preset)
    result: Result = {
        **head(table, preset, rows[0][1]["machine"]),
        "published": {"table": table.paper.table or table.name, "note": figures.note, "trained": None},
        "changes": sizes.changes,
    }
    result["rows"] = [
        {
            "name": job.row,
            "model": job.training.model,
            "parameters": outcome["parameters"],
            "train": outcome["train"],
            "test": outcome["test"],
            "ideas": outcome.get("ideas"),
            "published": figures.times.get(table.rows[job.row].published or job.row, {}),
            "note": table.rows[job.row].note,
        }
        for job, outcome in rows
    ]
    return result


def head(table: Table, preset: str, machine: dict[str, Any]) -> Result:
    """What every document begins with."""
    return {
        "table": table.name,
        "title": table.title,
        "kind": table.kind,
        "axis": table.axis,
        "reference": table.reference,
        "published_reference": table.paper.reference,
        "preset": preset,
        "command": command(table.name, preset),
        "comment": table.comment.strip(),
        "machine": machine,
    }


def command(table: str, preset: str) -> str:
    """What makes the document again."""
    return f"iaenet reproduce {table} --preset {preset}"


def _row(
    table: Table, job: Job, outcomes: list[dict[str, Any]], columns: Sequence[str], figures: Published
) -> dict[str, Any]:
    row = table.rows[job.row]
    first = outcomes[0]
    return {
        "name": job.row,
        "model": job.training.model,
        "at": row.at,
        "errors": _means([o.get("errors", {}) for o in outcomes], columns),
        "interpolated": _means([o.get("interpolated", {}) for o in outcomes], columns),
        "refused": first.get("refused", {}),
        **({"invariance": first["invariance"]} if "invariance" in first else {}),
        "published": _known(table, job.row, figures),
        "parameters": first.get("parameters"),
        "ideas": first.get("ideas"),
        "trials": row.trials,
        "rate": first["rate"],
        "tried": first["tried"],
        "choice": first.get("choice"),
        "epochs": first.get("epochs"),
        "seeds": [
            {
                name: outcome[name]
                for name in ("seed", "errors", "validation", "best_epoch", "seconds", "diverged")
                if name in outcome
            }
            for outcome in outcomes
        ],
        "note": row.note,
    }


def _known(table: Table, name: str, figures: Published) -> dict[str, float]:
    """The published figures that a row of the table is compared with, by column."""
    row = table.rows.get(name)
    return {} if row is None else {str(c): value for c, value in figures.of(name, row, table.trained).items()}


def _means(found: Sequence[Mapping[str, float]], columns: Sequence[str]) -> dict[str, float]:
    """Over the seeds, where all of them have a figure."""
    return {c: statistics.fmean(one[c] for one in found) for c in columns if all(c in one for one in found)}


def _ratio(errors: Mapping[str, float], reference: Mapping[str, float] | None, at: str | None) -> float | None:
    if at is None or reference is None or at not in errors or at not in reference:
        return None
    return errors[at] / reference[at]


def _published(table: Table, figures: Published) -> dict[str, Any]:
    return {
        "table": table.paper.table or table.name,
        "note": figures.note,
        "columns": [str(column) for column in figures.columns],
        "trained": None if table.trained is None else str(table.trained),
        "errors": {row: {str(c): e for c, e in errors.items()} for row, errors in figures.errors.items()},
    }

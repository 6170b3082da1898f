"""The curves of a table's page: errors against resolution, measured here and published."""

from collections.abc import Mapping, Sequence

from iaenet.experiments.result import Result
from iaenet.reports.charts import Chart, Series


def table_charts(result: Result) -> list[Chart]:
    """Two charts of a table of errors against resolution; none of others, which have a picture."""
    if result["kind"] != "errors" or result["axis"] == "blocks":
        return []
    published = result["published"]
    measured = {row["name"]: row["errors"] for row in result["rows"]}
    both = (
        ("Measured here", measured, result["columns"], result["home"]),
        ("Published", published["errors"], published["columns"], published["trained"]),
    )
    return [
        _chart(title, rows, columns, home, result["reference"])
        for title, rows, columns, home in both
        if any(rows.values())
    ]


def _chart(
    title: str, rows: Mapping[str, Mapping[str, float]], columns: Sequence[str], home: str, reference: str
) -> Chart:
    curves = [
        Series(
            name,
            [(i, errors[column], column) for i, column in enumerate(columns) if errors.get(column)],
            strong=name == reference,
        )
        for name, errors in rows.items()
    ]
    lines = [{"x": columns.index(home), "text": f"ranked at {home}"}] if home in columns else []
    ticks = [(float(i), column) for i, column in enumerate(columns)]
    return Chart(title, "resolution", "relative L2 error", curves, ticks=ticks, lines=lines)

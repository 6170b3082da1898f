"""Curves for HTML pages, drawn by a script inside the page: one points at them, and they tell their numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Rows = Sequence[Mapping[str, Any]]  # of evaluation.json


@dataclass(frozen=True)
class Series:
    """A curve through points `(x, y, what it is)`; a fourth entry, True, makes a star of one by itself."""

    name: str
    points: list[tuple[Any, ...]]
    strong: bool = False


@dataclass(frozen=True)
class Chart:
    """Curves in one picture; `templates/chart.js` draws it.

    lines: `{"x": 256, "text": "trained on 256"}` or the same with y, dashed across the picture.

    >>> Chart("Error", "resolution", "L2", [Series("a", [(64, 0.1, "64")])]).to_json()[:44]
    '{"title": "Error", "x": "resolution", "y": "'
    """

    title: str
    x: str
    y: str
    series: list[Series]
    logx: bool = False
    logy: bool = True
    ticks: list[tuple[float, str]] | None = None
    lines: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> str:
        """As text that may stand inside a script element."""
        return json.dumps(asdict(self), allow_nan=False).replace("<", "\\u003c")


def comparison_chart(runs: Mapping[str, Rows], training: int | None = None) -> Chart | None:
    """Mean errors of several runs against resolution, random points as stars; None if no run has two resolutions.

    >>> rows = [{"on": str(n), "resolution": n, "points": [n, n], "relative_l2": {"mean": 0.1}} for n in (64, 128)]
    >>> [one.name for one in comparison_chart({"ours": rows, "fno": rows}).series]
    ['ours', 'fno']
    """
    curves = [Series(name, _points(rows, "mean"), strong=i == 0) for i, (name, rows) in enumerate(runs.items())]
    return _over_resolution("Error against resolution", "mean relative L2 error", curves, runs, training)


def error_chart(rows: Rows, training: int | None = None) -> Chart | None:
    """Mean, median and worst error of one run against resolution."""
    curves = [Series(name, _points(rows, name)) for name in ("mean", "median", "worst")]
    return _over_resolution("Error against resolution", "relative L2 error", curves, {"": rows}, training)


def training_chart(history: Sequence[Mapping[str, Any]]) -> Chart | None:
    """Loss and validation error against epochs."""
    names = {"loss": "training loss", "validation": "validation error"}
    curves = [
        Series(text, [(one["epoch"], one[key], f"epoch {one['epoch']}") for one in history if one[key] > 0])
        for key, text in names.items()
    ]
    return Chart("Training", "epoch", "relative L2 error", curves) if len(history) > 1 else None


def certificate_chart(certificate: Mapping[str, Any]) -> Chart | None:
    """Mismatch against the number of points along an axis, with its limits."""
    lines = [one for one in certificate["lines"] if one["test"] == "mismatch" and one["value"] and one["size"]]
    kinds = {False: "grids", True: "random points"}
    curves = [
        Series(text, [(one["size"], one["value"], one["on"], random) for one in lines if one["random"] is random])
        for random, text in kinds.items()
    ]
    limits = {(one["limit"], kinds[one["random"]]) for one in lines}
    return (
        Chart(
            f"Mismatch to {certificate['reference']}",
            "points along an axis",
            "relative difference",
            [one for one in curves if one.points],
            logx=True,
            lines=[{"y": limit, "text": f"limit for {text}"} for limit, text in sorted(limits)],
        )
        if len(lines) > 1
        else None
    )


def _points(rows: Rows, statistic: str) -> list[tuple[Any, ...]]:
    taken = [row for row in rows if "refused" not in row and row["relative_l2"][statistic] > 0]
    return [
        (row["points"][1], row["relative_l2"][statistic], row["on"], row["resolution"] is None)
        for row in sorted(taken, key=lambda row: row["points"][1])
    ]


def _over_resolution(
    title: str, y: str, curves: list[Series], runs: Mapping[str, Rows], training: int | None
) -> Chart | None:
    if max((sum(not point[3] for point in one.points) for one in curves), default=0) < 2:
        return None
    grids = {row["points"][1]: row["on"] for rows in runs.values() for row in rows if row["resolution"] is not None}
    lines = [{"x": x, "text": f"trained on {on}"} for x, on in grids.items() if on == str(training)]
    return Chart(title, "resolution", y, curves, logx=True, ticks=sorted(grids.items()), lines=lines)

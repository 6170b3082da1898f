"""A table as pages: markdown beside its pictures, and one HTML file with everything in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iaenet.data.atomic import replacing
from iaenet.experiments.figure import draw
from iaenet.experiments.how_long import how_long
from iaenet.experiments.result import Result
from iaenet.experiments.table_charts import table_charts
from iaenet.experiments.verdict import ratio_text, verdicts
from iaenet.reports.html_page import embedded, write_page
from iaenet.reports.plots import save

DASH = "-"


@dataclass(frozen=True)
class Grid:
    """A table of words, the first row its heading; `bold` are the cells (row, column) that stand out."""

    title: str
    cells: list[list[str]]
    bold: set[tuple[int, int]] = field(default_factory=set)

    def markdown(self) -> str:
        """As markdown."""
        lines = []
        for i, row in enumerate(self.cells):
            shown = [f"**{cell}**" if (i, j) in self.bold and cell else cell for j, cell in enumerate(row)]
            lines.append(f"| {' | '.join(shown)} |")
            if i == 0:
                lines.append("|" + "---|" * len(row))
        return f"### {self.title}\n\n" + "\n".join(lines)


def write_pages(result: Result, out: Path, samples: Path | None = None) -> None:
    """Write NAME.md, NAME.html and the pictures NAME.png and NAME-samples.png."""
    name = result["table"]
    pictures: dict[str, Path] = {}
    figure = draw(result)
    if figure is not None:
        pictures[_caption(result)] = out / f"{name}.png"
        save(figure, out / f"{name}.png")
    if samples is not None and samples.is_file():
        pictures[f"Test samples: input, truth, prediction of {result['reference']}, difference"] = (
            out / f"{name}-samples.png"
        )
        with replacing(out / f"{name}-samples.png") as beside:
            beside.write_bytes(samples.read_bytes())
    grids = tables(result)
    with replacing(out / f"{name}.md") as beside:
        beside.write_text(_markdown(result, grids, pictures), encoding="utf-8")
    charts = table_charts(result)
    write_page(
        "table.html.j2",
        out / f"{name}.html",
        title=result["title"],
        result=result,
        verdicts=verdicts(result),
        grids=grids,
        facts=facts(result),
        notes=notes_of(result),
        charts=charts,
        pictures=[
            (text, embedded(path.parent, path.name))
            for text, path in pictures.items()
            if not charts or text != _caption(result)
        ],
    )


def tables(result: Result) -> list[Grid]:
    """The tables of a page."""
    makers = {"errors": _error_tables, "times": _time_tables, "viscosity": _viscosity_tables, "summary": _answers}
    return [*makers[result["kind"]](result), *_ideas(result)]


def _ideas(result: Result) -> list[Grid]:
    """Which of the paper's ideas each row has, as its network and its training said."""
    found = {row["name"]: row["ideas"] for row in result["rows"] if row.get("ideas")}
    if not found:
        return []
    names = list(next(iter(found.values())))
    cells = [[row, *("yes" if ideas[name] else DASH for name in names)] for row, ideas in found.items()]
    return [Grid("The paper's ideas", [["", *names], *cells])]


def _error_tables(result: Result) -> list[Grid]:
    rows, published = result["rows"], result["published"]
    ours = _columns("Measured here", result["columns"], {row["name"]: row["errors"] for row in rows})
    grids = [ours]
    if published["errors"]:
        grids.append(_columns("Published", published["columns"], published["errors"]))
    if any(row["interpolated"] for row in rows):
        above = [column for column in result["columns"] if any(column in row["interpolated"] for row in rows)]
        scores = {row["name"]: row["interpolated"] for row in rows if row["interpolated"]}
        grids.append(_columns("Here, on labels interpolated from the training grid as in the paper", above, scores))
    grids += _invariance(result)
    known_as = result["published_reference"]
    head = ["", f"error at {result['home']}", f"/ {result['reference']}", "published", f"/ {known_as}"]
    cells = [[*head, "parameters", "epochs", "seconds", "rate", "trials", "seeds"]]
    for row in rows:
        known = row["published"].get(published["trained"])
        seconds = [seed["seconds"] for seed in row["seeds"] if "seconds" in seed]
        cells.append(
            [
                row["name"],
                figure_text(row["errors"].get(result["home"])),
                DASH if row["ratio"] is None else ratio_text(row["ratio"]),
                figure_text(known),
                DASH if row["published_ratio"] is None else ratio_text(row["published_ratio"]),
                count_text(row["parameters"]),
                DASH if row["epochs"] is None else f"{row['epochs']:g}",
                f"{sum(seconds) / len(seconds):.0f}" if seconds else DASH,
                f"{row['rate']:g}",
                trials_text(row.get("trials", 0), len(row["tried"]) + len((row.get("choice") or {}).get("trials", ()))),
                str(len(row["seeds"])),
            ]
        )
    return [*grids, Grid("Beside each other, and what it took", cells)]


def _invariance(result: Result) -> list[Grid]:
    """Bare points instead of a mesh, a half sampled four times denser, and the certificate, of the first seed."""
    cells = [["", f"error at {result['home']}", "bare points", "/ own", "refined half", "certificate"]]
    for row in result["rows"]:
        found, own = row.get("invariance"), row["errors"].get(result["home"])
        if found is None:
            continue
        points = found["points"]
        ratio = DASH if points is None or own is None else ratio_text(points / own)
        refined = DASH if found["refined_half"] is None else f"{found['refined_half']:.1e}"
        cells.append([row["name"], figure_text(own), figure_text(points), ratio, refined, found["verdict"]])
    return [Grid("The same functions given otherwise", cells)] if len(cells) > 1 else []


def _columns(title: str, columns: Sequence[str], rows: Mapping[str, Mapping[str, float]]) -> Grid:
    """Errors by row and column, the lowest of each column in bold."""
    cells = [["", *columns]]
    cells += [[name, *(figure_text(errors.get(column)) for column in columns)] for name, errors in rows.items()]
    bold = set()
    for j, column in enumerate(columns, start=1):
        known = [(errors[column], i) for i, errors in enumerate(rows.values(), start=1) if column in errors]
        bold |= {(min(known)[1], j)} if len(known) > 1 else set()
    return Grid(title, cells, bold)


def _time_tables(result: Result) -> list[Grid]:
    fno = next((row for row in result["rows"] if row["name"] == "FNO"), result["rows"][0])  # ratios are to this row
    cells = [["", "parameters", "published", "epoch s", "/ FNO", "published", "inference s", "/ FNO", "published"]]
    for row in result["rows"]:
        known, base = row["published"], fno["published"]
        line = [row["name"], count_text(row["parameters"]), f"{known['parameters']} M" if known else DASH]
        for key in ("train", "test"):
            line += [f"{row[key]:.3g}", ratio_text(row[key] / fno[key])]
            line.append(ratio_text(known[key] / base[key]) if known and base else DASH)
        cells.append(line)
    return [Grid("Seconds here, and ratios beside the published ones", cells)]


def _viscosity_tables(result: Result) -> list[Grid]:
    grids = []
    measured, known = {row["name"]: row["errors"] for row in result["rows"]}, result["published"]["errors"]
    for title, rows in (("Measured here", measured), ("Published", known)):
        grids.append(_columns(title, result["columns"], rows))
    return grids


def _answers(result: Result) -> list[Grid]:
    head = ["", *result["columns"]]
    grids = []
    for title, key in (("Measured here", "answers"), ("Published", "published")):
        cells = [
            [row["name"], *(row[key].get(column) or DASH for column in result["columns"])] for row in result["rows"]
        ]
        bold = {(i, j) for i, row in enumerate(cells, start=1) for j, cell in enumerate(row) if cell == "Yes"}
        grids.append(Grid(title, [head, *cells], bold))
    return grids


def facts(result: Result) -> list[str]:
    """How the figures were made."""
    machine = result["machine"]
    found = [f"Measured with version {machine['iaenet']}, whose networks those of other versions may differ from."]
    found.append(f"Command: {result['command']}")
    if "samples" in result:
        samples = ", ".join(f"{count} {name}" for name, count in result["samples"].items())
        trained = ", ".join(result["training"])
        found.append(f"Samples: {samples}; trained at resolution {trained}; the same for every row.")
    if result.get("budget_seconds"):
        found += how_long(result)
    if "parts" in result:
        found.append(f"Made of {', '.join(dict.fromkeys(result['parts'].values()))}.")
    found.append(
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['threads']} thread(s); PyTorch "
        f"{machine['torch']}."
    )
    return found


def notes_of(result: Result) -> list[str]:
    """What the page says of single rows."""
    notes = [f"{row['name']}: {row['note']}" for row in result["rows"] if row.get("note")]
    for row in result["rows"]:
        if row.get("refused"):
            notes.append(f"{row['name']} takes no input at {', '.join(row['refused'])}: its input points are fixed.")
        if row.get("choice"):
            choice = row["choice"]
            notes.append(f"{row['name']}: the network chosen is {choice['chosen']} ({choice['why']}).")
    for word, end in (("lowest", 0), ("highest", -1)):
        at_edge = [
            row["name"]
            for row in result["rows"]
            if row.get("tried") and row["rate"] == sorted(map(float, row["tried"]))[end]
        ]
        if at_edge:
            notes.append(f"Of the learning rates that were tried, the {word} was the best for {', '.join(at_edge)}.")
    return notes


def _markdown(result: Result, grids: Sequence[Grid], pictures: Mapping[str, Path]) -> str:
    parts = [f"# {result['title']}", "\n".join(f"- {sentence}" for sentence in verdicts(result))]
    if result["comment"]:
        parts.append(result["comment"])
    parts += [f"![{caption}]({path.name})" for caption, path in pictures.items()]
    parts += [grid.markdown() for grid in grids]
    for title, lines in (
        ("Notes", notes_of(result)),
        ("What differs from the paper", result["changes"]),
        ("How it was made", facts(result)),
    ):
        if lines:
            parts.append(f"### {title}\n\n" + "\n".join(f"- {line}" for line in lines))
    return "\n\n".join(parts) + "\n"


def _caption(result: Result) -> str:
    against = {"errors": f"Error against {result['axis']}", "viscosity": "Error against viscosity", "times": "Times"}
    return f"{against[result['kind']]}: measured here, and published"


def figure_text(value: float | None) -> str:
    """An error as it is shown.

    >>> figure_text(0.000275312), figure_text(1.001), figure_text(None)
    ('0.000275', '1', '-')
    """
    return DASH if value is None else f"{value:.3g}"


def count_text(count: int | None) -> str:
    """A number of parameters.

    >>> count_text(5_260_000), count_text(900), count_text(None)
    ('5.26 M', '900', '-')
    """
    if count is None:
        return DASH
    return f"{count / 1e6:.2f} M" if count >= 1e5 else str(count)


def trials_text(by_hand: int | None, rates: int) -> str:
    """How many trials went into a row's settings: by hand, None if nobody counted, and by the command.

    >>> trials_text(30, 3), trials_text(0, 3), trials_text(None, 3)
    ('30 + 3', '3', 'not counted + 3')
    """
    if by_hand is None:
        return f"not counted + {rates}"
    return f"{by_hand} + {rates}" if by_hand else str(rates)


def summary_line(result: Result, base: str) -> list[str]:
    """The line of a table in the list of all: name, title, and IAE-Net's figures: published, its form here, ours."""
    rows: dict[str, dict[str, Any]] = {row["name"]: row for row in result["rows"]}
    pair = [rows.get(name, {}) for name in (result["published_reference"], result["reference"])]
    if result["kind"] == "errors":
        at = result["published"]["trained"]
        errors = result["published"]["errors"].get("IAE-Net", {})
        known = figure_text(pair[0].get("published", {}).get(at, errors.get(at)))
        here = [figure_text(row.get("errors", {}).get(result["home"])) for row in pair]
    elif result["kind"] == "times":
        known, *here = (
            f"{row['train']:.3g} s" if row.get("train") else DASH for row in (pair[0].get("published", {}), *pair)
        )
    else:
        known, here = DASH, [DASH, DASH]
    link = f"[{result['table']}]({base}{result['table']}.md)"
    return [link, result["title"], known, *here, verdicts(result)[0]]

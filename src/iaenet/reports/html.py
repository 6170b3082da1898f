"""One HTML page about training runs: everything inside it, nothing fetched."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

import iaenet
from iaenet.data.atomic import replacing
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.reports.plots import png
from iaenet.reports.result_plots import draw_comparison
from iaenet.training.run_folder import RunFolder

PICTURES = {
    "certificate/certificate.png": "Mismatch between grids",
    "evaluation/errors.png": "Error against resolution",
    "evaluation/samples.png": "Samples: input, truth, prediction, difference",
    "evaluation/worst.png": "The worst cases",
    "calibration/coverage.png": "Coverage of the bands",
    "calibration/bands.png": "Bands",
    "curves.png": "Training",
}


@dataclass
class Page:
    """What the page says about one run."""

    name: str
    anchor: str
    config: str
    model: str
    parameters: str
    resolution: int | None = None  # trained on
    epochs: int = 0
    seconds: str = ""
    best: dict[str, Any] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    certificate: dict[str, Any] | None = None
    coverage: dict[str, Any] | None = None
    pictures: list[tuple[str, str]] = field(default_factory=list)

    @property
    def errors(self) -> dict[str, str]:
        """The mean error on each discretization, as shown."""
        return {row["on"]: "refused" if "refused" in row else _figure(row["relative_l2"]["mean"]) for row in self.rows}


def write_report(runs: Sequence[str | Path], path: str | Path, title: str | None = None) -> None:
    """Write the page for these runs, with whatever evaluations and certificates they have."""
    if not runs:
        raise InvalidInputError("a report needs at least one run folder")
    pages = [_page(Path(run), i) for i, run in enumerate(runs)]
    columns = list(dict.fromkeys(on for page in pages for on in page.errors))
    trained = {page.resolution for page in pages}
    figure = draw_comparison({page.name: page.rows for page in pages}, trained.pop() if len(trained) == 1 else None)
    numbers = {on: [page.errors[on] for page in pages if page.errors.get(on, "refused") != "refused"] for on in columns}
    environment = jinja2.Environment(loader=jinja2.PackageLoader("iaenet.reports"), autoescape=True, trim_blocks=True)
    environment.filters["figure"] = _figure
    text = environment.get_template("report.html.j2").render(
        title=title or (pages[0].name if len(pages) == 1 else "Training runs"),
        version=iaenet.__version__,
        runs=pages,
        columns=columns,
        comparison=None if figure is None else base64.b64encode(png(figure)).decode(),
        best={on: min(found, key=float) for on, found in numbers.items() if found},
    )
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _page(run: Path, number: int) -> Page:
    folder = RunFolder(run)
    first = RunFolder(folder.members[0]) if folder.members else folder
    if not first.checkpoints.is_dir():
        raise InvalidInputError(f"{run} is no training run; `iaenet train` makes one")
    state, parts = first.newest("best" if first.has("best") else "step")
    several = f", {len(folder.members)} members" if folder.members else ""
    metrics = folder.read_json("metrics.json") or {}
    evaluation, certificate, coverage = (
        folder.read_json(f"{name}.json")
        for name in ("evaluation/evaluation", "certificate/certificate", "calibration/coverage")
    )
    config = run / "config.yaml"
    return Page(
        name=str(run),
        anchor=f"run{number}",
        config=config.read_text() if config.is_file() else "",
        model=(state["operator"]["model"]["name"] or "a network of your own") + several,
        parameters=f"{sum(tensor.numel() for tensor in parts['weights'].values()):,}",
        resolution=((state["operator"].get("metadata") or {}).get("data") or {}).get("resolution"),
        epochs=len(metrics.get("epochs", [])),
        seconds=_seconds(run / "log.jsonl"),
        best=metrics.get("best"),
        rows=(evaluation or {}).get("rows", []),
        certificate=certificate,
        coverage=coverage,
        pictures=[(text, _embedded(run / name)) for name, text in PICTURES.items() if (run / name).is_file()],
    )


def _seconds(log: Path) -> str:
    """How long the training took, by the last line of its log."""
    try:
        last = json.loads(log.read_text().splitlines()[-1])["seconds"]
    except FileNotFoundError:
        return ""
    except (ValueError, KeyError, IndexError) as error:
        raise CorruptFileError(f"{log}: {error}") from None
    return f"{last / 60:.1f} minutes" if last >= 90 else f"{last:.0f} seconds"


def _embedded(picture: Path) -> str:
    return base64.b64encode(picture.read_bytes()).decode()


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"

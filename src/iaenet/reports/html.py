"""One HTML page about training runs: everything inside it, nothing fetched."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import iaenet
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.evaluation.rollout_errors import shown_steps
from iaenet.outside import document, own_file, read_text
from iaenet.reports.charts import Chart, certificate_chart, comparison_chart, error_chart, training_chart
from iaenet.reports.documents import (
    CertificateDocument,
    ChoiceDocument,
    EvaluationDocument,
    LogLine,
    MetricsDocument,
    StateDocument,
    SymmetriesDocument,
)
from iaenet.reports.html_page import embedded, figure, write_page
from iaenet.reports.plots import save
from iaenet.reports.result_plots import draw_comparison
from iaenet.training.run_folder import RunFolder

PICTURES = {
    "evaluation/rollout.png": "Error after each step of the roll-out",
    "evaluation/samples.png": "Samples: input, truth, prediction, difference",
    "evaluation/worst.png": "The worst cases",
    "calibration/coverage.png": "Coverage of the bands",
    "calibration/bands.png": "Bands",
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
    seconds: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    choice: dict[str, Any] | None = None
    symmetries: dict[str, Any] | None = None
    evaluation: dict[str, Any] = field(default_factory=dict)
    certificate: dict[str, Any] | None = None
    coverage: dict[str, Any] | None = None
    pictures: list[tuple[str, str]] = field(default_factory=list)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Errors on each discretization."""
        return self.evaluation.get("rows", [])

    @property
    def rollout(self) -> list[dict[str, Any]]:
        """Errors after each step of a roll-out."""
        return self.evaluation.get("rollout", [])

    @property
    def history(self) -> list[dict[str, Any]]:
        """The epochs."""
        return self.metrics.get("epochs", [])

    @property
    def steps(self) -> list[int]:
        """The steps of the roll-out that are shown."""
        return shown_steps(max((len(row["mean"]) for row in self.rollout), default=0))

    @property
    def errors(self) -> dict[str, str]:
        """The mean error on each discretization, as shown."""
        return {row["on"]: "refused" if "refused" in row else figure(row["relative_l2"]["mean"]) for row in self.rows}

    @property
    def cards(self) -> list[tuple[str, str]]:
        """What one wants to know first: figures and what they are."""
        shown = [(self.model, f"{self.parameters} parameters")]
        best = self.metrics.get("best")
        if best:
            after = f", {self.seconds} of training" if self.seconds else ""
            shown.append(
                (
                    f"{best['validation']:.4g}",
                    f"validation error, epoch {best['epoch']} of {len(self.history)}{after}",
                )
            )
        known = {row["on"]: row["relative_l2"]["mean"] for row in self.rows if "refused" not in row}
        home = next((on for on in known if on == str(self.resolution)), next(iter(known), None))
        if home is not None:
            shown.append((figure(known[home]), f"mean error on test samples, {home}"))
        if len(known) > 1:
            worst = max(known, key=lambda on: known[on])
            shown.append((figure(known[worst]), f"the largest of all discretizations, {worst}"))
        if self.certificate:
            shown.append((self.certificate["verdict"], "certificate of invariance"))
        return shown

    @property
    def charts(self) -> list[Chart]:
        """What there is to see of errors, training and certificate."""
        found = error_chart(self.rows, self.resolution), training_chart(self.history)
        shown = [*found, certificate_chart(self.certificate) if self.certificate else None]
        return [chart for chart in shown if chart is not None]


def write_report(
    runs: Sequence[str | Path], path: str | Path, title: str | None = None, picture: str | Path | None = None
) -> None:
    """Write the page for these runs, with whatever evaluations and certificates they have.

    picture: PNG of the errors of all runs against resolution, to be written beside it. Default: none.
    """
    if not runs:
        raise InvalidInputError("a report needs at least one run folder")
    pages = [_page(Path(run), i) for i, run in enumerate(runs)]
    columns = list(dict.fromkeys(on for page in pages for on in page.errors))
    trained = {page.resolution for page in pages}
    common = trained.pop() if len(trained) == 1 else None
    numbers = {on: [page.errors[on] for page in pages if page.errors.get(on, "refused") != "refused"] for on in columns}
    short = [Path(page.name).name for page in pages]
    names = short if len(set(short)) == len(short) else [page.name for page in pages]
    rows = {name: page.rows for name, page in zip(names, pages, strict=True)}
    if picture is not None:
        drawn = draw_comparison(rows, common)
        if drawn is None:
            raise InvalidInputError(
                f"{picture}: nothing to draw, no run has errors at two resolutions; `iaenet evaluate` takes them"
            )
        save(drawn, picture)
    write_page(
        "report.html.j2",
        path,
        title=title or (pages[0].name if len(pages) == 1 else "Training runs"),
        version=iaenet.__version__,
        runs=pages,
        columns=columns,
        comparison=comparison_chart(rows, common),
        best={on: min(found, key=float) for on, found in numbers.items() if found},
    )


def _page(run: Path, number: int) -> Page:
    folder = RunFolder(run)
    first = RunFolder(folder.members[0]) if folder.members else folder
    if not first.checkpoints.is_dir():
        raise InvalidInputError(f"{run} is no training run; `iaenet train` makes one")
    state, parts = first.newest("best" if first.has("best") else "step")
    if "format" in state.get("operator", {}):  # version 0.1 had none
        document(StateDocument, state, first.checkpoints)
    several = f", {len(folder.members)} members" if folder.members else ""
    certificate = folder.read_json("certificate/certificate.json", CertificateDocument)
    coverage = folder.read_json("calibration/coverage.json", dict[str, Any])
    config = own_file(run, "config.yaml")
    return Page(
        name=str(run),
        anchor=f"run{number}",
        config="" if config is None else read_text(config),
        model=(state["operator"]["model"]["name"] or "a network of your own") + several,
        parameters=f"{sum(tensor.numel() for tensor in parts.get('weights', {}).values()):,}",
        resolution=(state["operator"].get("metadata", {}).get("data") or {}).get("resolution"),
        seconds=_seconds(run),
        metrics=folder.read_json("metrics.json", MetricsDocument) or {},
        choice=first.read_json("choice.json", ChoiceDocument),
        symmetries=first.read_json("symmetries.json", SymmetriesDocument),
        evaluation=folder.read_json("evaluation/evaluation.json", EvaluationDocument) or {},
        certificate=certificate,
        coverage=coverage,
        pictures=[(text, found) for name, text in PICTURES.items() if (found := embedded(run, name))],
    )


def _seconds(run: Path) -> str:
    """How long the training took, by the last line of its log."""
    log = own_file(run, "log.jsonl")
    lines = [] if log is None else read_text(log).splitlines()
    if not lines:
        return ""
    try:
        last = document(LogLine, json.loads(lines[-1]), log).seconds
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{log} is damaged: {error}") from None
    return f"{last / 60:.1f} minutes" if last >= 90 else f"{last:.0f} seconds"

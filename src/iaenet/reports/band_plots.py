"""Pictures of bands: coverage against what was promised, and bands around predictions beside the truth."""

from collections.abc import Sequence
from typing import Any

from iaenet.data.dataset import Dataset
from iaenet.data.summary import label
from iaenet.evaluation.bands import BandMaker
from iaenet.evaluation.coverage import Coverage
from iaenet.functions.field import Field
from iaenet.models.inference import infer
from iaenet.reports.plots import Panel, draw_panels

MOST_CHANNELS = 3


def draw_coverage(coverage: Coverage) -> Any:
    """A matplotlib figure: a bar with its standard error for each discretization, the level as a line.

    >>> from iaenet.evaluation.coverage import CoverageRow
    >>> rows = [CoverageRow(str(n), n == 64, 100, 0.9, 0.01, {"u": 0.9}, 0.4, 0.1, 0.05) for n in (64, 128)]
    >>> figure = draw_coverage(Coverage(0.9, "points", tuple(rows), "test", 100))
    >>> [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    ['64', '128']
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(max(5.0, 1.1 * len(coverage.rows) + 2), 3.8), layout="constrained")
    ax = figure.subplots()
    whole = coverage.kind == "function"
    for x, row in enumerate(coverage.rows):
        share = 100 * (row.functions if whole else row.coverage)
        colour = "tab:blue" if row.seen else "tab:orange"
        ax.bar(x, share, color=colour, width=0.65, yerr=None if whole else 200 * row.error, capsize=3)
        ax.text(x, 2, f"half-width\n{row.half_width:.2g}", ha="center", va="bottom", fontsize=7, color="white")
    kinds = {"tab:blue": "as in the calibration", "tab:orange": "never seen by the calibration"}
    handles: list[Any] = [Patch(color=colour, label=words) for colour, words in kinds.items()]
    line = ax.axhline(
        100 * coverage.level, color="black", linewidth=1, linestyle="--", label=f"{100 * coverage.level:g} %"
    )
    names = [row.on.replace(" random", "\nrandom") for row in coverage.rows]
    ax.set_xticks(range(len(names)), names, fontsize=8)
    ax.set_ylim(0, 118)
    ax.set_yticks(range(0, 101, 20))
    ax.set_ylabel(f"{'functions' if whole else 'share of the domain'} in the band (%)")
    ax.set_title(f"Coverage on {coverage.split} samples", fontsize=10)
    ax.legend(handles=[line, *handles], fontsize=7, ncols=3, loc="upper center", frameon=False)
    return figure


def draw_bands(maker: BandMaker, dataset: Dataset, indices: Sequence[int]) -> Any:
    """A matplotlib figure with a row for each pair: truth and prediction with its band as lines, or maps of the truth,
    the absolute error and the half-width on one scale.
    """
    rows, names = [], []
    for i in indices:
        given, wanted = dataset[i]
        band = maker.band(given, infer(maker.model, given, wanted.discretization))
        error = Field.unchecked(wanted.discretization, (band.prediction.values - wanted.values).abs())
        row: list[Panel] = []
        for c, channel in enumerate(dataset.outputs[:MOST_CHANNELS]):
            at = wanted.discretization
            true, found, off, width = (
                part.values[:, c].numpy() for part in (wanted, band.prediction, error, band.half_width)
            )
            name = label(channel)
            both = {"truth": (at, true), "prediction and band": (at, found)}
            limits = float(min(true.min(), found.min())), float(max(true.max(), found.max()))
            lines = Panel(name, both, limits, width)
            top = float(max(off.max(), width.max()))
            if lines.lines:
                both = {"error": (at, found - true), "band": (at, 0 * true)}
                row += [lines, Panel(f"{name}, error in its band", both, (-top, top), width)]
                continue
            row.append(Panel(f"{name}, truth", {"": (at, true)}, limits))
            for words, values in (("absolute error", off), ("half-width", width)):
                row.append(Panel(f"{name}, {words}", {"": (at, values)}, (0.0, top)))
        rows.append(row)
        share = 100 * float(band.covers(wanted).mean())
        names.append(f"sample {dataset.entry(i).sample}\n{share:.0f} % inside")
    return draw_panels(rows, names)

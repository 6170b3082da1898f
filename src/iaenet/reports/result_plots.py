"""Pictures of results: errors against resolution, predictions beside the truth, the certificate of invariance."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from iaenet.data.dataset import Dataset
from iaenet.data.problems.problem import Channel
from iaenet.data.summary import label
from iaenet.evaluation.certificate import Certificate, Line
from iaenet.evaluation.evaluate import Evaluation
from iaenet.evaluation.rollout_errors import RolloutErrors
from iaenet.functions.field import Field, Parts
from iaenet.functions.metrics import relative_l2
from iaenet.models.inference import ModelLike, infer
from iaenet.reports.plots import Panel, channels_shown, draw_panels, numbers_of

MOST_CHANNELS = 3  # of input and of output in one picture
MARKS = "os^Dv<>P*X"  # of curves
COLOURS = {True: "tab:green", False: "tab:red", None: "0.6"}  # passed, failed, only shown


def draw_errors(evaluation: Evaluation, training: int | None = None) -> Any:
    """A matplotlib figure: mean, median and worst error against the number of points, training resolution marked.

    >>> from iaenet.evaluation.evaluate import Row
    >>> rows = [Row(str(n), n, (n, n), (0, 1), (0.1, 0.2)) for n in (64, 128)]
    >>> draw_errors(Evaluation(tuple(rows), "test", ""), training=64).axes[0].get_xscale()
    'log'
    """
    figure, ax = _figure(6.5, 4)
    rows = [row for row in evaluation.rows if not row.refused]
    grids = sorted((row for row in rows if row.resolution is not None), key=lambda row: row.points)
    others = [row for row in rows if row.resolution is None]
    for name, style in (("mean", "o-"), ("median", "s--"), ("worst", "^:")):
        colour = ax.plot(
            [row.points[1] for row in grids], [row.statistics[name] for row in grids], style, markersize=5, label=name
        )[0].get_color()
        for row in others:
            ax.plot(row.points[1], row.statistics[name], "*", color=colour, markersize=11)
    for row in others:  # after the lines: the legend explains the stars last
        ax.plot([], [], "*", color="0.3", markersize=11, label=row.on)
    for row in grids:
        if row.resolution == training:
            ax.axvline(row.points[1], color="0.5", linestyle="--", linewidth=1, label=f"trained on {row.on}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ticks = {row.points[1]: row.on for row in grids}
    if ticks:
        ax.set_xticks(list(ticks), list(ticks.values()))
        ax.set_xticks([], minor=True)
    ax.set_xlabel("resolution")
    ax.set_ylabel("relative L2 error")
    ax.set_title(f"Error on {evaluation.split} samples", fontsize=10)
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    return figure


def draw_comparison(runs: Mapping[str, Sequence[Mapping[str, Any]]], training: int | None = None) -> Any:
    """A matplotlib figure: mean errors of several runs against resolution, random points as stars.

    runs: the rows of evaluation.json, by the name of the run.
    training: resolution that all of them were trained on, which is marked. Default: none is.

    Returns None if no run has two resolutions.

    >>> rows = [{"on": str(n), "resolution": n, "points": [n, n], "relative_l2": {"mean": 0.1}} for n in (64, 128)]
    >>> [text.get_text() for text in draw_comparison({"ours": rows, "fno": rows}).legends[0].get_texts()]
    ['ours', 'fno']
    >>> draw_comparison({"ours": rows[:1]}) is None
    True
    """
    figure, ax = _figure(8, 4.2)
    ticks: dict[int, str] = {}
    others: set[str] = set()
    most = 0
    for number, (name, rows) in enumerate(runs.items()):
        taken = [row for row in rows if "refused" not in row]
        grids = sorted((row for row in taken if row["resolution"] is not None), key=lambda row: row["points"][1])
        ticks |= {row["points"][1]: row["on"] for row in rows if row["resolution"] is not None}
        most = max(most, len(grids))
        first = {"linewidth": 3, "markersize": 8, "zorder": 3} if number == 0 else {"linewidth": 1.6, "markersize": 6}
        colour = _curve(ax, grids, f"{MARKS[number % len(MARKS)]}-", label=name, **first)
        stars = [row for row in taken if row["resolution"] is None]
        _curve(ax, stars, "*", color=colour, markersize=14, markeredgecolor="white", zorder=4)
        others |= {row["on"] for row in stars}
    if most < 2:
        return None
    for on in sorted(others):
        ax.plot([], [], "*", color="0.35", markersize=12, label=on)
    for points, on in ticks.items():
        if on == str(training):
            ax.axvline(points, color="0.5", linestyle="--", linewidth=1, label=f"trained on {on}")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(list(ticks), list(ticks.values()))
    ax.set_xticks([], minor=True)
    ax.set_xlabel("resolution")
    ax.set_ylabel("mean relative L2 error")
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", fontsize=10, frameon=False)
    return figure


def _curve(ax: Any, rows: Sequence[Mapping[str, Any]], style: str, **options: Any) -> Any:
    means = [row["relative_l2"]["mean"] for row in rows]
    return ax.plot([row["points"][1] for row in rows], means, style, **options)[0].get_color()


def draw_rollout(rows: Mapping[str, RolloutErrors]) -> Any:
    """A matplotlib figure: mean error after each step, with that of standing still.

    >>> row = RolloutErrors("64", 64, 0.5, ((0.1, 0.3), (0.5, 0.7)), (0.2, 0.4))
    >>> [line.get_label() for line in draw_rollout({"64": row}).axes[0].get_lines()]
    ['64', 'standing still']
    """
    figure, ax = _figure(6.5, 4)
    for name, row in rows.items():
        steps = np.arange(1, len(row.errors) + 1)
        errors = np.array(row.errors)
        colour = ax.plot(steps, row.mean, label=name)[0].get_color()
        ax.fill_between(steps, errors.min(axis=1), errors.max(axis=1), color=colour, alpha=0.15, linewidth=0)
    longest = max(rows.values(), key=lambda row: len(row.errors))
    still = np.arange(1, len(longest.still) + 1)
    ax.plot(still, longest.still, color="0.4", linestyle=":", label="standing still")
    ax.set_yscale("log")
    ax.set_xlabel(f"step (of {longest.time_step:.3g})")
    ax.set_ylabel("relative L2 error")
    ax.set_title(f"Roll-out, mean and range of {len(longest.errors[0])} trajectories", fontsize=10)
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    return figure


def draw_predictions(model: ModelLike, dataset: Dataset, indices: Sequence[int]) -> Any:
    """A matplotlib figure with a row for each pair: input, truth and prediction, their difference.

    Lines in 1-D, truth and prediction in one panel; maps on one scale in 2-D; surfaces or middle planes in 3-D.

    >>> import tempfile, torch
    >>> from iaenet import Discretization, load_dataset, write_dataset
    >>> grid = Discretization.uniform((3, 3))
    >>> pair = Field(grid, torch.ones(9, 1)), Field(grid, torch.zeros(9, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dataset(f"{folder}/a.h5", [pair], inputs=[Channel("a")], outputs=[Channel("u")])
    ...     figure = draw_predictions(lambda field, at=None: field, load_dataset(f"{folder}/a.h5"), [0])
    >>> [ax.get_title() for ax in figure.axes[:4]]
    ['input a', 'u, truth', 'u, prediction', 'u, difference']
    """
    rows, names = [], []
    for i in indices:
        given, wanted = dataset[i]
        found = infer(model, given, wanted.discretization)
        error = float(relative_l2(found, wanted))
        rows.append(_inputs(given, dataset.inputs) + _outputs(found, wanted, dataset.outputs))
        names.append("\n".join([f"sample {dataset.entry(i).sample}", *numbers_of(given), f"error {error:.2e}"]))
    return draw_panels(rows, names)


def draw_certificate(certificate: Certificate) -> Any:
    """A matplotlib figure: mismatch against points along an axis with the fitted order, and error ratios as bars.

    >>> from iaenet.evaluation.certificate import Thresholds
    >>> lines = (Line("mismatch", "64", 1e-3, 2e-2, True, size=64.0), Line("error ratio", "128", 1.01, 1.1, True))
    >>> len(draw_certificate(Certificate(lines, Thresholds(), "128", "64", 0.05, 16, "test", "")).axes)
    2
    """
    figure, (left, right) = _figure(11, 4.2, columns=2)
    measured = [line for line in certificate.lines if line.test == "mismatch" and line.value and line.size]
    for line in measured:
        mark = {"marker": "*", "markersize": 12} if line.random else {"marker": "o", "markersize": 7}
        left.plot(line.size, line.value, linestyle="none", color=COLOURS[line.passed], **mark)
        left.annotate(line.on, (line.size, line.value), (5, 4), textcoords="offset points", fontsize=7)
        if line.on == certificate.home:
            left.axvline(line.size, color="0.5", linestyle="--", linewidth=1, label=f"error unit: {line.on}")
    _slope(left, certificate, [line for line in measured if not line.random])
    for random, style in ((False, "--"), (True, ":")):
        kind = "random points" if random else "grids" if certificate.grids else "subsets"
        for limit in {line.limit for line in measured if line.random == random}:
            left.axhline(limit, color="tab:red", linewidth=1, linestyle=style, label=f"limit for {kind}")
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xticks(sorted({line.size or 0.0 for line in measured}))
    left.set_xticks([], minor=True)
    left.xaxis.set_major_formatter("{x:.0f}")
    left.margins(x=0.12)
    left.set_xlabel("points along an axis" if certificate.grids else "$n^{1/d}$ for $n$ points in $d$ dimensions")
    left.set_ylabel(f"relative difference to {certificate.reference}")
    left.set_title("Mismatch", fontsize=10)
    if measured:
        left.legend(fontsize=8)
    ratios = [line for line in certificate.lines if line.test == "error ratio"]
    for x, line in enumerate(ratios):
        right.bar(x, line.value or 0.0, color=COLOURS[line.passed], width=0.7)
        right.plot([x - 0.4, x + 0.4], [line.limit, line.limit], color="tab:red", linewidth=1.2)
    right.set_xticks(range(len(ratios)), [line.on.replace(" random", "\nrandom") for line in ratios], fontsize=8)
    right.axhline(1, color="0.5", linewidth=0.8)
    right.set_title(f"Error in units of that on {certificate.home}", fontsize=10)
    if not ratios:
        right.text(0.5, 0.5, "no known outputs to compare with", ha="center", transform=right.transAxes, fontsize=9)
    for ax in (left, right):
        ax.grid(alpha=0.3)
        ax.tick_params(labelsize=8)
    figure.suptitle(f"Invariance: {certificate.verdict}", fontsize=11)
    return figure


def _slope(ax: Any, certificate: Certificate, grids: list[Line]) -> None:
    """`s^-p` through the grids that the order was fitted to."""
    rounding = certificate.thresholds.rounding
    last = next((i for i, line in enumerate(grids) if (line.value or 0.0) <= rounding), len(grids) - 1)
    if certificate.order is None or last < 1:
        return
    size = np.array([line.size for line in grids[: last + 1]])
    value = np.array([max(line.value or 0.0, rounding) for line in grids[: last + 1]])
    middle = np.exp(np.mean(np.log(value) + certificate.order * np.log(size)))
    ends = size[[0, -1]]
    ax.plot(ends, middle * ends**-certificate.order, color="0.3", linewidth=1, label=f"order {certificate.order:.2f}")


def _inputs(given: Parts, channels: Sequence[Channel]) -> list[Panel]:
    shown = channels_shown(given, channels)[:MOST_CHANNELS]
    return [_panel(f"input {label(channel)}", {"": field}, c) for channel, field, c in shown]


def _outputs(found: Field, wanted: Field, channels: Sequence[Channel]) -> list[Panel]:
    difference = Field.unchecked(wanted.discretization, found.values.to(wanted.values) - wanted.values)
    panels = []
    for c, channel in enumerate(channels[:MOST_CHANNELS]):
        both = _panel(label(channel), {"truth": wanted, "prediction": found}, c)
        maps = [Panel(both.channel, {name: curve}, both.limits) for name, curve in both.curves.items()]
        panels += [both] if both.lines else maps
        apart = _panel(f"{label(channel)}, difference", {"": difference}, c)
        largest = max(abs(limit) for limit in apart.limits)
        panels.append(Panel(apart.channel, apart.curves, (-largest, largest)))
    return panels


def _panel(name: str, fields: dict[str, Field], c: int) -> Panel:
    curves = {key: (field.discretization, field.values[:, c].numpy()) for key, field in fields.items()}
    values = np.concatenate([curve for _, curve in curves.values()])
    return Panel(name, curves, (float(values.min()), float(values.max())))


def _figure(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns)

"""The figure of a table, as the paper draws it: ours beside the published one."""

from collections.abc import Mapping, Sequence
from typing import Any

from iaenet.experiments.result import Result
from iaenet.reports.result_plots import MARKS


def draw(result: Result) -> Any:
    """A matplotlib figure of a table; None if there is nothing to draw."""
    makers = {"errors": _errors, "viscosity": _viscosity, "times": _times}
    return makers[result["kind"]](result) if result["kind"] in makers else None


def _errors(result: Result) -> Any:
    if result["axis"] == "blocks":
        return _blocks(result)
    figure, axes = _panels(11, 4.6)
    colours = _colours(result)
    home, trained = result["home"], result["published"]["trained"]
    titles = (f"measured here ({result['preset']} preset)", "published")
    shown = ({row["name"]: row["errors"] for row in result["rows"]}, result["published"]["errors"])
    for ax, rows, columns, mark, title in zip(
        axes,
        shown,
        (result["columns"], result["published"]["columns"]),
        (home, trained),
        titles,
        strict=True,
    ):
        for name, errors in rows.items():
            positions = [position for position, column in enumerate(columns) if column in errors]
            values = [errors[columns[position]] for position in positions]
            _line(ax, positions, values, name, colours, result["reference"])
        if mark in columns and any(rows.values()):
            ax.axvline(columns.index(mark), color="0.6", linewidth=0.8, linestyle="--", zorder=0)
        ax.set_xticks(range(len(columns)), columns)
        ax.set_xlabel("resolution (dashed: that of the ranking)")
        ax.set_title(title, fontsize=10)
    return _finished(figure, axes, "relative L2 error")


def _blocks(result: Result) -> Any:
    figure, ax = _panels(6.5, 4, columns=1)
    rows = [row for row in result["rows"] if row["at"] is not None and result["home"] in row["errors"]]
    curves = {"measured here": {row["at"]: row["errors"][result["home"]] for row in rows}}
    for name, errors in result["published"]["errors"].items():
        curves[f"{name}, published"] = {int(column): error for column, error in errors.items()}
    for (label, curve), style in zip(curves.items(), ("o-", "s--"), strict=False):
        ax.plot(list(curve), list(curve.values()), style, markersize=6, label=label)
    ax.set_xticks(sorted({at for curve in curves.values() for at in curve}))
    ax.set_xlabel("blocks")
    return _finished(figure, [ax], "relative L2 error", ax)


def _viscosity(result: Result) -> Any:
    figure, axes = _panels(11, 4.6)
    colours = _colours(result)
    known = result["published"]
    errors, ratios = ({row["name"]: row[key] for row in result["rows"]} for key in ("errors", "ratios"))
    base = {"-": result["reference"], ":": result["published_reference"]}
    drawn = {"-": (errors, ratios), ":": (known["errors"], known["ratios"])}
    for style, both in drawn.items():
        for ax, rows in zip(axes, both, strict=True):
            for name, figures in rows.items():
                if ax is axes[0] or name != base[style]:
                    places, label = [float(viscosity) for viscosity in figures], name + ", published" * (style == ":")
                    _line(ax, places, list(figures.values()), name, colours, "", style, label)
    axes[1].axhline(0, color="0.5", linewidth=0.8)
    axes[1].set_title(f"(m - i) / i, i the error of {result['reference']} or, published, {base[':']}", fontsize=10)
    axes[0].set_title("error", fontsize=10)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_xlabel("viscosity")
    finished = _finished(figure, axes, "relative L2 error")
    axes[1].set_yscale("symlog", linthresh=0.1)  # negative where a row is ahead of the reference
    return finished


def _times(result: Result) -> Any:
    figure, axes = _panels(11, 4)
    names = [row["name"] for row in result["rows"]]
    for ax, key, title in zip(axes, ("train", "test"), ("seconds for an epoch", "seconds for inference"), strict=True):
        for shift, what, colour in ((-0.2, "measured here", "tab:blue"), (0.2, "published (GPU)", "0.7")):
            values = [row[key] if shift < 0 else row["published"].get(key, 0.0) for row in result["rows"]]
            ax.barh([position + shift for position in range(len(names))], values, height=0.38, label=what, color=colour)
        ax.set_yticks(range(len(names)), names, fontsize=8)
        ax.invert_yaxis()
        ax.set_xscale("log")
        ax.set_title(title, fontsize=10)
        ax.grid(axis="x", alpha=0.3)
    axes[1].set_yticks([])
    axes[0].legend(fontsize=8)
    return figure


def _line(
    ax: Any,
    positions: Sequence[float],
    values: Sequence[float],
    name: str,
    colours: Mapping[str, tuple[Any, str]],
    reference: str,
    style: str = "-",
    label: str | None = None,
) -> None:
    colour, mark = colours[name]
    width = 2.4 if name == reference else 1.3
    face = "white" if style == ":" else colour
    ax.plot(
        positions,
        values,
        style,
        marker=mark,
        color=colour,
        markersize=5,
        markerfacecolor=face,
        linewidth=width,
        label=label or name,
    )


def _colours(result: Result) -> dict[str, tuple[Any, str]]:
    """Colour and mark of each row; the reference is black."""
    from matplotlib import colormaps

    named = [*(row["name"] for row in result["rows"]), *result["published"].get("errors", {})]
    others = [name for name in dict.fromkeys(named) if name != result["reference"]]
    found: dict[str, tuple[Any, str]] = {
        name: (colormaps["tab10"](i % 10), MARKS[i % len(MARKS)]) for i, name in enumerate(others)
    }
    return {**found, result["reference"]: ("black", "o")}


def _panels(width: float, height: float, columns: int = 2) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns)


def _finished(figure: Any, axes: Sequence[Any], label: str, legend: Any = None) -> Any:
    for ax in axes:
        if any(len(line.get_ydata()) for line in ax.get_lines()):
            ax.set_yscale("log")  # which fails without a value
        ax.grid(alpha=0.3)
        ax.tick_params(labelsize=8)
    axes[0].set_ylabel(label)
    if legend is not None:
        legend.legend(fontsize=8)
        return figure
    handles, labels = max((ax.get_legend_handles_labels() for ax in axes), key=lambda found: len(found[1]))
    figure.legend(handles, labels, loc="outside right upper", fontsize=8, frameon=False)
    return figure

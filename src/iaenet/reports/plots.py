"""Pictures of sampled functions."""

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.data.atomic import replacing
from iaenet.data.dataset import Dataset
from iaenet.data.problems.problem import Channel
from iaenet.data.summary import label
from iaenet.functions.drawing import PANEL, Curve, draw_lines, draw_map, has_both_signs
from iaenet.functions.field import Field, Parts
from iaenet.functions.sample import SCALARS
from iaenet.reports.space_plots import draw_space, in_space

MOST_RESOLUTIONS = 4  # in one picture; of more, the coarsest, the finest and two between


@dataclass(frozen=True)
class Panel:
    """One channel of one sample: one curve as a map, or several as lines."""

    channel: str
    curves: dict[str, Curve]  # by what they are, such as "resolution 64"
    limits: tuple[float, float]  # of values, over all curves of the channel
    band: NDArray[Any] | None = None  # half-width (n,) around the last curve, of lines

    @property
    def lines(self) -> bool:
        """Whether it shows functions of one variable."""
        return all(at.dim == 1 for at, _ in self.curves.values())

    @property
    def space(self) -> bool:
        """Whether it shows a function of three variables."""
        return any(at.dim == 3 for at, _ in self.curves.values())


def picture(dataset: Dataset, path: str | os.PathLike[str], samples: int = 3) -> None:
    """Write a PNG of some samples, spread over the data set, at each resolution: see `draw_samples`."""
    save(draw_samples(dataset, samples), path, [dataset.path])


def save(figure: Any, path: str | os.PathLike[str], sources: Sequence[str | os.PathLike[str]] = ()) -> None:
    """Write a matplotlib figure as PNG, in full or not at all, and over none of the `sources` that were read."""
    with replacing(path, sources) as beside:
        beside.write_bytes(png(figure))


def png(figure: Any) -> bytes:
    """A matplotlib figure as PNG of 256 colours, chosen so that rare ones, as those of colour bars, are kept, too."""
    from PIL import Image

    _plain_names(figure)
    drawn, packed = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=110, bbox_inches="tight", pad_inches=0.1)
    with Image.open(drawn) as picture:
        few = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
        few.save(packed, format="png", optimize=True)
    return packed.getvalue()


def _plain_names(figure: Any) -> None:
    """Names that look like formulas but are none are drawn as they are."""
    from matplotlib.mathtext import MathTextParser
    from matplotlib.text import Text

    parser: Any = MathTextParser("agg")
    for text in figure.findobj(Text):
        if "$" in text.get_text():
            try:
                parser.parse(text.get_text())
            except ValueError:
                text.set_parse_math(False)


def draw_samples(dataset: Dataset, samples: int = 3) -> Any:
    """A matplotlib figure with a row for each sample: lines in 1-D, maps in 2-D, middle planes or surfaces in 3-D.

    Lines of all resolutions share a panel, maps have one each, on one scale.

    >>> import tempfile, torch
    >>> from iaenet import Discretization
    >>> from iaenet.data.dataset import load_dataset
    >>> from iaenet.data.file_writer import write_dataset
    >>> grid = Discretization.uniform(4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pair = Field(grid, torch.ones(4, 1)), Field(grid, torch.zeros(4, 1))
    ...     write_dataset(f"{folder}/a.h5", [pair], inputs=[Channel("a", "m")], outputs=[Channel("u")])
    ...     len(draw_samples(load_dataset(f"{folder}/a.h5")).axes)
    2
    """
    chosen = np.unique(np.linspace(0, dataset.samples - 1, samples).round().astype(int)).tolist()
    names = []
    for i in chosen:
        first = dataset.indices(i)[0]
        names.append("\n".join([f"sample {i}, {dataset.entry(first).split}", *numbers_of(dataset[first][0])]))
    return draw_panels([_panels(dataset, i) for i in chosen], names)


def draw_panels(rows: list[list[Panel]], names: list[str]) -> Any:
    """A matplotlib figure of panels in rows, each with a name.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(3)
    >>> panel = Panel("u", {"truth": (grid, np.zeros(3)), "prediction": (grid, np.ones(3))}, (0.0, 1.0))
    >>> [text.get_text() for text in draw_panels([[panel]], ["sample 0"]).legends[0].get_texts()]
    ['truth', 'prediction']
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = max(len(row) for row in rows)
    lines = all(panel.lines for row in rows for panel in row)
    size = PANEL * columns * (1.7 if lines else 1.25) + 0.3, PANEL * len(rows) + 0.3
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.08))
    axes = figure.subplots(len(rows), columns, squeeze=False)
    for row, panels, name in zip(axes, rows, names, strict=True):
        for ax, panel in zip(row, panels, strict=False):
            if panel.lines:
                draw_lines(ax, panel.curves, panel.band)
                ax.set_title(panel.channel, fontsize=9)
            elif panel.space:
                _draw_space(in_space(ax), panel, _signed(rows, panel.channel), name if panel is panels[0] else "")
                continue
            else:
                _draw_map(ax, panel, _signed(rows, panel.channel))
            ax.tick_params(labelsize=8)
            ax.set_xlabel("x", fontsize=8, labelpad=1)
        for ax in row[len(panels) :]:
            ax.set_visible(False)
        row[0].set_ylabel(f"{name}\n{row[0].get_ylabel()}".rstrip(), fontsize=9)
    most = max(axes[0], key=lambda ax: len(ax.get_lines()))
    handles, labels = most.get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside upper right", ncols=len(labels), fontsize=8, frameon=False)
    return figure


def channels_shown(given: Parts, channels: Sequence[Channel]) -> list[tuple[Channel, Field, int]]:
    """Each channel with the field that it belongs to, and which of its channels it is; numbers are left to words."""
    places = [(part, c) for part in given.parts for c in range(part.channels)]
    pairs = zip(channels, places, strict=False)  # ends of bands come after the channels, and are drawn as bands
    return [(channel, part, c) for channel, (part, c) in pairs if channel.function != SCALARS]


def numbers_of(given: Parts) -> list[str]:
    """The numbers of a sample in words.

    >>> from iaenet.functions.sample import Sample
    >>> numbers_of(Sample({}, {"kappa": 2.5}))
    ['kappa 2.5']
    """
    return [f"{name} {value.item():.4g}" for name, value in getattr(given, "scalars", {}).items()]


def _panels(dataset: Dataset, i: int) -> list[Panel]:
    pairs = dataset.sample(i)
    keep = np.unique(np.linspace(0, len(pairs) - 1, MOST_RESOLUTIONS).round().astype(int))
    pairs = {resolution: pairs[resolution] for resolution in np.array(sorted(pairs))[keep].tolist()}
    sides = [
        ("input", {resolution: channels_shown(pair[0], dataset.inputs) for resolution, pair in pairs.items()}),
        ("output", {resolution: channels_shown(pair[1], dataset.outputs) for resolution, pair in pairs.items()}),
    ]
    panels: list[tuple[int, Panel]] = []
    for side, shown in sides:
        for number, (channel, _, c) in enumerate(next(iter(shown.values()))):
            fields = {r: channels[number][1] for r, channels in shown.items()}
            curves = {r: (field.discretization, field.values[:, c].numpy()) for r, field in fields.items()}
            limits = min(float(v.min()) for _, v in curves.values()), max(float(v.max()) for _, v in curves.values())
            named = {f"resolution {r}": curve for r, curve in curves.items()}
            panel = Panel(f"{side} {label(channel)}", named, limits)
            maps = [(r, replace(panel, curves={name: named[name]})) for name, r in zip(named, curves, strict=True)]
            panels += [(0, panel)] if panel.lines else maps
    return [panel for _, panel in sorted(panels, key=lambda entry: entry[0])]  # maps of one resolution side by side


def _draw_map(ax: Any, panel: Panel, signed: bool) -> None:
    ((name, (at, values)),) = panel.curves.items()
    draw_map(ax, at, values, panel.limits, signed)
    ax.set_title(f"{panel.channel}, {name}" if name else panel.channel, fontsize=9)


def _draw_space(ax: Any, panel: Panel, signed: bool, row: str) -> None:
    ((name, (at, values)),) = panel.curves.items()
    low, high = panel.limits
    limit = max(-low, high)
    drawn = draw_space(ax, at, values, "RdBu_r" if signed else "viridis", (-limit, limit) if signed else (low, high))
    ax.set_title(f"{panel.channel}, {name}" if name else panel.channel, fontsize=9)
    ax.text2D(-0.12, 0.5, row, rotation=90, transform=ax.transAxes, fontsize=9, ha="center", va="center")
    ax.figure.colorbar(drawn, ax=ax, fraction=0.04, pad=0.1, shrink=0.7).ax.tick_params(labelsize=7)


def _signed(rows: list[list[Panel]], channel: str) -> bool:
    """Whether values lie on both sides of zero, so that zero should be white."""
    panels = [panel for row in rows for panel in row if panel.channel == channel]
    return has_both_signs(min(panel.limits[0] for panel in panels), max(panel.limits[1] for panel in panels))

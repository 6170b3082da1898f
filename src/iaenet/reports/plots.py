"""Pictures of sampled functions."""

import io
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from iaenet.data.atomic import replacing
from iaenet.data.dataset import Dataset
from iaenet.data.problems.problem import Channel
from iaenet.data.summary import label
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field, Parts
from iaenet.functions.sample import SCALARS

MOST_RESOLUTIONS = 4  # in one picture; of more, the coarsest, the finest and two between
FEW_POINTS = 64  # are marked on a line
FEW_NODES = 2500  # of a mesh whose edges are drawn
PANEL = 2.6  # inches


@dataclass(frozen=True)
class Panel:
    """One channel of one sample: one curve as a map, or several as lines."""

    channel: str
    curves: dict[str, tuple[Discretization, NDArray[Any]]]  # by what they are, such as "resolution 64"; values (n,)
    limits: tuple[float, float]  # of values, over all curves of the channel

    @property
    def lines(self) -> bool:
        """Whether it shows functions of one variable."""
        return all(at.dim == 1 for at, _ in self.curves.values())


def picture(dataset: Dataset, path: str | os.PathLike[str], samples: int = 3) -> None:
    """Write a PNG of some samples, spread over the data set, at each resolution: see `draw_samples`."""
    save(draw_samples(dataset, samples), path)


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Write a matplotlib figure as PNG, in full or not at all."""
    with replacing(path) as beside:
        beside.write_bytes(png(figure))


def png(figure: Any) -> bytes:
    """A matplotlib figure as PNG of 256 colours, which are enough."""
    from PIL import Image

    drawn, packed = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=110, bbox_inches="tight", pad_inches=0.1)
    with Image.open(drawn) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(packed, format="png", optimize=True)
    return packed.getvalue()


def draw_samples(dataset: Dataset, samples: int = 3) -> Any:
    """A matplotlib figure with a row for each sample: lines in 1-D, maps in 2-D, a middle plane beyond.

    Lines of all resolutions share a panel, maps have one each, on one scale.

    >>> import tempfile, torch
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
                _draw_lines(ax, panel)
            else:
                _draw_map(ax, panel, signed=_signed([other for line in rows for other in line], panel.channel))
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
    pairs = zip(channels, places, strict=True)
    return [(channel, part, c) for channel, (part, c) in pairs if channel.function != SCALARS]


def numbers_of(given: Parts) -> list[str]:
    """The numbers of a sample in words.

    >>> import torch
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


def _draw_lines(ax: Any, panel: Panel) -> None:
    for i, (name, (at, values)) in enumerate(panel.curves.items()):
        x = at.points[:, 0].numpy()
        order = np.argsort(x)
        mark = {"marker": "o", "markersize": 3.0 - 0.4 * i} if len(x) <= FEW_POINTS else {}
        # A finer one on top leaves the coarser one to be seen.
        ax.plot(x[order], values[order], linewidth=2.2 / (1 + i), label=name, **mark)
    ax.set_title(panel.channel, fontsize=9)
    ax.grid(alpha=0.25)


def _draw_map(ax: Any, panel: Panel, signed: bool) -> None:
    ((name, (at, values)),) = panel.curves.items()
    low, high = panel.limits
    limit = max(-low, high)
    style = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit} if signed else {"vmin": low, "vmax": high}
    bounds = at.bounds.numpy()
    if at.axes is not None and at.dim > 1:
        plane = values.reshape(at.shape)
        while plane.ndim > 2:
            plane = plane[..., plane.shape[-1] // 2]
        x, y = (axis.numpy() for axis in at.axes[:2])
        drawn = ax.pcolormesh(x, y, plane.T, shading="nearest", rasterized=True, **style)
    elif at.dim == 2 and at.cells is not None and at.cells.shape[1] == 3:
        corners, triangles = at.points.numpy().T, at.cells.numpy()
        drawn = ax.tripcolor(*corners, triangles, values, shading="gouraud", rasterized=True, **style)
        if at.n <= FEW_NODES:
            ax.triplot(*corners, triangles, color="black", linewidth=0.15, alpha=0.5)
    else:
        points = at.points.numpy() if at.dim > 1 else np.stack([at.points[:, 0].numpy(), values], axis=1)
        drawn = ax.scatter(*points[:, :2].T, c=values, s=_sizes(at), linewidths=0, **style)
    if at.dim > 1:
        ax.set_aspect("equal" if 0.2 < np.ptp(bounds[0]) / np.ptp(bounds[1]) < 5 else "auto")
        ax.set_xlim(bounds[0])
        ax.set_ylim(bounds[1])
        ax.set_ylabel("y", fontsize=8, labelpad=1)
    ax.set_title(f"{panel.channel}, {name}" if name else panel.channel, fontsize=9)
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.03)
    bar.ax.tick_params(labelsize=7)


def _signed(panels: list[Panel], channel: str) -> bool:
    """Whether values lie on both sides of zero, so that zero should be white."""
    low = min(panel.limits[0] for panel in panels if panel.channel == channel)
    high = max(panel.limits[1] for panel in panels if panel.channel == channel)
    return low < 0 < high and max(-low, high) < 2.5 * min(-low, high)


def _sizes(at: Discretization) -> NDArray[Any]:
    """Areas of dots that just touch their nearest neighbours, in points^2."""
    points = (at.points[:, :2] - at.bounds[:2, 0]).numpy() / float((at.bounds[:2, 1] - at.bounds[:2, 0]).max())
    if at.n == 1:
        return np.full(1, 40.0)
    nearest = KDTree(points).query(points, k=2)[0][:, 1]
    return np.clip((1.2 * 72 * 0.75 * PANEL * nearest) ** 2, 1.5, 60)

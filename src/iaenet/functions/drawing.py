"""A sampled function on the axes of a matplotlib figure: a line in 1-D, a map in 2-D, a middle plane beyond."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

if TYPE_CHECKING:
    from iaenet.functions.field import Field

FEW_POINTS = 64  # are marked on a line
FEW_NODES = 2500  # of a mesh whose edges are drawn
PANEL = 2.6  # inches

Curve = tuple[Discretization, NDArray[Any]]  # values (n,)


def draw_lines(ax: Any, curves: Mapping[str, Curve], band: NDArray[Any] | None = None) -> None:
    """Functions of one variable, by name; coarse ones first. `band (n,)` is a half-width around the last."""
    for i, (name, (at, values)) in enumerate(curves.items()):
        x = at.points[:, 0].cpu().numpy()
        order = np.argsort(x)
        mark = {"marker": "o", "markersize": 3.0 - 0.4 * i} if len(x) <= FEW_POINTS else {}
        # A finer one on top leaves the coarser one to be seen.
        line = ax.plot(x[order], values[order], linewidth=2.2 / (1 + i), label=name, **mark)[0]
        if band is not None and i == len(curves) - 1:
            low, high = (values + sign * band for sign in (-1, 1))
            ax.fill_between(x[order], low[order], high[order], color=line.get_color(), alpha=0.25, linewidth=0)
    ax.grid(alpha=0.25)


def draw_map(ax: Any, at: Discretization, values: NDArray[Any], limits: tuple[float, float], signed: bool) -> None:
    """A function of several variables, in colours between the limits, with zero white if it is `signed`."""
    low, high = limits
    limit = max(-low, high)
    style = {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit} if signed else {"vmin": low, "vmax": high}
    at = at.to("cpu")
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
    bar = ax.figure.colorbar(drawn, ax=ax, fraction=0.046, pad=0.03)
    bar.ax.tick_params(labelsize=7)


def has_both_signs(low: float, high: float) -> bool:
    """Whether values lie on both sides of zero, so that zero should be white.

    >>> has_both_signs(-1.0, 2.0), has_both_signs(-0.1, 2.0)
    (True, False)
    """
    return low < 0 < high and max(-low, high) < 2.5 * min(-low, high)


def _sizes(at: Discretization) -> NDArray[Any]:
    """Areas of dots that just touch their nearest neighbours, in points^2."""
    points = (at.points[:, :2] - at.bounds[:2, 0]).numpy() / float((at.bounds[:2, 1] - at.bounds[:2, 0]).max())
    if at.n == 1:
        return np.full(1, 40.0)
    nearest = KDTree(points).query(points, k=2)[0][:, 1]
    return np.clip((1.2 * 72 * 0.75 * PANEL * nearest) ** 2, 1.5, 60)


def plot(field: "Field", channels: Sequence[str] = ()) -> Any:
    """A pyplot figure of one function with a panel for each channel, under the names given or `u0`, `u1`, ..."""
    from matplotlib import pyplot

    if field.batched:
        raise InvalidInputError(f"a batch of {len(field.values)} functions; plot one of them, as field[0].plot()")
    if channels and len(channels) != field.channels:
        raise InvalidInputError(f"{len(channels)} names for {field.channels} channels")
    lines = field.discretization.dim == 1
    size = PANEL * field.channels * (1.7 if lines else 1.25) + 0.3, PANEL + 0.3
    figure, axes = pyplot.subplots(1, field.channels, squeeze=False, figsize=size, layout="constrained")
    for i, (ax, values) in enumerate(zip(axes[0], field.numpy().T, strict=True)):
        name = channels[i] if channels else f"u{i}"
        if lines:
            draw_lines(ax, {name: (field.discretization, values)})
        else:
            low, high = float(values.min()), float(values.max())
            draw_map(ax, field.discretization, values, (low, high), has_both_signs(low, high))
        ax.set_title(name, fontsize=9)
        ax.tick_params(labelsize=8)
        ax.set_xlabel("x", fontsize=8, labelpad=1)
    return figure

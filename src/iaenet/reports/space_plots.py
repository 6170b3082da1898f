"""Pictures of functions of three variables: the surface of a body, middle planes of a grid, points in space."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.functions.discretization import Discretization
from iaenet.functions.facets import boundary_facets

FINEST = 24  # points along an edge of a plane that is drawn: more would be slow, and look the same
ANGLES = {"elev": 24, "azim": -56}


def in_space(ax: Any) -> Any:
    """Axes in space at the place of flat ones, which are removed."""
    place, figure = ax.get_subplotspec(), ax.figure
    ax.remove()
    return figure.add_subplot(place, projection="3d", computed_zorder=True)


def draw_space(ax: Any, at: Discretization, values: NDArray[Any], cmap: str, limits: tuple[float, float]) -> Any:
    """Draw values `(n,)` in colours on axes of `in_space`; gives what a colour bar needs.

    >>> from matplotlib.figure import Figure
    >>> grid = Discretization.uniform((4, 4, 4))
    >>> ax = in_space(Figure().subplots())
    >>> draw_space(ax, grid, grid.points[:, 0].numpy(), "viridis", (0.0, 1.0)).get_clim()
    (0.0, 1.0)
    >>> len(ax.collections[0].get_facecolor())  # squares of three middle planes
    27
    """
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    low, high = limits
    if low == high:  # a constant is in the middle of the colours, where a colour bar has it
        low, high = low - 0.1 * abs(low) - 1e-9, high + 0.1 * abs(high) + 1e-9
    scale = ScalarMappable(Normalize(low, high), colormaps[cmap])
    if at.axes is not None:
        _planes(ax, [axis.numpy() for axis in at.axes], values.reshape(at.shape), scale)
    elif at.cells is not None and at.rule == "mesh":
        _surface(ax, at, values, scale)
    else:
        ax.scatter(*at.points.numpy().T, c=scale.to_rgba(values), s=10, linewidths=0)
    points = at.points.numpy()
    begin, end = points.min(axis=0), points.max(axis=0)
    end = np.maximum(end, begin + 1e-3 * max(np.ptp(points), 1e-12))  # a flat body
    ax.set(xlim=(begin[0], end[0]), ylim=(begin[1], end[1]), zlim=(begin[2], end[2]))
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis), ("z", ax.zaxis)):
        axis.set_label_text(name, fontsize=8)
        axis.labelpad = -8  # beside the numbers: further out it would reach into the next picture
    ax.set_box_aspect(end - begin)
    ax.view_init(**ANGLES)
    ax.tick_params(labelsize=6, pad=-2)
    ax.locator_params(nbins=4)
    return scale


def _planes(ax: Any, axes: list[NDArray[Any]], values: NDArray[Any], scale: Any) -> None:
    """Values on the middle plane across each axis, in squares: one collection, so that the nearer hide the farther."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    squares, colours = [], []
    for across in range(3):
        middle = values.shape[across] // 2
        along = [i for i in range(3) if i != across]
        thin = tuple(slice(None, None, max(1, len(axes[i]) // FINEST)) for i in along)
        plane = values.take(middle, axis=across)[thin]
        first, second = np.meshgrid(axes[along[0]][thin[0]], axes[along[1]][thin[1]], indexing="ij")
        places = np.empty((*plane.shape, 3))
        places[..., along[0]], places[..., along[1]], places[..., across] = first, second, axes[across][middle]
        corners = [places[:-1, :-1], places[1:, :-1], places[1:, 1:], places[:-1, 1:]]
        squares.append(np.stack(corners, axis=2).reshape(-1, 4, 3))
        colours.append(scale.to_rgba((plane[:-1, :-1] + plane[1:, 1:]) / 2).reshape(-1, 4))
    ax.add_collection3d(Poly3DCollection(np.concatenate(squares), facecolors=np.concatenate(colours)))


def _surface(ax: Any, at: Discretization, values: NDArray[Any], scale: Any) -> None:
    """Triangles of a surface, or of the boundary of a body, with their edges, each in the colour of its mean."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    low, high = at.bounds.numpy().T
    corners, cells = at.points.numpy(), at.cells.numpy()  # type: ignore[union-attr]
    facets = cells if cells.shape[1] == 3 else boundary_facets((corners - low) / (high - low), cells)
    colours = scale.to_rgba(values[facets].mean(axis=1))
    ax.add_collection3d(Poly3DCollection(corners[facets], facecolors=colours, edgecolors="#0003", linewidths=0.2))

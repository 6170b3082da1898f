"""The same function on points that are four times denser in one half of its domain than they were."""

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.functions.quadrature import Index, lumped_mass

TIMES = 4
SHARE = 1 / 3  # of the way to a neighbour, where new points of a point set lie
FULL = 1e-3  # difference up to which cells fill what the weights add up to
# Each simplex in parts of one size, by its corners and the midpoints of its edges.
EDGES: dict[int, list[tuple[int, ...]]] = {
    1: [(0, 1)],
    2: [(0, 1), (1, 2), (0, 2)],
    3: [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
}
PARTS: dict[int, list[tuple[int, ...]]] = {
    1: [(0, 2), (2, 1)],
    2: [(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)],
    3: [(0, 4, 5, 6), (4, 1, 7, 8), (5, 7, 2, 9), (6, 8, 9, 3), (4, 5, 6, 8), (4, 5, 7, 8), (5, 6, 8, 9), (5, 7, 8, 9)],
}


def low_half(at: Discretization, box: Discretization | None = None) -> Tensor:
    """Which points lie in the lower half of the box (that of `box`, if given) along the first axis: `(n,)`."""
    low, high = (box or at).bounds[0].tolist()
    return at.points[:, 0] < (low + high) / 2


def half_refined(field: Field) -> Field:
    """The field with points four times as dense in the lower half of its box along the first axis.

    All old points are among the new ones, in front where they are no grid. On a tensor grid the gaps of the first axis
    are cut in four, and values interpolated. Simplices of a mesh are cut at the midpoints of their edges (tetrahedra
    into eight, segments into four), values linear between nodes. A point without cells shares its weight with three new
    ones on the way to its nearest neighbours. The domain and its boundary stay what they are.

    >>> grid = Discretization.uniform((9, 9))
    >>> half_refined(Field(grid, grid.points)).discretization.shape
    (21, 9)
    >>> square = Discretization.mesh([[0, 0], [0.4, 0], [0.4, 1], [0, 1], [1, 0]], [[0, 1, 2], [0, 2, 3], [1, 4, 2]])
    >>> fine = half_refined(Field(square, square.points))
    >>> fine.discretization.n, torch.equal(fine.values, fine.discretization.points)
    (10, True)
    """
    source = field.discretization
    if source.axes is not None:
        return interpolate(field, _denser_axis(source))
    if source.cells is not None and source.cells.shape[1] - 1 in PARTS:
        made = _cut(field, source.cells.cpu().numpy())
        total = float(made.discretization.weights.sum())
        if abs(total - source.measure) <= FULL * source.measure:
            return made
    return _shared(field)


def _denser_axis(source: Discretization) -> Discretization:
    assert source.axes is not None
    (low, high), first = source.bounds[0].tolist(), source.axes[0].cpu().numpy()
    ends = np.append(first[1:], first[0] + high - low) if source.periodic[0] else first[1:]
    starts = first[: len(ends)]
    cut = (starts + ends) / 2 < (low + high) / 2
    new = [starts[cut] + (ends - starts)[cut] * i / TIMES for i in range(1, TIMES)]
    axes = [np.sort(np.concatenate([first, *new])), *(axis.cpu().numpy() for axis in source.axes[1:])]
    box = source.bounds.tolist()
    return Discretization.tensor_grid(*axes, periodic=source.periodic, bounds=box).to(source.points.device)


def _cut(field: Field, cells: Index) -> Field:
    """Simplices in the lower half cut at the midpoints of their edges."""
    source, k = field.discretization, cells.shape[1] - 1
    points, values = source.points.cpu(), field.values.cpu()
    middle = float(source.bounds[0].mean())
    for _ in range(2 if k == 1 else 1):
        lower = points[torch.from_numpy(cells)].mean(dim=1)[:, 0].numpy() < middle
        chosen = cells[lower]
        edges = np.sort(np.stack([chosen[:, pair] for pair in EDGES[k]], axis=1).reshape(-1, 2), axis=1)
        ends, place = np.unique(edges, axis=0, return_inverse=True)
        corners = np.concatenate([chosen, len(points) + place.reshape(len(chosen), -1)], axis=1)
        cells = np.concatenate([cells[~lower], *(corners[:, part] for part in PARTS[k])])
        points = torch.cat([points, points[ends].mean(dim=1)])
        values = torch.cat([values, values[..., ends, :].mean(dim=-2)], dim=-2)
    return _on(field, points, torch.from_numpy(lumped_mass(points.numpy(), cells)), values)


def _shared(field: Field) -> Field:
    """Each point in the lower half shares its weight with points on the way to its nearest neighbours."""
    source = field.discretization
    points, values = source.points.cpu(), field.values.cpu()
    count = min(TIMES, source.n)
    scale = (source.bounds[:, 1] - source.bounds[:, 0]).cpu()
    near = KDTree((points / scale).numpy()).query((points / scale).numpy(), k=count)[1].reshape(source.n, -1)[:, 1:]
    chosen = low_half(source).cpu()
    weights = source.weights.cpu().clone()
    weights[chosen] /= 1 + near.shape[1]
    new_points, new_values, new_weights = [points], [values], [weights]
    neighbours = torch.from_numpy(near)[chosen]
    for i in range(neighbours.shape[1]):
        to = neighbours[:, i]
        new_points.append(torch.lerp(points[chosen], points[to], SHARE))
        new_values.append(torch.lerp(values[..., chosen, :], values[..., to, :], SHARE))
        new_weights.append(weights[chosen])
    return _on(field, torch.cat(new_points), torch.cat(new_weights), torch.cat(new_values, dim=-2))


def _on(field: Field, points: Tensor, weights: Tensor, values: Tensor) -> Field:
    source = field.discretization
    words = source.domain
    at = Discretization(points, weights, source.bounds.cpu(), source.periodic, domain=words, boundary=source.boundary)
    return Field.unchecked(at.to(source.points.device), values.to(field.values.device))

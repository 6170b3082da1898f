"""The same function on other points of its domain: some of its points, coarser and finer grids, random points."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import KDTree
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import taps

# ------------------------------------------------------------------ some of the points


def subset(source: Discretization, indices: Tensor) -> Discretization:
    """Some of the points, weighted as all of them are, so that the size of the domain is kept.

    Equal weights of a point set stay equal; points that fill their box get the weights of cells. In any other domain
    (of a mesh, or of weights given) a point that is left out leaves its weight to the corners of the simplex around
    it, in 1-D and beyond 3-D to the nearest point: the sum is that of the interpolated function. The boundary is still
    that of all points: it is the same function, on the same domain. Points on a curve are joined anew.

    >>> corner = Discretization.mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
    >>> subset(corner, torch.tensor([0, 2])).weights.sum().item()
    0.5
    """
    kept = indices.cpu().numpy()
    points, weights = source.points.cpu().numpy()[kept], source.weights.cpu().numpy()
    box, wraps, total = source.bounds.tolist(), source.periodic, float(weights.sum())
    if source.cells is not None and source.cells.shape[1] == 2 and source.dim == 2:
        return Discretization.points(points, bounds=box, periodic=wraps).to(source.points.device)
    if source.axes is None and np.ptp(weights) <= 1e-9 * total:
        shares: NDArray[np.float64] | None = np.full(len(kept), total / len(kept))
    elif source.dim <= 3 and abs(total - source.volume) <= 1e-6 * source.volume:
        shares = None
    else:
        shares = _handed_on(source, points)
    made = Discretization.points(points, shares, bounds=box, periodic=wraps, domain="box")
    made = made.to(source.points.device)
    if source.boundary is None:
        return made
    return Discretization(
        made.points, made.weights, made.bounds, wraps, rule=made.rule, domain=made.domain, boundary=source.boundary
    )


def _handed_on(source: Discretization, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights of all points, handed on to those that are kept."""
    weights = source.weights.cpu().numpy()
    if source.dim in (2, 3):
        domain = {"bounds": source.bounds.tolist(), "periodic": source.periodic}
        index, share = taps(Discretization.points(points, rule="monte-carlo", **domain), source)
        found = np.bincount(index.numpy().ravel(), (share.numpy() * weights[:, None]).ravel(), len(points))
        return np.maximum(found, 0.0)  # barycentric coordinates on an edge may be -1e-17
    nearest = KDTree(points).query(source.points.cpu().numpy())[1]
    return np.bincount(nearest, weights, minlength=len(points)).astype(np.float64)


def restrict(field: Field, indices: Tensor, at: Discretization | None = None) -> Field:
    """The field at some of its points: those of `at`, by default `subset(field.discretization, indices)`.

    >>> grid = Discretization.uniform(5)
    >>> restrict(Field(grid, grid.points), torch.tensor([0, 3, 4])).values[:, 0].tolist()
    [0.0, 0.75, 1.0]
    """
    at = subset(field.discretization, indices) if at is None else at
    return Field.unchecked(at, field.values[..., indices.to(field.values.device), :])


def random_indices(source: Discretization, n: int, generator: torch.Generator) -> Tensor:
    """`n` of the points, chosen at random, in their old order; in 1-D the first and last are among them.

    >>> random_indices(Discretization.uniform(100), 4, torch.Generator().manual_seed(0)).shape
    torch.Size([4])
    """
    fixed = [0, source.n - 1] if source.dim == 1 and source.n > 1 else []
    if not max(1, len(fixed)) <= n <= source.n:
        raise InvalidInputError(f"a subset of {source.n} points has {max(1, len(fixed))} to {source.n}, not {n}")
    order = torch.randperm(source.n, generator=generator).tolist()
    return torch.tensor(sorted((fixed + [i for i in order if i not in fixed])[:n]))


def random_subset(fields: Sequence[Field], n: int, generator: torch.Generator) -> list[Field]:
    """Functions on the same points at the same `n` of them, chosen at random.

    >>> grid = Discretization.uniform(9)
    >>> a, u = random_subset([Field(grid, grid.points), Field(grid, grid.points**2)], 5, torch.Generator())
    >>> a.discretization is u.discretization, torch.equal(a.values**2, u.values)
    (True, True)
    """
    source = fields[0].discretization
    indices = random_indices(source, n, generator)
    at = subset(source, indices)
    return [restrict(field, indices, at) for field in fields]


def half(source: Discretization, seed: int = 0) -> tuple[Tensor, Discretization] | None:
    """About half of the points, and which these are; None if no point can be spared.

    Every second point along each axis of a grid (ends of a closed axis are kept), of other points a random half, by
    `seed`.

    >>> half(Discretization.uniform(6))[0].tolist()
    [0, 2, 4, 5]
    """
    if source.axes is None:
        # Not every second in some order: the half must be as random as the whole, or chance goes unnoticed.
        order = np.random.default_rng(seed).permutation(source.n)
        kept = torch.from_numpy(np.sort(order[: (source.n + 1) // 2]))
        return None if len(kept) == source.n else (kept, subset(source, kept))
    along = [_every_second(size, wraps) for size, wraps in zip(source.shape, source.periodic, strict=True)]
    kept = torch.from_numpy(np.arange(source.n).reshape(source.shape)[np.ix_(*along)].ravel())
    axes = [axis.cpu().numpy()[some] for axis, some in zip(source.axes, along, strict=True)]
    coarse = Discretization.tensor_grid(*axes, periodic=source.periodic, bounds=source.bounds.tolist())
    return None if len(kept) == source.n else (kept, coarse.to(source.points.device))


def _every_second(size: int, periodic: bool) -> NDArray[np.int64]:
    some = np.arange(0, size, 2)
    return some if periodic or some[-1] == size - 1 else np.append(some, size - 1)


def permuted(field: Field, order: Tensor) -> Field:
    """The same points and weights in another order, as a point set of the same domain.

    >>> grid = Discretization.uniform(3)
    >>> permuted(Field(grid, grid.points), torch.tensor([2, 0, 1])).values[:, 0].tolist()
    [1.0, 0.0, 0.5]
    """
    source = field.discretization
    points, weights = source.points[order], source.weights[order]
    made = Discretization(points, weights, source.bounds, source.periodic, boundary=source.boundary)
    return restrict(field, order, made)


def common_points(some: Discretization, among: Discretization) -> tuple[Tensor, Tensor]:
    """Indices of the points that both have: in the first, and in the second.

    >>> common_points(Discretization.uniform(3), Discretization.uniform(5))[1].tolist()
    [0, 2, 4]
    """
    scale = (among.bounds[:, 1] - among.bounds[:, 0]).cpu().numpy()
    distance, nearest = KDTree(among.points.cpu().numpy() / scale).query(some.points.cpu().numpy() / scale)
    here = np.flatnonzero(distance < 1e-9)
    return torch.from_numpy(here), torch.from_numpy(nearest[here])


# ------------------------------------------------------------------ other points of the domain


def uniform_grid(source: Discretization, shape: int | Sequence[int]) -> Discretization:
    """The uniform grid on the domain of `source`; one number counts for every axis.

    >>> uniform_grid(Discretization.points([[0.1], [0.7]], periodic=True), 4).points[:, 0].tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    sizes = (shape,) * source.dim if isinstance(shape, int) else tuple(shape)
    return Discretization.uniform(sizes, source.periodic, source.bounds.tolist()).to(source.bounds.device)


def random_points(source: Discretization, n: int, generator: torch.Generator) -> Discretization:
    """`n` points, drawn uniformly at random in the box of `source`.

    >>> random_points(Discretization.uniform((3, 3)), 10, torch.Generator()).points.shape
    torch.Size([10, 2])
    """
    low, high = source.bounds.cpu().T
    share = torch.rand(n, source.dim, dtype=torch.float64, generator=generator)
    made = Discretization.points(low + (high - low) * share, periodic=source.periodic, bounds=source.bounds.tolist())
    return made.to(source.bounds.device)


def refined(source: Discretization, ratio: float) -> Discretization:
    """A tensor grid with `ratio` times as many gaps along each axis, spread as they are there.

    >>> refined(Discretization.uniform(5), 2).shape, refined(Discretization.uniform(4, periodic=True), 2).shape
    ((9,), (8,))
    """
    if source.axes is None:
        raise InvalidInputError(f"only tensor grids can be refined, not {source}")
    axes = []
    for axis, (low, high), wraps in zip(source.axes, source.bounds.tolist(), source.periodic, strict=True):
        x = np.append(axis.numpy(), axis[0].item() + high - low) if wraps else axis.numpy()
        gaps = max(1, round((len(x) - 1) * ratio))
        fine = np.interp(np.linspace(0, len(x) - 1, gaps + 1), np.arange(len(x)), x)
        axes.append(np.sort(low + np.mod(fine[:-1] - low, high - low)) if wraps else fine)
    return Discretization.tensor_grid(*axes, bounds=source.bounds.tolist(), periodic=source.periodic)

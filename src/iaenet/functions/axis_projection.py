"""E and D along one axis: matrices between values at any points of it and values at uniform nodes."""

from functools import lru_cache

import torch
from torch import Tensor

from iaenet.functions.basis import Cardinal
from iaenet.functions.harmonics import trigonometric
from iaenet.functions.projection import PERIOD, SCATTERED, Projection, distinct, ranks


def uniform_nodes(size: int, periodic: bool) -> Tensor:
    """`j / size` on a periodic axis, `j / (size - 1)` on a closed one."""
    return torch.arange(size, dtype=torch.float64) / (size if periodic else max(1, size - 1))


def fills(x: Tensor, periodic: bool) -> bool:
    """Whether coordinates `x (n,)` of the unit interval are the `uniform_nodes`, in their order."""
    return bool((x - uniform_nodes(len(x), periodic).to(x)).abs().max() < 1e-9)


def band(size: int, periodic: bool) -> int:
    """The highest harmonic of the period below the Nyquist frequency of uniform nodes.

    >>> band(64, True), band(65, False)
    (31, 48)
    """
    return (size - 1) // 2 if periodic else int(PERIOD * (size - 1) / 2)


def reader(x: Tensor, size: int, smoothest: Tensor | None) -> Tensor:
    """D along an axis: the matrix `(n, size)` from values at uniform nodes to values at `x (n,)`.

    `smoothest` are the coefficients for a closed axis, None stands for a periodic one.
    """
    if smoothest is None:
        return Cardinal(size).functions(x, periodic=True)
    return trigonometric(x / PERIOD, band(size, False)) @ smoothest.to(x)


@lru_cache(maxsize=64)
def smoothest(size: int) -> Tensor:
    """Coefficients `(p, size)` of the smoothest function through values at the nodes of a closed axis."""
    nodes = uniform_nodes(size, False)
    weights = torch.ones(size, dtype=torch.float64)
    weights[[0, -1]] /= 2
    return axis_least_squares(nodes, weights, band(size, False), False)


def axis_reader(x: Tensor, size: int, periodic: bool) -> Tensor:
    """`reader` for an axis of this kind; that of uniform points is kept."""
    if fills(x, periodic):
        return _uniform_reader(len(x), size, periodic)
    return reader(x, size, None if periodic else smoothest(size))


@lru_cache(maxsize=16)
def _uniform_reader(n: int, size: int, periodic: bool) -> Tensor:
    return reader(uniform_nodes(n, periodic), size, None if periodic else smoothest(size))


def axis_encoder(x: Tensor, weights: Tensor, size: int, periodic: bool) -> Tensor:
    """E along an axis: the matrix `(size, n)` from values at `x (n,)` to values at uniform nodes."""
    order = torch.argsort(x)
    if fills(x[order], periodic):
        return _uniform_encoder(len(x), size, periodic).to(x)[:, torch.argsort(order)]
    modes = band(size, periodic)
    period = 1.0 if periodic else PERIOD
    return trigonometric(uniform_nodes(size, periodic).to(x) / period, modes) @ axis_least_squares(
        x, weights, modes, periodic
    )


@lru_cache(maxsize=16)
def _uniform_encoder(n: int, size: int, periodic: bool) -> Tensor:
    x, nodes, modes = uniform_nodes(n, periodic), uniform_nodes(size, periodic), band(size, periodic)
    if n <= size:  # the function through the values
        return reader(nodes, n, None if periodic else smoothest(n))
    if periodic:  # the sums are exact, and G = 1
        return trigonometric(nodes, modes) @ trigonometric(x, modes).T / n
    weights = torch.ones(n, dtype=torch.float64)
    weights[[0, -1]] /= 2
    return trigonometric(nodes / PERIOD, modes) @ axis_least_squares(x, weights, modes, periodic)


def axis_least_squares(x: Tensor, weights: Tensor, modes: int, periodic: bool) -> Tensor:
    """The projection along an axis as a matrix `(p, n)`."""
    projection = Projection([modes], [periodic])
    share = weights / weights.sum()
    B = projection.functions(x, 0)
    weighted = share[:, None] * B
    penalty = projection.penalty(distinct(x[:, None], share), regularity(x, periodic))
    return projection.solve(weighted.T @ B, penalty, weighted.T[:, None])[0]  # points in the place of channels


def regularity(x: Tensor, periodic: bool) -> Tensor:
    """Mean ratio of neighbouring gaps, the smaller to the larger: 1 for uniform points, about 0.4 for random ones.

    >>> x = torch.linspace(0, 1, 9)
    >>> regularity(x, False).item(), round(regularity(x**2, False).item(), 2)
    (1.0, 0.71)
    """
    if torch.compiler.is_compiling():
        return _free_regularity(x, periodic)
    nodes = torch.unique(x)
    gaps = torch.cat([nodes, nodes[:1] + 1] if periodic else [nodes]).diff()
    ratio = torch.minimum(gaps[1:], gaps[:-1]) / torch.maximum(gaps[1:], gaps[:-1])
    return _mean(torch.nan_to_num(ratio, nan=1.0).sum(), ratio.shape[0])


def _free_regularity(x: Tensor, periodic: bool) -> Tensor:
    """`regularity` where the number of points is free: gaps after the last distinct one do not count."""
    ordered, owner, _ = ranks(x)
    nodes = torch.cat([ordered, ordered[:1]]).scatter(0, owner, ordered)
    place = torch.arange(1, x.shape[0] + 1, device=x.device)
    gaps = torch.where(place == owner[-1] + 1, nodes[:1] + 1, nodes[1:]) - nodes[:-1] if periodic else nodes.diff()
    count = owner[-1] + int(periodic) - 1  # pairs of neighbouring gaps
    ratio = torch.minimum(gaps[1:], gaps[:-1]) / torch.maximum(gaps[1:], gaps[:-1])
    return _mean(torch.where(place[:-1] <= count, ratio, torch.zeros_like(ratio)).sum(), count.clamp_min(0))


def _mean(total: Tensor, count: Tensor | int) -> Tensor:
    return total.add(1e-12).div(count + 1e-12).round(decimals=9).clamp_min(SCATTERED)

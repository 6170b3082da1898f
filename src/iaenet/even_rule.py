"""Even points on an axis: the function between them, and integrals of it on a closed axis.

Functions are rarely even about the ends of a closed axis. Cosines through the values see a kink there, and so does a
sum with the weights of the trapezoidal rule. What is here does not: a polynomial as far as that goes, and for the rest
waves of half periods, the shorter the weaker (universal kriging).
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from iaenet.quadrature import trapezoid

DEGREE = 5  # of the polynomial
KRIGING = range(4, 513)  # points; more cost n^3, and functions are smooth from one to the next
CELLS = 1024  # at least so many, of the rule for the interpolant
GREGORY = (-1 / 12, -1 / 24, -19 / 720, -3 / 160, -863 / 60480)  # of the differences of first to fifth order


def is_even(x: Tensor, weights: Tensor) -> bool:
    """Whether `closed_rule` is for points `x (s,)` in [0, 1]: evenly spaced to the ends, without weights of their own.

    A few points may begin or end a step inside.

    >>> x = torch.tensor([0.0, 0.25, 0.5, 0.75], dtype=torch.float64)
    >>> is_even(x, torch.tensor([0.125, 0.25, 0.25, 0.375])), is_even(x, torch.tensor([0.25, 0.25, 0.25, 0.25]))
    (True, False)
    """
    if len(x) < KRIGING[0]:
        return False
    at = x.cpu().numpy()
    step = (at[-1] - at[0]) / (len(at) - 1)
    if step <= 0 or max(at[0], 1 - at[-1]) > (step if len(at) in KRIGING else 0) + 1e-9:
        return False
    even = np.allclose(at, at[0] + step * np.arange(len(at)), rtol=0, atol=1e-9)
    return bool(even and np.allclose(weights.cpu().numpy(), trapezoid(at, 0.0, 1.0, False), rtol=0, atol=1e-9))


def closed_rule(x: Tensor, functions: Callable[[Tensor], Tensor]) -> Tensor:
    """`int B_p(y) I[f](y) dy` over [0, 1] as a matrix `(p, s)` on the values f at even points `x (s,)`.

    functions: the basis, points `(n,)` -> `(n, p)`.

    >>> x = torch.linspace(0, 1, 9, dtype=torch.float64)
    >>> rule = closed_rule(x, lambda y: torch.ones_like(y)[:, None])
    >>> round((rule[0] @ x**4).item(), 6)  # a fifth; the trapezoidal rule has 0.205
    0.2
    """
    if len(x) not in KRIGING:
        return (functions(x) * gregory(len(x)).to(x)[:, None]).T
    cells = max(CELLS, 4 * len(x))
    fine = torch.arange(cells + 1, dtype=torch.float64) / cells
    low, high = x[0].item(), x[-1].item()
    between = _kriging(len(x), (fine - low) / (high - low))
    return ((functions(fine) * gregory(cells + 1)[:, None]).T @ between).to(x.device)


@lru_cache(maxsize=32)
def gregory(s: int) -> Tensor:
    """Weights `(s,)` of sixth order for s >= 12 even points on [0, 1], ends included.

    The trapezoidal rule, corrected by differences of the values at its ends (Gregory's rule): for functions that are
    smooth from one point to the next.

    >>> x = torch.linspace(0, 1, 65, dtype=torch.float64)
    >>> abs((gregory(65) @ x.exp()).item() - (math.e - 1)) < 1e-13
    True
    """
    ends = torch.zeros(len(GREGORY) + 1, dtype=torch.float64)
    for order, factor in enumerate(GREGORY, start=1):
        for i in range(order + 1):
            ends[i] += factor * (-1) ** i * math.comb(order, i)
    weights = torch.ones(s, dtype=torch.float64)
    weights[[0, -1]] = 0.5
    weights[: len(ends)] += ends
    weights[-len(ends) :] += ends.flip(0)
    return weights / (s - 1)


@lru_cache(maxsize=32)
def continuation(s: int, times: int, periodic: bool) -> Tensor:
    """Matrix `(s', s)` from values on a uniform axis to those on one with `times` as many cells.

    The trigonometric polynomial of the period through the values; on a closed axis as told above.

    >>> x = torch.linspace(0, 1, 17, dtype=torch.float64)
    >>> bool(torch.allclose(continuation(9, 2, periodic=False) @ x[::2] ** 4, x**4))
    True
    """
    cells = s if periodic else s - 1
    fine = torch.arange(cells * times + (not periodic), dtype=torch.float64) / (cells * times)
    if not periodic:
        return _kriging(s, fine)
    coarse = torch.arange(s, dtype=torch.float64) / cells
    return torch.linalg.solve(_trigonometric(coarse, s), _trigonometric(fine, s), left=False)


def _kriging(s: int, fine: Tensor) -> Tensor:
    """Matrix `(len(fine), s)` from values at s even points, the first at 0 and the last at 1, to those at `fine`."""
    coarse = torch.arange(s, dtype=torch.float64) / (s - 1)
    known, wanted = (_waves(x, s - 1) for x in (coarse, fine))
    trend, there = ((2 * x[:, None] - 1) ** torch.arange(min(DEGREE + 1, s)) for x in (coarse, fine))
    nothing = torch.zeros(trend.shape[1], trend.shape[1], dtype=torch.float64)
    system = torch.cat([torch.cat([known @ known.T, trend], dim=1), torch.cat([trend.T, nothing], dim=1)])
    return torch.linalg.solve(system, torch.cat([known @ wanted.T, there.T]))[:s].T.contiguous()


def _trigonometric(x: Tensor, count: int) -> Tensor:
    """The first `count` trigonometric functions of a period, `(len(x), count)`."""
    angle = 2 * math.pi * x[:, None] * torch.arange(count // 2 + 1, dtype=torch.float64)
    return torch.cat([angle.cos(), angle.sin()[:, 1:]], dim=1)[:, :count]


def _waves(x: Tensor, cells: int) -> Tensor:
    """Cosines and sines of half periods up to the shortest that the cells hold, each of the size it is expected in.

    Long waves may be large, which makes it a spline for smooth functions; those of three points and less are small.
    """
    k = torch.arange(cells + 1, dtype=torch.float64)
    angle = math.pi * x[:, None] * k
    size = ((1 + (cells / (4 * (k + 1))) ** 6) / (1 + (3 * k / cells) ** 6)).sqrt()
    return torch.cat([angle.cos(), angle.sin()], dim=1) * size.repeat(2)

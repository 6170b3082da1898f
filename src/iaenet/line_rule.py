"""Integrals over uneven points on a line: against an interpolant of the function, not as weighted sums of its values.

Both rules give the matrix `(n, p)` of `int B_p(y) I[f](y) dy` as a linear map of the values f at n nodes, from the
functions `w_j B_p(y_j)` on a fine grid.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iaenet.resample import axis_taps

# Nodes: through fewer a spline may swing far beyond the values; for more it costs n^3, and local cubics are as good.
IN_SPLINE = range(32, 1025)
# Variance of the noise that a value next to a tiny gap is taken to have, in units of that of a typical function: what
# is far below it there is not continued into the large gap on the other side.
NOISE = 1e-5


def spline(nodes: NDArray[np.float64], fine: Tensor, functions: Tensor, periodic: bool) -> Tensor:
    """I is the smoothing cubic spline, the likeliest function under the prior `int |f''|^2`: `K (K + NOISE)^-1 values`.

    >>> nodes, fine = np.array([0.0, 0.4, 0.5, 1.0]), torch.linspace(0, 1, 101, dtype=torch.float64)
    >>> weights = torch.full((101, 1), 0.01, dtype=torch.float64)
    >>> weights[[0, -1]] /= 2
    >>> rule = spline(nodes, fine, weights, periodic=False)  # of the integral itself; exact for straight lines
    >>> round((rule[:, 0].numpy() @ (3 * nodes + 1)).item(), 3)
    2.5
    """
    x = torch.from_numpy(nodes)
    gram = _kernel(x, x, periodic) + torch.diag(_noise(x, periodic))
    moments = _kernel(x, fine.cpu(), periodic) @ functions.cpu()
    return torch.linalg.solve(gram, moments)


def _noise(x: Tensor, periodic: bool) -> Tensor:
    """`NOISE (1 - r)^2`, r the ratio of the gaps on both sides: none where points are locally even, for any spacing."""
    ends = (
        torch.cat([x[-1:] - 1, x, x[:1] + 1]) if periodic else torch.cat([2 * x[:1] - x[1:2], x, 2 * x[-1:] - x[-2:-1]])
    )
    before, after = ends[1:-1] - ends[:-2], ends[2:] - ends[1:-1]
    ratio = torch.minimum(before, after) / torch.maximum(before, after)
    return NOISE * (1 - ratio) ** 2 + 1e-10


def _kernel(x: Tensor, y: Tensor, periodic: bool) -> Tensor:
    """Reproducing kernel of cubic splines on [0, 1] by Bernoulli polynomials (Wahba 1990), with constants and lines."""
    k4 = _k4(torch.remainder(x[:, None] - y, 1.0) if periodic else (x[:, None] - y).abs())
    if periodic:
        return LOOSE - 720 * k4
    lines = torch.outer(x - 0.5, y - 0.5)
    bends = torch.outer(_k2(x), _k2(y))
    return LOOSE * (1 + 12 * lines) + 720 * (bends - k4)


# Variance of constants and lines beside that of the rest: large, so that they are taken as they are.
LOOSE = 1e4


def _k2(x: Tensor) -> Tensor:
    return ((x - 0.5) ** 2 - 1 / 12) / 2


def _k4(d: Tensor) -> Tensor:
    return ((d - 0.5) ** 4 - (d - 0.5) ** 2 / 2 + 7 / 240) / 24


def local_cubics(nodes: NDArray[np.float64], fine: Tensor, functions: Tensor, periodic: bool) -> Tensor:
    """I is the local cubic interpolant of `resample.axis_taps`.

    >>> nodes, fine = np.array([0.0, 0.4, 0.5, 1.0]), torch.linspace(0, 1, 101, dtype=torch.float64)
    >>> rule = local_cubics(nodes, fine, torch.full((101, 1), 1 / 101, dtype=torch.float64), periodic=False)
    >>> round(rule.sum().item(), 6)
    1.0
    """
    index, share = axis_taps(nodes, fine.cpu().numpy(), 1.0, periodic)
    rule = torch.zeros(len(nodes), functions.shape[1], dtype=torch.float64)
    for tap in range(index.shape[1]):
        weights = torch.from_numpy(share[:, tap, None]) * functions.cpu()
        rule.index_add_(0, torch.from_numpy(index[:, tap]), weights)
    return rule

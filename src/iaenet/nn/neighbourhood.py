"""Points within a radius of places, and integrals over them with a learned kernel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor, nn

from iaenet.nn.coordinates import HARMONICS, coordinate_count, coordinate_features
from iaenet.nn.pointwise import linear

ROUNDING = 1e-9  # a point at the radius is within it, whatever rounding makes of its distance
PIECE = 2**20  # numbers of an intermediate: pairs are taken some at a time


@dataclass(frozen=True)
class Neighbours:
    """Pairs of places and points: `counts (m,)` points for each place, `senders (e,)` says which, place by place."""

    counts: Tensor
    senders: Tensor

    @property
    def receivers(self) -> Tensor:
        """The place of each pair, `(e,)`."""
        return torch.arange(len(self.counts), device=self.counts.device).repeat_interleave(self.counts.long())

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        return self.counts.nbytes + self.senders.nbytes


def neighbours(places: Tensor, points: Tensor, radius: float, periodic: tuple[bool, ...]) -> Neighbours:
    """Which `points (n, d)` lie within `radius` of each of `places (m, d)`, in the unit box.

    Distances are those around periodic axes. A place without any has its nearest point, or points, if several are
    equally near.

    >>> found = neighbours(torch.tensor([[0.0], [0.5]]), torch.tensor([[0.9], [0.1], [0.2]]), 0.15, (True,))
    >>> found.counts.tolist(), found.senders.tolist()
    ([2, 1], [0, 1, 2])
    """
    where, given = (_tree(x, periodic) for x in (places, points))
    pairs = where.sparse_distance_matrix(given, radius * (1 + ROUNDING), output_type="ndarray")
    receivers, senders = pairs["i"], pairs["j"]
    lonely = np.flatnonzero(np.bincount(receivers, minlength=where.n) == 0)
    if len(lonely):
        distance = given.query(where.data[lonely])[0]
        nearest = given.query_ball_point(where.data[lonely], distance * (1 + ROUNDING))
        receivers = np.concatenate([receivers, np.repeat(lonely, [len(found) for found in nearest])])
        senders = np.concatenate([senders, *nearest])
    order = np.lexsort((senders, receivers))
    counts = np.bincount(receivers, minlength=where.n)
    return Neighbours(*(torch.from_numpy(x.astype(np.int32)).to(points.device) for x in (counts, senders[order])))


def _tree(x: Tensor, periodic: tuple[bool, ...]) -> cKDTree:
    array: NDArray[np.float64] = x.detach().cpu().double().numpy().copy()
    wraps = np.array(periodic)
    array[:, wraps] %= 1.0
    array[:, wraps] *= array[:, wraps] < 1.0  # -1e-17 % 1 is 1
    return cKDTree(array, boxsize=wraps.astype(float))


@dataclass(frozen=True)
class Neighbourhoods:
    """What an integral needs to know of places `(m, d)`, points `(n, d)` with weights `(n,)`, and pairs of them."""

    places: Tensor
    points: Tensor
    weights: Tensor
    near: Neighbours
    radius: float
    periodic: tuple[bool, ...]

    @cached_property
    def senders(self) -> Tensor:
        """The point of each pair, `(e,)`."""
        return self.near.senders.long()

    @cached_property
    def receivers(self) -> Tensor:
        """The place of each pair, `(e,)`."""
        return self.near.receivers

    @cached_property
    def offsets(self) -> Tensor:
        """`(x - y) / radius` of each pair, the short way around periodic axes: `(e, d)`."""
        apart = self.points[self.senders] - self.places[self.receivers]
        return (apart - apart.round() * apart.new_tensor(self.periodic)) / self.radius

    @cached_property
    def shares(self) -> Tensor:
        """`w_i / sum_j w_j`, the sum over the points of the same place: `(e,)`; equal where all weights are zero."""
        w = self.weights[self.senders]
        total = self._sums(w)[self.receivers]
        return torch.where(total > 0, w / total, 1 / self.near.counts[self.receivers].double())

    @cached_property
    def measure(self) -> Tensor:
        """`mu(y) = sum_i w_i / |ball|` over the points within the radius, `(m,)`: about 1 inside of a domain."""
        dim = len(self.periodic)
        ball = math.pi ** (dim / 2) / math.gamma(dim / 2 + 1) * self.radius**dim
        inside = self.offsets.norm(dim=1) <= 1 + 2 * ROUNDING  # a nearest point may be farther away
        return self._sums(self.weights[self.senders] * inside) / ball

    def _sums(self, of_pairs: Tensor) -> Tensor:
        return of_pairs.new_zeros(len(self.places)).index_add(0, self.receivers, of_pairs)


class NeighbourhoodIntegral(nn.Module):
    """Integrals over the points x_i within a radius of y, with shares `s_i = w_i / sum_j w_j` of these points,

        (K a)(y) = sum_i s_i k(y, x_i, f(x_i)) a(x_i)
        k = B_L gelu(B_{L-1} ... gelu(A_y phi(y) + A_x (phi(x_i), f(x_i)) + A_d (x_i - y) / radius)).

    k has a number for each channel of a, and phi are `coordinate_features`. Starts with k near 1: local means.

    Args:
        channels: of a.
        periodic: which axes are periodic.
        hidden: widths of the kernel's hidden layers, at least one.
        values: channels of f; 0 for a kernel that sees coordinates alone.
    """

    def __init__(self, channels: int, periodic: tuple[bool, ...], hidden: Sequence[int], values: int = 0) -> None:
        super().__init__()
        self.periodic = periodic
        self.harmonics = HARMONICS[min(len(periodic), 3)]
        features, first = coordinate_count(periodic, self.harmonics), hidden[0]
        self.place = linear(features, first, terms=3)
        self.point = linear(features + values, first, terms=3, bias=False)
        self.offset = linear(len(periodic), first, terms=3, bias=False)
        inner = [layer for pair in pairwise(hidden) for layer in (linear(*pair), nn.GELU())]
        out = linear(hidden[-1], channels)
        nn.init.ones_(out.bias)
        self.kernel = nn.Sequential(nn.GELU(), *inner, out)
        self.widest = max(*hidden, channels)

    def forward(self, a: Tensor, at: Neighbourhoods, f: Tensor | None = None) -> Tensor:
        """Values `(b, n, c)` at the points, with f `(b, n, c')` if the kernel sees it -> `(b, m, c)` at the places."""
        phi = self.features(at.points, a)[:, None]  # pairs and points come first: sums over pairs add whole rows
        seen = phi if f is None else torch.cat([phi.expand(-1, len(f), -1), f.transpose(0, 1)], dim=-1)
        of_place, of_point = self.place(self.features(at.places, a))[:, None], self.point(seen)
        shares, offsets = at.shares.to(a)[:, None, None], at.offsets.to(a)[:, None]
        a = a.transpose(0, 1).contiguous()
        out = a.new_zeros(len(at.places), *a.shape[1:])
        step = max(1, PIECE // (self.widest * a.shape[1]))
        for start in range(0, len(shares), step):
            pairs = slice(start, start + step)
            i, j = at.senders[pairs], at.receivers[pairs]
            k = self.kernel(of_place.index_select(0, j) + of_point.index_select(0, i) + self.offset(offsets[pairs]))
            out.index_add_(0, j, k * shares[pairs] * a.index_select(0, i))
        return out.transpose(0, 1)

    def features(self, x: Tensor, like: Tensor) -> Tensor:
        """phi at points `(n, d)` of the unit box."""
        return coordinate_features(x, self.periodic, self.harmonics).to(like)

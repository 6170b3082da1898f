"""How large errors are at each place of the domain: a function, and so the same on every grid."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from iaenet.errors import CorruptFileError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.latent_grid import LatentGrid

NODES = {1: 32, 2: 16, 3: 8}  # of the grid along each axis, by dimension: errors of few samples are told no finer
TINY = 1e-38  # errors of exactly zero have no logarithm
LEAST = 0.05  # of the root mean square over the domain: errors that happen to be small somewhere are no promise


@dataclass(frozen=True)
class LocalScale:
    """`sigma_c(x)`, positive, as the logarithm at the nodes of a latent grid over `bounds`; constant without nodes.

    >>> grid = Discretization.uniform(65)
    >>> errors = [Field(grid, sign * (1 + grid.points)) for sign in (1.0, -1.0)]
    >>> scale = LocalScale.fit(errors)
    >>> bool(torch.allclose(scale.at(Discretization.uniform(9)), 1 + Discretization.uniform(9).points, atol=1e-2))
    True
    """

    bounds: tuple[tuple[float, float], ...]
    periodic: tuple[bool, ...]
    logarithms: Tensor  # (s, c), or (1, c) of a constant

    @classmethod
    def fit(cls, errors: Sequence[Field]) -> "LocalScale":
        """`sigma(x)^2 = mean_i |e_i(x)|^2` over functions e_i, each on its own points, projected on the latent grid."""
        first = errors[0].discretization
        low, high = (torch.stack([e.discretization.bounds[:, i] for e in errors]) for i in (0, 1))
        bounds = tuple(zip(low.amin(0).tolist(), high.amax(0).tolist(), strict=True))
        grid = cls._grid(first.periodic)
        vectors = all(error.discretization.n == 1 for error in errors)
        total, mean, count = torch.zeros(1), torch.zeros(1), 0
        for error in errors:
            squares = _batched(error.values).double() ** 2
            weights = error.discretization.weights
            mean = mean + ((weights / weights.sum()) @ squares).sum(dim=0)
            total = total + (squares if vectors else grid.encode(_within(error.discretization, bounds), squares)).sum(0)
            count += len(squares)
        mean = mean / count  # (c,)
        floor = (LEAST**2 * mean).clamp_min(TINY)
        return cls(bounds, first.periodic, torch.maximum(total / count, floor).log() / 2)

    @staticmethod
    def _grid(periodic: tuple[bool, ...]) -> LatentGrid:
        dim = len(periodic)
        return LatentGrid((NODES[min(dim, 3)],) * dim, periodic)

    def at(self, points: Discretization) -> Tensor:
        """`sigma(x)` at the points: `(n, c)`, float64."""
        if len(self.logarithms) == 1:
            return self.logarithms.exp().expand(points.n, -1)
        where = _within(points.to("cpu"), self.bounds)
        found = self._grid(self.periodic).read_off(self.logarithms[None], where)[0]
        low, high = self.logarithms.amin(0), self.logarithms.amax(0)  # a point outside the box is far from any node
        return found.clamp(low, high).exp()

    def to_json(self) -> dict[str, Any]:
        """As numbers and lists."""
        return {"bounds": self.bounds, "periodic": self.periodic, "logarithms": self.logarithms.tolist()}

    @classmethod
    def from_json(cls, document: Any) -> "LocalScale":
        """What `to_json` gave."""
        try:
            bounds = tuple((float(low), float(high)) for low, high in document["bounds"])
            periodic = tuple(bool(wraps) for wraps in document["periodic"])
            values = torch.tensor(document["logarithms"], dtype=torch.float64)
            if values.ndim != 2 or len(values) not in (1, cls._grid(periodic).size) or not values.isfinite().all():
                raise ValueError(f"logarithms of shape {tuple(values.shape)}")
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(f"no scale of errors: {error}") from None
        return cls(bounds, periodic, values)


def _batched(values: Tensor) -> Tensor:
    return values if values.ndim == 3 else values[None]


def _within(points: Discretization, bounds: tuple[tuple[float, float], ...]) -> Discretization:
    """The same points and weights in this box."""
    box = torch.tensor(bounds, dtype=torch.float64)
    if torch.equal(points.bounds, box):
        return points
    return Discretization(points.points, points.weights, box, points.periodic, points.axes, rule=points.rule)

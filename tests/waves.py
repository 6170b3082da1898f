"""A problem with a known operator, and models that are, or are not, maps between functions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from iaenet import Accepts, Discretization, InvalidInputError, Model
from iaenet.data.problems.problem import Channel, Sample

WAVES = 3


@dataclass(frozen=True)
class Waves:
    """`a -> u`: `a` a product of random waves along each axis, `u` with each wave along the first a quarter later."""

    dim: int = 1
    periodic: bool = True
    query_points: bool = False  # outputs on a grid of their own, the same for all resolutions

    name: ClassVar[str] = "waves"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("a", "m"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("u", "m"),)
    windows: ClassVar[int] = 1

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        amplitudes, phases = rng.standard_normal((2, self.dim, WAVES))
        sample = {}
        for s in resolutions:
            at = Discretization.uniform((s,) * self.dim, periodic=self.periodic)
            to = Discretization.uniform((20,) * self.dim, periodic=self.periodic) if self.query_points else at
            sample[s] = Sample(waves(at, amplitudes, phases, 0.0), waves(to, amplitudes, phases, 0.25), at, to)
        return [sample]


def waves(at: Discretization, amplitudes, phases, turn: float):
    """Values `(n, 1)`; every wave along the first axis is turned by a part of its period."""
    value = np.ones(at.n)
    for axis in range(at.dim):
        x, k = at.points[:, axis].numpy(), np.arange(1, WAVES + 1)
        angle = 2 * math.pi * (np.outer(x, k) - (turn if axis == 0 else 0.0)) + phases[axis]
        value = value * (np.cos(angle) @ amplitudes[axis])
    return value[:, None]


class Turn(Model):
    """`u(x) = factor int 2 sum_k sin 2 pi k (x - y) a(y) dy`: the operator of `Waves` for d = 1, up to a factor."""

    def __init__(self, factor: float = 1.0) -> None:
        super().__init__()
        self.factor = factor

    def transform(self, values, source, target):
        k = 2 * math.pi * torch.arange(1, WAVES + 1, dtype=torch.float64)
        difference = target.points[:, None, 0] - source.points[None, :, 0]
        kernel = 2 * torch.sin(difference[..., None] * k).sum(-1) * self.weights(source)
        return (self.factor * kernel).to(values) @ values

    def weights(self, source):
        return source.weights


class Unweighted(Turn):
    """Each point counts the same as on 64 points: right on that grid only."""

    def weights(self, source):
        return torch.full_like(source.weights, 1 / 64)


class Ordered(Turn):
    """Takes points for a uniform grid in their order."""

    def transform(self, values, source, target):
        grids = [Discretization.uniform(place.n, periodic=True) for place in (source, target)]
        return super().transform(values, *grids)


class Sociable(Turn):
    """Looks at the other functions of a batch."""

    def forward(self, field, at=None):
        found = super().forward(field, at)
        if isinstance(field, list):
            for one in found:
                one.values = one.values + 0.01 * found[0].values.mean().abs() + 0.01 * len(found)
        return found


class Gridded(Turn):
    """Refuses points that are no grid, and other points than the input's."""

    accepts = Accepts(resolutions=True, points=False, query_points=False)

    def transform(self, values, source, target):
        if source.axes is None or source.key != target.key:
            raise InvalidInputError("grids only, please")
        return super().transform(values, source, target)

"""What there is to know of all training samples, by one look at each: statistics, sizes, points."""

from collections.abc import Iterable
from typing import Any

import torch

from iaenet.functions.field import Field
from iaenet.functions.normalizer import Moments, Normalizer
from iaenet.models.base import Pair
from iaenet.models.operator import Description


class Survey:
    """Of pairs, or batches of pairs on the same points.

    channels: of the inputs and of the outputs.
    precision: of the outputs.
    sizes: root mean square of each channel of the outputs, times the root of the number of functions.
    metadata: what inputs are like, a function under "trained", the functions and numbers of a sample under "sample";
        what outputs are like, under "targets".
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        first: Any = None
        for given, wanted in pairs:
            if first is None:
                first = given
                moments = [Moments() for _ in (*given.parts, wanted)]
                points = [Description() for _ in moments]
                squares = wanted.values.new_zeros(wanted.channels, dtype=torch.float64)
                self.channels, self.precision = (given.channels, wanted.channels), wanted.values.dtype
            for part, statistics, where in zip((*given.parts, wanted), moments, points, strict=True):
                statistics.add(part)
                where.add(part.discretization)
            squares = squares + wanted.batch_values.double().square().mean(dim=1).sum(dim=0)
        self._moments = moments
        self.sizes = squares.sqrt()
        described = [where.to_json() for where in points]
        if isinstance(first, Field):
            inputs: dict[str, Any] = {"trained": described[0]}
        else:
            functions = dict(zip(first.functions, described, strict=False))
            inputs = {"sample": {"functions": functions, "scalars": list(first.scalar_names)}}
        self.metadata = {**inputs, "targets": described[-1]}

    @property
    def normalizers(self) -> tuple[Normalizer, Normalizer]:
        """Of the inputs and of the outputs."""
        return Normalizer.of_moments(self._moments[:-1]), Normalizer.of_moments(self._moments[-1:])

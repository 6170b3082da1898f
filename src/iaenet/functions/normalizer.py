"""Channels brought to mean zero and variance one, by statistics of training data."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field, Parts

# A channel that varies by less than the rounding of float32 is taken to be constant.
CONSTANT = 1e-7
Given = TypeVar("Given", bound=Parts)


class Moments:
    """Mean, variance and range of each channel over functions added one by one.

    `mean = <int f dx / |Omega|>`, `variance = <int (f - mean)^2 dx / |Omega|>`, `|Omega| = sum_i w_i`, where `<>` is
    the mean over functions: every function counts the same, whatever points it is given on.

    >>> from iaenet.functions.discretization import Discretization
    >>> grid = Discretization.uniform(101)
    >>> moments = Moments().add(Field(grid, grid.points))
    >>> moments.mean.round(3).tolist(), moments.std.round(3).tolist()  # x on [0, 1]: 1/2 and 1/sqrt(12)
    ([0.5], [0.289])
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean: NDArray[np.float64] = np.zeros(0)
        self._spread: NDArray[np.float64] = np.zeros(0)  # sum over functions of the mean squared deviation
        self.low: NDArray[np.float64] = np.zeros(0)
        self.high: NDArray[np.float64] = np.zeros(0)

    def add(self, field: Field) -> "Moments":
        """Include one function, or each of a batch."""
        weights = field.discretization.weights.cpu().numpy()
        weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))
        values = field.values.detach().cpu().numpy().astype(np.float64)
        for f in values if field.batched else values[None]:
            if self.count and f.shape[1] != len(self.mean):
                raise InvalidInputError(f"{f.shape[1]} channels after functions of {len(self.mean)}")
            mean = weights @ f
            spread = np.maximum(weights @ (f - mean) ** 2, 0.0)
            if not self.count:
                self.mean, self._spread, self.low, self.high = mean, spread, f.min(axis=0), f.max(axis=0)
            else:  # the pairwise update keeps its accuracy when the mean is large
                step = mean - self.mean
                self._spread = self._spread + spread + step**2 * self.count / (self.count + 1)
                self.mean = self.mean + step / (self.count + 1)
                self.low, self.high = np.minimum(self.low, f.min(axis=0)), np.maximum(self.high, f.max(axis=0))
            self.count += 1
        return self

    @property
    def std(self) -> NDArray[np.float64]:
        """Standard deviation of each channel."""
        return np.sqrt(self._spread / max(self.count, 1))


class Normalizer:
    """`f -> (f - mean) / std` channel by channel, and back.

    A constant channel (standard deviation at most 1e-7 of its largest value) is only shifted: it becomes zero, and
    `undo` gives the constant back.

    >>> from iaenet.functions.discretization import Discretization
    >>> grid = Discretization.uniform(3)
    >>> normalizer = Normalizer([2.0], [4.0])
    >>> scaled = normalizer.apply(Field(grid, torch.tensor([[-2.0], [2.0], [6.0]])))
    >>> scaled.values[:, 0].tolist(), normalizer.undo(scaled).values[:, 0].tolist()
    ([-1.0, 0.0, 1.0], [-2.0, 2.0, 6.0])
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        self.mean = torch.tensor([float(number) for number in mean], dtype=torch.float64)  # (c,)
        self.std = torch.tensor([float(number) for number in std], dtype=torch.float64)
        if self.mean.shape != self.std.shape or not len(self.mean):
            raise InvalidInputError(f"needs one mean and one std per channel, got {list(mean)} and {list(std)}")
        if not bool(torch.isfinite(self.mean).all() and torch.isfinite(self.std).all() and (self.std > 0).all()):
            raise InvalidInputError(f"mean must be finite and std positive, got {list(mean)} and {list(std)}")
        self._key = (tuple(self.mean.tolist()), tuple(self.std.tolist()))

    @classmethod
    def fit(cls, pairs: Iterable[tuple[Parts, Field]]) -> tuple["Normalizer", "Normalizer"]:
        """Normalizers of the inputs and of the outputs of pairs; those of a data set are `data.select(split="train")`.

        Channels of a `Sample` are those of its functions, one after the other, then its numbers.

        >>> from iaenet.functions.discretization import Discretization
        >>> grid = Discretization.uniform(2)
        >>> line, one = Field(grid, torch.tensor([[0.0], [2.0]])), Field(grid, torch.ones(2, 1))
        >>> input_normalizer, output_normalizer = Normalizer.fit([(line, one)])
        >>> input_normalizer, output_normalizer
        (Normalizer(mean=[1.0], std=[1.0]), Normalizer(mean=[1.0], std=[1.0]))
        """
        inputs: list[Moments] = []
        outputs = Moments()
        for given, wanted in pairs:
            inputs = inputs or [Moments() for _ in given.parts]
            for moments, part in zip(inputs, given.parts, strict=True):
                moments.add(part)
            outputs.add(wanted)
        if not inputs:
            raise InvalidInputError("there are no samples to fit a normalisation to")
        return cls.of_moments(inputs), cls.of_moments([outputs])

    @classmethod
    def of_moments(cls, parts: Sequence[Moments]) -> "Normalizer":
        """The normalizer of functions of which the statistics are known, their channels one after the other."""
        mean, std, low, high = (
            np.concatenate([getattr(moments, name) for moments in parts]) for name in ("mean", "std", "low", "high")
        )
        constant = std <= CONSTANT * np.maximum(np.abs(low), np.abs(high))
        return cls(mean.tolist(), np.where(constant, 1.0, std).tolist())

    def apply(self, given: Given) -> Given:
        """The normalised field, or sample."""
        found = []
        for part, mean, std in self._each(given):
            made = Field.unchecked(part.discretization, (part.values - mean) / std)
            # What is made of a normalised function is kept with the function itself, which is the one that comes again.
            made.cache = part.cache.setdefault(("normalised", self._key), {})
            if part.moved_from is not None:
                made.moved_from = self.apply(part.moved_from[0]), part.moved_from[1]
            found.append(made)
        return given.with_parts(found)

    def undo(self, given: Given) -> Given:
        """The field, or sample, whose normalised form this is."""
        return given.with_parts(
            [Field.unchecked(part.discretization, part.values * std + mean) for part, mean, std in self._each(given)]
        )

    def _each(self, given: Parts) -> Iterator[tuple[Field, torch.Tensor, torch.Tensor]]:
        """Each field with the statistics of its channels."""
        if given.channels != len(self.mean):
            raise InvalidInputError(f"a field of {given.channels} channels, but statistics of {len(self.mean)}")
        start = 0
        for part in given.parts:
            own = slice(start, start + part.channels)
            yield part, self.mean[own].to(part.values), self.std[own].to(part.values)
            start = own.stop

    def to_json(self) -> str:
        """The statistics as text, exact.

        >>> Normalizer([0.1], [2.0]).to_json()
        '{"mean": [0.1], "std": [2.0]}'
        """
        return json.dumps({"mean": self.mean.tolist(), "std": self.std.tolist()})

    @classmethod
    def from_json(cls, text: str) -> "Normalizer":
        """The normalizer of this text.

        >>> Normalizer.from_json('{"mean": [0.1], "std": [2.0]}')
        Normalizer(mean=[0.1], std=[2.0])
        """
        try:
            found: Any = json.loads(text)
            mean, std = found["mean"], found["std"]
            if not all(isinstance(n, int | float) and math.isfinite(n) for n in [*mean, *std]):
                raise ValueError("not finite numbers")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidInputError(f'expected {{"mean": [...], "std": [...]}}, got {text[:80]!r}: {error}') from None
        return cls(mean, std)

    def __repr__(self) -> str:
        return f"Normalizer(mean={self.mean.tolist()}, std={self.std.tolist()})"

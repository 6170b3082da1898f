"""The domain that all samples share, and their discretizations in it."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from iaenet.data.reading.sample_points import (
    Array,
    AtLeast,
    Bounds,
    Periodic,
    Rule,
    SamplePoints,
    UniformGrid,
)
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization


class SharedDomain:
    """One domain for all samples: the bounds given, or (at least some, or) tight ones around all points included.

    Equal points become the same `Discretization`, so that they are stored once.

    >>> from iaenet.data.reading.sample_points import PointSet
    >>> domain = SharedDomain(None, False, "cells")
    >>> for points in ([[0.2], [0.4]], [[0.1], [0.9]]):
    ...     domain.include(PointSet(np.array(points)))
    >>> domain.discretize(PointSet(np.array([[0.2], [0.4]]))).bounds.tolist()
    [[0.1, 0.9]]
    """

    def __init__(self, bounds: Bounds, periodic: Periodic, rule: Rule) -> None:
        if rule not in ("cells", "monte-carlo"):
            raise InvalidInputError(f"rule must be 'cells' or 'monte-carlo', got {rule!r}")
        known = bounds.bounds if isinstance(bounds, AtLeast) else bounds
        box = None if known is None else np.asarray(known, dtype=np.float64)
        self._least = isinstance(bounds, AtLeast)
        self._given: Array | None = None if self._least else box
        self._tight: Array | None = box if self._least else None
        self.periodic = periodic
        self.rule: Rule = rule
        self._made: OrderedDict[bytes, Discretization] = OrderedDict()

    @property
    def given(self) -> bool:
        """Whether the user gave the bounds: then no points need to be included."""
        return self._given is not None

    def include(self, points: SamplePoints) -> None:
        """Widen tight bounds to hold these points."""
        if self._least and self._tight is not None:
            self._tight = self._widened(self._tight, points)
        elif self._given is None:
            box = points.extent(self._flags(points.dim))
            if not np.all(np.isfinite(box)):
                raise InvalidInputError("coordinates must be finite numbers")
            if self._tight is None:
                self._tight = box
            elif len(self._tight) != len(box):
                raise InvalidInputError(f"points in {len(box)}-D among points in {len(self._tight)}-D")
            else:
                low, high = np.minimum(self._tight, box)[:, 0], np.maximum(self._tight, box)[:, 1]
                self._tight = np.stack([low, high], axis=1)

    def _widened(self, known: Array, points: SamplePoints) -> Array:
        if points.dim != len(known):
            raise InvalidInputError(f"points in {points.dim}-D, but the domain {known.tolist()} has {len(known)} axes")
        if isinstance(points, UniformGrid):  # fills whatever domain there is
            return known
        box = points.extent((False,) * points.dim)
        if not np.all(np.isfinite(box)):
            raise InvalidInputError("coordinates must be finite numbers")
        slack = 1e-9 * (known[:, 1] - known[:, 0])
        closed = ~np.array(self._flags(points.dim))
        low = np.where(closed & (box[:, 0] < known[:, 0] - slack), box[:, 0], known[:, 0])
        high = np.where(closed & (box[:, 1] > known[:, 1] + slack), box[:, 1], known[:, 1])
        return np.stack([low, high], axis=1)

    def discretize(self, points: SamplePoints) -> Discretization:
        """The discretization of points in this domain."""
        key = self._key(points)
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key]
        bounds = self._given if self._given is not None else self._tight
        if bounds is None:
            raise InvalidInputError("no points were included and no bounds were given")
        flat = [i for i, (low, high) in enumerate(bounds) if self._given is None and not low < high]
        if flat:
            raise InvalidInputError(f"coordinate {flat[0]} is the same at all points; leave it out, or give bounds")
        with np.errstate(over="ignore", invalid="ignore"):
            made = points.discretize(bounds.tolist(), self._flags(points.dim), self.rule)
        if not bool(torch.isfinite(made.weights).all()):
            raise InvalidInputError("the weights of these points are not finite; are the coordinates right?")
        self._made[key] = made
        if len(self._made) > 64:  # points of their own for every sample must not fill the memory
            self._made.popitem(last=False)
        return made

    def _flags(self, dim: int) -> tuple[bool, ...]:
        flags = (self.periodic,) * dim if isinstance(self.periodic, bool) else tuple(self.periodic)
        if len(flags) != dim:
            raise InvalidInputError(f"periodic must be one flag or {dim} of them, got {len(flags)}")
        return flags

    @staticmethod
    def _key(points: SamplePoints) -> bytes:
        digest = hashlib.sha1(type(points).__name__.encode(), usedforsecurity=False)
        for array in points.arrays():
            digest.update(repr((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.digest()


class JointDomain:
    """Domains that functions share which are read one after the other: one for each kind of space.

    Given to a reader in the place of `bounds`. Points of all functions are included before a field is made.
    """

    def __init__(self, bounds: Any = None) -> None:
        self._bounds = bounds  # pairs, for as many axes; `Spaces`; or a mapping, which is each function's own
        self._made: dict[tuple[bool, ...], SharedDomain] = {}

    def of(self, dim: int, periodic: Periodic, rule: Rule) -> "SharedDomain":
        """The domain of functions with so many axes, of which these are periodic."""
        flags = (periodic,) * dim if isinstance(periodic, bool) else tuple(periodic)
        if flags not in self._made:
            known = self._bounds
            if isinstance(known, Spaces):
                known = known.bounds.get(flags)
            elif known is None or isinstance(known, Mapping) or len(np.asarray(known)) != dim:
                known = None
            self._made[flags] = SharedDomain(known, periodic, rule)
        return self._made[flags]


@dataclass(frozen=True)
class Spaces:
    """Domains that are known already, by their periodic axes, see `AtLeast`."""

    bounds: Mapping[tuple[bool, ...], AtLeast]

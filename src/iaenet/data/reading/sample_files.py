"""From arrays with one entry per sample to pairs of fields: the part that every reader shares."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

from iaenet.data.reading.array_layout import Layout, Values, as_values, check_numbers, lay_out, space_axes
from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.channel_names import Chosen, check_units, with_units
from iaenet.data.reading.files import naming
from iaenet.data.reading.imported import Imported, Lazy
from iaenet.data.reading.sample_points import Bounds, GridKind, Mask, Periodic, Rule, SamplePoints
from iaenet.data.reading.shared_domain import JointDomain, SharedDomain
from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field

ChannelAxis = Literal["last", "first"]
Missing = Literal["refuse", "drop"]
Slices = tuple[slice, ...]


class FieldOptions(TypedDict, total=False):
    """Options that every reader has and `assemble` takes; `read_npz` explains them."""

    bounds: Bounds
    periodic: Periodic
    rule: Rule
    missing: Missing
    skip_bad: bool
    units: Mapping[str, str] | None


@dataclass(frozen=True)
class SampledArray:
    """A named array of which every sample has one, `read(sample, slices of its axes)`; or all share one."""

    name: str
    shape: Callable[[int], tuple[int, ...]]  # of one sample
    dtype: np.dtype[Any]
    read: Callable[[int, Slices], NDArray[np.generic]]
    shared: bool = False


class Side(Protocol):
    """The inputs, or the outputs, of all samples."""

    names: list[str]  # of the channels
    per_sample: bool  # whether samples may have points of their own

    def points(self, sample: int) -> SamplePoints:
        """Where the values of a sample lie."""
        ...

    def values(self, sample: int) -> Values:
        """The values `(n, c)` of a sample."""
        ...


class ArraySide:
    """A side whose coordinates and channels are arrays."""

    def __init__(
        self,
        file: object,
        coordinates: Sequence[SampledArray],
        arrays: Sequence[tuple[Chosen, SampledArray]],
        dim: int | None = None,
        channels: ChannelAxis = "last",
        grid: GridKind = "closed",
    ) -> None:
        if channels not in ("last", "first"):
            raise InvalidInputError(f"channels must be 'last' or 'first', got {channels!r}")
        if grid not in ("closed", "left", "centres"):
            raise InvalidInputError(f"grid must be 'closed', 'left' or 'centres', got {grid!r}")
        self._coordinates = coordinates
        self._first = channels == "first"
        self._dim = dim
        self._grid = grid
        self._parts: list[tuple[SampledArray, Slices]] = []
        self._layouts: dict[tuple[int, ...], Layout] = {}
        self.names: list[str] = []
        self.per_sample = not all(each.shared for each in coordinates)
        for each in [*coordinates, *(array for _, array in arrays)]:
            check_numbers(f"{file}: {each.name!r}", each.dtype)
        for chosen, array in arrays:
            with naming(f"{file}: {array.name!r}"):
                self._space = len(self._space_of(array, 0))
            shape = array.shape(0)
            sizes = shape[: len(shape) - self._space] if self._first else shape[self._space :]
            slices, names = chosen.channels(sizes, file)
            everywhere = (slice(None),) * self._space
            self._parts.append((array, slices + everywhere if self._first else everywhere + slices))
            self.names += names
        if len(set(self.names)) < len(self.names):
            raise InvalidInputError(f"{file}: the same channel twice in {', '.join(self.names)}")

    def points(self, sample: int) -> SamplePoints:
        """Where the values of a sample lie."""
        return self._layout(sample).points

    def _layout(self, sample: int) -> Layout:
        space = self._space_of(self._parts[0][0], sample)
        if not self.per_sample and space in self._layouts:
            return self._layouts[space]
        arrays = [each.read(sample, (slice(None),) * len(each.shape(sample))) for each in self._coordinates]
        for each, array in zip(self._coordinates, arrays, strict=True):
            if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
                at = np.argwhere(~np.isfinite(array))[0].tolist()
                raise InvalidInputError(f"coordinate {each.name!r}, entry {at} is {array[tuple(at)]}")
        found = lay_out(arrays, space, self._grid)
        if not self.per_sample:
            self._layouts[space] = found
        return found

    def values(self, sample: int) -> Values:
        """The values `(n, c)` of a sample."""
        layout = self._layout(sample)
        space = self._space_of(self._parts[0][0], sample)
        parts = []
        for array, slices in self._parts:
            if self._space_of(array, sample) != space:
                raise InvalidInputError(
                    f"{array.name!r} has shape {array.shape(sample)}, which does not fit {self._parts[0][0].name!r} "
                    f"of shape {self._parts[0][0].shape(sample)}: as many points are needed"
                )
            part = as_values(array.read(sample, slices))
            if self._first:
                extra = part.ndim - self._space
                part = np.moveaxis(part, range(extra), range(-extra, 0))
            parts.append(part.reshape(*space, -1))
        values = np.concatenate(parts, axis=-1)
        if values.shape[-1] != len(self.names):
            raise InvalidInputError(f"{values.shape[-1]} channels, but the first sample has {len(self.names)}")
        return layout.values(values)

    def _space_of(self, array: SampledArray, sample: int) -> tuple[int, ...]:
        shape = array.shape(sample)
        count = space_axes([each.shape(sample) for each in self._coordinates], shape, self._dim, self._first)
        return shape[len(shape) - count :] if self._first else shape[:count]


def function_of(side: Side, sample: int, missing: Missing) -> tuple[SamplePoints, Values]:
    """Points and values of a sample; the first number that is not finite is refused by name.

    Points that have no value (NaN) in one or more channels are left out if `missing` is "drop".
    """
    points, values = side.points(sample), side.values(sample)
    absent: Mask = np.any(np.isnan(values), axis=1)
    if missing == "drop" and absent.any():
        if absent.all():
            raise InvalidInputError(f"no point has a value of {' and '.join(side.names)}")
        points, values = points.keep(np.logical_not(absent)), values[~absent]
    if not np.all(np.isfinite(values)):
        point, channel = np.argwhere(~np.isfinite(values))[0]
        number = values[point, channel]
        hint = "; --missing drop leaves points without a value out" if np.isnan(number) else ""
        raise InvalidInputError(f"channel {side.names[channel]}, point {point} is {number}{hint}")
    return points, np.array(values, order="C")


def assemble(
    where: Callable[[int], str],
    count: int,
    inputs: Side,
    outputs: Side,
    *,
    bounds: Bounds = None,
    periodic: Periodic = False,
    rule: Rule = "cells",
    missing: Missing = "refuse",
    skip_bad: bool = False,
    units: Mapping[str, str] | None = None,
    provenance: Mapping[str, Any],
    parameters: Mapping[str, Any] | None = None,
    records: Sequence[str] | None = None,
    positions: Sequence[int] | None = None,
    bad: BadRecords | None = None,
    notes: Sequence[str] = (),
    mesh: Callable[[int], Any] | None = None,
) -> Imported:
    """Pairs of fields in one domain; `where(sample)` names a sample in messages.

    Where the outputs have another dimension than the inputs, their domain is tight and not periodic. If `bad` says so,
    all samples are read here, once, and those that cannot be used are left out.
    """
    check_units(units, inputs.names + outputs.names)
    if missing not in ("refuse", "drop"):
        raise InvalidInputError(f"missing must be 'refuse' or 'drop', got {missing!r}")
    bad = bad or BadRecords(skip_bad)
    usable: Sequence[int] = range(count)
    if bad.skip:
        usable = _usable(bad, where, usable, lambda i: [function_of(side, i, missing) for side in (inputs, outputs)])
    with naming(where(usable[0])):
        dim = inputs.points(usable[0]).dim
        same = dim == outputs.points(usable[0]).dim
    domain = bounds.of(dim, periodic, rule) if isinstance(bounds, JointDomain) else SharedDomain(bounds, periodic, rule)
    output_domain = domain if same else SharedDomain(None, False, rule)
    sides = (inputs, domain), (outputs, output_domain)
    for side, its in sides:
        for sample in () if its.given else usable if side.per_sample else usable[:1]:
            with naming(where(sample)):
                its.include(side.points(sample))

    def field(side: Side, its: SharedDomain, sample: int) -> Field:
        points, values = function_of(side, sample, missing)
        return Field(its.discretize(points), torch.from_numpy(values))

    def given(sample: int) -> Field:
        with naming(where(sample)):
            return field(inputs, domain, sample)

    def pair(sample: int) -> tuple[Field, Field]:
        with naming(where(sample)):
            return field(inputs, domain, sample), field(outputs, output_domain, sample)

    if bad.skip:
        usable = _usable(bad, where, usable, pair)
    found = Imported(
        Lazy(count, pair),
        with_units(inputs.names, units),
        with_units(outputs.names, units),
        dict(parameters or {}),
        dict(provenance),
        None if records is None else tuple(records),
        Lazy(count, given),
        where,
        mesh=mesh,
        positions=None if positions is None else tuple(positions),
        notes=tuple(notes),
        skipped=tuple(bad.reasons),
    )
    return found.subset(usable) if len(usable) < count else found


def _usable(
    bad: BadRecords, where: Callable[[int], str], samples: Sequence[int], read: Callable[[int], object]
) -> list[int]:
    """The samples that can be read."""
    left = []
    for sample in samples:
        with bad.passed_over(), naming(where(sample)):
            read(sample)
            left.append(sample)
    bad.check(left, "samples")
    return left

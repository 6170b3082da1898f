"""Inputs compared with those that a model was trained on."""

import math
from typing import Any

from iaenet.data.problems.problem import Channel
from iaenet.errors import InvalidInputError
from iaenet.evaluation.mismatch import mismatch
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.sample import Sample
from iaenet.models.base import Given
from iaenet.models.operator import Operator

FAR = 0.01  # of the width of the domain: ends of tight domains differ by less
ESTIMATED = 3  # functions, at most, whose mismatch is estimated: each costs two predictions


class InputChecks:
    """Compares inputs with those that an operator was trained on, one after another, and keeps notes.

    >>> from iaenet import Field, IAENet
    >>> from iaenet.functions.normalizer import Normalizer
    >>> from iaenet.models.operator import describe
    >>> same, grid = Normalizer([0.0], [1.0]), Discretization.uniform(8)
    >>> operator = Operator(IAENet(1, 1, blocks=1), same, same, {"trained": describe([Discretization.uniform(64)])})
    >>> checks = InputChecks(operator)
    >>> checks.compare("a.csv", Field(grid, grid.points.float()), None)
    >>> checks.notes[0]
    'a.csv: 8 points, fewer than half of the 64 of the coarsest trained on'
    """

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._trained: dict[str, Any] = operator.metadata.get("trained") or {}
        self._far: dict[str, list[str]] = {}  # names of inputs, by what is unusual about them
        self._fewest = math.inf
        self._tried = 0
        self._estimates: dict[str, float] = {}

    @property
    def mismatch(self) -> float | None:
        """The largest estimate."""
        return max(self._estimates.values(), default=None)

    @property
    def notes(self) -> list[str]:
        """A line for each thing that is unusual, and one for the mismatch that was estimated."""
        lines = []
        for what, names in self._far.items():
            others, few = (f" and {len(names) - 1} more", "down to ") if len(names) > 1 else ("", "")
            lines.append(f"{names[0]}{others}: {what.format(fewest=f'{few}{self._fewest}')}")
        if self._estimates:
            name = max(self._estimates, key=lambda each: self._estimates[each])
            lines.append(
                f"{name}: estimated discretization mismatch {self._estimates[name]:.1e} (relative L2 between the "
                "predictions from all and from half of its points)"
            )
        elif lines:
            lines.append("the mismatch cannot be estimated: there are too few points, or the model takes no others")
        return lines

    def check(self, field: Given) -> None:
        """Refuse what the operator cannot take."""
        channels = len(self._operator.input_normalizer.mean)
        if field.channels != channels:
            wanted = ", ".join(channel.name for channel in channels_of(self._operator, "inputs"))
            raise InvalidInputError(f"{field.channels} channels, but the model takes {channels}: {wanted}")
        for here, source, trained in self._functions(field):
            dim, periodic = trained["dim"], trained["periodic"]
            if source.dim != dim:
                raise InvalidInputError(f"{here}points in {source.dim}-D, but the model was trained in {dim}-D")
            if list(source.periodic) != periodic:
                raise InvalidInputError(
                    f"{here}periodic axes {list(source.periodic)}, but the model was trained with {periodic}"
                )

    def _functions(self, given: Given) -> list[tuple[str, Discretization, dict[str, Any]]]:
        """Each function of an input: its name for messages, its points, and what those trained on were like."""
        known = self._operator.metadata.get("sample")
        if not isinstance(given, Sample) or not known:
            return [("", given.discretization, self._trained)] if self._trained else []
        ordered = given.arranged(list(known["functions"]), known["scalars"]).functions
        return [(f"{name}: ", one.discretization, known["functions"][name]) for name, one in ordered.items()]

    def compare(self, name: str, field: Given, at: Discretization | None) -> None:
        """Note what the operator has not seen, and estimate what it does to the first few."""
        source = field.parts[0].discretization
        if (
            isinstance(field, Field)
            and at is not None
            and at.dim == source.dim
            and _apart(at.bounds.tolist(), source.bounds.tolist(), 1e-9)
        ):
            raise InvalidInputError(
                f"the input lies in the domain {_short(source.bounds.tolist())}, the query points in "
                f"{_short(at.bounds.tolist())}; make both with the same bounds"
            )
        far = [f"{here}{what}" for here, own, trained in self._functions(field) for what in self._unusual(own, trained)]
        for what in far:
            self._far.setdefault(what, []).append(name)
        if far and self._tried < ESTIMATED:
            self._tried += 1
            found = mismatch(self._operator, field, at)
            if found is not None:
                self._estimates[name] = found

    def _unusual(self, source: Discretization, trained: dict[str, Any]) -> list[str]:
        found = []
        if 2 * source.n < trained["points"][0]:
            self._fewest = min(self._fewest, source.n)
            found.append(f"{{fewest}} points, fewer than half of the {trained['points'][0]} of the coarsest trained on")
        kind = "point set" if source.axes is None else "tensor grid"
        if kind not in trained["kinds"]:
            found.append(f"a {kind}, but trained on {trained['kinds'][0]}s only")
        if _apart(source.bounds.tolist(), trained["bounds"], FAR):
            found.append(
                f"the domain {_short(source.bounds.tolist())} is not the one trained on, {_short(trained['bounds'])}"
            )
        return found


def channels_of(operator: Operator, side: str) -> tuple[Channel, ...]:
    """Names and units of the "inputs" or "outputs" of an operator; numbered where it was never told any."""
    known = operator.metadata.get(side)
    if known:
        return tuple(Channel(each["name"], each.get("unit", "1")) for each in known)
    count = len((operator.input_normalizer if side == "inputs" else operator.output_normalizer).mean)
    return tuple(Channel(f"{side.removesuffix('s')}{i}" if count > 1 else side.removesuffix("s")) for i in range(count))


def _apart(one: Any, other: Any, share: float) -> bool:
    """Whether ends of two domains differ by more than this share of the width of the other."""
    return any(max(abs(a - c), abs(b - d)) > share * (d - c) for (a, b), (c, d) in zip(one, other, strict=True))


def _short(bounds: Any) -> str:
    return ", ".join(f"[{low:.6g}, {high:.6g}]" for low, high in bounds)

"""Bands around predictions, from a calibration, at any points and for inputs on any points."""

from dataclasses import dataclass

from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.evaluation.calibration import Calibration, Kind, local_scale
from iaenet.evaluation.mismatch import half_prediction
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.models.ensemble import split_spread, with_spread
from iaenet.models.operator import Operator


@dataclass(frozen=True)
class Band:
    """`|u(x) - prediction(x)| <= half_width(x)`, both fields on the same points."""

    prediction: Field
    half_width: Field
    spread: Field | None = None  # standard deviation of the members of an ensemble

    @property
    def lower(self) -> Field:
        """`prediction - half_width`."""
        return self._moved(-1)

    @property
    def upper(self) -> Field:
        """`prediction + half_width`."""
        return self._moved(1)

    def _moved(self, sign: int) -> Field:
        values = self.prediction.values + sign * self.half_width.values
        return Field.unchecked(self.prediction.discretization, values)

    def covers(self, truth: Field) -> Tensor:
        """Share of the domain, by its measure, where the truth lies in the band: `(c,)`, or `(b, c)`."""
        inside = (truth.values - self.prediction.values).abs() <= self.half_width.values
        weights = truth.discretization.weights
        return (weights / weights.sum()) @ inside.double()


class BandMaker:
    """Bands of one level for a model: `model` is what predicts, `band` puts a band around what it predicted.

    half_width = lambda (s(x)^2 + d^2)^(1/2), with lambda and s of the calibration. d is the discretization term, for an
    input unlike those of the calibration (fewer or more points, or points where these were grids, or the reverse): the
    root mean square over the query points of the difference between the predictions from all and from half of its
    points. More points may show what the model has never seen, such as jumps that a coarse grid hides.
    """

    def __init__(self, operator: Operator, calibration: Calibration, level: float, kind: Kind = "points") -> None:
        calibration.check(operator)
        self.factor = calibration.factor(level, kind)
        self.model = with_spread(operator)
        self._operator, self._calibration = operator, calibration

    def band(self, given: Field, found: Field) -> Band:
        """The band around the output `found` of `model` for the input `given`, at the points of `found`."""
        mean, spread = split_spread(self._operator, found)
        scale = local_scale(self._calibration.scale, spread, mean)
        if self.unlike(given.parts[0].discretization):
            scale = (scale**2 + self._discretization_term(given, mean) ** 2).sqrt()
        width = (self.factor * scale).to(mean.values).expand_as(mean.values)
        apart = None if spread is None else Field.unchecked(mean.discretization, spread)
        return Band(mean, Field.unchecked(mean.discretization, width), apart)

    def unlike(self, source: Discretization) -> bool:
        """Whether the input's points are such that its discretization was not part of the calibration."""
        known = self._calibration.inputs
        kind = "point set" if source.axes is None else "tensor grid"
        fewest, most = known["points"]
        return not fewest <= source.n <= most or kind not in known["kinds"]

    def _discretization_term(self, given: Field, found: Field) -> Tensor:
        """d of each function and channel, `(.., 1, c)`."""
        part = half_prediction(self._operator, given, found.discretization)
        if part is None:
            raise InvalidInputError(
                f"a band for an input at {given.most_points} points cannot be given: the calibration was on "
                "other points, and the model takes no others, or none can be spared to estimate the difference"
            )
        weights = found.discretization.weights
        squares = (part.values.double() - found.values.double()) ** 2
        return ((weights / weights.sum()) @ squares).sqrt()[..., None, :]

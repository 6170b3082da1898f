"""How much a prediction still depends on the points that its input is given on, estimated without the truth."""

from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.metrics import relative_l2
from iaenet.functions.resample import half, restrict
from iaenet.models.base import Given
from iaenet.models.inference import ModelLike, infer


def mismatch(model: ModelLike, field: Given, at: Discretization | None = None, seed: int = 0) -> float | None:
    """`||A_H a - A_h a|| / ||A_h a||`: the prediction from all points (h) and from half of them (H), at common points.

    With an error `C h^p` of the discretization, and H = 2 h, this is `(2^p - 1) C h^p`: the error itself to a factor
    near one (1 for p = 1, 3 for p = 2), as in Richardson's extrapolation, and on the safe side from p = 1 on. It says
    nothing of the error that training left. For a batch it is the largest of its functions; of a sample, all functions
    are halved.

    None if there is nothing to leave out, or if the network refuses other points than those it was given.

    >>> grid = Discretization.uniform(65)
    >>> def mean(field, at=None):  # int a dx by the trapezoidal rule, as a function; its error is of order h^2
    ...     integral = field.discretization.integrate(field.values)
    ...     at = at or field.discretization
    ...     return Field(at, integral.expand(at.n, 1))
    >>> truth, found = 1 / 3, mean(Field(grid, grid.points**2)).values[0].item()
    >>> estimate = mismatch(mean, Field(grid, grid.points**2))
    >>> round(estimate / ((found - truth) / truth), 2)
    3.0
    """
    thinner, halved = _halved(field, seed)
    if not any(thinner):
        return None
    try:
        whole = infer(model, field, at)
        part = infer(model, halved, at)
    except InvalidInputError:
        return None
    if at is None and thinner[0] is not None:
        whole = restrict(whole, thinner[0][0], part.discretization)
    return float(relative_l2(part, whole).max())


def half_prediction(model: ModelLike, field: Given, at: Discretization, seed: int = 0) -> Field | None:
    """`A_H a` at the points `at`, from half of the points of the input; None as for `mismatch`."""
    thinner, halved = _halved(field, seed)
    try:
        return infer(model, halved, at) if any(thinner) else None
    except InvalidInputError:
        return None


def _halved(given: Given, seed: int) -> tuple[list[tuple[Tensor, Discretization] | None], Given]:
    """Half of the points of each function, where there are any to leave out, and the input on them."""
    thinner = [half(part.discretization, seed) for part in given.parts]
    fewer = zip(given.parts, thinner, strict=True)
    return thinner, given.with_parts([part if some is None else restrict(part, *some) for part, some in fewer])

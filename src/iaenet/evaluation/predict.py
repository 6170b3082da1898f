"""A trained operator applied to any functions at any points, with notes where these lie far from its training."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from iaenet.data.reading.files import naming
from iaenet.errors import InvalidInputError
from iaenet.evaluation.input_checks import Watch
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.models.operator import Operator

LARGE = 32768  # points: functions of fewer share a batch

At = int | Sequence[int] | Discretization | Sequence[Discretization] | None
Target = Callable[[int, Discretization], Discretization | None]  # of function i on these points; None: the same points


@dataclass(frozen=True)
class Prediction:
    """Predicted functions, and what a careful reader of them should know."""

    fields: list[Field]
    notes: list[str]
    mismatch: float | None = None  # the largest that was estimated, see `iaenet.evaluation.mismatch`


def predict(operator: Operator, fields: Field | Sequence[Field], at: At = None) -> Prediction:
    """The output function of each input function, at its own points or `at` others.

    Args:
        operator: a trained model, as `iaenet.load(run)` gives it.
        fields: one function, a batch, or any number of them on any points.
        at: 256 or (64, 64), a uniform grid over the domain trained on; or a discretization for all functions, or one
            for each. Default: the input's own points.

    There is a note, and an
    estimate of the discretization mismatch, where an input has less than half of the points of the coarsest one trained
    on, is a point set where only grids were trained on (or the reverse), or lies in a domain that differs by more than
    1 % of its width. Another dimension, other periodic axes or another number of channels are refused.

    >>> from iaenet import IAENet
    >>> from iaenet.functions.normalizer import Normalizer
    >>> from iaenet.models.operator import describe
    >>> grid = Discretization.uniform(64)
    >>> metadata = {"trained": describe([grid])}
    >>> operator = Operator(IAENet(1, 1, blocks=1), Normalizer([0.0], [1.0]), Normalizer([0.0], [1.0]), metadata)
    >>> found = predict(operator, Field(grid, grid.points.float()), at=100)
    >>> found.fields[0].values.shape, found.notes
    (torch.Size([100, 1]), [])
    """
    watch = watching(operator)
    given = [fields] if isinstance(fields, Field) else fields
    made = [field for _, field in predictions(operator, given, targets(operator, at, len(given)), watch)]
    return Prediction(made, watch.notes, watch.mismatch)


def watching(operator: Operator) -> Watch:
    """Notes on the inputs of this operator, see `iaenet.evaluation.input_checks`."""
    return Watch(operator, partial(apply, operator))


def targets(operator: Operator, at: At, count: int) -> Target:
    """Where each function is asked for, from the words of `predict`."""
    if at is None:
        vectors = (operator.metadata.get("targets") or {}).get("points") == [1, 1]
        return lambda _, source: _one_point(source) if vectors else None
    if isinstance(at, Discretization):
        place = at
        return lambda _, __: place
    if isinstance(at, int | np.integer):
        at = [at]
    if all(isinstance(each, Discretization) for each in at):
        places: list[Any] = list(at)
        if len(places) != count:
            raise InvalidInputError(f"{count} functions, but {len(places)} places to predict at")
        return lambda i, _: places[i]
    sizes: list[Any] = list(at)
    box = (operator.metadata.get("trained") or {}).get("bounds")
    return lambda _, source: _grid(tuple(sizes), _rows(box), _rows(source.bounds.tolist()), source.periodic)


def predictions(
    operator: Operator,
    fields: Sequence[Field],
    at: Target,
    watch: Watch,
    name: Callable[[int], str] = "sample {}".format,
) -> Iterator[tuple[Field, Field]]:
    """Input and prediction of each function, in order; functions are read, and batches made, as they are needed."""
    waiting: list[tuple[str, Field, Discretization | None]] = []
    room = LARGE
    for i, field in enumerate(fields):
        with naming(name(i)):
            watch.check(field)
            place = at(i, field.discretization)
            watch.look(name(i), field, place)
        size = _size(field, place)
        if waiting and (size > room or (place is None) != (waiting[0][2] is None)):
            yield from _run(operator, waiting)
            waiting, room = [], LARGE
        waiting.append((name(i), field, place))
        room -= size
    if waiting:
        yield from _run(operator, waiting)


def _run(operator: Operator, batch: list[tuple[str, Field, Discretization | None]]) -> Iterator[tuple[Field, Field]]:
    _, fields, places = zip(*batch, strict=True)
    try:
        found = apply(operator, fields, None if places[0] is None else places)
    except InvalidInputError:  # which of them it was, one by one will show
        found = []
        for name, field, place in batch:
            with naming(name):
                found += apply(operator, [field], None if place is None else [place])
    yield from zip(fields, found, strict=True)


def apply(operator: Operator, fields: Sequence[Field], at: Sequence[Discretization] | None) -> list[Field]:
    """`operator.predict`, in its precision and on its device."""
    like = next((p for p in operator.parameters() if p.is_floating_point()), None)
    given = [field if like is None else field.to(like.dtype).to(like.device) for field in fields]
    places = at if at is None or like is None else [place.to(like.device) for place in at]
    asked = [field.discretization for field in fields] if at is None else at
    made = []
    for field, wanted in zip(operator.predict(given, places), asked, strict=True):
        if field.discretization.n != wanted.n:
            raise InvalidInputError(
                f"{type(operator.network).__name__} gave {field.discretization.n} points, not {wanted.n} as asked; "
                "leave `at` out if it knows no other points than the input's"
            )
        with naming("the prediction"):
            made.append(Field(wanted, field.values.cpu()))
    return made


def _size(field: Field, at: Discretization | None) -> int:
    functions = len(field.values) if field.batched else 1
    return functions * max(field.discretization.n, 0 if at is None else at.n)


def _one_point(source: Discretization) -> Discretization:
    """A vector is a function on one point, wherever in the domain that may be."""
    middle = source.bounds.mean(dim=1, keepdim=True).T
    return Discretization.points(middle, bounds=source.bounds.tolist(), periodic=source.periodic)


@lru_cache(maxsize=64)
def _grid(sizes: tuple[int, ...], trained: Any, domain: Any, periodic: tuple[bool, ...]) -> Discretization:
    """A uniform grid over the bounds trained on, as points of the input's domain."""
    d = len(domain)
    if len(sizes) not in (1, d):
        raise InvalidInputError(f"a grid of {len(sizes)} sizes, but the functions have {d} dimensions")
    within = trained is not None and all(
        low <= a and b <= high for (a, b), (low, high) in zip(trained, domain, strict=True)
    )
    shape = sizes * d if len(sizes) == 1 else sizes
    grid = Discretization.uniform(shape, periodic, trained if within else domain)
    assert grid.axes is not None
    return Discretization.tensor_grid(*grid.axes, periodic=periodic, bounds=domain)


def _rows(box: Any) -> Any:
    return None if box is None else tuple((float(low), float(high)) for low, high in box)

"""Asking any model for its output: in its own precision, on its own device, without gradients."""

from collections.abc import Callable, Sequence
from typing import Any, overload

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.models.base import group_by_discretization

MOST_POINTS = 2**16  # of a batch, all functions together

Ask = Callable[..., Any]  # a model: `model(field, at=None) -> field`, and the same for lists


@overload
def ask(model: Ask, field: Field, at: Discretization | None = None) -> Field: ...
@overload
def ask(model: Ask, field: Sequence[Field], at: Sequence[Discretization] | None = None) -> list[Field]: ...
def ask(model: Ask, field: Any, at: Any = None) -> Any:
    """`model(field, at)` of a field or a list of fields, in evaluation mode; the result is on the CPU, and checked.

    `at` goes to the model only where it differs from the input's points, so that a model which knows no other points
    can be asked, too.

    >>> grid = Discretization.uniform(3)
    >>> double = lambda field, at=None: Field(field.discretization, 2 * field.values)
    >>> ask(double, Field(grid, grid.points), grid).values[:, 0].tolist()
    [0.0, 1.0, 2.0]
    """
    single = isinstance(field, Field)
    fields: list[Field] = [field] if single else list(field)
    places: list[Discretization] = [f.discretization for f in fields]
    if at is not None:
        places = [at] if single else list(at)
    own = all(place.key == f.discretization.key for place, f in zip(places, fields, strict=True))
    like = _parameter(model)
    given = [_moved(f, like) for f in fields]
    targets = None if own else [place.to(f.values.device) for place, f in zip(places, given, strict=True)]
    training = isinstance(model, nn.Module) and model.training
    if isinstance(model, nn.Module):
        model.eval()
    try:
        with torch.no_grad():
            found = model(given[0] if single else given, targets[0] if single and targets is not None else targets)
    finally:
        if isinstance(model, nn.Module):
            model.train(training)
    results = [_result(one, place) for one, place in zip([found] if single else found, places, strict=True)]
    return results[0] if single else results


def ask_all(model: Ask, fields: Sequence[Field], at: Sequence[Discretization]) -> list[Field]:
    """The outputs of single functions; those on the same points are asked for together, some at a time.

    >>> fields = [Field(Discretization.uniform(n), torch.ones(n, 1)) for n in (3, 5, 3)]
    >>> found = ask_all(lambda field, at=None: field, fields, [field.discretization for field in fields])
    >>> [tuple(one.values.shape) for one in found]
    [(3, 1), (5, 1), (3, 1)]
    """
    results: dict[int, Field] = {}
    for members in group_by_discretization(fields, at):
        source, target = fields[members[0]].discretization, at[members[0]]
        size = at_once(source, target)
        for start in range(0, len(members), size):
            some = members[start : start + size]
            stacked = Field.unchecked(source, torch.stack([fields[i].values for i in some]))
            found = ask(model, stacked, target)
            results |= {i: Field.unchecked(target, values) for i, values in zip(some, found.values, strict=True)}
    return [results[i] for i in range(len(fields))]


def at_once(source: Discretization, target: Discretization) -> int:
    """How many functions on such points make a batch of moderate size.

    >>> at_once(Discretization.uniform(64), Discretization.uniform(1024))
    64
    """
    return max(1, MOST_POINTS // max(source.n, target.n))


def _parameter(model: Ask) -> Tensor | None:
    """One of the model's numbers, which shows its precision and device."""
    if not isinstance(model, nn.Module):
        return None
    return next((p for p in model.parameters() if p.is_floating_point()), None)


def _moved(field: Field, like: Tensor | None) -> Field:
    if like is None or (field.values.dtype == like.dtype and field.values.device == like.device):
        return field
    return Field.unchecked(field.discretization.to(like.device), field.values.to(like))


def _result(found: Field, place: Discretization) -> Field:
    if found.values.shape[-2] != place.n:
        raise InvalidInputError(f"the model gave {found.values.shape[-2]} values where {place.n} were asked for")
    try:
        return Field(place, found.values.detach().cpu())
    except InvalidInputError as error:
        raise InvalidInputError(f"the model's output: {error}") from None

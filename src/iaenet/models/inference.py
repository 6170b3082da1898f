"""Inference with any model: in its own precision, on its own device, without gradients."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, overload

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.models.base import Given, as_batch, group_by_discretization

MOST_POINTS = 2**16  # of a call, all functions together

ModelLike = Callable[..., Any]  # `model(field, at=None) -> field`, and the same for lists


@overload
def infer(
    model: ModelLike,
    fields: Given | Mapping[str, Any],
    query_points: Discretization | None = None,
    *,
    check: bool = True,
) -> Field: ...
@overload
def infer(
    model: ModelLike,
    fields: Sequence[Given],
    query_points: Sequence[Discretization] | None = None,
    *,
    check: bool = True,
    ragged: bool = True,
    most_points: int = MOST_POINTS,
) -> list[Field]: ...
def infer(
    model: ModelLike,
    fields: Any,
    query_points: Any = None,
    *,
    check: bool = True,
    ragged: bool = True,
    most_points: int = MOST_POINTS,
) -> Any:
    """`model(field, at=query_points)` of a field or sample, or a list, in evaluation mode; the results are on the CPU.

    Functions on the same points go to the model together, some at a time. Query points are passed on only where they
    are not the input's own, so that models without them can be used, too.

    check: whether an output that is no finite number is an error. Default true.
    ragged: whether functions on different points may share a call, as a list. Default true.
    most_points: of a call, all its functions together. Default 65536.

    >>> grid = Discretization.uniform(3)
    >>> double = lambda field, at=None: Field(field.discretization, 2 * field.values)
    >>> infer(double, Field(grid, grid.points), grid).values[:, 0].tolist()
    [0.0, 1.0, 2.0]
    >>> fields = [Field(Discretization.uniform(n), torch.ones(n, 1)) for n in (3, 5, 3)]
    >>> [tuple(found.values.shape) for found in infer(lambda fields, at=None: fields, fields)]
    [(3, 1), (5, 1), (3, 1)]
    """
    given, targets = as_batch(fields, query_points)
    groups = [_Group(members, given, targets) for members in group_by_discretization(given, targets)]
    like = _parameter(model)
    batches = [(group, part) for group in groups for part in group.parts(like, most_points)]
    with _evaluating(model):
        for call in _calls(batches, most_points if ragged else 0):
            for (group, field), found in zip(call, _call(model, call), strict=True):
                group.add(found, field, fixed=query_points is not None)
    results = dict(result for group in groups for result in group.results(check))
    return [results[i] for i in range(len(given))] if isinstance(fields, Sequence) else results[0]


class _Group:
    """Functions of a call that share their points and query points."""

    def __init__(self, members: list[int], given: list[Given], targets: list[Discretization]) -> None:
        self.fields = {i: given[i] for i in members}
        self.targets = {i: targets[i] for i in members}
        self.target = targets[members[0]]
        source = given[members[0]]
        self.own = source.points_key == (self.target.key,)
        self.points = max(source.most_points, self.target.n)
        self.values: list[Tensor] = []  # of the outputs, in order

    def parts(self, like: Tensor | None, most_points: int) -> list[Given]:
        """The functions in batches of moderate size, in the precision and on the device of the model."""
        fields = list(self.fields.values())
        stack: Given = fields[0] if len(fields) == 1 else type(fields[0]).stack(fields)
        kinds = {(part.values.dtype, part.values.device) for part in stack.parts}  # a state with the numbers of a file
        if like is not None and kinds != {(like.dtype, like.device)}:
            stack = stack.to(like.dtype).to(like.device)
        most = max(1, most_points // self.points)
        if stack.count <= most:
            return [stack]  # if it is a field of the caller, with what was computed of it
        return [stack.rows(slice(start, start + most)) for start in range(0, stack.count, most)]

    def add(self, found: Field, field: Given, fixed: bool) -> None:
        """Keep the output of a batch; a model without query points may have points of its own, as one for vectors."""
        if not fixed and found.discretization.n != self.target.n:
            self.target = found.discretization.to("cpu")
            self.targets = dict.fromkeys(self.targets, self.target)
        values = found.batch_values.detach().cpu()
        if values.shape[:2] != (field.count, self.target.n):
            raise InvalidInputError(
                f"the model gave values of shape {tuple(found.values.shape)} for {field.count} function(s) at "
                f"{self.target.n} query points"
            )
        self.values.append(values)

    def results(self, check: bool) -> Iterator[tuple[int, Field]]:
        """The output of each function, by its index."""
        values = self.values[0] if len(self.values) == 1 else torch.cat(self.values)
        for (i, field), part in zip(
            self.fields.items(), values.split([field.count for field in self.fields.values()]), strict=True
        ):
            found = Field.unchecked(self.targets[i].to("cpu"), part if field.batched else part[0])
            if check:
                try:
                    Field(found.discretization, found.values)
                except InvalidInputError as error:
                    raise InvalidInputError(f"the model's output: {error}") from None
            yield i, found


def use_device(name: str) -> torch.device:
    """The device of a name; `auto` is CUDA if there is one, else the CPU.

    >>> use_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.zeros(1, device=name).cpu().new_empty(0, device=name).device
    except (RuntimeError, AssertionError, ImportError) as error:  # no such device, or PyTorch was built without it
        raise InvalidInputError(f"device {name!r} cannot be used: {str(error).splitlines()[0]}") from None


@contextmanager
def _evaluating(model: ModelLike) -> Iterator[None]:
    training = isinstance(model, nn.Module) and model.training
    if isinstance(model, nn.Module):
        model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        if isinstance(model, nn.Module):
            model.train(training)


def _parameter(model: ModelLike) -> Tensor | None:
    """One of the model's numbers, which shows its precision and device."""
    if not isinstance(model, nn.Module):
        return None
    return next((p for p in model.parameters() if p.is_floating_point()), None)


Batch = tuple[_Group, Given]


def _calls(batches: list[Batch], most: int) -> Iterator[list[Batch]]:
    """Batches that go to the model in one call: several, as long as their points stay below the most."""
    call: list[Batch] = []
    room = most
    for group, field in batches:
        points = field.count * group.points
        if call and points > room:
            yield call
            call, room = [], most
        call.append((group, field))
        room -= points
    if call:
        yield call


def _call(model: ModelLike, call: list[Batch]) -> list[Field]:
    fields = [field for _, field in call]
    at = None
    if not all(group.own for group, _ in call):
        at = [group.target.to(field.parts[0].values.device) for group, field in call]
    if len(call) == 1:
        return [model(fields[0], None if at is None else at[0])]
    found: list[Field] = model(fields, at)
    return found

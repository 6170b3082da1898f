"""A model applied to its own output, step by step in time."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import torch

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.models.base import Given, as_given
from iaenet.models.inference import ModelLike, infer


@overload
def rollout(
    model: ModelLike, fields: Given, steps: int, at: Discretization | None = None, channels: int | None = None
) -> list[Field]: ...
@overload
def rollout(
    model: ModelLike, fields: Sequence[Given], steps: int, at: Discretization | None = None, channels: int | None = None
) -> list[list[Field]]: ...
def rollout(
    model: ModelLike, fields: Any, steps: int, at: Discretization | None = None, channels: int | None = None
) -> list[Any]:
    """`u_1, .., u_steps` with `u_(k+1) = model(u_k)`, from a field or a list of fields; a list over the steps.

    Channels of the input beyond those of the output, such as a coefficient, stay as they are: those of the state come
    first. So do the numbers and other functions of a `Sample`, whose first function is the state. A model goes on from
    the points that it was given, or from those of `at`, where the first step is read off. Of an output that has more
    than the state, such as derivatives of it, the first `channels` are the state. Default: all.

    >>> grid = Discretization.uniform(2)
    >>> double = lambda field, at=None: Field(field.discretization, 2 * field.values)
    >>> [state.values[0, 0].item() for state in rollout(double, Field(grid, torch.ones(2, 1)), steps=3)]
    [2.0, 4.0, 8.0]
    """
    if steps < 1:
        raise InvalidInputError(f"a roll-out has at least 1 step, got {steps}")
    single = not isinstance(fields, Sequence)
    given = [as_given(one, f"input {i}") for i, one in enumerate([fields] if single else fields)]
    states = list(_states(model, given, steps, at, channels))
    return [found[0] for found in states] if single else states


def _states(
    model: ModelLike, given: list[Given], steps: int, at: Discretization | None, channels: int | None
) -> Iterator[list[Field]]:
    for step in range(steps):
        try:
            found = infer(model, given, None if at is None else [at] * len(given))
        except InvalidInputError as error:
            raise InvalidInputError(f"step {step + 1} of the roll-out: {error}") from None
        yield found
        states = [Field.unchecked(each.discretization, each.values[..., :channels]) for each in found]
        given = [next_input(state, before) for state, before in zip(states, given, strict=True)]


def next_input(state: Field, before: Given) -> Any:
    """The input that goes on from a state: the state, and what else the input before it had.

    The state of a sample is its first function; the others, and its numbers, such as a time step, stay.

    >>> grid = Discretization.uniform(2)
    >>> next_input(Field(grid, torch.ones(2, 1)), Field(grid, torch.zeros(2, 3))).values[0].tolist()
    [1.0, 0.0, 0.0]
    """
    first, *rest = before.parts
    return before.with_parts([_next_field(state, first), *rest])


def _next_field(state: Field, before: Field) -> Field:
    more = before.channels - state.channels
    same = state.discretization is before.discretization or state.discretization.key == before.discretization.key
    if more < 0 or (more and not same):
        raise InvalidInputError(
            f"an output of {state.channels} channels on {state.discretization} is no next input for one of "
            f"{before.channels} channels on {before.discretization}"
        )
    if not more:
        return state
    return Field.unchecked(
        state.discretization, torch.cat([state.values, before.values[..., -more:].to(state.values)], -1)
    )

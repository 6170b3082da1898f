"""Predictions as named arrays, all samples along the first axis, in the layouts that the readers know."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iaenet.data.writing.output import Output
from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field

ROWS = "samples"  # the axis that counts samples
POINTS = "points"  # the axis that counts points without a grid


class Named(NamedTuple):
    """An array with the names of its axes: coordinates stand for themselves."""

    axes: tuple[str, ...]
    values: NDArray[Any]
    unit: str = "1"


def arrays(fields: Sequence[Field], output: Output, flat: bool = False) -> dict[str, Named] | None:
    """Coordinates and channels of all functions; None if they do not fit together into arrays.

    Functions on one grid: an axis for each coordinate, values `(samples, s1, ..., sd)`. On points, shared or each on as
    many of its own: coordinates `(n,)` or `(samples, n)`, values `(samples, n)`. `flat` takes grids for points.

    >>> import torch
    >>> from iaenet import Discretization
    >>> from iaenet.data.problems.problem import Channel
    >>> grid = Discretization.uniform((2, 3))
    >>> found = arrays([Field(grid, torch.ones(6, 1))] * 4, Output([], (), (Channel("u"),), ("x", "y")))
    >>> {name: (each.axes, each.values.shape) for name, each in found.items()}
    {'x': (('x',), (2,)), 'y': (('y',), (3,)), 'u': (('samples', 'x', 'y'), (4, 2, 3))}
    """
    first = fields[0].discretization
    same = all(field.discretization.key == first.key for field in fields)
    if any(field.discretization.n != first.n for field in fields):
        return None
    found: dict[str, Named] = {}
    if same and first.axes is not None and not flat:
        axes, shape = output.coordinates, first.shape
        for name, axis in zip(output.coordinates, first.axes, strict=True):
            found[name] = Named((name,), axis.numpy())
    elif same or all(field.discretization.axes is None or field.discretization.dim == 1 for field in fields):
        axes, shape = (POINTS,), (first.n,)
        points = np.stack([field.discretization.points.numpy() for field in (fields[:1] if same else fields)])
        for i, name in enumerate(output.coordinates):
            found[name] = Named(axes, points[0, :, i]) if same else Named((ROWS, *axes), points[:, :, i])
    else:
        return None
    for i, channel in enumerate(output.outputs):
        values = np.stack([field.values[:, i].numpy().reshape(shape) for field in fields])
        found[channel.name] = Named((ROWS, *axes), values, channel.unit)
    return found


def sample_arrays(field: Field, output: Output, flat: bool = False) -> dict[str, Named]:
    """The same of one function, without an axis of samples."""
    found = arrays([field], output, flat)
    assert found is not None
    return {
        name: Named(each.axes[1:], each.values[0], each.unit) if each.axes[0] == ROWS else each
        for name, each in found.items()
    }


def stacked(output: Output) -> dict[str, Named]:
    """Arrays of all samples, or what to do if there are none such."""
    found = arrays([sample.made for sample in output.samples], output)
    if found is None:
        raise InvalidInputError(
            f"{output.suffix.lstrip('.')} holds arrays, but these samples lie on different numbers of points or grids: "
            "write to a folder (CSV) or to .hdf5 (a group for each sample), or predict --at the same points"
        )
    return found

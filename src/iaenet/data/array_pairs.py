"""Pairs of functions from arrays in memory: NumPy, PyTorch, or anything that NumPy takes for an array."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from iaenet.data.reading.imported import Imported, Lazy
from iaenet.data.reading.sample_files import ChannelAxis, Missing
from iaenet.data.reading.sample_points import Bounds, GridKind, Periodic, Rule
from iaenet.data.reading.stacks import read_stacks
from iaenet.errors import InvalidInputError

log = logging.getLogger(__name__)


def from_arrays(
    x: Any,
    y: Any,
    *,
    coordinates: Any = None,
    output_coordinates: Any = None,
    dim: int | None = None,
    channels: ChannelAxis = "last",
    grid: GridKind | None = None,
    bounds: Bounds = None,
    periodic: Periodic = False,
    rule: Rule = "cells",
    missing: Missing = "refuse",
    precision: Literal["float32", "float64"] = "float32",
) -> Imported:
    """Pairs from inputs `x (samples, s1, ..., sd[, c])` and outputs `y` of the same layout, for `fit` and others.

    coordinates: one array `(n, d)` of points, or a list of d axes or columns; each also with an axis of samples.
        Default None: a uniform grid.
    output_coordinates: of the outputs, if they lie elsewhere. Default: those of the inputs.
    dim: how many axes are space, if there are no coordinates. Default: all that both arrays share behind that of the
        samples, but for a last axis of length 1; the rest are channels.
    grid: "closed", i / (n - 1) of a side, or i / n on a periodic axis; "left", i / n; "centres", (i + 1/2) / n.
        Default closed.
    precision: of the values. Default float32, whatever the arrays have.
    channels, bounds, periodic, rule, missing: as for `read_npz`.

    >>> pairs = from_arrays(np.zeros((10, 64)), np.ones((10, 64)), periodic=True).pairs
    >>> len(pairs), pairs[0]
    (10, (Field((64, 1) torch.float32 on Discretization(tensor grid (64,) in 1-D, periodic=(True,))), \
Field((64, 1) torch.float32 on Discretization(tensor grid (64,) in 1-D, periodic=(True,)))))
    """
    arrays = {"x": as_array(x, "x"), "y": as_array(y, "y")}
    names: dict[str, list[str] | None] = {}
    for role, given in (("coordinates", coordinates), ("output_coordinates", output_coordinates)):
        columns = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
        names[role] = [f"{role}[{i}]" for i in range(len(columns))] or None
        arrays |= {name: as_array(each, name) for name, each in zip(names[role] or (), columns, strict=True)}
    if dim is None and coordinates is None:
        dim = _dim(arrays["x"].shape, arrays["y"].shape, channels)
    found = read_stacks(
        "arrays",
        arrays,
        inputs=["x"],
        outputs=["y"],
        coordinates=names["coordinates"],
        output_coordinates=names["output_coordinates"],
        dim=dim,
        channels=channels,
        grid=grid,
        bounds=bounds,
        periodic=periodic,
        rule=rule,
        missing=missing,
        provenance={"reader": "arrays"},
    )
    for note in found.notes:
        log.info("%s", note)
    dtype = torch.float32 if precision == "float32" else torch.float64
    return replace(
        found, pairs=Lazy(len(found.pairs), lambda i: (found.pairs[i][0].to(dtype), found.pairs[i][1].to(dtype)))
    )


def is_array(given: Any) -> bool:
    """Whether something is an array rather than a list of samples.

    >>> is_array(np.zeros(3)), is_array(torch.zeros(3)), is_array([1, 2])
    (True, True, False)
    """
    return hasattr(given, "shape") and hasattr(given, "dtype")


def as_array(given: Any, name: str) -> NDArray[Any]:
    """An array in memory as one of NumPy; labelled ones are refused, since their coordinates would be lost."""
    if hasattr(given, "coords"):
        raise InvalidInputError(f"{name} is labelled: iaenet.from_xarray keeps its coordinates; or give {name}.values")
    return given.detach().cpu().numpy() if isinstance(given, torch.Tensor) else np.asarray(given)


def _dim(x: Sequence[int], y: Sequence[int], channels: ChannelAxis) -> int:
    """How many axes two arrays have for space."""
    at = 1 if channels == "first" else -1
    counts = [len(shape) - 1 - (len(shape) > 2 and shape[at] == 1) for shape in (x, y)]
    found = min(counts)
    spaces = [shape[len(shape) - found :] if channels == "first" else shape[1 : 1 + found] for shape in (x, y)]
    if spaces[0] != spaces[1] or found < 1:
        raise InvalidInputError(f"arrays of shape {tuple(x)} and {tuple(y)}: say by dim= how many axes are space")
    return found

"""Functions given as arrays -> the inputs of an exported file, without PyTorch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iaenet.errors import InvalidInputError
from iaenet.functions.axis_arrays import AxisRule, is_regular
from iaenet.functions.facets import boundary_facets
from iaenet.functions.point_checks import (
    check_inside,
    checked_axes,
    checked_box,
    checked_cells,
    checked_weights,
    finite_numbers,
)
from iaenet.functions.point_weights import point_weights
from iaenet.functions.quadrature import Array, Index, lumped_mass, trapezoid
from iaenet.functions.taps import grid_taps, simplex_taps

AXIS = 2**14  # points along an axis up to which a matrix is made for it


@dataclass(frozen=True)
class GivenFunction:
    """A function: its points `(n, d)`, axes if they are a tensor grid's, values `(b, n, c)`, weights, box.

    `cells` are simplices of its domain, of a mesh or as found from the points; `boundary` the corners of facets
    around it `(f, d, d)`.
    """

    points: Array
    axes: list[Array] | None
    values: NDArray[Any]
    batched: bool
    weights: Array
    cells: Index | None
    boundary: Array | None
    box: Array

    @property
    def thin(self) -> bool:
        """Whether it is on a curve or surface: its cells have no inside."""
        return self.cells is not None and self.cells.shape[1] <= self.points.shape[1]

    @property
    def curve(self) -> bool:
        """Whether it is on a curve."""
        return self.cells is not None and self.thin and self.cells.shape[1] == 2

    def domain(self, measure: bool) -> dict[str, NDArray[Any]]:
        """What a network is told of the domain; whether that is a curve, if it is told its `measure`."""
        d = len(self.box)
        facets = np.zeros((2, d, d)) if self.boundary is None else self.boundary
        if len(facets) == 1:  # a program takes two at least; the same facet again, of no size
            facets = np.concatenate([facets, facets[:, :1].repeat(d, axis=1)])
        curve = {"curve": np.array(self.curve)} if measure and d > 1 else {}
        return {"use_boundary": np.array(self.boundary is not None), **curve, "boundary": facets}


class InputSpace:
    """Where a function lives: its periodic axes, its box, and the grid that a network takes it to."""

    def __init__(self, about: Mapping[str, Any], rule: AxisRule, dtype: Any) -> None:
        self.periodic: tuple[bool, ...] = tuple(about["periodic"])
        self.grid: Sequence[int] = about["latent_grid"]
        self.channels = [channel["name"] for channel in about["inputs"]]
        self.dim = len(self.periodic)
        self._bounds = about["bounds"]
        self._rule, self._dtype = rule, np.dtype(dtype)

    def box(self, bounds: ArrayLike | None) -> Array:
        """Bounds `(d, 2)`, by default those trained on."""
        return checked_box(self.dim, self._bounds if bounds is None else bounds, self.periodic)[0]

    def function(
        self,
        points: Any,
        values: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        cells: ArrayLike | None = None,
        boundary: tuple[ArrayLike, ArrayLike] | None = None,
        bounds: ArrayLike | None = None,
        domain: str = "auto",
    ) -> GivenFunction:
        """A function as a file takes it, with what is not given computed as `Discretization.points` does."""
        box = self.box(bounds)
        axes, array = self.places(points, box, "points")
        given, batched = self._values(values, len(array))
        share, simplices = self._weights(axes, array, box, weights, cells, domain)
        facets = self._boundary(array, box, simplices, boundary)
        return GivenFunction(array, axes, given, batched, share, simplices, facets, box)

    def places(self, given: Any, box: Array, name: str) -> tuple[list[Array] | None, Array]:
        """The axes of a tensor grid, if it is one, and all points `(n, d)`."""
        if isinstance(given, tuple):
            if len(given) != self.dim:
                raise InvalidInputError(f"{name}: {len(given)} axes, but the model was trained in {self.dim}-D")
            axes, _, _ = checked_axes(given, box, self.periodic)
            return axes, np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, self.dim)
        array = finite_numbers(given, name, ndim=2)
        if array.shape[1] != self.dim:
            raise InvalidInputError(f"{name} in {array.shape[1]}-D, but the model was trained in {self.dim}-D")
        check_inside(array, box, name)
        return None, array

    def _values(self, values: ArrayLike, n: int) -> tuple[NDArray[Any], bool]:
        batched = np.ndim(values) == 3
        array = finite_numbers(values, "values", ndim=3 if batched else 2)
        if array.shape[-2:] != (n, len(self.channels)):
            raise InvalidInputError(
                f"values must have shape (n, c) or (b, n, c) with n = {n} points and c = {len(self.channels)} channels "
                f"({', '.join(self.channels)}), got {array.shape}"
            )
        return np.ascontiguousarray(array if batched else array[None], dtype=self._dtype), batched

    def _weights(
        self, axes: list[Array] | None, array: Array, box: Array, weights: Any, cells: Any, domain: str
    ) -> tuple[Array, Index | None]:
        """Weights of the points, and the simplices of their domain, if it has any."""
        if cells is not None:
            simplices = checked_cells(cells, *array.shape)
            return lumped_mass(array, simplices) if weights is None else checked_weights(weights, len(array)), simplices
        if weights is None and axes is not None:
            found = np.ones(())
            for axis, (low, high), wraps in zip(axes, box, self.periodic, strict=True):
                found = np.multiply.outer(found, trapezoid(axis, low, high, wraps))
            return np.asarray(found.ravel()), None
        share, _, found_cells, _ = point_weights(array, box, self.periodic, weights, "cells", domain)
        return share, found_cells

    def _boundary(
        self, array: Array, box: Array, cells: Index | None, given: tuple[ArrayLike, ArrayLike] | None
    ) -> Array | None:
        """The corners of the boundary's facets, `(f, d, d)`; curves and surfaces are their own."""
        d = self.dim
        if given is not None and cells is not None and cells.shape[1] <= d:
            raise InvalidInputError("a curve or surface is its own boundary: leave boundary= out")
        if given is not None:
            corners = finite_numbers(given[0], "corners of the boundary", ndim=2)
            facets = checked_cells(given[1], len(corners), d)
        elif cells is not None:
            low, high = box.T
            corners, facets = array, boundary_facets((array - low) / (high - low), cells)
        else:
            return None
        missing = d - facets.shape[1]  # of the segments of a curve in space: triangles without an inside
        return corners[np.concatenate([facets, facets[:, :1].repeat(missing, axis=1)], axis=1)]

    def latent(self, one: GivenFunction) -> NDArray[Any] | None:
        """E of functions on a tensor grid, axis by axis; None for points, whose projection is in the file."""
        axes = [one.points[:, 0]] if one.axes is None and self.dim == 1 else one.axes
        if axes is None or max(map(len, axes)) > AXIS:
            return None
        unit = [(axis - low) / (high - low) for axis, (low, high) in zip(axes, one.box, strict=True)]
        if self.dim == 1 and not (len(unit[0]) <= self.grid[0] and is_regular(np.sort(unit[0]), self.periodic[0])):
            return None
        found = one.values.astype(np.float64).reshape(len(one.values), *map(len, unit), -1)
        for i, (x, size, wraps) in enumerate(zip(unit, self.grid, self.periodic, strict=True)):
            matrix = self._rule.encoder(x, trapezoid(x, 0.0, 1.0, wraps), size, wraps)
            found = np.moveaxis(np.tensordot(matrix, found, axes=(1, i + 1)), 0, i + 1)
        return np.ascontiguousarray(found.reshape(len(one.values), -1, one.values.shape[2]), dtype=self._dtype)

    def empty_latent(self, batch: int) -> NDArray[Any]:
        """What stands for functions on the grid where there are none."""
        return np.zeros((batch, int(np.prod(self.grid)), len(self.channels)), self._dtype)

    def taps(self, axes: list[Array] | None, points: Array, query: Array, box: Array) -> dict[str, NDArray[Any]]:
        """How functions are interpolated at query points."""
        if axes is None and self.dim == 1:
            axes = [points[:, 0]]
        if axes is not None:
            near, shares = grid_taps(axes, query, box, self.periodic)
        else:
            near, shares, _ = simplex_taps(points, query, box, self.periodic)
        return {"near": near, "shares": shares}

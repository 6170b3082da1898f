"""Where a function is sampled: points, quadrature weights, and the domain that they fill."""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions import quadrature
from iaenet.functions.alpha_shape import BOX
from iaenet.functions.devices import holds_float64
from iaenet.functions.facets import boundary_facets
from iaenet.functions.frozen import Frozen, as_index, as_tensor, check_parts
from iaenet.functions.point_checks import Periodic as Periodic
from iaenet.functions.point_checks import (
    check_inside,
    check_points,
    checked_axes,
    checked_box,
    checked_cells,
    finite_numbers,
    is_uniform,
    tight_box,
)
from iaenet.functions.point_weights import point_weights
from iaenet.functions.quadrature import Array

Bounds = ArrayLike | Literal["tight"] | None


class _Points:
    """`Discretization.points(...)` is the maker for point sets, `discretization.points` the coordinates `(n, d)`."""

    @overload
    def __get__(self, instance: None, owner: type["Discretization"]) -> "Callable[..., Discretization]": ...
    @overload
    def __get__(self, instance: "Discretization", owner: type["Discretization"]) -> Tensor: ...
    def __get__(self, instance: Any, owner: type["Discretization"]) -> Any:
        return owner._from_points if instance is None else instance._coordinates


class Discretization(Frozen):
    """Points `(n, d)` with weights `(n,)`: `int_Omega f(x) dx ~ sum_i w_i f(x_i)`.

    Made by `uniform`, `tensor_grid`, `points` or `mesh`. Coordinates and weights are kept in float64; a network
    converts them to its own precision. A discretization is never changed after it is made.

    `rule` says how the weights were made (uniform, tensor grid, cells, monte-carlo, given or mesh), `domain` in a few
    words what they add up to, and `cells (e, k + 1)` are the simplices of a mesh or of a triangulated point set, else
    None. `cache` is not copied or saved.

    >>> grid = Discretization.uniform(5)
    >>> grid.points[:, 0].tolist(), grid.weights.tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.125, 0.25, 0.25, 0.25, 0.125])
    """

    points = _Points()
    moved_from: "tuple[Discretization, Any] | None" = None  # whose image it is, and by which motion

    def __init__(
        self,
        points: Tensor,
        weights: Tensor,
        bounds: Tensor,
        periodic: tuple[bool, ...],
        axes: "Axes | None" = None,
        *,
        rule: str = "given",
        cells: Tensor | None = None,
        domain: str = "",
        boundary: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        check_parts(points, weights, bounds, cells)
        self._coordinates = points if points.requires_grad else points.detach().clone()  # (n, d)
        self.weights = weights.detach().clone()  # (n,)
        self.bounds = bounds.detach().clone()  # (d, 2)
        self.periodic = tuple(periodic)  # d flags
        # Coordinates along each axis of a tensor grid (points in C order), or None.
        self.axes = None if axes is None else tuple(axis.detach().clone() for axis in axes)
        self.rule = rule
        self.cells = None if cells is None else cells.detach().clone()  # (e, k + 1)
        self.domain = domain
        self.given_boundary = boundary
        self.freeze(self._coordinates, self.weights, self.bounds, *(self.axes or ()), self.cells)

    @classmethod
    def uniform(
        cls, shape: int | Sequence[int], periodic: Periodic = False, bounds: ArrayLike | None = None
    ) -> "Discretization":
        """Uniform grid: `i / s` on a periodic axis, `i / (s - 1)` on a closed one, scaled to `bounds`.

        >>> Discretization.uniform((2, 4), periodic=(False, True)).points[:5].tolist()
        [[0.0, 0.0], [0.0, 0.25], [0.0, 0.5], [0.0, 0.75], [1.0, 0.0]]
        """
        sizes = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        check_points(sizes)
        box, flags = checked_box(len(sizes), bounds, periodic)
        axes = []
        for axis, (size, (low, high), wraps) in enumerate(zip(sizes, box, flags, strict=True)):
            least = 1 if wraps else 2
            if int(size) != size or size < least:
                raise InvalidInputError(f"axis {axis}: needs at least {least} points, got {size}")
            axes.append(low + (high - low) * np.arange(size) / (size if wraps else size - 1))
        return cls._grid(axes, box, flags, "uniform")

    @classmethod
    def tensor_grid(cls, *axes: ArrayLike, periodic: Periodic = False, bounds: Bounds = None) -> "Discretization":
        """Product of increasing axes, each with trapezoid weights.

        >>> Discretization.tensor_grid([0, 0.1, 1], [0, 1]).weights.reshape(3, 2)[:, 0].round(decimals=3).tolist()
        [0.025, 0.25, 0.225]
        """
        arrays, box, flags = checked_axes(axes, bounds, periodic)
        check_points([len(array) for array in arrays])
        return cls._grid(arrays, box, flags, "tensor grid")

    @classmethod
    def _from_points(
        cls,
        points: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        bounds: Bounds = None,
        periodic: Periodic = False,
        rule: Literal["cells", "monte-carlo"] = "cells",
        domain: Literal["auto", "box"] = "auto",
    ) -> "Discretization":
        """Any points `(n, d)`, in any order.

        `rule="cells"` weighs a point by the size of its cell: trapezoid in 1-D; its share of the Delaunay simplices
        in 2-D and 3-D, where `domain="auto"` finds which part of the box the points fill (holes, corners cut out, or a
        curve, whose points weigh its length) and `domain="box"` takes all of it. `rule="monte-carlo"` gives equal
        weights, right for points drawn uniformly at random. Own `weights (n,)` replace both. `bounds="tight"` takes the
        points' box. Points may require a gradient.

        >>> Discretization.points([[0.9], [0.1]]).weights.tolist()
        [0.5, 0.5]
        >>> Discretization.points([[0.2, 0.3], [0.2, 0.7], [0.2, 0.4]]).domain
        'the whole box in equal parts: the points span no area'
        """
        array = finite_numbers(points, "points", ndim=2)
        box, flags = checked_box(array.shape[1], tight_box(array) if isinstance(bounds, str) else bounds, periodic)
        check_inside(array, box)
        found, made, cells, words = point_weights(array, box, flags, weights, rule, domain)
        at = points.double() if isinstance(points, Tensor) and points.requires_grad else as_tensor(array)
        return cls(at, as_tensor(found), as_tensor(box), flags, rule=made, cells=as_index(cells), domain=words)

    @classmethod
    def mesh(
        cls, points: ArrayLike, cells: ArrayLike, *, bounds: Bounds = None, periodic: Periodic = False
    ) -> "Discretization":
        """Corners `(n, d)` of simplices `cells (e, k + 1)`, weighted by the lumped mass matrix.

        Cells that come twice, or have no size, are refused.

        >>> Discretization.mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]]).weights.sum().item()
        0.5
        """
        array = finite_numbers(points, "points", ndim=2)
        n, d = array.shape
        index = checked_cells(cells, n, d)
        box, flags = checked_box(d, tight_box(array) if isinstance(bounds, str) else bounds, periodic)
        check_inside(array, box)
        found = as_tensor(quadrature.lumped_mass(array, index))
        words = f"a mesh of {len(index)} cells"
        return cls(as_tensor(array), found, as_tensor(box), flags, rule="mesh", cells=as_index(index), domain=words)

    @classmethod
    def _grid(cls, axes: list[Array], box: Array, flags: tuple[bool, ...], rule: str) -> "Discretization":
        weights = np.ones(())
        for axis, (low, high), wraps in zip(axes, box, flags, strict=True):
            weights = np.multiply.outer(weights, quadrature.trapezoid(axis, low, high, wraps))
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        tensors = tuple(as_tensor(axis) for axis in axes)
        return cls(as_tensor(points), as_tensor(weights.ravel()), as_tensor(box), flags, tensors, rule=rule, domain=BOX)

    @property
    def n(self) -> int:
        """Number of points."""
        return int(self.points.shape[0])

    @property
    def dim(self) -> int:
        """Dimension d of the space that the points lie in."""
        return int(self.points.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along each axis of a tensor grid; `(n,)` for other point sets."""
        return (self.n,) if self.axes is None else tuple(len(axis) for axis in self.axes)

    @property
    def volume(self) -> float:
        """Size of the bounding box of the domain."""
        return float((self.bounds[:, 1] - self.bounds[:, 0]).prod())

    @property
    def measure(self) -> float:
        """Size of the domain: the sum of the weights."""
        return float(self.weights.sum())

    @cached_property
    def uniform_axes(self) -> tuple[bool, ...]:
        """Whether each axis is that of `uniform`: `i / s` if periodic, `i / (s - 1)` if closed, up to 1e-9 of the box.

        For a tensor grid, and for points in 1-D in any order; empty for other point sets.

        >>> Discretization.tensor_grid([0, 0.5, 1], [0, 0.1, 1]).uniform_axes
        (True, False)
        """
        if self.axes is None and self.dim > 1:
            return ()
        axes = (self.points[:, 0].sort().values,) if self.axes is None else self.axes
        return tuple(
            is_uniform(axis, low, high, wraps)
            for axis, (low, high), wraps in zip(axes, self.bounds.tolist(), self.periodic, strict=True)
        )

    @cached_property
    def boundary(self) -> tuple[Tensor, Tensor] | None:
        """Corners `(v, d)` and facets `(m, k)` of the domain's boundary: given, or that of the cells, else None.

        >>> grid = Discretization.mesh([[0, 0], [1, 0], [0, 1]], [[0, 1, 2]])
        >>> grid.boundary[1].tolist()
        [[0, 1], [1, 2], [2, 0]]
        """
        if self.given_boundary is not None or self.cells is None:
            return self.given_boundary
        low, high = self.bounds.unbind(1)  # in the unit box: volumes of 1e-300 are none
        facets = boundary_facets(((self.points - low) / (high - low)).cpu().numpy(), self.cells.cpu().numpy())
        return self.points, torch.from_numpy(facets).to(self.points.device)

    @cached_property
    def axis_weights(self) -> "Axes":
        """Weights along each axis of a tensor grid; their outer product is `weights`."""
        if self.axes is None:
            raise InvalidInputError(f"{self} has no axes")
        return tuple(
            as_tensor(quadrature.trapezoid(axis.cpu().numpy(), low, high, wraps)).to(axis.device)
            for axis, (low, high), wraps in zip(self.axes, self.bounds.tolist(), self.periodic, strict=True)
        )

    @property
    def key(self) -> str:
        """Content hash: equal for discretizations with the same points, weights, cells and domain."""
        _ = self.cache  # looks whether it was changed
        return self._key

    @cached_property
    def _key(self) -> str:
        about = repr((self.shape, self.periodic, self.axes is None))
        about += secrets.token_hex(8) if self.points.requires_grad else ""  # a gradient is that of these points alone
        digest = hashlib.sha1(about.encode(), usedforsecurity=False)
        more = [part for part in (self.cells, *(self.given_boundary or ())) if part is not None]
        for part in (self.points, self.weights, self.bounds, *more):
            digest.update(part.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def integrate(self, values: Tensor) -> Tensor:
        """`sum_i w_i f(x_i)` of values `(..., n, c)` -> `(..., c)`, or `(n,)` -> a number.

        >>> grid = Discretization.uniform(101)
        >>> round(grid.integrate(grid.points[:, 0] ** 2).item(), 3)
        0.333
        """
        if values.shape[-1 if values.ndim == 1 else -2] != self.n:
            raise InvalidInputError(f"{self.n} points, but values of shape {tuple(values.shape)}")
        return self.weights.to(values) @ values

    def to(self, device: torch.device | str) -> "Discretization":
        """The same discretization on another device, or on the CPU where that has no float64; itself if it is there."""
        device = device if holds_float64(device) else "cpu"
        weights = self.weights.to(device)
        if weights is self.weights:
            return self
        axes, facets = self.axes and tuple(axis.to(device) for axis in self.axes), self.given_boundary
        return Discretization(
            self.points.to(device),
            weights,
            self.bounds.to(device),
            self.periodic,
            axes,
            rule=self.rule,
            cells=None if self.cells is None else self.cells.to(device),
            domain=self.domain,
            boundary=None if facets is None else (facets[0].to(device), facets[1].to(device)),
        )

    def __repr__(self) -> str:
        kind = "point set" if self.axes is None else "tensor grid"
        return f"Discretization({kind} {self.shape} in {self.dim}-D, periodic={self.periodic})"


Axes = tuple[Tensor, ...]

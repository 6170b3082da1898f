"""A discretization as plain numbers, and back, bit for bit: what files keep of it."""

import hashlib
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from iaenet.functions.alpha_shape import BOX
from iaenet.functions.discretization import Discretization

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Packed:
    """Points and weights of a discretization in one row of numbers.

    A tensor grid keeps its axes one after another, then the weights along each axis, whose outer product (first axis
    first) is the weight of a point; then, only if its weights are no such product, all n of them. A point set keeps its
    points `(n, d)` row by row, then its n weights, then the corners of its cells `(e, k + 1)`, if it has any. A
    boundary that was given comes last, its corners `(v, d)` and then its facets `(m, k)`.
    """

    grid: bool
    shape: tuple[int, ...]  # points along each axis; (n,) for a point set
    periodic: tuple[bool, ...]  # d flags
    bounds: Numbers  # (d, 2)
    numbers: Numbers
    corners: int = 0  # k + 1 of each cell; 0 without cells
    rule: str = "given"
    facets: tuple[int, int, int] = (0, 0, 0)  # v, m and k of a boundary that was given

    @property
    def dim(self) -> int:
        """Dimension d."""
        return len(self.periodic)

    @property
    def n(self) -> int:
        """Number of points."""
        product = 1
        for size in self.shape:
            product *= size
        return product

    def digest(self) -> bytes:
        """SHA-256 of all of it; equal for equal discretizations.

        >>> one, other = (pack(Discretization.uniform(8, periodic=wraps)) for wraps in (True, False))
        >>> one.digest() == other.digest(), len(one.numbers)
        (False, 16)
        """
        head = np.array([self.grid, self.dim, *self.shape, *self.periodic], dtype="<i8")
        digest = hashlib.sha256(head.tobytes())
        if self.corners or self.rule != "given":  # files of version 1 know neither
            digest.update(f"{self.corners} {self.rule}".encode())
        if any(self.facets):
            digest.update(str(self.facets).encode())
        digest.update(np.ascontiguousarray(self.bounds, dtype="<f8").data)
        digest.update(np.ascontiguousarray(self.numbers, dtype="<f8").data)
        return digest.digest()


def pack(discretization: Discretization) -> Packed:
    """The numbers of a discretization.

    >>> pack(Discretization.uniform(3)).numbers.tolist()  # one axis and its weights
    [0.0, 0.5, 1.0, 0.25, 0.5, 0.25]
    """
    points, weights, bounds = (
        part.detach().cpu().numpy().astype(np.float64, copy=False)
        for part in (discretization.points, discretization.weights, discretization.bounds)
    )
    grid = discretization.axes is not None
    if discretization.axes is None:
        parts = [points.ravel(), weights]
        if discretization.cells is not None:
            parts.append(discretization.cells.cpu().numpy().ravel())
    else:
        axes = [axis.detach().cpu().numpy() for axis in discretization.axes]
        along = [share.detach().cpu().numpy() for share in discretization.axis_weights]
        parts = [*axes, *along]
        if _product(along).tobytes() != weights.tobytes():
            parts.append(weights)
    facets = (0, 0, 0)
    if discretization.given_boundary is not None:
        vertices, index = (part.detach().cpu().numpy() for part in discretization.given_boundary)
        parts += [vertices.ravel(), index.ravel()]
        facets = len(vertices), *index.shape
    numbers = np.concatenate(parts).astype(np.float64, copy=False)
    corners = 0 if discretization.cells is None or grid else int(discretization.cells.shape[1])
    shape, periodic = discretization.shape, discretization.periodic
    return Packed(grid, shape, periodic, bounds, numbers, corners, discretization.rule, facets)


def unpack(packed: Packed) -> Discretization:
    """The discretization of these numbers.

    >>> grid = Discretization.uniform((3, 4), periodic=(False, True))
    >>> unpack(pack(grid)).key == grid.key
    True
    """
    shape, d = packed.shape, packed.dim
    axes = cells = boundary = None
    v, m, k = packed.facets
    numbers, vertices, facets = np.split(
        packed.numbers, [len(packed.numbers) - v * d - m * k, len(packed.numbers) - m * k]
    )
    if m:
        boundary = _tensor(vertices.reshape(v, d)), _index(facets, k, v, "facets must name corners")
    if packed.grid:
        parts = np.split(numbers, np.cumsum([*shape, *shape]))
        axes = tuple(_tensor(axis) for axis in parts[:d])
        points = np.stack(np.meshgrid(*parts[:d], indexing="ij"), axis=-1).reshape(-1, d)
        weights = parts[-1] if len(parts[-1]) else _product(parts[d : 2 * d])
    else:
        points, weights, rest = np.split(numbers, [packed.n * d, packed.n * (d + 1)])
        points = points.reshape(packed.n, d)
        if packed.corners:
            cells = _index(rest, packed.corners, packed.n, "cells must name points")
    made = Discretization(
        _tensor(points),
        _tensor(weights),
        _tensor(packed.bounds),
        packed.periodic,
        axes,
        rule=packed.rule,
        cells=cells,
        boundary=boundary,
    )
    made.domain = _in_words(made)
    return made


def _index(numbers: Numbers, corners: int, count: int, wrong: str) -> torch.Tensor:
    if not (np.all(numbers >= 0) and np.all(numbers < count) and np.all(numbers == np.floor(numbers))):
        raise ValueError(f"{wrong} 0 to {count - 1}")
    return torch.from_numpy(numbers.astype(np.int64).reshape(-1, corners))


def _in_words(made: Discretization) -> str:
    if made.cells is not None and made.rule == "mesh":
        return f"a mesh of {len(made.cells)} cells"
    share = made.measure / made.volume
    return BOX if made.axes is not None or abs(share - 1) < 1e-9 else f"{100 * share:.3g} % of its box, by its weights"


def _product(along: list[Numbers]) -> Numbers:
    weights = np.ones(())
    for share in along:
        weights = np.multiply.outer(weights, share)
    return weights.ravel()


def _tensor(numbers: Numbers) -> torch.Tensor:
    return torch.from_numpy(np.array(numbers, dtype=np.float64, order="C"))

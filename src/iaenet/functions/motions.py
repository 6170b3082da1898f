"""Motions of a box onto itself, mirror images and exchanged axes, of functions on any points and on grids.

(m f)(m x) = f(x),      (m x)_i = x_j or 1 - x_j  with  j = order_i,  x in the unit box
"""

from dataclasses import dataclass
from itertools import combinations, pairwise

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field

SAME = 1e-9  # of a box: how far apart coordinates may be that are the same


@dataclass(frozen=True)
class Motion:
    """Coordinate i of the image is coordinate `order[i]`, mirrored in the middle of the box if `mirrored[i]`.

    >>> import torch
    >>> turn = Motion((1, 0), (True, False))  # (x, y) -> (1 - y, x)
    >>> turn.of_points(torch.tensor([[0.0, 0.25]]), (False, False)).tolist()
    [[0.75, 0.0]]
    """

    order: tuple[int, ...]
    mirrored: tuple[bool, ...]

    @classmethod
    def mirror(cls, axis: int, dim: int) -> "Motion":
        """The mirror image along an axis."""
        return cls(tuple(range(dim)), tuple(i == axis for i in range(dim)))

    @classmethod
    def swap(cls, first: int, second: int, dim: int) -> "Motion":
        """Two axes exchanged."""
        places = {first: second, second: first}
        return cls(tuple(places.get(i, i) for i in range(dim)), (False,) * dim)

    @property
    def _turns_over(self) -> bool:
        """Whether left becomes right."""
        swaps = sum(first > second for first, second in combinations(self.order, 2))
        return (sum(self.mirrored) + swaps) % 2 == 1

    def fits(self, where: Discretization) -> bool:
        """Whether the box is moved onto itself: axes that are exchanged have the same bounds and are of one kind."""
        if len(self.order) != where.dim:
            return False
        box, wraps = where.bounds.tolist(), where.periodic
        return all(box[i] == box[j] and wraps[i] == wraps[j] for i, j in enumerate(self.order))

    def of_points(self, x: Tensor, periodic: tuple[bool, ...]) -> Tensor:
        """The images of points `(n, d)` of the unit box."""
        flags = torch.tensor(self.mirrored, device=x.device)
        moved = x[:, list(self.order)]
        moved = torch.where(flags, 1 - moved, moved)
        wraps = flags & torch.tensor(periodic, device=x.device)
        return torch.where(wraps, moved % 1, moved)

    def on_grid(self, values: Tensor, shape: tuple[int, ...], periodic: tuple[bool, ...]) -> Tensor:
        """Values `(b, s, c)` at the nodes of a uniform grid -> those of the moved functions, which lie on the same."""
        array = values.unflatten(1, shape).permute(0, *[1 + j for j in self.order], -1)
        for axis, (flag, wraps) in enumerate(zip(self.mirrored, periodic, strict=True), start=1):
            if flag:
                array = array.flip(axis)
                array = array.roll(1, axis) if wraps else array  # j -> -j keeps node 0 of a period
        return array.flatten(1, len(shape))

    def keeps(self, where: Discretization) -> bool:
        """Whether a tensor grid is moved onto itself, so that moving a function is a matter of its values alone."""
        key = ("kept by", self)
        if key not in where.cache:
            where.cache[key] = where.axes is not None and self.fits(where) and self._maps_axes(where)
        kept: bool = where.cache[key]
        return kept

    def _maps_axes(self, where: Discretization) -> bool:
        assert where.axes is not None
        for i, (low, high) in enumerate(where.bounds.tolist()):
            x, source = ((where.axes[j] - low) / (high - low) for j in (i, self.order[i]))
            if len(x) != len(source):
                return False
            if self.mirrored[i]:
                source = 1 - source.flip(0)
                if where.periodic[i]:  # point 0 stays where it is, if it is one
                    source = source.roll(1) - torch.eye(len(x), dtype=x.dtype, device=x.device)[0]
            if bool(((x - source).abs() > SAME).any()):
                return False
        return True

    def of_discretization(self, where: Discretization) -> Discretization:
        """The image of points with their weights and cells, in the same box; those of a grid it keeps are the same."""
        if self.keeps(where):
            return where
        if where.axes is not None or not self.fits(where):
            raise InvalidInputError(f"{where} is not moved onto itself, nor to other points of its box")
        low, high = where.bounds.unbind(1)

        def image(x: Tensor) -> Tensor:
            return low + (high - low) * self.of_points((x - low) / (high - low), where.periodic)

        cells, facets = where.cells, where.given_boundary
        if self._turns_over:  # the domain stays on the same side of what has one
            cells = None if cells is None else _reversed(cells)
            facets = None if facets is None else (facets[0], _reversed(facets[1]))
        moved = Discretization(
            image(where.points),
            where.weights,
            where.bounds,
            where.periodic,
            rule=where.rule,
            cells=cells,
            domain=where.domain,
            boundary=None if facets is None else (image(facets[0]), facets[1]),
        )
        moved.moved_from = where, self
        return moved

    def of_field(self, field: Field) -> Field:
        """The moved function, or functions: `(m f)(m x) = f(x)`.

        >>> grid = Discretization.uniform(3)
        >>> Motion.mirror(0, 1).of_field(Field(grid, torch.tensor([[1.0], [2.0], [4.0]]))).values.flatten().tolist()
        [4.0, 2.0, 1.0]
        """
        where = field.discretization
        if self.keeps(where):
            values = self.on_grid(field.batch_values, where.shape, where.periodic)
            return Field.unchecked(where, values if field.batched else values[0])
        moved = Field.unchecked(self.of_discretization(where), field.values)
        moved.moved_from = field, self
        return moved


def _reversed(cells: Tensor) -> Tensor:
    """Simplices `(e, k)` the other way round."""
    return cells[:, [1, 0, *range(2, cells.shape[1])]] if cells.shape[1] > 1 else cells


def mirrors_and_swaps(where: Discretization) -> list[Motion]:
    """The mirror image along each axis and the exchange of each two neighbours, as far as they fit the box.

    >>> len(mirrors_and_swaps(Discretization.uniform((4, 4, 4))))
    5
    """
    dim = where.dim
    found = [Motion.mirror(axis, dim) for axis in range(dim)]
    found += [Motion.swap(i, j, dim) for i, j in pairwise(range(dim))]
    return [one for one in found if one.fits(where)]

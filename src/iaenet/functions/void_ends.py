"""Where a void between the nodes of a mesh ends: in a point, as behind a wing, and not where it becomes narrow.

The alpha shape ends a void where it is as narrow as the nodes are far apart: balls there are no larger than in the
domain. What is left of a narrow end is a strip of simplices between two sides of the border. Where it begins, the
border turns sharply twice, along one side of the void, across it, and back along the other: the strip is taken away
from there on, simplex by simplex, until the border turns but once.
"""

import math

import numpy as np
from numpy.typing import NDArray

from iaenet.functions.quadrature import Flags, Simplices

LEAST, BOTH = math.radians(20), math.radians(130)  # turns at the ends of an edge across a void, each and together
WIDER, ENDS = 1.3, 0.4  # least heights of triangles on the way: times the least before, and at the end the first
THIN = math.radians(25)  # the least angle of a triangle that no mesh has: there one of the turns may be less


Edge = tuple[int, int]


class _Border:
    """The border of voids in the plane as directed edges, with the void on the left and a triangle on the right."""

    def __init__(self, found: Simplices, kept: NDArray[np.bool_]) -> None:
        self.found, self.kept = found, kept
        self.own = np.asarray((found.corners < len(found.nodes)).all(axis=1))
        self.after: dict[int, int] = {}
        self.before: dict[int, int] = {}
        self.behind: dict[Edge, int] = {}
        self.twice: set[int] = set()  # points where parts of the border meet
        rows, columns = np.nonzero((kept & self.own)[:, None] & (found.neighbours >= 0))
        other = found.neighbours[rows, columns]
        at_void = found.inside[other] & ~kept[other]
        for row, column in zip(rows[at_void].tolist(), columns[at_void].tolist(), strict=True):
            r, p, q = (int(found.corners[row, (column + k) % 3]) for k in range(3))
            p, q = (p, q) if self.turn(p, q, r) < 0 else (q, p)
            self.twice.update({p} & set(self.after), {q} & set(self.before))
            self._add(p, q, row)

    def _add(self, p: int, q: int, triangle: int) -> None:
        self.after[p], self.before[q], self.behind[p, q] = q, p, triangle

    def turn(self, a: int, b: int, c: int) -> float:
        """The angle by which the way from a over b to c turns left."""
        at = self.found.points
        first, second = at[b] - at[a], at[c] - at[b]
        return math.atan2(first[0] * second[1] - first[1] * second[0], float(first @ second))

    def across(self, edge: Edge) -> int | None:
        """The third corner of the triangle behind an edge that goes across a void; None for other edges."""
        p, q = edge
        triangle = self.behind.get(edge, -1)
        if triangle < 0 or not (self.kept[triangle] and self.own[triangle]) or self.twice & {p, q}:
            return None
        if p not in self.before or q not in self.after:
            return None
        r = next(int(corner) for corner in self.found.corners[triangle] if corner not in edge)
        turns = self.turn(self.before[p], p, q), self.turn(p, q, self.after[q])
        angles = [math.pi - abs(self.turn(*corners)) for corners in ((p, q, r), (q, r, p), (r, p, q))]
        sharp = sum(turns) > BOTH and min(turns) > (-LEAST if min(angles) < THIN else LEAST)
        return r if sharp and r not in self.after else None  # else what is left would hang on a point

    def height(self, edge: Edge) -> float:
        """The least height of the triangle behind an edge."""
        at = self.found.points[self.found.corners[self.behind[edge]]]
        return float(2 * self.found.ball[0][self.behind[edge]] / max(np.linalg.norm(at - at[[1, 2, 0]], axis=1)))

    def take(self, edge: Edge, r: int) -> list[Edge]:
        """Give a triangle to the void: the border goes along its other two edges."""
        p, q = edge
        triangle = self.behind.pop(edge)
        corners = self.found.corners[triangle].tolist()
        self.kept[triangle] = False
        self._add(p, r, int(self.found.neighbours[triangle, corners.index(q)]))
        self._add(r, q, int(self.found.neighbours[triangle, corners.index(p)]))
        return [(p, r), (r, q)]

    def give_back(self, edge: Edge, r: int, triangle: int) -> None:
        """Undo that, for the last one that was taken."""
        p, q = edge
        self.kept[triangle] = True
        del self.after[r], self.before[r], self.behind[p, r], self.behind[r, q]
        self._add(p, q, triangle)


def to_their_ends(found: Simplices, kept: Flags) -> Flags:
    """The triangles that are kept, `(e,)`, without the narrow ends of voids; in the plane."""
    border = _Border(found, np.array(kept))
    for start in list(border.behind):
        taken: list[tuple[Edge, int, int]] = []
        heights: list[float] = []
        fronts = [start]
        while fronts:
            edge = fronts.pop()
            r = border.across(edge)
            if r is None or (heights and border.height(edge) > WIDER * min(heights)):
                continue
            heights.append(border.height(edge))
            taken.append((edge, r, border.behind[edge]))
            fronts = border.take(edge, r)
        if heights and min(heights) > ENDS * heights[0]:  # it does not taper off: no end of a void, but its side
            for step in reversed(taken):
                border.give_back(*step)
    return border.kept

"""Which points have images beyond the walls of the unit box, and how far: enough to close the Voronoi cells of all."""

import numpy as np

from iaenet.functions.border_strip import FACETS, normals
from iaenet.functions.quadrature import Array, Flags, Simplices


def reach(plain: Simplices, near: Array, everywhere: bool) -> Array:
    """How far beyond each wall `(n, d, 2)` images of the nodes are taken: up to `near (n,)` at least if periodic.

    At a closed wall only nodes whose cells reach the wall, and neighbours of nodes on it, have images that matter, at
    any distance. They are found from the cells without images, which are larger, up to rounding; or take `everywhere`.
    """
    n, d = plain.nodes.shape
    crosses = np.zeros((n, d, 2), bool)
    centres = plain.ball[2]
    hull, corner = np.nonzero(plain.neighbours < 0)
    at = plain.points[plain.corners]
    facets = plain.corners[hull[:, None], FACETS[d][corner]]
    outward = normals(plain.points[facets], at[hull, corner])
    for axis in range(d):
        for side, sign in enumerate((-1.0, 1.0)):
            far = (centres[:, axis] - side) * sign >= -1e-9
            crosses[plain.corners[far], axis, side] = True
            crosses[facets[outward[:, axis] * sign > 0], axis, side] = True
            at_wall = (plain.nodes[:, axis] == side)[plain.corners].any(axis=1)
            crosses[plain.corners[at_wall], axis, side] = True
    _behind_flat(plain, crosses)
    wraps = np.array(plain.periodic)
    crosses[:, wraps] = crosses[:, wraps, ::-1]  # what crosses the low wall has its copy beyond the high one
    return np.asarray(np.maximum(crosses, np.minimum(near, 2.0)[:, None, None] * (wraps | everywhere)[:, None]))


def _behind_flat(plain: Simplices, crosses: Flags) -> None:
    """Nodes that only flat simplices keep from the hull, by rounding on a side of a grid, cross as the hull does."""
    flat = ~np.isfinite(plain.ball[1])
    outer, grown = np.zeros_like(flat), flat & (plain.neighbours < 0).any(axis=1)
    while np.any(grown & ~outer):
        outer = grown
        grown = outer | (flat & ((plain.neighbours >= 0) & outer[plain.neighbours]).any(axis=1))
        corners = plain.corners[outer]
        every = np.broadcast_to(crosses[corners].any(axis=1, keepdims=True), (*corners.shape, *crosses.shape[1:]))
        np.logical_or.at(crosses, corners, every)

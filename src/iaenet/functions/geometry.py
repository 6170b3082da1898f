"""The domain of a sample as functions that a network can see: its measure, and the distance to its boundary.

    chi(z) = sum_k B_k(z) sum_i w_i B_k(x_i)        about 1 in the domain and 0 outside, on the latent grid
    s(x)                                            signed distance to the boundary, positive inside, at any points

Both are taken in the unit box, so that stretching an axis changes nothing.
"""

from typing import Literal

import torch
from torch import Tensor

from iaenet.functions.boundary import signed_distance
from iaenet.functions.discretization import Discretization
from iaenet.functions.latent_grid import LatentGrid

Geometry = Literal["measure", "distance"]
STEP = 1e-6  # of difference quotients, in the unit box
SCALE = 4.0  # distances in quarters of the box: most are between -1 and 1


def on_nodes(grid: LatentGrid, what: Geometry, source: Discretization) -> Tensor:
    """One of the domain's functions at the nodes of a latent grid: `(s, 1)`; kept with the discretization."""
    if what == "measure":
        return grid.measure(source)
    key = (*grid.key, what)
    if key not in source.cache:
        source.cache[key] = distance_at(source, grid.coordinates.to(source.bounds.device))
    kept: Tensor = source.cache[key]
    return kept


def distance_at(source: Discretization, x: Tensor) -> Tensor:
    """`s(x)` at points `x (m, d)` of the unit box of a discretization: `(m, 1)`.

    The boundary is the discretization's; without one, that of the box, where its axes are closed.

    >>> grid = Discretization.uniform((3, 3))
    >>> distance_at(grid, torch.tensor([[0.5, 0.5], [0.5, 0.25]], dtype=torch.float64)).flatten().tolist()
    [2.0, 1.0]
    """
    boundary = source.boundary
    if boundary is None:
        closed = [axis for axis, wraps in enumerate(source.periodic) if not wraps]
        if not closed:
            return torch.full_like(x[:, :1], SCALE / 2)
        to_walls = torch.minimum(x[:, closed], 1 - x[:, closed]).amin(dim=1, keepdim=True)
        return SCALE * to_walls
    low, high = source.bounds.unbind(1)
    corners = ((boundary[0] - low) / (high - low)).cpu().numpy()
    facets = boundary[1].cpu().numpy()

    def distances(where: Tensor) -> Tensor:
        found = signed_distance(where.detach().cpu().numpy(), corners, facets)
        return torch.from_numpy(found)[:, None].to(x)

    found = distances(x)
    if x.requires_grad:  # linear around each point: the distance to a facet is
        for axis in torch.eye(x.shape[1]).to(x):
            slope = (distances(x + STEP * axis) - distances(x - STEP * axis)) / (2 * STEP)
            found = found + slope * ((x - x.detach()) @ axis)[:, None]
    return SCALE * found

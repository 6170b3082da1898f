"""The measure of a domain from its boundary, the same whatever points the functions on the domain are given at.

    int_Omega B_k dx = int_boundary G_k n_1 ds        G_k the integral of B_k along the first axis, n the outward normal

(the divergence theorem). Sums over the nodes of a mesh say the same up to their quadrature error, which coarse meshes
have: 4 % of chi with 450 nodes around a hole.
"""

import math
from functools import lru_cache

import numpy as np
import torch
from scipy.special import roots_jacobi
from torch import Tensor

from iaenet.functions.projection import Projection, chunks, products
from iaenet.functions.quadrature import Array

GAUSS = {2: 16, 3: 4}  # points along a facet: exact for four waves along a segment, for one along a triangle


def boundary_moments(projection: Projection, corners: Tensor) -> Tensor:
    """`int_Omega B_k dx` `(p,)` for facets with `corners (f, d, d)` in the unit box, d = 2 or 3, looking outward.

    >>> square = torch.tensor([[0.0, 0.0], [0.5, 0.0], [0.5, 0.5], [0.0, 0.5]], dtype=torch.float64)
    >>> facets = square[torch.tensor([[0, 1], [1, 2], [2, 3], [3, 0]])]
    >>> found = boundary_moments(Projection([1, 1], (True, True)), facets)
    >>> found.reshape(3, 3)[0].round(decimals=4).tolist()  # of 1, sqrt2 cos(2 pi y), sqrt2 sin(2 pi y)
    [0.25, 0.0, 0.2251]
    """
    d = corners.shape[-1]
    at, share = (torch.from_numpy(part).to(corners) for part in _rule(d))
    points = torch.einsum("qk,fkd->fqd", at, corners)
    size = outward(corners)[:, None] * share  # n_1 ds
    points, size = points.flatten(0, 1), size.flatten()
    found = torch.zeros((), dtype=corners.dtype, device=corners.device)
    for rows in chunks(points):
        factors = [projection.functions(points[rows, i], i) for i in range(1, d)]
        found = found + products(size[rows, None], [_integral(projection, points[rows, 0]), *factors])
    return found.reshape(projection.size)


def outward(corners: Tensor) -> Tensor:
    """First component of the normals of facets `(f, d, d)`, as long as the facets are large: `(f,)`."""
    if corners.shape[-1] == 2:
        return corners[:, 1, 1] - corners[:, 0, 1]
    u, v = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return (u[:, 1] * v[:, 2] - u[:, 2] * v[:, 1]) / 2


def volume(corners: Tensor) -> Tensor:
    """Area or volume within facets `(f, d, d)`, by the same theorem.

    >>> triangle = torch.tensor([[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 0.0]]])
    >>> volume(triangle)
    tensor(0.5000)
    """
    return outward(corners) @ corners[:, :, 0].mean(dim=1)


def _integral(projection: Projection, x: Tensor) -> Tensor:
    """`int_0^x b(t) dt` of the functions along the first axis: `(n, 2 modes + 1)`."""
    modes, period = projection.modes[0], projection.periods[0]
    if not modes:
        return x[:, None]
    waves = projection.functions(x, 0)
    cosines, sines = waves[:, 1 : modes + 1], waves[:, modes + 1 :]
    rate = 2 * math.pi / period * torch.arange(1, modes + 1).to(x)
    return torch.cat([x[:, None], sines / rate, (math.sqrt(2) - cosines) / rate], dim=1)


@lru_cache(maxsize=4)
def _rule(d: int) -> tuple[Array, Array]:  # no tensors: one made as a program is traced must not be kept
    """Barycentric coordinates `(q, d)` of points on a facet and their shares `(q,)`, a product of Gauss rules."""
    t, w = roots_jacobi(GAUSS[d], 0, 0)
    t, w = (t + 1) / 2, w / 2
    if d == 2:
        return np.stack([1 - t, t], axis=1), np.asarray(w)
    s, v = roots_jacobi(GAUSS[d], 1, 0)
    s, v = (s + 1) / 2, v / v.sum()
    first, second = (part.ravel() for part in np.meshgrid(s, t, indexing="ij"))
    at = np.stack([(1 - first) * (1 - second), first, (1 - first) * second], axis=1)
    return at, np.outer(v, w).ravel()

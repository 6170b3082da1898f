"""How much a projection should smooth, from the functions themselves."""

from collections.abc import Sequence

import torch

from iaenet.functions.field import Field
from iaenet.functions.latent_grid import LatentGrid, unit

SMOOTHINGS = (1.0, 10.0, 30.0, 100.0)
LOOKED_AT = 16  # functions by which the smoothing is chosen


def best_smoothing(fields: Sequence[Field], shape: Sequence[int], periodic: Sequence[bool]) -> float:
    """Which of `SMOOTHINGS` finds some functions at half of their points best from the other half.

    >>> from iaenet import Discretization
    >>> where = Discretization.points(torch.rand(400, 2, generator=torch.Generator().manual_seed(0)))
    >>> smooth, jump = (3 * where.points[:, :1]).sin(), (where.points[:, :1] > 0.4).double()
    >>> [best_smoothing([Field(where, f)], (28, 28), (False, False)) for f in (smooth, jump)]
    [1.0, 10.0]
    """
    some = [f for f in fields if f.discretization.axes is None and f.discretization.n >= 16 and bool(f.values.any())]
    if not some or len(shape) == 1:
        return 1.0
    errors = dict.fromkeys(SMOOTHINGS, 0.0)
    for field in some[:: max(1, len(some) // LOOKED_AT)][:LOOKED_AT]:
        points, weights = unit(field.discretization, field.discretization)
        values = (field.values if field.batched else field.values[None])[:1].double()
        order = torch.randperm(len(points), generator=torch.Generator().manual_seed(0)).to(points.device)
        known, held = order[::2], order[1::2]
        for smoothing in SMOOTHINGS:
            projection = LatentGrid(shape, periodic, smoothing).scattered
            c = projection.coefficients(points[known], weights[known], values[:, known])
            found = projection.evaluate(c, points[held])
            errors[smoothing] += float(
                (found - values[:, held]).square().mean() / values.square().mean().clamp_min(1e-300)
            )
    return min(errors, key=errors.__getitem__)

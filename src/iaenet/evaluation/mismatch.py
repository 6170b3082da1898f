"""How much a prediction still depends on the points that its input is given on, estimated without the truth."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import taps
from iaenet.functions.metrics import relative_l2

Apply = Callable[[Sequence[Field], Sequence[Discretization] | None], list[Field]]


def mismatch(apply: Apply, field: Field, at: Discretization | None = None, seed: int = 0) -> float | None:
    """`||A_H a - A_h a|| / ||A_h a||`: the prediction from all points (h) and from half of them (H), at common points.

    With an error `C h^p` of the discretization, and H = 2 h, this is `(2^p - 1) C h^p`: the error itself to a factor
    near one (1 for p = 1, 3 for p = 2), as in Richardson's extrapolation, and on the safe side from p = 1 on. It says
    nothing of the error that training left. For a batch it is the largest of its functions.

    None if there is nothing to leave out, or if the network refuses other points than those it was given.

    >>> grid = Discretization.uniform(65)
    >>> def mean(fields, at):  # int a dx by the trapezoidal rule, as a function; its error is of order h^2
    ...     integrals = [f.discretization.integrate(f.values) for f in fields]
    ...     places = [f.discretization for f in fields] if at is None else at
    ...     return [Field(p, i.expand(p.n, 1)) for p, i in zip(places, integrals)]
    >>> truth, found = 1 / 3, mean([Field(grid, grid.points**2)], None)[0].values[0].item()
    >>> estimate = mismatch(mean, Field(grid, grid.points**2))
    >>> round(estimate / ((found - truth) / truth), 2)
    3.0
    """
    thinner = thinned(field, seed)
    if thinner is None:
        return None
    coarse, kept = thinner
    try:
        whole = apply([field], None if at is None else [at])[0]
        part = apply([coarse], None if at is None else [at])[0]
    except InvalidInputError:
        return None
    if at is None:
        whole = Field.unchecked(coarse.discretization, whole.values[..., kept, :])
    return float(relative_l2(part, whole).max())


def thinned(field: Field, seed: int = 0) -> tuple[Field, torch.Tensor] | None:
    """The function on about half of its points, and which these are; None if no point can be spared.

    Every second point along each axis of a grid; of other points a random half (by `seed`), weighted by the same rule.

    >>> grid = Discretization.uniform(6)
    >>> thinned(Field(grid, grid.points))[1].tolist()  # ends of a closed axis are kept
    [0, 2, 4, 5]
    """
    source = field.discretization
    coarse: Discretization | None
    if source.axes is not None:
        along = [_every_second(size, wraps) for size, wraps in zip(source.shape, source.periodic, strict=True)]
        kept = np.arange(source.n).reshape(source.shape)[np.ix_(*along)].ravel()
        axes = [axis.cpu().numpy()[some] for axis, some in zip(source.axes, along, strict=True)]
        coarse = Discretization.tensor_grid(*axes, periodic=source.periodic, bounds=source.bounds.tolist())
    else:
        # Not every second in some order: the half must be as random as the whole, or chance goes unnoticed.
        kept = np.sort(np.random.default_rng(seed).permutation(source.n)[: (source.n + 1) // 2])
        coarse = _half(source, kept)
    if coarse is None or len(kept) == source.n:
        return None
    places = torch.from_numpy(kept)
    values = field.values[..., places.to(field.values.device), :]
    return Field.unchecked(coarse.to(values.device), values), places


def _every_second(size: int, periodic: bool) -> NDArray[np.int64]:
    some = np.arange(0, size, 2)
    return some if periodic or some[-1] == size - 1 else np.append(some, size - 1)


def _half(source: Discretization, kept: NDArray[np.int64]) -> Discretization | None:
    """Some points of a set, weighted as all of them were: equally, by cells, or otherwise."""
    points, weights = source.points.cpu().numpy()[kept], source.weights.cpu().numpy()
    domain: dict[str, Any] = {"bounds": source.bounds.tolist(), "periodic": source.periodic}
    total = float(weights.sum())
    if np.ptp(weights) <= 1e-9 * abs(total):
        return Discretization.points(points, np.full(len(kept), total / len(kept)), **domain)
    if source.dim > 3:
        return None
    if abs(total - source.volume) <= 1e-6 * source.volume:
        return Discretization.points(points, **domain)
    # Weights of a mesh, or the user's own: those left out leave theirs to the simplex around them, which makes the sum
    # that of the interpolated function.
    some = Discretization.points(points, rule="monte-carlo", **domain)
    index, share = taps(some, source)
    shares = (share * source.weights.cpu()[:, None]).numpy()
    return Discretization.points(points, np.bincount(index.numpy().ravel(), shares.ravel(), len(kept)), **domain)

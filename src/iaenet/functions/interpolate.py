"""Values of a sampled function at other points, by local interpolation: the operators I_T of the paper."""

from functools import partial

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.between import between
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.taps import Kind, grid_taps, simplex_taps


def interpolate(field: Field, at: Discretization) -> Field:
    """`I_T f`: the field on the points of `at`, linear in its values and exact where points coincide.

    Tensor grids and points on a line: cubic along each axis (error h^4 on uniform axes). Points in 2-D
    and 3-D: linear on Delaunay simplices, nearest point outside their hull.

    >>> coarse, fine = Discretization.uniform(11), Discretization.uniform(21)
    >>> cubic = interpolate(Field(coarse, coarse.points**3), fine)
    >>> torch.allclose(cubic.values, fine.points**3)
    True
    """
    source = field.discretization
    if source.dim != at.dim:
        raise InvalidInputError(f"cannot interpolate from {source.dim}-D to {at.dim}-D")
    if source is at or source.key == at.key:
        return Field.unchecked(at, field.values)
    index, weight = taps(source, at)
    picked = field.values[..., index.to(field.values.device), :]  # (..., n', t, c)
    return Field.unchecked(at, (picked * weight.to(field.values)[..., None]).sum(dim=-2))


TENSORS = Kind(torch.from_numpy, partial(torch.stack, dim=1))


def taps(source: Discretization, at: Discretization) -> tuple[Tensor, Tensor]:
    """Indices and weights `(n', t)` with `f(y_j) = sum_t weight_jt f(x_index_jt)`."""
    return between("taps", source, at, lambda: _taps(source, at.points.cpu()))


def _taps(source: Discretization, where: Tensor) -> tuple[Tensor, Tensor]:
    points, box, given = (part.detach().cpu().numpy() for part in (where, source.bounds, source.points))
    if source.axes is not None or source.dim == 1:
        axes = [given[:, 0]] if source.axes is None else [axis.cpu().numpy() for axis in source.axes]
        index, weight = grid_taps(axes, points, box, source.periodic, where, TENSORS)
        return torch.from_numpy(index), weight
    index, share, slope = simplex_taps(given, points, box, source.periodic)
    weight = torch.from_numpy(share)
    if where.requires_grad:  # linear on a simplex
        weight = weight + torch.einsum("nij,nj->ni", torch.from_numpy(slope), where - where.detach())
    return torch.from_numpy(index), weight

"""Derivatives of a model's output with respect to the points where it is asked for."""

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization


def differentiable(at: Discretization) -> Discretization:
    """The same points and weights as a point set whose coordinates can be differentiated by.

    >>> differentiable(Discretization.uniform(3)).points.requires_grad
    True
    """
    return Discretization(
        at.points.detach().clone().requires_grad_(),
        at.weights,
        at.bounds,
        at.periodic,
        rule=at.rule,
        cells=at.cells,
        domain=at.domain,
        boundary=at.boundary,
    )


def gradient(values: Tensor, at: Discretization) -> Tensor:
    """`du_c / dx_j` at the points x of `at`: values `(n, c)` or `(b, n, c)` there -> `(n, c, d)` or `(b, n, c, d)`.

    Values must be pointwise in x, as those of `model(field, at)` are, and made from these very points, which are
    `differentiable`. Of a batch every function has its own derivative. With `g_ij(v) = sum_bc v_bic du_bic / dx_ij`,
    one pass backwards, it is `dg_ij / dv_bic`: d passes more, whatever b and c are. It can be differentiated again: by
    weights in a loss, by points for second derivatives, `gradient(du[..., j], at)`.

    >>> at = differentiable(Discretization.uniform(3))
    >>> gradient(torch.cat([at.points**2, 3 * at.points], dim=1), at)[..., 0].tolist()
    [[0.0, 3.0], [1.0, 3.0], [2.0, 3.0]]
    """
    if not at.points.requires_grad:
        raise InvalidInputError("these points have no gradient; make them with iaenet.differentiable(at)")
    if values.shape[-2] != at.n:
        raise InvalidInputError(f"{at.n} points, but values of shape {tuple(values.shape)}")
    found = _gradient(values, at)
    if found is None:
        raise InvalidInputError(
            "the values do not depend on these points: make them by model(field, at) with the same `at`, gradients "
            "enabled (model.predict has none), and a model that takes query points"
        )
    return found


def _gradient(values: Tensor, at: Discretization) -> Tensor | None:
    """The derivatives, or None for constants."""
    if not values.requires_grad:
        return None
    v = torch.zeros_like(values, requires_grad=True)
    sums: Tensor | None = torch.autograd.grad(values, at.points, v, create_graph=True, allow_unused=True)[0]
    if sums is None:
        return None
    parts = [torch.autograd.grad(sums[:, j].sum(), v, create_graph=True)[0] for j in range(at.dim)]
    return torch.stack(parts, dim=-1)


def laplacian(values: Tensor, at: Discretization) -> Tensor:
    """`sum_j d^2 u_c / dx_j^2` at the points of `at`: values `(n, c)` or `(b, n, c)` -> the same shape.

    >>> at = differentiable(Discretization.uniform((2, 2)))
    >>> laplacian((at.points**2).sum(1, keepdim=True), at)[:, 0].tolist()
    [4.0, 4.0, 4.0, 4.0]
    """
    total = torch.zeros_like(values)
    for j, first in enumerate(gradient(values, at).unbind(-1)):
        second = _gradient(first, at)  # none where values are linear
        total = total if second is None else total + second[..., j]
    return total

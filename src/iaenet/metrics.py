"""How far a predicted function is from the true one.

All measures take fields of one function `(n, c)` or of b functions `(b, n, c)` and compute in float64, without
gradients (`iaenet.loss` has those). A target, or a channel of it, that is zero everywhere has no relative error: its
error is then absolute.
"""

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field


def function_l2(prediction: Field, target: Field) -> Tensor:
    """`||p - t|| / ||t||` by quadrature over all channels: a number, or `(b,)`.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(5)
    >>> true = Field(grid, torch.ones(5, 2))
    >>> function_l2(Field(grid, 1.5 * true.values), true).item(), function_l2(true, true).item()
    (0.5, 0.0)
    """
    weights, error, size = _terms(prediction, target)
    return torch.sqrt((weights @ error**2).sum(-1) / _or_one((weights @ size**2).sum(-1)))


def channel_l2(prediction: Field, target: Field) -> Tensor:
    """`||p_c - t_c|| / ||t_c||` by quadrature for each channel c: `(c,)`, or `(b, c)`.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(5)
    >>> true = Field(grid, torch.ones(5, 2))
    >>> channel_l2(Field(grid, true.values * torch.tensor([1.5, 1.0])), true).tolist()
    [0.5, 0.0]
    """
    weights, error, size = _terms(prediction, target)
    return torch.sqrt((weights @ error**2) / _or_one(weights @ size**2))


def relative_max(prediction: Field, target: Field) -> Tensor:
    """`max |p(x_i) - t(x_i)| / max |t(x_i)|` over points and channels: a number, or `(b,)`.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(2)
    >>> true = Field(grid, torch.tensor([[2.0], [4.0]]))
    >>> relative_max(Field(grid, torch.tensor([[2.0], [3.0]])), true).item()
    0.25
    """
    _, error, size = _terms(prediction, target)
    return error.abs().amax((-2, -1)) / _or_one(size.abs().amax((-2, -1)))


def rmse(prediction: Field, target: Field) -> Tensor:
    """`(int |p_c - t_c|^2 dx / |Omega|)^(1/2)` for each channel c, in its own unit: `(c,)`, or `(b, c)`.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(5, bounds=[[0, 10]])
    >>> rmse(Field(grid, torch.full((5, 1), 3.0)), Field(grid, torch.ones(5, 1))).tolist()
    [2.0]
    """
    weights, error, _ = _terms(prediction, target)
    return torch.sqrt((weights @ error**2) / _or_one(weights.sum()))


def _terms(prediction: Field, target: Field) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, difference and target."""
    if prediction.values.shape != target.values.shape:
        raise InvalidInputError(
            f"prediction {tuple(prediction.values.shape)} and target {tuple(target.values.shape)} differ in shape"
        )
    true = target.values.detach().double()
    return target.discretization.weights.to(true), prediction.values.detach().double() - true, true


def _or_one(size: Tensor) -> Tensor:
    return torch.where(size > 0, size, torch.ones_like(size))

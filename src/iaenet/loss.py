"""Losses and error measures between functions."""

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field


def relative_l2(prediction: Field, target: Field) -> Tensor:
    """`||p - t|| / ||t||` with `||f||^2 = int |f(x)|^2 dx` by quadrature, over all channels; one number per function.

    The paper's formula (eq. l2loss) shows squares, its figures are unsquared; so is this.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(5)
    >>> one = Field(grid, torch.ones(5, 1))
    >>> round(relative_l2(Field(grid, 1.1 * one.values), one).item(), 3)
    0.1
    """
    if prediction.values.shape != target.values.shape:
        raise InvalidInputError(
            f"prediction {tuple(prediction.values.shape)} and target {tuple(target.values.shape)} differ in shape"
        )
    weights = target.discretization.weights
    weights = (weights / weights.sum()).to(target.values)
    # In units of the largest value: squares of 1e-20 or 1e20 are none in float32.
    unit = target.values.abs().amax(dim=(-2, -1), keepdim=True)
    unit = torch.where(unit > 0, unit, torch.ones_like(unit))
    error = (weights @ ((prediction.values - target.values) / unit) ** 2).sum(dim=-1)
    size = (weights @ (target.values / unit) ** 2).sum(dim=-1)
    # A target that is zero everywhere has no relative error: its error is then absolute. The clamp keeps the gradient
    # finite where the prediction is exact.
    tiny = torch.finfo(error.dtype).tiny
    return torch.sqrt(error.clamp_min(tiny) / torch.where(size > 0, size, torch.ones_like(size)))

"""How far a predicted function is from the true one.

All measures take fields of one function `(n, c)` or of b functions `(b, n, c)`. A target, or a channel of it, that is
zero everywhere has no relative error: its error is then absolute. `relative_l2` is also the loss of a training, in the
precision of the values; the others compute in float64, without gradients.
"""

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field


def relative_l2(prediction: Field, target: Field, *, by_channel: bool = False) -> Tensor:
    """`||p - t|| / ||t||` with `||f||^2 = int |f(x)|^2 dx` by quadrature, over all channels: a number, or `(b,)`.

    The paper's formula (eq. l2loss) shows squares, its figures are unsquared; so is this. `by_channel` gives the mean
    of the channels' own relative errors instead, for channels of different units.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(5)
    >>> true = Field(grid, torch.ones(5, 2))
    >>> relative_l2(Field(grid, 1.5 * true.values), true).item(), relative_l2(true, true).item()
    (0.5, 0.0)
    >>> large = Field(grid, torch.tensor([1.0, 1000.0]).expand(5, 2))
    >>> lost = Field(grid, torch.tensor([0.0, 1000.0]).expand(5, 2))
    >>> round(relative_l2(lost, large).item(), 3), relative_l2(lost, large, by_channel=True).item()
    (0.001, 0.5)
    """
    _check_shapes(prediction, target)
    # In units of the largest value: squares of 1e-20 or 1e20 are none in float32.
    unit = _or_one(target.values.abs().amax(dim=-2 if by_channel else (-2, -1), keepdim=True))
    difference = (prediction.values - target.values) / unit
    weights = target.discretization.weights
    weights = (weights / weights.sum()).to(difference)
    error = weights @ difference**2
    size = weights @ (target.values / unit).to(difference) ** 2
    if not by_channel:
        error, size = error.sum(dim=-1, keepdim=True), size.sum(dim=-1, keepdim=True)
    # The clamp keeps the gradient finite where the prediction is exact.
    root = torch.sqrt(error.clamp_min(torch.finfo(error.dtype).tiny) / _or_one(size))
    return torch.where(error > 0, root, 0 * root).mean(dim=-1)


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
    _check_shapes(prediction, target)
    true = target.values.detach().double()
    return target.discretization.weights.to(true), prediction.values.detach().double() - true, true


def _or_one(size: Tensor) -> Tensor:
    return torch.where(size > 0, size, torch.ones_like(size))


def _check_shapes(prediction: Field, target: Field) -> None:
    if prediction.values.shape != target.values.shape:
        raise InvalidInputError(
            f"prediction {tuple(prediction.values.shape)} and target {tuple(target.values.shape)} differ in shape"
        )

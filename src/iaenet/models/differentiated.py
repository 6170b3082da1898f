"""Derivatives of a model's output at the query points as further channels of it, for inference."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.func import functional_call

from iaenet.errors import InvalidInputError, no_such
from iaenet.functions.derivatives import differentiable, gradient, laplacian
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.models.base import Given, Model
from iaenet.models.ensemble import Ensemble
from iaenet.models.operator import Operator

Derivative = Literal["gradient", "laplacian"]
MOST = 2**12  # points of a call, all functions together: the graph of D at these is kept in memory


class Differentiated(nn.Module):
    """`a -> (u, du_1/dx_1, .., du_1/dx_d, du_2/dx_1, .., Lap u_1, .., Lap u_c)` at the query points, as channels.

    u is `model(a, at)`, of whose channels the first c are differentiated. As automatic differentiation goes through D
    and what comes after it alone, weights have no gradient here. Models are pointwise in the query points, so that
    these can be taken some at a time. Under `no_grad`, as in `infer`, only derivatives by points are made.

    >>> from iaenet import IAENet
    >>> model = Differentiated(IAENet(1, 1, blocks=1), ["gradient", "laplacian"], channels=1)
    >>> grid = Discretization.uniform(16)
    >>> model(Field(grid, grid.points.float()), Discretization.points([[0.2], [0.7]])).values.shape
    torch.Size([2, 3])
    """

    def __init__(self, model: nn.Module, which: Sequence[Derivative], channels: int) -> None:
        super().__init__()
        self.model, self.which, self.channels = model, tuple(which), channels

    def forward(self, field: Any, at: Any = None) -> Any:
        """The output function of each input function with its derivatives, on its own points or `at` others."""
        if not isinstance(field, Sequence):
            return self._one(field, field.discretization if at is None else at)
        targets = [one.discretization for one in field] if at is None else at
        return [self._one(one, target) for one, target in zip(field, targets, strict=True)]

    def _one(self, given: Given, at: Discretization) -> Field:
        weights = {name: each.detach() for name, each in self.model.named_parameters()}
        step = max(1, MOST // given.count)
        parts = [at] if at.n <= step else [_some(at, slice(i, i + step)) for i in range(0, at.n, step)]
        return Field.unchecked(at, torch.cat([self._part(given, part, weights) for part in parts], dim=-2))

    @torch.enable_grad()
    def _part(self, given: Given, at: Discretization, weights: dict[str, Tensor]) -> Tensor:
        x = differentiable(at)
        found: Tensor = functional_call(self.model, weights, (given, x)).values
        u = found[..., : self.channels]
        made = [found.detach()]
        if "gradient" in self.which:
            made.append(gradient(u, x).flatten(-2).detach())
        if "laplacian" in self.which:
            made.append(laplacian(u, x).detach())
        return torch.cat(made, dim=-1)

    def split(self, found: Field) -> tuple[Field, dict[Derivative, Field]]:
        """An output as that of the model alone, and each of the derivatives."""
        at = found.discretization
        sizes = [self.channels * (at.dim if name == "gradient" else 1) for name in self.which]
        own, *parts = found.values.split([found.channels - sum(sizes), *sizes], dim=-1)
        slopes = {name: Field.unchecked(at, part) for name, part in zip(self.which, parts, strict=True)}
        return Field.unchecked(at, own), slopes


def differentiated(operator: Operator, which: Sequence[str], model: nn.Module | None = None) -> Differentiated:
    """What gives the output of an operator with derivatives; of `model` instead, whose first channels it has.

    >>> from iaenet import IAENet
    >>> from iaenet.functions.normalizer import Normalizer
    >>> same = Normalizer([0.0], [1.0])
    >>> differentiated(Operator(IAENet(1, 1, blocks=1), same, same), ["laplacian"]).which
    ('laplacian',)
    """
    known = get_args(Derivative)
    for name in which:
        if name not in known:
            raise InvalidInputError(no_such("derivative", name, known))
    for one in operator.members if isinstance(operator, Ensemble) else [operator]:
        network = one.network
        if isinstance(network, Model) and not network.accepts.query_points:
            raise InvalidInputError(
                f"a {type(network).__name__} has no derivatives at points: it gives its output at the points of its "
                "input, or as a vector; models that take query points have them, such as iaenet and fno"
            )
    chosen: list[Any] = [name for name in known if name in which]
    return Differentiated(operator if model is None else model, chosen, len(operator.output_normalizer.mean))


def _some(at: Discretization, rows: slice) -> Discretization:
    """Some of the points; as query points they need no weights."""
    points = at.points[rows]
    return Discretization(points, torch.ones_like(points[:, 0]), at.bounds, at.periodic)

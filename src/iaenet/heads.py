"""Functions to vectors and vectors to functions: IAE-Net composed with a network of fixed size."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from iaenet.discretization import Discretization
from iaenet.errors import InvalidInputError
from iaenet.field import Field
from iaenet.iae_net import IAENet
from iaenet.pointwise import linear


class FunctionToVector(nn.Module):
    """`y = N(1/|Omega| int Psi(f)(x) dx)`: features of a function, integrated, then a network of fixed size.

    Further options are those of `IAENet`.

    >>> model = FunctionToVector(in_channels=1, outputs=3)
    >>> grid = Discretization.uniform(50)
    >>> model(Field(grid, torch.rand(8, 50, 1))).shape
    torch.Size([8, 3])
    """

    def __init__(self, in_channels: int, outputs: int, *, features: int = 64, **options: Any) -> None:
        super().__init__()
        self.network = IAENet(in_channels, features, **options)
        self.head = nn.Sequential(linear(features, features), nn.GELU(), linear(features, outputs))

    def forward(self, field: Field | Sequence[Field]) -> Tensor:
        """A field -> `(outputs,)` or `(b, outputs)`; a list of fields -> `(b, outputs)`."""
        if isinstance(field, Field):
            found = self.network(field)
            return self.head(_mean(found))
        return self.head(torch.cat([torch.atleast_2d(_mean(f)) for f in self.network(list(field))]))


class VectorToFunction(nn.Module):
    """`g = Psi(N(y))`: a vector becomes constant functions, from which IAE-Net makes a function at any points.

    Further options are those of `IAENet`.

    >>> model = VectorToFunction(inputs=3, out_channels=1)
    >>> model(torch.rand(8, 3), at=Discretization.uniform(50)).values.shape
    torch.Size([8, 50, 1])
    """

    def __init__(self, inputs: int, out_channels: int, *, features: int = 64, **options: Any) -> None:
        super().__init__()
        self.inputs = inputs
        self.head = nn.Sequential(linear(inputs, features), nn.GELU(), linear(features, features))
        self.network = IAENet(features, out_channels, **options)

    def forward(self, vector: Tensor, at: Discretization) -> Field:
        """Vectors `(inputs,)` or `(b, inputs)` -> the function at the points of `at`."""
        if vector.ndim not in (1, 2) or vector.shape[-1] != self.inputs:
            raise InvalidInputError(f"expected vectors of {self.inputs} numbers, got shape {tuple(vector.shape)}")
        features = self.head(vector)[..., None, :]
        return self.network(Field.unchecked(at, features.expand(*features.shape[:-2], at.n, -1)))


def _mean(field: Field) -> Tensor:
    return field.discretization.integrate(field.values) / field.discretization.volume

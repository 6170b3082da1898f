"""Functions to vectors and vectors to functions: IAE-Net composed with a network of fixed size."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.models.base import Accepts, Model, Pair, infer_shape
from iaenet.models.iae_net import IAENet
from iaenet.nn.pointwise import linear


class FunctionToVector(Model):
    """`y = N(1/|Omega| int Psi(f)(x) dx)`: features of a function, integrated, then a network of fixed size.

    Args:
        in_channels: components of the input function.
        outputs: numbers in y.
        features: functions that are integrated, and width of N.
        options: those of `IAENet`.

    >>> model = FunctionToVector(in_channels=1, outputs=3)
    >>> grid = Discretization.uniform(50)
    >>> model(Field(grid, torch.rand(8, 50, 1))).shape
    torch.Size([8, 3])
    """

    accepts = Accepts(resolutions=True, points=True, query_points=False)

    def __init__(self, in_channels: int, outputs: int, *, features: int = 64, **options: Any) -> None:
        super().__init__()
        self.network = IAENet(in_channels, features, **options)
        self.options |= {key: self.network.options[key] for key in ("branches", "head")}  # names and numbers
        self.head = nn.Sequential(linear(features, features), nn.GELU(), linear(features, outputs))

    @classmethod
    def for_data(cls, data: Sequence[Pair], **options: Any) -> "FunctionToVector":
        """A network for pairs whose outputs are vectors, given as functions on a single point."""
        shape = infer_shape(data)
        return cls(shape["in_channels"], shape["out_channels"], dim=shape["dim"], periodic=shape["periodic"], **options)

    def forward(self, field: Field | Sequence[Field], at: Any = None) -> Any:
        """A field -> `(outputs,)` or `(b, outputs)`; a list of fields -> `(b, outputs)`.

        With `at`, a discretization of one point for each field, vectors come as functions on that point: so they are
        stored in data files, and trained like any other output.
        """
        if at is not None:
            return self._on_points([field] if isinstance(field, Field) else list(field), at, isinstance(field, Field))
        if isinstance(field, Field):
            return self.head(_mean(self.network(field)))
        return self.head(torch.cat([torch.atleast_2d(_mean(f)) for f in self.network(list(field))]))

    def _on_points(self, fields: list[Field], at: Any, single: bool) -> Any:
        places = [at] if single else list(at)
        if any(place.n != 1 for place in places) or len(places) != len(fields):
            raise InvalidInputError("a vector is asked for on one point for each field, not on a grid")
        found = [
            Field.unchecked(place, self.head(_mean(f))[..., None, :])
            for place, f in zip(places, self.network(fields), strict=True)
        ]
        return found[0] if single else found


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

"""Transolver (Wu et al., ICML 2024, arXiv 2402.02366): attention among learned slices of the points."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization, Periodic
from iaenet.models.base import Accepts, Model, Pair, Presets, infer_shape, preset_options
from iaenet.nn.pointwise import full_precision, linear

TEMPERATURE = 0.5  # at first, as in the authors' program
BETWEEN = (0.1, 5.0)  # the temperature is kept, as in their program for structured meshes
TINY = 1e-5  # added to the size of a slice, as in their program: an empty one has token 0

# Sizes by dimension. "paper" has those of the authors' programs: up to 2-D for elasticity,
# airfoil and Darcy, in 3-D for cars.
PRESETS: Presets = {
    "default": {1: {"width": 64, "layers": 4, "heads": 4, "slices": 32}},
    "paper": {
        1: {"width": 128, "layers": 8, "heads": 8, "slices": 64},
        2: {"width": 128, "layers": 8, "heads": 8, "slices": 64},
        3: {"width": 256, "layers": 8, "heads": 8, "slices": 32, "mlp_ratio": 2},
    },
}


class PhysicsAttention(nn.Module):
    """Attention among M slices of the points; in each head, with learned matrices S, P, F, Q, K, V,

        w_ij = softmax_j(S P x_i / temperature)            slice weights of point i, j = 1 .. M
        z_j  = sum_i w_ij F x_i / sum_i w_ij               token of slice j
        z'_j = sum_l softmax_l(Q z_j . K z_l / sqrt(e)) V z_l
        y_i  = sum_j w_ij z'_j                             back to the points,

    and the heads' y, side by side, go through a linear layer. The sums over i are plain ones, without quadrature
    weights, as published: where points are dense they count more. S, Q, K and V are shared by the heads. The cost is
    linear in the number of points.

    Args:
        width: channels c of the points' features.
        heads: number of heads, of `e = width / heads` channels each.
        slices: number M of slices.

    >>> attention = PhysicsAttention(width=16, heads=2, slices=4)
    >>> x = torch.randn(3, 50, 16)
    >>> attention(x).shape, attention.weights(x).shape
    (torch.Size([3, 50, 16]), torch.Size([3, 2, 50, 4]))
    """

    def __init__(self, width: int, heads: int, slices: int) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise InvalidInputError(f"{heads} heads cannot share {width} channels evenly")
        if slices < 1:
            raise InvalidInputError(f"there must be at least one slice, got {slices}")
        self.heads = heads
        size = width // heads
        self.place = linear(width, width)  # P
        self.feature = linear(width, width)  # F
        self.slice = linear(size, slices)  # S
        nn.init.orthogonal_(self.slice.weight)
        self.query, self.key, self.value = (linear(size, size, bias=False) for _ in range(3))
        self.merge = linear(width, width)
        self.temperature = nn.Parameter(torch.full((heads, 1, 1), TEMPERATURE))

    def forward(self, x: Tensor) -> Tensor:
        """Features `(b, n, c)` -> `(b, n, c)`."""
        w = self.weights(x)
        tokens = w.mT @ self._heads(self.feature(x)) / (w.sum(2)[..., None] + TINY)  # (b, h, M, e)
        q, k, v = self.query(tokens), self.key(tokens), self.value(tokens)
        among = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)  # (b, h, M, M)
        y = w @ (among @ v)  # (b, h, n, e)
        return self.merge(y.transpose(1, 2).flatten(2))

    def weights(self, x: Tensor) -> Tensor:
        """Slice weights `(b, h, n, M)` of features `(b, n, c)`; those of a point add up to one."""
        return torch.softmax(self.slice(self._heads(self.place(x))) / self.temperature.clamp(*BETWEEN), dim=-1)

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)  # (b, h, n, e)


class TransolverLayer(nn.Module):
    """`y = x + attention(LayerNorm(x))`, `x' = y + MLP(LayerNorm(y))`: features `(b, n, c)` -> `(b, n, c)`.

    >>> TransolverLayer(16, heads=2, slices=4)(torch.randn(3, 50, 16)).shape
    torch.Size([3, 50, 16])
    """

    def __init__(self, width: int, heads: int, slices: int, mlp_ratio: int = 1) -> None:
        super().__init__()
        self.norm_attention = nn.LayerNorm(width)
        self.attention = PhysicsAttention(width, heads, slices)
        self.norm_mlp = nn.LayerNorm(width)
        inner = mlp_ratio * width
        self.mlp = nn.Sequential(linear(width, inner), nn.GELU(), linear(inner, width))

    def forward(self, x: Tensor) -> Tensor:
        """The layer's output at every point."""
        y = x + self.attention(self.norm_attention(x))
        return y + self.mlp(self.norm_mlp(y))


class Transolver(Model):
    """`x_0 = MLP(a(x), x)`, `x_{l+1} = layer_l(x_l)`, `u = W LayerNorm(x_L)` at the points of the input.

    A point enters by its values and its coordinates in the unit box, and meets the others in `PhysicsAttention` alone.
    Any points in any order are taken, and the output is at these points: the network does not say what lies between.
    Sums over points are plain, so that a function given on points of another distribution is another input to it.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim, periodic: of the domain; coordinates of a periodic axis, too, enter as they are.
        width: channels of the intermediate features.
        layers: number of layers.
        heads: heads of the attention; a divisor of `width`.
        slices: slices M of the points in each head.
        mlp_ratio: width of the MLPs' hidden layers, as a multiple of `width`.

    >>> from iaenet.functions.field import Field
    >>> points = Discretization.points(torch.rand(50, 2))
    >>> model = Transolver(1, 2, dim=2)
    >>> model(Field(points, torch.rand(50, 1))).values.shape
    torch.Size([50, 2])
    >>> sum(parameter.numel() for parameter in model.parameters())
    98514
    """

    accepts = Accepts(resolutions=True, points=True, query_points=False)
    presets: ClassVar[Presets] = PRESETS

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        width: int = 64,
        layers: int = 4,
        heads: int = 4,
        slices: int = 32,
        mlp_ratio: int = 1,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.periodic = (periodic,) * dim if isinstance(periodic, bool) else tuple(periodic)
        if len(self.periodic) != dim:
            raise InvalidInputError(f"periodic must be one flag or {dim} of them, got {len(self.periodic)}")
        self.lift = nn.Sequential(linear(in_channels + dim, 2 * width), nn.GELU(), linear(2 * width, width))
        self.layers = nn.Sequential(*(TransolverLayer(width, heads, slices, mlp_ratio) for _ in range(layers)))
        self.project = nn.Sequential(nn.LayerNorm(width), linear(width, out_channels))

    @classmethod
    def for_data(cls, data: Sequence[Pair], *, preset: str = "default", **options: Any) -> "Transolver":
        """A network for such pairs, of a size from `PRESETS`; options change it."""
        shape = infer_shape(data)
        return cls(**shape, **preset_options(cls.presets, preset, shape["dim"]) | options)

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values `(b, n, c)` -> `(b, n, c')` at the same points."""
        if source.periodic != self.periodic:
            raise InvalidInputError(
                f"input is on a domain with periodic axes {source.periodic}, "
                f"the network was built for {self.periodic} in {len(self.periodic)}-D"
            )
        if target.key != source.key:
            raise InvalidInputError(
                f"output is asked for on {target}, but the network gives it on the input's own grid or points; leave "
                "`at` out, or interpolate the output"
            )
        low, high = source.bounds.unbind(1)
        coordinates = ((source.points - low) / (high - low)).to(values).expand(len(values), -1, -1)
        with full_precision(values):
            return self.project(self.layers(self.lift(torch.cat([values, coordinates], dim=-1))))

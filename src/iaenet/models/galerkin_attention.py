"""Attention without softmax (Cao 2021, arXiv 2105.14995): an integral operator whose kernel has finite rank."""

import math

import torch
from torch import Tensor, nn

from iaenet.nn.kernels import Sites

# W = DIAGONAL I + SPREAD Xavier: queries, keys and values are all nearly the input at first, in proportion.
DIAGONAL = 1e-2
SPREAD = 1e-3


class HeadNorm(nn.Module):
    """Layer normalisation of each head by itself: values `(..., h, e)` over e."""

    def __init__(self, heads: int, size: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(heads, size))
        self.shift = nn.Parameter(torch.zeros(heads, size))

    def forward(self, values: Tensor) -> Tensor:
        """Values of mean 0 and variance 1, scaled and shifted."""
        return nn.functional.layer_norm(values, values.shape[-1:]) * self.scale + self.shift


class Attention(nn.Module):
    """`z(x) = scale q(x)^T int k(y) v(y)^T dy`, with q, k, v = (coordinates, W a), in each of `heads` parts of `width`.

    The integral is a quadrature over the grid's points; on a periodic grid its weights are 1/n, as in the paper. Since
    there is no softmax, `(Q K^T) V = Q (K^T V)`: the order is a matter of cost, and the right one is
    linear in n. Subclasses say which of q, k, v are normalised.
    """

    def __init__(self, width: int, heads: int, coordinates: int) -> None:
        super().__init__()
        self.heads = heads
        self.size = width // heads
        self.query, self.key, self.value = (_diagonal(width) for _ in range(3))
        self.merge = nn.Linear(width + heads * coordinates, width)
        self.norm_query: nn.Module = nn.Identity()
        self.norm_key: nn.Module = HeadNorm(heads, self.size)
        self.norm_value: nn.Module = nn.Identity()
        self.scale = 1.0

    def forward(self, a: Tensor, sites: Sites) -> Tensor:
        """Values `(b, n, c)` -> the heads' z, merged, `(b, n, c)`."""
        k = self._heads(self.norm_key, self.key, a, sites)
        v = self._heads(self.norm_value, self.value, a, sites)
        moments = k.permute(0, 2, 3, 1) @ (sites.weights[:, None] * v.transpose(1, 2))  # (b, h, e, e)
        merge = self.merge.weight.unflatten(1, moments.shape[1:3])  # (c, h, e)
        code = self.scale * torch.einsum("bhkv,chv->bhkc", moments, merge).flatten(1, 2)
        return self._heads(self.norm_query, self.query, a, sites).flatten(2) @ code + self.merge.bias

    def _heads(self, norm: nn.Module, layer: nn.Module, a: Tensor, sites: Sites) -> Tensor:
        """Coordinates and `norm(W a)` for each head: `(b, n, h, e)`."""
        values = norm(layer(a).unflatten(2, (self.heads, self.size)))
        coordinates = sites.coordinates[:, None].expand(*values.shape[:-1], -1)
        return torch.cat([coordinates, values], dim=-1)


class GalerkinAttention(Attention):
    """Keys and values normalised: `z = Q (K~^T V~) / n`, a Petrov-Galerkin projection."""

    def __init__(self, width: int, heads: int, coordinates: int) -> None:
        super().__init__(width, heads, coordinates)
        self.norm_value = HeadNorm(heads, self.size)


class FourierAttention(Attention):
    """Queries and keys normalised: `z = (Q~ K~^T) V / (n sqrt e)`, an integral with kernel `q(x)^T k(y)`."""

    def __init__(self, width: int, heads: int, coordinates: int) -> None:
        super().__init__(width, heads, coordinates)
        self.norm_query = HeadNorm(heads, self.size)
        self.scale = 1 / math.sqrt(self.size + coordinates)  # as his program has it; the paper writes 1 / n alone


class EncoderLayer(nn.Module):
    """`b = a + attention(a)`, `a' = b + MLP(b)`."""

    def __init__(self, attention: Attention, width: int) -> None:
        super().__init__()
        self.attention = attention
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, a: Tensor, sites: Sites) -> Tensor:
        """Values `(b, n, c)` -> `(b, n, c)`."""
        b = a + self.attention(a, sites)
        return b + self.mlp(b)


def _diagonal(width: int) -> nn.Linear:
    """A linear layer that starts near a small multiple of the identity."""
    layer = nn.Linear(width, width)
    nn.init.xavier_uniform_(layer.weight, gain=SPREAD)
    with torch.no_grad():
        layer.weight += DIAGONAL * torch.eye(width)
    nn.init.zeros_(layer.bias)
    return layer

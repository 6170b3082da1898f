"""Products with kernel features that never exist as a whole.

`h(x) = gelu(LN(z(x))) in R^r` is the widest tensor of a layer, needed only for `sum_i h(x_i) w_i^T` or `h(x_i)^T u`.
Here it is made a piece at a time, small enough for the cache, and made again for the backward pass. Plain autograd
would keep z, LN(z) and h; here only z is kept.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

EPS = 1e-5
Piece = tuple[slice, slice]  # samples, points


def pieces(b: int, n: int, r: int, device: torch.device) -> Iterator[Piece]:
    """Pieces of a batch with about 2^18 features on a CPU (1 MiB, a cache's worth), 2^26 elsewhere."""
    budget = 2**18 if device.type == "cpu" else 2**26
    rows = max(1, min(n, budget // r))
    samples = max(1, budget // (n * r))
    for i in range(0, b, samples):
        for k in range(0, n, rows):
            yield slice(i, min(i + samples, b)), slice(k, min(k + rows, n))


class _FeatureProduct(torch.autograd.Function):
    """`h^T w` (`moments`, other = w `(b, n, c)`) or `h u` (expansion, other = u `(b, r, c)`)."""

    @staticmethod
    def forward(z: Tensor, scale: Tensor, shift: Tensor, other: Tensor, moments: bool) -> Tensor:
        (b, n, r), c = z.shape, other.shape[-1]
        out = other.new_zeros(b, r, c) if moments else other.new_empty(b, n, c)
        for some, rows in pieces(b, n, r, z.device):
            h = torch.nn.functional.gelu(torch.layer_norm(z[some, rows], scale.shape, scale, shift, EPS))
            if moments:
                out[some].baddbmm_(h.transpose(1, 2), other[some, rows])
            else:
                torch.bmm(h, other[some], out=out[some, rows])
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG004 - autograd's signature
        *tensors, ctx.moments = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        z, scale, shift, other = ctx.saved_tensors
        d_z = torch.empty_like(z)
        d_other = torch.empty_like(other) if ctx.moments else torch.zeros_like(other)
        d_scale, d_shift = torch.zeros_like(scale), torch.zeros_like(shift)
        for some, rows in pieces(z.shape[0], z.shape[1], z.shape[2], z.device):
            piece = z[some, rows]
            normal, mean, spread = torch.native_layer_norm(piece, scale.shape, scale, shift, EPS)
            h = torch.nn.functional.gelu(normal)
            if ctx.moments:
                torch.bmm(h, gradient[some], out=d_other[some, rows])
                d_h = other[some, rows] @ gradient[some].transpose(1, 2)
            else:
                d_other[some].baddbmm_(h.transpose(1, 2), gradient[some, rows])
                d_h = gradient[some, rows] @ other[some].transpose(1, 2)
            d_normal = torch.ops.aten.gelu_backward(d_h, normal)
            d_z[some, rows], more_scale, more_shift = torch.ops.aten.native_layer_norm_backward(
                d_normal, piece, list(scale.shape), mean, spread, scale, shift, [True, True, True]
            )
            d_scale += more_scale
            d_shift += more_shift
        return d_z, d_scale, d_shift, d_other, None


def moments(z: Tensor, scale: Tensor, shift: Tensor, weighted: Tensor) -> Tensor:
    """`sum_i h(x_i) w_i a(x_i)^T`: z `(b, n, r)`, weighted values `(b, n, c)` -> `(b, r, c)`."""
    product: Tensor = _FeatureProduct.apply(z, scale, shift, weighted, True)
    return product


def expansion(z: Tensor, scale: Tensor, shift: Tensor, code: Tensor) -> Tensor:
    """`h(x_i)^T u`: z `(b, n, r)`, code `(b, r, c)` -> `(b, n, c)`."""
    product: Tensor = _FeatureProduct.apply(z, scale, shift, code, False)
    return product

"""The IAE block: integral autoencoders in several domains at once, merged point by point."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Literal

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.nn.branches import Branch, BranchLayer
from iaenet.nn.pointwise import full_precision, linear
from iaenet.nn.transform import Grid

Skips = Literal["dense", "residual", "none"]


class IAEBlock(nn.Module):
    """`a_i = sigma(M([a, Phi_1(a), F^-1 Phi_2(F a), ...]))`, `a = M_i([a_0 .. a_{i-1}])` (eqs. multichannel, densenet).

    The input a itself goes into the merge M beside the branches, as in the authors' implementation. M is linear: the
    hidden layer of the paper's M costs about half a block (docs/maths.md).

    Args:
        channels: components of the function.
        grid: where it is known.
        branches: one or more of `nn.branches`.
        skips: "dense" gathers `inputs` earlier outputs (eq. densenet); "residual" adds the input to the output,
            `a_i = a_{i-1} + sigma(...)` (eq. resnet); "none" does neither.
        inputs: how many earlier outputs there are.

    >>> from iaenet.nn.branches import SpectralConv
    >>> block = IAEBlock(8, Grid((16,), (True,)), [SpectralConv(4)])
    >>> block([torch.rand(2, 16, 8)]).shape
    torch.Size([2, 16, 8])
    """

    def __init__(
        self, channels: int, grid: Grid, branches: Sequence[Branch], *, skips: Skips = "none", inputs: int = 1
    ) -> None:
        super().__init__()
        if skips not in ("dense", "residual", "none"):
            raise InvalidInputError(f"skips must be 'dense', 'residual' or 'none', got {skips!r}")
        for one in branches:
            if not isinstance(one, Branch):
                raise InvalidInputError(f"expected a branch, got {one!r}")
        self.channels = channels
        self.residual = skips == "residual"
        self.gather: Sequence[nn.Linear] | None = None
        if skips == "dense" and inputs > 1:
            gather = [linear(channels, channels, terms=inputs, bias=i == 0) for i in range(inputs)]
            self.gather = nn.ModuleList(gather)  # type: ignore[assignment]
            self.gather_out = linear(channels, channels)
        self.branches: Sequence[BranchLayer] = nn.ModuleList(  # type: ignore[assignment]
            one.build(channels, grid) for one in branches
        )
        self.merge = linear(channels * (1 + len(branches)), channels)
        with torch.no_grad():
            self.merge.weight[:, channels:] *= 0.25  # branches join gently, see docs/maths.md

    def forward(self, history: Sequence[Tensor]) -> Tensor:
        """Earlier outputs `(b, s, c)`, oldest first -> `(b, s, c)`."""
        a = history[-1]
        if self.gather is not None:
            # A linear layer on concatenated channels is a sum of linear layers; the A_j are part of them.
            a = self.gather_out(nn.functional.gelu(_sum_of(self.gather, history)))
        flat = a.flatten(0, 1)
        own, *weights = self.merge.weight.split(self.channels, dim=1)
        with full_precision(a):
            total = nn.functional.linear(flat, own, self.merge.bias)
        for branch, weight in zip(self.branches, weights, strict=True):
            with nullcontext() if branch.autocast else full_precision(a):
                code, memory = branch.encode(a)
            with full_precision(code):
                merged = code @ weight.T  # M on codes: branches decode linearly, channel by channel
            total += branch.decode(merged, memory).flatten(0, 1)  # in place: fresh memory is expensive
        found = nn.functional.gelu(total).view_as(a)
        return history[-1] + found if self.residual else found


def _sum_of(layers: Sequence[nn.Linear], inputs: Sequence[Tensor]) -> Tensor:
    """`sum_j A_j a_j`, added up in place (and not in a view, of which autograd would copy the gradient each time)."""
    with full_precision(inputs[0]):
        total: Tensor = layers[0](inputs[0].flatten(0, 1))
        for layer, value in zip(layers[1:], inputs[1:], strict=True):
            total.addmm_(value.flatten(0, 1), layer.weight.T)
    return total.view(*inputs[0].shape[:2], -1)

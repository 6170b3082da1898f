"""Pointwise linear layers: how they start, and what stays in full precision under autocast.

Only the kernel networks, whose `(n, r)` features are the widest tensors, follow autocast. Sums over points, latent
values and the functions' own values cancel and add up over layers: in bfloat16 they would cost percents.
"""

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

# Root mean square of gelu(z) is 0.65 for standard normal z: this undoes it.
GAIN = 1.5


def full_precision(like: Tensor) -> AbstractContextManager[Any]:
    """A context without autocast on the device of `like`."""
    kind = like.device.type
    return torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()


class FullLinear(nn.Linear):
    """A pointwise linear layer in the precision of its weights."""

    def forward(self, input: Tensor) -> Tensor:
        """Values `(..., c)` -> `(..., c')`."""
        with full_precision(input):
            return super().forward(input.to(self.weight.dtype))


def linear(channels_in: int, channels_out: int, *, terms: int = 1, bias: bool = True) -> nn.Linear:
    """A pointwise linear layer that keeps amplitudes: standard deviation 1 / sqrt(fan-in * terms), zero bias.

    PyTorch's default shrinks a signal by 0.58 a layer; after four blocks nothing of the input would be left at first.
    `terms` is how many such layers are summed. What GELU takes away is not made up for (docs/maths.md, no. 8).
    """
    layer = FullLinear(channels_in, channels_out, bias=bias)
    nn.init.normal_(layer.weight, std=1 / math.sqrt(channels_in * terms))
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


class ChannelMLP(nn.Module):
    """`v + B sigma(A v)` over channels, the same at every point (eq. mlp)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.hidden = linear(channels, channels)
        self.out = linear(channels, channels)

    def forward(self, v: Tensor) -> Tensor:
        """Values `(..., c)` -> `(..., c)`."""
        return v + self.out(nn.functional.gelu(self.hidden(v)))

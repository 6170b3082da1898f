"""What stays in full precision under autocast.

Only the kernel networks, whose `(n, r)` features are the widest tensors, follow autocast. Sums over points, latent
values and the functions' own values cancel and add up over layers: in bfloat16 they would cost percents.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn


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

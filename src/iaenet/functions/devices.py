"""What devices can hold. Coordinates, weights and the projection are float64; some devices have no such numbers."""

import torch
from torch import nn

from iaenet.errors import InvalidInputError

NO_FLOAT64 = frozenset({"mps"})


def holds_float64(device: torch.device | str) -> bool:
    """Whether a device has float64. On one that has not, discretizations stay on the CPU, and E and D work there.

    >>> holds_float64("cpu"), holds_float64("cuda:1"), holds_float64("mps")
    (True, True, False)
    """
    return torch.device(device).type not in NO_FLOAT64


def place(model: nn.Module, device: torch.device | str) -> None:
    """Move a network to a device, or say why it cannot be there."""
    if not holds_float64(device):
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            if tensor.dtype == torch.float64:
                raise InvalidInputError(
                    f"the network keeps {name} in float64, which {torch.device(device).type} has not; use the CPU"
                )
    model.to(device)

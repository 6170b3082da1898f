"""A smooth function for convergence tests: band-limited on periodic axes, analytic on closed ones."""

import math

import torch

from iaenet import Discretization, Field


def smooth(discretization: Discretization, dtype: torch.dtype = torch.float32) -> Field:
    """Five harmonics along each axis, multiplied."""
    value = torch.ones(discretization.n, dtype=torch.float64)
    for i, wraps in enumerate(discretization.periodic):
        x = (2 if wraps else 1.3) * math.pi * discretization.points[:, i] + 0.4 * i
        value = value * (torch.sin(x) + 0.5 * torch.cos(3 * x) + 0.2 * torch.sin(5 * x + 1))
    return Field(discretization, value[:, None].to(dtype))


def mismatch(coarse: torch.Tensor, fine: torch.Tensor) -> float:
    """Relative L2 difference on common points."""
    return ((coarse - fine).norm() / fine.norm()).item()

"""Coordinates as smooth features for networks that see where a value is."""

import math

import torch
from torch import Tensor

HARMONICS = {1: 1, 2: 3, 3: 2}  # frequencies in which coordinates enter a network, by dimension


def coordinate_features(x: Tensor, periodic: tuple[bool, ...], harmonics: int) -> Tensor:
    """Coordinates `(n, d)` in the unit box as smooth features `(n, f)`.

    A periodic axis enters as `cos 2 pi k x, sin 2 pi k x`, k = 1, 2, 4 ... (`harmonics` of them): a bare x jumps at
    the seam and drops every integral to first order. A closed axis enters as `2 x - 1` and, from the second harmonic
    on, `cos pi k x`.

    >>> coordinate_features(torch.tensor([[0.25]], dtype=torch.float64), (True,), 1).round(decimals=6).tolist()
    [[0.0, 1.0]]
    """
    parts = []
    for axis, wraps in enumerate(periodic):
        t = x[:, axis]
        if wraps:
            for j in range(harmonics):
                angle = 2 * math.pi * 2**j * t
                parts += [angle.cos(), angle.sin()]
        else:
            parts += [2 * t - 1] + [(math.pi * 2**j * t).cos() for j in range(harmonics - 1)]
    return torch.stack(parts, dim=1)


def coordinate_count(periodic: tuple[bool, ...], harmonics: int) -> int:
    """Number f of the features that `coordinate_features` makes."""
    return sum(2 * harmonics if wraps else harmonics for wraps in periodic)

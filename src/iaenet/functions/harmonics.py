"""Harmonics of a period, and their products: `b = 1, sqrt2 cos(2 pi k t), sqrt2 sin(2 pi k t)`, k = 1 .. modes."""

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor


def trigonometric(t: Tensor, modes: int) -> Tensor:
    """`1, sqrt2 cos(2 pi k t), sqrt2 sin(2 pi k t)`, k = 1 .. modes, at t `(..., n)` -> `(..., n, 2 modes + 1)`.

    >>> trigonometric(torch.tensor([0.25]), 2).round(decimals=3).tolist()
    [[1.0, -0.0, -1.4140000343322754, 1.4140000343322754, -0.0]]
    """
    one = torch.ones_like(t)[..., None]
    if not modes:
        return one
    angle, root = 2 * math.pi * t[..., None], math.sqrt(2)
    cosines, sines = root * angle.cos(), root * angle.sin()
    while cosines.shape[-1] < modes:  # angles k + m from k = 1 .. m and m: a few products instead of many cosines
        c, s = cosines[..., -1:] / root, sines[..., -1:] / root
        more = min(cosines.shape[-1], modes - cosines.shape[-1])
        a, b = cosines[..., :more], sines[..., :more]
        cosines = torch.cat([cosines, torch.addcmul(a * c, b, s, value=-1)], dim=-1)
        sines = torch.cat([sines, torch.addcmul(b * c, a, s)], dim=-1)
    return torch.cat([one, cosines, sines], dim=-1)


def narrower(functions: Tensor, modes: int) -> Tensor:
    """The functions `(n, 2 modes + 1)` of half as many harmonics, from `(n, 4 modes + 1)`."""
    return torch.cat([functions[:, : modes + 1], functions[:, 2 * modes + 1 : 3 * modes + 1]], dim=1)


@lru_cache(maxsize=64)
def product_table(modes: int) -> Tensor:
    """`b_k b_l = sum_m T_klm b_m`: `(2 modes + 1, 2 modes + 1, 4 modes + 1)`, at most two entries for each pair."""
    n, m = 2 * modes + 1, 4 * modes + 1
    table = np.zeros((n, n, m))
    cosine = lambda k: (abs(k), 1.0 if k else math.sqrt(2))  # noqa: E731 - index and size of sqrt2 cos in the wide set
    half = math.sqrt(0.5)
    for k in range(n):
        for j in range(n):
            a, b = (i if i <= modes else i - modes for i in (k, j))
            if k == 0 or j == 0:
                other = max(k, j)
                table[k, j, other if other <= modes else other - modes + 2 * modes] = 1.0
                continue
            sine_k, sine_j = k > modes, j > modes
            if sine_k == sine_j:
                for frequency, sign in ((a - b, 1.0), (a + b, -1.0 if sine_k else 1.0)):
                    index, size = cosine(frequency)
                    table[k, j, index] += half * sign * size
            else:
                s, c = (a, b) if sine_k else (b, a)
                for frequency in (s + c, s - c):
                    if frequency:
                        table[k, j, 2 * modes + abs(frequency)] += half * math.copysign(1.0, frequency)
    return torch.from_numpy(table)

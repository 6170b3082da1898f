"""Trigonometric sums on uniform axes by FFT: the same numbers as products with the basis, cheaper for wide bands."""

import math

import torch
from torch import Tensor

from iaenet.even_rule import gregory

# Products with few functions beat the FFT (`benchmarks/fourier.py`); from about this many on they do not.
FROM_MODES = 64


def worthwhile(x: Tensor, modes: int, periodic: bool) -> bool:
    """Whether an axis with points `x (s,)` in [0, 1] is uniform, holds the band, and is worth an FFT."""
    s = len(x)
    cells = s if periodic else s - 1
    if modes < FROM_MODES or modes >= (cells / 2 if periodic else cells):
        return False
    return bool(torch.allclose(x, torch.arange(s, dtype=x.dtype, device=x.device) / cells, rtol=0, atol=1e-12))


def analyse(values: Tensor, modes: int, periodic: bool) -> Tensor:
    """`int f B_p` along the middle axis: `(b, s, c)` -> `(b, p, c)` as `Trigonometric` orders them, no added sines."""
    if not periodic:  # the even continuation of a closed axis has 2 (s - 1) points
        s = values.shape[1]
        corrected = (s - 1) * gregory(s)
        corrected[[0, -1]] *= 2  # in units of the trapezoidal rule, whose weights the FFT has
        values = corrected.to(values)[:, None] * values
        values = torch.cat([values, values[:, 1:-1].flip(1)], dim=1)
    spectrum = torch.fft.rfft(values, dim=1, norm="forward")[:, : modes + 1]
    root = math.sqrt(2)
    parts = [spectrum.real[:, :1], root * spectrum.real[:, 1:]]
    if periodic:
        parts.append(-root * spectrum.imag[:, 1:])
    return torch.cat(parts, dim=1)


def synthesise(coefficients: Tensor, s: int, modes: int, periodic: bool) -> Tensor:
    """`sum_p c_p B_p` along the middle axis: `(b, p, c)` -> `(b, s, c)`; sines if there are coefficients of them."""
    half = math.sqrt(0.5)
    cosines = coefficients[:, 1 : modes + 1] * half
    sines = coefficients[:, modes + 1 :] * -half
    if not sines.shape[1]:
        sines = torch.zeros_like(cosines)
    start = torch.complex(coefficients[:, :1], torch.zeros_like(coefficients[:, :1]))
    spectrum = torch.cat([start, torch.complex(cosines, sines)], dim=1)
    length = s if periodic else 2 * (s - 1)
    return torch.fft.irfft(spectrum, n=length, dim=1, norm="forward")[:, :s]

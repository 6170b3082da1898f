"""Functions on one axis of the unit box: trigonometric, wavelet, cardinal. Transforms on a grid are products with them.

Products, axis by axis, are 2 to 30 times faster on a CPU than FFTs for the narrow bands that a network keeps
(`benchmarks/fourier.py`).
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pywt
import torch
from torch import Tensor

from iaenet.errors import InvalidInputError


class Trigonometric:
    """Orthonormal `1, sqrt2 cos(2 pi k x), sqrt2 sin(2 pi k x)`, k = 1..modes, on a periodic axis.

    On a closed axis a function is extended as an even one: `1, sqrt2 cos(pi k x)`. The extension has no jump, so that
    coefficients fall like k^-2 instead of k^-1; `sines=True` adds `sqrt2 sin(pi k x)` for synthesis.

    >>> Trigonometric(1).functions(torch.tensor([0.0, 0.25]), periodic=True).round(decimals=3).tolist()
    [[1.0, 1.4140000343322754, 0.0], [1.0, -0.0, 1.4140000343322754]]
    """

    def __init__(self, modes: int, sines: bool = False) -> None:
        if modes < 1:
            raise InvalidInputError(f"modes must be at least 1, got {modes}")
        self.modes = modes
        self.sines = sines

    def functions(self, x: Tensor, periodic: bool) -> Tensor:
        """Values `(s, p)` at points `x (s,)` of the unit interval."""
        k = torch.arange(1, self.modes + 1, dtype=x.dtype, device=x.device)
        angle = (2 if periodic else 1) * math.pi * x[:, None] * k
        parts = [torch.ones_like(x)[:, None], math.sqrt(2) * angle.cos()]
        if periodic or self.sines:
            parts.append(math.sqrt(2) * angle.sin())
        return torch.cat(parts, dim=1)

    def places(self, modes: int, periodic: Sequence[bool]) -> Tensor:
        """Which of the products of functions, one for each axis, are those of the lowest `modes` alone.

        >>> Trigonometric(3).places(1, [True]).tolist(), Trigonometric(2).places(1, [False, True]).tolist()
        ([0, 1, 4], [0, 1, 3, 5, 6, 8])
        """
        found = torch.zeros(1, dtype=torch.long)
        for wraps in periodic:
            k = torch.arange(modes + 1)
            along = torch.cat([k, self.modes + k[1:]]) if wraps else k
            count = (2 if wraps else 1) * self.modes + 1
            found = (found[:, None] * count + along).flatten()
        return found

    def frequencies(self, periodic: bool) -> Tensor:
        """Signed frequency of each function in periods per axis, a sine counting as negative: `(p,)`."""
        k = torch.arange(self.modes + 1, dtype=torch.float64)
        return torch.cat([k, -k[1:]]) if periodic or self.sines else k / 2


class Wavelets:
    """Orthonormal wavelets of one period: `1` and `psi_{j,l}(x) = 2^(j/2) sum_q psi(2^j (x + q) - l)`, j < levels.

    There are `2^levels` functions. A closed axis is treated as one period; a jump at its ends stays local.

    >>> Wavelets(levels=3).functions(torch.linspace(0, 1, 9, dtype=torch.float64), periodic=True).shape
    torch.Size([9, 8])
    """

    def __init__(self, levels: int, wavelet: str = "db6") -> None:
        if levels < 1:
            raise InvalidInputError(f"levels must be at least 1, got {levels}")
        if wavelet not in pywt.wavelist(kind="discrete") or not pywt.Wavelet(wavelet).orthogonal:
            raise InvalidInputError(f"{wavelet!r} is not an orthogonal wavelet of PyWavelets, such as 'db6' or 'sym8'")
        self.levels = levels
        self.wavelet = wavelet

    def functions(self, x: Tensor, periodic: bool) -> Tensor:  # noqa: ARG002 - one rule for both kinds of axis
        """Values `(s, 2^levels)` at points `x (s,)` of the unit interval."""
        where, psi = _mother(self.wavelet)
        t = np.mod(x.cpu().numpy().astype(np.float64), 1.0)
        parts = [np.ones((len(t), 1))]
        for j in range(self.levels):
            period = 2**j
            shifted = np.mod(period * t[:, None] - np.arange(period), period)  # (s, 2^j) in [0, period)
            turns = np.arange(0, math.ceil(where[-1] / period) + 1) * period
            parts.append(math.sqrt(period) * np.interp(shifted[..., None] + turns, where, psi, right=0.0).sum(axis=-1))
        return torch.from_numpy(np.concatenate(parts, axis=1)).to(x)


class Cardinal:
    """Trigonometric functions that are 1 at one of `count` even nodes of an axis and 0 at the others.

    Nodes are j / count on a periodic axis and j / (count - 1), ends included, on a closed one, where functions have an
    even extension as in `Trigonometric`. `dual` gives the functions whose integrals against f are the values, at the
    nodes, of the part of f that the nodes can hold. On the nodes themselves both are the identity.
    """

    def __init__(self, count: int, dual: bool = False) -> None:
        self.count = count
        self.dual = dual

    def functions(self, x: Tensor, periodic: bool) -> Tensor:
        """Values `(s, count)` at points `x (s,)` of the unit interval."""
        cells = self.count if periodic else self.count - 1
        top = cells // 2 if periodic else cells
        k = torch.arange(top + 1, dtype=x.dtype, device=x.device)
        nodes = torch.arange(self.count, dtype=x.dtype, device=x.device) / cells
        size = torch.full_like(k, 2.0)
        size[0] = 1.0
        if cells == 2 * top or not periodic:
            size[-1] = 1.0  # the nodes cannot tell the sine of this frequency from zero, nor its cosine from its alias
        angle, at = ((2 if periodic else 1) * math.pi * t[:, None] * k for t in (x, nodes))
        found = (angle.cos() * size) @ at.cos().T
        if periodic:
            return (found + (angle.sin() * size) @ at.sin().T) / (1 if self.dual else cells)
        if not self.dual:
            ends = torch.full_like(nodes, 1.0 / cells)
            ends[0] = ends[-1] = 0.5 / cells
            found = found * ends
        return found


@lru_cache(maxsize=8)
def _mother(name: str, depth: int = 14) -> tuple[np.ndarray, np.ndarray]:
    """The mother wavelet at dyadic points of its support [0, N - 1], exact up to rounding.

    Values of phi at the integers are the eigenvector of the refinement matrix; `phi(x) = sqrt2 sum_k h_k phi(2 x - k)`
    then gives it at halves, quarters and so on, and `psi(x) = sqrt2 sum_k g_k phi(2 x - k)`.
    """
    wavelet = pywt.Wavelet(name)
    h, g = (math.sqrt(2) * np.array(taps) for taps in (wavelet.rec_lo, wavelet.rec_hi))
    places = np.arange(len(h))
    taps = 2 * places[:, None] - places
    refinement = np.where((taps >= 0) & (taps < len(h)), h[np.clip(taps, 0, len(h) - 1)], 0.0)
    eigenvalues, vectors = np.linalg.eig(refinement)
    phi = np.real(vectors[:, np.argmin(abs(eigenvalues - 1))])
    phi = phi / phi.sum()
    for level in range(depth):
        phi = _refined(phi, h, step=2**level)
    psi = _refined(phi, g, step=2**depth)[::2]
    return np.linspace(0, len(h) - 1, len(psi)), psi


def _refined(values: np.ndarray, taps: np.ndarray, step: int) -> np.ndarray:
    """`sum_k taps_k f(2 x - k)` on a grid twice as fine as that of f, whose spacing is 1 / step."""
    fine = np.zeros(2 * len(values) - 1)
    for k, tap in enumerate(taps):
        # 2 x = i / step on the fine grid x = i / (2 step); f(2 x - k) is the entry i - k step.
        shifted = np.zeros_like(fine)
        shifted[k * step : k * step + len(values)] = values[: len(fine) - k * step]
        fine += tap * shifted
    return fine

"""The Fourier layer of FNO, on any discretization; two of them make the post-processing G."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from iaenet.domain.basis import Trigonometric
from iaenet.geometry import Basis, Geometry
from iaenet.pointwise import FullLinear


class SpectralConvolution(nn.Module):
    """`(K a)(x) = sum_k R_k a_k e^{2 pi i k x}` with a complex matrix R_k for each frequency |k_i| <= modes.

    Frequencies are those of the function, from quadratures (see `Trigonometric`); on a closed axis the period is twice
    the axis and the function is continued evenly. Only k_d >= 0 is kept: the other half is its conjugate.

    `alone` frequencies along each axis have matrices of their own (all, if not given); above them R_k is interpolated
    between knots a quarter of an octave apart. What is smooth in k is local in x: a wide band with few weights.
    """

    to_half: Tensor  # (k >= 0, knots) from knots to frequencies
    to_whole: Tensor  # (k, knots)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        modes: int,
        periodic: tuple[bool, ...],
        alone: int | None = None,
    ) -> None:
        super().__init__()
        self.modes = modes
        self.periodic = periodic
        self.analysis = Trigonometric(modes)
        self.synthesis = Trigonometric(modes, sines=True)
        self.shared = alone is not None and alone < modes
        half, whole = _between_knots(modes, alone if alone is not None and self.shared else modes)
        self.register_buffer("to_half", half, persistent=False)
        self.register_buffer("to_whole", whole, persistent=False)
        kept = whole.shape[1] ** (len(periodic) - 1) * half.shape[1]
        scale = 1 / math.sqrt(in_channels * out_channels)
        self.weight = nn.Parameter(scale * torch.rand(kept, in_channels, out_channels, 2))  # real and imaginary part

    def reduce(self, a: Tensor, geometry: Geometry) -> Tensor:
        """Coefficients `(b, p, c)` of values `(b, n, c)`; a sum over points."""
        return geometry.analyse(self.analysis, a)

    def latent(self, coefficients: Tensor) -> Tensor:
        """`R_k a_k` for every frequency: coefficients `(b, p, c)` -> `(b, q, c')`."""
        real, imag = to_complex(coefficients, self.modes, self.periodic)
        stacked = torch.cat([real, imag], dim=-1).flatten(1, -2).transpose(0, 1)  # (k, b, 2 c)
        weight = self._matrices() if self.shared else self.weight
        R, S = weight[..., 0], weight[..., 1]
        rows = torch.cat([torch.cat([R, S], dim=-1), torch.cat([-S, R], dim=-1)], dim=-2)  # (k, 2 c, 2 c')
        product = torch.bmm(stacked, rows).transpose(0, 1)
        real, imag = product.reshape(*real.shape[:-1], -1).chunk(2, dim=-1)
        return from_complex(real, imag).flatten(1, -2)

    def _matrices(self) -> Tensor:
        """R_k for every frequency from those at the knots, axis by axis."""
        last = len(self.periodic) - 1
        found: Tensor = self.weight
        rest = found.numel()
        for axis in range(last + 1):
            along = self.to_half if axis == last else self.to_whole
            rest //= along.shape[1]
            found = along @ found.reshape(-1, along.shape[1], rest)
        return found.reshape(-1, *self.weight.shape[1:])

    def expand(self, code: Tensor, geometry: Geometry) -> Tensor:
        """Values `(b, n, c')` at the points of `geometry`."""
        return geometry.synthesise(self.synthesis, code)

    def with_sines(self, coefficients: Tensor) -> Tensor:
        """Coefficients `(b, p, c)` as the analysis orders them -> as the synthesis does, zero for added sines."""
        if all(self.periodic):
            return coefficients
        sizes = [2 * self.modes + 1 if wraps else self.modes + 1 for wraps in self.periodic]
        grid = coefficients.reshape(len(coefficients), *sizes, -1)
        more = [(0, 0 if wraps else self.modes) for wraps in self.periodic]
        padding = [0, 0] + [number for pair in reversed(more) for number in pair]
        return nn.functional.pad(grid, padding).flatten(1, -2)


class FourierLayer(nn.Module):
    """`sigma(W a + K a)`, one layer of FNO, in the four steps of `block.py`; `last` leaves sigma out."""

    def __init__(self, channels: int, modes: int, periodic: tuple[bool, ...], *, last: bool = False) -> None:
        super().__init__()
        self.convolution = SpectralConvolution(channels, channels, modes, periodic)
        self.pointwise = FullLinear(channels, channels)
        nn.init.zeros_(self.pointwise.bias)
        self.last = last

    @property
    def bases(self) -> list[tuple[Basis, Basis]]:
        """Analysis and synthesis of the convolution."""
        return [(self.convolution.analysis, self.convolution.synthesis)]

    def local(self, history: Sequence[Tensor], geometry: Geometry) -> list[Tensor]:  # noqa: ARG002 - as in IAEBlock
        """The layer's input is the last output."""
        return [history[-1]]

    def reduce(self, local: list[Tensor], geometry: Geometry) -> list[Tensor]:
        """Fourier coefficients of values `(b, n, c)`."""
        return [self.convolution.reduce(local[0], geometry)]

    def latent(self, coefficients: list[Tensor]) -> list[Tensor]:
        """The spectral product."""
        return [self.convolution.latent(coefficients[0])]

    def expand(self, codes: list[Tensor], local: list[Tensor], geometry: Geometry) -> Tensor:
        """The layer's output `(b, n, c)` at the points of `geometry`."""
        total: Tensor = self.pointwise(local[0])
        total += self.convolution.expand(codes[0], geometry)  # in place: fresh memory is dear
        return total if self.last else nn.functional.gelu(total)


def _between_knots(modes: int, alone: int) -> tuple[Tensor, Tensor]:
    """Linear interpolation from knots to the frequencies 0 .. modes, and to 0 .. modes, -1 .. -modes."""
    knots = list(range(alone + 1))
    while knots[-1] < modes:
        knots.append(min(modes, max(knots[-1] + 1, math.ceil(knots[-1] * 2**0.25))))
    half = torch.from_numpy(np.array([np.interp(np.arange(modes + 1), knots, row) for row in np.eye(len(knots))])).T
    whole = torch.block_diag(half, half[1:, 1:])
    return half.to(torch.get_default_dtype()), whole.to(torch.get_default_dtype())


def to_complex(coefficients: Tensor, modes: int, periodic: tuple[bool, ...]) -> tuple[Tensor, Tensor]:
    """Coefficients `(b, p, c)` in `Trigonometric` order -> real and imaginary part of the complex ones.

    `a_k = (cos_k - i sin_k) / sqrt2` for k > 0. Result `(b, 2 modes + 1, ..., modes + 1, c)`: k = 0, 1 .. modes,
    -1 .. -modes on the first axes, k >= 0 on the last. A closed axis has no sines: `a_{-k} = a_k`.
    """
    sizes = [2 * modes + 1 if wraps else modes + 1 for wraps in periodic]
    real = coefficients.reshape(len(coefficients), *sizes, coefficients.shape[-1])
    imag = torch.zeros_like(real)
    half = math.sqrt(0.5)
    for axis in reversed(range(1, len(sizes) + 1)):
        parts = []
        for part in (real, imag):
            constant, cosine = part.narrow(axis, 0, 1), half * part.narrow(axis, 1, modes)
            wraps = periodic[axis - 1]
            sine = half * part.narrow(axis, modes + 1, modes) if wraps else torch.zeros_like(cosine)
            parts.append((constant, cosine, sine))
        (c_r, cos_r, sin_r), (c_i, cos_i, sin_i) = parts
        real_parts, imag_parts = [c_r, cos_r + sin_i], [c_i, cos_i - sin_r]
        if axis < len(sizes):
            real_parts.append(cos_r - sin_i)
            imag_parts.append(cos_i + sin_r)
        real, imag = torch.cat(real_parts, dim=axis), torch.cat(imag_parts, dim=axis)
    return real, imag


def from_complex(real: Tensor, imag: Tensor) -> Tensor:
    """The real function `Re sum_k s_k z_k e^{2 pi i k x}` in `Trigonometric` order with sines, all axes `2 modes + 1`.

    s_k = 2 for k_d > 0, which stands for the conjugate half, and 1 for k_d = 0.
    """
    axes = real.ndim - 2
    modes = real.shape[axes] - 1
    root = math.sqrt(2)
    # Last axis: Re(z e^{i t}) doubled = sqrt2 (Re z) sqrt2 cos t - sqrt2 (Im z) sqrt2 sin t. For the axes before it
    # the factor e^{i t} is still to come, so (cos, sin) carry the complex numbers z and i z.
    last_real, last_imag = real.narrow(axes, 1, modes), imag.narrow(axes, 1, modes)
    out_real = torch.cat([real.narrow(axes, 0, 1), root * last_real, -root * last_imag], dim=axes)
    out_imag = torch.cat([imag.narrow(axes, 0, 1), root * last_imag, root * last_real], dim=axes)
    for axis in range(1, axes):
        plus_r, minus_r = out_real.narrow(axis, 1, modes), out_real.narrow(axis, modes + 1, modes)
        plus_i, minus_i = out_imag.narrow(axis, 1, modes), out_imag.narrow(axis, modes + 1, modes)
        half = math.sqrt(0.5)
        out_real, out_imag = (
            torch.cat([out_real.narrow(axis, 0, 1), half * (plus_r + minus_r), -half * (plus_i - minus_i)], dim=axis),
            torch.cat([out_imag.narrow(axis, 0, 1), half * (plus_i + minus_i), half * (plus_r - minus_r)], dim=axis),
        )
    return out_real

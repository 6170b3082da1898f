"""The Fourier layer of FNO; two of them make the post-processing G."""

import math

import torch
from torch import Tensor, nn

from iaenet.functions.basis import Trigonometric
from iaenet.nn.pointwise import FullLinear, full_precision
from iaenet.nn.transform import Grid, GridTransform


class SpectralConvolution(nn.Module):
    """`(K a)(x) = sum_k R_k a_k e^{2 pi i k x}` with a complex matrix R_k for each frequency |k_i| <= modes.

    On a closed axis the period is twice the axis: analysis takes the even (cosine) extension, synthesis has sines, too.
    Only k_d >= 0 is kept: the other half is its conjugate.
    """

    def __init__(self, in_channels: int, out_channels: int, modes: int, periodic: tuple[bool, ...]) -> None:
        super().__init__()
        self.modes = modes
        self.periodic = periodic
        self._transforms: dict[tuple[int, ...], GridTransform] = {}
        kept = (2 * modes + 1) ** (len(periodic) - 1) * (modes + 1)
        scale = 1 / math.sqrt(in_channels * out_channels)
        self.weight = nn.Parameter(scale * torch.rand(kept, in_channels, out_channels, 2))  # real and imaginary part

    def transform(self, shape: tuple[int, ...]) -> GridTransform:
        """Analysis and synthesis on a grid of this shape; frequencies that a coarse grid does not hold are left out."""
        if shape not in self._transforms:
            grid = Grid(shape, self.periodic)
            self._transforms[shape] = GridTransform(grid, _Resolved(self.modes, False), _Resolved(self.modes, True))
        return self._transforms[shape]

    def product(self, coefficients: Tensor) -> Tensor:
        """`R_k a_k` for every frequency: coefficients `(b, p, c)` -> `(b, q, c')`."""
        real, imag = to_complex(coefficients, self.modes, self.periodic)
        b, c = real.shape[0], real.shape[-1]
        stacked = torch.stack([real, imag]).reshape(2 * b, -1, c).transpose(0, 1)  # (k, 2 b, c)
        # Real and imaginary parts of R_k lie side by side in memory: one real product without copies of the weights.
        with full_precision(stacked):
            product = torch.bmm(stacked, self.weight.flatten(-2)).transpose(0, 1).reshape(2, *real.shape[:-1], -1, 2)
        (rr, ri), (ir, ii) = (part.unbind(-1) for part in product)
        real, imag = rr - ii, ri + ir
        return from_complex(real, imag).flatten(1, -2)

    def forward(self, a: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Values `(b, s_1 .. s_d, c)`, flattened, on a grid of `shape` -> `(b, s_1 .. s_d, c')`."""
        transform = self.transform(shape)
        return transform.synthesise(self.product(transform.analyse(a)))


class _Resolved:
    """`Trigonometric` on the nodes of an axis, with zeros for what is beyond their Nyquist frequency."""

    def __init__(self, modes: int, sines: bool) -> None:
        self.basis = Trigonometric(modes, sines)

    def functions(self, x: Tensor, periodic: bool) -> Tensor:
        k = torch.arange(self.basis.modes + 1)
        pairs = torch.cat([k, k[1:]]) if periodic or self.basis.sines else k
        return self.basis.functions(x, periodic) * (pairs <= Grid((len(x),), (periodic,)).harmonics(0))


class FourierLayer(nn.Module):
    """`sigma(W a + K a)`, one layer of FNO; `last` leaves sigma out."""

    def __init__(self, channels: int, modes: int, periodic: tuple[bool, ...], *, last: bool = False) -> None:
        super().__init__()
        self.convolution = SpectralConvolution(channels, channels, modes, periodic)
        self.pointwise = FullLinear(channels, channels)
        nn.init.zeros_(self.pointwise.bias)
        self.last = last

    def forward(self, a: Tensor, shape: tuple[int, ...]) -> Tensor:
        """Values `(b, s_1 .. s_d, c)`, flattened, on a grid of `shape` -> the same."""
        total: Tensor = self.pointwise(a.flatten(0, 1))
        total += self.convolution(a, shape).flatten(0, 1)  # in place: fresh memory is expensive
        return (total if self.last else nn.functional.gelu(total)).view_as(a)


def to_complex(coefficients: Tensor, modes: int, periodic: tuple[bool, ...]) -> tuple[Tensor, Tensor]:
    """Coefficients `(b, p, c)` in `Trigonometric` order -> real and imaginary part of the complex ones.

    `a_k = (cos_k - i sin_k) / sqrt2` for k > 0. Result `(b, 2 modes + 1, ..., modes + 1, c)`: k = 0, 1 .. modes,
    -1 .. -modes on the first axes, k >= 0 on the last. A closed axis has no sines: `a_{-k} = a_k`.
    """
    sizes = [2 * modes + 1 if wraps else modes + 1 for wraps in periodic]
    real = coefficients.reshape(coefficients.shape[0], *sizes, coefficients.shape[-1])
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

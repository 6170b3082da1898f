"""The published form written densely from the formulas of `docs/published.md`, with the weights of a `PublishedIAENet`.

Nothing of the package's layers is called: kernel matrices are assembled for every line of the grid, Fourier transforms
are sums, and layer normalisation is written out.
"""

import math

import torch
from torch import Tensor, nn

from iaenet import Field
from iaenet.models.published import PublishedIAENet


def affine(layer: nn.Linear, v: Tensor) -> Tensor:
    return torch.einsum("oi,...i->...o", layer.weight, v) + layer.bias


def normalised(layer: nn.LayerNorm, v: Tensor) -> Tensor:
    centred = v - v.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + layer.eps).sqrt() * layer.weight + layer.bias


def mlp(layers: nn.Sequential, v: Tensor) -> Tensor:
    linears = [layer for layer in layers if isinstance(layer, nn.Linear)]
    for layer in linears[:-1]:
        v = affine(layer, v).clamp_min(0)
    return affine(linears[-1], v)


def processed(part: nn.Module, v: Tensor) -> Tensor:
    v = normalised(part.norm, v)
    return v if part.mlp is None else normalised(part.norm_out, v + mlp(part.mlp, v))


def phi(kernel: nn.Module, auxiliary: Tensor | None, x: Tensor) -> Tensor:
    """`(phi(q, x, z_1), .., phi(q, x, z_m))` for auxiliary values `(.., c)` and coordinates `(.., 1)`."""
    h = normalised(kernel.norm, affine(kernel.first, x if auxiliary is None else torch.cat([auxiliary, x], dim=-1)))
    h = h.clamp_min(0)
    for layer in kernel.deeper:
        h = affine(layer, h).clamp_min(0)
    return affine(kernel.last, h)


def encode(encoder: nn.Module, a: Tensor, x: Tensor) -> Tensor:
    """Lines `(l, n, c)` -> `(l, m, c)`: eq. numintegraltransform2."""
    places = x.expand(len(a), -1, -1)
    matrix = phi(encoder.kernel, a if encoder.auxiliary else None, places)  # K_ij = phi_1(a(x_i), x_i, z_j)
    return torch.einsum("lij,lic->ljc", matrix, a) / len(x)


def decode(decoder: nn.Module, word: str, u: Tensor, x: Tensor) -> Tensor:
    """Latent lines `(l, m, c)` -> `(l, n, c)`: eq. backwardintegraltransform, in its three forms."""
    lines, m, c = u.shape
    n = len(x)
    if word == "text":  # K_ij = phi_2(u(z_j), x_i, z_j): of the m outputs for u(z_j), the j-th
        pairs = u[:, None].expand(lines, n, m, c), x[None, :, None].expand(lines, n, m, 1)
        matrix = phi(decoder.kernel, *pairs).diagonal(dim1=-2, dim2=-1)
    elif word == "program":  # K_ij = phi_2(t, x_i, z_j)
        t = torch.einsum("j,ljc->lc", decoder.compress.weight[0], u) + decoder.compress.bias
        matrix = phi(decoder.kernel, t[:, None].expand(lines, n, c), x.expand(lines, n, 1))
    else:
        matrix = phi(decoder.kernel, None, x.expand(lines, n, 1))
    return torch.einsum("lij,ljc->lic", matrix, u) / m


def iae(part: nn.Module, word: str, a: Tensor, axes: list[Tensor]) -> Tensor:
    """Phi on `(b, s_1, c)` or `(b, s_1, s_2, c)`; integrals over the last axis come first."""
    b, c = len(a), a.shape[-1]
    if len(axes) == 1:
        v = encode(part.encoders[0], a, axes[0])
    else:
        (s, t), m = a.shape[1:3], part.latent
        half = encode(part.encoders[1], a.reshape(b * s, t, c), axes[1]).reshape(b, s, m[1], c)
        lines = half.permute(0, 2, 1, 3).reshape(b * m[1], s, c)
        v = encode(part.encoders[0], lines, axes[0]).reshape(b, m[1], m[0], c).permute(0, 2, 1, 3)
    v = processed(part.encoded, v)
    u = mlp(part.phi_0, v.reshape(b, -1, c).permute(0, 2, 1)).permute(0, 2, 1).reshape(v.shape)
    if len(axes) == 1:
        found = decode(part.decoders[0], word, u, axes[0])
    else:
        lines = u.permute(0, 2, 1, 3).reshape(b * m[1], m[0], c)
        half = decode(part.decoders[0], word, lines, axes[0]).reshape(b, m[1], s, c)
        lines = half.permute(0, 2, 1, 3).reshape(b * s, m[1], c)
        found = decode(part.decoders[1], word, lines, axes[1]).reshape(b, s, t, c)
    return processed(part.decoded, found)


def waves(s: int, like: Tensor) -> Tensor:
    """`e^{-2 pi i k j / s}` for k, j = 0 .. s - 1."""
    k = torch.arange(s, dtype=like.dtype)
    return torch.exp(-2j * math.pi * torch.outer(k, k) / s)


def fourier(a: Tensor) -> Tensor:
    """All Fourier sums of `(b, s_1 .., c)`, without a factor."""
    found = a + 0j
    for axis, s in enumerate(a.shape[1:-1], start=1):
        found = torch.tensordot(waves(s, a), found.movedim(axis, 0), dims=1).movedim(0, axis)
    return found


def inverse(half: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`Re sum_k s_k c_k e^{2 pi i k x}` with k_d >= 0 alone: s_k = 2 for those that stand for their conjugates, too."""
    last = shape[-1]
    k = torch.arange(half.shape[-2])
    twice = torch.where((k == 0) | (2 * k == last), 1.0, 2.0).to(half)
    found = half * twice[:, None]
    for axis, s in enumerate(shape, start=1):
        matrix = waves(s, half.real).conj()[:, : half.shape[axis]]
        found = torch.tensordot(matrix, found.movedim(axis, 0), dims=1).movedim(0, axis)
    return found.real


def branch(part: nn.Module, word: str, a: Tensor, axes: list[Tensor]) -> Tensor:
    """An original branch, or one whose kernels have twice the channels: that of the spectrum."""
    if part.encoded.norm.weight.shape[0] == a.shape[-1]:
        return iae(part, word, a, axes)
    shape = tuple(a.shape[1:-1])
    root = math.sqrt(math.prod(shape))
    half = fourier(a)[..., : shape[-1] // 2 + 1, :] / root
    places = [torch.arange(s, dtype=a.dtype)[:, None] / (s - 1) for s in half.shape[1:-1]]
    real, imag = iae(part, word, torch.cat([half.real, half.imag], dim=-1), places).chunk(2, dim=-1)
    return inverse(torch.complex(real, imag), shape) / root


def block_of(block: nn.Module, word: str, a: Tensor, axes: list[Tensor]) -> Tensor:
    """eq. multichannel."""
    parts = [affine(block.straight, a), *[branch(part, word, a, axes) for part in block.branches]]
    merged = normalised(block.norm, torch.cat(parts, dim=-1))
    return normalised(block.norm_out, affine(block.merge_linear, merged) + mlp(block.merge, merged))


def fno_layer(layer: nn.Module, a: Tensor) -> Tensor:
    shape = tuple(a.shape[1:-1])
    spectrum = fourier(a)[..., : shape[-1] // 2 + 1, :] / math.prod(shape)
    weight = torch.complex(layer.weight[..., 0], layer.weight[..., 1])
    out = torch.zeros_like(spectrum)
    for k in range(min(layer.modes, spectrum.shape[-2])):
        if len(shape) == 1:
            out[:, k] = spectrum[:, k] @ weight[k]
        else:
            for row in range(shape[0]):
                signed = row if row < (shape[0] + 1) // 2 else row - shape[0]
                if -layer.modes <= signed < layer.modes:
                    out[:, row, k] = spectrum[:, row, k] @ weight[signed % (2 * layer.modes), k]
    total = affine(layer.pointwise, a) + inverse(out, shape)
    return total if layer.last else total.clamp_min(0)


class DensePublished(nn.Module):
    """Psi^n of a `PublishedIAENet`, on tensor grids in 1-D and 2-D."""

    def __init__(self, model: PublishedIAENet) -> None:
        super().__init__()
        self.model = model

    def forward(self, field: Field) -> Field:
        model, grid = self.model, field.discretization
        options = model.options
        word = options["decoder"] if options["kernels"] == "nonlinear" else "linear"
        low, high = grid.bounds[:, 0], grid.bounds[:, 1]
        values = field.values.reshape(-1, *grid.shape, field.channels)
        places = ((grid.points - low) / (high - low)).to(values).reshape(*grid.shape, grid.dim)
        axes = [((x - low[i]) / (high[i] - low[i])).to(values)[:, None] for i, x in enumerate(grid.axes)]
        a = affine(model.lift, torch.cat([values, places.expand(len(values), *places.shape)], dim=-1))
        history = [a]
        for i, block in enumerate(model.blocks):
            everything = torch.cat(history, dim=-1)
            if options["skips"] == "dense":
                a = block_of(block, word, affine(model.skips.maps[i], everything), axes)
            elif options["skips"] == "dense-text":
                mapped = [affine(model.skips.maps[j], old) for j, old in enumerate(history)]
                a = block_of(block, word, mlp(model.skips.mixes[i], torch.cat(mapped, dim=-1)), axes)
            elif options["skips"] == "residual":
                a = block_of(block, word, history[-1], axes) + affine(model.skips.maps[i], history[-1])
            else:
                a = block_of(block, word, history[-1], axes)
            history.append(a.clamp_min(0))
        a = history[-1]
        if options["skips"] == "dense":
            a = affine(model.skips.maps[-1], torch.cat(history, dim=-1))
        for layer in model.post:
            a = fno_layer(layer, a)
        return Field.unchecked(grid, mlp(model.project, a).reshape(*field.values.shape[:-1], -1))

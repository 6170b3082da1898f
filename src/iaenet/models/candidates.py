"""Networks that may suit training pairs, by what their spectra say: each is worth a short trial (`training.choose`)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from iaenet.functions.basis import Trigonometric
from iaenet.functions.field import Field
from iaenet.functions.latent_grid import LatentGrid
from iaenet.models.base import Pair
from iaenet.models.linear_start import HELD_OUT, WORTH, LinearStart
from iaenet.models.presets import change_of, for_pairs
from iaenet.models.query_head import Head
from iaenet.nn.branches import Branch, Fourier, GridConv, GridUNet, PointIAE, SpectralConv, SpectralIAE, to_plain
from iaenet.nn.transform import Grid, GridTransform

SEEN = 4096  # functions, at most, that spectra and the linear map are taken from
ALONE = 64  # outputs, if all inputs are one function, and what differs is the domain: there is no map to look for
BANDS = {1: 24, 2: 12, 3: 4}  # harmonics of the preset `small`, by dimension
BEYOND = 0.02  # share of a function beyond that band from which a wider one is tried
LOCAL = 0.1  # the same, from which local convolutions are tried: jumps and edges are a matter of neighbours,
CONVOLVED = 0.9  # if what the best convolution leaves of the outputs shows that places are places of the inputs
LOOKED_AT = 512  # functions that this convolution is fitted to, at most
NODES = 96  # of a latent grid on a line, up to which convolutions of three points reach far enough
TRIED = (4, 8, 12, 16, 20, 24)  # harmonics of that map
EXACT = 1e-5  # what a map leaves by rounding alone: of those that leave no more, the one of fewest harmonics is taken
FIT = 1024  # numbers on its input's side, at most: a fit takes a second


@dataclass(frozen=True)
class Facts:
    """What candidates follow from: shares of functions beyond the band, what a convolution and a linear map leave."""

    inputs_beyond: float
    outputs_beyond: float
    convolution_residual: float
    linear_residual: float
    linear_modes: int


@dataclass(frozen=True)
class Candidate:
    """Options of IAE-Net, and why they may suit the data."""

    name: str
    because: str
    options: dict[str, Any] = field(default_factory=dict)


def facts_of(data: Sequence[Pair], shape: Sequence[int]) -> Facts:
    """The facts about normalised pairs, on a latent grid of this shape.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(64, periodic=True)
    >>> waves = [Field(grid, torch.cos(2 * torch.pi * (grid.points + k / 40)).float()) for k in range(40)]
    >>> facts = facts_of([(wave, wave) for wave in waves], [64])
    >>> facts.outputs_beyond < 1e-3, facts.linear_residual < 1e-3
    (True, True)
    """
    periodic = data[0][0].discretization.periodic
    grid, latent = Grid(tuple(shape), periodic), LatentGrid(list(shape), periodic)
    given = _on_grid([pair[0] for pair in data], latent)
    wanted = _on_grid([pair[1] for pair in data], latent, SEEN if bool(given.any()) else ALONE)
    dim = len(shape)
    modes = BANDS.get(dim, 4)
    modes = grid.held(modes // 2 + 1 if dim > 1 and any(periodic) else modes)  # as `preset_sizes` has it
    transform = GridTransform(grid, Trigonometric(modes))
    inputs, outputs = (
        float((values - transform.synthesise(transform.analyse(values))).norm() / values.norm().clamp_min(1e-30))
        for values in (given, wanted)
    )
    best = (1.0, 0)
    for count in (grid.held(m) for m in TRIED if len(given) == len(wanted)):
        size = given.shape[-1] * math.prod(2 * count + 1 if wraps else count + 1 for wraps in periodic)
        if size <= FIT:
            left = max(EXACT, _left_by_a_linear_map(given, wanted, count, grid))
            best = min(best, (left, count))
    convolution = _left_by_a_convolution(given, wanted, shape) if len(given) == len(wanted) else 1.0
    return Facts(inputs, outputs, convolution, *best)


def _left_by_a_convolution(given: Tensor, wanted: Tensor, shape: Sequence[int]) -> float:
    """What the best filter of each frequency leaves of held-out outputs: less than 1 if places mean the same for both.

    >>> x = torch.rand(40, 16, 1, generator=torch.Generator().manual_seed(0))
    >>> near, mixed = x.roll(1, dims=1), x[:, torch.randperm(16, generator=torch.Generator().manual_seed(1))]
    >>> _left_by_a_convolution(x, near, [16]) < 0.01, _left_by_a_convolution(x - 0.5, mixed - 0.5, [16]) > 0.8
    (True, True)
    """
    step = -(-len(given) // LOOKED_AT)
    along = tuple(range(1, len(shape) + 1))
    a, u = (
        torch.fft.fftn(values[::step].unflatten(1, list(shape)), dim=along).flatten(1, -2).transpose(0, 1)  # (k, b, c)
        for values in (given, wanted)
    )
    held = torch.arange(a.shape[1]) % HELD_OUT == HELD_OUT - 1
    if not bool(held.any()):
        return 1.0
    gram = a[:, ~held].mH @ a[:, ~held]
    ridge = 1e-6 * gram.diagonal(dim1=-2, dim2=-1).real.mean().clamp_min(1e-20)  # inputs may be zero, or one constant
    filters = torch.linalg.solve(gram + ridge * torch.eye(a.shape[-1]), a[:, ~held].mH @ u[:, ~held])
    return float((u[:, held] - a[:, held] @ filters).norm() / u[:, held].norm().clamp_min(1e-30))


def _left_by_a_linear_map(given: Tensor, wanted: Tensor, modes: int, grid: Grid) -> float:
    """What the best linear map between so many harmonics leaves of held-out outputs, beyond the band included."""
    start = LinearStart(given.shape[-1], wanted.shape[-1], modes, grid)
    if not start.fit([given], [wanted]):
        return 1.0
    held = torch.arange(len(given)) % HELD_OUT == HELD_OUT - 1
    return float((wanted - start(given))[held].norm() / wanted[held].norm().clamp_min(1e-30))


def _left_of_the_last(data: Sequence[Pair], shape: Sequence[int], modes: int) -> float:
    """What a linear map that is fitted to the first half of the samples leaves of the last quarter.

    Steps of one trajectory are near one another, so that every tenth of them is no test: a map of many numbers passes
    it by heart. The last ones are of other trajectories, or, of a single one, at another time.
    """
    periodic = data[0][0].discretization.periodic
    grid, latent = Grid(tuple(shape), periodic), LatentGrid(list(shape), periodic)
    given, wanted = (_on_grid([pair[side] for pair in data], latent) for side in (0, 1))
    half, last = len(given) // 2, 3 * len(given) // 4
    start = LinearStart(given.shape[-1], wanted.shape[-1], modes, grid)
    if not start.fit([given[:half]], [wanted[:half]]):
        return 1.0
    return float((wanted - start(given))[last:].norm() / wanted[last:].norm().clamp_min(1e-30))


def candidates(data: Sequence[Pair]) -> tuple[list[Candidate], Facts]:
    """Networks for normalised training pairs, the likeliest first, and the facts that they follow from.

    What `presets.for_pairs` finds comes first, but on a line without a linear start convolutions do, and in a periodic
    square a U-Net: where all places are alike they learn from each. Functions that reach beyond its band call for a
    wider one, jumps and edges for convolutions on the grid (on a line, a U-Net), values that are given elsewhere than
    they are asked for, for kernels on the points.
    """
    rule = for_pairs(data)
    shape = rule["grid"]
    dim, finest = len(shape), min(shape)
    facts = facts_of(data, shape)
    beyond = max(facts.inputs_beyond, facts.outputs_beyond)
    share = f"{beyond:.0%} of the functions lie beyond the band"
    if "linear_start" in rule:
        why = "outputs are near the inputs: it learns the change"
        half = change_of(data) / 2
        # A step of a linear equation, say, and not one that a linear map knows from the states beside it in time.
        linear = facts.linear_residual < half and _left_of_the_last(data, shape, facts.linear_modes) < half
        return [Candidate("change", why, {"linear_start": facts.linear_modes if linear else "identity"})], facts
    local = "branches" in rule  # the rule has found a U-Net
    found = [Candidate("U-Net" if local else "spectral", "the inputs need smoothing" if local else "the usual network")]

    def add(name: str, because: str, branches: Sequence[Branch], **options: Any) -> None:
        made = {"branches": [to_plain(one) for one in branches], **options}
        found.append(Candidate(name, because, made))

    if dim == 2 and local:
        wide = [SpectralIAE(Fourier(12), latent=256), SpectralConv(6), GridConv(min(24, finest))]
        add("spectral", "the usual network", wide, width=32, blocks=3)
    wraps = any(data[0][0].discretization.periodic)
    if dim == 2 and not (local or wraps) and beyond > BEYOND and finest >= 24:
        wide = [SpectralIAE(Fourier(20), latent=256), SpectralConv(16), GridConv(16)]
        add("wide band", share, wide, width=32, blocks=2)
    if dim == 2 and wraps and beyond > BEYOND and finest >= 24:
        wide = [SpectralIAE(Fourier(12), latent=16, groups=4), SpectralConv(12)]
        add("wide band", share, wide, width=32, blocks=2)
    round_about = dim == 2 and all(data[0][0].discretization.periodic)
    if round_about and not local and finest >= 16 and facts.linear_residual > WORTH:
        levels = [SpectralConv(12), GridUNet(depth=3)]
        add("U-Net", "all places may be alike, and no linear map is near", levels, width=16, blocks=1)
        found.insert(0, found.pop())
    near = beyond > LOCAL and facts.convolution_residual < CONVOLVED
    if dim == 2 and not local and near:
        add("local", share, [SpectralIAE(Fourier(min(20, finest // 2)), latent=64), GridConv()], width=32, blocks=3)
    if dim == 1 and not local:
        near_by = GridConv(kernel_size=3 if finest <= NODES else 5)
        add("convolutions", "all places may be alike", [SpectralConv(24), near_by], width=32, blocks=4, post=0)
        if facts.linear_residual > WORTH:  # the usual network has no linear start
            found.reverse()
    if dim == 1 and near and finest >= 128:
        depth = min(4, finest.bit_length() - 5)
        unet = [SpectralIAE(Fourier(16), latent=32), GridUNet(depth=depth, attention=3)]
        head = to_plain(Head(16, shifts=True)) if wraps else 0
        add("U-Net", share, unet, width=16, blocks=1, post=0, head=head, linear_start=0)
    apart = any(given.discretization.key != wanted.discretization.key for given, wanted in data[:8])
    if dim == 2 and apart and any(one.discretization.axes is None for one in data[0]):
        kernels = PointIAE(latent=8, rank=96, harmonics=8, auxiliary=False, depth=3, dense=True)
        head = {"name": "head", "size": 12, "kernels": to_plain(kernels)}
        add("kernels", "inputs are not given where outputs are", [], blocks=0, head=head, post=0, linear_start=0)
    return found, facts


def _on_grid(fields: Sequence[Field], latent: LatentGrid, most: int = SEEN) -> Tensor:
    """Some of the functions on the latent grid, `(b, s, c)`."""
    rows = []
    count = 0
    for one in fields:
        values = one.values if one.batched else one.values[None]
        rows.append(latent.encode(one.discretization, values[: most - count]))
        count += len(rows[-1])
        if count >= most:
            break
    return torch.cat(rows)

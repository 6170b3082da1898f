"""How large IAE-Net is, by name, on a given grid, and what follows from the data."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.geometry import SCALE, distance_at
from iaenet.functions.latent_grid import LatentGrid
from iaenet.functions.smoothing import best_smoothing
from iaenet.models.base import Pair
from iaenet.models.grid_model import latent_shape, left_by
from iaenet.models.linear_start import IdentityStart, LinearStart
from iaenet.nn.branches import Branch, Fourier, GridConv, GridUNet, PointIAE, SpectralConv, SpectralIAE
from iaenet.nn.transform import Grid

NAMES = ("small", "base")
ROUGH = 0.015  # what a grid of a few points less may leave of outputs that are read off without a head
LOOKED_AT = 64  # outputs, at most, that this is judged by
# Coarser grids that are looked at, as shares of the data's along each axis, and the fewest points by dimension. What
# they may leave of inputs and of outputs is less than a network misses.
COARSER, FEWEST = (0.25, 0.375, 0.5, 0.75), {1: 64, 2: 24, 3: 8}
LEFT_OF_INPUTS, LEFT_OF_OUTPUTS = 1e-3, 2e-4
LOOKED_ALONG = 16  # points along each axis of a box, by which it is judged whether a domain fills it
LINEAR, FIT = 24, 1024  # modes of a linear map that this is compared with; numbers of an input, and functions, at most
NEAR = 0.3  # what the input itself may leave of the output, as a share of its size, where the change is learned
OTHERS = 0.1  # share of the inputs from which it counts that they do not fill their box: chance leaves gaps, too

# Networks of a change, by dimension: it is a matter of neighbours and waves, the same everywhere.
CHANGES: dict[int, dict[str, Any]] = {
    1: {"width": 48, "blocks": 3, "branches": [SpectralConv(24), GridConv()], "post": 0},
    2: {"width": 32, "blocks": 3, "branches": [SpectralConv(12)], "post": 0},
    3: {},
}


def preset_sizes(preset: str, grid: Grid) -> dict[str, Any]:
    """The options of a preset on a grid, which may hold fewer harmonics than the preset would take.

    >>> preset_sizes("small", Grid((64,), (True,)))["branches"]
    [SpectralIAE(basis=Fourier(modes=24), latent=32, groups=1, channel_mlp=True, depth=1), SpectralConv(modes=24)]
    """
    if preset not in NAMES:
        raise InvalidInputError(f"no preset {preset!r}; there are {', '.join([*NAMES, 'published'])}")
    dim = len(grid.shape)
    finest = min(grid.shape)
    wraps = dim > 1 and any(grid.periodic)
    branches: list[Branch]

    def fourier(modes: int) -> Fourier:
        # Periods are twice as long as half periods: half as many of them make a band. Maps grow with their square.
        return Fourier(modes // 2 + 1 if wraps else modes)

    if preset == "small" and dim == 1:
        branches = [SpectralIAE(fourier(24), latent=32), SpectralConv(24)]
        return {"width": 64, "blocks": 2, "branches": branches, "post": 16, "linear_start": "auto"}
    if preset == "small" and dim == 2:
        branches = [SpectralIAE(fourier(12), latent=256), SpectralConv(6), GridConv(min(24, finest))]
        return {"width": 32, "blocks": 3, "branches": branches, "post": 0}
    if preset == "small":
        branches = [SpectralIAE(fourier(4), latent=216)]
        return {"width": 16, "blocks": 3, "branches": branches, "post": 4}
    if dim == 1:
        branches = [PointIAE(latent=64, rank=64), SpectralIAE(fourier(24), latent=64), SpectralConv(24)]
        return {"width": 64, "blocks": 4, "branches": branches, "post": 16}
    if dim == 2:
        branches = [PointIAE(latent=16, rank=128, harmonics=3), SpectralIAE(fourier(16), latent=256), SpectralConv(8)]
        return {"width": 32, "blocks": 4, "branches": branches, "post": 12}
    branches = [PointIAE(latent=8, rank=128, harmonics=2), SpectralIAE(fourier(4), latent=512), SpectralConv(4)]
    return {"width": 20, "blocks": 4, "branches": branches, "post": 4}


def for_pairs(data: Sequence[Pair], preset: str = "small") -> dict[str, Any]:
    """The options of IAE-Net that follow from training pairs, for a preset.

    The latent grid is as fine as theirs (`latent_shape`), or coarser where that holds them as well (`coarsest`). Where
    the inputs' points do not fill the box, the domain's measure is a channel, and the distance to its boundary where
    cells say what that is. The smoothing of point sets is that which finds inputs at half of their points best from the
    other half. The output has a head in 2-D and 3-D where inputs are given on points, and wherever outputs have much
    that a grid of a few points less along each axis does not hold: shocks, edges. `small` has a U-Net for inputs in 2-D
    that need smoothing: jumps are a matter of neighbours; and where outputs are near the inputs, as after a step in
    time, it learns the change by convolutions.
    """
    first = data[0][0].discretization
    inputs, outputs = [given for given, _ in data], [wanted for _, wanted in data]
    chosen: dict[str, Any] = {"grid": list(coarsest(data, latent_shape(data)))}
    if sum(not fills_box(given.discretization) for given in inputs) > OTHERS * len(inputs):
        known = all(given.discretization.boundary is not None for given in inputs)
        chosen |= {"geometry": ["measure", "distance"] if known else ["measure"]}
    chosen["smoothing"] = best_smoothing(inputs, chosen["grid"], first.periodic)
    scattered = any(given.discretization.axes is None for given in inputs)
    if (scattered and first.dim > 1) or (not scattered and unresolved(outputs) > ROUGH):
        chosen |= {"head": 32}
    if preset == "small" and first.dim == 2 and chosen["smoothing"] > 1:
        chosen |= {"width": 48, "blocks": 1, "branches": [SpectralConv(8), GridUNet(widest=1)]}
    elif learns_change(data, chosen["grid"]):
        chosen |= {"linear_start": "identity"} | (CHANGES[min(first.dim, 3)] if preset == "small" else {})
    return chosen


def coarsest(data: Sequence[Pair], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The coarsest latent grid that holds functions on tensor grids nearly as this shape does: steps are cheaper.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(256, periodic=True)
    >>> wave, shock = torch.cos(2 * torch.pi * grid.points), torch.sign(grid.points - 0.4)
    >>> [coarsest([(Field(grid, wave), Field(grid, given))], (256,)) for given in (wave, shock)]
    [(64,), (256,)]
    """
    pairs = data[:: max(1, len(data) // LOOKED_AT)]
    if any(one.discretization.axes is None for pair in pairs for one in pair):
        return shape
    inputs, outputs = zip(*pairs, strict=True)
    least = FEWEST[min(len(shape), 3)]
    for share in COARSER:
        fewer = tuple(min(count, max(least, round(share * count))) for count in shape)
        if math.prod(fewer) > 0.8 * math.prod(shape):
            continue
        if left_by(fewer, outputs) < LEFT_OF_OUTPUTS and left_by(fewer, inputs) < LEFT_OF_INPUTS:
            return fewer
    return shape


def learns_change(data: Sequence[Pair], shape: Sequence[int]) -> bool:
    """Whether the inputs leave at most 0.3 of the outputs, and on a line less than twice what a linear map leaves.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(32, periodic=True)
    >>> waves = [torch.cos(2 * torch.pi * (grid.points + t / 40)).float() for t in range(40)]
    >>> later = [(Field(grid, one), Field(grid, one + 0.1 * one**2)) for one in waves]  # a step, and not a linear one
    >>> moved = [(Field(grid, one), Field(grid, one.roll(1, 0))) for one in waves]
    >>> learns_change(later, [32]), learns_change(moved, [32])
    (True, False)
    """
    change = change_of(data)
    if change > NEAR:
        return False
    first, channels = data[0][0].discretization, (data[0][0].channels, data[0][1].channels)
    if first.dim > 1 or channels[0] * (2 * LINEAR + 1) > FIT:
        return True
    grid, latent = Grid(tuple(shape), first.periodic), LatentGrid(list(shape), first.periodic)
    sides = [[latent.encode(one.discretization, _batch(one)) for one in side[:FIT]] for side in zip(*data, strict=True)]
    start = LinearStart(*channels, grid.held(LINEAR), grid)
    return not start.fit(sides[0], sides[1]) or float(start.residual) > change / 2


def change_of(data: Sequence[Pair]) -> float:
    """What the inputs' first channels leave of the outputs, as a share of their size; 1 if they lie on other points.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(32, periodic=True)
    >>> wave, other = (torch.cos(2 * torch.pi * (grid.points + t)) for t in (0, 0.25))
    >>> round(change_of([(Field(grid, wave), Field(grid, 2 * wave + 0.2 * other))]), 2)
    0.1
    """
    pairs = data[:: max(1, len(data) // LOOKED_AT)]
    for given, wanted in pairs:
        same = given.discretization is wanted.discretization or given.discretization.key == wanted.discretization.key
        if not same or wanted.channels > given.channels or wanted.discretization.n < 2:
            return 1.0
    inputs, outputs = ([_batch(one)[:LOOKED_AT] for one in side] for side in zip(*pairs, strict=True))
    start = IdentityStart(pairs[0][1].channels)
    start.fit(inputs, outputs, worth=math.inf)
    size = sum(float(one.double().square().mean((0, 1)).sum()) * len(one) for one in outputs) / sum(map(len, outputs))
    return float(start.residual.norm()) / max(size, 1e-30) ** 0.5


def _batch(field: Field) -> Tensor:
    return field.values if field.batched else field.values[None]


def unresolved(outputs: Sequence[Field]) -> float:
    """What a grid of four fifths of the points along each axis leaves of functions, as a share of their size.

    >>> import torch
    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(32, periodic=True)
    >>> wave, shock = torch.cos(2 * torch.pi * grid.points), torch.sign(grid.points - 0.4)
    >>> unresolved([Field(grid, wave)]) < 1e-9, unresolved([Field(grid, shock)]) > 0.05
    (True, True)
    """
    rest = size = 0.0
    for field in outputs[:: max(1, len(outputs) // LOOKED_AT)]:
        where, values = field.discretization, field.values[:LOOKED_AT] if field.batched else field.values[None]
        if where.axes is None or min(where.shape) < 8:
            continue
        fewer = LatentGrid([-(-4 * count // 5) for count in where.shape], where.periodic)
        rest += float((values - fewer.read_off(fewer.encode(where, values), where)).double().square().sum())
        size += float(values.double().square().sum())
    return (rest / size) ** 0.5 if size else 0.0


def fills_box(where: Discretization) -> bool:
    """Whether points fill their box. Random ones leave a rim at its walls: what counts is what lies further inside.

    >>> from iaenet import Discretization
    >>> x = torch.rand(500, 2, generator=torch.Generator().manual_seed(0))
    >>> cut = x[(x - 0.5).norm(dim=1) > 0.2]
    >>> fills_box(Discretization.points(x)), fills_box(Discretization.points(cut))
    (True, False)
    """
    if where.axes is not None or abs(where.measure / where.volume - 1) < 0.01:
        return True
    if where.rule != "cells" or where.boundary is None:
        return False
    spacing = where.n ** (-1 / where.dim)
    nodes = torch.cartesian_prod(*[torch.linspace(0, 1, LOOKED_ALONG, dtype=torch.float64)] * where.dim)
    inner = nodes[((nodes > 2 * spacing) & (nodes < 1 - 2 * spacing)).all(dim=1)]
    return bool((distance_at(where, inner.to(where.bounds)) > -SCALE * spacing / 2).all())

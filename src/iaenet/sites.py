"""Functions on their way through the layers of a network, whole or some points at a time."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from iaenet.block import IAEBlock, Layer
from iaenet.geometry import Geometry
from iaenet.pointwise import full_precision

T = TypeVar("T")
Piece = tuple[Tensor, Geometry]  # values (b, n, c) of b functions at some of their points


class Site:
    """Some points of one function (or of b functions on the same points), and what the layers made of it there.

    A lean site keeps nothing between passes but the layers' outputs: what a layer does in between is done again when it
    is needed, also for gradients.
    """

    def __init__(self, geometry: Geometry, lean: bool) -> None:
        self.geometry = geometry
        self.history: list[Tensor] = []
        self.lean = lean
        self._local: list[Tensor] | None = None

    def reduce(self, layer: Layer) -> list[Tensor]:
        """What the layer integrates, over these points."""
        return self._apply(lambda local: layer.reduce(local, self.geometry), layer)

    def advance(self, layer: Layer, codes: list[Tensor], room: Tensor | None) -> None:
        """Take the layer's output; earlier ones are kept only as long as blocks merge them."""
        output = self._apply(lambda local: layer.expand(codes, local, self.geometry), layer)
        if not isinstance(layer, IAEBlock):
            self.history = []
        self._local = None
        self.keep(output, room)

    def keep(self, output: Tensor, room: Tensor | None) -> None:
        """Remember an output, in its part of the `room (b, n, c)` for all points if there is one."""
        if room is not None and self.geometry.whole is not None:
            places = self.geometry.whole[1]
            room[:, places] = output
            output = room[:, places]
        self.history = [*self.history, output]

    def _apply(self, step: Callable[[list[Tensor]], T], layer: Layer) -> T:
        if self.lean and torch.is_grad_enabled():
            result: T = checkpoint(
                lambda *history: step(layer.local(history, self.geometry)),
                *self.history,
                use_reentrant=False,
                preserve_rng_state=False,
            )
            return result
        local = self._local
        if local is None:
            local = layer.local(self.history, self.geometry)
            self._local = None if self.lean else local
        return step(local)


def lifted(pieces: list[Piece], lift: nn.Module, harmonics: int, lean: bool) -> list[Site]:
    """`a_0 = F f` at each point: the sites of the pieces of some functions."""
    sites = []
    room: Tensor | None = None
    for values, geometry in pieces:
        coordinates = geometry.sites(harmonics).coordinates.expand(len(values), -1, -1)
        first = lift(torch.cat([values, coordinates], dim=-1))
        room = _room_like(first, len(pieces), geometry) if room is None else room
        sites.append(Site(geometry, lean))
        sites[-1].keep(first, room)
    return sites


def pass_through(layers: Sequence[Layer], sources: list[list[Site]], goals: list[list[Site]]) -> None:
    """Take groups of functions through the layers, which integrate over `sources` and are evaluated at `goals` too.

    The fixed-size part of a layer runs once for all groups. Goals that are the sources are the same object.
    """
    sizes = [len(group[0].history[-1]) for group in sources]
    for number, layer in enumerate(layers):
        reduced = [total(site.reduce(layer) for site in group) for group in sources]
        codes = _latent(layer, [torch.cat(branch) for branch in zip(*reduced, strict=True)])
        shares = zip(*[code.split(sizes) for code in codes], strict=True)
        last = number == len(layers) - 1
        for own, goal, share in zip(sources, goals, shares, strict=True):
            for group in [goal] if last or own is goal else [own, goal]:
                room = _room_like(group[0].history[-1], len(group), group[0].geometry)
                for site in group:
                    site.advance(layer, list(share), room)


def total(parts: Iterable[list[Tensor]]) -> list[Tensor]:
    """Sum over the pieces of a function of what each branch integrated, one after the other: none is kept."""
    return reduce(lambda total, part: [one + other for one, other in zip(total, part, strict=True)], parts)


def _latent(layer: Layer, moments: list[Tensor]) -> list[Tensor]:
    with full_precision(moments[0]):
        return layer.latent(moments)


def _room_like(piece: Tensor, pieces: int, geometry: Geometry) -> Tensor | None:
    """Room for a layer's output at all points of a streamed function."""
    # One block for all pieces: many small ones between temporary ones would leave the memory in shreds.
    if pieces == 1 or torch.is_grad_enabled() or geometry.whole is None:
        return None
    return piece.new_empty(piece.shape[0], geometry.whole[0].n, piece.shape[2])

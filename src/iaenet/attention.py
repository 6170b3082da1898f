"""Attention between patches of a grid: what looks alike is compared, however far apart it is."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from iaenet.convolution import Convolution
from iaenet.errors import InvalidInputError
from iaenet.pointwise import linear

HEAD = 32  # channels of a head
KEY = 16  # channels by which a head compares tokens
SHARPNESS = 8.0  # how much more the most alike counts than the least: up to exp(2 * 8) times
KERNEL = 9  # tokens; order and distance are known by a convolution, channel by channel, and not by an encoded position


class TokenLayer(nn.Module):
    """`t <- t + M_2 sigma(M_1 C t' + A t')`, `t' = N t`: an MLP of what is near, and of what is alike.

    C is a convolution of each channel, A softmax attention between all tokens, by the cosine of the angle between what
    they are compared by, and N normalises a token's channels.
    """

    def __init__(self, width: int, periodic: tuple[bool, ...], depth: int) -> None:
        super().__init__()
        self.heads = width // HEAD
        self.normal = nn.LayerNorm(width)
        self.near = Convolution(width, width, periodic, KERNEL, groups=width)
        self.compare = linear(width, 2 * self.heads * KEY)
        self.value = linear(width, width)
        self.hidden = linear(width, 2 * width)
        self.attend = linear(width, 2 * width, bias=False)
        self.out = linear(2 * width, width, terms=2 * depth)

    def forward(self, tokens: Tensor, shape: Sequence[int]) -> Tensor:
        """Tokens `(b, m, w)` on a grid of this shape -> `(b, m, w)`."""
        normal = self.normal(tokens)
        pair = self.compare(normal).unflatten(-1, (2, self.heads, KEY)).permute(2, 0, 3, 1, 4)
        query, key = nn.functional.normalize(pair, dim=-1)
        value = self.value(normal).unflatten(-1, (self.heads, HEAD)).transpose(1, 2)
        alike = (SHARPNESS * (query @ key.mT)).softmax(-1)
        seen = (alike @ value).transpose(1, 2).flatten(2)
        near = self.near(normal.unflatten(1, shape).movedim(-1, 1)).movedim(1, -1).flatten(1, -2)
        return tokens + self.out(nn.functional.gelu(self.hidden(near) + self.attend(seen)))


class RasterAttention(nn.Module):
    """Values on a `Raster` -> tokens, one for each patch of it -> layers of attention -> values.

        h = v' + C_2 v',  v' = sigma(C_1 v)        what a patch is known by
        u = values of the tokens                   after `layers` of attention between them
        z + C_4 z,  z = sigma(C_3 [h, u])          what is known of its kind, brought to the patch itself

    C are convolutions, the first twice as wide as the others.

    count, channels, periodic: of the raster and of the values on it.
    kernel: points of a convolution along each axis, odd.
    patch: points of the raster along each axis that make a token; the last patch of an axis may reach beyond its end.
    width: channels of a token, a multiple of 32.
    layers: how many `TokenLayer`s.

    >>> made = RasterAttention(12, 3, (False, False), 3, patch=5, width=32, layers=1)
    >>> made(torch.randn(2, 144, 3)).shape
    torch.Size([2, 144, 3])
    """

    def __init__(
        self,
        count: int,
        channels: int,
        periodic: tuple[bool, ...],
        kernel: int,
        *,
        patch: int,
        width: int,
        layers: int,
    ) -> None:
        super().__init__()
        if width < HEAD or width % HEAD:
            raise InvalidInputError(f"tokens have a multiple of {HEAD} channels, got {width}")
        if not 1 <= patch <= count:
            raise InvalidInputError(f"a patch has 1 to {count} points of the raster, got {patch}")
        dim = len(periodic)
        if any(periodic) and count % patch:
            raise InvalidInputError(f"patches of {patch} points do not fill a periodic axis of {count}")
        self.raster = (count,) * dim
        self.patch = patch
        self.shape = (math.ceil(count / patch),) * dim
        self.first = Convolution(channels, channels, periodic, 2 * kernel + 1)
        self.second = Convolution(channels, channels, periodic, kernel)
        self.gather = linear(channels * patch**dim, width)
        self.layers = nn.ModuleList(TokenLayer(width, periodic, layers) for _ in range(layers))
        self.spread = linear(width, channels * patch**dim)
        self.third = Convolution(2 * channels, channels, periodic, kernel)
        self.fourth = Convolution(channels, channels, periodic, kernel)

    def forward(self, values: Tensor) -> Tensor:
        """Values `(b, count^d, c)` -> `(b, count^d, c)`."""
        own = nn.functional.gelu(self._near(self.first, values))
        own = own + self._near(self.second, own)
        tokens = self.gather(self._patches(nn.functional.gelu(own)))
        for layer in self.layers:
            tokens = layer(tokens, self.shape)
        known = torch.cat([own, self._values(self.spread(tokens))], dim=-1)
        found = nn.functional.gelu(self._near(self.third, known))
        return found + self._near(self.fourth, found)

    def _near(self, convolution: Convolution, values: Tensor) -> Tensor:
        return convolution(values.unflatten(1, self.raster).movedim(-1, 1)).movedim(1, -1).flatten(1, -2)

    def _patches(self, values: Tensor) -> Tensor:
        """`(b, count^d, c)` -> `(b, m, patch^d c)`, zeros beyond the ends."""
        grid = values.unflatten(1, self.raster)
        missing = self.shape[0] * self.patch - self.raster[0]
        if missing:
            grid = nn.functional.pad(grid, (0, 0, *(0, missing) * len(self.raster)))
        for axis, m in enumerate(self.shape):
            grid = grid.unflatten(1 + 2 * axis, (m, self.patch))
        d = len(self.shape)
        order = [0, *range(1, 2 * d, 2), *range(2, 2 * d + 1, 2), 2 * d + 1]
        return grid.permute(order).flatten(d + 1).flatten(1, d)

    def _values(self, patches: Tensor) -> Tensor:
        """`(b, m, patch^d c)` -> `(b, count^d, c)`."""
        d = len(self.shape)
        grid = patches.unflatten(2, (*(self.patch,) * d, -1)).unflatten(1, self.shape)
        grid = grid.permute(0, *(axis for i in range(1, d + 1) for axis in (i, d + i)), 2 * d + 1)
        for axis in range(1, d + 1):
            grid = grid.flatten(axis, axis + 1).narrow(axis, 0, self.raster[0])
        return grid.flatten(1, d)

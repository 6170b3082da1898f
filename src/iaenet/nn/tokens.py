"""Attention between the points of a coarse grid: what looks alike is compared, however far apart it is."""

from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.nn.local import Convolution
from iaenet.nn.pointwise import linear

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
        if width % HEAD:
            raise InvalidInputError(f"attention needs a multiple of {HEAD} channels, got {width}")
        self.heads = width // HEAD
        self.normal = nn.LayerNorm(width)
        self.near = Convolution(width, width, periodic, KERNEL, groups=width)
        self.compare = linear(width, 2 * self.heads * KEY)
        self.value = linear(width, width)
        self.hidden = linear(width, 2 * width)
        self.attend = linear(width, 2 * width, bias=False)
        self.out = linear(2 * width, width, terms=2 * depth)

    def forward(self, values: Tensor) -> Tensor:
        """Values `(b, w, s_1 .. s_d)` -> `(b, w, s_1 .. s_d)`; each point of the grid is a token."""
        shape = values.shape[2:]
        tokens = values.flatten(2).transpose(1, 2)
        normal = self.normal(tokens)
        pair = self.compare(normal).unflatten(-1, (2, self.heads, KEY)).permute(2, 0, 3, 1, 4)
        query, key = nn.functional.normalize(pair, dim=-1)
        value = self.value(normal).unflatten(-1, (self.heads, HEAD)).transpose(1, 2)
        alike = (SHARPNESS * (query @ key.mT)).softmax(-1)
        seen = (alike @ value).transpose(1, 2).flatten(2)
        near = self.near(normal.unflatten(1, shape).movedim(-1, 1)).movedim(1, -1).flatten(1, -2)
        tokens = tokens + self.out(nn.functional.gelu(self.hidden(near) + self.attend(seen)))
        return tokens.transpose(1, 2).unflatten(2, shape)

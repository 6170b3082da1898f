"""Networks phi_0 on the fixed latent grid, between encoder and decoder."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class AxisMix(nn.Module):
    """Linear map of the latent grid `(m_1, ..., m_d)`, one matrix per axis (a Kronecker product), and a bias.

    With one axis it is a dense linear layer. With more, `m_1^2 + ... + m_d^2` weights stand for `(m_1 ... m_d)^2`.
    """

    muon = ("axes",)

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.shape = tuple(shape)
        self.axes = nn.ParameterList(torch.randn(m, m) / math.sqrt(m) for m in self.shape)
        self.bias = nn.Parameter(torch.zeros(math.prod(self.shape), 1))

    def forward(self, v: Tensor) -> Tensor:
        """Latent values `(b, m, c)` -> `(b, m, c)`."""
        b, m, c = v.shape
        rest = m * c
        mixed = v
        for matrix in self.axes:
            rest //= matrix.shape[0]
            mixed = matrix @ mixed.reshape(-1, matrix.shape[0], rest)
        return mixed.reshape(b, m, c) + self.bias


class LatentNetwork(nn.Module):
    """`phi_0(v) = A v + B sigma(C v)`: a linear path keeps amplitudes, beside `depth` hidden layers.

    `shape` is the latent grid. `dense=True` mixes all its points with full matrices as the paper does; the default
    mixes axis by axis, which is the same in one dimension.
    """

    def __init__(self, shape: Sequence[int], *, dense: bool = False, depth: int = 1) -> None:
        super().__init__()
        grid = (math.prod(shape),) if dense else tuple(shape)
        self.linear = AxisMix(grid)
        self.hidden = nn.ModuleList(AxisMix(grid) for _ in range(depth))
        self.out = AxisMix(grid)

    def forward(self, v: Tensor) -> Tensor:
        """Latent values `(b, m, c)` -> `(b, m, c)`."""
        hidden = v
        for layer in self.hidden:
            hidden = nn.functional.gelu(layer(hidden))
        return self.linear(v) + self.out(hidden)

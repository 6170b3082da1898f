"""N-layer integral transforms: several in a row, through latent grids of different sizes."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from iaenet.discretization import Discretization
from iaenet.geometry import Geometry, Sites
from iaenet.integral import IntegralDecoder, IntegralEncoder


def latent_sites(shape: Sequence[int]) -> Sites:
    """The closed uniform grid S_z of the unit box, for transforms between latent grids."""
    return Geometry.of(Discretization.uniform(tuple(shape)), torch.float64).sites(harmonics=1)


class ComposedEncoder(nn.Module):
    """`a -> v_1 -> ... -> v_N`, each step an integral transform (eq. composedforward).

    `grids` are the latent grids of v_1 .. v_N; the first step integrates over the function's own points.
    """

    def __init__(self, channels: int, coordinates: int, grids: Sequence[Sequence[int]], rank: int) -> None:
        super().__init__()
        self.grids = [latent_sites(grid) for grid in grids]
        sizes = [len(grid.weights) for grid in self.grids]
        features = [coordinates] + [grid.coordinates.shape[1] for grid in self.grids[:-1]]
        self.steps: Sequence[IntegralEncoder] = nn.ModuleList(  # type: ignore[assignment]
            IntegralEncoder(channels, f, m, rank) for f, m in zip(features, sizes, strict=True)
        )

    def reduce(self, values: Tensor, sites: Sites) -> Tensor:
        """Moments of the first step; a sum over points."""
        return self.steps[0].reduce(values, sites)

    def latent(self, moments: Tensor) -> Tensor:
        """Latent values `(b, m_N, c)`."""
        v = self.steps[0].latent(moments)
        for step, grid in zip(self.steps[1:], self.grids[:-1], strict=True):
            v = step(v, _like(grid, v))
        return v

    def forward(self, values: Tensor, sites: Sites) -> Tensor:
        """Values `(b, n, c)` -> latent values `(b, m_N, c)`."""
        return self.latent(self.reduce(values, sites))


class ComposedDecoder(nn.Module):
    """`u -> u_1 -> ... -> u_N = b`, each step an integral transform (eq. composedbackward).

    `grids` are the latent grids of u_0 .. u_{N-1}; the last step evaluates at any points.
    """

    def __init__(self, channels: int, coordinates: int, grids: Sequence[Sequence[int]], rank: int) -> None:
        super().__init__()
        self.grids = [latent_sites(grid) for grid in grids]
        features = [grid.coordinates.shape[1] for grid in self.grids[1:]] + [coordinates]
        self.steps: Sequence[IntegralDecoder] = nn.ModuleList(  # type: ignore[assignment]
            IntegralDecoder(channels, f, len(grid.weights), rank, auxiliary=i == len(grids) - 1)
            for i, (f, grid) in enumerate(zip(features, self.grids, strict=True))
        )

    def code(self, latent: Tensor) -> Tensor:
        """Latent values `(b, m_0, c)` -> the code of the last step."""
        u = latent
        for step, grid in zip(self.steps[:-1], self.grids[1:], strict=True):
            u = step(u, None, _like(grid, u))
        return self.steps[-1].code(u)

    def expand(self, code: Tensor, values: Tensor, sites: Sites) -> Tensor:
        """Values `(b, n, c)` of the decoded function; `values` are those of the input at the same points."""
        return self.steps[-1].expand(code, values, sites)

    def forward(self, latent: Tensor, values: Tensor, sites: Sites) -> Tensor:
        """Latent values `(b, m_0, c)` -> values `(b, n, c)`."""
        return self.expand(self.code(latent), values, sites)


def _like(sites: Sites, values: Tensor) -> Sites:
    return Sites(sites.coordinates.to(values), sites.weights.to(values))

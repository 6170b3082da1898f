"""A branch of your own: Legendre polynomials, the natural basis of a closed interval.

A branch is a frozen dataclass that builds a layer for a grid; its name and numbers are kept in files. The rest of the
network is unchanged, and so is its invariance, for every branch works on the network's own grid.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

import iaenet
from iaenet import Discretization, Field, IAENet, PointIAE, relative_l2
from iaenet.nn.branches import Branch, BranchLayer, branch
from iaenet.nn.transform import Grid, GridTransform


class Polynomials:
    """P_p orthonormal on [0, 1], p = 0 .. degree."""

    def __init__(self, degree: int) -> None:
        self.degree = degree

    def functions(self, x: Tensor, periodic: bool) -> Tensor:  # noqa: ARG002 - polynomials are for closed axes
        values = np.polynomial.legendre.legvander(2 * x.numpy() - 1, self.degree)
        return torch.from_numpy(values * np.sqrt(2 * np.arange(self.degree + 1) + 1))


@branch("legendre")
@dataclass(frozen=True)
class Legendre(Branch):
    """`sum_p P_p W c_p`, `c_p = int f P_p`: a linear map of the channels of each coefficient."""

    degree: int = 8

    def build(self, width: int, grid: Grid) -> BranchLayer:
        return LegendreLayer(self, width, grid)


class LegendreLayer(BranchLayer):
    """Values on the grid -> coefficients -> values on the grid."""

    def __init__(self, spec: Legendre, width: int, grid: Grid) -> None:
        super().__init__()
        self.transform = GridTransform(grid, Polynomials(spec.degree))
        self.weight = nn.Parameter(torch.randn(spec.degree + 1, width, width) / width**0.5)

    def forward(self, a: Tensor) -> Tensor:
        return self.transform.synthesise(torch.einsum("bpc,pcd->bpd", self.transform.analyse(a), self.weight))


def sample(at: Discretization, generator: torch.Generator) -> tuple[Field, Field]:
    """A random polynomial and its square root of one plus square: smooth, and not periodic."""
    x = 2 * at.points[:, 0].numpy() - 1
    a = torch.from_numpy(np.polynomial.legendre.legval(x, torch.randn(6, generator=generator).numpy()))
    return Field(at, a[:, None].float()), Field(at, (1 + a**2).sqrt()[:, None].float())


def main(epochs: int = 15, seed: int = 0) -> dict[int, float]:
    """Train on 129 points with the new branch, and return the errors there and on 500."""
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    grid = Discretization.uniform(129)
    network = IAENet(1, 1, grid=129, width=16, blocks=2, branches=[PointIAE(latent=16, rank=32), Legendre(degree=8)])
    model = iaenet.fit(network, [sample(grid, generator) for _ in range(200)], epochs=epochs, threads=1)
    found = {}
    for s in (129, 500):
        test = [sample(Discretization.uniform(s), generator) for _ in range(30)]
        outputs = model.predict([given for given, _ in test])
        errors = [relative_l2(one, wanted) for one, (_, wanted) in zip(outputs, test, strict=True)]
        found[s] = torch.stack(errors).mean().item()
        print(f"{s} points: error {found[s]:.4f}")
    return found


if __name__ == "__main__":
    main()

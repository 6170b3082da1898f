"""A branch of your own: Legendre polynomials, the natural basis of a closed interval.

A domain says how to go to its coefficients, how to come back, and how many they are. The rest of the network is
unchanged, and so is its invariance, for `forward` is a quadrature.
"""

import numpy as np
import torch
from torch import Tensor

import iaenet
from iaenet import Discretization, Field, IAENet, Identity, relative_l2
from iaenet.geometry import Geometry


class Legendre:
    """`c_p = int f P_p`, `f = sum_p c_p P_p` with P_p orthonormal on [0, 1], p = 0 .. degree."""

    def __init__(self, degree: int) -> None:
        self.degree = degree

    def forward(self, values: Tensor, geometry: Geometry) -> Tensor:
        return (self._basis(values, geometry) * geometry.weights.to(values)[:, None]).T @ values

    def inverse(self, coefficients: Tensor, geometry: Geometry) -> Tensor:
        return self._basis(coefficients, geometry) @ coefficients

    def sizes(self, periodic: tuple[bool, ...]) -> Tensor:  # noqa: ARG002 - polynomials are for closed axes
        return torch.full((self.degree + 1,), (self.degree + 1) ** -0.5)

    def _basis(self, like: Tensor, geometry: Geometry) -> Tensor:
        x = 2 * geometry.points[:, 0].numpy() - 1
        return torch.from_numpy(np.polynomial.legendre.legvander(x, self.degree)).to(like) * self._norms(like)

    def _norms(self, like: Tensor) -> Tensor:
        return torch.sqrt(2 * torch.arange(self.degree + 1.0) + 1).to(like)


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
    size = {"width": 16, "latent": 16, "rank": 32, "blocks": 2}
    network = IAENet(1, 1, domains=[Identity(), Legendre(degree=8)], **size)
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

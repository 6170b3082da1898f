"""From a function, on whatever points it was measured, to a few numbers: here the centre and width of a bump.

A vector is stored as a function on a single point, so that data files, training and prediction need nothing new.
"""

import torch

import iaenet
from iaenet import Discretization, Field, Fourier, SpectralConv, SpectralIAE

POINT = Discretization.points([[0.5]], weights=[1.0])


def sample(generator: torch.Generator) -> tuple[Field, Field]:
    """A bump on random points, and the two numbers that describe it."""
    centre, width = 0.2 + 0.6 * torch.rand(1, generator=generator), 0.05 + 0.15 * torch.rand(1, generator=generator)
    at = Discretization.points(torch.rand(60, 1, dtype=torch.float64, generator=generator))
    bump = torch.exp(-(((at.points - centre) / width) ** 2))
    return Field(at, bump.float()), Field(POINT, torch.cat([centre, width])[None])


def main(epochs: int = 12, seed: int = 0) -> float:
    """Train, and return the mean absolute error of centre and width on new bumps."""
    generator = torch.Generator().manual_seed(seed)
    pairs = [sample(generator) for _ in range(200)]
    size = {"width": 16, "blocks": 2, "branches": [SpectralIAE(Fourier(8), latent=16), SpectralConv(8)]}
    model = iaenet.fit({"name": "function-to-vector", **size}, pairs, epochs=epochs, threads=1)
    test = [sample(generator) for _ in range(50)]
    found = model.predict([given for given, _ in test], [POINT] * len(test))
    error = torch.stack(
        [(one.values - wanted.values).abs().mean() for one, (_, wanted) in zip(found, test, strict=True)]
    )
    print(f"centre and width are off by {error.mean():.4f} on average")
    return error.mean().item()


if __name__ == "__main__":
    main()

"""One training set, four kinds of samples: three grids and random points, all in the same batches, none resized.

The map is the primitive of a function, `u(x) = int_0^x (a - mean a)`, known exactly at every point.
"""

import math

import torch

import iaenet
from iaenet import Discretization, Field, relative_l2

HARMONICS = 6


def sample(at: Discretization, generator: torch.Generator) -> tuple[Field, Field]:
    """A random trigonometric polynomial and its primitive, at the points of `at`."""
    k = torch.arange(1, HARMONICS + 1, dtype=torch.float64)
    size, phase = (
        torch.randn(HARMONICS, generator=generator) / k,
        2 * math.pi * torch.rand(HARMONICS, generator=generator),
    )
    angle = 2 * math.pi * k * at.points + phase
    a = (size * angle.cos()).sum(1, keepdim=True)
    u = (size * (angle.sin() - phase.sin()) / (2 * math.pi * k)).sum(1, keepdim=True)
    return Field(at, a.float()), Field(at, u.float())


def main(epochs: int = 15, seed: int = 0) -> dict[str, float]:
    """Train on the mixture, test on grids and points that were never seen; return the mean relative errors."""
    generator = torch.Generator().manual_seed(seed)

    def points(n: int) -> Discretization:
        return Discretization.points(torch.rand(n, 1, dtype=torch.float64, generator=generator), periodic=True)

    grids = [Discretization.uniform(s, periodic=True) for s in (64, 81, 128)]
    pairs = [sample(grids[i % 3], generator) for i in range(300)] + [sample(points(150), generator) for _ in range(60)]
    model = iaenet.fit("iaenet", pairs, epochs=epochs, threads=1)

    unseen = {
        "grid of 100": [Discretization.uniform(100, periodic=True)] * 20,
        "grid of 1024": [Discretization.uniform(1024, periodic=True)] * 20,
        "200 random points": [points(200) for _ in range(20)],
    }
    found = {}
    for name, discretizations in unseen.items():
        test = [sample(at, generator) for at in discretizations]
        outputs = model.predict([given for given, _ in test])
        errors = [relative_l2(one, wanted) for one, (_, wanted) in zip(outputs, test, strict=True)]
        found[name] = torch.stack(errors).mean().item()
        print(f"{name:<20} {found[name]:.4f}")
    return found


if __name__ == "__main__":
    main()

"""One untrained network, one function, many grids: the output converges, because the layers are integrals.

It prints a table and writes a picture. No training, no augmentation: invariance is a property of the layers. The
published form of the network is shown beside ours.
"""

import argparse
import math
from pathlib import Path

import torch

from iaenet import Discretization, Field, IAENet

SIZES = [64, 128, 256, 512, 1024, 2048, 4096]
FINEST = 8192


def function(where: Discretization) -> Field:
    """A smooth periodic function, sampled at any points."""
    x = 2 * math.pi * where.points
    return Field(where, (torch.sin(x) + 0.5 * torch.cos(3 * x) + 0.2 * torch.sin(5 * x + 1)).float())


def uniform(s: int) -> Discretization:
    """`i / s`."""
    return Discretization.uniform(s, periodic=True)


def difference(found: torch.Tensor, truth: torch.Tensor) -> float:
    """`||found - truth|| / ||truth - mean||`: against the output's variation, since a constant part would flatter."""
    return ((found - truth).norm() / (truth - truth.mean()).norm()).item()


def on_grids(model: torch.nn.Module) -> list[float]:
    """Difference to the output on the finest grid, on common points."""
    truth = model(function(uniform(FINEST))).values
    return [difference(model(function(uniform(s))).values, truth[:: FINEST // s]) for s in SIZES]


def on_random_points(model: torch.nn.Module, generator: torch.Generator) -> list[float]:
    """The same for random sensors, with the output on a grid."""
    truth = model(function(uniform(FINEST))).values[:: FINEST // 64]
    found = []
    for n in SIZES:
        sensors = Discretization.points(torch.rand(n, 1, dtype=torch.float64, generator=generator), periodic=True)
        found.append(difference(model(function(sensors), at=uniform(64)).values, truth))
    return found


def picture(rows: dict[str, list[float]], path: Path) -> None:
    """Difference against the number of points."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for (label, values), marker in zip(rows.items(), "osx", strict=True):
        axes.loglog(SIZES, values, marker + "-", label=label)
    axes.set_xlabel("points s")
    axes.set_ylabel(f"relative difference to s = {FINEST}")
    axes.set_title("Output of an untrained network on ever finer samples of one function")
    axes.set_xticks(SIZES, [str(s) for s in SIZES])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


def main(folder: Path, seed: int = 0) -> dict[str, list[float]]:
    """Print the table, write the picture, return the figures."""
    torch.manual_seed(seed)
    ours = IAENet.from_preset("small", in_channels=1, out_channels=1, periodic=True)
    published = IAENet.from_preset("published", in_channels=1, out_channels=1)
    with torch.no_grad():
        rows = {
            "IAE-Net, uniform grids": on_grids(ours),
            "IAE-Net, random sensors": on_random_points(ours, torch.Generator().manual_seed(seed)),
            "published form, uniform grids": on_grids(published),
        }
    print(f"{'points':>31} " + " ".join(f"{s:>8}" for s in SIZES))
    for label, values in rows.items():
        print(f"{label:>31} " + " ".join(f"{value:8.1e}" for value in values))
    folder.mkdir(parents=True, exist_ok=True)
    picture(rows, folder / "invariance.png")
    print(f"picture: {folder / 'invariance.png'}")
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the picture (default: demo)")
    main(parser.parse_args().out)

"""Learn the flow of Burgers' equation on 64 points, then predict it on 1000 points and on random sensors.

About a minute on one core. It prints the errors and writes a picture.
"""

import argparse
from pathlib import Path

import torch

import iaenet
from iaenet import Discretization, Field, relative_l2
from iaenet.data.generate import generate
from iaenet.data.problems import PROBLEMS


def main(folder: Path, samples: int = 400, epochs: int = 12) -> dict[str, float]:
    """Generate, train, predict; return the mean relative errors."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "burgers.h5"
    if not file.exists():
        generate(PROBLEMS["burgers"](viscosity=0.1), file, samples=samples, resolutions=[64, 1000])

    model = iaenet.fit("iaenet", file, folder / "run", resolution=64, epochs=epochs, threads=1)

    test = iaenet.load_dataset(file, split="test", resolution=1000)
    inputs, truth = test.batch(range(len(test)))
    sensors = Discretization.points(torch.rand(150, 1, generator=torch.Generator().manual_seed(0)), periodic=True)
    measured = iaenet.interpolate(inputs, sensors)  # what 150 sensors at random places would have seen
    found = {
        "64 points, as in training": _error(model, iaenet.load_dataset(file, split="test", resolution=64)),
        "1000 points": _error(model, test),
        "from 150 random sensors to 1000 points": relative_l2(model.predict(measured, truth.discretization), truth)
        .mean()
        .item(),
    }
    for what, error in found.items():
        print(f"{what:<40} {error:.4f}")
    picture(measured, truth, model.predict(measured, truth.discretization), folder / "quickstart.png")
    print(f"picture: {folder / 'quickstart.png'}")
    return found


def _error(model: torch.nn.Module, data: iaenet.Dataset) -> float:
    inputs, truth = data.batch(range(len(data)))
    return relative_l2(model.predict(inputs), truth).mean().item()


def picture(measured: Field, truth: Field, found: Field, path: Path) -> None:
    """Three samples: what the sensors saw, the true solution, the predicted one."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.4), sharey=True, layout="constrained")
    x = truth.discretization.points[:, 0]
    for i, axis in enumerate(axes):
        axis.plot(
            measured.discretization.points[:, 0], measured.values[i, :, 0], ".", markersize=3, label="sensors, t = 0"
        )
        axis.plot(x, truth.values[i, :, 0], linewidth=3, alpha=0.4, label="solver, t = 1")
        axis.plot(x, found.values[i, :, 0], linewidth=1, label="predicted, t = 1")
        axis.set_xlabel("x")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("quickstart"), help="folder to write to (default: quickstart)")
    main(parser.parse_args().out)

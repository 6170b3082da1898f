"""An equation in the loss: 20 solved samples, and any number of unsolved ones, which cost nothing.

    u - nu u'' + u^3 = f        on the periodic line,      f -> u

The data-driven loss sees f and u of the samples. The residual of the equation is taken at random query points, for the
samples and for new sources f whose solution nobody has computed. Both trainings take the same number of steps.
"""

import argparse
import math
from pathlib import Path

import numpy as np
import torch

import iaenet
from iaenet import Discretization, Field, differentiable, interpolate, laplacian, relative_l2

NU, HARMONICS, POINTS = 0.003, 6, 64
GRID = Discretization.uniform(POINTS, periodic=True)


def sources(count: int, rng: np.random.Generator) -> torch.Tensor:
    """Random trigonometric polynomials on the grid, `(count, n, 1)`."""
    k = np.arange(1, HARMONICS + 1)
    a, b = rng.standard_normal((2, count, HARMONICS)) * 2 / k**0.5
    angle = 2 * math.pi * np.outer(k, np.arange(POINTS) / POINTS)
    return torch.from_numpy(a @ np.cos(angle) + b @ np.sin(angle))[..., None].float()


def solve(f: torch.Tensor) -> torch.Tensor:
    """u by Newton's method, with derivatives by FFT, exact for what the grid holds."""
    wave = (2 * math.pi * np.fft.fftfreq(POINTS, 1 / POINTS)) ** 2
    fourier = np.fft.fft(np.eye(POINTS), axis=0)
    linear = np.real(np.linalg.inv(fourier) @ ((1 + NU * wave)[:, None] * fourier))
    solved = []
    for source in f[..., 0].double().numpy():
        u = np.zeros(POINTS)
        for _ in range(30):
            step = np.linalg.solve(linear + np.diag(3 * u**2), linear @ u + u**3 - source)
            u = u - step * min(1.0, 1.0 / np.abs(step).max())
        solved.append(u)
    return torch.from_numpy(np.array(solved))[..., None].float()


def samples(count: int, seed: int) -> list[tuple[Field, Field]]:
    """Sources with their solutions."""
    f = sources(count, np.random.default_rng(seed))
    return [(Field(GRID, one), Field(GRID, u)) for one, u in zip(f, solve(f), strict=True)]


def physics_loss(model, given: Field, wanted: Field) -> torch.Tensor:  # type: ignore[no-untyped-def]
    """`||u_hat - u|| / ||u||` on samples, and `||u_hat - nu u_hat'' + u_hat^3 - f|| / ||f||` on as many new sources."""
    data = relative_l2(model(given, wanted.discretization), wanted)
    rng = np.random.default_rng(torch.randint(2**31, (1,)).item())
    new = Field(GRID, sources(len(given.values), rng))
    at = differentiable(Discretization.points(rng.random((POINTS, 1)), periodic=True, rule="monte-carlo"))
    u, f = model(new, at).values, interpolate(new, at).values
    residual = u - NU * laplacian(u, at) + u**3 - f
    return data + 0.3 * residual.norm(dim=(1, 2)) / f.norm(dim=(1, 2))


def main(folder: Path, steps: int = 300, seed: int = 0) -> dict[str, float]:
    """Train with and without the equation; return the mean test errors, and draw both."""
    folder.mkdir(parents=True, exist_ok=True)
    known, held, test = samples(16, seed), samples(4, seed + 1), samples(200, seed + 2)
    epochs = max(1, steps // 20)
    found, models = {}, {}
    for name, loss in (("20 samples", None), ("20 samples and the equation", physics_loss)):
        models[name] = iaenet.fit(
            {"name": "iaenet", "width": 16, "blocks": 1},
            known * 20,  # twenty steps an epoch
            validation=held,
            epochs=epochs,
            batch_size=16,
            loss=loss,
            threads=1,
            seed=seed,
        )
        outputs = models[name].predict([f for f, _ in test])
        found[name] = float(
            torch.stack([relative_l2(one, u) for one, (_, u) in zip(outputs, test, strict=True)]).mean()
        )
        print(f"{name:<30} {found[name]:.4f}")
    print(f"picture: {draw(folder / 'physics_informed.png', models, test[:2], found)}")
    return found


def draw(
    path: Path, models: dict[str, iaenet.Operator], pairs: list[tuple[Field, Field]], found: dict[str, float]
) -> Path:
    """The source, the solution and what each model makes of it, at 256 points."""
    from matplotlib.figure import Figure

    from iaenet.reports.plots import save

    figure = Figure(figsize=(10, 5.2), layout="constrained")
    fine = Discretization.uniform(256, periodic=True)
    for row, (f, u) in zip(figure.subplots(len(pairs), 2), pairs, strict=True):
        row[0].plot(GRID.points[:, 0], f.values[:, 0], color="0.3")
        row[0].set_title("source f, not among the samples", fontsize=9)
        row[1].plot(GRID.points[:, 0], u.values[:, 0], color="black", linewidth=3, alpha=0.35, label="solution u")
        for name, model in models.items():
            shown = f"{name}: {100 * found[name]:.1f} % in the mean"
            row[1].plot(fine.points[:, 0], model.predict(f, fine).values[:, 0], linewidth=1.2, label=shown)
        row[1].set_title("u from f", fontsize=9)
        for ax in row:
            ax.grid(alpha=0.3)
    figure.axes[1].legend(fontsize=8)
    save(figure, path)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build"), help="folder for the picture (default: build)")
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    main(given.out, given.steps)

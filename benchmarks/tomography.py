"""Tomography without learning: how near the noise a method comes that knows the scanner, beside what networks reach.

    python -m benchmarks.tomography                   32 x 32, 64 x 64 and 128 x 128, a few minutes on one core
    python -m benchmarks.tomography --sizes 64 --samples 20

Images, scan and noise are those of the data set `ct-ellipses`. Total variation has the line integrals themselves, the
projector and the size of the noise, none of which a network is given:

    min_f  |A f - d|^2 / (2 sigma^2) + mu TV(f),     by the primal-dual method of Chambolle and Pock.

The weight mu is chosen on as many other images. Figures are mean relative L2 errors.
"""

import argparse
from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import svds

from iaenet.data.problems.ct_ellipses import CTEllipses, render
from iaenet.data.problems.problem import Array
from iaenet.data.problems.tomography import filtered_back_projection, projector
from iaenet.data.text_columns import aligned

WEIGHTS = (0.01, 0.02, 0.03, 0.05, 0.08)  # mu sigma / |A|
STEPS = 400


def gradient(f: Array) -> Array:
    """Differences `(2, s, s)` to the next pixels, zero at the ends."""
    g = np.zeros((2, *f.shape))
    g[0, :-1] = f[1:] - f[:-1]
    g[1, :, :-1] = f[:, 1:] - f[:, :-1]
    return g


def divergence(g: Array) -> Array:
    """Minus the adjoint of `gradient`."""
    f = np.zeros(g.shape[1:])
    f[:-1] += g[0, :-1]
    f[1:] -= g[0, :-1]
    f[:, :-1] += g[1, :, :-1]
    f[:, 1:] -= g[1, :, :-1]
    return f


def total_variation(size: int) -> Callable[[Array, float, float], Array]:
    """The reconstruction `(data, sigma, weight) -> f` for images of this size."""
    a = projector(CTEllipses().scanner, size)
    norm = float(svds(a, k=1, return_singular_vectors=False)[0])

    def reconstruct(data: Array, sigma: float, weight: float) -> Array:
        scale = norm / sigma  # of A / sigma; the gradient, of norm sqrt(8), is brought to it
        lift, step, most = scale / np.sqrt(8), 0.7 / scale, weight * norm / sigma
        f = ahead = np.zeros((size, size))
        q, r = np.zeros(data.size), np.zeros((2, size, size))
        for _ in range(STEPS):
            q = (q + step * (a @ ahead.ravel() - data.ravel()) / sigma) / (1 + step)
            r = r + step * lift * gradient(ahead)
            r /= np.maximum(1, np.sqrt((r**2).sum(0)) * lift / most)
            new = f - step * ((a.T @ q).reshape(size, size) / sigma - lift * divergence(r))
            f, ahead = new, 2 * new - f
        return f

    return reconstruct


def measure(size: int, samples: int) -> list[str]:
    """A row: errors of the back-projection, without and with noise, and of total variation."""
    problem, reconstruct = CTEllipses(), total_variation(size)
    scanner, a = problem.scanner, projector(problem.scanner, size)

    def errors(seed: int, weights: tuple[float, ...]) -> Array:
        found = []
        for i in range(samples):
            rng = np.random.default_rng([seed, i])
            image = render(problem.ellipses(rng), size)
            clean = (a @ image.ravel()).reshape(scanner.views, scanner.detectors)
            sigma = problem.noise * np.mean(np.abs(clean))
            data = clean + sigma * rng.standard_normal(clean.shape)
            guesses = [filtered_back_projection(scanner, d, size) for d in (clean, data)]
            guesses += [reconstruct(data, sigma, weight) for weight in weights]
            found.append([np.linalg.norm(guess - image) / np.linalg.norm(image) for guess in guesses])
        return np.mean(found, axis=0)

    best = WEIGHTS[int(np.argmin(errors(0, WEIGHTS)[2:]))]
    return [f"{size} x {size}", *(f"{error:.3f}" for error in errors(1, (best,))), f"{best:g}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="32,64,128", help="images, pixels along an axis")
    parser.add_argument("--samples", type=int, default=20, help="images to choose mu on, and as many to score")
    options = parser.parse_args()
    rows = [["image", "back-projection, no noise", "back-projection", "total variation", "weight"]]
    rows += [measure(int(size), options.samples) for size in options.sizes.split(",")]
    print("\n".join(aligned(rows)))


if __name__ == "__main__":
    main()

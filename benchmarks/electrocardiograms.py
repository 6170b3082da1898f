"""Electrocardiograms without learning: how near the noise a method comes that knows when hearts beat.

    python -m benchmarks.electrocardiograms                   20 recordings, some minutes on one core
    python -m benchmarks.electrocardiograms --records 5

Windows of 8 seconds at 125 Hz are those of the data set `fetal-ecg`. When the times of all beats and breaths, the ratio
of the powers and the correlation of the noise are given, none of which a network is, the signals are taken to be
Gaussian over the rest (form of the beat, place and direction of the heart). The best estimates from the mixture y are

    C_m (C_m + C_f + C_n)^-1 y   and   C_f (C_m + C_f + C_n)^-1 y,     C covariances from other hearts, drawn at random.

Figures are mean relative L2 errors of both signals together, as in the tables, and the parts of it.
"""

import argparse
from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, toeplitz

from iaenet.data.problems.ar_noise import NOISE_RATE
from iaenet.data.problems.cardiac_dipole import Heart
from iaenet.data.problems.fetal_ecg import FetalECG, Recording, sampling
from iaenet.data.problems.problem import Array
from iaenet.data.text_columns import aligned

RATE = 125  # samples per second
LAGS = 60  # samples over which noise is correlated
LEVELS = {  # signal to noise, dB
    "below 1 dB": (-np.inf, 1),
    "1 to 4 dB": (1, 4),
    "4 to 7 dB": (4, 7),
    "7 to 10 dB": (7, 10),
    "above 10 dB": (10, np.inf),
    "all": (-np.inf, np.inf),
}


def covariances(problem: FetalECG, own: Recording, t: Array, draws: int, rng: np.random.Generator) -> list[Array]:
    """Factors `(n, draws, l)` of C_m and C_f: signals of other hearts that beat and breathe at the same times."""
    found = []
    level = np.mean(own.fetal(t) ** 2) / np.mean(own.maternal(t) ** 2)
    for _ in range(draws):
        other = problem.recording(rng)
        hearts = {"mother": in_step(other.mother, own.mother), "fetus": in_step(other.fetus, own.fetus)}
        other = replace(other, **hearts, fetal_gain=1.0)
        maternal, fetal = other.maternal(t), other.fetal(t)
        found.append([maternal, fetal * np.sqrt(level * np.mean(maternal**2) / np.mean(fetal**2))])
    return [np.moveaxis(np.array(part), 0, 1) / np.sqrt(draws) for part in zip(*found, strict=True)]


def in_step(heart: Heart, other: Heart) -> Heart:
    """The heart, beating and breathing as the other does."""
    return replace(heart, beats=other.beats, breath=other.breath, breath_start=other.breath_start)


def noise_covariance(samples: Array, n: int) -> Array:
    """`C_n (n, n)` from the noise itself, `(m,)` at NOISE_RATE."""
    step = NOISE_RATE // RATE
    row = np.zeros(n)
    for lag in range(LAGS):
        fade = 0.5 + 0.5 * np.cos(np.pi * lag / LAGS)
        row[lag] = fade * np.mean(samples[: len(samples) - step * lag] * samples[step * lag :])
    row[0] *= 1 + 1e-6
    return np.asarray(toeplitz(row))


def measure(record: int, draws: int) -> list[list[float]]:
    """For the first window of every lead: signal to noise in dB, error, its maternal and its fetal part."""
    problem = FetalECG(duration=16.0)
    own = problem.recording(np.random.default_rng([0, record]))
    t = sampling(round(RATE * problem.window), problem.duration)[: round(RATE * problem.window)]
    maternal, fetal = covariances(problem, own, t, draws, np.random.default_rng([1, record]))
    truth, noise = np.stack([own.maternal(t), own.fetal(t)]), own.noise(t)
    rows = []
    for lead in range(len(problem.leads)):
        m, f = maternal[..., lead], fetal[..., lead]
        total = m @ m.T + f @ f.T + noise_covariance(own.noise_gain * own.noise_samples[:, lead], len(t))
        weights = cho_solve(cho_factor(total), truth[..., lead].sum(0) + noise[:, lead])
        wrong = np.stack([part @ (part.T @ weights) for part in (m, f)]) - truth[..., lead]
        size = np.linalg.norm(truth[..., lead])
        level = 20 * np.log10(size / np.linalg.norm(noise[:, lead]))
        rows.append([level, np.linalg.norm(wrong) / size, *(np.linalg.norm(wrong, axis=1) / size)])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=20, help="recordings; each gives a window for each of 5 leads")
    parser.add_argument("--draws", type=int, default=150, help="other hearts, for the covariances")
    options = parser.parse_args()
    found = np.array([row for record in range(options.records) for row in measure(record, options.draws)])
    rows = [["signal to noise", "windows", "error", "maternal", "fetal"]]
    for name, (low, high) in LEVELS.items():
        some = found[(found[:, 0] >= low) & (found[:, 0] < high)]
        if len(some):
            rows.append([name, str(len(some)), *(f"{value:.3f}" for value in some[:, 1:].mean(0))])
    print("\n".join(aligned(rows)))


if __name__ == "__main__":
    main()

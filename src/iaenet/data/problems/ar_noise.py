"""Noise of muscles and moving electrodes: autoregressive models of recorded segments, with shifted poles.

`sum_{j=0}^12 a_j y_{i-j} = white_i`, `a_0 = 1`, spectrum `1 / |sum_j a_j exp(-i w j)|^2`
"""

import json
import math
from functools import lru_cache
from importlib.resources import files

import numpy as np
from scipy.signal import lfilter

from iaenet.errors import InvalidInputError
from iaenet.functions.quadrature import Array

NOISE_KINDS = ("MA", "EM")  # muscle, electrode motion
NOISE_RATE = 1000  # Hz
POLE_SHIFT = 0.02  # largest relative change of the real and of the imaginary part of a pole
POLE_LIMIT = 0.99  # largest modulus of a pole that was moved


def noisy_dipole(rng: np.random.Generator, kind: str, n: int) -> Array:
    """Three independent processes `(n, 3)` of unit power, each from a segment of its own.

    (fecgsyn fits two axes to the two channels of one segment, takes their principal component for the third, and lets
    the poles wander during a record.)

    >>> noisy_dipole(np.random.default_rng(0), "MA", 100).shape
    (100, 3)
    """
    models = noise_models(kind)
    return np.stack([ar_noise(rng, shifted(rng, models[rng.integers(len(models))]), n) for _ in range(3)], axis=1)


@lru_cache(maxsize=2)
def noise_models(kind: str) -> Array:
    """Models `a (48, 13)` at 1000 Hz of one of `NOISE_KINDS`, from segments of the MIT-BIH noise stress test database.

    >>> noise_models("MA").shape
    (48, 13)
    """
    if kind not in NOISE_KINDS:
        raise InvalidInputError(f"the kind of noise must be one of {NOISE_KINDS}, got {kind!r}")
    models = json.loads((files("iaenet.data.problems") / "data/nstdb_ar12.json").read_text())["ar"][kind]
    return np.array([model["a"] for model in models if model["fs"] == NOISE_RATE])


def shifted(rng: np.random.Generator, a: Array) -> Array:
    """The model `a (13,)` with the real and imaginary parts of each pole changed by up to 2 %; poles stay within 0.99.

    >>> a = shifted(np.random.default_rng(0), noise_models("MA")[0])
    >>> a.shape, bool(np.abs(np.roots(a)).max() < 0.99)
    ((13,), True)
    """
    poles = np.roots(a)
    factors = rng.uniform(1 - POLE_SHIFT, 1 + POLE_SHIFT, (len(poles), 2))
    moved = poles.real * factors[:, 0] + 1j * poles.imag * factors[:, 1]
    moved = np.where(np.abs(moved) < POLE_LIMIT, moved, poles)
    real, upper = moved[poles.imag == 0], moved[poles.imag > 0]
    return np.asarray(np.poly(np.concatenate([real, upper, upper.conj()])).real, dtype=np.float64)


def ar_noise(rng: np.random.Generator, a: Array, n: int) -> Array:
    """A stationary process `(n,)` of unit power with spectrum `1 / |sum_j a_j exp(-i w j)|^2`.

    >>> noise = ar_noise(np.random.default_rng(0), np.array([1.0, -0.9]), 10000)
    >>> round(float(np.mean(noise**2)), 12), round(float(np.mean(noise[1:] * noise[:-1])), 1)
    (1.0, 0.9)
    """
    settle = 1000  # 0.99^1000 = 4e-5
    process = lfilter([1.0], a, rng.standard_normal(settle + n))[settle:]
    noise: Array = process / math.sqrt(np.mean(process**2))
    return noise

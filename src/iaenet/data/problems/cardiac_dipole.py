"""A beating heart as a moving current dipole: its potential at electrodes on the body, at any time.

`potential(e, t) = (e - p(t)) . R(t) v(theta(t)) / |e - p(t)|^3`

`theta` is the phase of the beat (0 at the R peak), `v` the vectorcardiogram, and breathing turns (R) and lifts (p) the
heart. Everything is a function of continuous time. The model is that of fecgsyn (Behar, Andreotti et al. 2014).
"""

import json
import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files

import numpy as np
from scipy.interpolate import PchipInterpolator

from iaenet.errors import InvalidInputError
from iaenet.functions.quadrature import Array

# The nine sets that fecgsyn draws from; the file has a tenth, s0486, with a spike of 1 / 1000 radian in its T wave.
VCG_SETS = ("old1", "old2", "s0273", "s0291", "s0302", "s0303", "s0306", "s0491", "s0533")
SWING = np.array([0.2, 0.16, 0.14])  # rotation about x, y, z from full exhalation to full inhalation, radian
LIFT = 0.05  # translation along the body over the same, in units of the body's height
RR_PEAKS = (0.1, 0.25)  # Hz: Mayer waves, and respiratory sinus arrhythmia
RR_WIDTH = 0.01  # Hz, standard deviation of either peak


@dataclass(frozen=True)
class Vectorcardiogram:
    """`v(theta) = (sum_j alpha_j exp(-d_j^2 / 2 b_j^2) - mean) / max` for each axis, `d_j = theta - theta_j`.

    d_j is wrapped to [-pi, pi); mean and maximum are those over a beat. (fecgsyn filters out what is slower than
    0.7 Hz and divides by the maximum of the record; a constant does the same, and is known at every time.)

    >>> v = vectorcardiogram("old1")(np.linspace(-np.pi, np.pi, 5000))
    >>> v.shape, np.abs(v).max(axis=0).round(3).tolist(), bool(np.abs(v.mean(axis=0)).max() < 1e-3)
    ((5000, 3), [1.0, 1.0, 1.0], True)
    """

    waves: tuple[Array, Array, Array]  # per axis (3, j): theta_j, alpha_j, b_j

    def __call__(self, theta: Array) -> Array:
        """Dipole moments `(n, 3)` at phases `(n,)`."""
        mean, most = self._beat
        dipole: Array = (self._sum(theta) - mean) / most
        return dipole

    @cached_property
    def _beat(self) -> tuple[Array, Array]:
        beat = self._sum(np.linspace(0, 2 * np.pi, 8192, endpoint=False))
        return beat.mean(axis=0), np.abs(beat - beat.mean(axis=0)).max(axis=0)

    def _sum(self, theta: Array) -> Array:
        moment = np.zeros((len(theta), 3))
        for axis, parameters in enumerate(self.waves):
            for centre, height, width in parameters.T:
                d = np.mod(theta - centre + np.pi, 2 * np.pi) - np.pi
                moment[:, axis] += height * np.exp(-0.5 * (d / width) ** 2)
        return moment


@lru_cache(maxsize=16)
def vectorcardiogram(name: str) -> Vectorcardiogram:
    """One of `VCG_SETS`."""
    sets = json.loads((files("iaenet.data.problems") / "data/fecgsyn_vcg_params.json").read_text())["vcg"]
    if name not in sets:
        raise InvalidInputError(f"no vectorcardiogram {name!r}; there are {', '.join(VCG_SETS)}")
    x, y, z = (np.array(sets[name][axis]) for axis in "xyz")
    return Vectorcardiogram((x, y, z))


def breathing(t: Array, frequency: float) -> Array:
    """A rounded sawtooth in [-1/2, 1/2], of slowly changing depth and pace.

    `r(t) = -c (1 + 0.3 sin w t) sum_{k=1}^3 sin(k phi(t)) / k`, `phi(t) = 2 pi f t + sin(w t) / 2`, `w = 2 pi / 10 s`.

    >>> r = breathing(np.linspace(0, 1000, 100000), 0.25)
    >>> bool(-0.5 <= r.min() < -0.45), bool(0.45 < r.max() <= 0.5)
    (True, True)
    """
    slow = np.sin(2 * np.pi * 0.1 * t)
    phi = 2 * np.pi * frequency * t + slow / 2
    saw = np.sin(phi) + np.sin(2 * phi) / 2 + np.sin(3 * phi) / 3  # at most 1.4429
    return -0.5 * (1 + 0.3 * slow) * saw / (1.3 * 1.4429)


def beat_times(rng: np.random.Generator, rate: float, spread: float, ratio: float, duration: float) -> Array:
    """Times (s) of the R peaks from before 0 to after `duration`: `t_{k+1} = t_k + rr(t_k)`.

    `rr(t) = 60 / rate (1 + spread / rate x(t))` with `rate` and `spread` in beats per minute; x has mean 0, variance 1,
    random phases, and a power spectrum of two Gaussians at `RR_PEAKS`, the lower with `ratio` times the power of the
    higher (McSharry et al. 2003, who draw rr at 1 Hz; here it is a function of time).

    >>> beats = beat_times(np.random.default_rng(0), rate=120.0, spread=0.0, ratio=0.6, duration=10.0)
    >>> np.diff(beats).round(12).tolist()[:2], bool(beats[1] < 0 and beats[-2] > 10)
    ([0.5, 0.5], True)
    """
    period = max(400.0, 1.2 * duration)
    f = np.arange(1, math.ceil(0.35 * period)) / period
    low, high = (np.exp(-0.5 * ((f - peak) / RR_WIDTH) ** 2) for peak in RR_PEAKS)
    power = ratio * low + high
    amplitude = np.sqrt(2 * power / power.sum())
    phase = rng.uniform(0, 2 * np.pi, len(f))
    beats = [-(2 + rng.uniform()) * 60 / rate]
    margin = 3 * 60 / rate
    while beats[-1] < duration + margin:
        x = amplitude @ np.cos(2 * np.pi * f * beats[-1] + phase)
        beats.append(beats[-1] + 60 / rate * (1 + spread / rate * x))
    return np.array(beats)


@dataclass(frozen=True, eq=False)
class Heart:
    """A heart at `position` (x, y, z), turned by `angles` (rad) about x, y, z, in a body that breathes.

    beats: times of the R peaks, s. vcg: name of a vectorcardiogram. breath: breaths per second, Hz. breath_start: s.
    """

    vcg: str
    beats: Array
    position: Array
    angles: Array
    breath: float
    breath_start: float

    @cached_property
    def phase(self) -> PchipInterpolator:
        """`theta(t)`: `2 pi k` at beat k, monotone, of continuous rate (fecgsyn: linear, with a kink at R peaks)."""
        return PchipInterpolator(self.beats, 2 * np.pi * np.arange(len(self.beats)))

    def potential(self, t: Array, electrodes: Array) -> Array:
        """`(n, l)` at times `t (n,)` and `electrodes (l, 3)`."""
        r = breathing(t + self.breath_start, self.breath)
        v = rotated(vectorcardiogram(self.vcg)(self.phase(t)), self.angles + r[:, None] * SWING)
        p = self.position + (r[:, None] + 0.5) * np.array([0.0, 0.0, LIFT])
        return np.stack([projected(e - p, v) for e in electrodes], axis=1)


def projected(towards: Array, moment: Array) -> Array:
    """`d . v / |d|^3`: the potential of the dipole `v (..., 3)` seen from it along `d (..., 3)`.

    >>> float(projected(np.array([2.0, 0.0, 0.0]), np.array([1.0, 5.0, 0.0])))
    0.25
    """
    dot = np.einsum("...d,...d->...", towards, moment)
    potential: Array = dot / np.einsum("...d,...d->...", towards, towards) ** 1.5
    return potential


def rotated(vectors: Array, angles: Array) -> Array:
    """`R_x R_y R_z v` of `vectors (n, 3)` by `angles (n, 3)` about the axes.

    >>> rotated(np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, np.pi / 2]])).round(12).tolist()
    [[0.0, 1.0, 0.0]]
    """
    parts = [vectors[:, i] for i in range(3)]
    for axis in (2, 1, 0):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        c, s = np.cos(angles[:, axis]), np.sin(angles[:, axis])
        parts[first], parts[second] = c * parts[first] - s * parts[second], s * parts[first] + c * parts[second]
    return np.stack(parts, axis=1)


def cylindrical(angle: float, radius: float, height: float) -> Array:
    """Cartesian coordinates `(3,)` of a point on or in the body, a cylinder of radius 1/2 and height 1.

    >>> cylindrical(np.pi / 2, 0.5, -0.1).round(12).tolist()
    [0.0, 0.5, -0.1]
    """
    return np.array([radius * math.cos(angle), radius * math.sin(angle), height])


def in_ball(rng: np.random.Generator, radius: float) -> Array:
    """A random displacement `(3,)`: uniform direction, uniform length up to `radius`.

    >>> bool(np.linalg.norm(in_ball(np.random.default_rng(0), 0.1)) < 0.1)
    True
    """
    direction = rng.standard_normal(3)
    shift: Array = radius * rng.uniform() * direction / np.linalg.norm(direction)
    return shift

"""Abdominal recordings of two hearts and noise: mixture -> (maternal, fetal) electrocardiogram."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
from scipy.interpolate import CubicSpline

from iaenet.data.problems.ar_noise import NOISE_KINDS, NOISE_RATE, noisy_dipole
from iaenet.data.problems.cardiac_dipole import VCG_SETS, Heart, beat_times, cylindrical, in_ball, projected
from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization

WINDOW = 8.0  # s
NATIVE = 250  # Hz, the rate of the database; levels are set on samples at it
SNR_LEVELS = (0.0, 3.0, 6.0, 9.0, 12.0)  # dB

# 32 electrodes on the front of the belly, 8 around by 4 down, numbered from 1; and the ground on its back.
ELECTRODES = np.array(
    [cylindrical(math.pi / 12 * i - math.pi / 2, 0.5, -z / 10) for z in range(1, 5) for i in range(3, 11)]
)
GROUND = cylindrical(math.pi, 0.5, -0.3)


@dataclass(frozen=True)
class FetalECG:
    """`mixture = maternal + fetal + noise -> (maternal, fetal)`, one lead of an abdominal recording at a time.

    A record is one mother and one fetus: two cardiac dipoles and two sources of noise in a cylindrical body, seen by
    electrodes on the belly against a ground on the back (the model of fecgsyn and of the PhysioNet set fecgsyndb). It
    gives one sample for every window and every lead, window by window, in arbitrary units of potential.

    leads: which of the 32 electrodes, numbered 1 to 32 as in fecgsyndb. Default (1, 8, 11, 22, 25).
    duration: length of a record, s. Default 300; `windows = (duration // window) * len(leads)`, 185 by default.
    window: length of a window, s. Default 8.
    snr: maternal power over noise power, dB. Default None: each record draws one of 0, 3, 6, 9, 12.
    fetal_snr: fetal power over maternal power, mean over records, dB. Default -9; records scatter by 2.
    maternal_rate, fetal_rate: beats per minute. Default None: drawn from 80 +- 20 and 135 +- 25, cut off at twice that.
    noise: kinds of the noise sources, "MA" (muscle) or "EM" (electrode motion). Default ("MA", "MA") as in fecgsyndb.

    Powers are means over the record and its leads (fecgsyn also averages over electrodes that are not recorded, and
    corrects for the heart rates). A resolution s is the number of samples of a window, at the times `window k / s`,
    k < s: the last lies one step before the end of the domain [0, window]. The hearts are evaluated at these times; the
    noise is one function of time, drawn at 1000 Hz. So all resolutions sample the same signals, without a filter.

    >>> record = FetalECG(duration=16.0, leads=(1, 8)).record(np.random.default_rng(0), [2000])
    >>> len(record), record[0][2000].input.shape, record[0][2000].output.shape
    (4, (2000, 1), (2000, 2))
    """

    leads: tuple[int, ...] = (1, 8, 11, 22, 25)
    duration: float = 300.0
    window: float = WINDOW
    snr: float | None = None
    fetal_snr: float = -9.0
    maternal_rate: float | None = None
    fetal_rate: float | None = None
    noise: tuple[str, ...] = ("MA", "MA")

    name: ClassVar[str] = "fetal-ecg"
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("mixture"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("maternal"), Channel("fetal"))

    def __post_init__(self) -> None:
        if not self.leads or len(set(self.leads)) < len(self.leads) or not set(self.leads) <= set(range(1, 33)):
            raise InvalidInputError(f"leads must be different electrodes from 1 to 32, got {self.leads}")
        if not 1.0 <= self.window < math.inf:
            raise InvalidInputError(f"window must be at least 1 s, got {self.window}")
        if not self.window <= self.duration < math.inf:
            raise InvalidInputError(f"duration must be at least one window of {self.window} s, got {self.duration}")
        for name in ("snr", "fetal_snr"):
            level = getattr(self, name)
            if level is not None and not abs(level) <= 100:
                raise InvalidInputError(f"{name} must be within +-100 dB, got {level}")
        for name in ("maternal_rate", "fetal_rate"):
            rate = getattr(self, name)
            if rate is not None and not 30 <= rate <= 300:
                raise InvalidInputError(f"{name} must be between 30 and 300 beats per minute, got {rate}")
        if not self.noise or not set(self.noise) <= set(NOISE_KINDS):
            raise InvalidInputError(f"noise must be one or more of {NOISE_KINDS}, got {self.noise}")

    @property
    def windows(self) -> int:
        """Samples of a record: whole windows, times leads."""
        return int(self.duration // self.window) * len(self.leads)

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """The samples of one record, window by window, and lead by lead within a window."""
        recording = self.recording(rng)
        samples: list[dict[int, Sample]] = [{} for _ in range(self.windows)]
        for s in resolutions:
            at = times(s, self.window)
            t = sampling(s, self.duration, self.window)
            maternal, fetal, noise = (part(t) for part in (recording.maternal, recording.fetal, recording.noise))
            mixture = maternal + fetal + noise
            for index, sample in enumerate(samples):
                window, lead = divmod(index, len(self.leads))
                rows = slice(window * s, (window + 1) * s)
                pair = np.stack([maternal[rows, lead], fetal[rows, lead]], axis=1)
                sample[s] = Sample(mixture[rows, lead, None].copy(), pair, at, at)
        return samples

    def recording(self, rng: np.random.Generator) -> "Recording":
        """The signals of one record as functions of time."""
        level = float(rng.choice(SNR_LEVELS))  # drawn in any case: a given `snr` changes nothing else of the record
        fetal_level = self.fetal_snr + 2 * rng.standard_normal()
        mother = _mother(rng, self.maternal_rate, self.duration)
        fetus = _fetus(rng, self.fetal_rate, self.duration)
        electrodes = np.concatenate([ELECTRODES[np.array(self.leads) - 1], GROUND[None]])
        n = math.ceil(self.duration * NOISE_RATE) + 1
        noise = np.sum([_noise(rng, kind, index, n, electrodes) for index, kind in enumerate(self.noise)], axis=0)
        unit = Recording(mother, fetus, electrodes, noise, 1.0, 1.0)
        t = sampling(round(NATIVE * self.window), self.duration, self.window)
        powers = [float(np.mean(part(t) ** 2)) for part in (unit.maternal, unit.fetal, unit.noise)]
        return Recording(
            mother,
            fetus,
            electrodes,
            noise,
            fetal_gain=math.sqrt(powers[0] / powers[1]) * 10 ** (fetal_level / 20),
            noise_gain=math.sqrt(powers[0] / powers[2]) * 10 ** (-(level if self.snr is None else self.snr) / 20),
        )


@dataclass(frozen=True, eq=False)
class Recording:
    """Signals `(n, l)` of l leads as functions of time `t (n,)`, s: `mixture = maternal + fetal + noise`."""

    mother: Heart
    fetus: Heart
    electrodes: Array  # (l + 1, 3), the ground last
    noise_samples: Array  # (n, l) at NOISE_RATE from t = 0, before the gain
    fetal_gain: float
    noise_gain: float

    def maternal(self, t: Array) -> Array:
        """The mother's heart at the leads, against the ground."""
        return _grounded(self.mother.potential(t, self.electrodes))

    def fetal(self, t: Array) -> Array:
        """The heart of the fetus."""
        return self.fetal_gain * _grounded(self.fetus.potential(t, self.electrodes))

    def noise(self, t: Array) -> Array:
        """The noise: the cubic spline through its samples, so the samples themselves at whole milliseconds.

        On average 0.5 % of the power of muscle noise lies beyond 125 Hz, so samples at 250 Hz hardly alias.
        """
        positions = t * NOISE_RATE
        whole = np.rint(positions).astype(np.int64)
        if np.abs(positions - whole).max() < 1e-6:
            return self.noise_gain * self.noise_samples[whole]
        values: Array = self.noise_gain * self._spline(positions)
        return values

    @cached_property
    def _spline(self) -> CubicSpline:
        return CubicSpline(np.arange(len(self.noise_samples)), self.noise_samples)


def _grounded(potential: Array) -> Array:
    return potential[:, :-1] - potential[:, -1:]


def _mother(rng: np.random.Generator, rate: float | None, duration: float) -> Heart:
    drawn = 80 + 20 * np.clip(rng.standard_normal(), -2, 2)
    position = cylindrical(2 * math.pi / 3, 0.2, 0.4) + in_ball(rng, 0.05)
    breath = 0.25 + 0.05 * np.clip(rng.standard_normal(), -2, 2)
    return Heart(
        vcg=VCG_SETS[rng.integers(len(VCG_SETS))],
        position=position,
        angles=np.zeros(3),
        breath=breath,
        breath_start=rng.uniform(0, 100),
        beats=beat_times(rng, drawn if rate is None else rate, 2.0, 0.6, duration),
    )


def _fetus(rng: np.random.Generator, rate: float | None, duration: float) -> Heart:
    drawn = 135 + 25 * np.clip(rng.standard_normal(), -2, 2)
    side, out, down = rng.uniform(size=3)
    position = cylindrical(math.pi * (2 * side - 1) / 10, 0.25 + 0.1 * out, -0.2 * (1 + down)) + in_ball(rng, 0.1)
    breath = 0.9 + 0.05 * np.clip(rng.standard_normal(), -2, 2)
    return Heart(
        vcg=VCG_SETS[rng.integers(len(VCG_SETS))],
        position=position,
        angles=rng.uniform(-math.pi, math.pi, 3),
        breath=breath,
        breath_start=rng.uniform(0, 100),
        beats=beat_times(rng, drawn if rate is None else rate, 3.0, 0.8, duration),
    )


def _noise(rng: np.random.Generator, kind: str, index: int, n: int, electrodes: Array) -> Array:
    """A noisy dipole at rest as the leads see it, `(n, l)`: near the base of the body, the next near its middle."""
    angle, radius, height = rng.uniform(size=3)
    position = cylindrical(2 * math.pi * angle, 0.1 * radius, 0.1 * height - (0.5 if index % 2 == 0 else 0.0))
    strength = abs(1 + 0.5 * rng.standard_normal())
    moment = noisy_dipole(rng, kind, n)
    return strength * _grounded(np.stack([moment @ projected(e - position, np.eye(3)) for e in electrodes], axis=1))


def sampling(s: int, duration: float, window: float = WINDOW) -> Array:
    """Times `window k / s` of the whole windows within `duration`, s samples each.

    >>> sampling(4, 17.0).tolist()
    [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]
    """
    return np.arange(int(duration // window) * s, dtype=np.float64) * (window / s)


@lru_cache(maxsize=32)
def times(s: int, window: float = WINDOW) -> Discretization:
    """`window k / s`, k = 0 .. s - 1, in the domain [0, window] (seconds); not periodic, and open at its end.

    >>> times(4).points[:, 0].tolist(), times(4).weights.tolist()
    ([0.0, 2.0, 4.0, 6.0], [1.0, 2.0, 2.0, 3.0])
    """
    if s < 2:
        raise InvalidInputError(f"resolution must be at least 2 samples, got {s}")
    return Discretization.tensor_grid(sampling(s, window, window), bounds=[(0.0, window)])

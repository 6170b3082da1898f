import pickle

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.signal import find_peaks, freqz, periodogram, welch

from iaenet.data.problems.ar_noise import NOISE_RATE, ar_noise, noise_models, noisy_dipole, shifted
from iaenet.data.problems.cardiac_dipole import VCG_SETS, beat_times, projected, rotated, vectorcardiogram
from iaenet.data.problems.fetal_ecg import ELECTRODES, GROUND, SNR_LEVELS, FetalECG, sampling
from iaenet.errors import InvalidInputError

SHORT = FetalECG(duration=24.0)


def rng(seed=0):
    return np.random.default_rng(seed)


def decibel(ratio):
    return 10 * np.log10(ratio)


def parts(record, s, leads):
    """Mixture, maternal and fetal signals (n, l) of whole records, put together from their windows."""
    joined = [
        np.concatenate([np.hstack([sample[s].input, sample[s].output]) for sample in record[i::leads]])
        for i in range(leads)
    ]
    return np.stack(joined, axis=-1).transpose(1, 0, 2)


def r_peaks(signal, fs, rate):
    """Times of the QRS complexes of leads (n, l): where the slopes are steepest."""
    slope = np.sum(np.gradient(signal, axis=0) ** 2, axis=1)
    energy = np.convolve(slope, np.hanning(round(0.08 * fs)), mode="same")
    peaks, _ = find_peaks(energy, distance=round(0.6 * 60 / rate * fs), height=0.2 * np.quantile(energy, 0.99))
    return peaks / fs


# ---------------------------------------------------------------- the mixture


def test_windows_of_2000_samples_at_250_hz():
    assert FetalECG().windows == 37 * 5
    record = SHORT.record(rng(), [2000])
    assert len(record) == SHORT.windows == 15
    for sample in record:
        assert sample[2000].input.shape == (2000, 1)
        assert sample[2000].output.shape == (2000, 2)
        assert sample[2000].input_at is record[0][2000].output_at
    at = record[0][2000].input_at
    np.testing.assert_allclose(np.diff(at.points[:, 0].numpy()), 1 / 250, rtol=1e-9)
    assert at.points[0, 0] == 0
    assert at.points[-1, 0].item() == pytest.approx(8 - 1 / 250, abs=1e-12)
    assert at.bounds.tolist() == [[0, 8]]
    assert at.periodic == (False,)
    assert at.weights.sum().item() == pytest.approx(8, abs=1e-12)


def test_mixture_is_the_sum_of_its_parts():
    recording, record = SHORT.recording(rng(3)), SHORT.record(rng(3), [2000])
    t = sampling(2000, 24.0)
    maternal, fetal, noise = recording.maternal(t), recording.fetal(t), recording.noise(t)
    mixture, m, f = parts(record, 2000, leads=5)
    np.testing.assert_array_equal(m, maternal)
    np.testing.assert_array_equal(f, fetal)
    np.testing.assert_array_equal(mixture, maternal + fetal + noise)


@pytest.mark.parametrize("level", SNR_LEVELS)
def test_levels_as_asked_for_at_every_resolution(level):
    problem = FetalECG(duration=48.0, snr=level)
    record = problem.record(rng(int(level)), [1000, 2000, 4000])
    for s in (1000, 2000, 4000):
        mixture, maternal, fetal = parts(record, s, leads=5)
        noise = mixture - maternal - fetal
        assert abs(decibel(np.mean(maternal**2) / np.mean(noise**2)) - level) < 0.1


def test_a_record_draws_one_of_the_levels_and_scatters_the_fetal_one():
    problem = FetalECG(duration=8.0)
    t = sampling(2000, 8.0)
    levels, fetal = [], []
    for seed in range(60):
        r = problem.recording(rng(seed))
        power = np.mean(r.maternal(t) ** 2)
        levels.append(decibel(power / np.mean(r.noise(t) ** 2)))
        fetal.append(decibel(np.mean(r.fetal(t) ** 2) / power))
    assert set(np.round(levels, 6)) == set(SNR_LEVELS)
    assert abs(np.mean(fetal) + 9) < 4 * 2 / np.sqrt(60)
    assert abs(np.std(fetal) - 2) < 4 * 2 / np.sqrt(120)


def test_a_given_level_changes_nothing_else():
    free, fixed = SHORT.recording(rng(1)), FetalECG(duration=24.0, snr=-3.0).recording(rng(1))
    t = sampling(500, 24.0)
    np.testing.assert_array_equal(free.maternal(t), fixed.maternal(t))
    np.testing.assert_array_equal(free.fetal(t), fixed.fetal(t))
    ratio = fixed.noise(t) / free.noise(t)
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-9)


# ---------------------------------------------------------------- resolutions


def test_every_resolution_samples_the_same_signals():
    record = SHORT.record(rng(2), [250, 500, 1000, 2000, 4000])
    for s in (250, 500, 1000, 2000):
        for sample in record:
            np.testing.assert_allclose(sample[4000].input[:: 4000 // s], sample[s].input, atol=1e-12)
            np.testing.assert_allclose(sample[4000].output[:: 4000 // s], sample[s].output, atol=1e-12)


def test_short_windows_are_cut_from_the_same_recording():
    whole, parts = (
        FetalECG(duration=8.0, window=window).record(rng(2), [s]) for window, s in ((8.0, 2000), (2.0, 500))
    )
    leads = len(whole)
    assert len(parts) == 4 * leads
    for lead in range(leads):
        joined = np.concatenate([parts[window * leads + lead][500].input for window in range(4)])
        np.testing.assert_allclose(joined, whole[lead][2000].input, atol=1e-12)
    assert parts[0][500].input_at.bounds.tolist() == [[0, 2]]


def test_resolutions_that_fall_between_the_noise_samples():
    record = FetalECG(duration=8.0).record(rng(2), [3000, 2000])
    for sample in record:
        np.testing.assert_allclose(sample[3000].input[::3], sample[2000].input[::2], atol=1e-9)
        np.testing.assert_allclose(sample[3000].output[::3], sample[2000].output[::2], atol=1e-12)


def test_asking_for_more_does_not_change_a_sample():
    problem = pickle.loads(pickle.dumps(SHORT))
    one, two = problem.record(rng(4), [500]), problem.record(rng(4), [1000, 500])
    for a, b in zip(one, two, strict=True):
        assert list(b) == [1000, 500]
        np.testing.assert_array_equal(a[500].input, b[500].input)
        np.testing.assert_array_equal(a[500].output, b[500].output)
        assert a[500].input_at is b[500].input_at
    assert not np.array_equal(problem.record(rng(5), [500])[0][500].input, one[0][500].input)


# ---------------------------------------------------------------- hearts


@pytest.mark.parametrize(("mother", "fetus"), [(65.0, 120.0), (95.0, 160.0)])
def test_heart_rates_as_asked_for(mother, fetus):
    problem = FetalECG(duration=120.0, maternal_rate=mother, fetal_rate=fetus)
    recording = problem.recording(rng(int(mother)))
    t = sampling(2000, 120.0)
    for rate, spread, signal, heart in (
        (mother, 2.0, recording.maternal(t), recording.mother),
        (fetus, 3.0, recording.fetal(t), recording.fetus),
    ):
        peaks = r_peaks(signal, 250, rate)
        beats = heart.beats[(heart.beats > 1) & (heart.beats < 119)]
        nearest = np.abs(beats[:, None] - peaks).min(axis=1)
        assert nearest.max() < 0.06  # every beat shows, within the QRS complex
        intervals = np.diff(peaks)
        assert abs(60 / intervals.mean() - rate) < 0.01 * rate
        assert abs(np.std(60 / intervals) - spread) < 0.25 * spread


def test_rates_scatter_between_records():
    problem = FetalECG(duration=8.0)
    rates = np.array(
        [
            [60 / np.diff(h.beats).mean() for h in (r.mother, r.fetus)]
            for r in map(problem.recording, map(rng, range(80)))
        ]
    )
    assert np.all(np.abs(rates.mean(axis=0) - [80, 135]) < 4 * np.array([20, 25]) / np.sqrt(80))
    assert np.all(np.abs(rates.std(axis=0) / [20, 25] - 0.95) < 4 / np.sqrt(160))  # cut off at twice the deviation


@pytest.mark.parametrize(("rate", "spread", "ratio"), [(80.0, 2.0, 0.6), (135.0, 3.0, 0.8)])
def test_rr_spectrum_has_two_peaks(rate, spread, ratio):
    beats = beat_times(rng(0), rate, spread, ratio, duration=2000.0)
    t = np.arange(0, 2000, 0.25)
    f, power = periodogram(CubicSpline(beats[:-1], np.diff(beats))(t), fs=4, detrend="constant", window="hann")
    low, high = (f > 0.05) & (f < 0.16), (f > 0.2) & (f < 0.31)
    for band, wanted in ((low, 0.1), (high, 0.25)):
        centre = np.sum(f[band] * power[band]) / power[band].sum()
        width = np.sqrt(np.sum((f[band] - centre) ** 2 * power[band]) / power[band].sum())
        assert abs(centre - wanted) < 0.005
        assert 0.005 < width < 0.02
    assert (power[low].sum() + power[high].sum()) / power.sum() > 0.95
    assert abs(power[low].sum() / power[high].sum() - ratio) < 0.15
    assert abs(np.std(np.diff(beats)) - 60 * spread / rate**2) < 0.05 * 60 * spread / rate**2


def test_rr_peaks_are_seen_in_the_maternal_signal():
    problem = FetalECG(duration=400.0, maternal_rate=80.0)
    peaks = r_peaks(problem.recording(rng(1)).maternal(sampling(4000, 400.0)), 500, 80.0)
    t = np.arange(1, 399, 0.25)
    f, power = periodogram(CubicSpline(peaks[:-1], np.diff(peaks))(t), fs=4, detrend="constant", window="hann")
    for low, high, wanted in ((0.05, 0.16, 0.1), (0.2, 0.31, 0.25)):
        band = (f > low) & (f < high)
        assert abs(np.sum(f[band] * power[band]) / power[band].sum() - wanted) < 0.02
        assert power[band].mean() > 5 * power[(f > 0.35) & (f < 0.6)].mean()


@pytest.mark.parametrize("name", VCG_SETS)
def test_vectorcardiograms_are_periodic_and_normalised(name):
    v = vectorcardiogram(name)
    theta = np.linspace(-np.pi, np.pi, 20000, endpoint=False)
    np.testing.assert_allclose(v(theta), v(theta + 2 * np.pi), atol=1e-9)
    assert np.abs(v(theta)).max() <= 1.01
    assert np.all(np.abs(v(theta)).max(axis=0) > 0.99)
    steep = theta[np.abs(np.gradient(v(theta), axis=0)).sum(axis=1).argmax()]
    assert abs(steep) < 0.2  # the QRS complex is at phase 0


def test_potential_is_that_of_a_dipole():
    """A dipole is two opposite charges close together: `1/|d - s v| - 1/|d + s v| -> 2 s d.v / |d|^3`."""
    d, v, s = np.array([0.3, -0.2, 0.4]), np.array([0.5, 1.0, -0.3]), 1e-4
    charges = (1 / np.linalg.norm(d - s * v) - 1 / np.linalg.norm(d + s * v)) / (2 * s)
    assert projected(d, v) == pytest.approx(charges, rel=1e-6)


def test_rotation_keeps_lengths_and_undoes_itself():
    v, angles = rng(0).standard_normal((50, 3)), rng(1).uniform(-3, 3, (50, 3))
    turned = rotated(v, angles)
    np.testing.assert_allclose(np.linalg.norm(turned, axis=1), np.linalg.norm(v, axis=1), rtol=1e-12)
    for axis in range(3):  # R_z^-1 R_y^-1 R_x^-1
        turned = rotated(turned, np.where(np.arange(3) == axis, -angles, 0.0))
    np.testing.assert_allclose(turned, v, atol=1e-12)


def test_electrodes_lie_on_the_front_and_the_ground_on_the_back():
    assert ELECTRODES.shape == (32, 3)
    np.testing.assert_allclose(np.hypot(ELECTRODES[:, 0], ELECTRODES[:, 1]), 0.5, rtol=1e-12)
    assert ELECTRODES[:, 0].min() > 0 > GROUND[0]
    one, two = (FetalECG(leads=leads, duration=8.0).recording(rng(0)) for leads in ((1, 8), (8,)))
    t = sampling(500, 8.0)
    np.testing.assert_array_equal(one.maternal(t)[:, 1:], two.maternal(t))


# ---------------------------------------------------------------- noise


@pytest.mark.parametrize("kind", ["MA", "EM"])
def test_noise_follows_its_model(kind):
    for seed in range(3):
        a = shifted(rng(seed), noise_models(kind)[7 * seed])
        noise = ar_noise(rng(seed), a, 400_000)
        f, power = welch(noise, fs=NOISE_RATE, nperseg=1024)
        _, response = freqz(1, a, worN=f, fs=NOISE_RATE)
        fine, whole = freqz(1, a, worN=2**16, fs=NOISE_RATE)
        model = np.abs(response) ** 2 / np.trapezoid(np.abs(whole) ** 2, fine)  # unit power over positive frequencies
        seen = (f > 2) & (f < 200)
        off = decibel(power[seen] / model[seen])
        assert abs(off.mean()) < 0.2
        assert np.abs(off).max() < 1.5  # 780 segments: 0.2 dB deviation at a frequency


def test_poles_are_shifted_and_stay_inside():
    for a in (*noise_models("MA"), *noise_models("EM")):
        before, after = np.roots(a), np.roots(shifted(rng(0), a))
        assert np.abs(after).max() < max(0.99, np.abs(before).max() + 1e-9)
        moved = np.abs(before[:, None] - after).min(axis=1)
        assert 0 < moved.max() < 0.05


def test_axes_of_a_noise_source_are_independent_and_muscle_noise_is_slow():
    y = noisy_dipole(rng(0), "MA", 300_000)
    assert np.abs(np.corrcoef(y.T) - np.eye(3)).max() < 0.03
    f, power = welch(y, fs=NOISE_RATE, nperseg=4096, axis=0)
    assert np.all(power[f > 125].sum(axis=0) < 0.01 * power.sum(axis=0))


def test_noise_of_the_leads_has_the_spectrum_of_muscle_noise():
    n = FetalECG(duration=64.0).recording(rng(0)).noise(np.arange(64_000) / 1000)
    f, power = welch(n, fs=1000, nperseg=2048, axis=0)
    assert np.all((f[power.argmax(axis=0)] > 5) & (f[power.argmax(axis=0)] < 60))
    assert np.all(power[f > 125].sum(axis=0) < 0.01 * power.sum(axis=0))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"leads": ()}, "leads"),
        ({"leads": (1, 1)}, "leads"),
        ({"leads": (0,)}, "leads"),
        ({"leads": (33,)}, "leads"),
        ({"duration": 7.9}, "duration"),
        ({"duration": np.inf}, "duration"),
        ({"window": 0.5}, "window"),
        ({"snr": np.nan}, "snr"),
        ({"fetal_snr": 1000.0}, "fetal_snr"),
        ({"maternal_rate": 0.0}, "maternal_rate"),
        ({"fetal_rate": 1000.0}, "fetal_rate"),
        ({"noise": ("BW",)}, "noise"),
    ],
)
def test_bad_parameters_are_refused(fields, says):
    with pytest.raises(InvalidInputError, match=says):
        FetalECG(**fields)


def test_bad_requests_are_refused():
    with pytest.raises(InvalidInputError, match="resolution"):
        FetalECG(duration=8.0).record(rng(), [1])
    with pytest.raises(InvalidInputError, match="vectorcardiogram"):
        vectorcardiogram("s9999")
    with pytest.raises(InvalidInputError, match="kind of noise"):
        noise_models("BW")

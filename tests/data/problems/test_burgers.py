"""Burgers data against an independent time stepper, a solution in Bessel functions, and what every solution obeys."""

import pickle

import numpy as np
import pytest
from scipy.special import ive

from iaenet.data.problems import burgers
from iaenet.data.problems.burgers import Burgers, cole_hopf
from iaenet.data.problems.random_fields import FourierSeries, gaussian_series, series_deviations
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def draw(seed, modes=512, gamma=2.5):
    return gaussian_series(np.random.default_rng(seed), modes, gamma, tau=5.0, sigma=25.0)


def etdrk4(u0, viscosity, time, steps):
    """Fourth-order exponential Runge-Kutta (Kassam and Trefethen 2005) in Fourier space, with 2/3 dealiasing."""
    n, dt = len(u0), time / steps
    k = 2 * np.pi * np.fft.rfftfreq(n, 1 / n)
    z = -viscosity * k**2 * dt
    r = z[:, None] + np.exp(2j * np.pi * (np.arange(32) + 0.5) / 32)  # contour around z, against cancellation
    half = dt * np.mean((np.exp(r / 2) - 1) / r, axis=1).real
    f1 = dt * np.mean((-4 - r + np.exp(r) * (4 - 3 * r + r**2)) / r**3, axis=1).real
    f2 = dt * np.mean((2 + r + np.exp(r) * (r - 2)) / r**3, axis=1).real
    f3 = dt * np.mean((-4 - 3 * r - r**2 + np.exp(r) * (4 - r)) / r**3, axis=1).real
    whole, part = np.exp(z), np.exp(z / 2)
    minus_half_ik = np.where(k < 2 * np.pi * n / 3, -0.5j * k, 0)

    def nonlinear(v):
        return minus_half_ik * np.fft.rfft(np.fft.irfft(v, n) ** 2)

    v = np.where(k < 2 * np.pi * n / 3, np.fft.rfft(u0), 0)
    v[0] = 0  # the mean is conserved, and its rounding would outlive a solution that decays to 1e-18
    for _ in range(steps):
        nv = nonlinear(v)
        a = part * v + half * nv
        na = nonlinear(a)
        b = part * v + half * na
        nb = nonlinear(b)
        c = part * a + half * (2 * nb - nv)
        nc = nonlinear(c)
        v = whole * v + f1 * nv + 2 * f2 * (na + nb) + f3 * nc
    return np.fft.irfft(v, n)


@pytest.mark.parametrize(
    ("viscosity", "n", "steps", "bound"),
    [(0.1, 2048, 2000, 1e-6), (0.01, 2048, 1000, 1e-6), (1e-3, 2048, 1000, 1e-5), (1e-4, 4096, 2000, 1e-5)],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_a_time_stepper(viscosity, n, steps, bound, seed):
    initial = draw(seed)
    stepped = etdrk4(initial.on_grid(n), viscosity, 1.0, steps)
    exact = cole_hopf(initial, np.arange(n) / n, viscosity, 1.0)
    assert relative(exact, stepped) < bound


def test_relative_accuracy_where_the_solution_is_tiny():
    initial = draw(0, modes=32)
    exact = cole_hopf(initial, np.arange(128) / 128, 1.0, 1.0)
    assert np.abs(exact).max() < 1e-17
    coarse, fine = (relative(etdrk4(initial.on_grid(128), 1.0, 1.0, steps), exact) for steps in (1250, 5000))
    assert fine < 1e-9
    assert np.log(coarse / fine) / np.log(4) > 3  # what is left is the error of the stepper


@pytest.mark.parametrize("viscosity", [5.0, 1.0, 0.1, 0.01, 1e-3])
def test_agrees_with_bessel_functions(viscosity):
    """`u(., 0) = A sin(2 pi x)`: `phi(., 0) = exp(z cos(2 pi x)) = sum_k I_k(z) exp(2 pi i k x)`, `z = A / 4 pi nu`."""
    amplitude, x, k = 0.1, np.arange(64) / 64, np.arange(1, 60)
    decay = 2 * ive(k, amplitude / (4 * np.pi * viscosity)) * np.exp(-4 * np.pi**2 * k**2 * viscosity)
    phi = ive(0, amplitude / (4 * np.pi * viscosity)) + np.cos(2 * np.pi * np.outer(x, k)) @ decay
    phi_x = np.sin(2 * np.pi * np.outer(x, k)) @ (-2 * np.pi * k * decay)
    found = cole_hopf(FourierSeries(np.array([0, -1j * amplitude])), x, viscosity, 1.0)
    np.testing.assert_allclose(found, -2 * viscosity * phi_x / phi, rtol=1e-9, atol=1e-9 * np.abs(found).max())


def test_both_forms_of_cole_hopf_agree(monkeypatch):
    initial, x = draw(0), np.random.default_rng(0).random(200)
    by_modes = cole_hopf(initial, x, 0.02, 1.0)
    monkeypatch.setattr(burgers, "DIFFUSIVE", 1.0)
    assert relative(cole_hopf(initial, x, 0.02, 1.0), by_modes) < 1e-12


@pytest.mark.parametrize("gamma", [2.5, 2.0])
def test_quadrature_is_converged(monkeypatch, gamma):
    initial, x = draw(3, gamma=gamma), np.arange(256) / 256
    found = cole_hopf(initial, x, 1e-4, 1.0)
    monkeypatch.setattr(burgers, "_nodes", lambda *_: 4096)
    monkeypatch.setattr(burgers, "NEGLIGIBLE", 80.0)
    assert relative(found, cole_hopf(initial, x, 1e-4, 1.0)) < 1e-11


def test_two_short_times_make_a_long_one():
    initial, n, x = draw(1, modes=64), 2048, np.arange(2048) / 2048
    halfway = 2 * np.fft.rfft(cole_hopf(initial, x, 0.01, 0.4), norm="forward")[: n // 2]  # by quadrature
    halfway[0] = 0
    later = cole_hopf(FourierSeries(halfway), x, 0.01, 1.2)  # by modes
    assert relative(later, cole_hopf(initial, x, 0.01, 1.6)) < 1e-10


@pytest.mark.parametrize("viscosity", [1.0, 0.1, 1e-3, 1e-4])
def test_invariants(viscosity):
    initial, n = draw(2), 4096
    x = np.arange(n) / n
    u0, u = initial.on_grid(n), cole_hopf(initial, x, viscosity, 1.0)
    assert abs(u.mean()) < 1e-7 * np.abs(u).max()
    assert np.linalg.norm(u) < np.linalg.norm(u0)
    assert u0.min() < u.min()
    assert u.max() < u0.max()
    mirrored = cole_hopf(FourierSeries(-initial.coefficients.conj()), -x % 1.0, viscosity, 1.0)
    assert relative(-mirrored, u) < 1e-10
    shift = np.exp(1j * initial.frequencies * 0.3)
    moved = cole_hopf(FourierSeries(initial.coefficients * shift), x - 0.3, viscosity, 1.0)
    assert relative(moved, u) < 1e-10


def test_normalised_output_of_a_viscous_flow():
    problem = Burgers(viscosity=1.0)
    stored = np.concatenate(
        [problem.record(np.random.default_rng(i), [64])[0][64].output.astype(np.float32) for i in range(400)], axis=1
    )
    assert np.all(np.isfinite(stored))
    assert np.abs(stored.mean(axis=0)).max() < 1e-6
    assert stored.std() == pytest.approx(1.0, rel=0.1)


def test_scale_is_what_the_output_is_divided_by():
    for viscosity in (0.1, 1.0):
        scaled, plain = (
            Burgers(viscosity=viscosity, normalize=flag).record(np.random.default_rng(0), [32])[0][32].output
            for flag in (True, False)
        )
        np.testing.assert_allclose(scaled * Burgers(viscosity=viscosity, normalize=True).scale, plain, rtol=1e-12)
    assert Burgers(viscosity=1e-4).scale == Burgers(viscosity=0.99).scale == 1.0
    extreme = Burgers(viscosity=30.0).record(np.random.default_rng(0), [32])[0][32].output  # u itself would underflow
    assert 0.1 < extreme.std() < 5


@pytest.mark.parametrize("points", ["uniform", "random"])
@pytest.mark.parametrize("viscosity", [0.1, 1e-4])
def test_a_resolution_does_not_depend_on_the_others(points, viscosity):
    problem = Burgers(viscosity=viscosity, points=points)
    together = problem.record(np.random.default_rng(5), [512, 64, 100])[0]
    for s in (64, 100):
        alone = problem.record(np.random.default_rng(5), [s])[0][s]
        np.testing.assert_array_equal(alone.input, together[s].input)
        np.testing.assert_array_equal(alone.output, together[s].output)
        assert alone.output_at.key == together[s].output_at.key


@pytest.mark.parametrize("viscosity", [0.1, 1e-4])
def test_coarse_grids_show_the_same_functions(viscosity):
    sample = Burgers(viscosity=viscosity).record(np.random.default_rng(6), [16, 256, 1024])[0]
    for s in (16, 256):
        np.testing.assert_allclose(sample[s].input, sample[1024].input[:: 1024 // s], atol=1e-14)
        np.testing.assert_allclose(sample[s].output, sample[1024].output[:: 1024 // s], atol=1e-12)


def test_uniform_points_are_shared():
    first, second = (Burgers().record(np.random.default_rng(i), [128])[0][128] for i in range(2))
    assert first.input_at is first.output_at is second.input_at
    assert first.input_at.key == Discretization.uniform(128, periodic=True).key


def test_random_points():
    problem = Burgers(points="random")
    sample = problem.record(np.random.default_rng(7), [256, 512, 8192])[0]
    index = {s: pair.input_at.points[:, 0].numpy() * 8192 for s, pair in sample.items()}
    for s in sample:
        assert len(index[s]) == s
        assert np.all(np.diff(index[s]) > 0)
        np.testing.assert_array_equal(index[s], np.round(index[s]))
        assert index[s][0] == 0
        assert index[s][-1] == 8191
        assert sample[s].input_at.periodic == (True,)
        assert sample[s].input_at.weights.sum().item() == pytest.approx(1.0)
        chosen = index[s].astype(int)
        np.testing.assert_allclose(sample[s].input, sample[8192].input[chosen], atol=1e-14)
        np.testing.assert_allclose(sample[s].output, sample[8192].output[chosen], atol=1e-14)
    assert set(index[256]) < set(index[512])
    other = problem.record(np.random.default_rng(8), [256])[0][256]
    assert other.input_at.key != sample[256].input_at.key
    uniform = Burgers().record(np.random.default_rng(7), [8192])[0][8192]
    np.testing.assert_array_equal(sample[8192].input, uniform.input)


def test_modes_left_out_hardly_matter():
    left_out = draw(0, modes=4095).on_grid(8192) - draw(0, modes=512).on_grid(8192)
    deviation = np.linalg.norm(series_deviations(4095, 2.5, 5.0, 25.0))
    assert left_out.std() / deviation == pytest.approx(3.4e-6, rel=0.2)


@pytest.mark.parametrize(
    "fields",
    [
        {"viscosity": 0.0},
        {"viscosity": np.nan},
        {"time": -1.0},
        {"gamma": 0.5},
        {"sigma": 0.0},
        {"tau": np.inf},
        {"modes": 0},
        {"points": "grid"},
    ],
)
def test_bad_parameters_are_refused(fields):
    with pytest.raises(InvalidInputError, match=next(iter(fields))):
        Burgers(**fields)


@pytest.mark.parametrize(("points", "s"), [("uniform", 0), ("random", 1), ("random", 8193)])
def test_bad_resolutions_are_refused(points, s):
    with pytest.raises(InvalidInputError, match="resolution"):
        Burgers(points=points).record(np.random.default_rng(0), [s])


def test_survives_pickling():
    problem = Burgers(viscosity=0.01)
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert problem.windows == 1

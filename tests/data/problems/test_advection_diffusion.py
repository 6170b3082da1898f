"""A dye in a steady flow: exact solutions, what is kept and what falls, and agreement of grids and solvers."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.fft import irfft2, rfft2
from scipy.integrate import solve_ivp

from iaenet.data.problems.advection_diffusion import AdvectionDiffusion, carried
from iaenet.errors import InvalidInputError


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def square(n):
    """Angles `2 pi x`, `2 pi y` of the points of a grid."""
    return np.meshgrid(*2 * [2 * np.pi * np.arange(n) / n], indexing="ij")


def later(psi, c, diffusivity, time, solver_step=0.01):
    """Values of the dye at a time from those of the stream function and of the dye."""
    found = carried(rfft2(psi, norm="forward"), rfft2(c, norm="forward"), diffusivity, time, solver_step)
    return irfft2(found, psi.shape, norm="forward")


def random_pair(seed, n, modes=4, speed=1.0):
    problem = AdvectionDiffusion(modes=modes, time=1e-3, speed=speed, fine=32, solver_step=1e-3)
    return problem.record(np.random.default_rng(seed), [n])[0][n].input.T.reshape(2, n, n)


# ------------------------------------------------------------------ exact solutions


def test_in_still_water_a_dye_spreads_by_the_heat_kernel():
    _, c = random_pair(0, 48)
    k = np.fft.fftfreq(48, 1 / 48)
    kernel = np.exp(-0.01 * 4 * np.pi**2 * np.add.outer(k**2, k**2) * 0.3)
    np.testing.assert_allclose(later(0 * c, c, 0.01, 0.3), np.fft.ifft2(kernel * np.fft.fft2(c)).real, atol=1e-12)


def test_along_its_streamlines_a_dye_is_not_carried():
    """`Lap psi = -l psi` and c = psi: `c(t) = exp(-D l t) psi`, whatever psi is among waves of one length."""
    x, y = square(48)
    psi = np.sin(3 * x + 4 * y) + 0.7 * np.cos(5 * x) - 0.4 * np.sin(5 * y) + 0.3 * np.cos(4 * x - 3 * y)
    found = later(psi, psi, 2e-3, 0.4, 0.001)
    assert relative(found, psi * np.exp(-2e-3 * 25 * 4 * np.pi**2 * 0.4)) < 1e-9


def test_a_shear_flow_carries_every_layer_by_its_own_speed():
    """`v = (s cos(2 pi y), 0)` and no diffusion: `c(x, y, t) = c_0(x - t s cos(2 pi y), y)`, at spectral accuracy."""
    speed, time, errors = 0.8, 0.6, []
    for n in (16, 32, 64):
        x, y = square(n)
        first = lambda x, y: np.sin(x) + np.cos(x + y)  # noqa: E731
        psi = speed * np.sin(y) / (2 * np.pi)
        exact = first(x - 2 * np.pi * time * speed * np.cos(y), y)
        errors.append(relative(later(psi, first(x, y), 1e-14, time, 0.002), exact))
    assert errors[0] > 1e-2
    assert errors[1] < errors[0] / 100
    assert errors[2] < 1e-8


def test_a_shear_flow_spreads_a_dye_by_the_equation_of_each_wave():
    """`c = Re a(y, t) e^(2 pi i x)`: `a_t = -2 pi i v(y) a + D (a_yy - 4 pi^2 a)`, as dense matrices on a line."""
    n, D, time = 72, 5e-3, 0.5
    x, y = square(n)
    k = np.fft.fftfreq(n, 1 / n)
    derivative = np.fft.ifft(-4 * np.pi**2 * k[:, None] ** 2 * np.fft.fft(np.eye(n), axis=0), axis=0)
    v = np.cos(y[0]) + 0.5 * np.sin(2 * y[0])
    psi = (np.sin(y) - 0.25 * np.cos(2 * y)) / (2 * np.pi)
    values, vectors = np.linalg.eig(np.diag(-2j * np.pi * v) + D * (derivative - 4 * np.pi**2 * np.eye(n)))
    a = vectors @ (np.exp(values * time) * np.linalg.solve(vectors, 1 + np.cos(y[0]) + 0j))
    exact = (a * np.exp(1j * x)).real
    assert relative(later(psi, np.cos(x) * (1 + np.cos(y)), D, time, 0.001), exact) < 1e-8


def test_it_is_the_limit_of_finite_differences():
    D, time, errors, counts = 0.02, 0.2, [], [24, 48, 96]
    for n in counts:
        psi, c = random_pair(1, n, modes=2)
        along = lambda f, axis: (np.roll(f, -1, axis) - np.roll(f, 1, axis)) * len(f) / 2  # noqa: E731
        vx, vy = along(psi, 1), -along(psi, 0)

        def rate(_, u, n=n, vx=vx, vy=vy, along=along):
            u = u.reshape(n, n)
            spread = sum(np.roll(u, s, axis) for s in (1, -1) for axis in (0, 1)) - 4 * u
            return (D * n**2 * spread - along(vx * u, 0) - along(vy * u, 1)).ravel()

        found = solve_ivp(rate, (0, time), c.ravel(), method="RK23", rtol=1e-6, atol=1e-8).y[:, -1].reshape(n, n)
        errors.append(relative(found[:: n // 24, :: n // 24], later(psi, c, D, time, 0.005)[:: n // 24, :: n // 24]))
    assert 1.8 < -np.polyfit(np.log(counts), np.log(errors), 1)[0] < 2.2, errors


# ------------------------------------------------------------------ what holds for every flow


def test_order_four_in_time():
    psi, c = random_pair(2, 32, speed=0.5)
    hats = rfft2(psi, norm="forward"), rfft2(c, norm="forward")
    fine = carried(*hats, 1e-2, 0.5, 0.5 / 1600)
    counts = [80, 160, 320]
    errors = [relative(carried(*hats, 1e-2, 0.5, 0.5 / n), fine) for n in counts]
    assert 3.7 < -np.polyfit(np.log(counts), np.log(errors), 1)[0] < 4.5, errors


def test_the_dye_is_kept_its_extremes_and_its_square_fall():
    psi, c = random_pair(3, 96)
    c = c + 0.3
    states = [c, *(later(psi, c, 5e-3, t) for t in (0.1, 0.2, 0.4))]
    for before, after in pairwise(states):
        assert after.mean() == pytest.approx(before.mean(), rel=1e-12)
        assert after.max() < before.max()
        assert after.min() > before.min()
        assert np.mean(after**2) < np.mean(before**2)


def test_the_square_of_the_dye_is_kept_without_diffusion_and_the_way_back_leads_back():
    psi, c = random_pair(4, 96, modes=3, speed=0.5)
    there = later(psi, c, 1e-14, 0.3, 0.002)
    assert relative(there, c) > 0.5
    assert np.mean(there**2) == pytest.approx(np.mean(c**2), rel=1e-7)
    assert relative(later(-psi, there, 1e-14, 0.3, 0.002), c) < 1e-5


def test_linear_in_the_dye_not_in_the_flow_and_adjoint_to_the_flow_backwards():
    psi, c = random_pair(5, 48)
    _, d = random_pair(6, 48)
    there, other = later(psi, c, 5e-3, 0.3), later(psi, d, 5e-3, 0.3)
    np.testing.assert_allclose(later(psi, 2 * c - 3 * d, 5e-3, 0.3), 2 * there - 3 * other, atol=1e-12)
    assert np.vdot(there, d) == pytest.approx(np.vdot(c, later(-psi, d, 5e-3, 0.3)), rel=1e-6)
    still, slow = later(0 * psi, c, 5e-3, 0.3), later(psi / 2, c, 5e-3, 0.3)
    assert relative(2 * (slow - still), there - still) > 0.2


# ------------------------------------------------------------------ as data

QUICK = AdvectionDiffusion(time=0.1, fine=64)


def test_grids_show_the_same_functions():
    sample = QUICK.record(np.random.default_rng(0), [12, 24, 48])[0]
    alone = QUICK.record(np.random.default_rng(0), [24])[0][24]
    np.testing.assert_array_equal(alone.output, sample[24].output)
    for s in (12, 24):
        for found, wanted in ((sample[s].input, sample[48].input), (sample[s].output, sample[48].output)):
            thinned = wanted.reshape(48, 48, -1)[:: 48 // s, :: 48 // s].reshape(s * s, -1)
            np.testing.assert_allclose(found, thinned, atol=1e-12)


def test_more_points_and_shorter_steps_change_little():
    found, wanted = (
        AdvectionDiffusion(time=0.1, fine=fine, solver_step=step).record(np.random.default_rng(1), [32])[0][32]
        for fine, step in ((96, 0.01), (144, 0.001))
    )
    np.testing.assert_array_equal(found.input, wanted.input)
    assert relative(found.output, wanted.output) < 1e-5


@pytest.mark.slow
def test_documented_accuracy_of_the_defaults():
    for seed in range(4):
        found, wanted = (
            AdvectionDiffusion(fine=fine, solver_step=step).record(np.random.default_rng(seed), [64])[0][64].output
            for fine, step in ((128, 0.01), (192, 5e-4))
        )
        assert relative(found, wanted) < 2e-6


def test_speed_and_dye_have_the_documented_root_mean_squares():
    fields = np.array([random_pair(seed, 24, modes=8, speed=2.0) for seed in range(60)])
    k = np.fft.fftfreq(24, 1 / 24)
    speeds = np.abs(2 * np.pi * np.sqrt(np.add.outer(k**2, k**2)) * np.fft.fft2(fields[:, 0], norm="forward")) ** 2
    assert np.sqrt(speeds.sum(axis=(1, 2)).mean()) == pytest.approx(2.0, rel=0.1)
    assert np.sqrt(np.mean(fields[:, 1] ** 2)) == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize(
    "fields", [{"diffusivity": 0.0}, {"speed": -1.0}, {"time": np.nan}, {"modes": 0}, {"modes": 43}, {"tau": np.inf}]
)
def test_bad_parameters_are_refused(fields):
    with pytest.raises(InvalidInputError, match=next(iter(fields))):
        AdvectionDiffusion(**fields)


def test_bad_resolutions_are_refused():
    with pytest.raises(InvalidInputError, match="resolution must be at least"):
        QUICK.record(np.random.default_rng(0), [2])

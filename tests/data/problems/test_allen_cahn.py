"""The Allen-Cahn equation: exact solutions, what holds for every solution, and interfaces that merge."""

import numpy as np
import pytest
from scipy.fft import irfft, rfft
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from iaenet.data.problems.allen_cahn import AllenCahn, stepper
from iaenet.data.problems.trajectory import trajectory
from iaenet.errors import InvalidInputError


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def later(u, epsilon, time, solver_step=0.05):
    """Values at a time of the solution that begins with these values."""
    found = trajectory(rfft(u, norm="forward"), stepper(len(u), epsilon), [time], solver_step)[0]
    return irfft(found, len(u), norm="forward")


def random_state(seed, n=512, modes=16, amplitude=0.5):
    problem = AllenCahn(modes=modes, amplitude=amplitude)
    return problem.record(np.random.default_rng(seed), [n])[0][n].input[:, 0]


def interfaces(u):
    return int(np.sum(u * np.roll(u, 1) < 0))


# ------------------------------------------------------------------ exact solutions


@pytest.mark.parametrize("height", [1e-3, 0.5, -0.7, 1.5])
def test_a_constant_goes_to_a_phase(height):
    """`u' = u - u^3` has `u = v e^t / sqrt(1 + v^2 (e^(2 t) - 1))` from u(0) = v."""
    for time in (0.5, 3.0):
        exact = height * np.exp(time) / np.sqrt(1 + height**2 * np.expm1(2 * time))
        np.testing.assert_allclose(later(np.full(32, height), 0.1, time, 0.02), exact, rtol=1e-6)


def test_waves_of_an_elliptic_function_stand_still_exponentially_well():
    """`u = sqrt(2 m / (1 + m)) sn(x / (epsilon sqrt(1 + m)) | m)`, of period `4 K(m) epsilon sqrt(1 + m)`."""
    m, time, errors = 0.99, 1.0, []
    epsilon = 1 / (4 * ellipk(m) * np.sqrt(1 + m))
    for n in (32, 64, 128, 256):
        u = np.sqrt(2 * m / (1 + m)) * ellipj(np.arange(n) / n * 4 * ellipk(m), m)[0]
        errors.append(relative(later(u, epsilon, time, 0.01), u))
    assert errors[0] > 1e-4
    assert errors[1] < errors[0] / 30
    assert errors[2] < errors[1] / 1000
    assert errors[3] < 1e-11


def test_a_front_travels_into_the_unstable_state():
    """`u = (1 - tanh((x - 3 epsilon t / sqrt(2)) / (2 sqrt(2) epsilon))) / 2`, here to both sides of the middle."""
    n, epsilon, time = 1024, 0.008, 10.0
    x = np.abs(np.arange(n) / n - 0.5)

    def front(t):
        return (1 - np.tanh((x - 0.15 - 3 * epsilon * t / np.sqrt(2)) / (2 * np.sqrt(2) * epsilon))) / 2

    assert relative(later(front(0.0), epsilon, time), front(time)) < 1e-6
    assert relative(front(0.0), front(time)) > 0.5


def test_small_waves_grow_as_the_linear_equation_says():
    n, epsilon, time = 64, 0.05, 2.0
    c = rfft(1e-6 * random_state(0, n, 8, 1.0), norm="forward")
    q = 2 * np.pi * np.arange(n // 2 + 1)
    found = trajectory(c, stepper(n, epsilon), [time], 0.05)[0]
    assert relative(found, c * np.exp((1 - (epsilon * q) ** 2) * time)) < 1e-9


def test_it_is_the_limit_of_finite_differences():
    epsilon, time, errors, counts = 0.06, 2.0, [], [64, 128, 256]
    for n in counts:
        u = random_state(1, n, 4)

        def rate(_, v, n=n):
            return epsilon**2 * n**2 * (np.roll(v, 1) - 2 * v + np.roll(v, -1)) + v - v**3

        found = solve_ivp(rate, (0, time), u, method="BDF", rtol=1e-8, atol=1e-10).y[:, -1]
        errors.append(relative(found, later(u, epsilon, time, 0.01)))
    assert 1.8 < -np.polyfit(np.log(counts), np.log(errors), 1)[0] < 2.2, errors


# ------------------------------------------------------------------ what holds for every solution


def energy(u, epsilon):
    """`int epsilon^2 u_x^2 / 2 + (1 - u^2)^2 / 4 dx`, which falls."""
    slope = irfft(2j * np.pi * np.arange(len(u) // 2 + 1) * rfft(u), len(u))
    return np.mean(epsilon**2 * slope**2 / 2 + (1 - u**2) ** 2 / 4)


def test_energy_falls_and_states_stay_between_the_phases():
    u, epsilon = random_state(2), 0.01
    energies = [energy(u, epsilon)]
    for _ in range(8):
        u = later(u, epsilon, 2.0)
        energies.append(energy(u, epsilon))
        assert np.abs(u).max() < 1 + 1e-6
    assert np.all(np.diff(energies) < 0)


def test_opposite_mirrored_and_shifted_states_go_to_such_states():
    u = random_state(3)
    found = later(u, 0.01, 5.0)
    for change in (np.negative, lambda v: v[::-1], lambda v: np.roll(v, 37)):
        np.testing.assert_allclose(later(change(u), 0.01, 5.0), change(found), atol=1e-8)


def test_solutions_keep_their_order():
    u = random_state(4)
    assert np.all(later(u, 0.01, 5.0) <= later(u + 0.05 * (1 + np.cos(2 * np.pi * np.arange(512) / 512)), 0.01, 5.0))


def test_interfaces_vanish_the_sooner_the_nearer_they_are():
    x = np.arange(512) / 512

    def domain(width):
        return np.tanh((np.abs(x - 0.5) - width / 2) / (np.sqrt(2) * 0.01))

    assert interfaces(later(domain(0.03), 0.01, 10.0)) == 0
    assert interfaces(later(domain(0.1), 0.01, 10.0)) == 2


# ------------------------------------------------------------------ as data


def test_the_map_of_the_defaults_forms_and_merges_interfaces():
    for seed in range(4):
        pair = AllenCahn().record(np.random.default_rng(seed), [512])[0][512]
        given, found = pair.input[:, 0], pair.output[:, 0]
        early = later(given, 0.01, 3.0)
        assert interfaces(given) > interfaces(early) >= interfaces(found) > 0
        assert np.mean(np.abs(given) > 0.95) < 0.1
        assert np.mean(np.abs(found) > 0.95) > 0.3  # phases
    assert np.std([random_state(seed, 64) for seed in range(40)]) == pytest.approx(0.5, rel=0.05)


def test_twice_the_points_and_a_quarter_of_the_steps_change_little():
    for seed in range(3):
        found, wanted = (
            AllenCahn(fine=fine, solver_step=step).record(np.random.default_rng(seed), [64])[0][64].output
            for fine, step in ((512, 0.05), (1024, 0.0125))
        )
        assert relative(found, wanted) < 1e-6


@pytest.mark.parametrize(
    "fields", [{"epsilon": 0.0}, {"modes": 0}, {"modes": 128}, {"amplitude": np.inf}, {"steps": 0}, {"start": -1.0}]
)
def test_bad_parameters_are_refused(fields):
    with pytest.raises(InvalidInputError, match=next(iter(fields))):
        AllenCahn(**fields)


def test_long_steps_are_refused():
    with np.errstate(all="ignore"), pytest.raises(InvalidInputError, match="lower solver_step"):
        AllenCahn(amplitude=20.0, solver_step=1.0).record(np.random.default_rng(0), [8])

"""Solvers in time: exact and manufactured solutions, orders, agreement of resolutions and of consecutive pairs."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.fft import irfft, irfft2, rfft, rfft2
from scipy.integrate import solve_ivp

from iaenet.data.problems import allen_cahn, kuramoto_sivashinsky, navier_stokes
from iaenet.data.problems.allen_cahn import AllenCahn
from iaenet.data.problems.exponential_steps import ETDRK4
from iaenet.data.problems.kuramoto_sivashinsky import KuramotoSivashinsky
from iaenet.data.problems.navier_stokes import NavierStokes
from iaenet.data.problems.trajectory import trajectory
from iaenet.errors import InvalidInputError


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def order(counts, errors):
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


def flow(n, viscosity=1e-3, drag=0.0, force=None):
    force = np.zeros((n, n)) if force is None else force
    return navier_stokes.stepper(viscosity, drag, force.tobytes(), n)


def vorticity(seed, n):
    return NavierStokes(fine=n).initial(np.random.default_rng(seed))


def waves(n, modes=6):
    """A state of the Kuramoto-Sivashinsky equation on n points, by its coefficients."""
    c = np.zeros(n // 2 + 1, dtype=complex)
    c[1 : modes + 1] = np.random.default_rng(0).standard_normal((2, modes)).T @ [0.5, 0.5j]
    return c


# ------------------------------------------------------------------ the time steps


def test_fourth_order_and_exact_without_the_nonlinear_part():
    linear = np.array([-5.0, 0.0, 1e-9, 0.5])
    v = np.array([1.0, -0.5, 0.3, 0.2], dtype=complex)
    exact = v * np.exp(linear)
    assert relative(ETDRK4(linear, np.zeros_like, 1.0)(v, 1), exact) < 1e-14
    rates = lambda u: np.roll(u, 1) ** 2 - u  # noqa: E731
    dense = solve_ivp(lambda _, u: linear * u + rates(u), (0, 1), v, method="BDF", rtol=1e-12, atol=1e-13).y[:, -1]
    counts = [5, 10, 20, 40]
    errors = [np.abs(ETDRK4(linear, rates, 1 / n)(v, n) - dense).max() for n in counts]
    assert 3.7 < order(counts, errors) < 4.6, errors


@pytest.mark.parametrize(
    ("make", "first", "counts"),
    [
        (kuramoto_sivashinsky.stepper(64, 60.0), 4 * waves(64), [20, 40, 80]),
        (flow(48), vorticity(0, 48), [50, 100, 200]),
        (allen_cahn.stepper(128, 0.02), waves(128) / 2, [20, 40, 80]),
    ],
    ids=["kuramoto-sivashinsky", "navier-stokes", "allen-cahn"],
)
def test_order_four_on_the_equations(make, first, counts):
    fine = make(1 / 1600)(first, 1600)
    errors = [relative(make(1 / n)(first, n), fine) for n in counts]
    assert 3.7 < order(counts, errors) < 4.6, errors
    assert errors[-1] < 1e-5


# ------------------------------------------------------------------ the equations


def test_small_waves_grow_as_the_linear_equation_says():
    length, eps, t = 20.0, 1e-9, 2.0
    c = eps * waves(64)
    q = 2 * np.pi * np.arange(len(c)) / length
    found = trajectory(c, kuramoto_sivashinsky.stepper(64, length), [t], 0.05)[0]
    assert relative(found, c * np.exp((q**2 - q**4) * t)) < 1e-7


def test_a_moving_observer_sees_the_same_waves():
    """If u solves the Kuramoto-Sivashinsky equation, so does `u(x - s t, t) + s`."""
    n, length, speed, t = 128, 20.0, 0.7, 3.0
    make, first = kuramoto_sivashinsky.stepper(n, length), waves(n)
    faster = first.copy()
    faster[0] = speed
    q = 2 * np.pi * np.arange(len(first)) / length
    still, moved = (trajectory(c, make, [t], 0.01)[0] for c in (first, faster))
    carried = still * np.exp(-1j * q * speed * t)
    carried[0] += speed
    assert relative(moved, carried) < 1e-7


def test_waves_solve_the_equation_of_finite_differences():
    """`u_t = -u u_x - u_xx - u_xxxx` with central differences in space, by another integrator."""
    errors, counts, length = [], [64, 128, 256], 12.0
    for n in counts:
        h = length / n
        u0 = irfft(np.pad(waves(32, 3), (0, n // 2 - 16)), n, norm="forward")

        def rate(_, u, h=h):
            ahead, behind = np.roll(u, -1), np.roll(u, 1)
            second = (ahead - 2 * u + behind) / h**2
            fourth = (np.roll(second, -1) - 2 * second + np.roll(second, 1)) / h**2
            return -(ahead**2 - behind**2) / (4 * h) - second - fourth

        found = solve_ivp(rate, (0, 0.5), u0, method="BDF", rtol=1e-8, atol=1e-9).y[:, -1]
        spectral = trajectory(rfft(u0, norm="forward"), kuramoto_sivashinsky.stepper(n, length), [0.5], 0.005)[0]
        errors.append(relative(found, irfft(spectral, n, norm="forward")))
    assert 1.8 < order(counts, errors) < 2.2, errors


def test_a_manufactured_flow_stands_still():
    """With `f = v . grad w - nu Lap w` of any w, that w is a steady state."""
    n, nu = 64, 1e-2
    x, y = np.meshgrid(*2 * [2 * np.pi * np.arange(n) / n], indexing="ij")
    w = np.sin(x) * np.cos(2 * y) + np.cos(3 * x + y)  # psi = w_j / |2 pi k_j|^2, mode by mode
    p = 2 * np.pi
    psi_x = (np.cos(x) * np.cos(2 * y) / 5 - 3 * np.sin(3 * x + y) / 10) / p
    psi_y = (-2 * np.sin(x) * np.sin(2 * y) / 5 - np.sin(3 * x + y) / 10) / p
    w_x, w_y = np.cos(x) * np.cos(2 * y) - 3 * np.sin(3 * x + y), -2 * np.sin(x) * np.sin(2 * y) - np.sin(3 * x + y)
    laplace = -(p**2) * (5 * np.sin(x) * np.cos(2 * y) + 10 * np.cos(3 * x + y))
    advection = p * (psi_y * w_x - psi_x * w_y)
    assert np.abs(advection).max() > 0.1
    make = flow(n, nu, force=advection - nu * laplace)
    first = rfft2(w, norm="forward")
    assert relative(trajectory(first, make, [1.0], 0.01)[0], first) < 1e-11
    away = trajectory(1.1 * first, make, [1.0], 0.01)[0]
    assert relative(away, 1.1 * first) > 1e-2


def test_a_carried_eddy_decays():
    """A Taylor-Green vortex decays like `exp(-nu |2 pi k|^2 t - mu t)`: its own flow does not change it."""
    n, nu, mu = 48, 1e-2, 0.3
    x, y = np.meshgrid(*2 * [2 * np.pi * np.arange(n) / n], indexing="ij")
    first = rfft2(np.cos(2 * x) * np.cos(2 * y), norm="forward")
    found = trajectory(first, flow(n, nu, mu), [0.5], 0.01)[0]
    assert relative(found, first * np.exp(-(nu * 8 * 4 * np.pi**2 + mu) * 0.5)) < 1e-12


def test_energy_and_enstrophy_are_kept_without_friction():
    n, first = 96, vorticity(1, 96)
    later = trajectory(first, flow(n, viscosity=1e-12), [0.3], 0.005, navier_stokes.stable_step)[0]
    assert relative(later, first) > 0.1
    for norm in (
        lambda c: np.sum(np.square(navier_stokes.velocity(c))),
        lambda c: np.sum(np.square(irfft2(c, (n, n)))),
    ):
        assert abs(norm(later) / norm(first) - 1) < 1e-6


def test_long_steps_are_shortened_where_the_flow_is_fast():
    first = 3 * vorticity(0, 48)
    make = flow(48)
    found = trajectory(first, make, [0.5], 0.05, navier_stokes.stable_step)[0]
    assert relative(found, make(5e-4)(first, 1000)) < 1e-4
    with np.errstate(all="ignore"), pytest.raises(InvalidInputError, match="lower solver_step"):
        trajectory(30 * first, make, [5.0], 0.25)


# ------------------------------------------------------------------ as data

PROBLEMS = [
    partial(KuramotoSivashinsky, start=20.0, length=22.0, fine=64),
    partial(NavierStokes, time_step=0.1, fine=60),
    partial(AllenCahn, time_step=2.0, fine=256, epsilon=0.02),
]


@pytest.mark.parametrize("make", PROBLEMS)
def test_pairs_follow_one_another_on_every_grid(make):
    record = make(steps=3).record(np.random.default_rng(3), [12, 48])
    assert len(record) == make(steps=3).windows == 3
    for now, later in pairwise(record):
        for s in (12, 48):
            np.testing.assert_array_equal(now[s].output, later[s].input)
            assert relative(now[s].output, now[s].input) > 1e-2
    for pair in record:
        shape = pair[48].input_at.shape
        every = tuple(slice(None, None, 4) for _ in shape)
        np.testing.assert_allclose(pair[12].input, pair[48].input.reshape(*shape, 1)[every].reshape(-1, 1), atol=1e-12)
    alone = make().record(np.random.default_rng(3), [12])
    np.testing.assert_array_equal(alone[0][12].output, record[0][12].output)


@pytest.mark.parametrize("make", PROBLEMS)
def test_the_solver_is_converged(make):
    """Twice the points and half the steps of the solver change little in one step, and the grid shown not at all."""
    coarse, fine = make(start=1.0), make(start=1.0)
    fine = type(fine)(**{**vars(fine), "fine": 2 * coarse.fine, "solver_step": coarse.solver_step / 2})
    found, wanted = (each.record(np.random.default_rng(0), [32])[0][32].output for each in (coarse, fine))
    assert relative(found, wanted) < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "bound"), [(KuramotoSivashinsky, 2e-5), (NavierStokes, 2e-5), (AllenCahn, 1e-6)])
def test_documented_accuracy_of_the_defaults(problem, bound):
    default = problem(start=10.0) if problem is KuramotoSivashinsky else problem()
    fine = type(default)(**{**vars(default), "fine": 2 * default.fine, "solver_step": default.solver_step / 4})
    found, wanted = (each.record(np.random.default_rng(0), [64])[0][64].output for each in (default, fine))
    assert relative(found, wanted) < bound


def test_amplitude_of_the_vorticity():
    squares = [irfft2(vorticity(seed, 48), (48, 48), norm="forward").std() ** 2 for seed in range(60)]
    assert np.sqrt(np.mean(squares)) == pytest.approx(5.0, rel=0.1)


@pytest.mark.parametrize(
    ("problem", "fields"),
    [
        (KuramotoSivashinsky, {"time_step": 0.0}),
        (KuramotoSivashinsky, {"steps": 0}),
        (KuramotoSivashinsky, {"fine": 10}),
        (NavierStokes, {"viscosity": -1.0}),
        (NavierStokes, {"start": np.nan}),
        (NavierStokes, {"forcing_mode": 40}),
    ],
)
def test_bad_parameters_are_refused(problem, fields):
    with pytest.raises(InvalidInputError, match=next(iter(fields))):
        problem(**fields)


@pytest.mark.parametrize("make", PROBLEMS)
def test_bad_resolutions_are_refused(make):
    with pytest.raises(InvalidInputError, match="resolution must be at least"):
        make().record(np.random.default_rng(0), [2])

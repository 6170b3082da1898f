"""Ground states: exact and manufactured ones, dense matrices, exponential convergence, and what moves with V."""

import numpy as np
import pytest
from scipy.special import mathieu_a, mathieu_cem

from iaenet.data.problems import ground_state as module
from iaenet.data.problems.ground_state import GroundState, ground_state
from iaenet.data.problems.random_fields import gaussian_waves
from iaenet.data.problems.trajectory import on_periodic_grid
from iaenet.errors import InvalidInputError


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def cube(n, dim=3):
    """Angles `2 pi x_i` of the points of a grid."""
    return np.meshgrid(*dim * [2 * np.pi * np.arange(n) / n], indexing="ij")


def random_potential(seed, n, strength=10.0, dim=3, modes=3):
    return on_periodic_grid(gaussian_waves(np.random.default_rng(seed), dim, modes, 3.0, 5.0, strength), (n,) * dim)


# ------------------------------------------------------------------ exact solutions


def test_cosines_have_the_ground_state_of_mathieu_exponentially_fast():
    """`V = sum_i a_i cos(2 pi x_i)`: psi is the product of `ce_0(pi x_i, a_i / pi^2)`, E the sum of `pi^2 a_0 / 2`."""
    strengths, errors = np.array([5.0, 15.0, 30.0]), []
    energy = np.sum(np.pi**2 / 2 * mathieu_a(0, strengths / np.pi**2))
    for n in (6, 8, 12, 16):
        angles = cube(n)
        found, level = ground_state(sum(a * np.cos(t) for a, t in zip(strengths, angles, strict=True)))
        waves = (mathieu_cem(0, a / np.pi**2, np.degrees(t / 2))[0] for a, t in zip(strengths, angles, strict=True))
        exact = np.prod(list(waves), axis=0)
        errors.append(relative(found**2, exact**2 / np.mean(exact**2)))
    assert level == pytest.approx(energy, rel=1e-12)
    assert errors[0] > 1e-4
    assert errors[1] < errors[0] / 20
    assert errors[2] < errors[1] / 500
    assert errors[3] < 1e-9


def test_a_manufactured_state_is_found_exponentially_fast():
    """`psi = e^g` solves the equation for `V = (Lap g + |grad g|^2) / 2`, with E = 0."""
    errors = []
    for n in (8, 12, 16, 24):
        x, y, z = cube(n)
        g = 0.5 * np.cos(x) - 0.4 * np.sin(y + z) + 0.3 * np.cos(x - y)
        p = 2 * np.pi
        g_x, g_y, g_z = (
            p * (-0.5 * np.sin(x) - 0.3 * np.sin(x - y)),
            p * (-0.4 * np.cos(y + z) + 0.3 * np.sin(x - y)),
            -p * 0.4 * np.cos(y + z),
        )
        laplace = p**2 * (-0.5 * np.cos(x) + 0.8 * np.sin(y + z) - 0.6 * np.cos(x - y))
        found, energy = ground_state((laplace + g_x**2 + g_y**2 + g_z**2) / 2)
        exact = np.exp(2 * g)
        errors.append(relative(found**2, exact / exact.mean()))
    assert abs(energy) < 1e-9
    assert errors[0] > 1e-4
    assert errors[1] < errors[0] / 20
    assert errors[2] < errors[1] / 20
    assert errors[3] < 2e-10


@pytest.mark.parametrize(("dim", "n"), [(1, 32), (2, 14), (3, 8)])
def test_the_lowest_state_of_the_dense_matrix_is_found(dim, n):
    potential = random_potential(dim, n, 40.0, dim)
    k = np.fft.fftfreq(n, 1 / n)
    line = np.fft.ifft(2 * np.pi**2 * k[:, None] ** 2 * np.fft.fft(np.eye(n), axis=0), axis=0).real
    kinetic = sum(np.kron(np.kron(np.eye(n**i), line), np.eye(n ** (dim - 1 - i))) for i in range(dim))
    energies, states = np.linalg.eigh(kinetic + np.diag(potential.ravel()))
    psi, energy = ground_state(potential)
    assert energy == pytest.approx(energies[0], abs=1e-9)
    assert relative(psi.ravel() ** 2, states[:, 0] ** 2 * psi.size) < 1e-9


def test_weak_potentials_act_as_perturbation_theory_says():
    """`psi - 1 = -(-1/2 Lap)^-1 V`, up to a square of V."""
    potential, n = random_potential(0, 12, 1.0), 12
    k = np.fft.fftfreq(n, 1 / n)
    energies = 2 * np.pi**2 * sum(np.ix_(k**2, k**2, k**2))
    energies[0, 0, 0] = np.inf
    first = -np.fft.ifftn(np.fft.fftn(potential) / energies).real
    errors = [relative(ground_state(s * potential)[0] - 1, s * first) for s in (0.4, 0.2, 0.1)]
    assert 0.9 < np.polyfit(np.log([0.4, 0.2, 0.1]), np.log(errors), 1)[0] < 1.1, errors


# ------------------------------------------------------------------ what holds for every potential


def test_the_state_is_positive_of_mean_square_one_and_below_every_trial():
    for seed in range(3):
        potential = random_potential(seed, 16, 20.0)
        psi, energy = ground_state(potential)
        assert np.all(psi > 0)
        assert np.mean(psi**2) == pytest.approx(1.0, rel=1e-12)
        assert potential.min() < energy < 0  # the constant has energy 0
        wave = np.fft.fftn(psi)
        k = np.fft.fftfreq(16, 1 / 16)
        image = np.fft.ifftn(2 * np.pi**2 * sum(np.ix_(k**2, k**2, k**2)) * wave).real + potential * psi
        assert relative(image, energy * psi) < 1e-9 * 20


def test_the_state_moves_with_the_potential_and_its_zero_does_not_matter():
    potential = random_potential(4, 16)
    psi, energy = ground_state(potential)
    moved, level = ground_state(np.roll(np.swapaxes(potential, 0, 2), (3, -2, 5), axis=(0, 1, 2))[::-1] + 1000.0)
    np.testing.assert_allclose(moved, np.roll(np.swapaxes(psi, 0, 2), (3, -2, 5), axis=(0, 1, 2))[::-1], atol=1e-9)
    assert level == pytest.approx(energy + 1000.0, abs=1e-8)


def test_deep_wells_are_solved_and_a_state_that_is_not_found_is_refused(monkeypatch):
    potential = random_potential(5, 24, 300.0)
    _, energy = ground_state(potential)
    assert energy < -300
    monkeypatch.setattr(module, "MOST_ITERATIONS", 5)
    with pytest.raises(InvalidInputError, match=r"residual is .* after 5 iterations, above .*lower strength"):
        ground_state(potential)


# ------------------------------------------------------------------ as data


def test_grids_show_the_same_functions_and_the_solver_is_converged():
    sample = GroundState().record(np.random.default_rng(2), [6, 8, 24])[0]
    for s in (6, 8):
        for found, wanted in ((sample[s].input, sample[24].input), (sample[s].output, sample[24].output)):
            every = (slice(None, None, 24 // s),) * 3
            np.testing.assert_allclose(found[:, 0], wanted.reshape(24, 24, 24)[every].ravel(), atol=1e-12)
    finer = GroundState(fine=32).record(np.random.default_rng(2), [8])[0][8]
    np.testing.assert_array_equal(finer.input, sample[8].input)
    assert relative(sample[8].output, finer.output) < 1e-9
    assert sample[24].output.mean() == pytest.approx(1.0, rel=1e-12)


def test_densities_vary_by_a_factor_of_several_and_the_map_is_not_linear():
    pairs = [GroundState(fine=12).record(np.random.default_rng(seed), [12])[0][12] for seed in range(30)]
    assert np.std([pair.input for pair in pairs]) == pytest.approx(10.0, rel=0.1)
    assert np.median([pair.output.max() / pair.output.min() for pair in pairs]) > 10
    weak = [GroundState(fine=12, strength=5.0).record(np.random.default_rng(seed), [12])[0][12] for seed in range(30)]
    gaps = [relative(2 * (w.output - 1), p.output - 1) for w, p in zip(weak, pairs, strict=True)]
    assert np.median(gaps) > 0.15


@pytest.mark.parametrize(
    "fields", [{"strength": 0.0}, {"alpha": -1.0}, {"tau": np.nan}, {"modes": 0}, {"modes": 12}, {"fine": -8}]
)
def test_bad_parameters_are_refused(fields):
    with pytest.raises(InvalidInputError, match=next(iter(fields))):
        GroundState(**fields)


def test_bad_resolutions_and_potentials_are_refused():
    with pytest.raises(InvalidInputError, match="resolution must be at least"):
        GroundState().record(np.random.default_rng(0), [2])
    with pytest.raises(InvalidInputError, match="shape"):
        ground_state(np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match="finite"):
        ground_state(np.full((4, 4), np.nan))

import numpy as np
import pytest

from iaenet.data.problems.heat import Heat, cosine_values, solve_heat
from iaenet.errors import InvalidInputError


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def centres(n):
    return (np.arange(n) + 0.5) / n


def test_a_manufactured_temperature_is_found_exponentially_fast():
    """`q = -div(a grad u) + h u` of `u = cos(pi x) cos(2 pi y) cos(pi z)` and `a = exp(sum of cosines)`."""
    errors = []
    for n in (6, 12, 24):
        x, y, z = np.meshgrid(*3 * [centres(n)], indexing="ij")
        p = np.pi
        a = np.exp(0.5 * np.cos(p * x) + 0.3 * np.cos(p * y) * np.cos(2 * p * z))
        a_x, a_y = -0.5 * p * np.sin(p * x) * a, -0.3 * p * np.sin(p * y) * np.cos(2 * p * z) * a
        a_z = -0.6 * p * np.cos(p * y) * np.sin(2 * p * z) * a
        u = np.cos(p * x) * np.cos(2 * p * y) * np.cos(p * z)
        u_x = -p * np.sin(p * x) * np.cos(2 * p * y) * np.cos(p * z)
        u_y = -2 * p * np.cos(p * x) * np.sin(2 * p * y) * np.cos(p * z)
        u_z = -p * np.cos(p * x) * np.cos(2 * p * y) * np.sin(p * z)
        q = -(a_x * u_x + a_y * u_y + a_z * u_z) + 6 * p**2 * a * u + 2.0 * u
        basis = np.sqrt(2) * np.cos(p * np.outer(np.arange(n), centres(n)))
        basis[0] = 1
        coefficients = np.einsum("ax,by,cz,xyz->abc", basis, basis, basis, q) / n**3
        errors.append(relative(cosine_values(solve_heat(a, coefficients, 2.0), centres(n)), u))
    assert errors[0] < 0.1
    assert errors[1] < 1e-4 * errors[0] or errors[1] < 1e-6
    assert errors[2] < 1e-10


def test_one_axis_agrees_with_finite_volumes():
    """Conductivity and heating along x alone: the flow between two cells, as a tridiagonal matrix, of order two."""
    counts, errors = [50, 100, 200], []
    a = lambda x: np.exp(np.cos(np.pi * x) - 0.5 * np.cos(2 * np.pi * x))  # noqa: E731
    n = 32
    q = np.zeros(n)
    q[1], q[3] = 1.0, -0.5
    spectral = solve_heat(a(centres(n)), q, 0.7)
    for m in counts:
        faces = a(np.arange(1, m) / m) * m**2
        matrix = 0.7 * np.eye(m) - np.diag(faces, 1) - np.diag(faces, -1)
        matrix += np.diag(np.append(faces, 0) + np.append(0, faces))
        dense = np.linalg.solve(matrix, cosine_values(q, centres(m)))
        errors.append(relative(dense, cosine_values(spectral, centres(m))))
    assert 1.9 < -np.polyfit(np.log(counts), np.log(errors), 1)[0] < 2.1, errors


def test_heat_is_conserved_and_sources_and_sensors_can_be_swapped():
    rng = np.random.default_rng(0)
    n = 12
    a = np.exp(rng.standard_normal((n, n, n)) / 2)
    q, r = rng.standard_normal((2, n, n, n))
    u, v = solve_heat(a, q, 0.5), solve_heat(a, r, 0.5)
    assert u[0, 0, 0] == pytest.approx(q[0, 0, 0] / 0.5, rel=1e-8)  # coefficient 0 is the mean
    assert np.vdot(u, r) == pytest.approx(np.vdot(v, q), rel=1e-8)


def test_grids_show_the_same_functions_and_the_solver_is_converged():
    sample = Heat().record(np.random.default_rng(2), [5, 9, 17])[0]
    fine = sample[17]
    for s, every in ((5, 4), (9, 2)):
        for found, wanted in ((sample[s].input, fine.input), (sample[s].output, fine.output)):
            thinned = wanted.reshape(17, 17, 17, -1)[::every, ::every, ::every].reshape(len(found), -1)
            np.testing.assert_allclose(found, thinned, atol=1e-12)
    finer = Heat(fine=36).record(np.random.default_rng(2), [9])[0][9]
    np.testing.assert_array_equal(finer.input, sample[9].input)
    assert relative(sample[9].output, finer.output) < 1e-6


def test_conductivity_matters_and_moments_are_those_documented():
    pairs = [Heat(fine=8).record(np.random.default_rng(seed), [9])[0][9] for seed in range(40)]
    logs = np.concatenate([np.log(pair.input[:, 0]) for pair in pairs])
    assert 0.3 < logs.std() < 0.8
    uniform, varied = (Heat(contrast=c).record(np.random.default_rng(0), [9])[0][9] for c in (0.0, 0.5))
    assert np.all(uniform.input[:, 0] == 1)
    np.testing.assert_array_equal(uniform.input[:, 1], varied.input[:, 1])
    assert relative(uniform.output, varied.output) > 0.2


@pytest.mark.parametrize(
    "fields", [{"contrast": -1.0}, {"cooling": 0.0}, {"alpha": np.inf}, {"modes": 1}, {"modes": 25}]
)
def test_bad_parameters_are_refused(fields):
    with pytest.raises(InvalidInputError, match=next(iter(fields))):
        Heat(**fields)


def test_bad_resolutions_and_shapes_are_refused():
    with pytest.raises(InvalidInputError, match="resolution"):
        Heat().record(np.random.default_rng(0), [1])
    with pytest.raises(InvalidInputError, match="shape"):
        solve_heat(np.ones((2, 3)), np.ones((2, 3)), 1.0)

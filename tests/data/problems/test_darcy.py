"""Darcy data against a smooth exact solution, a direct solver, and what every solution obeys."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import spsolve

from iaenet.data.problems.darcy import Darcy, solve
from iaenet.data.problems.random_fields import cell_centres, gaussian_field
from iaenet.errors import InvalidInputError


def relative(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def two_phase(n, seed=0):
    return np.where(gaussian_field(np.random.default_rng(seed), n, 2.0, 3.0).on_cells(n) >= 0, 12.0, 3.0)


def assembled(a):
    """The finite volumes as a sparse matrix, entry by entry: `matrix @ u = h^2 source`."""
    n, (rows, columns, entries) = len(a), ([], [], [])
    for i in range(n):
        for j in range(n):
            centre = 0.0
            for p, q in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                if 0 <= p < n and 0 <= q < n:
                    face = (a[i, j] + a[p, q]) / 2
                    rows.append(i * n + j)
                    columns.append(p * n + q)
                    entries.append(-face)
                else:
                    face = 2 * a[i, j]
                centre += face
            rows.append(i * n + j)
            columns.append(i * n + j)
            entries.append(centre)
    return sparse.csc_matrix((entries, (rows, columns)), shape=(n * n, n * n))


def test_second_order_for_a_smooth_coefficient():
    """`u = sin(pi x) sin(2 pi y) e^x`, `a = 2 + cos(pi x) y`, source worked out by hand."""
    sizes, errors = (16, 32, 64, 128, 256), []
    for n in sizes:
        x, y = cell_centres(n)[:, None], cell_centres(n)
        sx, cx, sy, cy = np.sin(np.pi * x), np.cos(np.pi * x), np.sin(2 * np.pi * y), np.cos(2 * np.pi * y)
        u = sx * sy * np.exp(x)
        u_x, u_y = (sx + np.pi * cx) * np.exp(x) * sy, 2 * np.pi * sx * np.exp(x) * cy
        u_xx = ((1 - np.pi**2) * sx + 2 * np.pi * cx) * np.exp(x) * sy
        a, a_x, a_y = 2 + cx * y, -np.pi * sx * y, cx
        source = -(a * (u_xx - 4 * np.pi**2 * u) + a_x * u_x + a_y * u_y)
        errors.append(relative(solve(a, source), u))
    order = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert abs(order - 2) < 0.1


@pytest.mark.parametrize("n", [29, 85, 106])
def test_agrees_with_a_direct_solver_for_two_phases(n):
    a = two_phase(n)
    direct = spsolve(assembled(a), np.full(n * n, 1 / n**2)).reshape(n, n)
    assert relative(solve(a), direct) < 1e-8


def test_agrees_with_a_direct_solver_for_noise():
    a = np.exp(np.random.default_rng(0).standard_normal((40, 40)))
    source = np.random.default_rng(1).standard_normal((40, 40))
    direct = spsolve(assembled(a), source.ravel() / 1600).reshape(40, 40)
    assert relative(solve(a, source), direct) < 1e-8


def test_constant_coefficient_gives_the_torsion_function():
    """`u(1/2, 1/2) = sum_odd 16 (-1)^((k + l)/2 - 1) / (pi^4 k l (k^2 + l^2))`, and error of order 2."""
    k = np.arange(1, 2000, 2)
    signs = (-1.0) ** ((k - 1) // 2)
    centre = np.sum(16 * np.outer(signs / k, signs / k) / (np.pi**4 * np.add.outer(k**2, k**2)))
    sizes = (21, 41, 81, 161)
    errors = [abs(solve(np.full((n, n), 2.0))[n // 2, n // 2] * 2 - centre) for n in sizes]
    assert abs(-np.polyfit(np.log(sizes), np.log(errors), 1)[0] - 2) < 0.1


def test_symmetry_scaling_and_reciprocity():
    a, rng = two_phase(43), np.random.default_rng(2)
    f, g = rng.standard_normal((2, 43, 43))
    np.testing.assert_allclose(solve(a.T, f.T), solve(a, f).T, atol=1e-10)
    np.testing.assert_allclose(solve(a[::-1], f[::-1]), solve(a, f)[::-1], atol=1e-10)
    np.testing.assert_allclose(solve(7 * a, f), solve(a, f) / 7, atol=1e-10)
    assert np.vdot(g, solve(a, f)) == pytest.approx(np.vdot(f, solve(a, g)), rel=1e-6)


def test_maximum_principle_and_energy_bounds():
    u, high, low = solve(two_phase(85)), solve(np.full((85, 85), 12.0)), solve(np.full((85, 85), 3.0))
    assert u.min() > 0
    assert high.mean() < u.mean() < low.mean()  # int u = max_v int 2 v - a |grad v|^2


def test_fine_labels_are_every_rth_value():
    sample = Darcy(fine=85).record(np.random.default_rng(3), [85, 43, 22])[0]
    grids = {s: (pair.input.reshape(s, s), pair.output.reshape(s, s)) for s, pair in sample.items()}
    for s, r in ((43, 2), (22, 4)):
        np.testing.assert_array_equal(grids[s][0], grids[85][0][::r, ::r])
        np.testing.assert_array_equal(grids[s][1], grids[85][1][::r, ::r])
        np.testing.assert_allclose(sample[s].output_at.axes[0], (r * np.arange(s) + 0.5) / 85, rtol=1e-15)
    np.testing.assert_array_equal(grids[85][0], two_phase(85, seed=3))
    np.testing.assert_allclose(grids[85][1], solve(grids[85][0]), rtol=1e-12)
    np.testing.assert_allclose(sample[85].output_at.weights, 1 / 85**2, rtol=1e-12)
    for pair in sample.values():
        assert pair.output_at.weights.sum().item() == pytest.approx(1.0)
        assert pair.output_at.bounds.tolist() == [[0.0, 1.0], [0.0, 1.0]]
        assert pair.output_at.periodic == (False, False)


def test_points_are_where_the_values_belong():
    """A smooth solution sampled at the stated points; the points `i / (s - 1)` would be an order of magnitude off."""
    pair = Darcy(high=1.0, low=1.0, fine=141).record(np.random.default_rng(0), [71])[0][71]
    k = np.arange(1, 100, 2)

    def torsion(points):
        waves = [np.sin(np.pi * np.outer(axis, k)) for axis in points.T]
        weights = 16 / (np.pi**4 * np.multiply.outer(k, k) * np.add.outer(k**2, k**2))
        return np.einsum("nk,kl,nl->n", waves[0], weights, waves[1])

    nodes = np.stack(np.meshgrid(*[np.arange(71) / 70] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    assert relative(pair.output[:, 0], torsion(pair.output_at.points.numpy())) < 2e-4
    assert relative(pair.output[:, 0], torsion(nodes)) > 2e-3


def test_solved_labels_tend_to_the_fine_ones():
    problem = Darcy(fine=81, label="solve")
    sample = problem.record(np.random.default_rng(4), [9, 27, 81, 243])[0]
    fine = Darcy(fine=81).record(np.random.default_rng(4), [81])[0][81]
    np.testing.assert_array_equal(sample[81].input, fine.input)
    np.testing.assert_array_equal(sample[81].output, fine.output)
    assert sample[81].output_at is fine.output_at
    cells = sample[243].output.reshape(243, 243)
    # the centres of s = 9, 27, 81 cells are centres of 243 cells too
    errors = [
        relative(sample[s].output.reshape(s, s), cells[243 // s // 2 :: 243 // s, 243 // s // 2 :: 243 // s])
        for s in (9, 27, 81)
    ]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


@pytest.mark.parametrize("label", ["fine", "solve"])
def test_a_resolution_does_not_depend_on_the_others(label):
    problem = Darcy(fine=43, label=label)
    together = problem.record(np.random.default_rng(5), [43, 22, 15])[0]
    for s in (15, 43):
        alone = problem.record(np.random.default_rng(5), [s])[0][s]
        np.testing.assert_array_equal(alone.input, together[s].input)
        np.testing.assert_array_equal(alone.output, together[s].output)
        assert alone.input_at is alone.output_at is together[s].output_at


def test_resolutions_of_the_paper():
    resolutions = [421, 211, 141, 106, 85]
    sample = Darcy().record(np.random.default_rng(6), resolutions)[0]
    assert [pair.input.shape for pair in sample.values()] == [(s * s, 1) for s in resolutions]
    assert 0.2 < np.mean(sample[421].input == 12.0) < 0.8


@pytest.mark.parametrize(
    "fields",
    [
        {"alpha": 1.0},
        {"tau": 0.0},
        {"high": -1.0},
        {"low": np.nan},
        {"fine": 1},
        {"label": "coarse"},
    ],
)
def test_bad_parameters_are_refused(fields):
    with pytest.raises(InvalidInputError, match=next(iter(fields))):
        Darcy(**fields)


@pytest.mark.parametrize(("label", "s"), [("fine", 84), ("fine", 1), ("solve", 1), ("fine", 86)])
def test_bad_resolutions_are_refused(label, s):
    with pytest.raises(InvalidInputError, match="resolution"):
        Darcy(fine=85, label=label).record(np.random.default_rng(0), [s])


def test_bad_coefficients_are_refused():
    for a in (np.ones((3, 4)), -np.ones((3, 3)), np.full((3, 3), np.nan)):
        with pytest.raises(InvalidInputError, match="positive"):
            solve(a)
    with pytest.raises(InvalidInputError, match="source"):
        solve(np.ones((3, 3)), source=np.nan)
    for tolerance in (0.0, 1e-30, np.nan):
        with pytest.raises(InvalidInputError, match="tolerance"):
            solve(np.ones((3, 3)), tolerance=tolerance)
    with pytest.raises(InvalidInputError, match="contrast"):
        solve(10 ** np.random.default_rng(0).uniform(-6, 6, (24, 24)))
    np.testing.assert_array_equal(solve(np.ones((3, 3)), source=0.0), 0.0)


def test_survives_pickling():
    problem = Darcy(fine=85)
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert problem.windows == 1

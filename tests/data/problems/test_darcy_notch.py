import pickle

import numpy as np
import pytest
from skfem import Basis, ElementTriP2, Functional, LinearForm

from iaenet.data.problems.darcy_notch import KNOTS, DarcyNotch
from iaenet.data.problems.notch_mesh import NOTCH, TRIANGLE, notch_distance, notched_triangle, outer_boundary, refined
from iaenet.data.problems.quadratic_elements import Poisson, evaluation
from iaenet.errors import InvalidInputError

AREA = np.sqrt(3) / 4
DRAWS = np.random.default_rng(1).standard_normal((4, 6))


def smooth(x, seed=0):
    """Boundary values (101,), smooth in x."""
    c = DRAWS[seed]
    return sum(c[k] * np.cos(k * x + c[-k]) for k in range(len(c)))


def corners_of(mesh):
    return mesh.p.T[mesh.t.T]


def angles(mesh):
    sides = [np.linalg.norm(corners_of(mesh)[:, i] - corners_of(mesh)[:, i - 1], axis=1) for i in range(3)]
    a, b, c = sides
    return np.degrees(
        np.arccos(
            [(b**2 + c**2 - a**2) / (2 * b * c), (c**2 + a**2 - b**2) / (2 * c * a), (a**2 + b**2 - c**2) / (2 * a * b)]
        )
    )


# ---------------------------------------------------------------- mesh


@pytest.mark.parametrize("divisions", [2, 5, 16, 33, 64, 101])
@pytest.mark.parametrize(("notch", "area"), [(None, AREA), (NOTCH, AREA - 0.02 * 0.4)])
def test_the_mesh_fills_the_domain(divisions, notch, area):
    mesh = notched_triangle(divisions, notch)
    (ax, ay), (bx, by) = (corners_of(mesh)[:, 1:] - corners_of(mesh)[:, :1]).transpose(1, 2, 0)
    assert abs(np.abs(ax * by - ay * bx).sum() / 2 - area) < 1e-10
    assert angles(mesh).min() > 20
    assert len(np.unique(mesh.t)) == mesh.p.shape[1]  # no node without a triangle


def test_the_mesh_has_the_corners_of_the_domain_and_about_as_many_nodes_as_the_paper():
    mesh = notched_triangle(64)
    for corner in [*TRIANGLE, *((x, y) for x in NOTCH[0] for y in NOTCH[1])]:
        assert np.linalg.norm(mesh.p.T - corner, axis=1).min() < 1e-15
    assert abs(mesh.p.shape[1] - 2295) < 25


def test_outer_boundary_leaves_out_the_notch():
    mesh = notched_triangle(20)
    vertices, segments = outer_boundary(mesh)
    ends = mesh.p.T[vertices][segments]
    assert abs(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).sum() - 2.98) < 1e-12
    assert np.count_nonzero(notch_distance(mesh.p.T[vertices]) < 1e-12) == 2  # the two ends on the base


def test_refinement_is_finer_at_the_corners_and_keeps_angles_and_vertices():
    mesh = notched_triangle(10)
    fine = refined(mesh, 0.04)
    assert np.array_equal(fine.p[:, : mesh.p.shape[1]], mesh.p)
    assert angles(fine).min() > angles(mesh).min() / 2
    longest = np.linalg.norm(corners_of(fine) - np.roll(corners_of(fine), 1, axis=1), axis=-1).max(axis=1)
    assert longest.max() < 0.04 * (1 + 1e-6)
    at_corner = np.linalg.norm(corners_of(fine) - [0.51, 0.4], axis=-1).min(axis=1) < 1e-12
    assert longest[at_corner].max() < 1.1e-4


# ---------------------------------------------------------------- finite elements


def relative_error(problem, u, exact):
    fine = Basis(problem.basis.mesh, ElementTriP2(), intorder=8)
    off = Functional(lambda w: (w["u"] - exact(w.x[0], w.x[1])) ** 2).assemble(fine, u=fine.interpolate(u))
    whole = Functional(lambda w: exact(w.x[0], w.x[1]) ** 2).assemble(fine)
    return np.sqrt(off / whole)


def solved(mesh, exact, source):
    problem = Poisson(mesh)
    load = LinearForm(lambda v, w: source(w.x[0], w.x[1]) * v).assemble(Basis(mesh, ElementTriP2(), intorder=8))
    values = exact(*problem.basis.doflocs[:, problem.boundary])
    return problem, problem.solve(values[:, None], load[:, None])[:, 0]


def test_order_three_on_a_smooth_solution():
    def exact(x, y):
        return np.sin(5 * x + 1) * np.cos(4 * y)

    divisions = np.array([4, 8, 16, 32, 64])
    errors = []
    for n in divisions:
        problem, u = solved(notched_triangle(int(n), notch=None), exact, lambda x, y: 41 * exact(x, y))
        errors.append(relative_error(problem, u, exact))
    order = -np.polyfit(np.log(divisions), np.log(errors), 1)[0]
    assert abs(order - 3) < 0.1, (order, errors)


def test_quadratic_solutions_are_exact_with_the_notch():
    def exact(x, y):
        return x**2 + 3 * y**2 - x * y + 2

    problem, u = solved(refined(notched_triangle(12), 0.05), exact, lambda x, _: -8 + 0 * x)
    assert np.abs(u - exact(*problem.basis.doflocs)).max() < 1e-10


def turned(x, y, corner, start):
    """Polar coordinates about `corner`, the angle in [0, 2 pi) from the direction `start`."""
    dx, dy = x - corner[0], y - corner[1]
    return np.hypot(dx, dy), np.mod(np.arctan2(dy, dx) - start, 2 * np.pi)


def test_the_singularity_at_the_top_of_the_notch_is_resolved():
    """`r^(2/3) sin(2 t / 3)` is harmonic and zero on the two sides that meet at a corner of 270 degrees."""

    def exact(x, y):
        r, t = turned(x, y, (0.51, 0.4), -np.pi / 2 - 1e-9)
        return r ** (2 / 3) * np.sin(2 * t / 3)

    for mesh, bound in ((refined(notched_triangle(20), 0.05), 1e-4), (refined(notched_triangle(50), 0.02), 2e-5)):
        problem, u = solved(mesh, exact, lambda x, _: 0 * x)
        assert relative_error(problem, u, exact) < bound


def test_the_jump_at_the_base_of_the_notch_is_resolved():
    """The angle about the corner (0.49, 0) is harmonic; it is pi on the base and pi/2 on the notch."""

    def exact(x, y):
        angle = np.arctan2(y, x - 0.49)
        return np.where(np.hypot(x - 0.49, y) < 1e-9, np.pi / 2, angle)

    problem, u = solved(refined(notched_triangle(50), 0.02), exact, lambda x, _: 0 * x)
    assert relative_error(problem, u, exact) < 1e-4


def test_evaluation_is_exact_for_quadratics_and_refuses_points_outside():
    basis = Basis(refined(notched_triangle(8), 0.1), ElementTriP2())
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.uniform([0.52, 0], [0.75, 0.4], (200, 2)), basis.mesh.p.T])
    x, y = basis.doflocs
    found = evaluation(basis, points) @ (x**2 - 3 * x * y + y)
    np.testing.assert_allclose(found, points[:, 0] ** 2 - 3 * points[:, 0] * points[:, 1] + points[:, 1], atol=1e-11)
    with pytest.raises(InvalidInputError, match="outside the mesh"):
        evaluation(basis, np.array([[0.5, 0.1]]))


# ---------------------------------------------------------------- the problem


def test_boundary_values_are_exact():
    h = smooth(KNOTS)
    pair = DarcyNotch().sample(h, 20)
    sides, nodes = pair.input_at.points.numpy(), pair.output_at.points.numpy()
    np.testing.assert_allclose(pair.input[:, 0], np.interp(sides[:, 0], KNOTS, h), rtol=0, atol=1e-14)
    on_notch = np.abs(notch_distance(nodes)) < 1e-9
    assert on_notch.sum() > 40
    np.testing.assert_array_equal(pair.output[on_notch], 1.0)
    for point, value in zip(sides, pair.input[:, 0], strict=True):
        node = np.linalg.norm(nodes - point, axis=1).argmin()
        if not on_notch[node]:
            assert abs(pair.output[node, 0] - value) < 1e-14


@pytest.mark.parametrize(("layout", "s"), [("mesh", 24), ("square", 31)])
def test_affine_in_the_data(layout, s):
    problem = DarcyNotch(layout=layout)
    f, g, zero = smooth(KNOTS, 0), smooth(KNOTS, 1), np.zeros(101)
    u = {name: problem.sample(h, s).output for name, h in {"f": f, "g": g, "0": zero, "sum": 2 * f - 3 * g}.items()}
    assert np.abs(u["sum"] - u["0"] - 2 * (u["f"] - u["0"]) + 3 * (u["g"] - u["0"])).max() < 1e-10
    parts = [DarcyNotch(layout=layout, source=f, notch_value=g).sample(zero, s).output for f, g in ((-1, 0), (0, 1))]
    assert np.abs(sum(parts) - u["0"]).max() < 1e-10


def test_signs_and_the_released_variant():
    zero = np.zeros(101)
    released = DarcyNotch.released().sample(zero, 16).output
    assert released.min() > -1e-12
    assert released.max() > 0.1  # -0.1 Lap u = +1 pushes up
    np.testing.assert_allclose(DarcyNotch(notch_value=0.0).sample(zero, 16).output, -released, atol=1e-13)
    halved = DarcyNotch(coefficient=0.2, source=1.0, notch_value=0.0).sample(zero, 16).output
    np.testing.assert_allclose(halved, released / 2, atol=1e-13)
    assert DarcyNotch.released("square").layout == "square"


def test_labels_hardly_depend_on_the_solver_mesh():
    h = smooth(KNOTS, 2)
    for layout, s in (("mesh", 25), ("square", 64)):
        coarse, fine = (DarcyNotch(layout=layout, mesh_size=size).sample(h, s) for size in (0.02, 0.01))
        weights = fine.output_at.weights.numpy()[:, None]
        error = np.sqrt((weights * (coarse.output - fine.output) ** 2).sum() / (weights * fine.output**2).sum())
        assert error < 1e-4


def test_square_layout_pads_with_the_nearest_value():
    h = smooth(KNOTS, 3)
    pair = DarcyNotch(layout="square", notch_value=7.0).sample(h, 101)
    grid = pair.output.reshape(101, 101)  # [x, y]
    np.testing.assert_array_equal(pair.input.reshape(101, 101), np.repeat(h[:, None], 101, axis=1))
    np.testing.assert_allclose(grid[[10, 30, 60], 0], h[[10, 30, 60]], atol=1e-14)  # on the base
    np.testing.assert_array_equal(grid[49:52, :41], 7.0)  # the notch, closed
    np.testing.assert_allclose(grid[40:61, 100], h[50], atol=1e-14)  # the tip of the triangle is nearest
    x, y = 0.1, 0.6  # left of the side y = sqrt(3) x
    foot = (x + np.sqrt(3) * y) / 4
    assert abs(grid[10, 60] - np.interp(foot, KNOTS, h)) < 1e-14


def test_square_layout_evaluates_at_its_own_points():
    problem = DarcyNotch(layout="square")
    h = smooth(KNOTS, 1)
    coarse, fine = problem.sample(h, 26).output.reshape(26, 26), problem.sample(h, 51).output.reshape(51, 51)
    np.testing.assert_allclose(fine[::2, ::2], coarse, atol=1e-12)
    symmetric = problem.sample(h + h[::-1], 51).output.reshape(51, 51)
    assert np.abs(symmetric - symmetric[::-1]).max() < 5e-3  # the mesh is not symmetric; the domain is


def test_h_is_the_stated_gaussian_process():
    problem = DarcyNotch()
    rng = np.random.default_rng(0)
    draws = 4000
    h = np.stack([problem.record(rng, [16])[0][16].input[:, 0] for _ in range(draws)])
    x = problem.record(rng, [16])[0][16].input_at.points[:, 0].numpy()
    wanted = np.exp(-0.5 * (np.subtract.outer(x, x) / 0.2) ** 2)
    deviation = np.sqrt((1 + wanted**2) / draws)  # of an entry of the sample covariance
    z = (h.T @ h / draws - wanted) / deviation
    assert np.abs(z).max() < 4.5
    assert np.abs(h.mean(axis=0)).max() < 4.5 / np.sqrt(draws)
    kurtosis = (h**4).mean(axis=0) / (h**2).mean(axis=0) ** 2
    assert np.abs(kurtosis - 3).max() < 4.5 * np.sqrt(24 / draws)


@pytest.mark.parametrize("layout", ["mesh", "square"])
def test_a_sample_is_the_same_function_whatever_else_is_asked_for(layout):
    problem = pickle.loads(pickle.dumps(DarcyNotch(layout=layout)))
    assert problem.windows == 1
    one = problem.record(np.random.default_rng(5), [16])[0]
    two = problem.record(np.random.default_rng(5), [32, 16])[0]
    assert list(two) == [32, 16]
    np.testing.assert_array_equal(one[16].input, two[16].input)
    np.testing.assert_array_equal(one[16].output, two[16].output)
    assert one[16].input_at is two[16].input_at
    assert one[16].output_at is two[16].output_at
    assert one[16].output_at.bounds.tolist() == two[32].input_at.bounds.tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"coefficient": 0.0}, "coefficient"),
        ({"correlation": -1.0}, "correlation"),
        ({"source": np.nan}, "source"),
        ({"mesh_size": 0.0}, "mesh_size"),
        ({"layout": "grid"}, "layout"),
    ],
)
def test_bad_parameters_are_refused(fields, says):
    with pytest.raises(InvalidInputError, match=says):
        DarcyNotch(**fields)


def test_bad_requests_are_refused():
    with pytest.raises(InvalidInputError, match="resolution"):
        DarcyNotch().record(np.random.default_rng(0), [1])
    with pytest.raises(InvalidInputError, match="h must be 101"):
        DarcyNotch().sample(np.zeros(100), 8)
    with pytest.raises(InvalidInputError, match="divisions"):
        notched_triangle(1)

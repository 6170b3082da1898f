import numpy as np
import pytest
from skfem import MeshTri

from iaenet.data.problems.graded_mesh import Mesh
from iaenet.data.problems.laplace_ring import LaplaceRing
from iaenet.data.problems.quadratic_elements import Poisson
from iaenet.errors import InvalidInputError

ANGLES = 2 * np.pi * np.arange(64) / 64
CIRCLE = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)


def ring(seed, **options):
    """Outer boundary, hole, harmonic function."""
    rng = np.random.default_rng(seed)
    problem = LaplaceRing(**options)
    outer, hole = problem.draw(rng)
    return outer, hole, problem.function(outer, hole, rng)


@pytest.mark.parametrize("seed", range(5))
def test_mean_over_a_circle_is_the_value_at_its_centre(seed):
    outer, hole, u = ring(seed)
    centres = np.random.default_rng(seed).uniform(-0.6, 0.6, (100, 2))
    clear = outer.holds(1.1 * centres) & (np.linalg.norm(centres - hole.centre, axis=1) > hole.axes.max() + 0.05)
    assert clear.sum() > 20
    for centre in centres[clear]:
        assert abs(u(centre + 0.03 * CIRCLE).mean() - u(centre[None])[0]) < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_a_circle_around_the_hole_has_the_flux_of_the_logarithm(seed):
    """The mean over circles around the pole is linear in log r, as it is for no other kind of term."""
    _, hole, u = ring(seed)
    radii = np.array([1.1, 1.3, 1.5]) * hole.axes.max()
    many = np.arange(256) * 2 * np.pi / 256
    around = np.stack([np.cos(many), np.sin(many)], axis=1)
    means = np.array([u(hole.centre + r * around).mean() for r in radii])
    slopes = np.diff(means) / np.diff(np.log(radii))
    assert np.allclose(slopes, u.source, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_greatest_and_least_value_lie_on_the_boundary(seed):
    pair = LaplaceRing().record(np.random.default_rng(seed), [800])[0][800]
    on_boundary, inside = pair.input, pair.output[pair.input_at.n :]
    slack = 0.02 * np.ptp(on_boundary)  # the extremes of u lie between the points of the boundary
    assert on_boundary.min() - slack < inside.min()
    assert inside.max() < on_boundary.max() + slack
    outer, hole, u = ring(seed)
    dense = u(np.concatenate([outer.outline(5000), hole.outline(5000)]))
    assert dense.min() <= inside.min()
    assert inside.max() <= dense.max()


@pytest.mark.parametrize("seed", range(10))
def test_the_hole_is_clear_of_the_outer_boundary(seed):
    outer, hole, _ = ring(seed, bumps=0.49)
    gap = np.linalg.norm(hole.outline(300)[:, None] - outer.outline(300), axis=-1).min()
    assert outer.holds(hole.outline(300)).all()
    assert gap > 0.1 * outer.radius
    assert np.abs(outer.outline(300)).max() < 1


def test_labels_at_two_densities_are_values_of_one_function():
    pairs = LaplaceRing().record(np.random.default_rng(6), [300, 1200])[0]
    _, _, u = ring(6)
    for pair in pairs.values():
        for values, at in ((pair.input, pair.input_at), (pair.output, pair.output_at)):
            assert np.abs(u(at.points.numpy()) - values[:, 0]).max() < 1e-14
    areas = [pair.output_at.measure for pair in pairs.values()]
    lengths = [pair.input_at.measure for pair in pairs.values()]
    assert abs(areas[0] / areas[1] - 1) < 0.01
    assert abs(lengths[0] / lengths[1] - 1) < 0.01


def test_finite_elements_from_the_boundary_values_find_the_label():
    """The input determines the output: quadratic elements on the sample's own mesh converge to it."""
    counts, errors = [200, 400, 800, 1600], []
    for count in counts:
        pair = LaplaceRing(bumps=0.2).record(np.random.default_rng(1), [count])[0][count]
        at = pair.output_at
        problem = Poisson(MeshTri(at.points.numpy().T.copy(), at.cells.numpy().T.copy()))
        _, _, u = ring(1, bumps=0.2)
        values = u(problem.basis.doflocs[:, problem.boundary].T)[:, None]
        found = problem.solve(values, np.zeros((problem.basis.N, 1)))[: at.n]
        errors.append(np.linalg.norm(found - pair.output) / np.linalg.norm(pair.output))
    assert errors[-1] < 2e-3
    assert -2 * np.polyfit(np.log(counts), np.log(errors), 1)[0] > 2, errors


def test_the_input_is_two_closed_curves():
    pair = LaplaceRing().record(np.random.default_rng(0), [400])[0][400]
    segments = pair.input_at.cells.numpy()
    assert segments.shape[1] == 2
    assert np.all(np.bincount(segments.ravel()) == 2)
    loops = Mesh(np.zeros((0, 2)), np.zeros((0, 3), dtype=np.int64), (4, 3)).boundary
    assert loops.tolist() == [[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 4]]
    outer, hole, _ = ring(0)
    dense = [np.linalg.norm(np.diff(curve.outline(20000), axis=0), axis=1).sum() for curve in (outer, hole)]
    assert abs(pair.input_at.measure / sum(dense) - 1) < 0.01


@pytest.mark.parametrize(
    ("given", "message"),
    [({"bumps": 0.6}, "bumps must be"), ({"modes": 0}, "modes must be"), ({"decay": 0.0}, "0 < decay <= 1")],
)
def test_parameters_that_cannot_be(given, message):
    with pytest.raises(InvalidInputError, match=message):
        LaplaceRing(**given)

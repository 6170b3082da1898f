import numpy as np
import pytest

from iaenet.data.problems.graded_mesh import Region
from iaenet.data.problems.plane_curves import Ellipse
from iaenet.data.problems.plate import SQUARE, Plate, VonMises
from iaenet.errors import InvalidInputError

MIDDLE = np.array([0.5, 0.5])


def small_hole(half_axes, vertices, seed=0):
    """Stress of a plate with a hole in its middle, and the vertices of its mesh, those on the hole first."""
    region = Region(SQUARE, (Ellipse(MIDDLE, np.array(half_axes), 0.0),), reach=0.4)
    mesh = region.mesh(vertices, 0.04, np.random.default_rng(seed))
    return VonMises(mesh), mesh


def kirsch(points, radius):
    """Von Mises stress at `points`, relative to the centre of a round hole in an infinite plate pulled along x."""
    q, t = radius / np.hypot(*points.T), 2 * np.arctan2(points[:, 1], points[:, 0])
    radial = (1 - q**2 + (1 - 4 * q**2 + 3 * q**4) * np.cos(t)) / 2
    around = (1 + q**2 - (1 + 3 * q**4) * np.cos(t)) / 2
    shear = -(1 + 2 * q**2 - 3 * q**4) * np.sin(t) / 2
    return np.sqrt(radial**2 - radial * around + around**2 + 3 * shear**2)


def test_concentration_at_round_holes_tends_to_that_of_an_infinite_plate():
    """Kirsch: three times the tension; that of a finite plate differs by the order of (radius / width)^2."""
    radii, over = [0.03, 0.045, 0.0675, 0.1], []
    for radius in radii:
        stress, mesh = small_hole((radius, radius), 3000)
        over.append(stress(mesh.points[: mesh.loops[0]]).max() - 3)
    order = np.polyfit(np.log(radii), np.log(over), 1)[0]
    assert over[0] < 0.02
    assert 1.7 < order < 2.8, (order, over)


def test_concentration_at_an_elliptic_hole():
    """Inglis: `1 + 2 a / b` with the half axis a across the tension."""
    for across, along in ((0.04, 0.02), (0.02, 0.04)):
        stress, mesh = small_hole((along, across), 6000)
        assert abs(stress(mesh.points[: mesh.loops[0]]).max() / (1 + 2 * across / along) - 1) < 0.015


def test_stress_around_a_small_hole_converges_to_kirsch():
    vertices, errors = [300, 600, 1200, 2400], []
    angles = np.linspace(0, 2 * np.pi, 200)
    ring = np.concatenate([r * np.stack([np.cos(angles), np.sin(angles)], axis=1) for r in np.linspace(0.022, 0.06, 8)])
    exact = kirsch(ring, 0.02)
    for count in vertices:
        runs = [small_hole((0.02, 0.02), count, seed)[0](MIDDLE + ring) for seed in range(2)]
        errors.append(np.mean([np.linalg.norm(run - exact) for run in runs]) / np.linalg.norm(exact))
    assert errors[-1] < 0.006
    assert -2 * np.polyfit(np.log(vertices), np.log(errors), 1)[0] > 1.5, errors  # order in the edge length


def test_order_two_of_the_label_on_a_hole_of_the_data():
    region = Region(SQUARE, (Ellipse(np.array([0.45, 0.55]), np.array([0.18, 0.12]), 0.6),))
    points = region.mesh(800, 0.4, np.random.default_rng(5)).points
    points = points[region.distance(points) > 0.02]
    fine = VonMises(region.mesh(10000, 0.2, np.random.default_rng(9)))(points)
    vertices, errors = [300, 600, 1200, 2400], []
    for count in vertices:
        runs = [VonMises(region.mesh(count, 0.2, np.random.default_rng(seed)))(points) for seed in range(2)]
        errors.append(np.mean([np.linalg.norm(run - fine) for run in runs]) / np.linalg.norm(fine))
    assert errors[2] < 0.002  # at the default
    order = -2 * np.polyfit(np.log(vertices), np.log(errors), 1)[0]
    assert abs(order - 2) < 0.4, (order, errors)


def test_all_resolutions_are_of_one_solution():
    pairs = Plate().record(np.random.default_rng(0), [400, 1600])[0]
    holes = []
    for pair in pairs.values():
        assert np.all(pair.input == 1)
        holes.append(1 - pair.output_at.measure)
    assert abs(holes[0] / holes[1] - 1) < 0.02
    few, many = (pair.output_at.points.numpy() for pair in pairs.values())
    distance = np.linalg.norm(few[:, None] - many[None], axis=-1)
    near = np.flatnonzero(distance.min(axis=1) < 2e-3)
    assert len(near) > 10
    partner = distance[near].argmin(axis=1)
    assert np.abs(pairs[400].output[near] - pairs[1600].output[partner]).max() < 0.1


def test_a_larger_hole_raises_the_stress():
    small, large = (Plate(half_axis=(axis, axis), ratio=(1.0, 1.0), offset=0.0) for axis in (0.05, 0.25))
    peaks = [problem.record(np.random.default_rng(1), [600])[0][600].output.max() for problem in (small, large)]
    assert 2.8 < peaks[0] < 3.2 < peaks[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"half_axis": (0.2, 0.1)}, "half_axis must be two growing numbers"),
        ({"half_axis": (0.1,)}, "half_axis must be two growing numbers"),
        ({"ratio": (0.5, 1.5)}, "ratio must be two growing numbers between 0.1 and 1.0"),
        ({"offset": 0.3}, "offset must be at least 0"),
        ({"vertices": 10}, "vertices must be at least 200"),
    ],
)
def test_parameters_that_cannot_be(given, message):
    with pytest.raises(InvalidInputError, match=message):
        Plate(**given)

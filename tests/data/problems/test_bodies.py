import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

from iaenet.data.problems.airfoil import pressure
from iaenet.data.problems.bodies import STREAM, Bodies, icosphere, outside
from iaenet.data.problems.ellipsoid_flow import Ellipsoid
from iaenet.errors import InvalidInputError

TURN = Rotation.from_rotvec([0.3, -1.1, 0.7]).as_matrix()
BODY = Ellipsoid(np.array([0.6, 0.4, 0.25]), TURN)
DIRECTIONS = icosphere(162)[0]


@pytest.mark.parametrize("axes", [(1.0, 1.0, 1.0), (0.6, 0.4, 0.25), (0.2, 0.9, 0.9), (0.9, 0.1, 0.1)])
@pytest.mark.parametrize("stream", [(1.0, 0.0, 0.0), (0.3, -0.5, 0.8)])
def test_no_flow_through_the_surface(axes, stream):
    body = Ellipsoid(np.array(axes), TURN)
    points = body.surface(DIRECTIONS)
    velocity = body.velocity(points, np.array(stream))
    assert np.abs((velocity * body.normals(points)).sum(axis=1)).max() < 1e-12
    assert np.linalg.norm(velocity, axis=1).max() > 0.9


def test_pressure_on_a_sphere():
    ball = Ellipsoid(np.full(3, 0.5), TURN)
    points = ball.surface(DIRECTIONS)
    sine = 1 - (points[:, 0] / 0.5) ** 2
    assert np.abs(pressure(ball.velocity(points, STREAM))[:, 0] - (1 - 9 / 4 * sine)).max() < 1e-12


def test_flow_around_a_sphere():
    """`phi = x (1 + a^3 / 2 r^3)`."""
    points = outside(Ellipsoid(np.full(3, 0.5), np.eye(3)), 50, np.random.default_rng(0))
    r = np.linalg.norm(points, axis=1, keepdims=True)
    exact = STREAM * (1 + 0.5**3 / (2 * r**3)) - 1.5 * points[:, :1] * points * 0.5**3 / r**5
    assert np.abs(Ellipsoid(np.full(3, 0.5), TURN).velocity(points, STREAM) - exact).max() < 1e-12


def test_the_stream_is_undisturbed_far_away():
    distances = 10.0 ** np.arange(1, 5)
    errors = [np.linalg.norm(BODY.velocity(r * DIRECTIONS, STREAM) - STREAM, axis=1).max() for r in distances]
    order = -np.polyfit(np.log(distances), np.log(errors), 1)[0]
    assert abs(order - 3) < 0.02, (order, errors)  # a doublet


def test_the_flow_has_neither_sources_nor_vortices():
    points = outside(Ellipsoid(1.1 * BODY.axes, TURN), 200, np.random.default_rng(1))
    h = 1e-5
    rows = [BODY.velocity(points + step, STREAM) - BODY.velocity(points - step, STREAM) for step in h * np.eye(3)]
    gradient = np.stack(rows, axis=1) / (2 * h)  # d v_j / d x_i
    assert np.abs(np.trace(gradient, axis1=1, axis2=2)).max() < 1e-6
    assert np.abs(gradient - gradient.transpose(0, 2, 1)).max() < 1e-6


@pytest.mark.parametrize("ratio", [1.5, 2.0, 5.0])
def test_added_mass_of_prolate_spheroids(ratio):
    e = math.sqrt(1 - ratio**-2)
    half = 0.5 * math.log((1 + e) / (1 - e))
    along = 2 * (1 - e**2) / e**3 * (half - e)
    across = 1 / e**2 - (1 - e**2) / e**3 * half
    exact = [along / (2 - along), across / (2 - across), across / (2 - across)]
    assert np.allclose(Ellipsoid(np.array([ratio, 1.0, 1.0]), TURN).added_mass(), exact, rtol=1e-12)


def test_added_mass_is_the_integral_of_lamb():
    a = BODY.axes

    def chi(i):
        return a.prod() * quad(lambda s: 1 / ((a[i] ** 2 + s) * math.sqrt(np.prod(a**2 + s))), 0, np.inf)[0]

    values = np.array([chi(i) for i in range(3)])
    assert abs(values.sum() - 2) < 1e-9
    assert np.allclose(BODY.added_mass(), values / (2 - values), rtol=1e-9)


def test_a_turned_body_in_a_turned_stream_gives_the_turned_flow():
    straight = Ellipsoid(BODY.axes, np.eye(3))
    points = outside(straight, 30, np.random.default_rng(2))
    turned = BODY.velocity(points @ TURN.T, TURN @ STREAM)
    assert np.abs(turned - straight.velocity(points, STREAM) @ TURN.T).max() < 1e-12


def on_surface(count):
    """A pair with normals, its weights, and the half axes of its body."""
    pair = Bodies(normals=True).record(np.random.default_rng(3), [count])[0][count]
    rng = np.random.default_rng(3)
    return pair, pair.output_at.weights.numpy(), np.array([rng.uniform(0.25, 0.6) for _ in range(3)])


@pytest.mark.parametrize("count", [42, 642])
def test_no_force_acts_on_the_body(count):
    """D'Alembert: `int Cp n dS = 0`, on these nodes exactly, since they come in pairs x and -x."""
    pair, weights, _ = on_surface(count)
    assert np.abs(weights @ (pair.output * pair.input[:, 1:])).max() < 1e-12
    assert weights @ np.abs(pair.output[:, 0]) > 0.1


def test_normals_and_weights_give_the_volume():
    """`int x . n dS = 3 V`, with an error of second order in the edge length."""
    counts, errors = [162, 642, 2562], []
    for count in counts:
        pair, weights, axes = on_surface(count)
        volume = weights @ (pair.input[:, 1:] * pair.output_at.points.numpy()).sum(axis=1) / 3
        errors.append(abs(volume - 4 / 3 * np.pi * axes.prod()))
    assert abs(-2 * np.polyfit(np.log(counts), np.log(errors), 1)[0] - 2) < 0.2, errors


@pytest.mark.parametrize("count", [12, 42, 162, 640, 2562])
def test_the_sphere_is_closed_and_its_triangles_look_outward(count):
    points, cells = icosphere(count)
    assert abs(len(points) / count - 1) < 0.01
    assert len(cells) == 2 * len(points) - 4
    assert np.allclose(np.linalg.norm(points, axis=1), 1)
    a, b, c = points[cells].transpose(1, 0, 2)
    assert np.einsum("nd,nd->n", np.cross(b - a, c - a), a).min() > 0
    directed = np.concatenate([cells[:, [0, 1]], cells[:, [1, 2]], cells[:, [2, 0]]])
    there, back = {tuple(edge) for edge in directed}, {tuple(edge) for edge in directed[:, ::-1]}
    assert len(there) == len(directed)  # each edge once in each direction
    assert there == back
    lengths = np.linalg.norm(points[directed[:, 0]] - points[directed[:, 1]], axis=1)
    assert lengths.max() < 2 * lengths.min()


def test_points_of_every_sample_and_resolution_are_turned_anew():
    rotations = []
    for seed in range(2):
        pairs = Bodies(half_axis=(0.5, 0.5)).record(np.random.default_rng(seed), [162, 642])[0]
        for n, pair in pairs.items():
            points = pair.output_at.points.numpy()
            assert np.allclose(np.linalg.norm(points, axis=1), 0.5)
            rotations.append(np.linalg.lstsq(icosphere(n)[0], points / 0.5)[0])
    for i in range(4):
        for j in range(i):
            assert np.abs(rotations[i] - rotations[j]).max() > 0.05


def test_volume_and_surface_are_of_one_body():
    surface, volume = (Bodies(at=at).record(np.random.default_rng(5), [2000])[0][2000] for at in ("surface", "volume"))
    rng = np.random.default_rng(5)
    axes = np.array([rng.uniform(0.25, 0.6) for _ in range(3)])
    body = Ellipsoid(axes, Rotation.random(rng=rng).as_matrix())
    for pair in (surface, volume):
        assert np.abs(body.level(pair.input_at.points.numpy())).max() < 1e-12
    assert not body.holds(volume.output_at.points.numpy()).any()
    assert volume.output_at.n == 2000
    assert abs(volume.output_at.measure - (8 - 4 / 3 * np.pi * axes.prod())) < 1e-9
    assert np.allclose(volume.output[:, :1], pressure(volume.output[:, 1:]))
    assert np.abs(volume.output[:, 1:] - body.velocity(volume.output_at.points.numpy(), STREAM)).max() < 1e-12
    assert surface.output.max() <= 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"half_axis": (0.5, 1.5)}, "half_axis must be two growing"),
        ({"at": "wake"}, "at must be 'surface' or 'volume'"),
    ],
)
def test_parameters_that_cannot_be(given, message):
    with pytest.raises(InvalidInputError, match=message):
        Bodies(**given)


def test_too_few_nodes():
    with pytest.raises(InvalidInputError, match="resolution must be at least 12"):
        Bodies().record(np.random.default_rng(0), [4])

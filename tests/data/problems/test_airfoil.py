import math

import numpy as np
import pytest

from iaenet.data.problems.airfoil import Airfoil, pressure
from iaenet.data.problems.joukowsky import Profile
from iaenet.errors import InvalidInputError

CASES = [
    (Profile(thickness, camber), math.radians(attack))
    for thickness, camber, attack in [(0.08, 0.0, 0.0), (0.2, 0.06, 8.0), (0.12, 0.03, -4.0), (0.05, -0.04, 3.0)]
]


def circle(profile, count=400):
    """Points of the circle at equal angles, the first that of the trailing edge."""
    return profile.middle + profile.radius * np.exp(1j * (2 * np.pi * np.arange(count) / count - profile.beta))


def slope(profile, zeta):
    """dz / dtheta of the profile, along the circle."""
    return (1 - 1 / zeta**2) * 1j * (zeta - profile.middle) / profile.scale


@pytest.mark.parametrize(("profile", "attack"), CASES)
def test_no_flow_through_the_surface(profile, attack):
    zeta = circle(profile)[1:]
    u, v = profile.velocity(zeta, attack).T
    tangent = slope(profile, zeta)
    through = u * tangent.imag - v * tangent.real
    assert np.abs(through / np.abs(tangent)).max() < 1e-12


@pytest.mark.parametrize(("profile", "attack"), CASES)
def test_the_stream_is_undisturbed_far_away(profile, attack):
    distances, errors = 10.0 ** np.arange(1, 5), []
    for r in distances:
        points = r * np.stack([np.cos(np.arange(12)), np.sin(np.arange(12))], axis=1)
        off = profile.velocity(profile.to_circle(points), attack) - [math.cos(attack), math.sin(attack)]
        errors.append(np.linalg.norm(off, axis=1).max())
    # A vortex falls like 1 / r, and without lift a doublet like 1 / r^2.
    order = -np.polyfit(np.log(distances), np.log(errors), 1)[0]
    assert abs(order - (1 if abs(profile.lift(attack)) > 1e-12 else 2)) < 0.1, (order, errors)


@pytest.mark.parametrize(("profile", "attack"), CASES)
def test_kutta_condition(profile, attack):
    """The trailing edge is no stagnation point and no singularity: both sides leave it with one velocity."""
    edge = profile.velocity(np.array([1.0 + 0j]), attack)[0]
    assert 0.5 < np.linalg.norm(edge) < 1.2
    for side in (1e-4, -1e-4):
        zeta = profile.middle + profile.radius * np.exp(1j * np.array([side - profile.beta]))
        assert np.abs(profile.velocity(zeta, attack)[0] - edge).max() < 1e-3
    assert np.allclose(profile.to_plane(np.array([1.0 + 0j])), [[1, 0]])


@pytest.mark.parametrize(("profile", "attack"), CASES)
def test_lift_is_that_of_kutta_and_joukowsky_and_there_is_no_drag(profile, attack):
    """`-int Cp n ds`, by a rule of spectral accuracy on the circle, against `2 x circulation`, the integral of v."""
    zeta = circle(profile)
    velocity, tangent = profile.velocity(zeta, attack), slope(profile, zeta)
    step = 2 * np.pi / len(zeta)
    force = np.sum(pressure(velocity)[:, 0] * 1j * tangent) * step  # the outward normal is -i times the tangent
    turned = force * np.exp(-1j * attack)
    assert abs(turned.real) < 1e-10
    assert abs(turned.imag - profile.lift(attack)) < 1e-10
    circulation = np.sum(velocity[:, 0] * tangent.real + velocity[:, 1] * tangent.imag) * step
    assert abs(-2 * circulation - profile.lift(attack)) < 1e-10


def test_lift_of_a_thin_profile():
    """`2 pi sin(alpha)` without thickness, about `2 pi (alpha + 2 camber)` with camber."""
    assert abs(Profile(1e-9, 0.0).lift(0.1) - 2 * math.pi * math.sin(0.1)) < 1e-7
    assert abs(Profile(1e-9, 0.01).lift(0.02) / (2 * math.pi * 0.04) - 1) < 1e-3


@pytest.mark.parametrize(("profile", "attack"), CASES)
def test_the_flow_has_neither_sources_nor_vortices(profile, attack):
    points = np.random.default_rng(0).uniform([-0.5, -1], [1.5, 1], (300, 2))
    points = points[~profile.holds(points) & (np.abs(points - [0, 0]).max(axis=1) > 0.1)]
    h = 1e-5
    (du_dx, dv_dx), (du_dy, dv_dy) = (
        (
            profile.velocity(profile.to_circle(points + step), attack)
            - profile.velocity(profile.to_circle(points - step), attack)
        ).T
        / (2 * h)
        for step in h * np.eye(2)
    )
    away = np.abs(profile.to_circle(points) - profile.middle) > 1.05 * profile.radius  # both differences outside
    assert np.abs(du_dx + dv_dy)[away].max() < 1e-6
    assert np.abs(dv_dx - du_dy)[away].max() < 1e-6


def test_profile_is_as_thick_and_as_curved_as_asked():
    for thickness, camber in ((0.08, 0.0), (0.15, 0.0), (0.1, 0.04)):
        around = Profile(thickness, camber).outline(2000)
        low, high = around[around[:, 1] < 0], around[around[:, 1] > 0]
        if camber == 0:
            assert abs(high[:, 1].max() - low[:, 1].min() - thickness) < 0.15 * thickness
        upper, lower = (np.interp(0.5, *side[np.argsort(side[:, 0])].T) for side in np.split(around, [1000]))
        assert abs((upper + lower) / 2 - camber) < 0.1 * max(camber, 1e-6)
        assert abs(np.ptp(around[:, 0]) - 1) < 0.01


def test_the_inverse_map_takes_the_field_outside_the_circle():
    for profile, _ in CASES:
        zeta = profile.middle + profile.radius * np.exp(2j * np.pi * np.arange(50) / 50) * 1.0001
        assert np.abs(profile.to_circle(profile.to_plane(zeta)) - zeta).max() < 1e-9
        assert not profile.holds(profile.to_plane(zeta)).any()
        inside = profile.outline(50)[1:] * 0.98 + 0.02 * np.array([0.3, 1.15 * profile.camber])
        assert profile.holds(inside[10:40]).all()


def test_surface_lift_converges_with_its_points():
    counts, errors = [50, 100, 200, 400], []
    problem = Airfoil(at="surface")
    for count in counts:
        pair = problem.record(np.random.default_rng(2), [count])[0][count]
        start, end = (pair.output_at.points.numpy()[pair.output_at.cells[:, k].numpy()] for k in (0, 1))
        cp = pair.output[pair.output_at.cells.numpy()].mean(axis=1)
        along = end - start
        force = np.sum(-cp * np.stack([along[:, 1], -along[:, 0]], axis=1), axis=0)
        rng = np.random.default_rng(2)
        profile = Profile(rng.uniform(*problem.thickness), rng.uniform(*problem.camber))
        attack = float(pair.input[0, 1])
        errors.append(abs(force[1] * math.cos(attack) - force[0] * math.sin(attack) - profile.lift(attack)))
    assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] > 1.6, errors


def test_field_and_surface_are_of_one_flow():
    field, surface = (Airfoil(at=at).record(np.random.default_rng(7), [600])[0][600] for at in ("field", "surface"))
    assert field.input[0].tolist() == surface.input[0].tolist()
    cp, velocity = field.output[:, :1], field.output[:, 1:]
    assert np.abs(cp - pressure(velocity)).max() < 1e-15
    assert cp.max() <= 1
    assert surface.output.max() > 0.99  # near the stagnation point
    on_profile = np.abs(field.output_at.points.numpy()[:, None] - surface.output_at.points.numpy()).max(axis=-1)
    edge = on_profile[:, 0].argmin()  # the trailing edge belongs to both
    assert on_profile[edge, 0] < 1e-12
    assert abs(cp[edge, 0] - surface.output[0, 0]) < 1e-12
    assert abs(4 - field.output_at.measure - 0.1) < 0.07  # the profile's area


def test_resolutions_share_profile_and_angle():
    pairs = Airfoil().record(np.random.default_rng(4), [400, 1600])[0]
    assert pairs[400].input[0].tolist() == pairs[1600].input[0].tolist()
    assert abs(pairs[400].output_at.measure - pairs[1600].output_at.measure) < 2e-3
    integrals = [pair.output_at.weights.numpy() @ pair.output for pair in pairs.values()]
    assert np.abs(integrals[0] - integrals[1]).max() < 0.02


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"thickness": (0.0, 0.1)}, "thickness must be two growing numbers between 0.02 and 0.4"),
        ({"camber": (0.1, 0.0)}, "camber must be two growing numbers"),
        ({"attack": (0.0, 45.0)}, "attack must be two growing numbers"),
        ({"at": "wake"}, "at must be 'field' or 'surface'"),
    ],
)
def test_parameters_that_cannot_be(given, message):
    with pytest.raises(InvalidInputError, match=message):
        Airfoil(**given)


def test_too_few_points_on_the_surface():
    with pytest.raises(InvalidInputError, match="resolution must be at least 8"):
        Airfoil(at="surface").record(np.random.default_rng(0), [4])

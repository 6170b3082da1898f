"""Tomography: the projector against known line integrals, the reconstruction against its published accuracy."""

import pickle

import numpy as np
import pytest

from iaenet.data.problems.ct_ellipses import CTEllipses, render
from iaenet.data.problems.tomography import Scanner, back_projector, filtered_back_projection, projector, ram_lak
from iaenet.errors import InvalidInputError


def order(steps: list[float], errors: list[float]) -> float:
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


@pytest.mark.parametrize("size", [32, 128])
def test_adjoint(size):
    rng = np.random.default_rng(size)
    scanner = Scanner()
    A = projector(scanner, size)
    image, data = rng.standard_normal(size**2), rng.standard_normal(A.shape[0])
    left, right = data @ (A @ image), (A.T @ data) @ image
    assert abs(left - right) <= 1e-10 * np.linalg.norm(A @ image) * np.linalg.norm(data)
    # pixels wider than a detector cell: the back-projector is this adjoint, scaled
    scale = np.pi / scanner.views * scanner.cell / (2 / (size - 1)) ** 2
    np.testing.assert_allclose(back_projector(scanner, size) @ data, scale * (A.T @ data), atol=1e-10)


@pytest.mark.parametrize(
    ("profile", "chord", "low", "high"),
    [
        # indicator: the rim is misplaced by up to a pixel, so chords are off by O(h); near tangents by O(h^1/2), but on
        # a share O(h) of the rays: first order in the mean square
        (lambda q: (q >= 0) * 1.0, lambda q: 2 * q**0.5, 0.75, 1.25),
        # (1 - |x|^2 / r^2)^3: the linear interpolation between pixel centres gives second order
        (lambda q: np.maximum(q, 0) ** 3, lambda q: 32 / 35 * q**3.5, 1.9, 2.1),
    ],
    ids=["disc", "bump"],
)
def test_projection_of_round_images(profile, chord, low, high):
    scanner = Scanner(views=8)
    steps, errors = [], []
    for size in (32, 64, 128, 256, 512):
        x, squares = np.linspace(-1, 1, size), []
        for radius in (0.5, 0.57, 0.64, 0.71, 0.78):  # a mean over radii: one disc may fit its pixels by luck
            image = profile(1 - (x[:, None] ** 2 + x**2) / radius**2)
            exact = radius * chord(np.maximum(1 - (scanner.positions / radius) ** 2, 0))
            found = (projector(scanner, size) @ image.ravel()).reshape(scanner.views, -1)
            squares.append(np.sum((found - exact) ** 2) / (scanner.views * np.sum(exact**2)))
        steps.append(1 / size)
        errors.append(np.mean(squares) ** 0.5)
    assert low < order(steps, errors) < high


def test_projection_knows_left_from_right():
    # a small bump at c is seen at t = c . (cos theta, sin theta)
    scanner, centre = Scanner(), np.array([0.4, -0.25])
    x = np.linspace(-1, 1, 128)
    bump = np.exp(-((x[:, None] - centre[0]) ** 2 + (x - centre[1]) ** 2) / 0.01)
    data = (projector(scanner, 128) @ bump.ravel()).reshape(scanner.views, -1)
    seen = data @ scanner.positions / data.sum(axis=1)
    expected = np.stack([np.cos(scanner.angles), np.sin(scanner.angles)], axis=1) @ centre
    np.testing.assert_allclose(seen, expected, atol=1e-3)


def test_ramp_of_a_disc_is_flat_inside():
    # chords 2 (r^2 - t^2)^1/2 filtered by |k| are 1 / pi for |t| < r, so that the integral over [0, pi] gives 1
    scanner, radius = Scanner(views=1, detectors=1831), 0.7
    chords = 2 * np.maximum(radius**2 - scanner.positions**2, 0) ** 0.5
    filtered = ram_lak(scanner, chords[None])[0]
    inside = np.abs(scanner.positions) < 0.5
    np.testing.assert_allclose(filtered[inside], 1 / np.pi, rtol=0.03)


def test_reconstruction_improves_with_views():
    x = np.linspace(-1, 1, 64)
    image = np.exp(-8 * ((x[:, None] - 0.2) ** 2 + (x + 0.1) ** 2))
    errors = []
    for views in (8, 16, 90):
        scanner = Scanner(views=views)
        data = (projector(scanner, 64) @ image.ravel()).reshape(views, -1)
        errors.append(np.linalg.norm(filtered_back_projection(scanner, data, 64) - image) / np.linalg.norm(image))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.05


def test_accuracy_of_the_reconstruction():
    # over 1500 images the means are 0.385 and 0.243, with deviations of 0.034 and 0.060 between images
    noisy, clean = [], []
    for seed in range(100):
        for problem, errors in ((CTEllipses(), noisy), (CTEllipses(noise=0), clean)):
            pair = problem.record(np.random.default_rng(seed), [128])[0][128]
            errors.append(np.linalg.norm(pair.input - pair.output) / np.linalg.norm(pair.output))
    assert 0.36 < np.mean(noisy) < 0.41
    assert 0.215 < np.mean(clean) < 0.275


def test_fine_pixels_are_not_missed_by_rays():
    # at 256 a pixel is half a detector cell; a plain adjoint would give errors near 0.7
    errors = []
    for seed in range(5):
        pair = CTEllipses().record(np.random.default_rng(seed), [256])[0][256]
        errors.append(np.linalg.norm(pair.input - pair.output) / np.linalg.norm(pair.output))
    assert np.mean(errors) < 0.42


def test_same_ellipses_at_every_resolution():
    problem = CTEllipses()
    several = problem.record(np.random.default_rng(1), [32, 64, 127])[0]
    alone = problem.record(np.random.default_rng(1), [64])[0]
    np.testing.assert_array_equal(several[64].input, alone[64].input)
    assert several[64].input_at is alone[64].output_at
    fine = several[127].output.reshape(127, 127)  # 127 - 1 = 2 * 63: every second pixel is one of 64
    np.testing.assert_array_equal(fine[::2, ::2], several[64].output.reshape(64, 64))
    assert several[32].input_at.bounds.tolist() == [[-1, 1], [-1, 1]]
    assert several[32].input_at.points[[0, -1]].tolist() == [[-1, -1], [1, 1]]


def test_noise_has_the_stated_size():
    problem, size = CTEllipses(noise=0.05), 64
    noisy = problem.record(np.random.default_rng(2), [size])[0][size]
    clean = CTEllipses(noise=0).record(np.random.default_rng(2), [size])[0][size]
    np.testing.assert_array_equal(noisy.output, clean.output)
    rng = np.random.default_rng(2)
    problem.ellipses(rng)
    white = rng.standard_normal((30, 183))
    data = (projector(problem.scanner, size) @ clean.output[:, 0]).reshape(30, 183)
    expected = filtered_back_projection(problem.scanner, 0.05 * np.abs(data).mean() * white, size)
    np.testing.assert_allclose((noisy.input - clean.input)[:, 0], expected.ravel(), atol=1e-12)


def test_ellipses_have_the_stated_statistics():
    rng = np.random.default_rng(3)
    rows = [CTEllipses().ellipses(rng) for _ in range(300)]
    counts = np.array([len(row) for row in rows])
    value, a, b, x, y, angle = np.concatenate(rows).T
    assert counts.mean() == pytest.approx(100, rel=0.03)
    assert counts.var() == pytest.approx(100, rel=0.3)
    assert value.mean() == pytest.approx(0.2 * 0.3, rel=0.05)  # E(U - 0.3) E Exp(0.3)
    assert a.mean() == pytest.approx(0.2, rel=0.03)
    assert b.mean() == pytest.approx(0.2, rel=0.03)
    assert max(abs(x).max(), abs(y).max()) <= 0.5
    assert 0 <= angle.min() < angle.max() < 2 * np.pi


def test_area_and_direction_of_a_rendered_ellipse():
    image = render(np.array([[1.5, 0.6, 0.2, 0.1, -0.2, 0.7]]), 400)
    x = np.linspace(-1, 1, 400)
    pixel = (2 / 399) ** 2
    assert image.sum() * pixel == pytest.approx(1.5 * np.pi * 0.6 * 0.2, rel=1e-2)
    dx, dy = x[:, None] - 0.1, x[None] + 0.2
    moment = np.array([[np.sum(image * p * q) for q in (dx, dy)] for p in (dx, dy)]) / image.sum()
    along = np.array([np.cos(0.7), np.sin(0.7)])
    assert along @ moment @ along == pytest.approx(0.6**2 / 4, rel=1e-2)


def test_no_ellipses():
    pair = CTEllipses(mean_ellipses=0).record(np.random.default_rng(0), [32])[0][32]
    assert not pair.input.any()
    assert not pair.output.any()


def test_problem_travels_between_processes():
    problem = CTEllipses(views=12)
    assert pickle.loads(pickle.dumps(problem)) == problem


@pytest.mark.parametrize(
    "options",
    [{"noise": -0.1}, {"mean_ellipses": float("inf")}, {"semi_axis": 0.0}, {"contrast": -1.0}, {"views": 0},
     {"detectors": 1}, {"reach": 0.0}],
)  # fmt: skip
def test_bad_options_are_refused(options):
    with pytest.raises(InvalidInputError):
        CTEllipses(**options)


def test_bad_sizes_are_refused():
    with pytest.raises(InvalidInputError, match="at least 2 x 2"):
        CTEllipses().record(np.random.default_rng(0), [1])
    with pytest.raises(InvalidInputError, match="data must have shape"):
        filtered_back_projection(Scanner(), np.zeros((30, 182)), 32)

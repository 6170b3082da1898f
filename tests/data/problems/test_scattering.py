"""Helmholtz scattering: the two solvers against each other, and against what physics says of the far field."""

import pickle

import numpy as np
import pytest
from scipy.special import hankel1

from iaenet.data.problems import helmholtz
from iaenet.data.problems.helmholtz import Background, born, far_field, far_field_lu, green_block
from iaenet.data.problems.scattering import Scattering
from iaenet.errors import InvalidInputError


def centres(seed: int, spread: float = 0.3) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-spread, spread, size=(4, 2))


def distance(found: np.ndarray, true: np.ndarray) -> float:
    return float(np.linalg.norm(found - true) / np.linalg.norm(true))


def order(steps: list[float], errors: list[float]) -> float:
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def complex_output(sample) -> np.ndarray:
    size = round(len(sample.output) ** 0.5)
    return (sample.output @ [1, 1j]).reshape(size, size)


@pytest.mark.parametrize("n", [80, 108])
def test_reciprocity(n):
    grid = Background(n)
    R = far_field(Scattering().medium(centres(n), grid), grid)
    turned = np.roll(R, (n // 2, n // 2), axis=(0, 1)).T  # R[s + pi, r + pi]
    assert np.abs(R - turned).max() <= 1e-12 * np.abs(R).max()


@pytest.mark.parametrize(
    ("n", "places", "amplitude"),
    [(81, centres(1), 0.2), (108, centres(2), 0.2), (80, np.array([[0.1, 0.0], [0.11, 0.02]]), 0.5)],
    ids=["81", "108", "overlapping"],
)
def test_support_solver_equals_sparse_lu(n, places, amplitude):
    grid = Background(n)
    eta = Scattering(amplitude=amplitude).medium(places, grid)
    assert distance(far_field(eta, grid), far_field_lu(eta, grid)) <= 1e-9


def test_error_of_the_tail_is_of_second_order(monkeypatch):
    grid = Background(81)
    eta = Scattering().medium(centres(3), grid)
    true = far_field_lu(eta, grid)
    cores, errors = [1e-2, 1e-3, 1e-4], []
    for core in cores:
        monkeypatch.setattr(helmholtz, "CORE", core)
        errors.append(distance(far_field(eta, grid), true))
    assert order(cores, errors) > 1.7
    assert errors[-1] < 1e-8


def test_broad_media_go_to_sparse_lu(monkeypatch):
    grid = Background(60, wavelengths=5)
    eta = Scattering(std=0.055).medium(np.zeros((1, 2)), grid)
    R = far_field(eta, grid)
    np.testing.assert_array_equal(R, far_field_lu(eta, grid))
    monkeypatch.setattr(helmholtz, "BROAD", 60)
    assert 0 < distance(far_field(eta, grid), R) < 1e-9


def test_media_that_enter_the_layers_go_to_sparse_lu(monkeypatch):
    grid = Background(60, wavelengths=5)
    eta = Scattering().medium(np.array([[0.36, 0.1]]), grid)
    R = far_field(eta, grid)
    np.testing.assert_array_equal(R, far_field_lu(eta, grid))
    monkeypatch.setattr(helmholtz, "LAYERS", 1.0)
    assert distance(far_field(eta, grid), R) > 1e-9  # what the formula would give there


def test_first_order_in_the_amplitude_is_born():
    grid = Background(81)
    amplitudes, errors = [0.2 / 2**k for k in range(6)], []
    for amplitude in amplitudes:
        eta = Scattering(amplitude=amplitude).medium(centres(4), grid)
        errors.append(np.linalg.norm(far_field(eta, grid) - born(eta, grid)))
    assert 1.9 < order(amplitudes, errors) < 2.1


def test_background_converges_to_the_hankel_function():
    # G(r) = i/4 H_0(omega r) in the plane: layers, here of fixed width 1/10, must let waves out. Stencil of order 2.
    steps, errors = [], []
    for n in (79, 99, 119, 159):
        grid = Background(n, wavelengths=2, pml_cells=(n + 1) // 10)
        quarter = (n + 1) // 4
        source = np.array([[2 * quarter - 1, 2 * quarter - 1]])
        to = np.array([[quarter - 1, quarter - 1], [quarter - 1, 2 * quarter - 1], [3 * quarter - 1, quarter - 1]])
        radius = np.linalg.norm(grid.nodes[to] - grid.nodes[source], axis=1)
        exact = 0.25j * hankel1(0, grid.omega * radius)
        steps.append(grid.h)
        errors.append(distance(green_block(grid, to, source)[:, 0] / grid.h**2, exact))
    assert 1.8 < order(steps, errors) < 2.3
    assert errors[-1] < 2e-3


def test_optical_theorem():
    # a medium without loss scatters what it takes out of the wave: Im R[s, s] = pi / (2 n) sum_r |R[r, s]|^2
    problem, places = Scattering(wavelengths=3, std=0.03), centres(5)[:2]
    steps, errors = [], []
    for n in (59, 79, 99, 119):
        grid = Background(n, wavelengths=3, pml_cells=(n + 1) // 10)
        R = far_field(problem.medium(places, grid), grid)
        steps.append(grid.h)
        errors.append(distance(np.diag(R).imag, np.pi / (2 * n) * np.sum(np.abs(R) ** 2, axis=0)))
    assert 1.7 < order(steps, errors) < 2.3
    assert errors[-1] < 1e-2


def test_published_sign_flips_what_follows_born():
    found = {}
    for sign in (False, True):
        sample = Scattering(published_sign=sign).record(np.random.default_rng(6), [81])[0][81]
        found[sign] = complex_output(sample)
    eta = sample.input.reshape(81, 81)
    assert distance((found[False] + found[True]) / 2, born(eta, Background(81))) < 1e-12
    assert 0.15 < distance(found[True], found[False]) < 0.6
    assert np.all(np.diag(found[False]).imag > 0)  # extinction; the flipped sign would create energy
    assert np.all(np.diag(found[True]).imag < 0)


def test_same_medium_at_every_resolution():
    both = Scattering().record(np.random.default_rng(7), [81, 108])[0]
    alone = Scattering().record(np.random.default_rng(7), [108])[0]
    np.testing.assert_array_equal(both[108].output, alone[108].output)
    assert both[108].input_at is alone[108].input_at
    assert both[108].output_at is alone[108].output_at
    for size, sample in both.items():
        grid = Background(size)
        np.testing.assert_allclose(sample.input_at.axes[0].numpy(), grid.nodes, atol=1e-15)
        integral = float(sample.input_at.weights.numpy() @ sample.input[:, 0])
        assert integral == pytest.approx(-(grid.omega**2) * 4 * 0.2 * 2 * np.pi * 0.015**2, rel=1e-3)
        np.testing.assert_allclose(complex_output(sample), far_field(sample.input.reshape(size, size), grid))


def test_strides_of_a_base_grid():
    full = Scattering(base=81).record(np.random.default_rng(8), [81, 41, 27])[0]
    R, eta = full[81].output.reshape(81, 81, 2), full[81].input.reshape(81, 81)
    for size, stride in ((41, 2), (27, 3)):
        sample = full[size]
        np.testing.assert_array_equal(sample.output.reshape(size, size, 2), R[::stride, ::stride])
        np.testing.assert_array_equal(sample.input.reshape(size, size), eta[::stride, ::stride])
        np.testing.assert_allclose(sample.output_at.axes[1].numpy(), 2 * np.pi / 81 * np.arange(0, 81, stride))
        assert sample.output_at.periodic == (True, True)
        assert float(sample.output_at.weights.sum()) == pytest.approx(4 * np.pi**2)
    with pytest.raises(InvalidInputError, match="no stride of base = 81 gives 40"):
        Scattering(base=81).record(np.random.default_rng(8), [40])


def test_images_are_the_same_functions_on_one_periodic_square():
    options = {"wavelengths": 3, "std": 0.03, "spread": 0.2}
    grid = Background(59, 3)
    for direction in ("forward", "inverse"):
        problem = Scattering(**options, base=60, direction=direction, images=True)
        images = problem.record(np.random.default_rng(8), [60, 30, 20])[0]
        places = np.random.default_rng(8).uniform(-0.2, 0.2, size=(4, 2))
        eta = problem.medium(places, grid)
        R = far_field(eta, grid, angles=60)
        for size, stride in ((60, 1), (30, 2), (20, 3)):
            sample = images[size]
            assert sample.input_at is sample.output_at
            assert (sample.input_at.shape, sample.input_at.periodic) == ((size, size), (True, True))
            np.testing.assert_allclose(sample.input_at.axes[0].numpy(), np.arange(size) / size, atol=1e-15)
            medium, field = (sample.input, sample.output) if direction == "forward" else (sample.output, sample.input)
            here = medium.reshape(size, size)
            np.testing.assert_array_equal(here[1:, 1:], eta[stride - 1 :: stride, stride - 1 :: stride])
            assert np.abs(here[0]).max() == np.abs(here[:, 0]).max() == 0
            found = field[:, 0] + 1j * field[:, 1]
            np.testing.assert_allclose(found.reshape(size, size), R[::stride, ::stride], rtol=0, atol=1e-12)
    alone = Scattering(**options, images=True).record(np.random.default_rng(8), [60])[0][60]
    np.testing.assert_allclose(
        alone.output,
        Scattering(**options, base=60, images=True).record(np.random.default_rng(8), [60])[0][60].output,
        atol=1e-14,
    )
    with pytest.raises(InvalidInputError, match="ask for a divisor of base"):
        Scattering(**options, base=60, images=True).record(np.random.default_rng(8), [31])


def test_images_are_the_same_numbers_on_one_closed_square():
    options = {"wavelengths": 3, "std": 0.03, "spread": 0.2, "base": 61}
    for direction in ("forward", "inverse"):
        plain, images = (
            Scattering(**options, direction=direction, images=images, closed=images).record(
                np.random.default_rng(8), [61, 31, 16]
            )[0]
            for images in (False, True)
        )
        for size, stride in ((61, 1), (31, 2), (16, 4)):
            np.testing.assert_array_equal(images[size].input, plain[size].input)
            np.testing.assert_array_equal(images[size].output, plain[size].output)
            assert images[size].input_at is images[size].output_at
            square = images[size].input_at
            assert (square.shape, square.periodic) == ((size, size), (False, False))
            assert square.bounds.tolist() == [[0, 1], [0, 1]]
            np.testing.assert_allclose(square.axes[0].numpy(), np.arange(0, 61, stride) / 60, atol=1e-15)
    alone = Scattering(wavelengths=3, std=0.03, spread=0.2, images=True, closed=True).record(
        np.random.default_rng(8), [50]
    )[0][50]
    np.testing.assert_allclose(alone.output_at.axes[1].numpy(), np.linspace(0, 1, 50), atol=1e-15)


def test_angles_may_be_more_or_fewer_than_nodes():
    grid = Background(81)
    eta = Scattering().medium(np.array([[0.1, -0.05]]), grid)
    for solve in (far_field, far_field_lu, born):
        np.testing.assert_allclose(solve(eta, grid, 30), solve(eta, grid, 90)[::3, ::3], atol=1e-12)


def test_inverse_is_the_same_pair_swapped():
    forward, inverse = (Scattering(direction=direction) for direction in ("forward", "inverse"))
    there = forward.record(np.random.default_rng(9), [81])[0][81]
    back = inverse.record(np.random.default_rng(9), [81])[0][81]
    np.testing.assert_array_equal(there.input, back.output)
    np.testing.assert_array_equal(there.output, back.input)
    assert (there.input_at, there.output_at) == (back.output_at, back.input_at)
    assert [c.name for c in inverse.inputs] == [c.name for c in forward.outputs] == ["R_real", "R_imag"]
    assert [c.name for c in inverse.outputs] == ["eta"]
    assert pickle.loads(pickle.dumps(inverse)) == inverse


@pytest.mark.parametrize(
    "options",
    [{"direction": "back"}, {"std": 0.0}, {"scatterers": 0}, {"spread": 0.5}, {"wavelengths": -1}, {"pml_cells": 0},
     {"pml_strength": -1.0}, {"amplitude": float("nan")}, {"base": 27}],
)  # fmt: skip
def test_bad_options_are_refused(options):
    with pytest.raises(InvalidInputError):
        Scattering(**options)


@pytest.mark.parametrize(("size", "message"), [(16, "no room"), (27, "carry no wave"), (41, "absorbing layer starts")])
def test_grids_too_coarse_are_refused(size, message):
    with pytest.raises(InvalidInputError, match=message):
        Scattering().record(np.random.default_rng(0), [size])


def test_bad_medium_is_refused():
    with pytest.raises(InvalidInputError, match="eta must be finite"):
        far_field(np.zeros((80, 81)), Background(81))


def test_what_a_band_holds_of_far_field_and_medium():
    """FNO's 12 modes, k < 12, miss percents of both; as many cosines of a closed axis miss more than periods do."""
    problem = Scattering(wavelengths=4, std=0.034, spread=0.31, base=108, images=True)
    pairs = [problem.record(np.random.default_rng(seed), [36])[0][36] for seed in range(12)]
    x = np.arange(36)[:, None]

    def missed(basis, values):
        Q = np.linalg.qr(basis)[0]
        P = Q @ Q.T
        return np.mean([np.linalg.norm(f - np.einsum("ij,jkc,lk->ilc", P, f, P)) / np.linalg.norm(f) for f in values])

    def periods(most):
        angle = 2 * np.pi * x / 36 * np.arange(1, most + 1)
        return np.concatenate([np.ones((36, 1)), np.cos(angle), np.sin(angle)], axis=1)

    far = [pair.output.reshape(36, 36, 2) for pair in pairs]
    medium = [pair.input.reshape(36, 36, 1) for pair in pairs]
    assert 0.01 < missed(periods(11), far) < 0.04
    assert 0.02 < missed(periods(11), medium) < 0.04
    assert missed(np.cos(np.pi * x / 35 * np.arange(25)), far) > 5 * missed(periods(12), far)

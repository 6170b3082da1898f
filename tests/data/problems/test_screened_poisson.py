"""The screened Poisson problem: the equation holds, the boundary values are those of the solution."""

import numpy as np
import pytest

from iaenet import Discretization, Field, InvalidInputError, Sample, load_dataset
from iaenet.data.generate import generate
from iaenet.data.problems.screened_poisson import CORNERS, ScreenedPoisson

STEP = 1e-3


@pytest.mark.parametrize("seed", range(3))
def test_the_equation_holds(seed):
    rng = np.random.default_rng(seed)
    u = ScreenedPoisson().draw(rng)
    x = rng.uniform(0.05, 0.95, (50, 2))
    residuals = []
    for h in (2 * STEP, STEP):
        laplacian = sum(u(x + h * e) + u(x - h * e) - 2 * u(x) for e in np.eye(2)) / h**2
        residuals.append(np.abs(-laplacian + u.kappa * u(x) - u.right_side(x)).max())
    assert residuals[1] < 0.3 * residuals[0]  # second order: nothing but the difference quotient is wrong
    assert residuals[1] < 1e-3 * np.abs(u.right_side(x)).max()


def test_corners_and_sides():
    u = ScreenedPoisson().draw(np.random.default_rng(5))
    assert np.allclose(u(CORNERS), u.corners)
    along = np.linspace(0, 1, 30)
    bottom = np.stack([along, 0 * along], axis=1)
    k = np.arange(1, 5)
    root = np.sqrt(u.kappa / 2)
    ends = (u.corners[0] * np.sinh(root * (1 - along)) + u.corners[1] * np.sinh(root * along)) / np.sinh(root)
    assert np.allclose(u(bottom), np.sin(np.pi * along[:, None] * k) @ u.sides[0] + ends)
    assert np.allclose(u.right_side(bottom), 0, atol=1e-12)


def test_a_file_of_samples_each_on_its_own_points(tmp_path):
    generate(ScreenedPoisson(), tmp_path / "a.h5", 3, [8, 16], splits=(1, 1, 1))
    data = load_dataset(tmp_path / "a.h5")
    assert data.functions == ("boundary", "source", "scalars")
    coarse, fine = (data.sample(1)[s] for s in (8, 16))
    assert isinstance(coarse[0], Sample)
    assert coarse[0]["kappa"] == fine[0]["kappa"]
    assert 1 <= float(coarse[0]["kappa"]) <= 200
    assert (coarse[0]["boundary"].discretization.n, coarse[0]["source"].discretization.shape) == (32, (8, 8))
    assert isinstance(fine[1], Field)
    assert fine[1].discretization.n == 256
    assert len({data[i][0]["boundary"].discretization.key for i in range(6)}) == 6
    assert len({data[i][0]["source"].discretization.key for i in range(6)}) == 6
    assert coarse[0]["boundary"].discretization.measure == pytest.approx(4)
    assert all(isinstance(at, Discretization) for at in data.discretizations)


@pytest.mark.parametrize("options", [{"kappa": (0.0, 1.0)}, {"kappa": (2.0, 1.0)}, {"modes": 0}])
def test_bad_parameters_are_refused(options):
    with pytest.raises(InvalidInputError):
        ScreenedPoisson(**options)

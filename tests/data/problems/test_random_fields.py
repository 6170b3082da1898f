"""Random series are functions: the same on every grid, with the covariance that their formula gives."""

import numpy as np
import pytest
from scipy.fft import idctn

from iaenet.data.problems.random_fields import (
    CosineSeries,
    FourierSeries,
    cell_centres,
    gaussian_field,
    gaussian_series,
    gaussian_waves,
    series_deviations,
)
from iaenet.errors import InvalidInputError


@pytest.mark.parametrize("n", [1, 7, 16, 31, 32, 33, 100])
def test_fourier_series_on_any_grid(n):
    series = gaussian_series(np.random.default_rng(0), 16, 2.5, 5.0, 25.0)
    a, b = series.coefficients.real, -series.coefficients.imag
    angles = np.outer(np.arange(n) / n, series.frequencies)
    written_out = np.cos(angles) @ a + np.sin(angles) @ b
    np.testing.assert_allclose(series.on_grid(n), written_out, atol=1e-14)
    np.testing.assert_allclose(series.at(np.arange(n) / n), written_out, atol=1e-14)


def test_derivative_and_antiderivative():
    series = gaussian_series(np.random.default_rng(1), 16, 2.5, 5.0, 25.0)
    raised = FourierSeries(series.coefficients + np.eye(17)[0] * 3.0)
    np.testing.assert_allclose(raised.antiderivative().derivative().coefficients, series.coefficients, atol=1e-15)
    x, h = np.linspace(0, 1, 50), 1e-5
    differences = (series.at(x + h) - series.at(x - h)) / (2 * h)
    np.testing.assert_allclose(series.derivative().at(x), differences, atol=1e-6)


def test_series_has_the_stated_covariance():
    rng, n = np.random.default_rng(2), 32
    draws = np.stack([gaussian_series(rng, 40, 2.5, 5.0, 25.0).on_grid(n) for _ in range(4000)])
    k, s = np.arange(1, 41), series_deviations(40, 2.5, 5.0, 25.0)
    lag = np.cos(2 * np.pi * np.outer(np.arange(n) / n, k)) @ s**2  # E u(x) u(x + lag)
    found = np.array([np.mean(draws * np.roll(draws, j, axis=1)) for j in range(n)])
    np.testing.assert_allclose(found, lag, atol=0.04 * lag[0])
    assert abs(gaussian_series(rng, 40, 2.5, 5.0, 25.0).on_grid(64).mean()) < 1e-15


@pytest.mark.parametrize("n", [4, 7, 8, 9, 24])
def test_cosine_series_on_any_cells(n):
    series = CosineSeries(np.random.default_rng(3).standard_normal((8, 8)))
    x = cell_centres(n)
    np.testing.assert_allclose(series.on_cells(n), series.at(x, x), atol=1e-12)


def test_cosines_are_orthonormal():
    series = CosineSeries(np.random.default_rng(4).standard_normal((5, 6)))
    assert np.mean(series.on_cells(16) ** 2) == pytest.approx(np.sum(series.coefficients**2))


def test_field_is_the_inverse_cosine_transform_of_scaled_noise():
    n, alpha, tau = 33, 2.0, 3.0
    noise = np.random.default_rng(5).standard_normal((n, n))
    k = np.arange(n)
    scaled = n * tau ** (alpha - 1) * (np.pi**2 * (k[:, None] ** 2 + k**2) + tau**2) ** (-alpha / 2) * noise
    scaled[0, 0] = 0
    field = gaussian_field(np.random.default_rng(5), n, alpha, tau)
    np.testing.assert_allclose(field.on_cells(n), idctn(scaled, type=2, norm="ortho"), atol=1e-13)


def test_field_has_the_stated_variance():
    rng, n, x = np.random.default_rng(6), 12, cell_centres(12)
    draws = np.stack([gaussian_field(rng, n, 2.0, 3.0).on_cells(n) for _ in range(4000)])
    k = np.arange(n)
    variance = 9.0 * (np.pi**2 * (k[:, None] ** 2 + k**2) + 9.0) ** -2
    variance[0, 0] = 0
    squares = np.where(k == 0, 1.0, 2.0) * np.cos(np.pi * np.outer(x, k)) ** 2
    wanted = squares @ variance @ squares.T
    np.testing.assert_allclose(np.mean(draws**2, axis=0), wanted, rtol=0.12)


@pytest.mark.parametrize(("bad", "named"), [({"modes": 1}, "modes"), ({"alpha": 1.0}, "alpha"), ({"tau": 0.0}, "tau")])
def test_bad_field_parameters_are_refused(bad, named):
    with pytest.raises(InvalidInputError, match=named):
        gaussian_field(np.random.default_rng(0), **{"modes": 4, "alpha": 2.0, "tau": 3.0, **bad})


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_periodic_waves_have_the_spectrum_of_their_formula(dim):
    modes, alpha, tau = 3, 2.0, 5.0
    rng = np.random.default_rng(0)
    c = np.array([gaussian_waves(rng, dim, modes, alpha, tau, deviation=2.0) for _ in range(4000)])
    assert c.shape[1:] == (2 * modes + 1,) * dim
    powers = np.mean(np.abs(c) ** 2, axis=0) / 2  # real and imaginary parts have this variance each
    assert powers[(0,) * dim] == 0
    assert powers.sum() == pytest.approx(4.0, rel=0.05)
    one, two = (1, *[0] * (dim - 1)), (-2, *[1] * (dim - 1))  # negative frequencies are last
    wanted = [(4 * np.pi**2 * np.sum(np.square(k)) + tau**2) ** -alpha for k in (one, two)]
    assert powers[one] / powers[two] == pytest.approx(wanted[0] / wanted[1], rel=0.12)

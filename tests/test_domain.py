"""Domains: coefficients are those of the function, on any points; and a branch of one's own takes twenty lines."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, Fourier, IAENet, Identity, Wavelet
from iaenet.domain.basis import Trigonometric, Wavelets
from iaenet.geometry import Geometry, geometry_of
from tests.smooth import mismatch, smooth


def test_fourier_coefficients_are_physical():
    for s in (16, 64, 100):
        grid = Discretization.uniform(s, periodic=True)
        f = 0.3 + 2 * torch.cos(2 * np.pi * 3 * grid.points) - torch.sin(2 * np.pi * grid.points)
        found = Fourier(4).forward(f[None], geometry_of(grid, torch.float64))[0, :, 0] * 2**0.5
        expected = torch.zeros(9, dtype=torch.float64)
        expected[0], expected[3], expected[5] = 0.3 * 2**0.5, 2, -1
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("periodic", [True, False])
def test_trigonometric_functions_are_orthonormal(periodic):
    grid = Discretization.uniform(513, periodic=periodic)
    functions = Trigonometric(6).functions(grid.points[:, 0], periodic)
    gram = functions.T @ (grid.weights[:, None] * functions)
    torch.testing.assert_close(gram, torch.eye(gram.shape[0], dtype=torch.float64), atol=1e-10, rtol=0)


@pytest.mark.parametrize("name", ["db4", "db6", "sym8", "coif3"])
def test_wavelets_are_orthonormal(name):
    grid = Discretization.uniform(4096, periodic=True)
    functions = Wavelets(4, name).functions(grid.points[:, 0], True)
    gram = functions.T @ (grid.weights[:, None] * functions)
    torch.testing.assert_close(gram, torch.eye(16, dtype=torch.float64), atol=2e-3, rtol=0)


def test_wavelet_expansions_converge():
    grid = Discretization.uniform(2048, periodic=True)
    geometry = geometry_of(grid, torch.float64)
    values = torch.exp(torch.sin(2 * np.pi * grid.points))[None]
    errors = []
    for levels in (3, 4, 5, 6):
        domain = Wavelet(levels)
        errors.append(mismatch(domain.inverse(domain.forward(values, geometry), geometry), values))
    assert -np.polyfit([3, 4, 5, 6], np.log2(errors), 1)[0] > 4  # db6 reproduces polynomials up to degree 5


@pytest.mark.parametrize("domain", [Fourier(5), Wavelet(4)])
@pytest.mark.parametrize("d", [1, 2])
def test_axis_by_axis_equals_the_direct_sum(domain, d):
    grid = Discretization.uniform((12, 10)[:d], periodic=True)
    scattered = Discretization.points(grid.points, weights=grid.weights, periodic=True)
    values = torch.randn(2, grid.n, 3, dtype=torch.float64)
    one, other = geometry_of(grid, torch.float64), geometry_of(scattered, torch.float64)
    coefficients = domain.forward(values, one)
    torch.testing.assert_close(domain.forward(values, other), coefficients)
    torch.testing.assert_close(domain.inverse(coefficients, other), domain.inverse(coefficients, one))
    assert coefficients.shape[1] == len(domain.sizes((True,) * d))


class Legendre:
    """A domain of one's own: Legendre polynomials on every axis."""

    def __init__(self, degree: int) -> None:
        self.degree = degree
        self.key = ("legendre", degree)
        self.basis = self

    def functions(self, x, periodic):
        k = np.arange(self.degree + 1)
        values = np.polynomial.legendre.legvander(2 * x.numpy() - 1, self.degree) * np.sqrt(2 * k + 1)
        return torch.from_numpy(values)

    def forward(self, values, geometry: Geometry):
        return geometry.analyse(self, values)

    def inverse(self, coefficients, geometry: Geometry):
        return geometry.synthesise(self, coefficients)

    def sizes(self, periodic):
        count = (self.degree + 1) ** len(periodic)
        return torch.full((count,), count**-0.5)


@pytest.mark.parametrize("d", [1, 2])
def test_a_branch_of_ones_own(d):
    model = IAENet(1, 1, d, width=8, latent=6, rank=8, domains=[Identity(), Legendre(4)], post_modes=3)
    fine = smooth(Discretization.uniform((257, 129)[d - 1 : d] * d))
    errors = []
    for size in (17, 33, 65):
        grid = Discretization.uniform((size,) * d)
        with torch.no_grad():
            errors.append(mismatch(model(smooth(grid)).values, model(fine, at=grid).values))
    assert errors[2] < errors[1] / 2 < errors[0] / 4
    model(Field(grid, torch.randn(grid.n, 1))).values.sum().backward()
    assert all(p.grad is not None for p in model.parameters())

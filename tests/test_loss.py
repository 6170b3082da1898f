"""Relative L2 error with quadrature weights."""

import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError, relative_l2


def test_does_not_depend_on_the_points():
    def error(where):
        x = where.points
        return relative_l2(Field(where, 1.01 * torch.sin(x) + x**2 / 50), Field(where, torch.sin(x))).item()

    clustered = Discretization.points(torch.linspace(0, 1, 2001, dtype=torch.float64)[:, None] ** 3)
    assert error(clustered) == pytest.approx(error(Discretization.uniform(1001)), rel=1e-5)


def test_one_number_per_function():
    grid = Discretization.uniform(5)
    target = torch.rand(3, 5, 2) + 1
    found = relative_l2(Field(grid, target * torch.tensor([1.0, 1.1, 1.2])[:, None, None]), Field(grid, target))
    torch.testing.assert_close(found, torch.tensor([0.0, 0.1, 0.2]), atol=1e-6, rtol=0)


def test_gradient_is_finite_at_an_exact_prediction():
    grid = Discretization.uniform(5)
    values = torch.ones(5, 1, requires_grad=True)
    relative_l2(Field(grid, values), Field(grid, torch.ones(5, 1))).backward()
    assert torch.isfinite(values.grad).all()


def test_a_zero_target_gives_the_absolute_error():
    grid = Discretization.uniform(5)
    zero = Field(grid, torch.zeros(5, 1))
    assert relative_l2(Field(grid, torch.full((5, 1), 0.5)), zero).item() == pytest.approx(0.5)


def test_shapes_must_agree():
    grid = Discretization.uniform(5)
    with pytest.raises(InvalidInputError, match="differ in shape"):
        relative_l2(Field(grid, torch.ones(5, 1)), Field(grid, torch.ones(5, 2)))

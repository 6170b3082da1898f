"""Function to vector, and vector to function."""

import pytest
import torch

from iaenet import Discretization, Field, FunctionToVector, InvalidInputError, VectorToFunction
from tests.smooth import mismatch, smooth

TINY = {"width": 8, "latent": 5, "rank": 8, "modes": 6, "post_modes": 4, "blocks": 2, "periodic": True}


def test_vector_of_a_function_does_not_depend_on_the_grid():
    model = FunctionToVector(1, 3, **TINY)
    vectors = [model(smooth(Discretization.uniform(s, periodic=True))) for s in (256, 1000)]
    assert vectors[0].shape == (3,)
    assert mismatch(*vectors) < 1e-5


def test_ragged_lists():
    model = FunctionToVector(1, 3, **TINY)
    fields = [Field(Discretization.uniform(s, periodic=True), torch.randn(s, 1)) for s in (20, 30, 20)]
    found = model(fields)
    assert found.shape == (3, 3)
    torch.testing.assert_close(found[1], model(fields[1]))


def test_function_of_a_vector_does_not_depend_on_the_grid():
    model = VectorToFunction(3, 2, **TINY)
    vectors = torch.randn(4, 3)
    fine = model(vectors, at=Discretization.uniform(512, periodic=True)).values
    coarse = model(vectors, at=Discretization.uniform(256, periodic=True)).values
    assert fine.shape == (4, 512, 2)
    assert mismatch(coarse, fine[:, ::2]) < 1e-5
    with pytest.raises(InvalidInputError, match="vectors of 3"):
        model(torch.ones(4), at=Discretization.uniform(8, periodic=True))


@pytest.mark.parametrize("model", [FunctionToVector(1, 2, **TINY), VectorToFunction(2, 1, **TINY)])
def test_gradients_reach_every_weight(model):
    grid = Discretization.uniform(16, periodic=True)
    if isinstance(model, FunctionToVector):
        model(Field(grid, torch.randn(3, 16, 1))).sum().backward()
    else:
        model(torch.randn(3, 2), at=grid).values.sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())

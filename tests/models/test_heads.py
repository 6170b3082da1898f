"""Function to vector, and vector to function."""

import json

import pytest
import torch

from iaenet import (
    Discretization,
    Field,
    Fourier,
    FunctionToVector,
    InvalidInputError,
    PointIAE,
    SpectralIAE,
    VectorToFunction,
)
from iaenet.models.registry import name_of
from tests.smooth import mismatch, smooth

BRANCHES = [PointIAE(latent=5, rank=8), SpectralIAE(Fourier(6), latent=5)]
TINY = {"grid": 32, "width": 8, "blocks": 2, "branches": BRANCHES, "post": 4, "periodic": True}


@pytest.mark.parametrize(("dtype", "limit"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_vector_of_a_function_does_not_depend_on_the_grid(dtype, limit):
    model = FunctionToVector(1, 3, **TINY).to(dtype)
    vectors = [model(smooth(Discretization.uniform(s, periodic=True), dtype)) for s in (32, 256, 1000)]
    assert vectors[0].shape == (3,)
    for coarser in vectors[:2]:
        assert mismatch(coarser, vectors[2]) < limit


def test_vector_of_a_function_on_random_points():
    model = FunctionToVector(1, 3, **TINY).double()
    grid = Discretization.uniform(256, periodic=True)
    some = Discretization.points(torch.rand(2000, 1, dtype=torch.float64), periodic=True)
    found, truth = (model(smooth(at, torch.float64)) for at in (some, grid))
    assert mismatch(found, truth) < 1e-5


def test_ragged_lists():
    model = FunctionToVector(1, 3, **TINY)
    fields = [Field(Discretization.uniform(s, periodic=True), torch.randn(s, 1)) for s in (20, 30, 20)]
    found = model(fields)
    assert found.shape == (3, 3)
    torch.testing.assert_close(found[1], model(fields[1]))


def test_built_again_from_its_options():
    model = FunctionToVector(1, 3, **TINY)
    assert name_of(model) == "function-to-vector"
    again = FunctionToVector(**json.loads(json.dumps(model.options)))
    again.load_state_dict(model.state_dict())
    field = smooth(Discretization.uniform(20, periodic=True))
    assert torch.equal(again(field), model(field))


def test_vectors_as_functions_on_one_point():
    """So they are stored and trained; `for_data` takes them."""
    point, grid = Discretization.points([[0.0]]), Discretization.uniform(20, periodic=True)
    pair = Field(grid, torch.randn(20, 2)), Field(point, torch.randn(1, 3))
    model = FunctionToVector.for_data([pair], **{key: TINY[key] for key in ("grid", "width", "blocks", "branches")})
    found = model([pair[0], pair[0]], at=[point, point])
    assert [one.values.shape for one in found] == [(1, 3)] * 2
    torch.testing.assert_close(found[0].values[0], model(pair[0]))
    torch.testing.assert_close(model(pair[0], at=point).values[0], model(pair[0]))
    with pytest.raises(InvalidInputError, match="on one point for each field, not on a grid"):
        model(pair[0], at=grid)


@pytest.mark.parametrize(("dtype", "limit"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_function_of_a_vector_does_not_depend_on_the_grid(dtype, limit):
    model = VectorToFunction(3, 2, **TINY).to(dtype)
    vectors = torch.randn(4, 3, dtype=dtype)
    fine = model(vectors, at=Discretization.uniform(512, periodic=True)).values
    coarse = model(vectors, at=Discretization.uniform(256, periodic=True)).values
    assert fine.shape == (4, 512, 2)
    assert mismatch(coarse, fine[:, ::2]) < limit
    with pytest.raises(InvalidInputError, match="vectors of 3"):
        model(torch.ones(4), at=Discretization.uniform(8, periodic=True))


@pytest.mark.parametrize("kind", [FunctionToVector, VectorToFunction])
@pytest.mark.parametrize("at", ["grid", "points"])
def test_gradients_reach_every_weight(kind, at):
    model = kind(2, 2, **TINY)
    place = {
        "grid": Discretization.uniform(16, periodic=True),
        "points": Discretization.points(torch.rand(16, 1), periodic=True),
    }[at]
    if kind is FunctionToVector:
        model(Field(place, torch.randn(3, 16, 2))).sum().backward()
    else:
        model(torch.randn(3, 2), at=place).values.sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())

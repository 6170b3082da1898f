"""Derivatives at query points against finite differences: of interpolation, of every model, in batches, twice."""

import pytest
import torch

import iaenet
from iaenet import Discretization, Field, InvalidInputError, differentiable, gradient, interpolate, laplacian
from iaenet.models.registry import MODELS, build

STEP = 1e-4


def differences(call, at):
    """Central differences of `call(discretization) -> values (.., n, c)` along each axis: `(.., n, c, d)`."""
    parts = []
    for axis in torch.eye(at.dim, dtype=torch.float64):
        ends = [
            call(
                Discretization.points(
                    at.points.detach() + sign * STEP * axis, at.weights, bounds=at.bounds.tolist(), periodic=at.periodic
                )
            ).detach()
            for sign in (1, -1)
        ]
        parts.append((ends[0] - ends[1]) / (2 * STEP))
    return torch.stack(parts, dim=-1)


def inside(n, dim, periodic, seed=0):
    """Random points that keep away from the ends of the box."""
    x = 0.1 + 0.8 * torch.rand(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return differentiable(Discretization.points(x, periodic=periodic, rule="monte-carlo"))


def relative(found, wanted):
    return float(((found - wanted).norm() / wanted.norm()).detach())


def sources(dim):
    grid = Discretization.uniform((17,) * dim)
    skewed = Discretization.tensor_grid(*[torch.linspace(0, 1, 15) ** 1.5] * dim)
    cloud = Discretization.points(torch.rand(150, dim, generator=torch.Generator().manual_seed(1)))
    return {
        "uniform": grid,
        "skewed": skewed,
        "periodic": Discretization.uniform((16,) * dim, periodic=True),
        "points": cloud,
    }


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("kind", ["uniform", "skewed", "periodic", "points"])
def test_interpolation_has_the_derivative_of_its_pieces(dim, kind):
    source = sources(dim)[kind]
    field = Field(source, torch.cos(3 * source.points.sum(1, keepdim=True)))
    at = inside(40, dim, source.periodic)
    found = gradient(interpolate(field, at).values, at)
    wanted = differences(lambda x: interpolate(field, x).values, at)
    smooth = (found - wanted).abs().amax(dim=(1, 2)) < 1e-5
    assert smooth.float().mean() > 0.85  # all but points that a step takes into the next cell
    assert not at.cache


def fields(dim, kind):
    source = sources(dim)[kind]
    x = source.points
    return [Field(source, (torch.sin((2 + k) * x[:, :1]) + x.prod(1, keepdim=True)).double()) for k in range(3)]


QUICK = ("iaenet", "fno", "deeponet")  # in 2-D; all others there, too, in the slow tests
CASES = [
    pytest.param(name, dim, marks=() if dim == 1 or name in QUICK else pytest.mark.slow)
    for name, kind in MODELS.items()
    for dim in (1, 2)
    if kind.accepts.query_points and name != "function-to-vector"
]


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_every_model_with_query_points_has_derivatives_there(name, dim):
    given = fields(dim, "uniform")
    pairs = [(field, Field(field.discretization, field.values**2)) for field in given]
    torch.manual_seed(0)
    model = build(name, pairs).double()
    at = inside(12, dim, given[0].discretization.periodic)
    stack = Field(given[0].discretization, torch.stack([field.values for field in given]))
    found = gradient(model(stack, at).values, at)
    wanted = differences(lambda x: model(stack, x).values, at)
    assert found.shape == (3, 12, 1, dim)
    smooth = (found - wanted).abs().amax(dim=(0, 2, 3)) < 1e-4 * wanted.abs().max()
    assert smooth.float().mean() > (0.7 if name in ("gino", "dgfno", "pod-deeponet") else 0.99)  # pieces


@pytest.mark.parametrize("kind", ["uniform", "points"])
def test_a_trained_network_twice_differentiable(kind):
    """Also with the head that scattered points bring: what it interpolates is piecewise linear."""
    given = fields(2, kind)
    pairs = [(field, Field(field.discretization, field.values**2)) for field in given]
    model = iaenet.fit({"name": "iaenet", "width": 8, "blocks": 1}, pairs, epochs=1, threads=1).double()
    at = inside(20, 2, (False, False))
    first = gradient(model(given[0], at).values, at)
    wanted = differences(lambda x: model(given[0], x).values, at)
    assert ((first - wanted).abs().amax(dim=(1, 2)) < 1e-4 * wanted.abs().max()).float().mean() > 0.85
    if kind == "uniform":

        def slopes(x):
            x = differentiable(x)
            return gradient(model(given[0], x).values, x)[..., 0, :]

        second = differences(slopes, at).diagonal(dim1=-2, dim2=-1).sum(-1, keepdim=True)
        assert relative(laplacian(model(given[0], at).values, at), second) < 1e-4


def test_the_distance_to_a_boundary_has_a_slope():
    mesh = Discretization.mesh([[0, 0], [1, 0], [0, 1], [1, 1]], [[0, 1, 2], [1, 3, 2]])
    from iaenet.functions.geometry import distance_at

    at = inside(30, 2, (False, False))
    found = gradient(distance_at(mesh, at.points), at)
    assert relative(found, differences(lambda x: distance_at(mesh, x.points), at)) < 1e-6


def test_points_of_the_callers_own_get_their_gradient():
    x = torch.rand(5, 1, requires_grad=True)
    at = Discretization.points(x)
    assert at.points.dtype == torch.float64
    grid = Discretization.uniform(9)
    interpolate(Field(grid, grid.points), at).values.sum().backward()
    assert torch.allclose(x.grad, torch.ones(5, 1))
    assert Discretization.points(x).key != at.key


def test_what_has_no_derivative_is_refused():
    grid = Discretization.uniform(5)
    at = differentiable(grid)
    with pytest.raises(InvalidInputError, match="differentiable"):
        gradient(grid.points, grid)
    with pytest.raises(InvalidInputError, match="do not depend on these points"):
        gradient(grid.points, at)
    with pytest.raises(InvalidInputError, match="5 points"):
        gradient(torch.ones(4, 1, requires_grad=True), at)

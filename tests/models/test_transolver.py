import json
import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.models.transolver import BETWEEN, PhysicsAttention, Transolver, TransolverLayer

SMALL = {"width": 12, "layers": 2, "heads": 3, "slices": 5}


def scattered(n: int = 30, dim: int = 2, seed: int = 0) -> Discretization:
    return Discretization.points(np.random.default_rng(seed).random((n, dim)))


def randomised(module: torch.nn.Module) -> torch.nn.Module:
    """In float64, every parameter random: biases, norms and temperatures, too, have something to do."""
    module.double()
    for name, parameter in module.named_parameters():
        torch.nn.init.normal_(parameter) if "temperature" not in name else torch.nn.init.uniform_(parameter, 0.3, 2.0)
    return module


def softmax(row: NDArray) -> NDArray:
    powers = np.exp(row - row.max())
    return powers / powers.sum()


def explicit(attention: PhysicsAttention, x: NDArray) -> NDArray:
    """The four formulas of physics attention, point by point and slice by slice: `(n, c)` -> `(n, c)`."""
    p = {name: parameter.detach().numpy() for name, parameter in attention.named_parameters()}
    n, width = x.shape
    slices = len(p["slice.bias"])
    size = width // attention.heads
    y = np.zeros((n, width))
    for head in range(attention.heads):
        part = slice(head * size, (head + 1) * size)
        w = np.zeros((n, slices))
        for i in range(n):
            place = p["place.weight"][part] @ x[i] + p["place.bias"][part]
            w[i] = softmax((p["slice.weight"] @ place + p["slice.bias"]) / p["temperature"][head, 0, 0])
        tokens = np.zeros((slices, size))
        for j in range(slices):
            for i in range(n):
                tokens[j] += w[i, j] * (p["feature.weight"][part] @ x[i] + p["feature.bias"][part])
            tokens[j] /= sum(w[i, j] for i in range(n)) + 1e-5
        mixed = np.zeros((slices, size))
        for j in range(slices):
            scores = [(p["query.weight"] @ tokens[j]) @ (p["key.weight"] @ other) for other in tokens]
            for share, other in zip(softmax(np.array(scores) / math.sqrt(size)), tokens, strict=True):
                mixed[j] += share * (p["value.weight"] @ other)
        for i in range(n):
            for j in range(slices):
                y[i, part] += w[i, j] * mixed[j]
    return y @ p["merge.weight"].T + p["merge.bias"]


def normalised(x: NDArray, norm: torch.nn.LayerNorm) -> NDArray:
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    return y * norm.weight.detach().numpy() + norm.bias.detach().numpy()


def test_physics_attention_equals_its_formulas():
    attention = randomised(PhysicsAttention(width=6, heads=2, slices=4))
    x = torch.randn(3, 11, 6, dtype=torch.float64)
    found = attention(x)
    for one, out in zip(x, found, strict=True):
        truth = explicit(attention, one.numpy())
        assert np.abs(out.detach().numpy() - truth).max() < 1e-12 * np.abs(truth).max()


def test_a_layer_equals_its_formulas():
    layer = randomised(TransolverLayer(width=6, heads=2, slices=4, mlp_ratio=2))
    x = torch.randn(11, 6, dtype=torch.float64)
    y = x.numpy() + explicit(layer.attention, normalised(x.numpy(), layer.norm_attention))
    hidden, out = layer.mlp[0], layer.mlp[2]
    a = torch.from_numpy(normalised(y, layer.norm_mlp)) @ hidden.weight.T + hidden.bias
    gelu = a * (1 + torch.erf(a / math.sqrt(2))) / 2
    truth = torch.from_numpy(y) + gelu @ out.weight.T + out.bias
    assert (layer(x[None])[0] - truth).abs().max() < 1e-12 * truth.abs().max()


def test_slice_weights_are_shares():
    weights = PhysicsAttention(width=8, heads=2, slices=5).double().weights(torch.randn(3, 7, 8, dtype=torch.float64))
    assert bool((weights > 0).all())
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_temperature_stays_within_its_bounds():
    attention = PhysicsAttention(width=8, heads=2, slices=5)
    x = torch.randn(1, 7, 8)
    for outside, bound in zip((-3.0, 9.0), BETWEEN, strict=True):
        with torch.no_grad():
            attention.temperature.fill_(bound)
            wanted = attention(x)
            attention.temperature.fill_(outside)
            assert torch.equal(attention(x), wanted)


def test_gradients_of_attention():
    attention = randomised(PhysicsAttention(width=4, heads=2, slices=3))
    x = torch.randn(1, 5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: attention(x), (x, *attention.parameters()))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_points_in_another_order(dim):
    model = randomised(Transolver(2, 3, dim, **SMALL))
    points = scattered(dim=dim)
    field = Field(points, torch.randn(4, points.n, 2, dtype=torch.float64))
    order = torch.randperm(points.n)
    shuffled = Discretization(points.points[order], points.weights[order], points.bounds, points.periodic)
    found = model(Field(shuffled, field.values[:, order])).values
    torch.testing.assert_close(found, model(field).values[:, order], rtol=1e-10, atol=1e-10)


def test_quadrature_weights_do_not_matter():
    model = randomised(Transolver(1, 1, 2, **SMALL))
    points = scattered()
    values = torch.randn(points.n, 1, dtype=torch.float64)
    other = Discretization.points(points.points, weights=torch.rand(points.n))
    assert torch.equal(model(Field(points, values)).values, model(Field(other, values)).values)


def test_every_point_twice_changes_almost_nothing():
    """Tokens are means over points: only the constant that keeps an empty slice from dividing by zero differs."""
    model = Transolver(1, 1, 2, **SMALL).double()
    points = scattered()
    values = torch.randn(points.n, 1, dtype=torch.float64)
    twice = Discretization.points(points.points.repeat(2, 1), weights=points.weights.repeat(2) / 2)
    found = model(Field(twice, values.repeat(2, 1))).values
    torch.testing.assert_close(found[: points.n], model(Field(points, values)).values, rtol=1e-4, atol=1e-4)


def test_coordinates_are_those_in_the_unit_box():
    model = randomised(Transolver(1, 1, 2, **SMALL))
    points = scattered()
    low, size = torch.tensor([-3.0, 10.0]), torch.tensor([2.0, 0.5])
    moved = Discretization.points(low + size * points.points, bounds=torch.stack([low, low + size], dim=1))
    values = torch.randn(points.n, 1, dtype=torch.float64)
    torch.testing.assert_close(
        model(Field(moved, values)).values, model(Field(points, values)).values, rtol=1e-9, atol=1e-9
    )


def test_every_point_sees_every_other():
    model = randomised(Transolver(1, 1, 2, **SMALL))
    points = scattered(n=8)
    values = torch.randn(8, 1, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda v: model(Field(points, v)).values[:, 0], values)[..., 0]
    assert bool((jacobian.abs() > 0).all())


def test_built_again_from_its_options():
    points = scattered()
    field = Field(points, torch.randn(points.n, 2))
    model = Transolver.for_data([(field, Field(points, torch.randn(points.n, 3)))], **SMALL)
    again = Transolver(**json.loads(json.dumps(model.options)))
    again.load_state_dict(model.state_dict())
    assert again.options["slices"] == SMALL["slices"]
    assert torch.equal(again(field).values, model(field).values)


def test_default_preset_has_about_a_tenth_of_a_million_parameters():
    points = scattered()
    field = Field(points, torch.randn(points.n, 1))
    model = Transolver.for_data([(field, field)])
    assert sum(parameter.numel() for parameter in model.parameters()) == pytest.approx(1e5, rel=0.1)


@pytest.mark.parametrize(
    ("dim", "channels", "out", "published"),
    [(2, 0, 1, 713_665 - 128), (3, 4, 4, 3_860_804 - 256)],
    ids=["elasticity", "cars"],
)
def test_paper_preset_has_the_parameters_of_the_authors_network(dim, channels, out, published):
    """Counted from the shapes in their programs, less a vector that they add to the lift, which has a bias.

    Their input is the coordinates, beside normals and a distance for cars. Ours has at least one channel more, and
    a column of the lift for it.
    """
    points = scattered(dim=dim)
    field = Field(points, torch.randn(points.n, channels + 1))
    model = Transolver.for_data([(field, Field(points, torch.randn(points.n, out)))], preset="paper")
    column = 2 * model.options["width"]
    assert sum(parameter.numel() for parameter in model.parameters()) == published + column


def test_autocast_changes_nothing():
    model = Transolver(1, 1, 2, **SMALL)
    points = scattered()
    field = Field(points, torch.randn(points.n, 1))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(field).values
    assert torch.equal(found, model(field).values)


def test_it_learns():
    torch.manual_seed(0)
    model = Transolver(1, 1, 2, **SMALL)
    fields = [Field(at, torch.randn(3, at.n, 1)) for at in (scattered(40), scattered(25, seed=1))]
    wanted = [field.values.mean(1, keepdim=True) + field.discretization.points[:, :1].float() for field in fields]
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(30):
        loss = sum(((found.values - u) ** 2).mean() for found, u in zip(model(fields), wanted, strict=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_other_query_points_are_refused():
    points = scattered()
    with pytest.raises(InvalidInputError, match=r"own grid or points; leave `at` out"):
        Transolver(1, 1, 2, **SMALL)(Field(points, torch.randn(points.n, 1)), at=scattered(seed=1))


def test_another_domain_is_refused():
    model = Transolver(1, 1, 2, **SMALL)
    with pytest.raises(InvalidInputError, match=r"built for \(False, False\) in 2-D"):
        model(Field(scattered(dim=3), torch.randn(30, 1)))
    grid = Discretization.uniform((4, 4), periodic=True)
    with pytest.raises(InvalidInputError, match="periodic"):
        model(Field(grid, torch.randn(16, 1)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"heads": 5}, "5 heads cannot share 12 channels evenly"),
        ({"slices": 0}, "at least one slice"),
        ({"periodic": [True]}, "one flag or 2 of them, got 1"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(InvalidInputError, match=words):
        Transolver(1, 1, 2, **{**SMALL, **options})

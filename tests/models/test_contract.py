"""What every model promises, IAE-Net and baselines alike."""

import copy
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch

from iaenet import (
    Discretization,
    Field,
    Fourier,
    GridConv,
    Head,
    IAENet,
    InvalidInputError,
    PointIAE,
    SpectralConv,
    SpectralIAE,
    relative_l2,
)
from iaenet.models.base import Model
from iaenet.models.published import PublishedIAENet
from iaenet.models.registry import BASELINES

MODELS: dict[str, type[Model]] = {
    "iae-net": IAENet,
    "iae-net, head": IAENet,
    "iae-net, kernels": IAENet,
    "published": PublishedIAENet,
    **BASELINES,
}
SMALL: dict[str, dict[str, Any]] = {
    "iae-net": {
        "width": 8,
        "blocks": 2,
        "branches": [PointIAE(latent=5, rank=8), SpectralIAE(Fourier(3), 6), SpectralConv(3), GridConv()],
        "post": 3,
    },
    "iae-net, head": {
        "width": 8,
        "blocks": 2,
        "branches": [SpectralIAE(Fourier(3), 6)],
        "head": 8,
        "geometry": ["measure"],
    },
    "iae-net, kernels": {"blocks": 0, "head": Head(8, PointIAE(latent=5, rank=8)), "post": 0, "linear_start": 0},
    "published": {"width": 8, "latent": 6, "blocks": 2},
    "fno": {"width": 8, "modes": 3, "layers": 2},
    "galerkin": {"width": 16, "heads": 2, "layers": 2, "decoder_width": 8, "modes": 3},
    "fourier-transformer": {"width": 16, "heads": 2, "layers": 2, "decoder_width": 8, "modes": 3},
    "deeponet": {"width": 16, "terms": 8},
    "pod-deeponet": {"width": 16, "modes": 12},
    "unet": {"width": 8, "levels": 2},
    "resnet": {"width": 8, "blocks": 3},
    "unet-interpolation": {"width": 8, "levels": 2},
    "resnet-interpolation": {"width": 8, "blocks": 3},
    "dgfno": {"width": 8, "modes": 3, "layers": 2},
    "transolver": {"width": 16, "heads": 2, "layers": 2, "slices": 4},
    "gino": {"width": 8, "modes": 3, "layers": 2, "encoder": [8], "decoder": [8]},
}
IN, OUT = 2, 3  # channels


class Place(NamedTuple):
    """Grids on one domain, and random points of it."""

    grid: Discretization
    finer: Discretization
    points: Discretization


BOX = [(-1.0, 2.0), (0.0, 0.5)]
SIZES: dict[int, tuple[list[int], list[int]]] = {1: ([24], [33]), 2: ([8, 7], [9, 11])}
PERIODIC: dict[int, tuple[bool, ...]] = {1: (True,), 2: (True, False)}


def place(dim: int) -> Place:
    bounds, periodic = BOX[:dim], PERIODIC[dim]
    grid, finer = (Discretization.uniform(shape, periodic=periodic, bounds=bounds) for shape in SIZES[dim])
    low, high = torch.tensor(bounds, dtype=torch.float64).T
    scattered = low + (high - low) * torch.rand(grid.n, dim, dtype=torch.float64)
    return Place(grid, finer, Discretization.points(scattered, bounds=bounds, periodic=periodic))


def functions(at: Discretization, channels: int, count: int | None = None) -> Field:
    """Smooth random functions."""
    x = (at.points - at.bounds[:, 0]) / (at.bounds[:, 1] - at.bounds[:, 0])
    waves = torch.cat([torch.cos(2 * math.pi * x), torch.sin(2 * math.pi * x)], dim=1)
    return Field(at, (waves @ torch.randn(*[count] if count else [], waves.shape[1], channels).double()).float())


def pairs(source: Discretization, target: Discretization | None = None, count: int = 16) -> list[tuple[Field, Field]]:
    return [(functions(source, IN), functions(target or source, OUT)) for _ in range(count)]


def build(name: str, source: Discretization, target: Discretization | None = None) -> Model:
    return MODELS[name].for_data(pairs(source, target), **SMALL[name])


@pytest.fixture(params=[1, 2], ids=["1-D", "2-D"])
def at(request: pytest.FixtureRequest) -> Place:
    return place(request.param)


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def model(name: str, at: Place) -> Model:
    return build(name, at.grid)


def close(a: torch.Tensor, b: torch.Tensor, tolerance: float = 1e-5) -> bool:
    return a.shape == b.shape and bool((a - b).abs().max() <= tolerance * max(1.0, b.abs().max().item()))


# ---------------------------------------------------------------------- the call


def test_one_function_or_a_batch(model: Model, at: Place):
    batch = functions(at.grid, IN, 4)
    before = batch.values.clone()
    found = model(batch)
    assert found.values.shape == (4, at.grid.n, OUT)
    assert found.values.dtype == torch.float32
    assert found.discretization.key == at.grid.key
    assert torch.isfinite(found.values).all()
    assert torch.equal(batch.values, before)
    alone = model(Field(at.grid, batch.values[2]))
    assert alone.values.shape == (at.grid.n, OUT)
    assert close(alone.values, found.values[2])
    assert not close(found.values[1], found.values[2], 1e-3)  # the input matters


def test_both_precisions(name: str, at: Place):
    model = build(name, at.grid)
    field = functions(at.grid, IN, 2)
    single = model(field).values
    double = model.double()(field.to(torch.float64)).values
    assert double.dtype == torch.float64
    assert close(single, double.float(), 1e-4)
    assert close(model.float()(field).values, single)


def test_a_ragged_list_is_its_members_one_by_one(model: Model, at: Place):
    fields = [functions(at.grid, IN), functions(at.grid, IN, 3), functions(at.grid, IN)]
    if model.accepts.resolutions:
        fields[1:1] = [functions(at.finer, IN)]
    if model.accepts.resolutions and model.accepts.points:
        fields += [functions(at.points, IN, 2)]
    for one, many in zip(fields, model(fields), strict=True):
        assert close(many.values, model(one).values)
    if model.accepts.query_points:
        targets = [[at.points, at.finer, at.grid][i % 3] for i in range(len(fields))]
        for one, target, many in zip(fields, targets, model(fields, at=targets), strict=True):
            assert many.discretization is target
            assert close(many.values, model(one, at=target).values)
    assert model([]) == []


def test_gradients_reach_every_weight(model: Model, at: Place):
    field = functions(at.grid, IN, 3)
    wanted = functions(at.grid, OUT, 3)
    relative_l2(model(field), wanted).mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0, name


def test_gradients_reach_the_input(name: str, model: Model, at: Place):
    places = [at.grid]
    if model.accepts.points:
        places += [at.points]
    for where in places:
        ready = model if model.accepts.resolutions or where is at.grid else build(name, where)
        values = functions(where, IN, 2).values.requires_grad_()
        (gradient,) = torch.autograd.grad(ready(Field(where, values)).values.square().sum(), values)
        assert torch.isfinite(gradient).all()
        counts = gradient.abs().amax((0, 2)) > 0
        thins = where is at.points and name in ("unet-interpolation", "resnet-interpolation", "dgfno")
        assert bool(counts.any() if thins else counts.all())  # interpolation takes the points around a node alone


def test_calls_are_alike(model: Model, at: Place):
    field = functions(at.grid, IN, 3)
    first = model(field).values
    assert torch.equal(model(field).values, first)
    assert torch.equal(model.eval()(field).values, first)
    with torch.no_grad():
        assert close(model(field).values, first)  # other kernels of PyTorch, and on some processors other roundings


def test_it_learns_from_all_that_it_accepts(name: str, at: Place):
    model = build(name, at.grid)
    fields = [functions(at.grid, IN, 6)]
    if model.accepts.resolutions:
        fields += [functions(at.finer, IN, 3)]
    if model.accepts.resolutions and model.accepts.points:
        fields += [functions(at.points, IN, 3)]
    mix = torch.randn(IN, OUT)
    wanted = [Field(field.discretization, field.values @ mix) for field in fields]
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(20):
        loss = torch.cat([relative_l2(*pair) for pair in zip(model(fields), wanted, strict=True)]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.75 * losses[0]


# ---------------------------------------------------------------------- keeping


def test_built_again_from_its_options(model: Model, at: Place):
    options = json.loads(json.dumps(model.options))
    torch.manual_seed(1)
    again = type(model)(**options)
    again.load_state_dict(model.state_dict())
    field = functions(at.grid, IN, 2)
    assert torch.equal(again(field).values, model(field).values)
    if model.accepts.query_points:
        assert torch.equal(again(field, at=at.points).values, model(field, at=at.points).values)


def test_a_copy_is_independent(model: Model, at: Place):
    field = functions(at.grid, IN)
    before = model(field).values
    other = copy.deepcopy(model)
    assert torch.equal(other(field).values, before)
    assert other.options == model.options
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(0.1)
    assert torch.equal(model(field).values, before)
    assert not torch.equal(other(field).values, before)


# ---------------------------------------------------------------------- bad input


def test_other_channels_are_refused(model: Model, at: Place):
    with pytest.raises(InvalidInputError, match=f"{IN} channels.* got {IN + 1}"):
        model(functions(at.grid, IN + 1))


def test_another_dimension_is_refused(model: Model, at: Place):
    other = place(3 - at.grid.dim)
    with pytest.raises(InvalidInputError, match=r"1-D|2-D"):
        model(functions(other.grid, IN))
    with pytest.raises(InvalidInputError):
        model(functions(at.grid, IN), at=other.grid)


def test_what_is_no_field_is_refused(model: Model, at: Place):
    field = functions(at.grid, IN)
    for wrong in ([field, field.values], [None]):
        with pytest.raises(InvalidInputError, match="expected a Field"):
            model(wrong)
    with pytest.raises(InvalidInputError, match="2 fields, but 1 sets of query points"):
        model([field, field], at=[at.grid])


def test_the_other_precision_is_refused(model: Model, at: Place):
    field = functions(at.grid, IN).to(torch.float64)
    refused(lambda: model(field), "float64", "float32")


def test_values_that_are_no_numbers_are_refused(at: Place):
    values = torch.zeros(at.grid.n, IN)
    values[3, 1] = math.nan
    with pytest.raises(InvalidInputError, match="channel 1, point 3 is nan"):
        Field(at.grid, values)


def test_a_typing_error_in_an_option_is_refused(name: str, at: Place):
    with pytest.raises(TypeError, match="widht"):
        MODELS[name].for_data(pairs(at.grid), widht=8)
    with pytest.raises(InvalidInputError if name != "published" else TypeError, match="preset"):
        MODELS[name].for_data(pairs(at.grid), preset="huge")


# ---------------------------------------------------------------------- what is declared, and what is so


def refused(call: Callable[[], object], *words: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        call()
    for word in words:
        assert word in str(error.value)


def test_other_resolutions(model: Model, at: Place):
    field = functions(at.finer, IN, 2)
    if model.accepts.resolutions:
        found = model(field)
        assert found.values.shape == (2, at.finer.n, OUT)
        assert torch.isfinite(found.values).all()
    else:
        refused(lambda: model(field), str(at.finer.shape), "was built for")


def test_points_that_are_no_grid(name: str, model: Model, at: Place):
    field = functions(at.points, IN, 2)
    if model.accepts.points:
        ready = model if model.accepts.resolutions else build(name, at.points)  # one with sensors there
        found = ready(field)
        assert found.values.shape == (2, at.points.n, OUT)
        assert torch.isfinite(found.values).all()
    else:
        refused(lambda: model(field), "point set", "tensor grid")
        refused(lambda: build(name, at.points)(field), "point set", "tensor grid")
    if not model.accepts.resolutions:
        refused(lambda: model(field), "point set", "was built for")


@pytest.mark.parametrize("name", [name for name, kind in MODELS.items() if kind.accepts.points])
def test_points_in_another_order(name: str, at: Place):
    model = build(name, at.points)
    field = functions(at.points, IN)
    order = torch.randperm(at.points.n)
    shuffled = Discretization(at.points.points[order], at.points.weights[order], at.points.bounds, at.points.periodic)
    found = model(Field(shuffled, field.values[order]))
    assert close(found.values, model(field).values[order])


def test_output_at_query_points(model: Model, at: Place):
    field = functions(at.grid, IN, 2)
    if not model.accepts.query_points:
        for target in (at.finer, at.points):
            refused(lambda target=target: model(field, at=target), "`at`", "own grid")
        return
    for target in (at.finer, at.points):
        found = model(field, at=target)
        assert found.values.shape == (2, target.n, OUT)
        assert torch.isfinite(found.values).all()
    # The output is a function: at the same points it has the same values, whatever else is asked for.
    own = at.grid.points[1::2]
    some = Discretization.points(own, torch.ones(len(own)), bounds=BOX[: at.grid.dim], periodic=at.grid.periodic)
    assert close(model(field, at=some).values, model(field).values[:, 1::2], 1e-4)


def test_input_on_a_boundary_output_on_a_mesh():
    angle = torch.linspace(0, 2 * math.pi, 31, dtype=torch.float64)[:-1]
    circle = 0.5 + 0.4 * torch.stack([angle.cos(), angle.sin()], dim=1)
    boundary = Discretization.mesh(circle, [(i, (i + 1) % 30) for i in range(30)])
    inside = 0.5 + (circle[:, None] - 0.5) * torch.linspace(0.2, 1, 4, dtype=torch.float64)[:, None]
    disc = Discretization.points(inside.reshape(-1, 2), torch.full((120,), 0.16 * math.pi / 120))
    for name, kind in MODELS.items():
        if kind.accepts.points and kind.accepts.query_points:
            model = build(name, boundary, disc)
            found = model(functions(boundary, IN, 2), at=disc)
            assert found.values.shape == (2, 120, OUT), name
            assert torch.isfinite(found.values).all(), name


# ---------------------------------------------------------------------- sizes

PUBLISHED = {  # parameters in millions, in 1-D
    "published": 5.3,
    "fno": 0.5,
    "galerkin": 0.5,
    "fourier-transformer": 0.5,
    "deeponet": 4.8,
    "unet": 9.2,
    "resnet": 5.3,
    "resnet-interpolation": 5.3,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_of_the_paper_preset(name: str):
    grid = Discretization.uniform(1024, periodic=True)
    field = Field(grid, torch.ones(1024, 1))
    options = {} if name == "published" else {"preset": "paper"}
    model = MODELS[name].for_data([(field, field)], **options)
    count = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    assert count == pytest.approx(PUBLISHED[name], rel=0.1)

"""The public call, for every kind of points and every variant of the paper."""

import copy
import json
import math

import numpy as np
import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

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
    Wavelet,
    relative_l2,
)
from iaenet.data.problems.bodies import Bodies
from iaenet.models.presets import NAMES
from iaenet.nn.transform import Grid, shifted
from tests.smooth import mismatch, smooth

TWO = [PointIAE(5, 8), SpectralIAE(Fourier(3), 5)]
TINY = {"grid": 8, "width": 8, "blocks": 2, "branches": [*TWO, SpectralConv(3)], "post": 2}


def triangle_mesh():
    x, y = np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 1, 6), indexing="ij")
    keep = (x + y <= 1.001).ravel()
    points = np.stack([x.ravel(), y.ravel()], axis=1)[keep]
    number = np.cumsum(keep) - 1
    cells = [[i * 6 + j, (i + 1) * 6 + j, i * 6 + j + 1] for i in range(5) for j in range(5 - i)]
    cells += [[(i + 1) * 6 + j, (i + 1) * 6 + j + 1, i * 6 + j + 1] for i in range(4) for j in range(4 - i)]
    return Discretization.mesh(points, number[np.array(cells)])


RNG = np.random.default_rng(0)
PLACES = {
    "line": Discretization.uniform(20),
    "square": Discretization.uniform((6, 7)),
    "cube": Discretization.uniform((4, 5, 6)),
    "clustered grid": Discretization.tensor_grid(np.linspace(0, 1, 6) ** 2, np.linspace(0, 1, 5)),
    "points in 1-D": Discretization.points(RNG.random((20, 1))),
    "points in 2-D": Discretization.points(RNG.random((20, 2))),
    "points in 3-D": Discretization.points(RNG.random((20, 3))),
    "mesh": triangle_mesh(),
}


@pytest.mark.parametrize("head", [0, 6])
@pytest.mark.parametrize("goal", ["own points", "other points", "other grid"])
@pytest.mark.parametrize("place", PLACES)
def test_forward_and_backward_on_any_points(place, goal, head):
    where = PLACES[place]
    d = where.dim
    at = {
        "own points": None,
        "other points": Discretization.points(np.random.default_rng(1).random((9, d))),
        "other grid": Discretization.uniform((3,) * d),
    }[goal]
    model = IAENet(2, 3, d, **TINY, head=head)
    field = Field(where, torch.randn(4, where.n, 2))
    out = model(field, at=at)
    assert out.values.shape == (4, (at or where).n, 3)
    relative_l2(out, Field(at or where, torch.randn_like(out.values))).mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name


VARIANTS = {
    **{f"{blocks} blocks": {"blocks": blocks} for blocks in (1, 2, 3, 4, 5)},
    "one deep block": {"blocks": 1, "branches": [PointIAE(5, 8, depth=4), SpectralIAE(Fourier(3), 5, depth=4)]},
    "original branch only": {"branches": [PointIAE(5, 8)]},
    "Fourier branch only": {"branches": [SpectralIAE(Fourier(3), 5)]},
    "three branches": {"branches": [*TWO, SpectralIAE(Wavelet(3), 5)]},
    "no channel MLP": {"branches": [PointIAE(5, 8, channel_mlp=False), SpectralIAE(Fourier(3), 5, channel_mlp=False)]},
    "linear kernels": {"branches": [PointIAE(5, 8, auxiliary=False)]},
    "without G": {"post": 0},
    "residual skips": {"skips": "residual"},
    "no skips": {"skips": "none"},
    "axis by axis": {"branches": [PointIAE(5, 8, axiswise=True)]},
    "dense latent network": {"branches": [PointIAE(5, 8, dense=True)]},
    "several harmonics": {"branches": [PointIAE(5, 8, harmonics=3)]},
    "convolutions": {"branches": [*TWO, GridConv()]},
    "a head": {"head": 8},
    "a head and kernels": {"head": Head(8, PointIAE(4, 8))},
    "a head and shifts": {"head": Head(8, shifts=True)},
    "kernels alone": {"blocks": 0, "post": 0, "head": Head(8, PointIAE(4, 8))},
    "a linear start": {"linear_start": 3},
    "a head and a linear start": {"head": 8, "linear_start": 3},
    "the change": {"linear_start": "identity"},
    "the change, with a head": {"head": 8, "linear_start": "identity"},
    "the measure": {"geometry": ["measure"]},
    "the distance, with a head": {"geometry": ["distance"], "head": 8},
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("d", [1, 2])
def test_every_variant_of_the_paper_trains(variant, d):
    model = IAENet(1, 1, d, True, **{**TINY, **VARIANTS[variant]})
    grid = Discretization.uniform((8,) * d, periodic=True)
    field = Field(grid, torch.randn(4, grid.n, 1))
    target = Field(grid, torch.sin(field.values))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(40):
        loss = relative_l2(model(field), target).mean()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        assert all(p.grad is not None for p in model.parameters())
        optimizer.step()
    assert losses[-1] < 0.7 * losses[0]


def test_variants_differ_from_the_default_in_what_they_say():
    def names(**options):
        return {name for name, _ in IAENet(1, 1, **{**TINY, **options}).named_parameters()}

    assert not any("kernel.value" in name for name in names(branches=[PointIAE(5, 8, auxiliary=False)]))
    assert not any(name.startswith("post.") for name in names(post=0))
    assert any("gather" in name for name in names())
    assert not any("gather" in name for name in names(skips="none") | names(skips="residual"))


def test_residual_skips_add_the_input_and_no_skips_do_not():
    """Both are the same set of weights, and not the same set of functions."""
    torch.manual_seed(0)
    options = {**TINY, "blocks": 1, "post": 0}
    none, residual = IAENet(1, 1, **options, skips="none"), IAENet(1, 1, **options, skips="residual")
    residual.load_state_dict(none.state_dict())
    a = torch.randn(2, 8, 8)
    torch.testing.assert_close(residual.blocks[0]([a]), a + none.blocks[0]([a]))


def test_a_network_comes_back_from_its_options():
    made = IAENet(1, 2, 2, (True, False), **{**TINY, "grid": [8, 9]}, head=Head(4, PointIAE(4, 8)), linear_start=2)
    again = IAENet(**json.loads(json.dumps(made.options)))
    again.load_state_dict(made.state_dict())
    field = Field(Discretization.uniform((8, 9), periodic=(True, False)), torch.randn(72, 1))
    assert torch.equal(again(field).values, made(field).values)


def test_a_name_is_one_network_however_it_is_made():
    grid = Discretization.uniform(32, periodic=True)
    wave = smooth(grid)
    pairs = [(wave, Field(grid, wave.values**2))]  # not near the input, of which the change would be learned
    for name in NAMES:
        made = IAENet.from_preset(name, in_channels=1, out_channels=1, periodic=True, grid=32)
        found = IAENet.for_data(pairs, preset=name)
        assert {k: v.shape for k, v in made.state_dict().items()} == {k: v.shape for k, v in found.state_dict().items()}


def test_at_the_own_points_nothing_changes():
    for head in (0, 6):
        grid = Discretization.uniform(32, periodic=True)
        model = IAENet(1, 1, 1, True, **{**TINY, "grid": 32}, head=head).double()
        field = Field(grid, torch.randn(32, 1, dtype=torch.float64))
        same = Discretization.uniform(32, periodic=True)
        torch.testing.assert_close(model(field, at=same).values, model(field).values, rtol=0, atol=0)
        finer = Discretization.uniform(64, periodic=True)
        torch.testing.assert_close(model(field, at=finer).values[::2], model(field).values)
        points = Discretization.points(grid.points[5:9], periodic=True)
        torch.testing.assert_close(model(field, at=points).values, model(field).values[5:9])


def test_units_of_the_domain_do_not_matter():
    unit = Discretization.uniform(16)
    metres = Discretization.uniform(16, bounds=[(-3, 5)])
    model = IAENet(1, 1, **TINY)
    values = torch.randn(16, 1)
    torch.testing.assert_close(model(Field(metres, values)).values, model(Field(unit, values)).values)


def test_saved_weights_give_the_same_network():
    model, other = IAENet(1, 1, **TINY), IAENet(1, 1, **TINY)
    field = Field(Discretization.uniform(16), torch.randn(16, 1))
    assert not torch.equal(other(field).values, model(field).values)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(field).values, model(field).values)
    assert torch.equal(copy.deepcopy(model)(field).values, model(field).values)


@pytest.mark.parametrize("d", [1, 2])
def test_gradcheck_of_the_whole_network(d):
    model = IAENet(1, 1, d, (True, False)[:d], **{**TINY, "branches": [PointIAE(4, 6), SpectralIAE(Wavelet(2), 4)]})
    model.double()
    grid = Discretization.uniform((6, 5)[:d], periodic=(True, False)[:d])
    goal = Discretization.points(RNG.random((3, d)), periodic=(True, False)[:d])
    values = torch.randn(grid.n, 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: model(Field(grid, v)).values, (values,))
    assert torch.autograd.gradcheck(lambda v: model(Field(grid, v), at=goal).values, (values,))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # PyTorch's own, at a break
@pytest.mark.parametrize("d", [1, 2])
def test_compiled_once_for_many_sizes(d):
    """The inside has one shape whatever the points are, so one graph serves them all."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    model = IAENet(1, 1, d, True, **TINY)
    compiled = torch.compile(model, backend=counter)
    compilations = []
    for s in (8, 12, 20, 33):
        grid = Discretization.uniform((s,) * d, periodic=True)
        field = Field(grid, torch.randn(3, grid.n, 1))
        found = compiled(field)
        torch.testing.assert_close(found.values, model(field).values)
        found.values.sum().backward()
        compilations.append(counter.frame_count)
    assert compilations == [1] * 4


def test_bfloat16_is_close():
    model = IAENet.from_preset("base", in_channels=1, out_channels=1, periodic=True)
    grid = Discretization.uniform(256, periodic=True)
    with torch.no_grad():
        full = model(smooth(grid)).values
        with torch.autocast("cpu", torch.bfloat16):
            low = model(smooth(grid)).values
    assert low.dtype == torch.float32
    assert 0 < mismatch(low, full) <= 1e-2


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_presets_are_small(name, d):
    model = IAENet.from_preset(name, in_channels=1, out_channels=1, dim=d)
    assert sum(p.numel() for p in model.parameters()) <= 5e6


def test_published_sizes():
    with torch.device("meta"):
        line = IAENet.from_preset("published", in_channels=1, out_channels=1, dim=1)
        square = IAENet.from_preset("published", in_channels=1, out_channels=1, dim=2)
    assert sum(p.numel() for p in line.parameters()) == pytest.approx(5.30e6, rel=1e-3)
    assert sum(p.numel() for p in square.parameters()) == pytest.approx(408.8e6, rel=1e-3)


def test_options_reach_the_published_form():
    made = IAENet.from_preset("published", in_channels=1, out_channels=1, width=8, latent=6, blocks=2)
    assert (made.options["width"], made.options["blocks"]) == (8, 2)


LINE = Discretization.uniform(8)
BAD = {
    "channels": (lambda m: m(Field(LINE, torch.ones(8, 2))), "field 0: the network takes 1 channels, got 2"),
    "dimension": (lambda m: m(Field(Discretization.uniform((3, 3)), torch.ones(9, 1))), "built for .False,. in 1-D"),
    "periodicity": (lambda m: m(Field(Discretization.uniform(8, periodic=True), torch.ones(8, 1))), "input is on"),
    "output domain": (
        lambda m: m(Field(LINE, torch.ones(8, 1)), at=Discretization.uniform(8, periodic=True)),
        "output",
    ),
    "precision": (lambda m: m(Field(LINE, torch.ones(8, 1, dtype=torch.float64))), "network is torch.float32; convert"),
    "which field": (lambda m: m([Field(LINE, torch.ones(8, 1)), Field(LINE, torch.ones(8, 2))]), "field 1: "),
    "tensor": (lambda m: m([torch.ones(8, 1)]), "field 0: expected a Field, got Tensor"),
    "places": (lambda m: m([Field(LINE, torch.ones(8, 1))], at=[LINE, LINE]), "1 fields, but 2 sets of query points"),
    "preset": (lambda m: IAENet.from_preset("huge", in_channels=1, out_channels=1), "small, base, published"),
    "skips": (lambda m: IAENet(1, 1, skips="all"), "'dense', 'residual' or 'none'"),
    "flags": (lambda m: IAENet(1, 1, 2, (True,)), "one flag or 2"),
    "grid": (lambda m: IAENet(1, 1, 2, grid=[8, 8, 8]), "grid must be one number or 2"),
    "small grid": (lambda m: IAENet(1, 1, grid=3), "at least 4 points"),
    "kernels": (lambda m: IAENet(1, 1, head=Head(4, Fourier(3))), "kernels are a PointIAE"),
    "geometry": (lambda m: IAENet(1, 1, geometry=["volume"]), "geometry is any of .'measure', 'distance'."),
    "no features": (lambda m: IAENet(1, 1, head=-2), "at least one feature"),
    "no blocks": (lambda m: IAENet(1, 1, blocks=0, head=4), "give a head with kernels"),
    "branch": (lambda m: IAENet(1, 1, branches=[{"name": "laplace"}]), "no branch 'laplace'; there are fourier"),
    "branch option": (lambda m: IAENet(1, 1, branches=[{"name": "grid-conv", "sise": 3}]), "branch grid-conv: .*sise"),
    "wavelet": (
        lambda m: IAENet(1, 1, branches=[SpectralIAE(Wavelet(3, "mexican"), 4)]),
        "not an orthogonal wavelet",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    call, message = BAD[case]
    with pytest.raises(InvalidInputError, match=message):
        call(IAENet(1, 1, **TINY))


def test_an_empty_list_gives_an_empty_list():
    assert IAENet(1, 1, **TINY)([]) == []


def test_inputs_are_left_unchanged():
    field = Field(LINE, torch.randn(8, 1))
    before = field.values.clone()
    IAENet(1, 1, **TINY)(field, at=Discretization.uniform(5))
    assert torch.equal(field.values, before)


def test_output_points_are_places_in_the_inputs_domain():
    """A target with a tight box of its own asks for the same places."""
    model = IAENet(1, 1, **{**TINY, "grid": 33}, head=4)
    grid = Discretization.uniform(33)
    field = Field(grid, torch.cos(3 * grid.points).float())
    places = [[0.25], [0.5], [0.75]]
    one = model(field, at=Discretization.points(places)).values
    other = model(field, at=Discretization.points(places, bounds="tight")).values
    assert torch.allclose(one, other, atol=1e-6)
    assert torch.allclose(one, model(field).values[8:25:8], atol=1e-6)


@pytest.mark.parametrize("d", [1, 2])
def test_shifts_move_the_grid_in_training_alone(d):
    """By whole cells it is a roll, there and back nothing; a network sees other numbers each time, its user never."""
    grid = Grid((8, 6)[:d], (True, False)[:d])
    values = torch.randn(2, math.prod(grid.shape), 3, generator=torch.Generator().manual_seed(0))
    rolled = values.unflatten(1, grid.shape).roll(-2, dims=1).flatten(1, -2)
    assert torch.allclose(shifted(values, grid, torch.full((d,), 2.0)), rolled, atol=1e-5)
    calm = shifted(values, grid, torch.full((d,), 0.5))  # without the wave that half a cell makes invisible
    there = shifted(calm, grid, torch.full((d,), 0.3))
    assert torch.allclose(shifted(there, grid, torch.full((d,), -0.3)), calm, atol=1e-5)
    torch.manual_seed(0)
    model = IAENet(1, 1, d, grid.periodic, grid=list(grid.shape), width=4, blocks=1, head=Head(4, shifts=True))
    at = Discretization.uniform(grid.shape, grid.periodic)
    field = Field(at, torch.randn(at.n, 1))
    trained = [model(field).values for _ in range(2)]
    assert not torch.allclose(*trained, atol=1e-6)
    model.eval()
    assert torch.equal(model(field).values, model(field).values)


def test_in_space_the_latent_grid_is_as_coarse_as_the_outputs_allow():
    """A surface of 642 nodes determines no more than eight points along an axis hold; 900 points of a cube do."""
    bodies = [Bodies().record(np.random.default_rng(i), [642])[0][642] for i in range(4)]
    surfaces = [tuple(Field(at, torch.from_numpy(values).float()) for at, values in
                      ((one.input_at, one.input), (one.output_at, one.output))) for one in bodies]  # fmt: skip
    assert IAENet.for_data(surfaces).latent.shape == (8, 8, 8)
    x = torch.rand(4, 900, 3, generator=torch.Generator().manual_seed(0))
    where = [Discretization.points(one, rule="monte-carlo") for one in x]
    cubes = [Field(at, torch.cos(3 * torch.pi * one).prod(1, keepdim=True)) for at, one in zip(where, x, strict=True)]
    assert IAENet.for_data([(one, one) for one in cubes]).latent.shape == (12, 12, 12)

"""The linear start finds linear maps in closed form, and holds on any points."""

import json

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, Fourier, IAENet, InvalidInputError, LatentGrid, SpectralIAE, Wavelet
from iaenet.data.problems.burgers import Burgers
from iaenet.models.linear_start import IdentityStart, LinearStart
from iaenet.models.presets import for_pairs
from iaenet.models.registry import build
from iaenet.nn.transform import Grid


def pairs(count, sizes=(24,), seed=0):
    """`f -> (d f / dx + 2, f(-x))` of trigonometric polynomials of 4 periods, on grids of several sizes."""
    chance = torch.Generator().manual_seed(seed)
    k = torch.arange(1, 5, dtype=torch.float64)
    made = []
    for i in range(count):
        grid = Discretization.uniform(sizes[i % len(sizes)], periodic=True)
        a, b = torch.randn(2, 4, generator=chance, dtype=torch.float64)
        angle = 2 * torch.pi * grid.points * k
        f = angle.cos() @ a + angle.sin() @ b
        slope = angle.cos() @ (k * b) - angle.sin() @ (k * a)
        mirrored = angle.cos() @ a - angle.sin() @ b
        made.append((Field(grid, f[:, None]), Field(grid, torch.stack([slope + 2, mirrored], dim=1))))
    return made


LATENT = LatentGrid((24,), (True,))


def started(modes=4):
    return LinearStart(1, 2, modes, Grid(LATENT.shape, LATENT.periodic)).double()


def on_grid(fields):
    return [LATENT.encode(one.discretization, one.values[None]) for one in fields]


def fit(start, data):
    return start.fit(*(on_grid(side) for side in zip(*data, strict=True)))


def apply(start, field):
    return LATENT.read_off(start(on_grid([field])[0]), field.discretization)[0]


def test_a_linear_map_is_found_from_samples_on_several_grids():
    start = started()
    assert fit(start, pairs(60, sizes=(16, 24)))
    assert start.residual < 1e-4
    for field, wanted in pairs(3, sizes=(33,), seed=1):
        torch.testing.assert_close(apply(start, field), wanted.values, rtol=0, atol=1e-4)


def test_the_ridge_is_chosen_on_samples_that_are_not_fitted():
    """With few samples and noise, an exact fit would be worse than none."""
    chance = torch.Generator().manual_seed(0)
    noisy = [
        (f, Field(f.discretization, torch.randn(24, 2, generator=chance, dtype=torch.float64))) for f, _ in pairs(12)
    ]
    start = started()
    fit(start, noisy)
    outputs = torch.stack([apply(start, f) for f, _ in pairs(20, seed=2)])
    assert outputs.square().mean() < 0.5  # noise has size 1, and nothing to do with the input
    assert start.residual > 0.7


def test_too_few_samples_leave_it_at_zero():
    start = started()
    assert not fit(start, pairs(9))
    assert start.residual == 1
    assert start.matrix.abs().max() == 0


@pytest.mark.parametrize(("worth", "taken"), [(0.3, False), (0.99, True)])
def test_a_fit_that_leaves_too_much_is_not_taken(worth, taken):
    start = started(modes=4)
    inputs, outputs = (on_grid(side) for side in zip(*pairs(60), strict=True))
    assert start.fit(inputs, [values**2 for values in outputs], worth) == taken
    assert (start.residual < 1) == taken
    assert bool(start.matrix.any()) == bool(start.constant.any()) == taken


def network(data, **options):
    branches = [SpectralIAE(Fourier(4), latent=4, groups=2)]
    return build("iaenet", data, **{"width": 8, "blocks": 1, "branches": branches, "linear_start": 4, **options})


def single(data):
    return [(f.to(torch.float32), g.to(torch.float32)) for f, g in data]


@pytest.mark.parametrize("head", [0, 8])
def test_a_network_starts_at_the_linear_fit_and_is_the_same_on_every_grid(head):
    model = network(single(pairs(60)), head=head)
    (coarse, wanted), (fine, _) = single(pairs(1, seed=3))[0], single(pairs(1, sizes=(48,), seed=3))[0]
    found = model(coarse).values
    assert (found - wanted.values).norm() < 0.01 * wanted.values.norm()
    torch.testing.assert_close(model(fine).values[::2], found, rtol=0, atol=1e-4)
    torch.testing.assert_close(model(coarse, at=fine.discretization).values[::2], found, rtol=0, atol=1e-5)
    for one, listed in zip((coarse, fine), model([coarse, fine]), strict=True):
        torch.testing.assert_close(listed.values, model(one).values, rtol=0, atol=1e-5)


def test_branches_begin_with_the_maps():
    """The first group of channels has the map to the first output, the second that to the second."""
    model = network(single(pairs(60)))
    iae = model.blocks[0].branches[0].iae
    maps = model.linear_start.maps
    assert maps.shape == (2, 9, 9)
    for group in (0, 1):
        torch.testing.assert_close(iae.gain * iae.linear.weight[group], maps[group])
    assert abs(maps[1][5:, 5:] + torch.eye(4)).max() < 1e-3  # f(-x): sines change their sign


@pytest.mark.parametrize("modes", [3, 11, 24])
@pytest.mark.parametrize("own", [4, 11, 24])
def test_branches_begin_with_the_part_of_the_maps_in_both_bands(modes, own):
    """The grid of 24 points holds 11 harmonics, whatever is asked for. What lies in one band alone is zero at first."""
    model = network(single(pairs(60)), branches=[SpectralIAE(Fourier(own), latent=4)], linear_start=modes)
    iae, maps = model.blocks[0].branches[0].iae, model.linear_start.maps
    found = iae.gain * iae.linear.weight[0]
    m, k = min(modes, 11), min(own, 11)
    shared = range(1, min(m, k) + 1)
    there, here = ([0, *shared, *(count + i for i in shared)] for count in (m, k))
    torch.testing.assert_close(found[here][:, here], maps[0][there][:, there])
    assert int(found.count_nonzero()) <= len(here) ** 2


def test_branches_in_other_domains_begin_without_them():
    torch.manual_seed(0)
    model = network(single(pairs(60)), branches=[SpectralIAE(Wavelet(4), latent=4)])
    torch.manual_seed(0)
    plain = network(single(pairs(60)), branches=[SpectralIAE(Wavelet(4), latent=4)], linear_start=0)
    assert torch.equal(*(one.blocks[0].branches[0].iae.linear.weight for one in (model, plain)))


def test_it_is_kept_with_the_weights_but_not_trained():
    model = network(single(pairs(60)))
    again = IAENet(**json.loads(json.dumps(model.options)))
    again.load_state_dict(model.state_dict())
    torch.testing.assert_close(again.linear_start.matrix, model.linear_start.matrix)
    assert again.linear_start.matrix.any()
    field = single(pairs(1, seed=4))[0][0]
    assert torch.equal(again(field).values, model(field).values)
    assert not any("linear_start" in name for name, _ in model.named_parameters())


def test_bad_sizes_are_refused():
    with pytest.raises(InvalidInputError, match="4225 numbers for an input"):
        LinearStart(1, 1, 64, Grid((65, 65), (False, False)))
    with pytest.raises(InvalidInputError, match="4225 numbers for an input"):
        IAENet(1, 1, 2, grid=65, linear_start=64)


@pytest.mark.parametrize(("channels", "has"), [(1, True), (20, True), (21, False)])
def test_presets_have_it_where_the_fit_takes_seconds(channels, has):
    """On a line, and for inputs of up to about a thousand coefficients."""
    made = IAENet.from_preset("small", in_channels=channels, out_channels=1)
    assert (made.linear_start is not None) == has
    assert IAENet.from_preset("small", in_channels=1, out_channels=1, dim=2).linear_start is None
    assert IAENet(1, 1, 2, linear_start="auto").linear_start is None


@pytest.mark.parametrize(("power", "options", "has"), [(1, {}, True), (2, {}, False), (2, {"linear_start": 24}, True)])
def test_a_preset_leaves_it_out_where_the_map_is_far_from_linear(power, options, has):
    """The network is then the one without it, number for number; who asks for it gets it."""
    grid = Discretization.uniform(64, periodic=True)
    chance = torch.Generator().manual_seed(0)
    inputs = [torch.randn(1, generator=chance) * torch.sin(2 * torch.pi * grid.points).float() for _ in range(40)]
    data = [(Field(grid, f), Field(grid, f.roll(16, 0) ** power)) for f in inputs]
    torch.manual_seed(1)
    made = build("iaenet", data, **options)
    assert bool(made.linear_start.residual < 1) == bool(made.linear_start.matrix.any()) == has
    torch.manual_seed(1)
    without = build("iaenet", data, linear_start=0)
    same = [torch.equal(one, other) for one, other in zip(made.parameters(), without.parameters(), strict=True)]
    assert all(same) == (not has)
    found = made(data[0][0]).values
    assert torch.equal(found, without(data[0][0]).values) == (not has)
    rebuilt = IAENet(**made.options)
    rebuilt.load_state_dict(made.state_dict())
    assert torch.equal(rebuilt(data[0][0]).values, found)


@pytest.mark.parametrize(("viscosity", "low", "high"), [(1.0, 0, 0.005), (0.1, 0, 0.05), (0.01, 0.3, 1)])
def test_how_linear_burgers_equation_is(viscosity, low, high):
    """What a preset goes by: the less viscous, the less of the solution at time 1 is linear in the initial values."""
    chance = np.random.default_rng(0)
    samples = [Burgers(viscosity=viscosity).record(chance, [64])[0][64] for _ in range(300)]
    inputs, outputs = ([torch.tensor(getattr(s, part)).float()[None] for s in samples] for part in ("input", "output"))
    start = LinearStart(1, 1, 24, Grid((64,), (True,)))
    assert start.fit(inputs, outputs)
    assert low <= float(start.residual) < high
    grid = samples[0].input_at
    data = [(Field(grid, f[0]), Field(grid, g[0])) for f, g in zip(inputs, outputs, strict=True)]
    assert bool(build("iaenet", data).linear_start.residual < 1) == (high < 0.2)


@pytest.mark.parametrize("side", ["input", "output"])
def test_samples_on_another_domain_are_named(side):
    closed = Discretization.uniform(24)
    data = single(pairs(13))
    odd = Field(closed, torch.rand(24, 1 if side == "input" else 2))
    data[12] = (odd, data[12][1]) if side == "input" else (data[12][0], odd)
    with pytest.raises(InvalidInputError, match=rf"sample 12: {side} is on a domain with periodic axes \(False,\)"):
        network(data)


def test_autocast_changes_nothing():
    data = single(pairs(40))
    made = build("iaenet", data, preset="base", linear_start=4)
    plain = made(data[0][0]).values
    with torch.autocast("cpu", torch.bfloat16):
        found = made(data[0][0]).values
    assert found.dtype == torch.float32
    assert torch.equal(found, plain)


# ------------------------------------------------------------------ the input itself


def steps(count, change=0.1, points=24, dim=1):
    """States of two channels, the states after a step, and a coefficient that stays, as normalised data might be."""
    grid = Discretization.uniform((points,) * dim, periodic=True)
    chance = torch.Generator().manual_seed(1)
    made = []
    for _ in range(count):
        phase = 2 * torch.pi * (grid.points[:, :1] + torch.rand(1, 3, generator=chance))
        state = 2**0.5 * torch.cos(phase)
        later = 0.9 * state[:, :2] + 0.2 + change * state[:, :2] ** 2
        made.append((Field(grid, state.float()), Field(grid, later.float())))
    return made


def test_what_a_state_leaves_of_the_next_is_found_channel_by_channel():
    data = steps(40)
    start = IdentityStart(2)
    assert start.fit(*([one.values[None] for one in side] for side in zip(*data, strict=True)), worth=0.3)
    torch.testing.assert_close(start.factor, torch.full((2,), 0.9), rtol=0, atol=0.02)
    torch.testing.assert_close(start.constant, torch.full((2,), 0.3), rtol=0, atol=0.02)  # the mean of the square is 1
    torch.testing.assert_close(start.residual, torch.full((2,), 0.1 / 2**0.5), rtol=0.1, atol=0)
    far = [torch.randn(4, 24, 2) for _ in range(2)]
    assert not start.fit([far[0]], [far[1]], worth=0.3)


@pytest.mark.parametrize("options", [{}, {"head": 8}])
def test_a_network_of_the_change_begins_at_the_input_on_any_points(options):
    """Untrained, it is off by about the change, on the training grid, on a finer one and on random points."""
    data = steps(20, change=1e-3)
    model = build("iaenet", data, **{"width": 8, "blocks": 1, "linear_start": "identity", **options})
    model.initialise(data)
    random = Discretization.points(torch.rand(200, 1, generator=torch.Generator().manual_seed(0)), periodic=True)
    for at in (data[0][0].discretization, Discretization.uniform(100, periodic=True), random):
        state = 2**0.5 * torch.cos(2 * torch.pi * (at.points + torch.tensor([0.0, 0.3, 0.6]))).float()
        with torch.no_grad():
            found = model(Field(at, state)).values
        assert (found - 0.9 * state[:, :2] - 0.2).abs().max() < 0.02


@pytest.mark.parametrize("dim", [1, 2])
def test_the_change_is_learned_where_outputs_are_near_the_inputs(dim):
    near, far = steps(8, dim=dim, points=16), steps(8, change=0.9, dim=dim, points=16)
    assert for_pairs(near)["linear_start"] == "identity"
    assert "linear_start" not in for_pairs(far)
    fewer = [(Field(given.discretization, given.values[:, :1]), wanted) for given, wanted in near]
    elsewhere = [(given, Field(Discretization.uniform((16,) * dim), wanted.values)) for given, wanted in near]
    assert "linear_start" not in for_pairs(fewer)
    assert "linear_start" not in for_pairs(elsewhere)
    assert build("iaenet", near).options["linear_start"] == "identity"
    with pytest.raises(InvalidInputError, match="2 outputs, but only 1 inputs"):
        IAENet(1, 2, linear_start="identity")

"""The linear path finds linear maps in closed form, and holds on any points."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, IAENet, InvalidInputError
from iaenet.geometry import geometry_of
from iaenet.linear_path import LinearPath
from iaenet.problems.burgers import Burgers


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


def apply(path, field):
    geometry = geometry_of(field.discretization, torch.float64)
    return path.expand(path.latent(path.reduce(field.values[None], geometry)), geometry)[0]


def test_a_linear_map_is_found_from_samples_on_several_grids():
    path = LinearPath(1, 2, 4, (True,)).double()
    path.fit(pairs(60, sizes=(16, 24)))
    assert path.left < 1e-4
    for field, wanted in pairs(3, sizes=(33,), seed=1):
        torch.testing.assert_close(apply(path, field), wanted.values, rtol=0, atol=1e-4)


def test_the_ridge_is_chosen_on_samples_that_are_not_fitted():
    """With few samples and noise, an exact fit would be worse than none."""
    chance = torch.Generator().manual_seed(0)
    noisy = [
        (f, Field(f.discretization, torch.randn(24, 2, generator=chance, dtype=torch.float64))) for f, _ in pairs(12)
    ]
    path = LinearPath(1, 2, 4, (True,)).double()
    path.fit(noisy)
    outputs = torch.stack([apply(path, f) for f, _ in pairs(20, seed=2)])
    assert outputs.square().mean() < 0.5  # noise has size 1, and nothing to do with the input
    assert path.left > 0.7


def test_too_few_samples_leave_it_at_zero():
    path = LinearPath(1, 2, 4, (True,)).double()
    path.fit(pairs(9))
    assert path.left == 1
    assert path.matrix.abs().max() == 0


def network(data, **options):
    options = {"width": 8, "latent": 4, "blocks": 1, "modes": 4, "linear_path": 4, "groups": 2, **options}
    return IAENet.for_data(data, **options)


def single(data):
    return [(f.to(torch.float32), g.to(torch.float32)) for f, g in data]


def test_a_network_starts_at_the_linear_fit_and_is_the_same_on_every_grid():
    data = single(pairs(60))
    model = network(data)
    (coarse, wanted), (fine, _) = single(pairs(1, seed=3))[0], single(pairs(1, sizes=(48,), seed=3))[0]
    found = model(coarse).values
    assert (found - wanted.values).norm() < 0.01 * wanted.values.norm()
    torch.testing.assert_close(model(fine).values[::2], found, rtol=0, atol=1e-4)
    torch.testing.assert_close(model(coarse, at=fine.discretization).values[::2], found, rtol=0, atol=1e-5)
    torch.testing.assert_close(model(fine, chunk=7).values, model(fine).values, rtol=0, atol=1e-5)


def test_branches_begin_with_the_maps():
    """The first group of channels has the map to the first output, the second that to the second."""
    model = network(single(pairs(60)))
    iae = model.layers[0].branches[0].iae
    maps = model.linear_path.maps
    assert maps.shape == (2, 9, 9)
    torch.testing.assert_close(iae.gain * iae.linear.weight[1], maps[1])
    assert abs(maps[1][5:, 5:] + torch.eye(4)).max() < 1e-3  # f(-x): sines change their sign


def test_it_is_kept_with_the_weights_but_not_trained():
    model = network(single(pairs(60)))
    again = IAENet(**model.options)
    again.load_state_dict(model.state_dict())
    torch.testing.assert_close(again.linear_path.matrix, model.linear_path.matrix)
    assert not any("linear_path" in name for name, _ in model.named_parameters())


def test_bad_sizes_are_refused():
    with pytest.raises(InvalidInputError, match="4225 numbers for an input"):
        LinearPath(1, 1, 64, (False, False))
    with pytest.raises(InvalidInputError, match="groups must divide the width 32"):
        IAENet(1, 1, groups=5)


@pytest.mark.parametrize(("channels", "has"), [(1, True), (20, True), (21, False)])
def test_presets_have_it_where_the_fit_takes_seconds(channels, has):
    """On a line, and for inputs of up to about a thousand coefficients."""
    made = IAENet.from_preset("small", in_channels=channels, out_channels=1)
    assert (made.linear_path is not None) == has
    assert IAENet.from_preset("small", in_channels=1, out_channels=1, dim=2).linear_path is None


@pytest.mark.parametrize(("power", "options", "has"), [(1, {}, True), (2, {}, False), (2, {"linear_path": 24}, True)])
def test_a_preset_leaves_it_out_where_the_map_is_far_from_linear(power, options, has):
    """The network is then the one without it, number for number; who asks for it gets it."""
    grid = Discretization.uniform(64, periodic=True)
    chance = torch.Generator().manual_seed(0)
    inputs = [torch.randn(1, generator=chance) * torch.sin(2 * torch.pi * grid.points).float() for _ in range(40)]
    data = [(Field(grid, f), Field(grid, f**power)) for f in inputs]
    torch.manual_seed(1)
    made = IAENet.for_data(data, **options)
    assert (made.linear_path is not None) == has
    torch.manual_seed(1)
    without = IAENet.for_data(data, linear_path=0)
    same = [torch.equal(one, other) for one, other in zip(made.parameters(), without.parameters(), strict=True)]
    assert all(same) == (not has)
    rebuilt = IAENet(**made.options)
    rebuilt.load_state_dict(made.state_dict())
    assert torch.equal(rebuilt(data[0][0]).values, made(data[0][0]).values)


@pytest.mark.parametrize(("viscosity", "low", "high"), [(1.0, 0, 0.005), (0.1, 0, 0.05), (0.01, 0.3, 1)])
def test_how_linear_burgers_equation_is(viscosity, low, high):
    """What a preset goes by: the less viscous, the less of the solution at time 1 is linear in the initial values."""
    chance = np.random.default_rng(0)
    samples = [Burgers(viscosity=viscosity).record(chance, [64])[0][64] for _ in range(300)]
    data = [tuple(Field(s.input_at, torch.tensor(v).float()) for v in (s.input, s.output)) for s in samples]
    path = LinearPath(1, 1, 24, (True,))
    path.fit(data)
    assert low <= float(path.left) < high
    assert (IAENet.for_data(data).linear_path is not None) == (high < 0.2)


def test_samples_on_another_domain_are_named():
    closed = Discretization.uniform(24)
    other = (Field(closed, torch.rand(24, 1)), Field(closed, torch.rand(24, 2)))
    with pytest.raises(InvalidInputError, match=r"sample 12 is on a domain with periodic axes \(False,\)"):
        IAENet.for_data([*pairs(12), other])


def test_bfloat16_is_close():
    """Only kernel networks are in bfloat16: not the linear path, nor what refines a grid too coarse for the band."""
    data = [(f.to(torch.float32), g.to(torch.float32)) for f, g in pairs(40)]
    made = IAENet.for_data(data, preset="base", linear_path=4)
    plain = made(data[0][0]).values.detach()
    with torch.autocast("cpu", torch.bfloat16):
        found = made(data[0][0]).values
    assert found.dtype == torch.float32
    assert torch.allclose(found, plain, atol=1e-3 * float(plain.abs().max()))

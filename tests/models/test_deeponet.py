"""DeepONet: its formula, its sensors, its output points."""

import math

import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError, relative_l2
from iaenet.models.deeponet import DeepONet

TINY = {"width": 12, "terms": 5}


def pair(source: Discretization, target: Discretization, channels: tuple[int, int] = (1, 1)) -> tuple[Field, Field]:
    return Field(source, torch.randn(source.n, channels[0])), Field(target, torch.randn(target.n, channels[1]))


def test_equals_the_sum_over_branch_and_trunk():
    source = Discretization.uniform(7, bounds=[(2, 5)])
    target = Discretization.uniform((3, 4), periodic=(True, False), bounds=[(0, 4), (1, 2)])
    model = DeepONet.for_data([pair(source, target, (2, 3))], harmonics=2, **TINY).double()
    field = Field(source, torch.randn(7, 2).double())
    found = model(field, at=target).values
    gelu = torch.nn.functional.gelu

    def network(layers, z, last):
        linears = [layer for layer in layers if hasattr(layer, "weight")]
        for i, layer in enumerate(linears):
            z = layer.weight @ z + layer.bias
            z = gelu(z) if last or i < len(linears) - 1 else z
        return z

    b = network(model.branch, field.values.flatten(), last=False)
    for i, (x, y) in enumerate(target.points.tolist()):
        t1, t2 = x / 4, y - 1
        angles = [math.cos(2 * math.pi * t1), math.sin(2 * math.pi * t1)]
        angles += [math.cos(4 * math.pi * t1), math.sin(4 * math.pi * t1)]
        angles += [2 * t2 - 1, math.cos(math.pi * t2)]
        t = network(model.trunk, torch.tensor(angles, dtype=torch.float64), last=True)
        for j in range(3):
            wanted = sum(b[5 * j + k] * t[5 * j + k] for k in range(5)) + model.bias[j]
            assert found[i, j].item() == pytest.approx(wanted.item(), abs=1e-10)


def test_other_sensors_are_refused_and_both_are_named():
    grid = Discretization.uniform(24, periodic=True)
    model = DeepONet.for_data([pair(grid, grid)], **TINY)
    with pytest.raises(InvalidInputError, match=r"tensor grid \(32,\).*24 sensors in 1-D.*0\.958333"):
        model(Field(Discretization.uniform(32, periodic=True), torch.ones(32, 1)))
    moved = torch.cat([grid.points[:-1], torch.tensor([[0.97]]).double()])
    with pytest.raises(InvalidInputError, match=r"0\.97\].*0\.958333"):
        model(Field(Discretization.points(moved, periodic=True), torch.ones(24, 1)), at=grid)


@pytest.mark.parametrize(("shift", "fine"), [(1e-9, True), (1e-3, False)])
def test_sensors_are_compared_with_a_tolerance(shift, fine):
    points = torch.rand(30, 2).double()
    model = DeepONet.for_data([pair(Discretization.points(points), Discretization.points(points))], **TINY)
    points[7] = (points[7] + shift).clamp(max=1)
    field = Field(Discretization.points(points), torch.randn(30, 1))
    if fine:
        assert torch.isfinite(model(field).values).all()
    else:
        with pytest.raises(InvalidInputError, match="built for 30 sensors"):
            model(field)


def test_every_point_must_be_a_sensor():
    twice = Discretization.points([[0.1], [0.1], [0.9]])
    model = DeepONet.for_data([pair(twice, twice)], **TINY)
    with pytest.raises(InvalidInputError):
        model(Field(Discretization.points([[0.1], [0.9], [0.5]]), torch.ones(3, 1)))


def test_sensors_far_from_the_origin_survive_single_precision():
    grid = Discretization.uniform(1001, bounds=[(1000, 1001)])
    model = DeepONet.for_data([pair(grid, grid)], **TINY)
    field = Field(grid, torch.randn(1001, 1))
    before = model(field, at=grid).values
    torch.testing.assert_close(model.float()(field).values, before, rtol=1e-3, atol=1e-3)


def test_data_with_several_sets_of_sensors_are_refused():
    coarse, fine = Discretization.uniform(8), Discretization.uniform(9)
    with pytest.raises(InvalidInputError, match=r"pair 1: .*\(9,\).*pair 0.*\(8,\)"):
        DeepONet.for_data([pair(coarse, coarse), pair(fine, fine)], **TINY)


def test_the_output_is_a_function_on_the_domain_of_the_data():
    grid = Discretization.uniform(16, bounds=[(-1, 3)])
    model = DeepONet.for_data([pair(grid, grid)], **TINY)
    field = pair(grid, grid)[0]
    whole = model(field).values
    part = Discretization.points(grid.points[5:9], bounds="tight")
    torch.testing.assert_close(model(field, at=part).values, whole[5:9])


def test_a_periodic_output_closes():
    grid = Discretization.uniform(16, periodic=True)
    model = DeepONet.for_data([pair(grid, grid)], **TINY)
    ends = Discretization.points([[0.0], [1.0]], periodic=True)
    found = model(pair(grid, grid)[0], at=ends).values
    torch.testing.assert_close(found[0], found[1])


def test_learns_the_antiderivative():
    grid = Discretization.uniform(32)
    x = grid.points[:, 0]
    k = torch.arange(1, 5).double()
    a = torch.randn(300, 4).double() / k
    inputs = (a @ torch.cos(math.pi * k[:, None] * x))[..., None].float()
    outputs = ((a / (math.pi * k)) @ torch.sin(math.pi * k[:, None] * x))[..., None].float()
    data = [(Field(grid, one), Field(grid, image)) for one, image in zip(inputs, outputs, strict=True)]
    model = DeepONet.for_data(data, width=64, terms=32)
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    for _ in range(250):
        rows = torch.randint(0, 200, (50,))
        loss = relative_l2(model(Field(grid, inputs[rows])), Field(grid, outputs[rows])).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    unseen = model(Field(grid, inputs[200:]))
    assert relative_l2(unseen, Field(grid, outputs[200:])).mean() < 0.08

"""U-Net and ResNet: convolutions on the domain's own terms, and one grid only."""

import itertools

import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError
from iaenet.models.resnet import ResNet
from iaenet.models.unet import UNet
from iaenet.nn.local import Convolution, wrapped

NETWORKS = [ResNet, UNet]


@pytest.mark.parametrize(("kernel", "dilation"), [(3, 1), (3, 4), (5, 2)])
@pytest.mark.parametrize("periodic", [(True,), (False,), (True, False), (False, True, True)])
def test_convolution_equals_the_sum_over_neighbours(periodic, kernel, dilation):
    shape = (7, 5, 4)[: len(periodic)]
    layer = Convolution(2, 3, periodic, kernel, dilation).double()
    x = torch.randn(1, 2, *shape).double()
    found = layer(x)[0]
    weight, bias = layer.convolution.weight, layer.convolution.bias
    place = tuple(size - 1 for size in shape)  # a corner, whose neighbours are beyond the ends
    wanted = bias.clone()
    for tap in itertools.product(range(kernel), repeat=len(shape)):
        where = [i + dilation * (t - kernel // 2) for i, t in zip(place, tap, strict=True)]
        if all(wraps or 0 <= i < size for i, size, wraps in zip(where, shape, periodic, strict=True)):
            there = tuple(i % size for i, size in zip(where, shape, strict=True))
            wanted = wanted + weight[(..., *tap)] @ x[(0, slice(None), *there)]
    assert found.shape == (3, *shape)
    torch.testing.assert_close(found[(slice(None), *place)], wanted)


@pytest.mark.parametrize("reach", [0, 1, 4, 5, 13])
def test_wrapped_goes_around(reach):
    x = torch.randn(2, 5, 3)
    wanted = x[:, torch.arange(-reach, 5 + reach) % 5]
    assert torch.equal(wrapped(x, 1, reach), wanted)


@pytest.mark.parametrize(("kind", "step"), [(ResNet, 1), (UNet, 4)])
def test_shifting_the_input_shifts_the_output(kind, step):
    model = kind(1, 1, 2, (True, False), shape=[16, 7], width=8, **({"levels": 2} if kind is UNet else {})).double()
    grid = Discretization.uniform((16, 7), periodic=(True, False))
    values = torch.randn(16, 7, 1).double()
    found = model(Field(grid, values.reshape(-1, 1))).values.reshape(16, 7, 1)
    for axis, same in ((0, True), (1, False)):
        moved = model(Field(grid, values.roll(step, axis).reshape(-1, 1))).values.reshape(16, 7, 1)
        assert torch.allclose(moved, found.roll(step, axis)) == same


@pytest.mark.parametrize("shape", [[64], [65], [7], [1], [33, 20], [5, 6, 7]], ids=str)
@pytest.mark.parametrize("kind", NETWORKS)
def test_any_number_of_points(kind, shape):
    for periodic in (True, False):
        if shape == [1] and not periodic:
            continue
        grid = Discretization.uniform(shape, periodic=periodic)
        field = Field(grid, torch.randn(2, grid.n, 1))
        model = kind.for_data([(Field(grid, field.values[0]), Field(grid, field.values[1]))])
        found = model(field).values
        assert found.shape == field.values.shape
        assert torch.isfinite(found).all()


@pytest.mark.parametrize("size", [64, 128, 1024])
@pytest.mark.parametrize("kind", NETWORKS)
def test_the_output_sees_the_whole_input(kind, size):
    grid = Discretization.uniform(size, periodic=True)
    values = torch.randn(size, 1, requires_grad=True)
    field = Field.unchecked(grid, values)
    model = kind.for_data([(Field(grid, values.detach()), Field(grid, values.detach()))])
    # Group normalisation would let every point through: only paths of convolutions count here.
    for part in model.modules():
        if isinstance(part, torch.nn.GroupNorm):
            part.forward = lambda x: x
    (gradient,) = torch.autograd.grad(model(field).values[0, 0], values)
    assert (gradient != 0).all()


@pytest.mark.parametrize("kind", NETWORKS)
def test_another_grid_is_refused_and_both_are_named(kind):
    grid = Discretization.uniform((8, 9))
    pair = (Field(grid, torch.ones(72, 1)), Field(grid, torch.ones(72, 1)))
    model = kind.for_data([pair])
    other = Discretization.uniform((9, 8))
    with pytest.raises(InvalidInputError, match=r"\(9, 8\).*built for a tensor grid \(8, 9\)"):
        model(Field(other, torch.ones(72, 1)))
    with pytest.raises(InvalidInputError, match=r"periodic=\(True, True\).*periodic=\(False, False\)"):
        model(Field(Discretization.uniform((8, 9), periodic=True), torch.ones(72, 1)))


@pytest.mark.parametrize("kind", NETWORKS)
def test_another_spacing_is_refused_but_not_another_scale(kind):
    values = torch.randn(9, 1)
    even, wide = Discretization.uniform(9), Discretization.uniform(9, bounds=[(-3, 5)])
    uneven = Discretization.tensor_grid(torch.linspace(0, 1, 9) ** 2)
    model = kind.for_data([(Field(even, values), Field(even, values))])
    assert torch.equal(model(Field(wide, values)).values, model(Field(even, values)).values)
    with pytest.raises(InvalidInputError, match="other shares of the domain"):
        model(Field(uneven, values))
    assert torch.isfinite(
        kind.for_data([(Field(uneven, values), Field(uneven, values))])(Field(uneven, values)).values
    ).all()


@pytest.mark.parametrize("kind", NETWORKS)
def test_data_on_several_grids_or_on_points_are_refused(kind):
    grids = [Discretization.uniform(size) for size in (8, 9)]
    data = [(Field(grid, torch.ones(grid.n, 1)), Field(grid, torch.ones(grid.n, 1))) for grid in grids]
    with pytest.raises(InvalidInputError, match=r"grids \(8,\) and grids \(9,\).*Interpolated"):
        kind.for_data(data)
    some = Discretization.points([[0.2], [0.5]])
    with pytest.raises(InvalidInputError, match="point sets"):
        kind.for_data([(Field(some, torch.ones(2, 1)), Field(some, torch.ones(2, 1)))])


@pytest.mark.parametrize("kind", NETWORKS)
def test_options_that_cannot_be(kind):
    with pytest.raises(InvalidInputError, match="kernel must be odd"):
        kind(1, 1, shape=[8], kernel=4)
    with pytest.raises(InvalidInputError, match="1 to 3 axes"):
        kind(1, 1, 4, shape=[8] * 4)
    with pytest.raises(InvalidInputError, match="one entry for each"):
        kind(1, 1, 2, shape=[8])

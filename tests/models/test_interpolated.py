"""A fixed-grid network between two interpolations."""

import math
from itertools import pairwise

import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError
from iaenet.models.interpolated import Interpolated, InterpolatedResNet, InterpolatedUNet
from iaenet.models.resnet import ResNet
from iaenet.models.unet import UNet
from tests.smooth import smooth

TINY = {"in_channels": 1, "out_channels": 1, "width": 8}


def pairs(*places: Discretization) -> list[tuple[Field, Field]]:
    return [(Field(at, torch.randn(at.n, 1)), Field(at, torch.randn(at.n, 1))) for at in places]


@pytest.mark.parametrize("name", ["resnet", "unet"])
def test_on_its_own_grid_it_is_the_network(name):
    model = Interpolated(name, {**TINY, "dim": 2, "periodic": [True, False], "shape": [8, 9]})
    grid = Discretization.uniform((8, 9), periodic=(True, False), bounds=[(0, 2), (-1, 1)])
    field = Field(grid, torch.randn(3, 72, 1))
    assert torch.equal(model(field).values, model.network(field).values)


@pytest.mark.parametrize("periodic", [True, False])
def test_the_same_function_on_finer_and_finer_grids_gives_the_same_output(periodic):
    model = Interpolated("resnet", {**TINY, "periodic": periodic, "shape": [48]}).double()
    target = Discretization.uniform(30, periodic=periodic)
    exact = model(smooth(model_grid(48, periodic), torch.float64), at=target).values
    errors = []
    for cells in (64, 128, 256, 512):
        fine = model_grid(cells, periodic, nested=False)
        errors.append((model(smooth(fine, torch.float64), at=target).values - exact).abs().max().item())
    orders = [math.log2(coarse / finer) for coarse, finer in pairwise(errors)]
    assert sum(orders) / len(orders) > 3.5


def model_grid(size: int, periodic: bool, nested: bool = True) -> Discretization:
    return Discretization.uniform(size if nested else size + 7, periodic=periodic)


def test_the_domain_may_be_anywhere():
    model = Interpolated("unet", {**TINY, "shape": [16]})
    values = torch.randn(25, 1)
    unit = model(Field(Discretization.uniform(25), values)).values
    far = model(Field(Discretization.uniform(25, bounds=[(3, 7)]), values)).values
    torch.testing.assert_close(far, unit)


def test_the_grid_is_the_commonest_of_the_inputs():
    grids = [Discretization.uniform((s, s + 1)) for s in (8, 10, 10, 12)]
    model = InterpolatedResNet.for_data(pairs(*grids), width=8)
    assert model.network.shape == (10, 11)
    assert InterpolatedUNet.for_data(pairs(*grids), width=8, grid=[6, 5]).network.shape == (6, 5)


def test_points_get_a_grid_of_about_as_many():
    some = Discretization.points(torch.rand(50, 2))
    many = Discretization.points(torch.rand(120, 2))
    data = [(Field(some, torch.randn(50, 1)), Field(many, torch.randn(120, 1)))]
    assert InterpolatedResNet.for_data(data, width=8).network.shape == (11, 11)


def test_each_kind_has_its_network():
    grid = Discretization.uniform(16)
    assert isinstance(InterpolatedResNet.for_data(pairs(grid)).network, ResNet)
    assert isinstance(InterpolatedUNet.for_data(pairs(grid)).network, UNet)
    assert isinstance(Interpolated.for_data(pairs(grid), network="unet").network, UNet)
    with pytest.raises(InvalidInputError, match="no grid network 'vgg'; there are resnet, unet"):
        Interpolated("vgg", {})
    with pytest.raises(InvalidInputError, match="no grid network 'vgg'"):
        Interpolated.for_data(pairs(grid), network="vgg")


def test_a_domain_of_another_kind_is_refused():
    model = Interpolated("resnet", {**TINY, "periodic": True, "shape": [16]})
    with pytest.raises(InvalidInputError, match=r"input .*\(False,\).*\(True,\)"):
        model(Field(Discretization.uniform(16), torch.randn(16, 1)))

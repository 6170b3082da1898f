"""The published form: the same values as with dense kernels, and what it refuses."""

import copy

import pytest
import torch

from iaenet import Discretization, Field, IAENet, InvalidInputError
from iaenet.models.published import PublishedIAENet
from tests.models.dense import densify


@pytest.mark.parametrize("d", [1, 2])
def test_equals_its_dense_form(d):
    model = PublishedIAENet(1, 2, d, width=6, latent=5, blocks=2).double()
    dense = densify(copy.deepcopy(model))
    grid = Discretization.uniform((26, 25)[:d])
    field = Field(grid, torch.randn(3, grid.n, 1, dtype=torch.float64))
    torch.testing.assert_close(model(field).values, dense(field).values, rtol=1e-9, atol=1e-10)


def test_lists_and_single_fields():
    model = PublishedIAENet(1, 1, width=6, latent=5, blocks=1)
    fields = [Field(Discretization.uniform(s), torch.randn(s, 1)) for s in (40, 50)]
    for field, found in zip(fields, model(fields), strict=True):
        torch.testing.assert_close(found.values, model(field).values)


def test_what_it_cannot_do_is_said():
    model = IAENet.from_preset("published", in_channels=1, out_channels=1)
    line = Field(Discretization.uniform(64), torch.randn(64, 1))
    with pytest.raises(InvalidInputError, match="own grid"):
        model(line, at=Discretization.uniform(32))
    with pytest.raises(InvalidInputError, match="tensor grids"):
        model(Field(Discretization.points([[0.1], [0.5]]), torch.randn(2, 1)))

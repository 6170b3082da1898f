"""Outputs of several channels: a strong one must not hide a weak one, nor one unit another."""

import math

import pytest
import torch

from iaenet import Discretization, Field, fit
from iaenet.functions.metrics import channel_l2, relative_l2
from iaenet.training.batches import Samples
from iaenet.training.config import TrainConfig
from iaenet.training.prepare import loss_for

GRID = Discretization.uniform(32, periodic=True)


def pairs(weak: float, count: int = 40):
    """Two channels of the output, the second `weak` times as large."""
    x = GRID.points
    found = []
    for i in range(count):
        wave = torch.sin(2 * math.pi * (x + i / count)) + 0.5 * torch.cos(4 * math.pi * (x - 3 * i / count))
        found.append((Field(GRID, wave.float()), Field(GRID, torch.cat([wave**2, weak * wave**3], dim=1).float())))
    return found


def words(*units: str):
    return {"outputs": [{"name": f"c{i}", "unit": unit} for i, unit in enumerate(units)]}


@pytest.mark.parametrize(
    ("weak", "units", "wanted"),
    [
        (1.0, ("m/s", "m/s"), "joint"),
        (1.0, ("m/s", "Pa"), "channels"),
        (0.01, ("1", "1"), "channels"),
        (0.0, ("1", "1"), "joint"),
        (1e-28, ("1", "1"), "channels"),
        (0.01, (), "channels"),
    ],
)
def test_units_and_sizes_choose_the_loss(weak, units, wanted):
    assert loss_for(Samples(pairs(weak, 4)), TrainConfig(), words(*units)) == wanted
    for said in ("joint", "channels"):
        config = TrainConfig().but(optimizer={"loss": said})
        assert loss_for(Samples(pairs(weak, 4)), config, words(*units)) == said


def test_mean_of_channels_is_that_of_each_whatever_their_scale():
    (_, wanted), (_, other) = pairs(1.0, 2)
    mean = relative_l2(other, wanted, by_channel=True)
    torch.testing.assert_close(mean.double(), channel_l2(other, wanted).mean(), rtol=1e-5, atol=0)
    scale = torch.tensor([1e-25, 1e20])
    scaled = [Field(GRID, one.values * scale) for one in (other, wanted)]
    torch.testing.assert_close(relative_l2(*scaled, by_channel=True), mean, rtol=1e-5, atol=0)


def test_a_weak_channel_is_learnt():
    data = pairs(0.001)
    errors = {}
    for loss in ("auto", "joint"):
        model = {"name": "fno", "width": 8, "modes": 6, "layers": 2}
        made = fit(model, data, epochs=20, threads=1, optimizer={"loss": loss})
        errors[loss] = torch.stack([channel_l2(made.predict(given), wanted) for given, wanted in data]).mean(dim=0)
    assert errors["auto"][1] < 0.5 * errors["joint"][1]

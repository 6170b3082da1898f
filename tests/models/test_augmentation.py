"""Resolution augmentation (eq. loss) with every model that takes other resolutions."""

import math

import pytest
import torch

import iaenet
from iaenet import Discretization, Field
from iaenet.models.registry import MODELS
from iaenet.training.config import TrainConfig

SMALL = {
    "iaenet": {
        "width": 8,
        "blocks": 1,
        "branches": [{"name": "point-iae", "latent": 8, "rank": 8}, {"name": "spectral-conv", "modes": 4}],
        "post": 4,
    },
    "published": {"width": 8, "latent": 8, "blocks": 1},
    "fno": {"width": 8, "modes": 4},
    "galerkin": {"width": 8},
    "fourier-transformer": {"width": 8},
    "unet-interpolation": {"width": 4},
    "resnet-interpolation": {"width": 8},
    "dgfno": {"width": 8, "modes": 4},
    "transolver": {"width": 16, "slices": 8},
    "gino": {"width": 8, "modes": 4},
}
FLEXIBLE = [name for name, kind in MODELS.items() if kind.accepts.resolutions and name != "function-to-vector"]


def waves(count):
    grid = Discretization.uniform(24, periodic=True)
    shifts = torch.rand(count, 1, 1, generator=torch.Generator().manual_seed(0))
    values = torch.sin(2 * torch.pi * (grid.points.float() + shifts))
    return [(Field(grid, value), Field(grid, value**3)) for value in values]


def test_every_flexible_model_is_here():
    assert set(SMALL) == set(FLEXIBLE)


@pytest.mark.parametrize("name", FLEXIBLE)
def test_trains_with_augmentation(name, tmp_path):
    pairs = waves(20)
    augment = {"weight": 1.0, "sizes": [16, 32]}
    model = iaenet.fit(
        {"name": name, **SMALL[name]}, pairs, tmp_path, epochs=6, batch_size=5, augment=augment, threads=1
    )
    losses = [
        entry["loss"] for entry in iaenet.training.run_folder.RunFolder(tmp_path).read_json("metrics.json")["epochs"]
    ]
    assert all(math.isfinite(loss) for loss in losses)
    assert losses[-1] < losses[0]
    fine = Discretization.uniform(48, periodic=True)
    assert model.predict(iaenet.interpolate(pairs[0][0], fine)).values.isfinite().all()


@pytest.mark.parametrize("name", ["deeponet", "unet"])
def test_bound_models_say_that_they_cannot(name):
    options = {"width": 8} if name == "deeponet" else {"width": 4}
    config = TrainConfig().but(epochs=1, augment={"weight": 1.0, "sizes": [16]})
    with pytest.raises(iaenet.InvalidInputError, match=r"sensor|grid"):
        iaenet.fit({"name": name, **options}, waves(10), config=config, threads=1)

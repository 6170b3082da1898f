"""Symmetries of a problem: on points as on grids, with signs of channels, and found from samples."""

import json

import pytest
import torch

import iaenet
from iaenet import Discretization, Field, InvalidInputError
from iaenet.functions.normalizer import Normalizer
from iaenet.models.base import Model
from iaenet.models.operator import Operator
from iaenet.training.batches import Samples
from iaenet.training.config import TrainConfig
from iaenet.training.found_symmetries import accepted, ratios
from iaenet.training.symmetries import symmetric, turns

GRID = Discretization.uniform((12, 12))


def chance(seed=0):
    return torch.Generator().manual_seed(seed)


def bumps(count, channels=1, grid=GRID, positive=False):
    """Sums of a few waves with random sizes, as often one way round as the other."""
    k = torch.arange(1, 4, dtype=torch.float64)
    waves = [torch.cos(torch.pi * grid.points[:, i : i + 1] * k) for i in range(grid.dim)]
    basis = waves[0] if grid.dim == 1 else (waves[0][:, :, None] * waves[1][:, None]).flatten(1)
    sizes = torch.randn(count, basis.shape[1], channels, generator=chance(3), dtype=torch.float64)
    values = torch.einsum("np,bpc->bnc", basis, sizes).float()
    return (values / 3).exp() if positive else values


class Truth(Model):
    """A given map, a tenth too large: a network that has learned it."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(1.1))

    def transform(self, values, source, target):
        return self.scale * self.map(values, source)


def found(truth, values, grid=GRID):
    """The ratios of a map that a network knows to a tenth."""
    network = Truth()
    network.map = truth
    pairs = [(Field(grid, a), Field(grid, truth(a[None], grid)[0])) for a in values]
    normalizers = Normalizer.fit(pairs)
    identity = Normalizer([0.0] * values.shape[-1], [1.0] * values.shape[-1])
    operator = Operator(network, normalizers[0], Normalizer([0.0], [1.0]))
    operator._normalised = lambda field, name: identity.apply(field)  # the map is one of the data's own units
    return ratios(operator, Samples(pairs))


def weighted(values, grid):
    """`u = a (1 + x)`: the second axis alone may be mirrored."""
    return values[..., :1] * (1 + grid.points[:, :1]).float()


def test_a_motion_is_a_symmetry_where_samples_moved_are_samples_like_others():
    assert accepted(found(weighted, bumps(24, positive=True))) == ["reflect-y"]
    assert accepted(found(lambda a, _: a**2, bumps(24, positive=True))) == ["reflect-x", "reflect-y", "swap-xy"]


def test_signs_of_channels_are_found():
    def slope(a, grid):
        return a[..., :1] * (grid.points[:, :1] - 0.5).float()

    names = accepted(found(slope, bumps(24, positive=True)))
    assert names == ["reflect-x:+/-", "reflect-y"]
    ratio = found(slope, bumps(24))
    assert ratio["reflect-x:-/+"][0] == pytest.approx(1.0, abs=1e-4)  # the input has both signs: either will do
    assert len([name for name in accepted(ratio) if name.startswith("reflect-x")]) == 1


def test_a_network_that_has_not_learned_tells_nothing():
    network = Truth()
    network.map = lambda a, _: 0.5 * a
    one = Normalizer([0.0], [1.0])
    pairs = Samples([(Field(GRID, a), Field(GRID, a)) for a in bumps(24)])
    assert ratios(Operator(network, one, one), pairs) == {}


def test_few_samples_tell_nothing():
    assert found(lambda a, _: a, bumps(8)) == {}


@pytest.mark.parametrize("name", ["reflect", "reflect-x", "swap-xy"])
def test_points_move_with_their_values(name):
    x = torch.rand(40, 2, generator=chance(5))
    where = Discretization.points(x, rule="monte-carlo")
    pair = Field(where, x.sum(1)[None, :, None]), Field(where, x[None] ** 2)
    seen = set()
    for seed in range(20):
        ((given, wanted),) = symmetric([pair], [name], chance(seed))
        assert given.discretization.key == wanted.discretization.key
        assert torch.equal(given.values, pair[0].values)
        seen.add(given.discretization.key)
    assert len(seen) == (4 if name == "reflect" else 2)


def test_signs_are_those_of_the_channels():
    pair = Field(GRID, bumps(8, channels=2)), Field(GRID, bumps(8))
    turn = turns("reflect-x:-+/+", 2)[0]
    given, wanted = turn.of_pair(pair)
    mirrored = pair[0].values.unflatten(1, (12, 12)).flip(1).flatten(1, 2)
    assert torch.equal(given.values, mirrored * torch.tensor([-1.0, 1.0]))
    assert torch.equal(wanted.values, pair[1].values.unflatten(1, (12, 12)).flip(1).flatten(1, 2))
    assert turn.name == "reflect-x:-+/+"
    with pytest.raises(InvalidInputError, match="signs -- for 1 channels"):
        turns("reflect-x:-+/--", 2)[0].of_pair(pair)


@pytest.mark.parametrize("name", ["reflect-w", "turn", "reflect-x:+", "swap", "shift-x"])
def test_names_that_mean_nothing_are_refused(name):
    with pytest.raises(InvalidInputError, match=r"augment\.symmetries: no symmetry"):
        TrainConfig().but(augment={"symmetries": [name]})


def test_an_axis_that_is_not_there_is_refused():
    with pytest.raises(InvalidInputError, match="no such axis in 1-D"):
        turns("reflect-y", 1)


@pytest.mark.parametrize("model", ["fno", pytest.param("iaenet", marks=pytest.mark.slow)])
def test_a_training_that_overfits_finds_and_uses_them(tmp_path, model):
    """`u = a + 0.3 a^2`: mirror images and exchanged axes."""
    pairs = [(Field(GRID, a), Field(GRID, a + 0.3 * a**2)) for a in bumps(100, positive=True)]
    options = {"validation": pairs[24:], "epochs": 40, "threads": 1, "batch_size": 4}
    small = {"name": model, "width": 16, **({"blocks": 1} if model == "iaenet" else {"layers": 2})}
    iaenet.fit(small, pairs[:24], tmp_path / "run", **options)
    found = json.loads((tmp_path / "run" / "symmetries.json").read_text())
    assert found["accepted"] == ["reflect-x", "reflect-y", "swap-xy"]
    iaenet.fit(small, pairs[:24], tmp_path / "none", **options, augment={"symmetries": ["none"]})
    assert not (tmp_path / "none" / "symmetries.json").exists()
    with_them, without = (json.loads((tmp_path / run / "metrics.json").read_text()) for run in ("run", "none"))
    assert with_them["epochs"][7] == without["epochs"][7]  # not before a fifth of the way
    assert with_them["best"]["validation"] < 0.9 * without["best"]["validation"]


def test_a_training_that_was_stopped_resumes_with_them(tmp_path):
    pairs = [(Field(GRID, a), Field(GRID, a + 0.3 * a**2)) for a in bumps(60, positive=True)]
    options = {"validation": pairs[16:], "epochs": 30, "threads": 1, "batch_size": 4, "save_seconds": 0.0}
    small = {"name": "fno", "width": 16, "layers": 2}

    class Stop:
        def start(self, run, config, step):
            pass

        def log(self, step, values):
            if step == 90:
                raise KeyboardInterrupt

        def finish(self):
            pass

    iaenet.fit(small, pairs[:16], tmp_path / "whole", **options)
    with pytest.raises(KeyboardInterrupt):
        iaenet.fit(small, pairs[:16], tmp_path / "stopped", **options, loggers=[Stop()])
    assert json.loads((tmp_path / "stopped" / "symmetries.json").read_text())["accepted"]
    iaenet.fit(small, pairs[:16], tmp_path / "stopped", **options)
    whole, stopped = ((tmp_path / run / "metrics.json").read_bytes() for run in ("whole", "stopped"))
    assert whole == stopped


def test_models_of_fixed_sensors_are_not_asked_elsewhere(tmp_path):
    where = Discretization.points(torch.rand(60, 2, generator=chance()), rule="monte-carlo")
    pairs = [(Field(where, a), Field(where, a**2)) for a in bumps(60, grid=where, positive=True)]
    iaenet.fit({"name": "deeponet", "width": 16}, pairs[:20], tmp_path, validation=pairs[20:], epochs=40, threads=1)


def test_a_training_that_does_not_overfit_looks_for_none(tmp_path):
    pairs = [(Field(GRID, a), Field(GRID, a + 0.3 * a**2)) for a in bumps(60)]
    small = {"name": "fno", "width": 8, "layers": 1}
    iaenet.fit(small, pairs, tmp_path / "run", validation=pairs, epochs=5, threads=1)
    assert not (tmp_path / "run" / "symmetries.json").exists()

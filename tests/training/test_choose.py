"""The network that is chosen on validation samples, within a budget."""

import json
import os
import signal
from itertools import pairwise

import pytest
import torch

from iaenet import Discretization, Field
from iaenet.models.candidates import candidates
from iaenet.models.presets import change_of
from iaenet.training import choose
from iaenet.training.choose import Chooser
from iaenet.training.config import TrainConfig
from iaenet.training.fit import fit
from iaenet.training.run_folder import RunFolder

TINY = {"name": "iaenet", "width": 8, "blocks": 1, "branches": [{"name": "spectral-conv", "modes": 4}], "post": 0}


def waves(count=40, n=32, power=2):
    """Inputs of three random waves, and a power of them."""
    grid = Discretization.uniform(n, periodic=True)
    chance = torch.Generator().manual_seed(0)
    k = torch.arange(1, 4)
    phases = 2 * torch.pi * torch.rand(count, 1, 3, generator=chance)
    values = torch.cos(2 * torch.pi * k * grid.points.float()[None] + phases).sum(-1, keepdim=True)
    return [(Field(grid, one), Field(grid, one**power)) for one in values]


def images(values, apart=False, image=lambda x: 1 - x):
    """Functions on the unit square to their mirror images; outputs elsewhere than inputs if `apart`."""
    chance = torch.Generator().manual_seed(0)
    grid = Discretization.tensor_grid(*[torch.linspace(0, 1, 32, dtype=torch.float64)] * 2)
    pairs = []
    for _ in range(20):
        a, b = torch.rand(2, generator=chance)
        if apart:
            grid = Discretization.points(torch.rand(60, 2, generator=chance, dtype=torch.float64))
            other = Discretization.points(torch.rand(90, 2, generator=chance, dtype=torch.float64))
        else:
            other = grid
        sides = (grid, grid.points.float()), (other, image(other.points.float()))
        pairs.append(tuple(Field(at, values(x, a, b)[:, None]) for at, x in sides))
    return pairs


def shifted(x):
    return x + 0.3


def jumps(image):
    return images(lambda x, a, b: torch.sign((x[:, 0] - a) * (x[:, 1] - b)), image=image)


def test_smooth_functions_have_one_candidate_and_jumps_convolutions_if_places_mean_the_same():
    smooth, facts = candidates(images(lambda x, a, b: torch.cos(torch.pi * (x[:, 0] + a)) + b))
    assert [one.name for one in smooth] == ["spectral"]
    assert facts.inputs_beyond < 0.02
    found, facts = candidates(jumps(shifted))
    assert [one.name for one in found] == ["spectral", "wide band", "local"]
    assert facts.outputs_beyond > 0.1
    assert facts.convolution_residual < 0.9
    found, facts = candidates(jumps(lambda x: 1 - x))
    assert [one.name for one in found] == ["spectral", "wide band"]
    assert facts.convolution_residual > 0.9


def test_a_constant_input_is_no_trouble():
    """That of a plate, whose domain is all that differs; normalised, it is zero."""
    pairs = [(Field(given.discretization, 0 * given.values), wanted) for given, wanted in jumps(shifted)]
    found, facts = candidates(pairs)
    assert found[0].name == "spectral"
    assert facts.convolution_residual == pytest.approx(1, abs=1e-3)


def test_of_outputs_near_the_inputs_the_change_is_learned(tmp_path, monkeypatch):
    """From the input itself, or from a linear map where that says much more, as of a step that is linear."""
    grid = Discretization.uniform((16, 16), periodic=True)
    states = [torch.cos(2 * torch.pi * (grid.points[:, :1] + t)).float() for t in torch.linspace(0, 1, 30)]
    linear = [(Field(grid, one), Field(grid, other)) for one, other in pairwise(states)]
    other = [(Field(grid, one), Field(grid, one + 0.1 * one**2 - 0.1 * one**3)) for one in states]
    scripted(monkeypatch, {"change": 0.5})
    for pairs, start in ((linear, 4), (other, "identity")):
        found, _ = candidates(pairs)
        assert [one.name for one in found] == ["change"]
        assert chosen(tmp_path / str(start), pairs).chosen.options == {"linear_start": start}


def test_a_map_that_knows_a_trajectory_by_heart_is_no_linear_step():
    """Waves that drift, of each trajectory at its own speed: states beside a held-out one in time tell its next."""
    grid, rng = Discretization.uniform((16, 16), periodic=True), torch.Generator().manual_seed(0)
    harmonics = torch.cartesian_prod(torch.arange(-6, 7), torch.arange(-6, 7)).double()
    pairs = []
    for _ in range(4):
        size, phase = torch.randn(2, len(harmonics), generator=rng, dtype=torch.float64)
        speed = 0.008 * torch.nn.functional.normalize(torch.randn(2, generator=rng, dtype=torch.float64), dim=0)
        drift = [2 * torch.pi * (grid.points - k * speed) @ harmonics.T + 3 * phase for k in range(31)]
        states = [Field(grid, (torch.cos(angle) @ size)[:, None].float()) for angle in drift]
        pairs += pairwise(states)
    found, facts = candidates(pairs)
    assert facts.linear_residual < change_of(pairs) / 2, "of every tenth sample, which is why that does not count"
    assert found[0].options == {"linear_start": "identity"}


def test_values_that_are_given_elsewhere_than_asked_for_are_a_case_for_kernels():
    found, _ = candidates(images(lambda x, a, b: a * x[:, 0] + b * x[:, 1], apart=True))
    assert "kernels" in [one.name for one in found]


def test_a_linear_map_is_known_as_one():
    found, facts = candidates(waves(power=1))
    assert facts.linear_residual < 1e-3
    assert [one.name for one in found] == ["spectral", "convolutions"]
    found, facts = candidates(waves(power=2))
    assert facts.linear_residual > 0.5
    assert [one.name for one in found] == ["convolutions", "spectral"]  # the likeliest without a linear start


def test_convolutions_reach_further_on_finer_latent_grids():
    chance = torch.Generator().manual_seed(0)
    for n, points in ((96, 3), (128, 5)):
        grid = Discretization.uniform(n, periodic=True)
        phases = torch.rand(40, 1, 1, generator=chance)
        shocks = torch.sign(torch.cos(2 * torch.pi * (grid.points.float() + phases)))  # no coarser grid holds them
        found, _ = candidates([(Field(grid, one), Field(grid, one.roll(n // 4, 0))) for one in shocks])
        local = next(one for one in found if one.name == "convolutions")
        assert local.options["branches"][1]["kernel_size"] == points


def test_in_a_periodic_square_a_unet_is_the_likeliest_where_no_linear_map_is_near():
    grid, chance = Discretization.uniform((16, 16), periodic=True), torch.Generator().manual_seed(0)
    phases = 2 * torch.pi * torch.rand(40, 2, 1, 1, generator=chance)
    x, y = (2 * torch.pi * grid.points.float()).unsqueeze(-1).unbind(1)
    fields = (x + phases[:, 0]).sin() + (y + phases[:, 1]).cos()
    for power, first in ((1, "spectral"), (2, "U-Net")):
        found, _ = candidates([(Field(grid, 3 * f), Field(grid, f.roll(40, 0) ** power)) for f in fields])
        assert found[0].name == first


def test_whoever_gives_branches_has_chosen(tmp_path, monkeypatch):
    scripted(monkeypatch, {})
    own = {"branches": [{"name": "spectral-conv", "modes": 3}], "width": 8}
    found = chosen(tmp_path, waves(power=2), own)
    assert [one.options for one in found.trials] == [own]


def test_on_a_line_trials_of_few_steps_are_not_judged(tmp_path, monkeypatch):
    scripted(monkeypatch, {"convolutions": 0.5, "spectral": 0.1}, steps=60)
    assert chosen(tmp_path, waves(power=2)).chosen.name == "convolutions"
    scripted(monkeypatch, {"convolutions": 0.5, "spectral": 0.1}, steps=100)
    assert chosen(tmp_path, waves(power=2)).chosen.name == "spectral"


@pytest.mark.slow
def test_every_candidate_can_be_trained_and_the_choice_is_written_down(tmp_path):
    pairs = images(lambda x, a, b: torch.sign((x[:, 0] - a) * (x[:, 1] - b)))
    fit("iaenet", pairs, tmp_path / "run", budget="8s cpu", threads=1, save_seconds=1e9)
    found = json.loads((tmp_path / "run" / "choice.json").read_text())
    assert found["chosen"] == found["trials"][0]["name"] == "spectral"
    assert not (tmp_path / "run" / "trials").exists()


def scripted(monkeypatch, errors, steps=100):
    """A chooser whose trials have these errors by name: of the short and of the long one, or of both."""

    def run(self, trial):
        found = errors.get(trial.name, 9.0)
        found = found[trial.share > choose.SHORT] if isinstance(found, tuple) else found
        count = round(steps * trial.share / choose.SHORT)
        done = choose.dataclasses.replace(trial, error=found, steps=count, seconds=1.0)
        self.done.append(done)
        return done

    monkeypatch.setattr(Chooser, "_run", run)


class Alone:
    """One process."""

    is_main = True


def chosen(tmp_path, pairs, given=(), **changes):
    folder = RunFolder(tmp_path)
    config = TrainConfig().but(budget="100s", **changes)
    return Chooser(None, None, None, config, folder, Alone()).choose(pairs, dict(given))


def test_another_network_must_be_clearly_better(tmp_path, monkeypatch):
    pairs = jumps(shifted)
    scripted(monkeypatch, {"spectral": 0.1, "local": 0.095, "wide band": 0.11})
    assert chosen(tmp_path, pairs).chosen.name == "spectral"
    scripted(monkeypatch, {"spectral": 0.1, "local": 0.05, "wide band": 0.07})
    assert chosen(tmp_path, pairs).chosen.name == "local"
    diverged = {f"{name}{start}": None for name in ("spectral", "local") for start in ("", " with a linear start")}
    scripted(monkeypatch, diverged)
    assert chosen(tmp_path, pairs).chosen.name.startswith("wide band")
    scripted(monkeypatch, {"spectral": (0.1, 0.08), "local": (0.4, 0.15), "wide band": 0.09})  # falls much faster
    assert chosen(tmp_path, pairs).chosen.name == "local"
    scripted(monkeypatch, {"spectral": 0.1, "local": 0.05}, steps=10)
    assert chosen(tmp_path, pairs).chosen.name == "spectral"  # ten steps tell nothing


def test_a_network_that_stays_above_the_linear_map_starts_from_it(tmp_path, monkeypatch):
    linear = images(lambda x, a, b: a * torch.cos(torch.pi * x[:, 0]) + b)
    scripted(monkeypatch, {"spectral": 0.3, "spectral with a linear start": 0.001})
    found = chosen(tmp_path, linear)
    assert found.chosen.options["linear_start"] == found.facts["linear_modes"] > 0
    scripted(monkeypatch, {"spectral": 1e-9})
    assert "linear_start" not in chosen(tmp_path, linear).chosen.options
    scripted(monkeypatch, {"spectral": 0.3})
    assert chosen(tmp_path, linear, {"linear_start": 0}).chosen.options["linear_start"] == 0


def test_the_rate_falls_with_the_steps_and_one_that_is_given_holds(tmp_path, monkeypatch):
    scripted(monkeypatch, {"spectral": 0.1}, steps=100)
    own = {"branches": [{"name": "spectral-conv", "modes": 3}]}  # leaves nothing to choose
    assert chosen(tmp_path, waves(), own).chosen.lr == pytest.approx(0.3 / (100 / 0.025 * 0.975) ** 0.5, rel=0.02)
    both = 1 - 2 * (0.025 + 0.05)  # of the budget is left after the trials of two
    assert chosen(tmp_path, waves()).chosen.lr == pytest.approx(0.3 / (100 / 0.025 * both) ** 0.5, rel=0.02)
    scripted(monkeypatch, {"spectral": 0.1}, steps=10**6)
    assert chosen(tmp_path, waves()).chosen.lr == 0.003
    assert chosen(tmp_path, waves(), optimizer={"lr": 0.01}).chosen.lr == 0.01


def test_a_run_that_was_stopped_in_a_trial_goes_on_there(tmp_path):
    pairs, run = waves(), tmp_path / "run"
    calls = 0

    def interrupting(_title):
        def show(done, _total, _note=""):
            nonlocal calls
            calls += 1
            if calls == 3:
                os.kill(os.getpid(), signal.SIGINT)

        return show

    with pytest.raises(KeyboardInterrupt):
        fit(TINY, pairs, run, budget="3s cpu", threads=1, progress=interrupting)
    assert (run / "trials" / "0" / "checkpoints").is_dir()
    fit(TINY, pairs, run, budget="3s cpu", threads=1)
    found = json.loads((run / "choice.json").read_text())
    assert [one["name"] for one in found["trials"]] == ["spectral"]
    assert RunFolder(run).read_json("metrics.json")["best"]["validation"] < 1
    assert not (run / "trials").exists()

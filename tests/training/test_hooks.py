"""Training beside other tools: a loss of one's own, loggers, fine-tuning, more epochs, members, complex weights."""

import json
import shutil

import pytest
import torch
import yaml
from torch import nn

from iaenet import Discretization, Field, InvalidInputError, Model, differentiable, fit, gradient, load, relative_l2
from iaenet.cli.main import main
from iaenet.data.file_writer import write_dataset
from iaenet.data.problems.problem import Channel
from iaenet.models.ensemble import Ensemble, fingerprint
from iaenet.training.loggers import LOGGERS, TensorBoard
from tests.trainings import TINY, Stopper, give_up, outcome, waves

SHORT = {"batch_size": 8, "threads": 1}
FEW = ["--epochs", "2", "--batch_size", "8", "--threads", "1"]
ARGUMENTS = ["--model.name", "fno", "--model.width", "8", "--model.modes", "4", *FEW]


@pytest.fixture
def file(tmp_path):
    pairs = waves(24)
    splits = ["train"] * 16 + ["validation"] * 4 + ["test"] * 4
    write_dataset(tmp_path / "waves.h5", pairs, splits=splits, inputs=[Channel("a")], outputs=[Channel("u")])
    return tmp_path / "waves.h5"


# ------------------------------------------------------------------ loss


def test_the_usual_loss_as_a_hook_gives_the_same_weights(tmp_path):
    def loss(model, given, wanted):
        return relative_l2(model(given, wanted.discretization), wanted)

    runs = [fit(TINY, waves(20), tmp_path / str(i), epochs=2, **SHORT, **({"loss": loss} if i else {})) for i in (0, 1)]
    assert fingerprint(runs[0]) == fingerprint(runs[1])


def test_a_loss_of_derivatives_is_lowered(tmp_path):
    """H1 instead of L2: derivatives at query points, in every step."""
    calls = []

    def loss(model, given, wanted):
        at = differentiable(given.discretization)
        slope = gradient(model(given, at).values, at)[..., 0]
        k = torch.fft.rfftfreq(given.discretization.n, 1 / given.discretization.n)[:, None]
        true = torch.fft.irfft(2j * torch.pi * k * torch.fft.rfft(wanted.values, dim=1), dim=1)
        found = (slope - true).square().mean((1, 2)).sqrt()
        calls.append(float(found.mean().detach()))
        return found

    fit(TINY, waves(24, grids=(32,)), tmp_path / "run", epochs=12, loss=loss, optimizer={"lr": 0.01}, **SHORT)
    assert sum(calls[-3:]) < 0.3 * sum(calls[:3])


@pytest.mark.parametrize(
    "loss", [lambda m, a, u: 1.0, lambda m, a, u: m(a).values.sum(), lambda m, a, u: torch.ones(len(a.values))]
)
def test_a_loss_that_is_none_is_refused(loss, tmp_path):
    with pytest.raises(InvalidInputError, match="one number for each function, with a gradient"):
        fit(TINY, waves(12), tmp_path / "run", epochs=1, loss=loss, **SHORT)
    assert not (tmp_path / "run").exists()


# ------------------------------------------------------------------ loggers


class Notes:
    """A logger of one's own."""

    def __init__(self):
        self.started, self.points, self.finished = [], [], 0

    def start(self, run, config, step):
        self.started.append((run.name, config["epochs"], step))

    def log(self, step, values):
        self.points += [(step, name, value) for name, value in values.items()]

    def finish(self):
        self.finished += 1


def test_a_logger_sees_every_step_and_epoch(tmp_path):
    notes = Notes()
    fit(TINY, waves(20), tmp_path / "run", epochs=3, loggers=[notes], **SHORT)
    assert notes.started == [("run", 3, 0)]
    assert notes.finished == 1
    history = json.loads((tmp_path / "run" / "metrics.json").read_text())["epochs"]
    validation = [(step, value) for step, name, value in notes.points if name == "validation"]
    assert validation == [(entry["step"], entry["validation"]) for entry in history]
    losses = [step for step, name, _ in notes.points if name == "batch_loss"]
    assert losses == list(range(1, history[-1]["step"] + 1))


def test_loggers_are_finished_after_a_stop_and_told_where_it_resumes(tmp_path):
    notes = Notes()
    options = {"epochs": 3, "loggers": [notes], **SHORT, "save_seconds": 0}
    with pytest.raises(InterruptedError):
        fit(TINY, waves(20), tmp_path / "run", progress=Stopper(4, give_up), **options)
    assert notes.finished == 1
    fit(TINY, waves(20), tmp_path / "run", **options)
    assert [step for _, _, step in notes.started] == [0, 3]


def test_tensorboard_curves(file, tmp_path, capsys):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = tmp_path / "run"
    arguments = ["train", "--data", str(file), "--run", str(run), *ARGUMENTS]
    assert main([*arguments, "--logger", "tensorboard"]) == 0
    events = EventAccumulator(str(run / "tensorboard")).Reload()
    history = json.loads((run / "metrics.json").read_text())["epochs"]
    shown = [(event.step, event.value) for event in events.Scalars("validation")]
    assert shown == [(entry["step"], pytest.approx(entry["validation"])) for entry in history]
    assert main([*arguments, "--logger", "tensorbord"]) == 2
    assert "did you mean tensorboard?" in capsys.readouterr().err


def test_tensorboard_that_is_not_installed(monkeypatch):
    monkeypatch.setattr("iaenet.training.loggers.find_spec", lambda name: None)
    with pytest.raises(InvalidInputError, match=r"pip install 'iaenet\[tensorboard\]'"):
        TensorBoard()
    assert "tensorboard" in LOGGERS


# ------------------------------------------------------------------ fine-tuning and more epochs


def test_fine_tuning_begins_where_the_model_was(tmp_path):
    base = fit(TINY, waves(24), tmp_path / "base", epochs=4, **SHORT)
    before = fingerprint(base)
    tuned = fit(
        load(tmp_path / "base"), waves(12, seed=3), tmp_path / "tuned", epochs=1, optimizer={"lr": 1e-9}, **SHORT
    )
    field = waves(1, seed=5)[0][0]
    assert torch.allclose(tuned.predict(field).values, base.predict(field).values, atol=1e-5)
    assert fingerprint(base) == before
    config = yaml.safe_load((tmp_path / "tuned" / "config.yaml").read_text())
    assert (config["from"], config["weights"]) == (str(tmp_path / "base"), before)
    again = load(tmp_path / "tuned")
    assert torch.equal(again.predict(field).values, tuned.predict(field).values)
    assert again.input_normalizer.mean.equal(base.input_normalizer.mean)
    grid = Discretization.uniform(8, periodic=True)
    other = [(Field(grid, torch.rand(8, 2)), Field(grid, torch.rand(8, 1))) for _ in range(4)]
    with pytest.raises(InvalidInputError, match="inputs have 2 channels, but the model to start from has 1"):
        fit(base, other, epochs=1, **SHORT)


def test_fine_tuning_by_command_resumes_without_its_base(file, tmp_path, capsys):
    base, tuned = tmp_path / "base", tmp_path / "tuned"
    assert main(["train", "--data", str(file), "--run", str(base), *ARGUMENTS]) == 0
    command = ["train", "--from", str(base), "--data", str(file), "--run", str(tuned), *FEW]
    assert main(command) == 0
    before = outcome(tuned)
    assert main([*command, "--model.width", "16"]) == 2
    assert "leave out --model.width" in capsys.readouterr().err
    shutil.move(base, tmp_path / "elsewhere")
    assert main(["train", "--resume", str(tuned)]) == 0
    assert outcome(tuned) == before
    assert main(["train", "--resume", str(tuned), "--epochs", "3"]) == 0
    assert main(["train", "--from", str(base), "--data", str(file), "--run", str(tmp_path / "new"), *FEW]) == 2
    assert "is no training run" in capsys.readouterr().err


def test_more_epochs_for_a_finished_run(tmp_path):
    run = tmp_path / "run"
    options = {"validation": waves(6, seed=1), "save_seconds": 0, **SHORT}
    fit(TINY, waves(24), run, epochs=3, **options)
    first = json.loads((run / "metrics.json").read_text())["epochs"]
    shutil.copytree(run, tmp_path / "other")
    fit(TINY, waves(24), run, epochs=6, **options)
    history = json.loads((run / "metrics.json").read_text())["epochs"]
    assert history[:3] == first
    assert [entry["epoch"] for entry in history] == [1, 2, 3, 4, 5, 6]
    assert history[3]["lr"] > 0.5 * first[0]["lr"] > 10 * first[-1]["lr"]  # a schedule of its own
    with pytest.raises(InterruptedError):
        fit(TINY, waves(24), tmp_path / "other", epochs=6, **options, progress=Stopper(11, give_up))
    with pytest.raises(InvalidInputError, match="epochs 6, not 9"):
        fit(TINY, waves(24), tmp_path / "other", epochs=9, **options)  # not finished yet
    fit(TINY, waves(24), tmp_path / "other", epochs=6, **options)
    assert outcome(tmp_path / "other") == outcome(run)
    with pytest.raises(InvalidInputError, match="epochs 6, not 4"):
        fit(TINY, waves(24), run, epochs=4, **options)


# ------------------------------------------------------------------ members


def test_members_are_trained_resumed_and_averaged(file, tmp_path, capsys):
    run = tmp_path / "run"
    command = ["train", "--data", str(file), "--run", str(run), *ARGUMENTS]
    assert main([*command, "--members", "2"]) == 0
    shutil.rmtree(run / "member-1")
    assert main(["train", "--resume", str(run)]) == 0
    model = load(run)
    assert isinstance(model, Ensemble)
    field = waves(1, seed=7)[0][0]
    outputs = [member.predict(field).values for member in model.members]
    assert not torch.allclose(outputs[0], outputs[1])
    assert torch.allclose(model.predict(field).values, sum(outputs) / 2)
    assert main(["report", str(run)]) == 0
    assert "fno, 2 members" in (run / "report.html").read_text()
    assert main(command) == 2
    assert "holds an ensemble of 2" in capsys.readouterr().err
    assert main([*command, "--members", "3"]) == 0
    assert len(load(run).members) == 3
    with pytest.raises(InvalidInputError, match="by name"):
        fit(nn.Linear(1, 1), waves(8), members=2)


# ------------------------------------------------------------------ complex weights


class Multiplier(Model):
    """`u = Re F^-1 (R F a)` with a complex factor for each frequency."""

    def __init__(self, modes: int = 5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(modes, dtype=torch.complex64))
        self.matrix = nn.Parameter(torch.eye(8, dtype=torch.complex64))
        self.muon = ("matrix",)
        self.bias = nn.Parameter(torch.zeros(1))

    def transform(self, values, source, target):
        spectrum = torch.fft.rfft(values, dim=1)
        kept = spectrum[:, : len(self.weight)] * self.weight[:, None] * self.matrix.diagonal().mean()
        return torch.fft.irfft(kept, n=values.shape[1], dim=1) + self.bias


@pytest.mark.parametrize("optimizer", [{"name": "adam"}, {"name": "adamw", "ema": 0.9}, {"name": "muon"}])
def test_complex_weights_are_trained_and_kept(optimizer, tmp_path):
    pairs = waves(40)
    model = fit(Multiplier(), pairs, tmp_path / "run", epochs=12, optimizer={**optimizer, "lr": 0.05}, **SHORT)
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["best"]["validation"] < 0.5 * metrics["epochs"][0]["validation"]
    again = load(tmp_path / "run", Multiplier())
    assert torch.equal(again.network.weight, model.network.weight)
    assert again.network.weight.dtype == torch.complex64

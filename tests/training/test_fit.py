"""`fit` and `load`: the same from Python as from the command line, the same twice, and nothing but data in files."""

import os
import pickle
import shutil

import pytest
import torch
import yaml

import iaenet
from iaenet import CorruptFileError, Discretization, Field, InvalidInputError, Model, fit, load, write_dataset
from iaenet.cli.main import main
from iaenet.data.problems.problem import Channel
from iaenet.models.base import Accepts
from iaenet.models.operator import Operator
from iaenet.training.checkpoint import SUMS, load_checkpoint, save_checkpoint
from iaenet.training.prepare import split_data
from iaenet.training.run_folder import RunFolder
from tests.trainings import TINY, Dropping, outcome, waves

CHANNELS = {"inputs": [Channel("u(x, 0)", "m/s")], "outputs": [Channel("u(x, t)", "m/s")]}
BRIEF = {"epochs": 2, "batch_size": 6, "threads": 1}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A data file of mixed resolutions and random points."""
    path = tmp_path_factory.mktemp("data") / "waves.h5"
    pairs = waves(20, grids=(16, 24), points=(18,))
    write_dataset(path, pairs, splits=["test"] * 3 + ["train"] * 14 + ["validation"] * 3, **CHANNELS)
    return path


@pytest.fixture(scope="module")
def made(file, tmp_path_factory):
    """A run from Python."""
    run = tmp_path_factory.mktemp("made") / "run"
    torch.set_num_threads(1)
    fit(TINY, file, run, **BRIEF)
    return run


def weights(run):
    return load(run).state_dict()


# ------------------------------------------------------------------ the same


def test_the_command_line_gives_the_same_weights(file, made, tmp_path, capsys):
    options = [part for key, value in TINY.items() for part in (f"--model.{key}", str(value))]
    options += [part for key, value in BRIEF.items() for part in (f"--{key}", str(value))]
    assert main(["train", "--data", str(file), "--run", str(tmp_path / "run"), *options]) == 0
    assert outcome(tmp_path / "run") == outcome(made)


def test_twice_is_the_same(file, made, tmp_path):
    again = fit(TINY, file, tmp_path / "run", **BRIEF)
    assert (tmp_path / "run" / "metrics.json").read_bytes() == (made / "metrics.json").read_bytes()
    assert outcome(tmp_path / "run") == outcome(made)
    assert all(torch.equal(again.state_dict()[name], value) for name, value in weights(made).items())


def test_options_of_another_version_are_named(made):
    document = load(made).to_json()
    document["model"]["options"]["wings"] = 2
    with pytest.raises(InvalidInputError, match=r"made by another version of iaenet.*'wings'"):
        Operator.from_json(document)


def test_another_seed_is_another_training(file, made, tmp_path):
    fit(TINY, file, tmp_path / "run", **BRIEF, seed=1)
    assert (tmp_path / "run" / "metrics.json").read_bytes() != (made / "metrics.json").read_bytes()


def test_a_model_by_name_by_options_or_as_an_object(file, tmp_path):
    assert type(fit("fno", file, **{**BRIEF, "epochs": 1}).network).__name__ == "FNO"
    mine = Dropping()
    trained = fit(mine, file, tmp_path / "own", **BRIEF)
    assert trained.network is mine
    with pytest.raises(InvalidInputError, match=r"load\(run, MyNet\(\)\)"):
        load(tmp_path / "own")
    again = load(tmp_path / "own", Dropping())
    field = waves(1)[0][0]
    assert torch.equal(again.predict(field).values, trained.predict(field).values)
    with pytest.raises(InvalidInputError, match="another network"):
        load(tmp_path / "own", Dropping(width=9))


def test_a_run_is_not_needed(file):
    before = sorted(os.listdir())
    model = fit(TINY, waves(12), **BRIEF)
    assert model.predict(waves(1)[0][0]).values.shape == (16, 1)
    assert sorted(os.listdir()) == before


def test_what_is_loaded_knows_where_it_comes_from(made):
    about = load(made).metadata
    assert about["inputs"] == [{"name": "u(x, 0)", "unit": "m/s"}]
    assert about["trained"]["points"] == [16, 24]
    assert about["trained"]["kinds"] == ["point set", "tensor grid"]
    assert about["data"]["content"] == iaenet.load_dataset(about["data"]["data"]).content_hash


def test_the_configuration_is_kept_as_resolved(made, file):
    config = yaml.safe_load((made / "config.yaml").read_text())
    assert config["model"] == TINY
    assert config["data"] == str(file)
    assert config["epochs"] == 2
    assert config["schedule"]["name"] == "cosine"
    assert len((made / "log.jsonl").read_text().splitlines()) == 2
    assert (made / "curves.png").read_bytes()[:4] == b"\x89PNG"


# ------------------------------------------------------------------ splits


def test_training_never_sees_test_or_validation(file):
    pairs, held, _ = split_data(file, None, None)
    data = iaenet.load_dataset(file)
    assert [pairs.entry(i).split for i in range(len(pairs))] == ["train"] * 14
    assert [held.entry(i).split for i in range(len(held))] == ["validation"] * 3
    assert len(data) == 20


@pytest.mark.parametrize("records", [None, [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4]])
def test_without_validation_samples_some_records_are_held_back(tmp_path, records):
    path = tmp_path / "a.h5"
    splits = ["test"] * 4 + ["train"] * 8
    write_dataset(path, waves(12), splits=splits, records=records, **CHANNELS)
    pairs, held, _ = split_data(path, None, None)
    entries = [[part.entry(i) for i in range(len(part))] for part in (pairs, held)]
    assert {entry.split for part in entries for entry in part} == {"train"}
    kept, away = ({entry.record for entry in part} for part in entries)
    assert not kept & away
    assert len(pairs) + len(held) == 8
    assert held


def test_one_resolution_of_a_file(file, tmp_path):
    model = fit(TINY, file, resolution=24, **BRIEF)
    assert model.metadata["trained"]["points"] == [24, 24]
    with pytest.raises(InvalidInputError, match="resolution 99"):
        fit(TINY, file, resolution=99, **BRIEF)


def test_one_sample_leaves_none_to_validate_on():
    with pytest.raises(InvalidInputError, match="validation="):
        fit(TINY, waves(1), **BRIEF)


def test_statistics_are_of_training_samples_only(tmp_path):
    pairs = waves(12)
    far = [(Field(f.discretization, 100 + f.values), g) for f, g in waves(3, seed=1)]
    model = fit(TINY, pairs, validation=far, **BRIEF)
    assert abs(model.input_normalizer.mean.item()) < 1
    plain = fit(TINY, pairs, validation=far, normalize=False, **BRIEF)
    assert (plain.input_normalizer.mean.item(), plain.input_normalizer.std.item()) == (0, 1)


# ------------------------------------------------------------------ going on


def test_a_changed_option_is_refused_by_name(file, made, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(made, run)
    before = outcome(run)
    for changes, named in [
        ({"epochs": 1}, "epochs 2, not 1"),
        ({"optimizer": {"lr": 0.1}}, "optimizer.lr 0.0, not 0.1"),
        ({"threads": 2}, "threads 1, not 2"),
        ({"augment": {"symmetries": ["shift"]}}, "augment.symmetries"),
    ]:
        with pytest.raises(InvalidInputError, match=named):
            fit(TINY, file, run, **{**BRIEF, **changes})
    with pytest.raises(InvalidInputError, match=r"model\.width 8, not 9"):
        fit({**TINY, "width": 9}, file, run, **BRIEF)
    with pytest.raises(InvalidInputError, match=r"model\.head None, not 2"):
        fit({**TINY, "head": 2}, file, run, **BRIEF)
    other = tmp_path / "other.h5"
    write_dataset(other, waves(20, seed=3), splits=["train"] * 17 + ["validation"] * 3, **CHANNELS)
    with pytest.raises(InvalidInputError, match="content"):
        fit(TINY, other, run, **BRIEF)
    with pytest.raises(InvalidInputError, match="resolution None, not 16"):
        fit(TINY, file, run, resolution=16, **BRIEF)
    assert outcome(run) == before


def test_the_file_may_move_and_checkpoints_may_be_rarer(file, made, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(made, run)
    shutil.copy(file, tmp_path / "moved.h5")
    fit(TINY, tmp_path / "moved.h5", run, **BRIEF, save_seconds=5)
    assert (run / "metrics.json").read_bytes() == (made / "metrics.json").read_bytes()


def test_other_samples_than_before_are_refused(tmp_path):
    fit(TINY, waves(12), tmp_path / "run", **BRIEF)
    fit(TINY, waves(12), tmp_path / "run", **BRIEF)
    with pytest.raises(InvalidInputError, match="content"):
        fit(TINY, waves(12, seed=1), tmp_path / "run", **BRIEF)
    fit(TINY, waves(12), tmp_path / "held", validation=waves(3, seed=2), **BRIEF)
    with pytest.raises(InvalidInputError, match="validation"):
        fit(TINY, waves(12), tmp_path / "held", validation=waves(3, seed=3), **BRIEF)


# ------------------------------------------------------------------ loading


def test_no_run_is_told(tmp_path):
    with pytest.raises(InvalidInputError, match="no training run"):
        load(tmp_path / "none")
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(InvalidInputError, match="no step checkpoint"):
        load(tmp_path)


def test_a_damaged_best_checkpoint_is_told(made, tmp_path):
    shutil.copytree(made, tmp_path / "run")
    (path,) = (tmp_path / "run").glob("checkpoints/best-*/weights.safetensors")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptFileError, match="every best checkpoint is damaged"):
        load(tmp_path / "run")


def test_before_the_first_validation_the_newest_weights_are_loaded(made, tmp_path):
    shutil.copytree(made, tmp_path / "run")
    (best,) = (tmp_path / "run").glob("checkpoints/best-*")
    shutil.rmtree(best)
    (newest,) = (tmp_path / "run").glob("checkpoints/step-*")
    parts = load_checkpoint(newest)[1]
    assert all(torch.equal(weights(tmp_path / "run")[name], value) for name, value in parts["weights"].items())


class Canary(Model):
    """Would leave a trace if it were made."""

    accepts = Accepts(True, True, True)

    def __init__(self, path: str) -> None:
        super().__init__()
        with open(path, "w") as file:
            file.write("made")


@pytest.mark.parametrize("name", ["tests.test_runs.Canary", "Canary", "os.system", "builtins.exec", ""])
def test_a_checkpoint_can_only_name_models_that_are_registered(made, tmp_path, name):
    """Even one whose hashes match."""
    run, canary = tmp_path / "run", tmp_path / "canary"
    shutil.copytree(made, run)
    (best,) = run.glob("checkpoints/best-*")
    state, parts = load_checkpoint(best)
    shutil.rmtree(best)
    state["operator"]["model"] = {"name": name, "options": {"path": str(canary)}}
    save_checkpoint(best, state, **parts)
    with pytest.raises(InvalidInputError, match="no model"):
        load(run)
    assert not canary.exists()


class Hostile:
    def __init__(self, canary):
        self.canary = str(canary)

    def __reduce__(self):
        return os.system, (f"touch {self.canary}",)


@pytest.mark.parametrize("name", ["weights.safetensors", "state.json", SUMS, "weights.pt"])
def test_a_hostile_pickle_in_a_run_is_not_run(made, tmp_path, name, caplog):
    run, canary = tmp_path / "run", tmp_path / "canary"
    shutil.copytree(made, run)
    for folder in run.glob("checkpoints/*"):
        (folder / name).write_bytes(pickle.dumps(Hostile(canary)))
    with pytest.raises(CorruptFileError, match="every best checkpoint is damaged"):
        load(run)
    with pytest.raises(CorruptFileError, match="every step checkpoint is damaged"):
        fit(TINY, load_data(made), run, **BRIEF)
    assert not canary.exists()


def load_data(run):
    return yaml.safe_load((run / "config.yaml").read_text())["data"]


def test_a_hostile_configuration_in_a_run_is_not_run(made, tmp_path):
    run, canary = tmp_path / "run", tmp_path / "canary"
    shutil.copytree(made, run)
    with open(run / "config.yaml", "a") as file:
        file.write(f"extra: !!python/object/apply:os.system ['touch {canary}']\n")
    for text in ((run / "config.yaml").read_text(), "just words", "a: [1"):
        (run / "config.yaml").write_text(text)
        fit(TINY, load_data(made), run, **BRIEF)  # what counts is in the checkpoints
        assert (run / "config.yaml").read_bytes() == (made / "config.yaml").read_bytes()
    assert not canary.exists()


def test_an_untrained_folder_takes_any_configuration(file, tmp_path):
    """Without a checkpoint there is nothing to go on with."""
    run = RunFolder(tmp_path / "run")
    fit(TINY, file, run.path, **BRIEF)
    shutil.rmtree(run.checkpoints)
    left = yaml.safe_load((run.path / "config.yaml").read_text())
    (run.path / "config.yaml").write_text(yaml.safe_dump(left | {"epochs": 77}))
    fit(TINY, file, run.path, **BRIEF)
    assert yaml.safe_load((run.path / "config.yaml").read_text())["epochs"] == 2


def test_a_network_on_another_domain_is_refused_before_a_folder_is_made(tmp_path):
    grid = Discretization.uniform(16)
    pairs = [(Field(grid, torch.rand(16, 1)), Field(grid, torch.rand(16, 1))) for _ in range(4)]
    mixed = [*pairs, *waves(4)]
    with pytest.raises(InvalidInputError, match="periodic"):
        fit(TINY, mixed, tmp_path / "run", **BRIEF)
    assert not (tmp_path / "run").exists()
    with pytest.raises(InvalidInputError, match="no model"):
        fit("fourier-net", pairs, tmp_path / "run", **BRIEF)
    with pytest.raises(InvalidInputError, match="widht"):
        fit({"name": "iaenet", "widht": 3}, pairs, tmp_path / "run", **BRIEF)
    with pytest.raises(InvalidInputError, match="name"):
        fit({"width": 3}, pairs, tmp_path / "run", **BRIEF)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (TINY, {"lr": 0.1}, r"no option 'lr'; it is called optimizer\.lr"),
        (TINY, {"optimizer_name": "adam"}, r"no option 'optimizer_name'; it is called optimizer\.name"),
        (TINY, {"batchsize": 3}, r"no option 'batchsize'; did you mean batch_size\?"),
        (TINY, {"optimizer": {"learn_rate": 3}}, r"no option 'optimizer\.learn_rate'"),
        ({"name": "iaenet", "widht": 3}, {}, r"model iaenet: no option 'widht'; did you mean width\?"),
        ({"name": "resnet-interpolation", "widht": 3}, {}, r"no option 'widht'; did you mean width\?"),
        ({"name": "function-to-vector", "widht": 3}, {}, r"no option 'widht'; did you mean width\?"),
        ({"name": "fno", "width": "wide"}, {}, "model fno: width must be a whole number, got 'wide'"),
        (TINY, {"device": "abacus"}, "device 'abacus' cannot be used"),
    ],
)
def test_a_typo_is_answered_with_the_right_name(model, options, message):
    with pytest.raises(InvalidInputError, match=message):
        fit(model, waves(4), epochs=1, **options)

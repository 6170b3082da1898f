"""Attacks that 0.1 did not withstand: silent wrong answers, hangs, bombs, tracebacks. One line, exit code 2."""

import json
import os
import shutil

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError, check_model, fit, load, load_dataset, write_dataset
from iaenet.cli.main import main
from iaenet.data.pool import most_workers, pool
from iaenet.data.problems.problem import Channel
from iaenet.errors import CorruptFileError
from iaenet.training.checkpoint import load_checkpoint, save_checkpoint
from iaenet.training.run_folder import RunFolder
from tests.attacks.base import MODEL, contents, mistake
from tests.trainings import waves

LARGE = "1000000000000"

# ---------------------------------------------------------------------- the command line and configurations

CONFIGS = {
    "latin.yaml": ("data: wavé.h5\n".encode("latin-1"), "byte 9 .line 1. is 0xe9, which is not UTF-8"),
    "deep.yaml": (b"data: " + b"[" * 2000 + b"]" * 2000, "nested too deeply"),
    "itself.yaml": (b"data: &a [*a]", "nested too deeply"),
    "aliases.yaml": (
        b"a0: &a0 [1, 1]\n"
        + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 9)),
        "aliases stand for more than 100000",
    ),
    "nul.yaml": (b'data: "a\\0b.h5"\n', "line 1: 'a.x00b.h5' has a character"),
    "model.yaml": (b"data: waves.h5\nmodel: null\n", "model needs a name|Option 'data'|Option 'model'|no option"),
    "long.yaml": (b"# " + b"x" * 2**19, "524 kB of text"),
}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("command", [("train",), ("generate", "burgers"), ("inspect", "waves.h5")])
def test_configurations(name, command, here, capsys):
    import re

    content, message = CONFIGS[name]
    if name == "deep.yaml" and command != ("train",):  # the parser takes its time
        content = content.replace(b"[" * 1900, b"").replace(b"]" * 1900, b"")
    (here / name).write_bytes(content)
    said = mistake(capsys, *command, "--config", name)
    assert re.search(message, said), said


@pytest.mark.parametrize("path", ["pipe", "/dev/zero", "run"])
def test_what_is_no_regular_file(path, here, capsys):
    os.mkfifo("pipe")
    assert "regular file" in mistake(capsys, "train", "--config", path) or path == "run"
    if path != "run":
        os.rename("pipe", "pipe.npz")
        for arguments in (("import", "npz", "pipe.npz", "--inputs", "a", "--outputs", "u", "--out", "i.h5"),):
            assert "regular file" in mistake(capsys, *arguments)


BAD_OPTIONS = [
    (("inspect", "waves.h5", "--samples", "0"), "at least 1"),
    (("inspect", "waves.h5", "--samples", "5000"), "at most 50"),
    (("evaluate", "run", "--samples", LARGE), "at most 50"),
    (("evaluate", "run", "--resolutions", LARGE), "no pair of resolution"),
    (("certify", "run", "--resolutions", f"16,{LARGE}"), "needs .* of memory.*IAENET_MEMORY="),
    (("predict", "run", "--input", "waves.h5", "--output", "o.h5", "--at", LARGE), "needs .* of memory"),
    (("predict", "run", "--input", "waves.h5", "--output", "o.h5", "--device", "nowhere"), "device 'nowhere'"),
    (("predict", "run", "--input", "waves.h5", "--output", "o.h5", "--device", "hpu"), "device 'hpu'"),
    (("evaluate", "run", "--device", "meta"), "device 'meta'"),
    (("train", "--data", "waves.h5", "--device", "cuda:99", "--run", "r"), "device 'cuda:99'"),
    (("train", "--data", "waves.h5", "--epochs", LARGE, "--run", "r"), "epochs must be at most"),
    (("train", "--data", "waves.h5", "--model.name", "fno", "--model.width", "-1", "--run", "r"), "model fno"),
    (("train", "--data", "waves.h5", "--model.name", "fno", "--model.width", LARGE, "--run", "r"), "memory"),
    (("generate", "burgers", "--samples", "1000000000", "--resolutions", "64", "--out", "g.h5"), "at most 10000000"),
    (("generate", "burgers", "--samples", "2", "--resolutions", LARGE, "--out", "g.h5"), "needs 64 TB"),
    (("generate", "darcy", "--samples", "2", "--resolutions", "1000000", "--out", "g.h5"), "needs 64 TB"),
    (("inspect", "wav\udce9.h5"), "a character that no name may have"),
    (("train", "--data", "a\0b"), "a character that no name may have"),
]


@pytest.mark.parametrize(
    ("arguments", "message"),
    BAD_OPTIONS,
    ids=lambda given: " ".join(given[:1] + given[-2:]) if isinstance(given, tuple) else "",
)
def test_options(arguments, message, here, capsys):
    import re

    before = contents(here)
    said = mistake(capsys, *arguments)
    assert re.search(message, said), said
    assert contents(here) == before


def test_a_limit_can_be_raised_and_lowered(here, capsys, monkeypatch):
    monkeypatch.setenv("IAENET_MEMORY", "1K")
    said = mistake(capsys, "predict", "run", "--input", "waves.h5", "--output", "o.h5", "--at", "512")
    assert "needs 49.2 kB of memory, but only 1 kB are allowed; if it is right, set IAENET_MEMORY=1M" in said
    monkeypatch.setenv("IAENET_MEMORY", "1M")
    assert main(["predict", "run", "--input", "waves.h5", "--output", "o.h5", "--at", "512"]) == 0
    monkeypatch.setenv("IAENET_MEMORY", "plenty")
    assert "IAENET_MEMORY=plenty: give a size" in mistake(
        capsys, "predict", "run", "--input", "waves.h5", "--output", "p.h5", "--at", "513"
    )


def test_workers_are_bounded():
    assert sorted(pool(10**6)(abs, [-1, 2, -3])) == [1, 2, 3]
    assert most_workers() <= max(4, os.cpu_count() or 1)


@pytest.mark.parametrize(
    "name", [r"$\frac{a$", r"$\alpha$", *(pytest.param(n, marks=pytest.mark.slow) for n in ("$", r"$\undefined{x}$"))]
)
def test_names_that_look_like_formulas(name, tmp_path, capsys):
    write_dataset(tmp_path / "a.h5", waves(2), inputs=[Channel(name, name)], outputs=[Channel("u")])
    assert main(["inspect", str(tmp_path / "a.h5")]) == 0
    assert name in capsys.readouterr().out


# ---------------------------------------------------------------------- geometry


def test_boxes_and_points_of_all_sizes():
    rng = np.random.default_rng(0)
    for sides in ([1e9, 1], [1e3, 1e-3], [1e-9, 1e9, 1]):
        points = rng.random((60, len(sides))) * sides
        made = Discretization.points(points, bounds=[(0, side) for side in sides], domain="box")
        assert made.measure == pytest.approx(np.prod(sides), rel=1e-9)
    line = np.linspace(0.1, 0.9, 20)[:, None] * np.ones(3)
    assert Discretization.points(line * [1e9, 1, 1], bounds=[[0, 1e9], [0, 1], [0, 1]]).measure == pytest.approx(1e9)
    for degenerate in (line, line * [1, 1, 0] + [0, 0, 0.5], np.full((9, 3), 0.5), np.full((1, 3), 0.5)):
        assert Discretization.points(degenerate).measure == pytest.approx(1.0)
    with pytest.raises(InvalidInputError, match="too large or too small for float64"):
        Discretization.points(rng.random((50, 3)) * 1e150, bounds=[(0, 1e150)] * 3)


@pytest.mark.parametrize("weights", [[0.0] * 4, [-1.0, 1, 1, 1], [np.nan, 1, 1, 1], [np.inf, 1, 1, 1]])
def test_weights_are_looked_at_wherever_they_come_from(weights):
    points = torch.rand(4, 2, dtype=torch.float64)
    with pytest.raises(InvalidInputError, match="weights"):
        Discretization.points(points, weights)
    with pytest.raises(InvalidInputError, match="weights"):
        Discretization(points, torch.tensor(weights), torch.tensor([[0.0, 1.0]] * 2), (False, False))


def test_points_that_are_changed_in_place_are_noticed():
    model = load_small()
    grid = Discretization.uniform(16, periodic=True)
    field = Field(grid, torch.rand(16, 1))
    before = model(field).values
    field.values.mul_(2)
    assert not torch.equal(model(field).values, before)
    assert torch.equal(model(field).values, model(Field(grid, field.values.clone())).values)
    grid.points[3] = 0.9
    with pytest.raises(InvalidInputError, match="changed in place"):
        model(field)


def load_small():
    from iaenet import IAENet
    from tests.sizes import sizes

    return IAENet(1, 1, periodic=True, **sizes(blocks=1))


# ---------------------------------------------------------------------- run folders


def test_links_out_of_a_run_are_not_followed(here, tmp_path, capsys):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    (here / "run" / "evaluation").mkdir()
    shutil.copy(here / "run" / "curves.png", here / "run" / "evaluation" / "samples.png")
    for name in ("evaluation/samples.png", "config.yaml", "metrics.json", "log.jsonl"):
        kept = (here / "run" / name).read_bytes()
        (here / "run" / name).unlink()
        (here / "run" / name).symlink_to(secret)
        assert "link to a file outside" in mistake(capsys, "report", "run", "--out", "page.html"), name
        (here / "run" / name).unlink()
        (here / "run" / name).write_bytes(kept)
    (here / "run" / "evaluation" / "samples.png").write_text("the secret")  # no picture
    assert main(["report", "run", "--out", "page.html"]) == 0
    import base64

    assert base64.b64encode(b"the secret").decode()[:12] not in (here / "page.html").read_text()


DOCUMENTS = {
    "metrics.json": ["{", "[]", '{"best": 3}', '{"best": {"epoch": 1, "validation": "x"}}', '{"epochs": 1}', "\xff"],
    "log.jsonl": ["{", "3", '{"seconds": null}', "[" * 5000],
    "evaluation/evaluation.json": ["{}", '{"rows": [{}]}', '{"rows": [{"on": "16", "resolution": 16, "points": [1]}]}'],
    "certificate/certificate.json": ["[]", '{"verdict": "x", "passed": true, "lines": [{"test": "order"}]}'],
    "pace.json": ["[]", '{"a": 1}', '{"1": "x"}'],
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_damaged_documents(name, here, capsys):
    (here / "run" / name).parent.mkdir(exist_ok=True)
    for text in DOCUMENTS[name]:
        (here / "run" / name).write_text(text, encoding="latin-1")
        if name == "pace.json":
            with pytest.raises(CorruptFileError, match="damaged"):
                RunFolder(here / "run").read_pace()
        else:
            said = mistake(capsys, "report", "run")
            assert name in said
            assert "damaged" in said or "UTF-8" in said


CHANGES = {
    "later": lambda state: state["training"].update(wings=2),
    "no step": lambda state: state["training"].pop("step"),
    "no training": lambda state: state.pop("training"),
    "format": lambda state: state["operator"].update(format=99),
    "no model": lambda state: state["operator"].pop("model"),
    "unknown model": lambda state: state["operator"]["model"].update(name="wings"),
    "width": lambda state: state["operator"]["model"]["options"].update(width=-1),
    "wide": lambda state: state["operator"]["model"]["options"].update(width=10**6),
    "deep": lambda state: state["operator"]["model"]["options"].update(layers=10**9),
    "metadata": lambda state: state["operator"].update(metadata={"trained": 3}),
    "statistics": lambda state: state["operator"].update(inputs={"mean": ["x"], "std": [1.0]}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_checkpoints_of_other_versions_and_absurd_sizes(change, here, capsys):
    """Their hashes fit: whoever wrote them meant it."""
    for folder in sorted((here / "run" / "checkpoints").iterdir()):
        state, parts = load_checkpoint(folder)
        if "training" not in state and change in ("later", "no step", "no training"):
            continue
        CHANGES[change](state)
        shutil.rmtree(folder)
        save_checkpoint(folder, state, **parts)
    if change in ("later", "no step", "no training"):
        said = mistake(capsys, "train", "--resume", "run")
    else:
        said = mistake(capsys, "predict", "run", "--input", "waves.h5", "--output", "o.h5")
    assert "run" in said


def test_a_pipe_in_a_checkpoint(here, capsys):
    for folder in (here / "run" / "checkpoints").iterdir():
        os.mkfifo(folder / "more.safetensors")
    assert "damaged" in mistake(capsys, "report", "run")


@pytest.mark.parametrize(
    "change", [("batch_size: 4", "batch_size: 5"), ("clip: 1.0", "clip: 2.0"), ("seed: 0", "seed: 7")]
)
def test_a_configuration_that_was_edited_before_a_resume(change, here, capsys):
    config = here / "run" / "config.yaml"
    assert change[0] in config.read_text(), config.read_text()
    config.write_text(config.read_text().replace(*change))
    before = contents(here / "run" / "checkpoints")
    said = mistake(capsys, "train", "--resume", "run")
    assert change[0].split(":")[0] in said
    assert contents(here / "run" / "checkpoints") == before


def test_every_checkpoint_knows_its_configuration(here):
    for folder in (here / "run" / "checkpoints").iterdir():
        assert json.loads((folder / "state.json").read_text())["config"]["batch_size"] == 4


@pytest.mark.parametrize("what", ["the folder", "all in it"])
def test_a_run_whose_folder_is_gone_stops(what, tmp_path):
    def gone(*_):
        for found in [tmp_path / "run"] if what == "the folder" else list((tmp_path / "run").iterdir()):
            shutil.rmtree(found, ignore_errors=True) if found.is_dir() else found.unlink()

    with pytest.raises(InvalidInputError, match="the run folder is gone"):
        fit(MODEL, waves(8), tmp_path / "run", epochs=3, save_seconds=0, progress=lambda _: gone)
    assert not (tmp_path / "run").exists()


def test_a_lock_whose_file_was_deleted(tmp_path):
    with RunFolder(tmp_path / "run").locked() as first:
        os.unlink(first.path / ".lock")
        first.save("step", 1, {"step": 1})  # nobody else came: it has the lock anew
        with pytest.raises(InvalidInputError, match="is training here"), RunFolder(first.path).locked():
            pass
        os.unlink(first.path / ".lock")
        with RunFolder(first.path).locked():
            with pytest.raises(InvalidInputError, match="is training here"):
                first.save("step", 2, {"step": 2})
            assert first.newest("step")[0] == {"step": 1}


def test_the_run_still_loads(here):
    """What the attacks above begin with is sound."""
    assert check_model(load("run"), load_dataset("waves.h5")[0][0])

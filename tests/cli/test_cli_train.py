"""`iaenet train`: what it says, its exit codes, and how it stops and goes on."""

import dataclasses
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
import yaml

from iaenet import write_dataset
from iaenet.cli.main import main
from iaenet.data.problems.problem import Channel
from iaenet.models.registry import MODELS
from iaenet.training.config import PRESETS, OptimizerConfig
from tests.trainings import TINY, finish, outcome, run_command, start, waves

BRIEF = ["--epochs", "2", "--batch_size", "6", "--threads", "1"]
SMALL = [part for key, value in TINY.items() for part in (f"--model.{key}", str(value))]


def write(path, count=20, **more):
    channels = {"inputs": [Channel("a")], "outputs": [Channel("u")]}
    splits = ["train"] * (count - 4) + ["validation"] * 2 + ["test"] * 2
    write_dataset(path, waves(count, **more), splits=splits, **channels)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A data file."""
    path = tmp_path_factory.mktemp("data") / "waves.h5"
    write(path, grids=(16, 24), points=(18,))
    return path


@pytest.fixture
def here(tmp_path, monkeypatch, file):
    """A working folder with the data file in it."""
    shutil.copy(file, tmp_path / "waves.h5")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments, environment=None, words="words.txt"):
    return start(run_command, arguments, os.path.abspath(words), environment)


# ------------------------------------------------------------------ help


def test_help_imports_no_pytorch():
    code = (
        "import sys; from iaenet.cli.main import main\n"
        "try: main(['train', '--help'])\n"
        "except SystemExit: pass\n"
        "print('imported', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text, _, imported = done.stdout.rpartition("imported")
    heavy = {"torch", "numpy", "scipy", "matplotlib", "h5py", "accelerate", "rich"}
    assert {name.partition(".")[0] for name in imported.split()} & heavy == set()
    for option in ("--data", "--model", "--optimizer.lr", "--augment.symmetries", "--save_seconds", "--resume"):
        assert f"{option} " in text
    assert "examples:" in text
    assert len(re.findall(r"Default", text)) > 20


def test_help_with_a_model_shows_its_options(capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", "--model.name", "fno", "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert "options of fno" in text
    assert "--model.modes" in text
    assert "--model.in_channels" not in text  # follows from the data


@pytest.mark.parametrize("name", MODELS)
def test_every_option_of_a_model_says_what_it_is(name, capsys):
    with pytest.raises(SystemExit):
        main(["train", "--model.name", name, "--help"])
    text = capsys.readouterr().out.partition(f"options of {name}:")[2].partition("examples:")[0]
    options = re.split(r"\n  (?=--model)", text)[1:]
    assert options
    for option in options:
        words = option.replace("\n", " ").split(maxsplit=2 + 2 * ("+ " in option))[-1]
        assert re.sub(r"\s+", " ", words).partition(" Default")[0].count(" ") >= 1, option
    if name == "iaenet":
        assert "--model.width WIDTH channels c of the intermediate functions. Default 32." in " ".join(text.split())


# ------------------------------------------------------------------ mistakes

DATA = ["--data", "waves.h5"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: data"),
        (["--data", "none.h5"], "none.h5: no such file"),
        (["--data", "text.txt"], "text.txt is no data file"),
        ([*DATA, "--epoch", "3"], r"no option --epoch \(did you mean --epochs\?\)"),
        ([*DATA, "--lr", "0.1"], r"no option --lr; it is called --optimizer\.lr"),
        ([*DATA, "--batch=5"], "no option --batch; it is called --batch_size"),
        ([*DATA, "--batchsize", "5"], r"no option --batchsize \(did you mean --batch_size\?\)"),
        ([*DATA, "--optimizer_name", "adam"], r"no option --optimizer_name; it is called --optimizer\.name"),
        ([*DATA, "--device", "abacus"], "device 'abacus' cannot be used"),
        ([*DATA, "--device", "meta"], "device 'meta' cannot be used"),
        ([*DATA, "--epochs", "many"], "epochs"),
        ([*DATA, "--epochs", "0"], "epochs must be positive"),
        ([*DATA, "--epochs", "2.5"], "epochs"),
        ([*DATA, "--optimizer.name", "sgd"], "optimizer.name"),
        ([*DATA, "--optimizer.rte", "1"], r"--optimizer\.rte"),
        ([*DATA, "--optimizer", "adam"], "optimizer"),
        ([*DATA, "--augment.weight", "1"], "augment.weight needs"),
        ([*DATA, "--augment.sizes", "a"], "augment.sizes"),
        ([*DATA, "--augment.symmetries", "turn"], "augment.symmetries"),
        ([*DATA, "--preset", "huge"], "no preset 'huge'; there are smoke, cpu, paper"),
        ([*DATA, "--model.name", "fourier-net"], "no model 'fourier-net'; there are iaenet"),
        ([*DATA, "--model.widht", "8"], "model iaenet: no option 'widht'; did you mean width?"),
        ([*DATA, "--model.width", "wide"], "model iaenet: width must be a whole number, got 'wide'"),
        ([*DATA, "--model.width", "{a: 1}"], "width"),
        ([*DATA, "--model.skips", "some"], "skips"),
        ([*DATA, "--model.preset", "huge"], "preset"),
        ([*DATA, "--model.branches", "[{name: laplace}]"], "no branch 'laplace'"),
        ([*DATA, "--model.name", "unet", "--model.branches", "[]"], "branches"),
        ([*DATA, "--resolution", "99"], "resolution 99"),
        ([*DATA, "--content", "abc"], "content is .* needs abc"),
        ([*DATA, "--seed", "x"], "seed"),
        (["--config", "none.yaml"], "none.yaml"),
        (["--config", "broken.yaml"], "cannot be read as YAML: line 2"),
        (["--config", "key.yaml"], r"no option --optimiser\.name; it is called --optimizer\.name"),
        (["--config", "nested.yaml"], r"no option --optimizer\.learning_rate; it is called --optimizer\.lr"),
        (["--config", "type.yaml"], "epochs"),
        (["--config", "list.yaml"], "preset"),
        (["--config", "model.yaml"], "model"),
        (["--config", "words.yaml"], "schedule"),
        (["--resume", "nowhere"], "nowhere is no training run"),
        (["--resume"], "--resume"),
        ([*DATA, "--run", "text.txt"], "text.txt"),
        ([*DATA, *SMALL, "--augment.symmetries", "shift"], "symmetry shift"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message, here, capsys):
    (here / "text.txt").write_text("no data")
    (here / "broken.yaml").write_text("data: [waves.h5\n")
    (here / "key.yaml").write_text("data: waves.h5\noptimiser: {name: adam}\n")
    (here / "nested.yaml").write_text("data: waves.h5\noptimizer: {learning_rate: 1}\n")
    (here / "type.yaml").write_text("data: waves.h5\nepochs: [1]\n")
    (here / "list.yaml").write_text("data: waves.h5\npreset: [cpu]\n")
    (here / "model.yaml").write_text("data: waves.h5\nmodel: iaenet\n")
    (here / "words.yaml").write_text("data: waves.h5\nschedule: cosine\n")
    before = sorted(os.listdir())
    assert main(["train", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("iaenet: error: ")
    assert err.count("\n") == 1
    assert re.search(message, err), err
    assert sorted(os.listdir()) == before  # no run folder


HOSTILE = """import os
from iaenet.training.config import OptimizerConfig

with open({canary!r}, "w") as file:
    file.write("imported")


class Evil(OptimizerConfig):
    pass
"""


@pytest.mark.parametrize(
    "text",
    [
        "optimizer: {class_path: hostile.Evil}",
        "optimizer: {class_path: hostile.Evil, init_args: {rate: 0.1}}",
        "optimizer: hostile.Evil",
        "optimizer: hostile.yaml",
        "augment: {symmetries: [{class_path: hostile.Evil}]}",
        "epochs: {class_path: hostile.Evil}",
        "model: {class_path: hostile.Evil}",
        "model: {name: hostile.Evil}",
        "model: {name: iaenet, width: {class_path: hostile.Evil}}",
        "model: {name: iaenet, branches: [{class_path: hostile.Evil}]}",
        "model: {name: iaenet, branches: [hostile.Evil]}",
        "model: {name: function-to-vector, width: {class_path: hostile.Evil}}",
        "model: {name: iaenet, width: {class_path: subprocess.Popen, init_args: {args: [touch, canary]}}}",
        "epochs: !!python/object/apply:os.system ['touch canary']",
        "model: !!python/object/apply:os.system ['touch canary']",
        "model: {name: !!python/name:os.system }",
        "preset: !!python/object/new:hostile.Evil {}",
    ],
)
def test_a_configuration_is_data_and_never_code(text, here, monkeypatch, capsys):
    monkeypatch.syspath_prepend(here)
    (here / "hostile.py").write_text(HOSTILE.format(canary=str(here / "canary")))
    (here / "hostile.yaml").write_text("class_path: hostile.Evil\n")
    (here / "a.yaml").write_text(f"data: waves.h5\n{text}\n")
    before = sorted(os.listdir())
    assert main(["train", "--config", "a.yaml"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert "hostile" not in sys.modules
    assert sorted(os.listdir()) == before


def test_the_hostile_module_would_have_left_a_trace(here, monkeypatch):
    """The test above can fail."""
    monkeypatch.syspath_prepend(here)
    (here / "hostile.py").write_text(HOSTILE.format(canary=str(here / "canary")))
    __import__("hostile")
    del sys.modules["hostile"]
    assert (here / "canary").exists()


# ------------------------------------------------------------------ what it does


def test_a_configuration_file_and_the_command_line(here, capsys):
    config = {"data": "waves.h5", "model": TINY, "epochs": 9, "batch_size": 6, "threads": 1,
              "optimizer": {"name": "adam"}, "augment": {"weight": 0.5, "sizes": [20]}, "run": "a"}  # fmt: skip
    (here / "a.yaml").write_text(yaml.safe_dump(config))
    assert main(["train", "--config", "a.yaml", "--epochs", "1", "--optimizer.lr=0.01", "--save-seconds", "9"]) == 0
    out = capsys.readouterr().out
    assert re.match(
        r"a: iaenet with \d+ parameters, validation error [\d.]+ \(epoch 1\)\nnext: iaenet evaluate a\n", out
    )
    kept = yaml.safe_load((here / "a" / "config.yaml").read_text())
    assert (kept["epochs"], kept["batch_size"], kept["save_seconds"]) == (1, 6, 9.0)
    assert kept["optimizer"] == dataclasses.asdict(OptimizerConfig("adam", 0.01))
    assert kept["augment"]["sizes"] == [20]
    assert kept["model"] == TINY


@pytest.mark.parametrize("name", list(PRESETS))
@pytest.mark.parametrize("where", ["option", "file"])
def test_presets(name, where, here, capsys):
    (here / "a.yaml").write_text(f"data: waves.h5\npreset: {name}\n")
    given = ["--data", "waves.h5", "--preset", name] if where == "option" else ["--config", "a.yaml"]
    assert main(["train", *given, *SMALL, "--epochs", "1", "--run", "r"]) == 0
    kept = yaml.safe_load((here / "r" / "config.yaml").read_text())
    for key, value in {**PRESETS[name], "epochs": 1}.items():
        assert kept[key] == ({**kept[key], **value} if isinstance(value, dict) else value)


def test_numbers_and_words_with_commas(here):
    options = ["--augment.sizes", "20,24", "--augment.points=10", "--augment.weight", "0.1", "--resolution", "16"]
    options += ["--augment.symmetries", "shift,odd-reflect", "--model.branches", "[{name: spectral-conv, modes: 3}]"]
    assert main(["train", *DATA, *SMALL, *options, "--epochs", "1", "--run", "r"]) == 0
    kept = yaml.safe_load((here / "r" / "config.yaml").read_text())
    assert (kept["augment"]["sizes"], kept["augment"]["points"]) == ([20, 24], [10])
    assert kept["augment"]["symmetries"] == ["shift", "odd-reflect"]
    assert kept["model"]["branches"] == [{"name": "spectral-conv", "modes": 3}]


def test_the_run_folder_is_named_after_data_and_model(here, capsys):
    assert main(["train", *DATA, "--model.name", "fno", "--model.width", "4", "--epochs", "1"]) == 0
    assert os.listdir("runs") == ["waves-fno"]


def test_models_that_hand_options_on(here, capsys):
    write(here / "one.h5", grids=(16,))
    options = ["--model.name", "resnet-interpolation", "--model.width", "4", "--epochs", "1", "--run", "r"]
    assert main(["train", "--data", "one.h5", *options]) == 0
    assert main(["train", "--data", "one.h5", *options[:2], "--model.widht", "4", "--run", "x"]) == 2
    assert "no option 'widht'; did you mean width?" in capsys.readouterr().err


# ------------------------------------------------------------------ stopping and resuming


def wait_for(condition, process, seconds=120):
    limit = time.monotonic() + seconds
    while not condition():
        assert process.is_alive(), "ended too early"
        assert time.monotonic() < limit
        time.sleep(0.01)


def steps(run):
    return len(list(run.glob("checkpoints/step-*")))


@pytest.fixture(scope="module")
def long(file):
    """The command of a training that lasts."""
    return ["train", "--data", file, *SMALL, "--epochs", "60", "--batch_size", "6", "--threads", "1",
            "--save_seconds", "0", "--run", "r"]  # fmt: skip


@pytest.fixture(scope="module")
def whole(long, tmp_path_factory):
    """What it leaves behind when it is never stopped."""
    folder = tmp_path_factory.mktemp("whole")
    assert finish(start(run_command, [*long[:-1], folder / "r"], folder / "words.txt")) == 0
    return outcome(folder / "r")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
def test_a_signal_saves_and_the_next_run_resumes(number, code, here, long, whole):
    process = command(*long)
    wait_for(lambda: steps(here / "r") == 2, process)
    os.kill(process.pid, number)
    assert finish(process, 60) == code
    words = (here / "words.txt").read_text()
    (step,) = re.findall(
        r"^Stopped after step (\d+), which is saved: repeat the command and it resumes there\.$", words, re.M
    )
    assert "Traceback" not in words
    assert (here / "r" / "checkpoints" / f"step-{int(step):09d}").is_dir()
    assert not (here / "r" / "metrics.json").exists()
    again = ["train", "--resume", "r"] if number == signal.SIGTERM else long  # the same thing
    assert finish(command(*again)) == 0
    assert outcome(here / "r") == whole


def test_two_trainers_in_one_folder(here, long, whole):
    first = command(*long)
    wait_for(lambda: steps(here / "r") > 0, first)
    os.kill(first.pid, signal.SIGSTOP)  # or it might be through before the second has begun
    second = command(*long, words="second.txt")
    assert finish(second, 60) == 2
    said = (here / "second.txt").read_text()
    assert said == f"iaenet: error: r: process {first.pid} on {socket.gethostname()} is training here\n"
    assert first.is_alive()
    os.kill(first.pid, signal.SIGKILL)  # no chance to lift the lock
    finish(first)
    assert finish(command(*long)) == 0
    assert outcome(here / "r") == whole


@pytest.mark.slow
def test_a_damaged_checkpoint_is_told_on_the_way(here, long):
    process = command(*long)
    wait_for(lambda: steps(here / "r") == 2, process)
    os.kill(process.pid, signal.SIGTERM)
    finish(process)
    newest = sorted((here / "r").glob("checkpoints/step-*"))[-1]
    (newest / "optimizer.safetensors").write_bytes(b"")
    assert finish(command("train", "--resume", "r", words="again.txt")) == 0
    assert re.search(rf"{newest.name} is damaged: .* going back to the one before", (here / "again.txt").read_text())


def test_all_checkpoints_damaged_is_one_line(here, capsys):
    assert main(["train", *DATA, *SMALL, *BRIEF, "--run", "r"]) == 0
    for folder in (here / "r").glob("checkpoints/*"):
        (folder / "SHA256SUMS").write_text("")
    capsys.readouterr()
    assert main(["train", "--resume", "r"]) == 2
    err = capsys.readouterr().err
    assert "every step checkpoint is damaged" in err


def test_a_moved_run_resumes_with_the_data_in_its_folder(here, capsys):
    (here / "r").mkdir()
    write(here / "r" / "data.h5", grids=(16,))
    assert main(["train", "--data", "r/data.h5", *SMALL, *BRIEF, "--run", "r"]) == 0
    os.rename("r", "elsewhere")
    capsys.readouterr()
    assert main(["train", "--resume", "elsewhere"]) == 0
    write(here / "elsewhere" / "data.h5", grids=(24,))
    assert main(["train", "--resume", "elsewhere"]) == 2
    assert "elsewhere/data.h5: content is" in capsys.readouterr().err


@pytest.mark.parametrize("changed", [["--seed", "3"], ["--optimizer.lr", "0.1"], ["--model.width", "9"]])
def test_a_changed_option_is_refused_by_name(changed, here, capsys):
    assert main(["train", *DATA, *SMALL, *BRIEF, "--run", "r"]) == 0
    capsys.readouterr()
    assert main(["train", "--resume", "r", *changed]) == 2
    assert f"r holds a run with {changed[0][2:]}" in capsys.readouterr().err


def test_a_loss_that_is_no_number_ends_with_exit_code_1(here):
    pairs = waves(10)
    for given, _ in pairs:
        given.values.mul_(1e30)
    splits = ["train"] * 8 + ["validation"] * 2
    write_dataset(here / "huge.h5", pairs, splits=splits, inputs=[Channel("a")], outputs=[Channel("u")])
    options = ["--data", "huge.h5", "--normalize", "false", "--optimizer.clip", "0", "--optimizer.lr", "1e20"]
    process = command("train", *options, *SMALL, "--epochs", "3", "--save_seconds", "0", "--run", "r")
    assert finish(process) == 1
    words = (here / "words.txt").read_text()
    assert re.fullmatch(r"iaenet: error: the (loss|gradient) is (nan|inf) at step \d+ \(epoch \d+\); .*\n", words)


# ------------------------------------------------------------------ progress


def test_progress_is_lines_when_not_on_a_terminal(here, monkeypatch, capsys):
    monkeypatch.setattr("iaenet.cli.display.Display.__init__", lambda self: self.__dict__.update(every=0.0, _bar=None))
    assert main(["train", *DATA, *SMALL, *BRIEF, "--run", "r"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines
    pattern = r"r: \d+ of 6, (about .* left, )?epoch [12], loss [\d.]+(, validation [\d.]+)?"
    assert all(re.fullmatch(pattern, line) for line in lines), lines
    assert "validation" in lines[-1]

"""The commands that make and show data: what they print, their exit codes, and how they stop."""

import os
import re
import signal
import struct
import subprocess
import sys
import time
from dataclasses import fields

import numpy as np
import pytest
import torch

from iaenet.cli.display import Display, TimeLeft
from iaenet.cli.main import COMMANDS, main
from iaenet.cli.options import field_texts
from iaenet.data.dataset import load_dataset
from iaenet.data.file_writer import write_dataset
from iaenet.data.generate import unfinished_records
from iaenet.data.problems import PROBLEMS
from iaenet.data.problems.problem import Channel
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.reports.plots import draw_samples


def run(*arguments):
    command = [sys.executable, "-m", "iaenet", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A file made by the command line, and what it printed."""
    folder = tmp_path_factory.mktemp("made")
    path = folder / "burgers.h5"
    arguments = ["--samples", "10", "--resolutions", "16,64", "--viscosity", "0.01", "--out", path]
    return path, run("generate", "burgers", *arguments)


# ------------------------------------------------------------------ help


@pytest.mark.parametrize("arguments", [["--help"], ["generate", "--help"], ["inspect", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    code = (
        "import sys; from iaenet.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('imported', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    text, _, imported = done.stdout.rpartition("imported")
    assert "usage: iaenet" in text
    assert "examples:" in text
    heavy = {"torch", "numpy", "scipy", "matplotlib", "h5py", "skfem", "loky", "rich"}
    assert {name.partition(".")[0] for name in imported.split()} & heavy == set()


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_every_parameter_of_a_problem_is_an_option_with_a_text(name, capsys):
    with pytest.raises(SystemExit) as end:
        main(["generate", name, "--help"])
    assert end.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    texts = field_texts(PROBLEMS[name].__doc__, [field.name for field in fields(PROBLEMS[name])])
    for field in fields(PROBLEMS[name]):
        assert f"--{field.name} " in text
        assert len(texts[field.name]) > 8


def test_top_level_help_lists_the_commands(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(re.search(rf"^  {name} ", text, re.M) for name in COMMANDS)
    assert main([]) == 2
    assert main(["--version"]) == 0


# ------------------------------------------------------------------ mistakes

SIZE = ["--samples", "2", "--resolutions", "4"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such"], "no command 'no-such'; there are generate, import"),
        (["trian", "--data", "a.h5"], r"no command 'trian'; did you mean train\?"),
        (["generate"], "generate needs a problem: burgers"),
        (["generate", "waves"], "no problem 'waves'"),
        (["generate", "burgers"], "required: out, samples, resolutions"),
        (["generate", "burgers", "--samples", "x"], 'Parser key "samples"'),
        (["generate", "burgers", "--resolutions", "a,b"], "--resolutions: expected whole numbers"),
        (["generate", "burgers", "--viscous", "1"], "--viscous"),
        (["generate", "burgers", "--points", "hexagonal"], "uniform.*random"),
        (["generate", "burgers", "--config", "none.yaml"], "none.yaml"),
        (["generate", "burgers", "--viscosity", "-1", *SIZE, "--out", "a.h5"], "viscosity"),
        (["generate", "burgers", *SIZE, "--out", "no/where.h5"], "no folder no"),
        (["generate", "fetal-ecg", "--leads", "1,40", *SIZE, "--out", "a.h5"], "leads"),
        (["inspect"], "required: file"),
        (["inspect", "none.h5"], "none.h5: no such file"),
        (["inspect", "."], "no data file"),
        (["inspect", "text.txt"], "text.txt is no data file, or it is damaged"),
        (["import", "npz"], "required: path"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("no data")
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("iaenet: error: ")
    assert err.count("\n") == 1
    assert re.search(message, err)
    assert os.listdir(tmp_path) == ["text.txt"]


def test_unknown_key_in_a_config_is_named(tmp_path, capsys):
    (tmp_path / "a.yaml").write_text("samples: 3\nviscous: 1\n")
    assert main(["generate", "burgers", "--config", str(tmp_path / "a.yaml")]) == 2
    assert "viscous" in capsys.readouterr().err


def test_a_damaged_file_is_told(made, tmp_path, capsys):
    text = bytearray(made[0].read_bytes())
    text[len(text) // 2] ^= 16
    (tmp_path / "bad.h5").write_bytes(bytes(text))
    assert main(["inspect", str(tmp_path / "bad.h5")]) == 2
    assert "bad.h5 is damaged" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["bad.h5"]


# ------------------------------------------------------------------ generate


def test_generate_says_what_it_made(made):
    path, done = made
    data = load_dataset(path)
    assert done.returncode == 0
    assert all(re.fullmatch(r"burgers\.h5: \d+ of 10, about .* left", line) for line in done.stderr.splitlines())
    hashed = f"content sha256 {data.content_hash}"
    assert done.stdout == f"{path}: 10 samples (8 train, 1 validation, 1 test), {hashed}\n"
    assert data.parameters["viscosity"] == 0.01
    assert data.resolutions == (16, 64)
    assert data.provenance["seed"] == 0
    assert data.provenance["command"].startswith("iaenet generate burgers --samples 10 --resolutions 16,64")


def test_options_from_a_file_with_either_spelling(tmp_path, capsys):
    config = tmp_path / "a.yaml"
    config.write_text("samples: 4\nresolutions: [8, 16]\nsplits: [2, 1, 1]\nmean_ellipses: 5\n")
    assert (
        main(["generate", "ct-ellipses", "--config", str(config), "--semi-axis=0.1", "--out", f"{tmp_path}/a.h5"]) == 0
    )
    data = load_dataset(tmp_path / "a.h5")
    assert data.splits == {"train": 2, "validation": 1, "test": 1}
    assert (data.parameters["mean_ellipses"], data.parameters["semi_axis"]) == (5.0, 0.1)
    assert data.resolutions == (8, 16)
    assert "4 samples" in capsys.readouterr().out


def _allow_ctrl_c():
    """A test runner in the background ignores Ctrl-C, and so would what it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_says_how_to_go_on(tmp_path):
    path = tmp_path / "a.h5"
    size = ["--samples", "60", "--resolutions", "106", "--fine", "211", "--out", str(path)]
    command = [sys.executable, "-m", "iaenet", "generate", "darcy", *size]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_allow_ctrl_c,
    )
    while not unfinished_records(path).exists() or unfinished_records(path).stat().st_size < 100_000:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers, too
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert f"kept in {unfinished_records(path)}: repeat the command and it goes on from there" in err
    assert os.listdir(tmp_path) == ["a.h5.partial"]


def test_progress_as_lines(capsys):
    with Display(every=0.0) as display:
        report = display("a.h5")
        for done in range(4):
            report(done, 4)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"a\.h5: 3 of 4, about \d+ s left", lines[1])


def test_a_line_says_what_is_done_before_there_is_a_time_left(capsys):
    with Display(every=0.0) as display:
        display("all")(0, 4, "generating burgers, 3 of 9 samples")
    assert capsys.readouterr().err == "all: 0 of 4, generating burgers, 3 of 9 samples\n"


def test_time_left_follows_the_recent_speed():
    """Ten steps of 30 seconds, each preparing its samples, then steps of 1 second: 100 of them."""
    left, now, found = TimeLeft(), 0.0, {}
    for done in range(1, 111):
        now += 90.0 if done == 1 else 30.0 if done <= 10 else 1.0
        found[done] = left(done, 1000, now)
    assert found[1] is None
    assert found[10] == pytest.approx(30.0 * 990)
    assert found[110] < 5 * 890  # from the start it would be 3.9 times as much and from the first mark 3.4 times
    for done in range(111, 601):
        now += 1.0
        found[done] = left(done, 1000, now)
    assert found[600] == pytest.approx(400.0)


def test_progress_as_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with Display() as display:
        display("a.h5")(3, 4)
    text = capsys.readouterr().err
    assert "a.h5" in text
    assert "3/4" in text
    assert "time left" in text


# ------------------------------------------------------------------ inspect


def png_size(path):
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", head[16:24])


def test_inspect_tells_what_is_in_a_file(made, tmp_path, capsys):
    path, _ = made
    data = load_dataset(path)
    assert main(["inspect", str(path), "--picture", str(tmp_path / "a.png")]) == 0
    text = capsys.readouterr().out
    for part in ("burgers", "8 train, 1 validation, 1 test", "u(x, 0)", "viscosity 0.01", "seed 0", data.content_hash):
        assert part in text
    numbers = np.concatenate([given.values.numpy() for given, _ in data.select(resolution=64)])
    row = re.search(r"^64 +input u\(x, 0\) +(\S+) +(\S+) +(\S+) +(\S+)$", text, re.M)
    low, mean, std, high = map(float, row.groups())
    assert (low, high) == pytest.approx((numbers.min(), numbers.max()), rel=1e-3)
    assert mean == pytest.approx(numbers.mean(), abs=1e-6)
    assert std == pytest.approx(numbers.std(), rel=1e-3)
    assert "all 20 pairs match their hash" in text
    width, height = png_size(tmp_path / "a.png")
    assert width > 600
    assert height > 600


def test_inspect_draws_beside_the_file_or_not_at_all(made, capsys):
    path, _ = made
    assert main(["inspect", str(path), "--picture", "none", "--statistics", "false"]) == 0
    assert "match their hash" not in capsys.readouterr().out
    assert not path.with_suffix(".png").exists()
    assert main(["inspect", str(path), "--samples", "1"]) == 0
    assert f"picture      {path.with_suffix('.png')}" in capsys.readouterr().out
    png_size(path.with_suffix(".png"))


def test_pictures_of_any_kind_of_points(tmp_path):
    scattered = np.random.default_rng(0).random((40, 3))
    places = {
        "1-D points": Discretization.points(scattered[:, :1]),
        "2-D grid": Discretization.uniform((5, 7)),
        "2-D points": Discretization.points(scattered[:, :2]),
        "one point": Discretization.points([[0.5, 0.5]]),
        "3-D grid": Discretization.uniform((3, 4, 5)),
        "3-D points": Discretization.points(scattered, rule="monte-carlo"),
    }
    line = Discretization.uniform(9)
    for name, at in places.items():
        field, other = Field(at, torch.randn(at.n, 1)), Field(line, torch.zeros(9, 1))
        write_dataset(tmp_path / "a.h5", [(field, other)], inputs=[Channel("a", "K")], outputs=[Channel("u")])
        figure = draw_samples(load_dataset(tmp_path / "a.h5"))
        figure.savefig(tmp_path / "a.png")
        titles = [axis.get_title() for axis in figure.axes]
        assert any(title.startswith("input a (K)") for title in titles), name


def test_samples_of_very_different_sizes_are_summed_up(tmp_path, capsys):
    made = []
    for i in range(20):
        at = Discretization.points(np.random.default_rng(i).random((3 + i, 2)), rule="monte-carlo")
        made.append((Field(at, torch.ones(at.n, 1)), Field(at, torch.ones(at.n, 1))))
    write_dataset(tmp_path / "a.h5", made, inputs=[Channel("a")], outputs=[Channel("u")])
    assert main(["inspect", str(tmp_path / "a.h5")]) == 0
    text = capsys.readouterr().out
    assert "20 from 3 to 22" in text
    assert len(re.findall(r"^all +(?:input|output)", text, re.M)) == 2

"""`iaenet import` end to end: files of the user -> a data file that holds the same values."""

import re
import shlex
from pathlib import Path

import h5py
import numpy as np
import pytest
from jsonargparse import ArgumentError

from iaenet.data.dataset import load_dataset
from iaenet.data.import_files import EXAMPLES, import_data, import_parser
from iaenet.data.reading.imported import Imported, LazyPairs
from iaenet.errors import InvalidInputError

RNG = np.random.default_rng(10)


def run(arguments):
    """As the command line does it."""
    options = vars(import_parser().parse_args([str(each) for each in arguments]))
    return import_data(**{name: value for name, value in options.items() if name != "config"})


def test_a_folder_of_csv_files_becomes_a_data_file(tmp_path):
    truth = []
    (tmp_path / "runs").mkdir()
    for i in range(10):
        table = RNG.uniform(size=(5 + i, 4))
        np.savetxt(tmp_path / "runs" / f"s{i}.csv", table, delimiter=",", header="x,y,a,u", comments="", fmt="%.17g")
        truth.append(table)
    out = tmp_path / "mine.h5"
    command = "--coordinates x,y --inputs a --outputs u --bounds [[0,1],[0,1]] --precision float64 --units '{u: m}'"
    line = run(["csv", tmp_path / "runs", *shlex.split(command), "--out", out])
    assert line.startswith(f"{out}: 10 samples (")
    assert "8 train" in line
    data = load_dataset(out)
    assert data.splits == {"train": 8, "validation": 1, "test": 1}
    assert (data.inputs[0].name, data.outputs[0].unit) == ("a", "m")
    assert data.provenance["reader"] == "csv"
    assert data.provenance["options"]["coordinates"] == "x,y"
    for (given, wanted), table in zip(data, truth, strict=True):
        assert np.array_equal(given.discretization.points, table[:, :2])
        assert given.discretization.bounds.tolist() == [[0, 1], [0, 1]]
        assert np.array_equal(given.values[:, 0], table[:, 2])
        assert np.array_equal(wanted.values[:, 0], table[:, 3])


def test_options_from_yaml_and_counts_in_order(tmp_path):
    tensor = RNG.normal(size=(6, 11, 32)).astype(np.float32)
    with h5py.File(tmp_path / "b.hdf5", "w") as file:
        file["tensor"], file["x-coordinate"] = tensor, (np.arange(32) + 0.5) / 32
        file.attrs["Nu"] = 0.01
    (tmp_path / "options.yaml").write_text(
        f"format: pdebench\npath: {tmp_path / 'b.hdf5'}\ninput_steps: [0, 1]\noutput_steps: 5\nperiodic: true\n"
        f"train: 4\nvalidation: 0\ntest: 2\nseed: null\n"
    )
    out = tmp_path / "out.h5"
    assert run(["--config", tmp_path / "options.yaml", "--out", out]) == f"{out}: 6 samples (4 train, 2 test)"
    test = load_dataset(out, split="test")
    assert load_dataset(out).parameters["Nu"] == 0.01
    for (given, wanted), sample in zip(test, tensor[4:], strict=True):
        assert np.array_equal(given.values, sample[:2].T)
        assert np.array_equal(wanted.values[:, 0], sample[5])
        assert given.discretization.periodic == (True,)


def test_the_same_split_again_from_the_same_seed(tmp_path):
    np.savez(tmp_path / "f.npz", a=RNG.normal(size=(50, 8)))
    base = ["npz", tmp_path / "f.npz", "--inputs", "a", "--outputs", "a", "--out"]
    for name, seed in (("one", 1), ("again", 1), ("two", 2)):
        run([*base, tmp_path / f"{name}.h5", "--seed", seed])
    hashes = {name: load_dataset(tmp_path / f"{name}.h5").content_hash for name in ("one", "again", "two")}
    assert hashes["one"] == hashes["again"] != hashes["two"]


def test_a_refusal_leaves_no_file(tmp_path):
    bad = RNG.normal(size=(4, 8))
    bad[3, 2] = np.nan
    np.savez(tmp_path / "f.npz", a=bad)
    with pytest.raises(InvalidInputError, match=r"f\.npz: sample 3: channel a, point 2 is nan"):
        run(["npz", tmp_path / "f.npz", "--inputs", "a", "--outputs", "a", "--out", tmp_path / "out.h5"])
    assert sorted(file.name for file in tmp_path.iterdir()) == ["f.npz"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--inputs", "a", "--outputs", "a"], "--out: name the data file to write"),
        (["--out", "o.h5", "--outputs", "a"], "the format npz needs --inputs"),
        (
            ["--out", "o.h5", "--inputs", "a", "--outputs", "a", "--window", "9"],
            "--window is no option of the format npz",
        ),
        (["--out", "f.npz", "--inputs", "a", "--outputs", "a"], "among the files to read, which are never changed"),
        (["--out", "o.h5", "--inputs", "a", "--outputs", "a", "--train", "0.9"], "shares that add up to 1, or counts"),
    ],
)
def test_options_that_do_not_fit_are_named(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.savez("f.npz", a=np.ones((4, 8)))
    before = (tmp_path / "f.npz").read_bytes()
    with pytest.raises(InvalidInputError, match=message):
        run(["npz", "f.npz", *arguments])
    assert (tmp_path / "f.npz").read_bytes() == before
    assert not (tmp_path / "o.h5").exists()


def test_a_misspelt_option_is_an_error():
    parser = import_parser()
    parser.exit_on_error = False
    with pytest.raises(ArgumentError, match="imputs"):
        parser.parse_args(["npz", "f.npz", "--imputs", "a"])


@pytest.mark.parametrize("line", [line for line in EXAMPLES.splitlines()[1:] if line])
def test_the_examples_in_the_help_are_understood(line):
    words = shlex.split(line)
    assert words[:2] == ["iaenet", "import"]
    assert import_parser().parse_args(words[2:]).out.endswith(".h5")


def blocks(language):
    text = (Path(__file__).parents[3] / "docs" / "import.md").read_text()
    found = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [block for its, block in found if its == language]


def test_the_python_of_the_documentation_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a = RNG.normal(size=(10, 16)).astype(np.float32)
    np.savez("run.npz", a=a, u=2 * a)
    for block in blocks("python"):
        exec(block, {})
    data = load_dataset("run.h5")
    assert [pair[1].values[:, 0].tolist() for pair in data] == (2 * a).tolist()
    assert sum(data.splits.values()) == 10


def test_the_commands_and_the_yaml_of_the_documentation_are_understood(tmp_path):
    lines = [line for block in blocks("") for line in block.splitlines()]
    assert len(lines) > 8
    for line in lines:
        assert import_parser().parse_args(shlex.split(line)[2:]).out
    for block in blocks("yaml"):
        (tmp_path / "mine.yaml").write_text(block)
        options = import_parser().parse_args(["--config", str(tmp_path / "mine.yaml")])
        assert options.coordinates == ["x", "y"]
        assert options.bounds == [(0, 1), (0, 1)]


def test_splits_keep_records_whole_and_have_the_sizes_asked_for():
    pairs = LazyPairs(100, lambda i: None)
    plain = Imported(pairs, (), ())
    for seed in range(5):
        splits = plain.split(0.7, 0.2, 0.1, seed)
        assert [splits.count(name) for name in ("train", "validation", "test")] == [70, 20, 10]
    assert plain.split(seed=0) == plain.split(seed=0) != plain.split(seed=1)
    records = Imported(pairs, (), (), records=tuple(f"r{i // 10}" for i in range(100)))
    splits = records.split(6, 2, 2, seed=3)
    for i in range(0, 100, 10):
        assert len(set(splits[i : i + 10])) == 1
    assert [splits.count(name) for name in ("train", "validation", "test")] == [60, 20, 20]
    for wrong in ((0.5, 0.1, 0.1), (60, 20, 10), (-1, 1, 1), (float("nan"), 0, 0)):
        with pytest.raises(InvalidInputError, match="splits"):
            plain.split(*wrong)


def test_pairs_behave_as_a_sequence():
    pairs = LazyPairs(5, lambda i: i)
    assert pairs[-1] == 4
    assert list(pairs[1:4]) == [1, 2, 3]
    assert list(pairs[::-2]) == [4, 2, 0]
    assert list(pairs) == [0, 1, 2, 3, 4]
    with pytest.raises(IndexError):
        pairs[5]

"""`iaenet import` end to end: files of the user -> a data file that holds the same values."""

import re
import shlex
from pathlib import Path

import h5py
import numpy as np
import pytest

from iaenet.cli.import_command import EXAMPLES, import_command, import_parser
from iaenet.cli.main import main
from iaenet.data.dataset import load_dataset
from iaenet.data.import_files import import_data
from iaenet.errors import InvalidInputError

RNG = np.random.default_rng(10)


def run(arguments):
    return import_command([str(each) for each in arguments], lambda _: None)


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
        (["--out", "o.h5", "--outputs", "a"], "the format npz needs --inputs"),
        (
            ["--out", "o.h5", "--inputs", "a", "--outputs", "a", "--window", "9"],
            "--window is no option of the format npz",
        ),
        (["--out", "f.npz", "--inputs", "a", "--outputs", "a"], "is, or is among, what is read"),
        (
            ["--out", "o.h5", "--inputs", "a", "--outputs", "a", "--train", "0.9"],
            "shares with sum 1, or numbers",
        ),
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["npz", "f.npz", "--inputs", "a"], "required: out"),
        (
            ["npz", "f.npz", "--imputs", "a"],
            r"no option --imputs \(did you mean --inputs\?\); see iaenet import",
        ),
        (["npz", "f.npz", "--config", "typo.yaml"], r"no option --bound \(did you mean --bounds\?\)"),
        (["npz", "f.npz", "--config", "pair.yaml"], '"bounds": must be pairs of numbers, one for each axis, .* got 3'),
        (["npzz", "f.npz", "--out", "o.h5"], r"no format 'npzz'; did you mean npz\?"),
        (["data", "f.npz", "--out", "o.h5"], "no format 'data'; there are csv, npz"),
        (
            ["npz", "f.npz", "--bounds", "[0]", "--out", "o.h5"],
            r"--bounds: must be pairs .*\[\[0,1\],\[-1,1\]\]; got",
        ),
        (["npz", "f.npz", "--units", "m/s", "--out", "o.h5"], r"--units: must be units by name, as \{u: m/s"),
        (["npz", "f.npz", "--dim", "two", "--out", "o.h5"], "--dim: must be a whole number; got 'two'"),
        (
            ["npz", "f.npz", "--channels", "middle", "--out", "o.h5"],
            "--channels: must be one of last, first; got",
        ),
        (["npz", "none.npz", "--out", "o.h5"], "none.npz: no such file or folder"),
        (["npz", "f.npz", "--out", "no/where.h5"], "there is no folder no; make it first"),
    ],
)
def test_a_mistake_is_one_short_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.savez("f.npz", a=np.ones((4, 8)))
    (tmp_path / "typo.yaml").write_text("bound: [[0, 1]]\n")
    (tmp_path / "pair.yaml").write_text("bounds: 3\n")
    assert main(["import", *arguments]) == 2
    error = capsys.readouterr().err
    assert re.search(message, error)
    assert error.count("\n") == 1
    assert len(error) < 220


def test_help_shows_types_as_words(capsys):
    with pytest.raises(SystemExit):
        main(["import", "--help"])
    text = capsys.readouterr().out
    for raw in ("Union", "Optional", "Literal", "type:", "list[", "<class", "null]"):
        assert raw not in text
    assert "--bounds [[LOW,HIGH],...]" in text
    assert "--rule {cells,monte-carlo,mesh}" in text
    assert "netcdf     NetCDF: files with a dimension of samples" in text


def test_python_takes_the_same_options(tmp_path):
    np.savez(tmp_path / "f.npz", a=np.ones((4, 8)))
    common = {"format": "npz", "path": tmp_path / "f.npz", "out": tmp_path / "o.h5", "inputs": "a", "outputs": ["a"]}
    import_data(**common, bounds=[[0, 10]], units={"a": "m"}, seed=None)
    data = load_dataset(tmp_path / "o.h5")
    assert data[0][0].discretization.bounds.tolist() == [[0, 10]]
    assert data.inputs[0].unit == "m"
    assert [data.entry(i).split for i in range(4)] == ["train", "train", "validation", "test"]
    with pytest.raises(InvalidInputError, match=r"no option 'bound'; did you mean bounds\?"):
        import_data(**common, bound=[[0, 10]])
    with pytest.raises(InvalidInputError, match="--sample_axis must be a whole number; got"):
        import_data(**common, sample_axis=0.5)


@pytest.mark.parametrize("line", EXAMPLES.splitlines())
def test_the_examples_in_the_help_are_understood(line):
    words = shlex.split(line)
    assert words[:2] == ["iaenet", "import"]
    assert import_parser().parse_args(words[2:]).out.endswith(".h5")


def blocks(language):
    text = (Path(__file__).parents[2] / "docs" / "import.md").read_text()
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


def test_a_wfdb_record_goes_by_its_name_without_suffix(tmp_path):
    pytest.importorskip("wfdb")
    np.zeros((50, 2), dtype="<i2").tofile(tmp_path / "r.dat")
    signals = [f"r.dat 16 200(0)/mV 16 0 0 0 0 {name}\n" for name in ("a", "u")]
    (tmp_path / "r.hea").write_text("".join(["r 2 250 50\n", *signals]))
    options = "--inputs a --outputs u --window 10 --train 1 --validation 0 --test 0"
    line = run(["wfdb", tmp_path / "r", *options.split(), "--out", tmp_path / "r.h5"])
    assert line.endswith("5 samples (5 train)")

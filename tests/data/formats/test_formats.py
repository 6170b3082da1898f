"""The registry of formats and the table of reader options say the same as the readers themselves."""

import ast
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from iaenet.data.dataset import load_dataset
from iaenet.data.formats import DATA, FORMATS
from iaenet.data.import_files import import_data
from iaenet.data.problems.problem import Channel
from iaenet.data.reading.imported import Lazy
from iaenet.data.reading.inputs import format_of
from iaenet.data.reading.reader_options import OPTIONS, options_of, parse_options
from iaenet.data.writing.output import Output, Sample
from iaenet.data.writing.target import choose, write
from iaenet.errors import InvalidInputError


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_known_by_its_name_and_reads_by_options_of_the_table(name):
    kind = FORMATS[name]
    assert kind.name == name
    command = "predict" if name == DATA else "import"
    assert set(kind.options) <= {option.name for option in options_of(command)}


def test_a_suffix_tells_one_format():
    suffixes = [suffix for kind in FORMATS.values() for suffix in kind.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert all(suffix == suffix.lower() for suffix in suffixes)


@pytest.mark.parametrize("name", OPTIONS)
def test_the_help_names_the_formats_that_have_an_option(name):
    having = {kind.name for kind in FORMATS.values() if name in kind.options}
    assert having, "an option that no format has"
    said = re.search(r"\(([a-z0-9, ]+)\)\.$", OPTIONS[name].text)
    if said:
        assert set(said[1].split(", ")) == having
    else:
        assert len(having) > 4


@pytest.mark.parametrize(
    ("name", "text", "plain"),
    [
        ("bounds", "[[0, 10], [-1, 1e-3]]", [(0.0, 10.0), (-1.0, 0.001)]),
        ("bounds", "[0,10],[-1,1]", [(0.0, 10.0), (-1.0, 1.0)]),
        ("periodic", "true", True),
        ("periodic", "true,false", [True, False]),
        ("units", "{u: m/s, p: 1}", {"u": "m/s", "p": "1"}),
        ("leads", "[1,8]", [1, 8]),
        ("input_steps", "-1", -1),
        ("input_steps", "0,5", [0, 5]),
        ("inputs", "a,u[0:3]", "a,u[0:3]"),
        ("inputs", "[a, b]", ["a", "b"]),
        ("groups", "/", "/"),
        ("delimiter", ";", ";"),
        ("rule", "monte-carlo", "monte-carlo"),
    ],
)
def test_text_and_plain_data_are_the_same_option(name, text, plain):
    assert OPTIONS[name].parse(text) == plain
    assert OPTIONS[name].parse(plain) == plain, "what was parsed can be parsed again"
    assert parse_options({name: text}) == {name: plain}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bounds", 3),
        ("bounds", "[0,10]]"),
        ("bounds", [[0, 1, 2]]),
        ("periodic", "no one knows"),
        ("units", "m"),
        ("leads", "1.5"),
        ("dim", True),
        ("inputs", [1, 2]),
        ("inputs", {"a": 1}),
        ("rule", "simpson"),
    ],
)
def test_a_wrong_value_is_refused_in_a_few_words(name, value):
    with pytest.raises(InvalidInputError, match=rf"^--{name} must be .{{5,90}}; got ") as error:
        parse_options({name: value})
    assert len(str(error.value)) < 160


def test_a_new_format_is_a_file_and_a_line(tmp_path, monkeypatch):
    """The page of the documentation: read by import, known by its suffix, written by predict."""
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text()
    code, line = re.findall(r"^```\w*\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "npy_format.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "iaenet.data.formats.npy_format", __import__("npy_format"))
    monkeypatch.setattr(FORMATS, "_table", FORMATS._table | ast.literal_eval(f"{{{line}}}"))
    np.save(tmp_path / "f.npy", np.arange(2 * 5 * 8.0).reshape(2, 5, 8))
    assert format_of(tmp_path / "f.npy") == "npy"
    import_data("npy", tmp_path / "f.npy", tmp_path / "f.h5", periodic=True)
    data = load_dataset(tmp_path / "f.h5")
    assert data[1][1].values[:, 0].tolist() == list(range(48, 56))
    assert data[0][0].discretization.periodic == (True,)
    with pytest.raises(InvalidInputError, match="--rule is no option of the format npy, which has: inputs, outputs"):
        import_data("npy", tmp_path / "f.npy", tmp_path / "g.h5", rule="cells")
    target = choose(tmp_path / "out.npy", "npy")
    field = data[0][0]
    write(target, Output([Sample("s", field, field)], (Channel("a"),), (Channel("u"),), ("x",), suffix=".npy"))
    assert torch.equal(torch.from_numpy(np.load(tmp_path / "out.npy")[0]), field.values)


def test_pairs_behave_as_a_sequence():
    pairs = Lazy(5, lambda i: i)
    assert pairs[-1] == 4
    assert list(pairs[1:4]) == [1, 2, 3]
    assert list(pairs[::-2]) == [4, 2, 0]
    assert list(pairs) == [0, 1, 2, 3, 4]
    with pytest.raises(IndexError):
        pairs[5]

"""Folders of CSV files, each an irregular sample; every mistake in them is named by file, row and column."""

import csv

import numpy as np
import pytest

from iaenet.data.formats.csv_folder import read_csv_folder
from iaenet.errors import InvalidInputError

RNG = np.random.default_rng(7)


def write(path, columns, delimiter=","):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_irregular_samples_share_one_domain(tmp_path, delimiter):
    truth = []
    for i, n in enumerate((12, 7, 30)):
        columns = {name: RNG.normal(size=n) for name in ("u", "x", "note", "y", "a", "b")}
        write(tmp_path / f"s{i}.csv", columns, delimiter)
        truth.append(columns)
    imported = read_csv_folder(
        tmp_path, coordinates=["x", "y"], inputs="a,b", outputs="u", delimiter=delimiter, units={"u": "Pa"}
    )
    x = np.concatenate([np.stack([columns["x"], columns["y"]], axis=1) for columns in truth])
    for (given, wanted), columns in zip(imported.pairs, truth, strict=True):
        assert np.array_equal(given.values, np.stack([columns["a"], columns["b"]], axis=1)), "to the last bit"
        assert np.array_equal(wanted.values[:, 0], columns["u"])
        assert np.array_equal(given.discretization.points, np.stack([columns["x"], columns["y"]], axis=1))
        assert given.discretization.bounds.tolist() == np.stack([x.min(0), x.max(0)], axis=1).tolist()
        assert given.discretization is wanted.discretization
    assert imported.outputs[0].unit == "Pa"


def test_separate_files_for_input_and_output_points(tmp_path):
    truth = {}
    for name, (n, m) in {"run_2": (5, 9), "run_10": (6, 3)}.items():
        truth[name] = {"x": RNG.uniform(size=n), "a": RNG.normal(size=n)}, {"z": RNG.uniform(size=m), "u": np.ones(m)}
        for part, columns in zip(("input", "output"), truth[name], strict=True):
            write(tmp_path / f"{name}_{part}.csv", columns)
    options = {"coordinates": "x", "output_coordinates": "z", "inputs": "a", "outputs": "u"}
    pairs = read_csv_folder(tmp_path, separate=True, **options).pairs
    for (given, wanted), (inputs, outputs) in zip(pairs, truth.values(), strict=True):
        assert np.array_equal(given.values[:, 0], inputs["a"])
        assert np.array_equal(given.discretization.points[:, 0], inputs["x"])
        assert np.array_equal(wanted.discretization.points[:, 0], outputs["z"])
    (tmp_path / "run_10_output.csv").unlink()
    with pytest.raises(InvalidInputError, match=r"run_10_output\.csv is missing beside run_10_input\.csv"):
        read_csv_folder(tmp_path, separate=True, **options)
    write(tmp_path / "other.csv", truth["run_2"][0])
    with pytest.raises(InvalidInputError, match=r"other\.csv: separate files must have names like NAME_input\.csv"):
        read_csv_folder(tmp_path, separate=True, **options)


def test_byte_order_marks_blank_lines_spaces_and_exponents(tmp_path):
    (tmp_path / "s.csv").write_bytes(b"\xef\xbb\xbfx, u\r\n0.5, 1e-3\r\n\r\n1.5,-2.5E2\r\n")
    pair = read_csv_folder(tmp_path, coordinates="x", inputs="u", outputs="u").pairs[0]
    assert pair[0].values[:, 0].tolist() == [1e-3, -250.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,u\n0,1\n1,two\n", r"row 3, column 'u': 'two' is not a number"),
        ("x,u\n0,1\n\n1,\n", r"row 4, column 'u': is empty"),
        ("x,u\n0,1\n1,nan\n", r"row 3, column 'u': is nan"),
        ("x,u\n0,1\n1,inf\n", r"row 3, column 'u': is inf"),
        ("x,u\n0,1\n1_0,2\n", r"row 3, column 'x': '1_0' is not a number"),
        ("x,u\n0,1\n1\n", r"row 3: 1 cells, but row 1 names 2 columns: x, u"),
        ("x,u\n0,1\n1,2,3\n", r"row 3: 3 cells, but row 1 names 2 columns"),
        ("x,v\n0,1\n", r"no column 'u'; there are: x, v"),
        ("x,u,u\n0,1,2\n", r"row 1: two columns have the name 'u'"),
        ("x,u\n", r"no rows below the names of the columns"),
        ("", r"the file is empty"),
        ("x,u\n0,\xff\n", r"cannot be read as CSV"),
        ('x,u\n0,"1\n', r"cannot be read as CSV"),
    ],
)
def test_a_mistake_is_named_by_file_row_and_column(tmp_path, text, message):
    write(tmp_path / "s1.csv", {"x": [0.0, 1.0], "u": [1.0, 2.0]})
    (tmp_path / "s2.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInputError, match=rf"s2\.csv: ({message})"):
        list(read_csv_folder(tmp_path, coordinates="x", inputs="u", outputs="u").pairs)


def test_an_empty_folder_and_options_that_make_no_sense(tmp_path):
    with pytest.raises(InvalidInputError, match=r"no \.csv file in this folder"):
        read_csv_folder(tmp_path, coordinates="x", inputs="u", outputs="u")
    write(tmp_path / "s1.csv", {"x": [0.0, 1.0], "u": [1.0, 2.0]})
    with pytest.raises(InvalidInputError, match="name at least one column"):
        read_csv_folder(tmp_path, coordinates=[], inputs="u", outputs="u")
    with pytest.raises(InvalidInputError, match="delimiter must be one character"):
        read_csv_folder(tmp_path, coordinates="x", inputs="u", outputs="u", delimiter=", ")
    with pytest.raises(InvalidInputError, match=r"s1\.csv: .*outside the domain .* give the domain as bounds"):
        list(read_csv_folder(tmp_path, coordinates="x", inputs="u", outputs="u", bounds=[(0, 0.5)]).pairs)

"""Where predictions go: the format by the name, all or nothing, never over what is read."""

import os
import sys
from pathlib import Path

import pytest

from iaenet.data.atomic import apart
from iaenet.data.formats import FORMATS
from iaenet.data.writing.target import Target, choose, replacing_folder, writing
from iaenet.errors import InvalidInputError


@pytest.mark.parametrize(
    ("output", "given", "wanted"),
    [
        ("u.csv", "npz", ("csv", False, ".csv")),
        ("U.CSV", "mesh", ("csv", False, ".csv")),
        ("u.h5", "npz", ("hdf5", False, ".h5")),
        ("u.h5", "data", ("data", False, ".h5")),
        ("u.hdf5", "hdf5", ("hdf5", False, ".hdf5")),
        ("u.vtk", "mesh", ("mesh", False, ".vtk")),
        ("folder", "csv", ("csv", True, ".csv")),
        ("folder/", "mesh", ("mesh", True, ".vtu")),
        ("folder", "netcdf", ("netcdf", True, ".nc")),
        ("folder", "wfdb", ("csv", True, ".csv")),
    ],
)
def test_the_name_says_the_format(output, given, wanted):
    found = choose(output, given)
    assert (found.format.name, found.folder, found.suffix) == wanted


@pytest.mark.parametrize(
    ("output", "format", "message"),
    [
        ("u.txt", None, r"u\.txt: predictions are written to \.csv, \.npz"),
        ("folder", "npz", "npz keeps all samples in one file"),
        ("u.csv", "npz", r"u\.csv: its name says csv, but --output_format npz"),
        ("u.h5", "parquet", "no format 'parquet'; there are csv, npz, pt, mat, hdf5, netcdf, zarr, mesh, data"),
    ],
)
def test_a_name_that_does_not_fit_is_refused(output, format, message):
    with pytest.raises(InvalidInputError, match=message):
        choose(output, "csv", format)


def test_a_folder_of_that_name_is_a_folder(tmp_path):
    (tmp_path / "runs.csv").mkdir()
    assert choose(tmp_path / "runs.csv", "csv").folder


def test_never_over_what_is_read(tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    file = folder / "s.csv"
    file.write_text("x,a\n")
    os.link(file, tmp_path / "same.csv")
    os.symlink(folder, tmp_path / "also")
    for path, source in (
        (file, file),
        (tmp_path / "same.csv", file),
        (folder / "new.csv", folder),
        (folder, folder),
        (tmp_path / "also" / "new.csv", folder),
    ):
        with pytest.raises(InvalidInputError, match="what is read"):
            apart(path, [tmp_path / "other", source])
    apart(tmp_path / "runs2", [folder])
    apart(folder / "new.csv", [file])


@pytest.mark.parametrize("folder", [True, False])
def test_all_or_nothing(tmp_path, folder):
    target = Target(tmp_path / "u", FORMATS["csv"], folder, ".csv")

    def broken_off():
        with writing(target) as path:
            (path / "s.csv" if folder else path).write_text("x")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        broken_off()
    assert not list(tmp_path.iterdir())
    with writing(target) as path:
        (path / "s.csv" if folder else path).write_text("x")
        assert not (tmp_path / "u").exists()
    assert [each.name for each in tmp_path.iterdir()] == ["u"]


def test_an_empty_folder_is_filled_and_another_is_not_touched(tmp_path):
    (tmp_path / "u").mkdir()
    with replacing_folder(tmp_path / "u") as path:
        (path / "s.csv").write_text("first")
    with (
        pytest.raises(InvalidInputError, match="u is not empty; give the name of a new folder"),
        replacing_folder(tmp_path / "u"),
    ):
        pass
    assert (tmp_path / "u" / "s.csv").read_text() == "first"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
@pytest.mark.parametrize("folder", [True, False])
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/proc/u", "/proc/u: cannot be written: "),
        ("{}/none/u", "there is no folder .*none; make it first"),
        ("{}/file/u", "there is no folder .*file; make it first"),
    ],
)
def test_what_cannot_be_written_is_one_line(tmp_path, folder, path, message):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InvalidInputError, match=message),
        writing(Target(Path(path.format(tmp_path)), FORMATS["csv"], folder, ".csv")),
    ):
        pytest.fail("nothing can be written here")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]

"""zarr stores, files of several resolutions, and xarray objects in memory."""

import json
import shutil

import numpy as np
import pytest
import torch

import iaenet
from iaenet.cli.main import main
from iaenet.data.formats.netcdf import read_netcdf
from iaenet.data.formats.zarr_store import read_zarr
from iaenet.data.import_files import import_data
from iaenet.data.problems.problem import Channel
from iaenet.data.writing.output import Output, Sample
from iaenet.data.writing.target import choose, write
from iaenet.errors import InvalidInputError

xarray = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")
pytest.importorskip("h5netcdf")
RNG = np.random.default_rng(3)
NAMES = {"coordinates": "lon,lat", "inputs": "a", "outputs": "u"}


def dataset(samples=4, shape=(6, 5), seed=0):
    values = np.random.default_rng(seed).uniform(1, 2, (2, samples, *shape)).astype(np.float32)
    axes = {"lon": np.linspace(0, 2, shape[0]), "lat": np.linspace(1, -1, shape[1])}
    dims = ("time", "lon", "lat")
    return xarray.Dataset({"a": (dims, values[0], {"units": "K"}), "u": (dims, values[1])}, axes)


def chunked(data, path, **options):
    data.to_zarr(path, consolidated=False, encoding={name: {"chunks": (1, 6, 5)} for name in "au"}, **options)
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_a_store_reads_as_xarray_wrote_it(tmp_path, version):
    data = dataset()
    found = read_zarr(chunked(data, tmp_path / "s.zarr", zarr_format=version), sample="time", **NAMES)
    assert (len(found.pairs), found.inputs[0].unit) == (4, "K")
    given, wanted = found.pairs[2]
    assert np.array_equal(given.numpy(grid=True)[..., 0], data["a"].values[2][:, ::-1]), "axes may decrease"
    assert np.array_equal(wanted.numpy(grid=True)[..., 0], data["u"].values[2][:, ::-1])
    assert given.discretization.bounds.tolist() == [[0, 2], [-1, 1]]


def test_a_chunk_that_is_not_there_does_not_read_as_zeros(tmp_path, capsys):
    store = chunked(dataset(), tmp_path / "s.zarr")
    (store / "u" / "c" / "2" / "0" / "0").unlink()
    command = ["import", "zarr", str(store), "--sample", "time"]
    command += [part for name, value in NAMES.items() for part in (f"--{name}", value)]
    assert main([*command, "--out", str(tmp_path / "s.h5")]) == 2
    assert "'u': 1 of 4 chunks are not there, and would read as" in capsys.readouterr().err
    filled = read_zarr(store, sample="time", empty_chunks="fill", missing="drop", skip_bad=False, **NAMES)
    assert len(list(filled.pairs[:2])) == 2


def test_plain_arrays_of_a_store(tmp_path):
    group = zarr.open_group(tmp_path / "p.zarr", mode="w")
    x, y = RNG.uniform(size=(2, 3, 8)).astype(np.float32)
    for name, values in (("train/x", x), ("train/y", y)):
        group.create_array(name, data=values, chunks=(1, 8))
    found = read_zarr(tmp_path / "p.zarr", inputs="train/x", outputs="train/y", grid="left")
    assert np.array_equal(found.pairs[1][1].values[:, 0], y[1])
    assert found.pairs[0][0].discretization.axes[0][-1].item() == 7 / 8
    with pytest.raises(InvalidInputError, match=r"p\.zarr: no array 'z'; there are"):
        read_zarr(tmp_path / "p.zarr", inputs="z", outputs="train/y")


def test_what_a_store_could_do_is_refused(tmp_path):
    store = chunked(dataset(), tmp_path / "s.zarr", zarr_format=2)
    linked = shutil.copytree(store, tmp_path / "l.zarr")
    (linked / "u" / "2.0.0").unlink()
    (linked / "u" / "2.0.0").symlink_to(store / "u" / "1.0.0")
    with pytest.raises(InvalidInputError, match=r"'2\.0\.0' is a link"):
        read_zarr(linked, sample="time", **NAMES)
    about = json.loads((store / "u" / ".zarray").read_text())
    (store / "u" / ".zarray").write_text(json.dumps({**about, "filters": [{"id": "base64"}]}))
    with pytest.raises(InvalidInputError, match="'u': codec 'base64' is not read"):
        read_zarr(store, sample="time", **NAMES)
    (tmp_path / "f.zarr").write_text("no store")
    with pytest.raises(InvalidInputError, match="a zarr store is a folder"):
        read_zarr(tmp_path / "f.zarr", sample="time", **NAMES)


def test_predictions_go_to_a_store_and_come_back(tmp_path):
    grid = iaenet.Discretization.uniform((4, 3))
    fields = [iaenet.Field(grid, torch.full((12, 1), float(i))) for i in range(3)]  # the first is all zeros
    samples = [Sample(f"s{i}", field, field) for i, field in enumerate(fields)]
    target = choose(tmp_path / "out.zarr", "zarr")
    write(target, Output(samples, (Channel("a"),), (Channel("u"),), ("x", "y"), suffix=".zarr"))
    found = read_zarr(tmp_path / "out.zarr", coordinates="x,y", inputs="u", outputs="u", sample="sample")
    assert [pair[0].values.mean().item() for pair in found.pairs] == [0.0, 1.0, 2.0]
    with pytest.raises(InvalidInputError, match="is not empty"):
        write(target, Output(samples, (Channel("a"),), (Channel("u"),), ("x", "y"), suffix=".zarr"))


def test_one_file_for_each_resolution(tmp_path, capsys):
    (tmp_path / "runs").mkdir()
    for n in (6, 12):
        dataset(20, (n, 5)).to_netcdf(tmp_path / "runs" / f"r{n}.nc", engine="h5netcdf")
    command = ["import", "netcdf", str(tmp_path / "runs"), "--sample", "time", "--out", str(tmp_path / "r.h5")]
    assert main(command + [part for name, value in NAMES.items() for part in (f"--{name}", value)]) == 0
    assert "2 files with as many samples on different grids" in capsys.readouterr().out
    data = iaenet.load_dataset(tmp_path / "r.h5")
    assert (len(data), data.resolutions) == (40, (6, 12))
    splits = {}
    for i in range(40):
        splits.setdefault(data.entry(i).record, set()).add(data.entry(i).split)
    assert len(splits) == 20
    assert all(len(each) == 1 for each in splits.values()), "a function is never trained on and tested at once"


def test_files_of_one_grid_are_further_samples(tmp_path):
    for year, count in ((2000, 3), (2001, 2)):
        dataset(count, seed=year).to_netcdf(tmp_path / f"y{year}.nc", engine="h5netcdf")
    found = read_netcdf(tmp_path, sample="time", **NAMES)
    assert (len(found.pairs), found.records, found.where(3)[-18:]) == (5, None, "y2001.nc: sample 0")
    wanted = dataset(2, seed=2001)["u"].values[1][:, ::-1]
    assert np.array_equal(found.pairs[4][1].numpy(grid=True)[..., 0], wanted)
    (tmp_path / "y1999.nc").write_bytes((tmp_path / "y2000.nc").read_bytes()[:500])
    skipped = read_netcdf(tmp_path, sample="time", skip_bad=True, **NAMES)
    assert (len(skipped.pairs), "y1999.nc" in skipped.skipped[0]) == (5, True)


def test_masked_values_of_netcdf_are_dropped(tmp_path):
    data = dataset()
    data["u"][1, 2, 3] = np.nan
    data.to_netcdf(tmp_path / "s.nc", engine="h5netcdf", encoding={"u": {"_FillValue": -999.0}})
    options = {"sample": "time", **NAMES, "out": str(tmp_path / "s.h5")}
    with pytest.raises(InvalidInputError, match=r"sample 1: channel u, point .* is nan; --missing drop"):
        import_data("netcdf", str(tmp_path / "s.nc"), **options)
    import_data("netcdf", str(tmp_path / "s.nc"), missing="drop", **options)
    assert sorted(pair[1].discretization.n for pair in iaenet.load_dataset(tmp_path / "s.h5")) == [29, 30, 30, 30]


def test_a_dataset_in_memory():
    found = iaenet.from_xarray(dataset(), sample="time", **NAMES)
    assert np.array_equal(found.pairs[3][0].numpy(grid=True)[..., 0], dataset()["a"].values[3][:, ::-1])
    with pytest.raises(InvalidInputError, match=r"an xarray\.Dataset is needed, got DataArray"):
        iaenet.from_xarray(dataset()["a"], sample="time", **NAMES)


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(
    "at",
    [
        iaenet.Discretization.uniform((4, 6), periodic=(True, False), bounds=[[0, 2], [-1, 1]]),
        iaenet.Discretization.points(RNG.uniform(0.1, 0.9, (40, 2))),
        iaenet.Discretization.uniform(8),
    ],
    ids=["grid", "points", "line"],
)
def test_a_field_to_xarray_and_back(at, channels):
    field = iaenet.Field(at, torch.rand(at.n, channels))
    array = field.to_xarray()
    assert array.sizes.get("channel", 1) == channels
    again = iaenet.Field.from_xarray(array)
    assert torch.equal(again.values, field.values)
    assert torch.allclose(again.discretization.points, at.points)
    assert again.discretization.bounds.tolist() == at.bounds.tolist()
    assert again.discretization.periodic == at.periodic


def test_a_data_array_of_ones_own():
    field = iaenet.Field.from_xarray(dataset()["a"].isel(time=1), periodic=[True, False])
    assert field.discretization.bounds.tolist() == [[0, pytest.approx(2.4)], [-1, 1]]
    assert np.array_equal(field.numpy(grid=True)[..., 0], dataset()["a"].values[1][:, ::-1])
    with pytest.raises(InvalidInputError, match="more than one of the dimensions"):
        iaenet.Field.from_xarray(dataset()["a"].expand_dims("member"), ["lon", "lat"])

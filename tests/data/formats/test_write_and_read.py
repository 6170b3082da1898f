"""One contract for all writers: what is written comes back through the reader of the same format, number by number."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, load_dataset
from iaenet.data.problems.problem import Channel
from iaenet.data.writing.output import Output, Sample, coordinate_names
from iaenet.data.writing.target import choose, write
from iaenet.errors import InvalidInputError

RNG = np.random.default_rng(3)
BOX = [[0.0, 2.0], [-1.0, 1.0]]
CHANNELS = (Channel("u", "m/s"), Channel("w[3]"))


def points(n, d=2, rng=RNG):
    low, high = np.array(BOX[:d]).T
    return Discretization.points(rng.uniform(low, high, size=(n, d)), bounds=BOX[:d])


def grid(*shape):
    return Discretization.uniform(shape, bounds=BOX[: len(shape)])


def uneven(*shape):
    axes = [np.sort(RNG.uniform(*BOX[i], size=s)) for i, s in enumerate(shape)]
    return Discretization.tensor_grid(*axes, bounds=BOX[: len(shape)])


SHARED = points(7)
LAYOUTS = {
    "one grid": lambda: [grid(5, 4)] * 3,
    "a square grid": lambda: [grid(4, 4)] * 4,
    "an uneven grid": lambda: [uneven(3, 6)] * 2,
    "a line": lambda: [grid(9)] * 3,
    "a solid": lambda: [Discretization.uniform((3, 4, 2), bounds=[*BOX, [0, 1]])] * 2,
    "one set of points": lambda: [SHARED] * 3,
    "as many samples as points": lambda: [points(4) for _ in range(4)],
    "own points": lambda: [points(6), points(6)],
    "own points on a line": lambda: [points(6, 1), points(6, 1), points(6, 1)],
    "one sample": lambda: [points(5)],
    "different numbers": lambda: [points(6), points(9), points(4)],
    "different grids": lambda: [grid(5, 4), grid(4, 5), grid(9, 3)],
    "grids and points": lambda: [grid(3, 4), points(12)],
}
RAGGED = ("different numbers", "different grids", "grids and points")
TARGETS = ["out", "out.npz", "out.mat", "out.hdf5", "out.nc", "nc_folder", "mesh_folder", "out.h5"]


def written(path, sets, dtype=torch.float32, channels=CHANNELS, format=None, rng=RNG):
    """Random values on these points, written; and what they were."""
    made = [Field(at, torch.from_numpy(rng.normal(size=(at.n, len(channels)))).to(dtype)) for at in sets]
    given = [Field(at, torch.ones(at.n, 1, dtype=dtype)) for at in sets]
    samples = [Sample(f"s{i}", *pair) for i, pair in enumerate(zip(given, made, strict=True))]
    names = coordinate_names([], sets[0].dim, channels)
    kind = {"nc_folder": "netcdf", "mesh_folder": "mesh"}.get(path.name, "csv")
    target = choose(path, kind, format)
    splits = ["test"] * len(made)
    output = Output(iter(samples), (Channel("a"),), channels, names, suffix=target.suffix, splits=splits)
    write(target, output)
    return made, names, target


def read(target, names, ragged):
    if target.format.name == "data":
        return [pair[1] for pair in load_dataset(target.path)]
    inputs = ["u", "w_3"] if target.format.name == "mat" else [channel.name for channel in CHANNELS]
    more = {
        "mesh": {"rule": "cells"},
        "netcdf": {"sample": None if target.folder else "sample"},
        "hdf5": {"groups": "/" if ragged else None},
    }
    options = more.get(target.format.name, {})
    return target.format.read(target.path, inputs=inputs, outputs=inputs, coordinates=names, **options).given


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_written_is_read(tmp_path, name, layout, dtype):
    if "nc" in name:
        pytest.importorskip("h5netcdf")
    if "mesh" in name:
        pytest.importorskip("meshio")
    if (name, layout) == ("nc_folder", "grids and points"):
        pytest.skip("each file can be read, but not both as samples of the same dimensions")
    sets, ragged = LAYOUTS[layout](), layout in RAGGED
    if ragged and name in ("out.npz", "out.mat", "out.nc"):
        with pytest.raises(InvalidInputError, match="different numbers of points or grids: write to a folder"):
            written(tmp_path / name, sets, dtype)
        assert not list(tmp_path.iterdir()), "a refusal leaves nothing"
        return
    format = "data" if name == "out.h5" else None
    made, names, target = written(tmp_path / name, sets, dtype, format=format)
    found = read(target, names, ragged)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert len(found) == len(made)
    for before, after in zip(made, found, strict=True):
        p, v = _sorted(before)
        q, w = _sorted(after)
        assert np.allclose(p, q, rtol=0, atol=1e-12)
        assert np.array_equal(v, w.astype(v.dtype)), "CSV is read as float64"


def _sorted(field):
    """Points and values in one order, whatever that of the file."""
    points = field.discretization.points.numpy().round(12)
    order = np.lexsort(points.T)
    return points[order], field.values.numpy()[order]


@pytest.mark.parametrize("name", ["out", "out.csv", "mesh_folder", "out.npz", "out.hdf5"])
def test_the_same_predictions_give_the_same_bytes(tmp_path, name):
    if "mesh" in name:
        pytest.importorskip("meshio")
    bytes_ = []
    for attempt in ("first", "second"):
        (tmp_path / attempt).mkdir()
        rng = np.random.default_rng(8)
        written(tmp_path / attempt / name, [points(5, rng=rng)], rng=rng)
        bytes_.append([file.read_bytes() for file in sorted((tmp_path / attempt).rglob("*.*")) if file.is_file()])
    assert bytes_[0]
    assert bytes_[0] == bytes_[1]


def test_names_that_are_awkward_for_a_format(tmp_path):
    channels = (Channel("file"), Channel("grid/p"), Channel("y"))
    made, names, _ = written(tmp_path / "out.npz", [grid(3, 3)] * 2, channels=channels)
    assert names == ("x1", "x2"), "y is a channel"
    with np.load(tmp_path / "out.npz") as archive:
        assert sorted(archive) == ["file", "grid/p", "x1", "x2", "y"]
        assert np.array_equal(archive["grid/p"][1].ravel(), made[1].values[:, 1])
    clash = (Channel("u[0]"), Channel("u_0"))
    with pytest.raises(InvalidInputError, match=r"the same in MATLAB: x, y, u\[0\], u_0"):
        written(tmp_path / "out.mat", [grid(3, 3)], channels=clash)
    written(tmp_path / "out.csv", [points(3)], channels=(Channel('a,"b"'), Channel("c")))
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == 'x,y,"a,""b""",c'


def test_units_and_origin_go_along(tmp_path):
    h5py = pytest.importorskip("h5py")
    written(tmp_path / "out.hdf5", [grid(4)])
    with h5py.File(tmp_path / "out.hdf5") as file:
        assert file["u"].attrs["units"] == "m/s"
        assert file.attrs["origin"] == "{}"
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    written(tmp_path / "out.nc", [grid(4)])
    with xarray.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as data:
        assert data["u"].attrs["units"] == "m/s"
        assert data["u"].dims == ("sample", "x")

"""NetCDF as xarray writes it: version 4 and the classic format, dimensions in any order, packed values, units."""

import h5py
import numpy as np
import pytest

from iaenet.data.formats.netcdf import read_netcdf
from iaenet.errors import InvalidInputError

xarray = pytest.importorskip("xarray")
pytest.importorskip("h5netcdf")
RNG = np.random.default_rng(4)


def weather():
    return xarray.Dataset(
        {
            "t2m": (("time", "lat", "lon"), RNG.normal(size=(6, 4, 5)), {"units": "K"}),
            "wind": (("lon", "component", "time", "lat"), RNG.normal(size=(5, 2, 6, 4)).astype(np.float32)),
            "mask": (("lat", "lon"), np.ones((4, 5))),
        },
        {
            "lat": ("lat", [60.0, 50.0, 40.0, 30.0], {"units": "degrees_north"}),
            "lon": ("lon", [0.0, 10.0, 20.0, 30.0, 40.0]),
            "time": ("time", np.arange(6), {"units": "hours since 2000-01-01"}),
        },
    )


@pytest.mark.parametrize("engine", ["h5netcdf", "scipy", "netcdf4"])
def test_dimensions_have_names_so_their_order_does_not_matter(tmp_path, engine):
    if engine == "netcdf4":
        pytest.importorskip("netCDF4")
    data = weather()
    data.to_netcdf(tmp_path / "w.nc", engine=engine)
    imported = read_netcdf(
        tmp_path / "w.nc", coordinates="lon,lat", sample="time", inputs="t2m", outputs="wind", units={"wind": "m/s"}
    )
    assert [(channel.name, channel.unit) for channel in imported.inputs] == [("t2m", "K")]
    assert [(channel.name, channel.unit) for channel in imported.outputs] == [("wind[0]", "m/s"), ("wind[1]", "m/s")]
    assert len(imported.pairs) == 6
    for i, (given, wanted) in enumerate(imported.pairs):
        upwards = data.isel(time=i).sortby("lat")
        assert np.array_equal(given.values[:, 0], upwards.t2m.transpose("lon", "lat").values.ravel())
        assert np.array_equal(wanted.values, upwards.wind.transpose("lon", "lat", "component").values.reshape(20, 2))
        assert wanted.values.numpy().dtype == np.float32
    assert imported.pairs[0][0].discretization.bounds.tolist() == [[0, 40], [30, 60]]


def test_points_of_a_mesh_and_curvilinear_grids(tmp_path):
    x, y = RNG.uniform(size=(2, 12))
    data = xarray.Dataset(
        {"u": (("run", "node"), RNG.normal(size=(3, 12))), "v": (("run", "i", "j"), RNG.normal(size=(3, 4, 3)))},
        {
            "x": ("node", x),
            "y": ("node", y),
            "lat": (("i", "j"), x.reshape(4, 3)),
            "lon": (("i", "j"), y.reshape(4, 3)),
            "own": (("run", "node"), RNG.uniform(size=(3, 12))),
        },
    )
    data.to_netcdf(tmp_path / "m.nc", engine="h5netcdf")
    for coordinates, name in (("x,y", "u"), ("lat,lon", "v")):
        pair = read_netcdf(tmp_path / "m.nc", coordinates=coordinates, sample="run", inputs=name, outputs=name).pairs[2]
        assert np.array_equal(pair[0].discretization.points, np.stack([x, y], axis=1))
        assert np.array_equal(pair[0].values[:, 0], data[name].values[2].ravel())
    pairs = read_netcdf(tmp_path / "m.nc", coordinates="own", sample="run", inputs="u", outputs="u").pairs
    for i in range(3):
        assert np.array_equal(pairs[i][0].discretization.points[:, 0], data.own.values[i])


def test_a_folder_with_a_file_for_each_sample(tmp_path):
    for i, n in enumerate((5, 7)):
        x = np.sort(RNG.uniform(size=n))
        xarray.Dataset({"u": ("x", 3 * x)}, {"x": x}).to_netcdf(tmp_path / f"s{i}.nc", engine="h5netcdf")
    pairs = read_netcdf(tmp_path, coordinates="x", inputs="u", outputs="u").pairs
    assert [pair[0].discretization.n for pair in pairs] == [5, 7]
    for pair in pairs:
        assert np.array_equal(pair[0].values, 3 * pair[0].discretization.points)


def test_packed_values_are_unpacked_and_missing_ones_named(tmp_path):
    u = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0]])
    data = xarray.Dataset({"u": (("run", "x"), u)}, {"x": [0.0, 1.0, 2.0]})
    packing = {"u": {"dtype": "int16", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": -999}}
    data.to_netcdf(tmp_path / "p.nc", engine="h5netcdf", encoding=packing)
    imported = read_netcdf(tmp_path / "p.nc", coordinates="x", sample="run", inputs="u", outputs="u")
    assert imported.pairs[0][0].values[:, 0].tolist() == [1, 2, 3]
    with pytest.raises(InvalidInputError, match=r"p\.nc: sample 1: channel u, point 1 is nan"):
        list(imported.pairs)


def test_what_does_not_fit_is_named(tmp_path):
    weather().to_netcdf(tmp_path / "w.nc", engine="h5netcdf")
    good = {"coordinates": "lon,lat", "sample": "time", "inputs": "t2m", "outputs": "t2m"}
    for options, message in (
        ({"inputs": "t3m"}, r"w\.nc: no variable 't3m'; there are: "),
        ({"coordinates": "lon,height"}, r"w\.nc: no variable 'height'; there are: "),
        ({"sample": "day"}, r"w\.nc: no dimension 'day'; there are: "),
        ({"inputs": "mask"}, r"w\.nc: variable mask\(lat, lon\) lacks the dimension time"),
        ({"coordinates": "lon,mask"}, r"w\.nc: coordinates lon\(lon\), mask\(lat, lon\): each needs one dimension"),
        ({"coordinates": "lon", "inputs": "lat"}, r"w\.nc: variable lat\(lat\) needs the dimensions lon"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            read_netcdf(tmp_path / "w.nc", **{**good, **options})


def test_data_in_other_files_is_refused(tmp_path):
    weather().to_netcdf(tmp_path / "w.nc", engine="h5netcdf")
    with h5py.File(tmp_path / "w.nc", "r+") as file:
        file["out"] = h5py.ExternalLink("other.h5", "/")
    with pytest.raises(InvalidInputError, match=r"w\.nc: 'out' is an external link"):
        read_netcdf(tmp_path / "w.nc", coordinates="lon,lat", sample="time", inputs="t2m", outputs="t2m")

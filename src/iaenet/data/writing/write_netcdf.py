"""NetCDF 4, by xarray and h5netcdf."""

from collections.abc import Mapping
from pathlib import Path

from iaenet.data.file_format import as_json, to_bytes
from iaenet.data.reading.files import required
from iaenet.data.writing.output import Output, Sample
from iaenet.data.writing.stacked import POINTS, ROWS, Named, sample_arrays, stacked
from iaenet.errors import InvalidInputError


def write_netcdf(path: Path, output: Output) -> None:
    """Variables on named dimensions: that of samples, and the coordinates of a grid or `point`."""
    _write(path, stacked(output), output)


def write_netcdf_sample(path: Path, sample: Sample, output: Output) -> None:
    """One sample, without a dimension of samples."""
    _write(path, sample_arrays(sample.made, output), output)


def _write(path: Path, found: Mapping[str, Named], output: Output) -> None:
    xarray = required("xarray", "netcdf")
    required("h5netcdf", "netcdf")
    named = {name: name.replace("/", "_") for name in found}
    if len(set(named.values())) < len(named):
        raise InvalidInputError(f"different names become the same in NetCDF: {', '.join(found)}; write another format")
    dimensions = named | {ROWS: _free(output.along, named), POINTS: _free("point", named)}
    variables = {
        named[name]: (tuple(dimensions[axis] for axis in each.axes), each.values, _attributes(each))
        for name, each in found.items()
    }
    coordinates = {named[name]: variables.pop(named[name]) for name in output.coordinates}
    origin = {"origin": to_bytes(as_json(output.origin, "origin")).decode()}
    xarray.Dataset(variables, coordinates, origin).to_netcdf(path, engine="h5netcdf")


def _attributes(each: Named) -> dict[str, str]:
    return {} if each.unit == "1" else {"units": each.unit}


def _free(name: str, taken: Mapping[str, str]) -> str:
    """The name of a dimension that is no variable's."""
    while name in taken.values():
        name += "_"
    return name

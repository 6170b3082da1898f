"""NetCDF by xarray: one file with a dimension of samples, or one file for each sample."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from iaenet.data.file_format import as_json, to_bytes
from iaenet.data.formats.format import Format
from iaenet.data.formats.netcdf_header import check_classic
from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.channel_names import Names
from iaenet.data.reading.files import files_in, reading, required
from iaenet.data.reading.hdf5_file import dataset_names, open_hdf5, refuse_bomb
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.labelled_arrays import read_labelled
from iaenet.data.reading.number_tables import Numbers, numbers_of_datasets
from iaenet.data.reading.sample_files import FieldOptions
from iaenet.data.streams import new_disk
from iaenet.data.writing.output import Output, Sample
from iaenet.data.writing.stacked import POINTS, ROWS, Named, sample_arrays, stacked
from iaenet.errors import InvalidInputError

SUFFIXES = (".nc", ".nc4", ".cdf", ".netcdf")


def read_netcdf(
    path: str | Path,
    *,
    coordinates: Names,
    inputs: Names,
    outputs: Names,
    sample: str | None = None,
    time: str | int | None = None,
    segment: int | None = None,
    **options: Unpack[FieldOptions],
) -> Imported:
    """Pairs from variables whose dimensions have names: the dimensions of the coordinates are space.

    coordinates: variables on dimensions of their own (`lon`, `lat`: a grid; axes may decrease), or all on the same ones
        (`x(node)`, `y(node)`, or `lat(i, j)`, `lon(i, j)`: a point set). They may also have the dimension of samples.
    inputs, outputs: variables, whose dimensions may come in any order; those that are neither samples nor space count
        channels, of which `u[0]`, `u[0:3]` take some.
    sample: the dimension of samples. Default None: each file is one sample, and `path` may be a folder of them. Files
        of a folder may also have that dimension each, and a grid of its own: one file for each resolution.
    units: Default: the attribute `units` of the variable.
    time: the dimension of time: samples are the steps from each state to the next, and records the trajectories, one
        for each entry of `sample` or for each file. Variables without it are the same at all times. Default none.
    bounds, periodic, rule, missing, skip_bad, segment: as for `read_npz`.

    Where files with as many samples have different grids, sample i of each is taken for the same function at another
    resolution: a split keeps them together. Packed values are unpacked (`scale_factor`, `add_offset`); a missing value
    is NaN. Times stay the numbers that they are stored as.
    """
    xarray = required("xarray", "netcdf")
    required("h5netcdf", "netcdf")
    bad = BadRecords(options.get("skip_bad", False))
    files = files_in(path, SUFFIXES, bad)
    return read_labelled(
        [str(file) for file in files],
        lambda index: _open(xarray, files[index]),
        coordinates=coordinates,
        inputs=inputs,
        outputs=outputs,
        sample=sample,
        provenance={"reader": "netcdf", "source": str(path), "bytes": sum(file.stat().st_size for file in files)},
        bad=bad,
        time=None if time is None else str(time),
        segment=segment,
        **options,
    )


def _open(xarray: Any, file: Path) -> Any:
    """The dataset of a file, read lazily; its parts in other files are refused."""
    with file.open("rb") as stream:
        classic = stream.read(3) == b"CDF"
    if classic:
        check_classic(file)
    else:
        with open_hdf5(file) as looked_at:
            for name in dataset_names(looked_at):
                if looked_at[name].ndim == 1:  # perhaps an index, which xarray reads as it opens the file
                    refuse_bomb(f"{file}: variable {name!r}", looked_at[name])
    with reading(file, "NetCDF"):
        engine = "scipy" if classic else "h5netcdf"
        return xarray.open_dataset(file, engine=engine, decode_times=False, cache=False)


def write_netcdf(path: Path, output: Output) -> None:
    """Variables on named dimensions: that of samples, and the coordinates of a grid or `point`."""
    _write(path, stacked(output), output)


def write_netcdf_sample(path: Path, sample: Sample, output: Output) -> None:
    """One sample, without a dimension of samples."""
    _write(path, sample_arrays(sample.made, output), output)


def _write(path: Path, found: Mapping[str, Named], output: Output) -> None:
    required("h5netcdf", "netcdf")
    with new_disk(path) as disk:
        labelled(found, output).to_netcdf(disk, engine="h5netcdf")


def labelled(found: Mapping[str, Named], output: Output) -> Any:
    """The same as an `xarray.Dataset`, with units and where it comes from as attributes."""
    xarray = required("xarray", "netcdf")
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
    return xarray.Dataset(variables, coordinates, origin)


def _attributes(each: Named) -> dict[str, str]:
    return {} if each.unit == "1" else {"units": each.unit}


def _free(name: str, taken: Mapping[str, str]) -> str:
    """The name of a dimension that is no variable's."""
    while name in taken.values():
        name += "_"
    return name


def _numbers(path: Path, names: list[str], _stems: list[str] | None, options: Mapping[str, Any]) -> Numbers:
    xarray = required("xarray", "netcdf")
    files = files_in(path, SUFFIXES)
    return numbers_of_datasets(files, lambda i: _open(xarray, files[i]), names, options.get("sample"))


FORMAT = Format(
    "netcdf",
    read_netcdf,
    SUFFIXES,
    folders=True,
    write=write_netcdf,
    write_sample=write_netcdf_sample,
    numbers=_numbers,
)

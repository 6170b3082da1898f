"""`iaenet import`: the user's own files into one data file."""

import inspect
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from jsonargparse import ArgumentParser, DefaultHelpFormatter

from iaenet.errors import InvalidInputError

Format = Literal["npz", "mat", "hdf5", "pdebench", "netcdf", "mesh", "wfdb", "fecgsyndb", "csv"]

EXAMPLES = """examples:
  iaenet import npz run.npz --inputs x --outputs y --periodic true --out run.h5
  iaenet import mat burgers_data_R10.mat --inputs a --outputs u --periodic true --out burgers.h5
  iaenet import mat piececonst_r421_N1024_smooth1.mat --inputs coeff --outputs sol --out darcy.h5
  iaenet import hdf5 run.h5 --groups / --coordinates grid/x,grid/y --inputs a --outputs "u[0:3]" --out mine.h5
  iaenet import pdebench 1D_Burgers_Sols_Nu0.01.hdf5 --output_steps 200 --periodic true --out burgers.h5
  iaenet import netcdf era5.nc --coordinates longitude,latitude --sample time --inputs t2m --outputs tp --out era5.h5
  iaenet import mesh runs/ --inputs load --outputs u --out plates.h5
  iaenet import wfdb records/ --inputs MLII --outputs V5 --window 1080 --out ecg.h5
  iaenet import fecgsyndb fecgsyndb/ --split_by subject --out fetal.h5
  iaenet import csv samples/ --coordinates x,y --inputs a --outputs u --bounds [[0,1],[0,1]] --out mine.h5
"""


def import_data(
    format: Format,
    path: str,
    *,
    out: str | None = None,
    coordinates: str | list[str] | None = None,
    inputs: str | list[str] | None = None,
    outputs: str | list[str] | None = None,
    output_coordinates: str | list[str] | None = None,
    bounds: list[tuple[float, float]] | None = None,
    periodic: bool | list[bool] | None = None,
    rule: Literal["cells", "monte-carlo", "mesh"] | None = None,
    units: dict[str, str] | None = None,
    dim: int | None = None,
    channels: Literal["last", "first"] | None = None,
    sample_axis: int | None = None,
    groups: str | None = None,
    input_steps: int | list[int] | None = None,
    output_steps: int | list[int] | None = None,
    sample: str | None = None,
    separate: bool | None = None,
    delimiter: str | None = None,
    window: int | None = None,
    leads: list[int] | None = None,
    split_by: Literal["record", "subject"] | None = None,
    train: float = 0.8,
    validation: float = 0.1,
    test: float = 0.1,
    seed: int | None = 0,
    precision: Literal["float32", "float64"] = "float32",
) -> str:
    """Bring your own files into a data file.

    Args:
        format: What the files are.
        path: File or folder to read. It is never changed.
        out: Data file to write.
        coordinates: Names of the coordinates, in the order of the axes, with commas between them. Default: none for
            npz, mat and hdf5, which is a uniform grid; those that vary for mesh. Needed for netcdf and csv.
        inputs: Names of the arrays, variables, point data, signals or columns that are input; u[0] and u[0:3] take some
            channels of an array. Default: all quantities for pdebench.
        outputs: The same of the output.
        output_coordinates: Coordinates of the output, if it lies elsewhere (npz, mat, hdf5, csv).
        bounds: Pairs [low, high] of the domain, one per axis. Default: tight around the points of all samples.
        periodic: Whether the axes are periodic: one flag, or one per axis. Default: false.
        rule: Weights of points without a grid: cells, monte-carlo, or (mesh only, where it is the default) mesh.
        units: Units by name of array or channel. Default: those in the file, or 1.
        dim: How many axes of an array are space, if there are no coordinates (npz, mat, hdf5). Default: all but one.
        channels: Where an array has its channels, last or first (npz, mat, hdf5). Default: last.
        sample_axis: Which axis of an array counts samples (npz, mat, hdf5). Default: 0; -1 is the last.
        groups: The group whose groups are samples (hdf5); / is the whole file. Default: samples are stacked in arrays.
        input_steps: Steps in time of the input (pdebench). Default: 0.
        output_steps: Steps in time of the output (pdebench). Default: -1, the last.
        sample: The dimension that counts samples (netcdf). Default: each file is a sample.
        separate: Whether input and output are in files NAME_input.csv and NAME_output.csv (csv). Default: false.
        delimiter: Between the cells of a row (csv). Default: a comma.
        window: Length of a sample in samples of the record (wfdb, fecgsyndb). Default: 2000.
        leads: Channels, counted from 1, each giving samples of its own (fecgsyndb). Default: [1,8,11,22,25].
        split_by: What is kept together in one split (fecgsyndb). Default: record.
        train: Share of the samples for training, or their number.
        validation: Share or number for validation.
        test: Share or number for testing.
        seed: Of the random split; null keeps the order, with the first samples for training.
        precision: Of the values in the data file.

    Returns:
        What was written, in one line.
    """
    from iaenet.data.file_writer import write_dataset
    from iaenet.data.formats import READERS

    given = {
        "coordinates": coordinates,
        "inputs": inputs,
        "outputs": outputs,
        "output_coordinates": output_coordinates,
        "bounds": bounds,
        "periodic": periodic,
        "rule": rule,
        "units": units,
        "dim": dim,
        "channels": channels,
        "sample_axis": sample_axis,
        "groups": groups,
        "input_steps": input_steps,
        "output_steps": output_steps,
        "sample": sample,
        "separate": separate,
        "delimiter": delimiter,
        "window": window,
        "leads": leads,
        "split_by": split_by,
    }
    if format not in READERS:
        raise InvalidInputError(f"no format {format!r}; there are: {', '.join(READERS)}")
    reader = READERS[format]
    options = {name: value for name, value in given.items() if value is not None}
    check_options(format, reader, options)
    target = _target(out, path)
    imported = reader(path, **options)
    splits = imported.split(train, validation, test, seed)
    places = {name: i for i, name in enumerate(dict.fromkeys(imported.records or ()))}
    write_dataset(
        target,
        imported.pairs,
        inputs=imported.inputs,
        outputs=imported.outputs,
        splits=splits,
        records=None if imported.records is None else [places[name] for name in imported.records],
        parameters=imported.parameters,
        provenance={**imported.provenance, "options": options, "seed": seed},
        precision=precision,
    )
    counts = ", ".join(f"{splits.count(name)} {name}" for name in dict.fromkeys(splits))
    return f"{target}: {len(splits)} samples ({counts})"


class _KeepLines(RawDescriptionHelpFormatter, DefaultHelpFormatter):
    """Leaves the lines of the examples as they are."""


def import_parser() -> ArgumentParser:
    """The options of `iaenet import`, from the command line or a YAML file: `import_data(**parsed options)`.

    >>> import_parser().parse_args(["csv", "runs", "--coordinates", "x,y", "--out", "runs.h5"]).coordinates
    'x,y'
    """
    parser = ArgumentParser(
        description="Bring your own files into a data file.", epilog=EXAMPLES, formatter_class=_KeepLines
    )
    parser.add_argument("--config", action="config", help="YAML file with the options below.")
    parser.add_function_arguments(import_data, as_positional=True)
    return parser


def check_options(format: str, reader: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse an option that this format does not have, and one that it needs and did not get."""
    known = {name: each for name, each in inspect.signature(reader).parameters.items() if name != "path"}
    for name in options:
        if name not in known:
            raise InvalidInputError(f"--{name} is no option of the format {format}, which has: {', '.join(known)}")
    lacking = [f"--{name}" for name, each in known.items() if each.default is each.empty and name not in options]
    if lacking:
        raise InvalidInputError(f"the format {format} needs {', '.join(lacking)}")


def _target(out: str | None, path: str) -> Path:
    """The file to write, which must not be among those that are read."""
    if out is None:
        raise InvalidInputError("--out: name the data file to write")
    target, source = Path(out).resolve(), Path(path).resolve()
    if target == source or (source.is_dir() and target.exists() and source in target.parents):
        raise InvalidInputError(f"{out}: is among the files to read, which are never changed; write elsewhere")
    return Path(out)

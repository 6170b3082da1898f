"""`iaenet predict RUN`: a trained model applied to files."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any, Literal

from iaenet.cli.options import new_parser, whole_numbers
from iaenet.errors import InvalidInputError

EXAMPLES = """  iaenet predict RUN --input measurements/ --output predictions/
  iaenet predict RUN --input sensors.csv --coordinates x,y --output map.csv --at 64,64 --picture map.png
  iaenet predict RUN --input new.npz --output new_u.npz --at points.csv
  iaenet predict RUN --input burgers.h5 --split test --resolution 256 --output predicted.h5
  iaenet predict RUN --input plate.vtu --output plate_u.vtu"""

Place = str | tuple[int, ...]


def predict_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, load the model, predict, write, and say what was written."""
    parser = new_parser(
        "predict",
        "Apply a trained model to files of yours. They may have any format of `iaenet import`, with inputs alone; "
        "predictions are written in the same family of formats.",
        EXAMPLES,
    )
    parser.add_argument("run", type=str, help="Folder of a training run.")
    parser.add_argument("--input", type=str, required=True, help="File or folder with inputs. It is never changed.")
    parser.add_argument(
        "--output",
        type=str,
        required=True,
        help="File to write, or folder for a file per sample (a name without suffix).",
    )
    parser.add_argument(
        "--at",
        type=place,
        default=None,
        help="Where to predict: 256 or 64,64 for a uniform grid over the domain trained on, or a CSV or npz file with "
        "coordinates. Default: at the points of the input.",
    )
    parser.add_argument("--picture", type=str | None, default=None, help="PNG to draw of some samples. Default: none.")
    parser.add_argument(
        "--format", type=str | None, default=None, help="Of the input, as for `iaenet import`. Default: by its name."
    )
    parser.add_argument(
        "--output_format",
        type=Literal["csv", "npz", "mat", "hdf5", "netcdf", "mesh", "data"] | None,
        default=None,
        help="Of the output: csv, npz, mat, hdf5, netcdf, mesh, or data (a data file of iaenet). Default: by its name; "
        "in a folder as the input, or csv.",
    )
    parser.add_argument("--device", type=str, default="cpu", help="Where to compute. Default cpu.")
    _add_reading(parser)
    given = parser.parse_args(arguments)

    from iaenet.reports.predict_files import predict_files
    from iaenet.training.fit import load

    operator = load(given.run)
    try:
        operator = operator.to(given.device)
    except (RuntimeError, AssertionError) as error:  # PyTorch's words for a device that is not there
        raise InvalidInputError(f"--device {given.device}: {str(error).splitlines()[0]}") from None
    return predict_files(
        operator,
        given.input,
        given.output,
        at=given.at,
        picture=given.picture,
        format=given.format,
        output_format=given.output_format,
        origin={"run": given.run},
        progress=progress("predicting"),
        **{name: given[name] for name in READING},
    )


# How to read the input; None leaves it to the model's training data, or to the format.
READING: dict[str, tuple[Any, str]] = {
    "inputs": (
        str | list[str] | None,
        "Names of the input channels in the file, in the model's order. Default: as the model was trained with.",
    ),
    "coordinates": (
        str | list[str] | None,
        "Names of the coordinates, in the order of the axes. Default: as the training data were imported; or x, y, z "
        "for csv and netcdf, all that vary for mesh, and a uniform grid for npz, mat and hdf5.",
    ),
    "bounds": (
        list[tuple[float, float]] | None,
        "Pairs [low, high] of the domain. Default: as trained, and wider if points lie outside.",
    ),
    "periodic": (bool | list[bool] | None, "Whether the axes are periodic. Default: as trained."),
    "rule": (
        Literal["cells", "monte-carlo", "mesh"] | None,
        "Weights of points without a grid. Default: cells; mesh for mesh.",
    ),
    "dim": (int | None, "How many axes of an array are space (npz, mat, hdf5). Default: as trained."),
    "channels": (Literal["last", "first"] | None, "Where an array has its channels (npz, mat, hdf5). Default: last."),
    "sample_axis": (int | None, "Which axis of an array counts samples (npz, mat, hdf5). Default: 0."),
    "groups": (str | None, "The group whose groups are samples (hdf5). Default: samples are stacked."),
    "input_steps": (int | list[int] | None, "Steps in time of the input (pdebench). Default: as trained."),
    "sample": (str | None, "The dimension that counts samples (netcdf). Default: each file is a sample."),
    "delimiter": (str | None, "Between the cells of a row (csv). Default: a comma."),
    "window": (int | None, "Length of a sample (wfdb, fecgsyndb). Default: 2000."),
    "leads": (list[int] | None, "Channels that give samples (fecgsyndb). Default: [1,8,11,22,25]."),
    "split": (Literal["train", "validation", "test"] | None, "Of a data file of iaenet. Default: all."),
    "resolution": (int | None, "Of a data file of iaenet. Default: all."),
}


def _add_reading(parser: Any) -> None:
    group = parser.add_argument_group("how to read the input")
    for name, (kind, text) in READING.items():
        group.add_argument(f"--{name}", type=kind, default=None, help=text)


def place(given: Any) -> Place:
    """A grid as numbers, or the name of a file.

    >>> place("64,32"), place(256), place("points.csv")
    ((64, 32), (256,), 'points.csv')
    """
    if not isinstance(given, str) or re.fullmatch(r"[\d,\s]+", given):
        numbers = whole_numbers(given)
        if not numbers or min(numbers) < 1:
            raise ArgumentTypeError(f"a grid has at least one point along each axis, got {given!r}")
        return numbers
    return given

"""`iaenet predict RUN`: a trained model applied to files."""

import re
from collections.abc import Callable
from glob import has_magic
from pathlib import Path
from typing import Any, Literal

from iaenet.cli.evaluate_command import add_device_option, check_run
from iaenet.cli.import_command import add_reader_option, check_source
from iaenet.cli.options import RefusedError, add_pool_options, new_parser, whole_numbers, words
from iaenet.data.atomic import apart, check_folder, check_output
from iaenet.data.formats import FORMATS, format_names, format_of_store
from iaenet.data.reading.files import existing
from iaenet.data.reading.reader_options import OPTIONS, options_of
from iaenet.errors import InvalidInputError

EXAMPLES = """  iaenet predict RUN --input measurements/ --output predictions/
  iaenet predict RUN --input sensors.csv --coordinates x,y --output map.csv --at 64,64 --picture map.png
  iaenet predict RUN --input new.npz --output new_u.npz --at points.csv
  iaenet predict RUN --input new.npz --output new_u.npz --band 0.9 --picture bands.png
  iaenet predict RUN --input new.npz --output new_u.npz --at 256 --derivatives gradient,laplacian
  iaenet predict RUN --input burgers.h5 --split test --resolution 256 --output predicted.h5
  iaenet predict RUN --input state.npz --steps 50 --output trajectory.nc
  iaenet predict RUN --input plate.vtu --output plate_u.vtu
  iaenet predict RUN --input 'runs/*.npz' --output predictions --workers 2
  iaenet predict RUN --input 'runs/*.zarr' --output predictions --backend dask --scheduler tcp://host:8786"""

DERIVATIVES = ("gradient", "laplacian")


def predict_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, load the model, predict, write, and say what was written."""
    parser = new_parser(
        "predict",
        "Apply a trained model to files of yours. They may have any format of `iaenet import`, with inputs alone; "
        "predictions are written in the same formats.",
        EXAMPLES,
    )
    parser.add_argument("run", type=str, help="Folder of a training run, or a saved model (.safetensors).")
    parser.add_argument(
        "--input",
        type=str,
        required=True,
        help="File or folder with inputs, or a pattern for many files in quotes, as 'runs/*.npz'. Never changed.",
    )
    parser.add_argument(
        "--output",
        type=str,
        required=True,
        help="File to write, or folder for a file per sample (a name without suffix).",
    )
    parser.add_argument(
        "--at",
        type=query_points,
        default=None,
        help="Query points: 256 or 64,64 for a uniform grid over the domain trained on, or a CSV or npz file with "
        "coordinates. Default: at the points of the input.",
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=1,
        help="Steps in time, each from the output before it; the state after each is written. Default 1.",
    )
    parser.add_argument(
        "--band",
        type=float | None,
        default=None,
        help="Level of a band around each prediction, such as 0.9, after `iaenet calibrate RUN`; its ends are written, "
        "too. Default: none.",
    )
    parser.add_argument(
        "--band_kind",
        type=Literal["points", "function"],
        default="points",
        help="What a band is to hold: points (that share of every function, in the mean) or function (all of it, with "
        "that probability). Default points.",
    )
    parser.add_argument(
        "--derivatives",
        type=derivative_names,
        default=(),
        help="Derivatives of the predictions at their points, written as further channels: gradient (u_x, u_y), "
        "laplacian (u_laplacian = u_xx + u_yy), or gradient,laplacian. Default: none.",
    )
    add_reader_option(
        parser,
        OPTIONS["units"],
        "Units of coordinates by name, as {x: m, y: m}, for those of derivatives. Default: those in a NetCDF or zarr "
        "input.",
    )
    parser.add_argument("--picture", type=str | None, default=None, help="PNG to draw of some samples. Default: none.")
    parser.add_argument(
        "--format", type=str | None, default=None, help="Of the input, as for `iaenet import`. Default: by its name."
    )
    parser.add_argument(
        "--output_format",
        type=str | None,
        default=None,
        help="Of the output, the same or data (a data file of iaenet). Default: by its name; in a folder as the input, "
        "or csv.",
    )
    parser.add_argument(
        "--boundary",
        type=str | None,
        default=None,
        help="File with the boundary of the domain, or folder with one for each sample, as for `iaenet import`. "
        "Default: that of the cells, or found from the points.",
    )
    add_device_option(parser)
    add_pool_options(parser)
    group = parser.add_argument_group("how to read the input")
    reading = options_of("predict")
    for option in reading:
        add_reader_option(group, option, option.help("predict"))
    given = parser.parse_args(arguments)
    check_run(given.run)
    if given.band is not None and not Path(given.run, "calibration.json").is_file():
        raise InvalidInputError(f"--band {given.band}: {given.run} has no bands yet; `iaenet calibrate {given.run}`")
    if given.steps < 1:
        raise InvalidInputError(f"--steps {given.steps}: a roll-out has at least 1 step")
    if given.steps > 1 and given.band is not None:
        raise InvalidInputError(f"--steps {given.steps}: bands are calibrated for one step; leave out --band")
    if "units" in given and not given.derivatives:
        raise InvalidInputError("--units: says those of coordinates, for derivatives; add --derivatives gradient")
    pattern = not Path(given.input).exists() and has_magic(given.input)
    if not pattern:
        check_source(given.input)
    for path in (given.at if isinstance(given.at, str) else None, given.boundary):
        if path is not None:
            existing(path)
    check_folder(given.output)
    if given.picture:
        check_output(given.picture, kind="a PNG picture")

    chosen = {option.name: given[option.name] for option in reading if option.name in given}
    if pattern or given.workers > 1 or given.backend or given.scheduler or _is_folder_of_arrays(given.input):
        return _many(given, chosen, progress)

    from iaenet.functions.devices import place
    from iaenet.models.inference import use_device
    from iaenet.reports.predict_files import predict_files
    from iaenet.training.fit import load
    from iaenet.training.run_folder import FILES

    apart(given.output, [Path(given.run, name) for name in ("checkpoints", "data.h5", *FILES)])
    operator = load(given.run)
    place(operator, use_device(given.device))
    return predict_files(
        operator,
        given.input,
        given.output,
        at=given.at,
        steps=given.steps,
        picture=given.picture,
        format=given.format,
        output_format=given.output_format,
        band=given.band,
        band_kind=given.band_kind,
        derivatives=given.derivatives,
        units=given.get("units"),
        origin={"run": given.run},
        boundary=given.boundary,
        progress=progress("predicting"),
        **chosen,
    )


def _many(given: Any, options: dict[str, Any], progress: Callable[[str], Any]) -> str:
    """Every file by itself, in this process or in others."""
    if given.picture:
        raise InvalidInputError("--picture is for one input, not for many files")

    from iaenet.reports.predict_many import files_of, predict_many

    single = Path(given.input).is_file() or format_of_store(given.input)
    usual = {"steps": 1, "band": None, "band_kind": "points", "derivatives": (), "boundary": None, "units": None}
    options |= {name: given[name] for name, value in usual.items() if name in given and given[name] != value}
    try:
        return predict_many(
            given.run,
            [given.input] if single else files_of(given.input),
            given.output,
            at=given.at,
            format=given.format,
            output_format=given.output_format,
            device=given.device,
            workers=given.workers,
            backend=given.backend,
            scheduler=given.scheduler,
            progress=progress("predicting"),
            **options,
        )
    except KeyboardInterrupt:
        raise KeyboardInterrupt("Stopped. Finished files are kept: repeat the command and it resumes.") from None


def _is_folder_of_arrays(source: str) -> bool:
    """Whether a folder has files with many samples each, which are predicted one by one."""
    folder = Path(source)
    if not folder.is_dir() or format_of_store(source):
        return False
    names = format_names()
    found = {names[file.suffix.lower()] for file in folder.iterdir() if file.suffix.lower() in names}
    return bool(found) and not any(FORMATS[name].folders for name in found)


def derivative_names(given: Any) -> tuple[str, ...]:
    """Which derivatives, written with commas between them, or as a list in YAML.

    >>> derivative_names("gradient,laplacian")
    ('gradient', 'laplacian')
    """
    found = words(given) if given else ()
    if any(name not in DERIVATIVES for name in found) or len({*found}) < len(found):
        raise RefusedError(f"derivatives are {', '.join(DERIVATIVES)} or both with a comma between, got {given!r}")
    return found


def query_points(given: Any) -> str | tuple[int, ...]:
    """A grid as numbers, or the name of a file.

    >>> query_points("64,32"), query_points(256), query_points("points.csv")
    ((64, 32), (256,), 'points.csv')
    """
    if not isinstance(given, str) or re.fullmatch(r"[\d,\s]+", given):
        numbers = whole_numbers(given)
        if not numbers or min(numbers) < 1:
            raise RefusedError(f"a grid has at least one point along each axis, got {given!r}")
        return numbers
    return given

"""`iaenet import FORMAT PATH`: the user's own files into one data file."""

import inspect
from argparse import SUPPRESS
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

from iaenet.cli.options import RefusedError, field_texts, new_parser
from iaenet.data.atomic import check_folder
from iaenet.data.formats import DATA, FORMATS
from iaenet.data.import_files import import_data
from iaenet.data.reading.files import existing
from iaenet.data.reading.option_kinds import FLAG
from iaenet.data.reading.reader_options import Option, options_of
from iaenet.errors import InvalidInputError

EXAMPLES = """  iaenet import npz run.npz --inputs x --outputs y --periodic true --out run.h5
  iaenet import pt darcy_train_16.pt --inputs x --outputs y --grid left --out darcy.h5
  iaenet import mat burgers_data_R10.mat --inputs a --outputs u --periodic true --out burgers.h5
  iaenet import mat piececonst_r421_N1024_smooth1.mat --inputs coeff --outputs sol --out darcy.h5
  iaenet import hdf5 run.h5 --groups / --coordinates grid/x,grid/y --inputs a --outputs "u[0:3]" --out mine.h5
  iaenet import pdebench 1D_Burgers_Sols_Nu0.01.hdf5 --output_steps 200 --periodic true --out burgers.h5
  iaenet import netcdf era5.nc --coordinates longitude,latitude --sample time --inputs t2m --outputs tp --out era5.h5
  iaenet import mesh runs/ --inputs load --outputs u --out plates.h5
  iaenet import wfdb rec100 --inputs MLII --outputs V5 --window 1080 --split time --gap 2 --out ecg.h5
  iaenet import csv wings/ --coordinates x,y --inputs alpha --outputs p --boundary outlines/ --out wings.h5
  iaenet import wfdb records/ --inputs MLII --outputs V5 --window 1080 --out ecg.h5
  iaenet import fecgsyndb fecgsyndb/ --split_by subject --out fetal.h5
  iaenet import csv samples/ --coordinates x,y --inputs a --outputs u --bounds [[0,1],[0,1]] --out mine.h5"""


def import_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, bring the files into a data file, and say what was written."""
    given = vars(import_parser().parse_args(arguments))
    check_source(given["path"])
    if given.get("boundary") is not None:
        existing(given["boundary"])
    check_folder(given["out"])
    chosen = {name: value for name, value in given.items() if name != "config"}
    return import_data(**chosen, progress=progress(Path(given["out"]).name))


def check_source(path: str) -> None:
    """Refuse a path that is not there; a WFDB record goes by its name without suffix."""
    if not Path(f"{path}.hea").exists():
        existing(path)


def import_parser() -> Any:
    """The options of `iaenet import`, from the command line or a YAML file.

    >>> import_parser().parse_args(["csv", "runs", "--coordinates", "x,y", "--out", "runs.h5"]).coordinates
    'x,y'
    """
    formats = [name for name in FORMATS if name != DATA]
    listed = "\n".join(f"  {name:<10} {FORMATS.meaning(name)}" for name in formats)
    parser = new_parser("import", f"Bring your own files into a data file.\n\nformats:\n{listed}", EXAMPLES)
    parser.add_argument("format", type=str, help="What the files are, see above.")
    parser.add_argument("path", type=str, help="File or folder to read. It is never changed.")
    parser.add_argument("--out", type=str, required=True, help="Data file to write.")
    add_import_options(parser)
    return parser


def add_import_options(parser: Any, prefix: str = "") -> None:
    """The options of `import_data`, absent where nothing is said; without help under a prefix."""
    for option in options_of("import"):
        add_reader_option(parser, option, SUPPRESS if prefix else option.help("import"), prefix)
    keywords = inspect.signature(import_data).parameters.values()
    names = [each.name for each in keywords if each.kind is each.KEYWORD_ONLY and each.name != "progress"]
    texts, hints = field_texts(import_data.__doc__ or "", names), get_type_hints(import_data)
    for name in names:
        text = texts[name][:1].upper() + texts[name][1:]
        parser.add_argument(f"--{prefix}{name}", type=hints[name], default=SUPPRESS, help=SUPPRESS if prefix else text)


def add_reader_option(parser: Any, option: Option, text: str, prefix: str = "") -> None:
    """One option of readers, absent where nothing is said."""

    def parse(given: Any) -> Any:
        try:
            return option.parse(given)
        except InvalidInputError as error:
            raise RefusedError(str(error)) from None

    name, metavar = f"--{prefix}{option.name}", option.kind.metavar
    alone: dict[str, Any] = {"nargs": "?", "const": True} if option.kind is FLAG else {}  # --skip_bad means true
    parser.add_argument(name, type=parse, default=SUPPRESS, help=text, metavar=metavar, **alone)

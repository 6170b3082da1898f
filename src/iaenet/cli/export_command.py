"""`iaenet export RUN`: a trained model as one file for other programs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from iaenet.cli.options import new_parser
from iaenet.data.atomic import check_folder
from iaenet.errors import InvalidInputError

EXAMPLES = """  iaenet export burgers
  iaenet export burgers --to torch --out burgers.pt2"""


def export_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, write the file, and name it."""
    parser = new_parser(
        "export",
        "Write a trained model to one file: points, values and query points in, values in the data's units out. "
        "The numbers of points are free. `iaenet.load_exported` runs an ONNX file without PyTorch.",
        EXAMPLES,
    )
    parser.add_argument("run", type=str, help="Folder of a training run.")
    parser.add_argument("--to", type=Literal["onnx", "torch"], default="onnx", help="Kind of the file. Default onnx.")
    parser.add_argument(
        "--out",
        type=str | None,
        default=None,
        help="File to write. Default: model.onnx or model.pt2 in the run folder.",
    )
    given = parser.parse_args(arguments)
    if not Path(given.run, "checkpoints").is_dir():
        raise InvalidInputError(f"{given.run} is no training run; `iaenet train` makes one")
    if given.out:
        check_folder(given.out)

    from iaenet.exporting.write import export

    tell = progress("exporting")
    tell(0, 1)
    path = export(given.run, given.out, to=given.to)
    tell(1, 1)
    return f"exported: {path} ({path.stat().st_size / 1e6:.1f} MB)"

"""`iaenet play RUN...`: a page on which trained models can be played with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from iaenet.cli.evaluate_command import opened
from iaenet.cli.options import new_parser
from iaenet.data.atomic import check_folder
from iaenet.errors import InvalidInputError

EXAMPLES = """  iaenet play burgers
  iaenet play iaenet fno --out gallery.html --title "Burgers, two models\""""


def play_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, write the page, and name it."""
    parser = new_parser(
        "play",
        "Write one HTML page with trained models in it: draw the input, move its sensors, and see what the models "
        "answer. Everything is in the file, the program that runs the models, too; nothing is fetched.",
        EXAMPLES,
    )
    parser.add_argument("runs", type=str, nargs="+", help="Folders of training runs.")
    parser.add_argument(
        "--out", type=str | None, default=None, help="File to write. Default: playground.html in the first."
    )
    parser.add_argument("--title", type=str | None, default=None, help="Title of the page. Default: names of the runs.")
    parser.add_argument("--data", type=str | None, default=None, help="Data file. Default: that of each training.")
    parser.add_argument("--samples", type=int, default=6, help="Test samples to begin with, of each model. Default 6.")
    given = parser.parse_args(arguments)
    for run in given.runs:
        if not Path(run, "checkpoints").is_dir():
            raise InvalidInputError(f"{run} is no training run; `iaenet train` makes one")
    target = Path(given.out) if given.out else Path(given.runs[0]) / "playground.html"
    check_folder(target)

    from iaenet.reports.playground import Exhibit, write_playground
    from iaenet.training.run_folder import RunFolder

    exhibits = []
    for run in given.runs:
        operator, dataset, _ = opened(run, given.data, "test", "cpu")
        certificate = RunFolder(run).read_json("certificate/certificate.json")
        exhibits.append(Exhibit(Path(run).resolve().name, operator, dataset, certificate))
    write_playground(exhibits, target, given.title, given.samples, progress("building the page"))
    return f"playground: {target}"

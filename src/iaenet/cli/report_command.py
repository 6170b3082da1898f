"""`iaenet report RUN...`: one HTML page about training runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from iaenet.cli.options import new_parser
from iaenet.data.atomic import check_output

EXAMPLES = """  iaenet report burgers
  iaenet report iaenet fno deeponet --out comparison.html --title "Burgers, three models"
  iaenet report iaenet fno --picture errors.png"""


def report_command(arguments: list[str], progress: Callable[[str], Any]) -> str:  # noqa: ARG001 - it takes no time
    """Read the arguments, write the page, and name it."""
    parser = new_parser(
        "report",
        "Write one HTML page about training runs: configuration, curves, errors, pictures and certificate, and a table "
        "that compares them if there are several. Everything is in the file; nothing is fetched when it is opened.",
        EXAMPLES,
    )
    parser.add_argument("runs", type=str, nargs="+", help="Folders of training runs.")
    parser.add_argument(
        "--out", type=str | None, default=None, help="File to write. Default: report.html in the first."
    )
    parser.add_argument(
        "--picture", type=str | None, default=None, help="PNG to draw of the errors of all runs against resolution."
    )
    parser.add_argument("--title", type=str | None, default=None, help="Title of the page. Default: the run's name.")
    given = parser.parse_args(arguments)

    target = Path(given.out) if given.out else Path(given.runs[0]) / "report.html"
    check_output(target, kind="a page")

    from iaenet.reports.html import write_report

    write_report(given.runs, target, given.title, given.picture)
    return f"report: {target}" + (f", {given.picture}" if given.picture else "")

"""`iaenet reproduce TABLE`: the published tables, measured here."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from iaenet.cli.options import new_parser
from iaenet.errors import InvalidInputError

EXAMPLES = """  iaenet reproduce --list
  iaenet reproduce burgers1 --preset smoke
  iaenet reproduce all --preset cpu --rows 2
  iaenet reproduce all --preset cpu --rows 2 --out experiments      (as the results in the repository were made)
  iaenet reproduce all --preset paper --check
  iaenet reproduce mine --folder my_tables"""

TEXT = """Measure published tables again: generate the data, train every row, score every column, and write TABLE.json,
TABLE.md and TABLE.html with our figures beside the published ones. All rows of a table get the same data and the same
seconds of training. Stop it at any time: the same command resumes where it was."""

STOPPED = "Stopped. Finished rows are kept: repeat the command and it resumes from there."


def reproduce_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, measure, and say what came out."""
    parser = new_parser("reproduce", TEXT, EXAMPLES)
    parser.add_argument("tables", type=str, nargs="*", help="Names of tables, or all.")
    parser.add_argument("--list", action="store_true", help="Only show the names and titles of the tables.")
    parser.add_argument(
        "--preset",
        type=Literal["smoke", "cpu", "paper"],
        default="cpu",
        help="smoke (seconds), cpu (eight hours with --rows 2 for all tables of the paper, and as long for ours) or "
        "paper (GPUs). Default cpu.",
    )
    parser.add_argument(
        "--out",
        type=str,
        default="reproduced",
        help="Folder for results: OUT/results with preset cpu, OUT/results-PRESET with others. Default reproduced.",
    )
    parser.add_argument(
        "--work", type=str | None, default=None, help="Folder for data and training runs. Default: OUT/work."
    )
    parser.add_argument(
        "--folder", type=str | None, default=None, help="Folder of YAML files with tables of your own. Default: ours."
    )
    parser.add_argument("--workers", type=int, default=1, help="Processes that generate data. Default 1.")
    parser.add_argument(
        "--rows", type=int, default=1, help="Rows that are trained at the same time, a core for each. Default 1."
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="Only see that every row starts: its data, its model, one training step on two samples.",
    )
    given = parser.parse_args(arguments)

    from iaenet.experiments.table import TABLES, load_table, table_names

    tables = TABLES if given.folder is None else Path(given.folder)
    if given.list:
        names = table_names(tables)
        width = max(map(len, names), default=0) + 2
        return "\n".join(f"{name:<{width}}{load_table(name, tables).title}" for name in names)
    if not given.tables:
        raise InvalidInputError("reproduce needs the name of a table, or all; `iaenet reproduce --list` shows them")

    from iaenet.experiments.check import check
    from iaenet.experiments.run import Folders, reproduce
    from iaenet.experiments.verdict import verdicts

    folders = Folders.of(Path(given.out), given.preset, Path(given.work) if given.work else None, tables)
    try:
        if given.check:
            show = progress("checking rows")
            return "\n".join(check(given.tables, given.preset, tables, folders.work / "check", show))
        unit = "reproducing, rows" if given.preset != "cpu" else "reproducing, seconds of training"
        results = reproduce(given.tables, given.preset, folders, given.workers, progress(unit), given.rows)
    except KeyboardInterrupt as stopped:
        raise KeyboardInterrupt(str(stopped) or STOPPED) from None
    lines = [f"{result['table']}: {verdicts(result)[0]}" for result in results]
    return "\n".join([*lines, f"written to {folders.results}; all tables: {folders.readme}"])

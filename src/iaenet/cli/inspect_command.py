"""`iaenet inspect FILE`: what is in a data file."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from iaenet.cli.options import MOST_DRAWN, check_count, new_parser
from iaenet.data.atomic import check_output
from iaenet.data.reading.files import existing

EXAMPLES = """  iaenet inspect burgers.h5
  iaenet inspect burgers.h5 --picture samples.png --samples 5
  iaenet inspect large.h5 --statistics false --picture none"""


def inspect_command(arguments: list[str], progress: Callable[[str], Any]) -> str:
    """Read the arguments, look at the file, draw some samples, and tell what is there."""
    parser = new_parser(
        "inspect",
        "Show what is in a data file: problem, channels, resolutions, splits, origin, content hash, and statistics of "
        "every channel; and draw some samples. The statistics read every number, and compare it with its hash.",
        EXAMPLES,
    )
    parser.add_argument("file", type=str, help="Data file.")
    parser.add_argument(
        "--picture",
        type=str | None,
        default=None,
        help="PNG to draw, or none. Default: beside the file, with its name.",
    )
    parser.add_argument(
        "--samples", type=int, default=3, help=f"How many samples to draw, at most {MOST_DRAWN}. Default 3."
    )
    parser.add_argument("--statistics", type=bool, default=True, help="Whether to read all of it. Default true.")
    given = parser.parse_args(arguments)
    existing(given.file)
    target = Path(given.picture or f"{os.path.splitext(given.file)[0]}.png")
    if given.picture != "none" and not os.path.isdir(given.file):  # which is told below
        check_count("samples", given.samples, MOST_DRAWN)
        check_output(target, [given.file], "a PNG picture")

    from iaenet.data.dataset import load_dataset
    from iaenet.data.summary import summary

    dataset = load_dataset(given.file)
    text = summary(dataset, progress("checking") if given.statistics else None, given.statistics)
    if given.picture == "none":
        return text
    from iaenet.reports.plots import picture

    picture(dataset, target, given.samples)
    return f"{text}\npicture      {target}"

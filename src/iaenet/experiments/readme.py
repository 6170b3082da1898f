"""The list of all tables: what makes each, the published figure, and ours."""

from pathlib import Path

from iaenet.data.atomic import replacing
from iaenet.experiments.page import DASH, Grid, summary_line
from iaenet.experiments.result import command
from iaenet.experiments.row import read_json
from iaenet.experiments.table import table_names

TEXT = """# The published tables, measured again

This page is written by `iaenet reproduce`. Every table of the paper has a YAML file here: its rows, its data, and three
presets.

| preset | for |
|---|---|
| `smoke` | seconds; shows that everything runs |
| `cpu` | two cores and a working day for all tables, with `--rows 2`; the figures below |
| `paper` | the paper's sizes and epochs, for GPUs; `--check` takes one training step of every row |

`iaenet reproduce TABLE --preset cpu` makes the data, trains every row, scores every column, and writes
`results/TABLE.json`, `.md` and `.html`. Stop it at any time: the same command goes on where it was, row by row and step
by step. `all` stands for every table. Work (data, runs) is kept in `work/`; rows that tables share are trained once.
Tables made of others (`viscosity`, `summary`) take the results that are there, and measure those that are missing.

Within a table all rows have the same data, validation samples, optimizer, choice of learning rates and seconds of
training. Figures are mean relative L2 errors of the reference row on the test samples, at the resolution of the
training. The page of a table has every row, every resolution, and all that differs from the paper.
"""


def write_readme(folder: Path, results: Path, path: Path, preset: str) -> None:
    """Write the list of the tables in `folder` with what is in `results`."""
    base = f"{results.name}/" if path.parent != results else ""
    cells = [["table", "command", "published", "here", "IAE-Net"]]
    for name in table_names(folder):
        result = read_json(results / f"{name}.json")
        if result is None:
            cells.append([name, f"`{command(name, preset)}`", DASH, DASH, "not measured yet"])
        else:
            cells.append(summary_line(result, base))
    with replacing(path) as beside:
        beside.write_text(f"{TEXT}\n{Grid('Tables', cells).markdown()}\n", encoding="utf-8")

"""The list of all tables: what each is, the published figure, and ours."""

from importlib.resources.abc import Traversable
from pathlib import Path

from iaenet.data.atomic import replacing
from iaenet.experiments.page import DASH, Grid, summary_line
from iaenet.experiments.row import read_json
from iaenet.experiments.table import load_table, table_names

TEXT = """# The published tables, measured again

This page is written by `iaenet reproduce`. Every table of the paper is a YAML file of the package
(`src/iaenet/experiments/tables/`): its rows, its data, and three presets. `iaenet reproduce --list` shows the titles.

| preset | for |
|---|---|
| `smoke` | seconds; shows that everything runs |
| `cpu` | two cores and a working day for all tables, with `--rows 2` |
| `paper` | the paper's sizes and epochs, for GPUs; `--check` takes one training step of every row |

`iaenet reproduce TABLE --preset cpu` generates the data, trains every row, scores every column, and writes
`results/TABLE.json`, `.md` and `.html` into `reproduced/`, or into the folder that `--out` names (`experiments` for the
results of the repository). Stop it at any time: the same command resumes where it was, row by row and step by step.
`all` stands for every table. Work (data, runs) is kept in `work/`; rows that tables share are trained once. Tables made
of others (`viscosity`, `summary`) take the results that are there, and measure those that are missing. `--folder`
names a folder with tables of your own.

`IAE-Net`, and every row that the paper has of it, is the published form (docs/published.md): in `paper` of its size
and with its augmentation, in `cpu` smaller. `IAE-Net (ours)` is the network of this package, and `IAE-Net (ours, ..)`
are variants of it. Each page has a matrix of the paper's ideas that a row has, read off its network.

Within a table all rows have the same data, validation samples, optimizer, search for a learning rate and seconds of
training, unless a row's name says otherwise. Figures are mean relative L2 errors on the test samples, at the resolution
of the training. The page of a table has every row, every resolution, the trials behind each row, and all that differs
from the paper.

The last column has the version that a table was measured with. If yours is another one, networks may have changed
since: the YAML files describe those of the version that they come with.
"""


def write_readme(folder: Traversable, results: Path, path: Path) -> None:
    """Write the list of the tables in `folder` with what is in `results`."""
    base = f"{results.name}/" if path.parent != results else ""
    cells = [
        ["table", "what it is", "published IAE-Net", "its form here", "IAE-Net (ours)", "what came out", "version"]
    ]
    for name in table_names(folder):
        result = read_json(results / f"{name}.json")
        if result is None:
            cells.append([name, load_table(name, folder).title, DASH, DASH, DASH, "not measured yet", DASH])
        else:
            cells.append([*summary_line(result, base), result["machine"]["iaenet"]])
    with replacing(path) as beside:
        beside.write_text(f"{TEXT}\n{Grid('Tables', cells).markdown()}\n", encoding="utf-8")

"""CSV: a folder of files, an irregular sample each, or one for its input and one for its output."""

import csv
import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Unpack

import numpy as np

from iaenet.data.formats.format import Format
from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.channel_names import Names, name_list
from iaenet.data.reading.files import existing_file, files_in, missing, reading
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.number_tables import TABLE, numbers_of_folder
from iaenet.data.reading.sample_files import FieldOptions, assemble
from iaenet.data.reading.sample_points import Array, PointSet, SamplePoints
from iaenet.data.writing.output import Output, Sample
from iaenet.errors import InvalidInputError
from iaenet.outside import check_name


def read_csv_folder(
    path: str | Path,
    *,
    coordinates: Names,
    inputs: Names,
    outputs: Names,
    output_coordinates: Names | None = None,
    separate: bool = False,
    delimiter: str = ",",
    **options: Unpack[FieldOptions],
) -> Imported:
    """Pairs from files whose first row names the columns and whose other rows are points, in any order.

    coordinates, inputs, outputs: names of columns.
    separate: inputs and outputs lie at different points, in `NAME_input.csv` and `NAME_output.csv`. Default False: each
        file is a sample, with inputs and outputs in the same rows.
    output_coordinates: columns of the output's points. Default: `coordinates`.
    delimiter: between cells. Default ",".
    bounds, periodic, rule, missing, skip_bad, units: as for `read_npz`; a missing value is an empty cell, NaN or NA.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name, rows in ("s1", "0.1,1,2\\n0.7,3,4\\n"), ("s2", "0.3,5,6\\n0.2,7,8\\n0.9,9,10\\n"):
    ...         _ = Path(folder, f"{name}.csv").write_text("x,a,u\\n" + rows)
    ...     pairs = read_csv_folder(folder, coordinates="x", inputs="a", outputs="u").pairs
    ...     [pair[1].values[:, 0].tolist() for pair in pairs]
    [[2.0, 4.0], [6.0, 8.0, 10.0]]
    """
    if len(delimiter) != 1:
        raise InvalidInputError(f"delimiter must be one character, got {delimiter!r}")
    bad = BadRecords(options.get("skip_bad", False))
    files = files_in(path, (".csv",), bad)
    files = [file for file in files if file.name != TABLE or file == Path(path)]
    output_files = files
    if separate:
        files, output_files = _in_pairs(Path(path), files, bad)
    named = name_list(coordinates)
    output_named = named if output_coordinates is None else name_list(output_coordinates)
    tables = lru_cache(maxsize=4)(lambda file: read_table(file, delimiter))
    gaps = options.get("missing") == "drop"
    sides = [
        _CsvSide(files, tables, named, name_list(inputs), gaps),
        _CsvSide(output_files, tables, output_named, name_list(outputs), gaps),
    ]
    return assemble(
        lambda sample: str(files[sample]),
        len(files),
        *sides,
        provenance={
            "reader": "csv",
            "source": str(path),
            "bytes": sum(file.stat().st_size for file in {*files, *output_files}),
        },
        bad=bad,
        **options,
    )


class _CsvSide:
    """Columns of all files, by name."""

    per_sample = True

    def __init__(
        self,
        files: list[Path],
        tables: Callable[[Path], "Table"],
        coordinates: list[str],
        names: list[str],
        gaps: bool = False,
    ) -> None:
        if not coordinates or not names:
            raise InvalidInputError("name at least one column as coordinate, one as input and one as output")
        self._files = files
        self._coordinates = coordinates
        self._tables = tables
        self._gaps = gaps
        self.names = names

    def points(self, sample: int) -> SamplePoints:
        return PointSet(columns(self._files[sample], self._tables(self._files[sample]), self._coordinates))

    def values(self, sample: int) -> Array:
        return columns(self._files[sample], self._tables(self._files[sample]), self.names, self._gaps)


NO_VALUE = ("", "nan", "na", "n/a", "null", "none")  # what other programs write where there is no value

Table = tuple[list[str], list[tuple[int, list[str]]]]


def columns(file: Path, table: Table, names: list[str], gaps: bool = False) -> Array:
    """The columns of these names, `(rows, names)`; with `gaps`, empty cells and NaN, NA or null are NaN."""
    header, rows = table
    index = []
    for name in names:
        if name not in header:
            raise missing(file, "column", name, header)
        index.append(header.index(name))
    return np.array(
        [
            [_number(file, row, name, cells[at], gaps) for name, at in zip(names, index, strict=True)]
            for row, cells in rows
        ]
    )


def read_table(file: Path, delimiter: str) -> Table:
    """The names of the columns, and the rows with their numbers as an editor counts them."""
    existing_file(file)
    with reading(file, "CSV"), file.open(newline="", encoding="utf-8-sig") as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        header = [check_name(name.strip(), f"{file}: row 1") for name in next(reader, [])]
        rows = [(reader.line_num, cells) for cells in reader if cells]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InvalidInputError(f"{file}: row 1: two columns have the name {twice!r}")
    for row, cells in rows:
        if len(cells) != len(header):
            raise InvalidInputError(
                f"{file}: row {row}: {len(cells)} cells, but row 1 names {len(header)} columns: {', '.join(header)}"
            )
    if not rows:
        raise InvalidInputError(f"{file}: no rows below the names of the columns")
    return header, rows


def _number(file: Path, row: int, column: str, text: str, gaps: bool) -> float:
    if gaps and text.strip().lower() in NO_VALUE:
        return math.nan
    try:
        number = float(text)
    except ValueError:
        number = None
    if number is None or "_" in text:  # Python reads 1_000 as a number; no other program does
        what = "is empty" if not text.strip() else f"{text.strip()!r} is not a number"
        raise InvalidInputError(f"{file}: row {row}, column {column!r}: {what}{_hint(text)}")
    if not math.isfinite(number):
        raise InvalidInputError(f"{file}: row {row}, column {column!r}: is {number}{_hint(text)}")
    return number


def _hint(text: str) -> str:
    return "; --missing drop leaves points without a value out" if text.strip().lower() in NO_VALUE else ""


def _in_pairs(folder: Path, files: list[Path], bad: BadRecords) -> tuple[list[Path], list[Path]]:
    """The files NAME_input.csv and NAME_output.csv, in the same order."""
    found: dict[str, dict[str, Path]] = {}
    for file in files:
        name, _, role = file.stem.rpartition("_")
        if role not in ("input", "output") or not name:
            raise InvalidInputError(f"{file}: separate files must have names like NAME_input.csv and NAME_output.csv")
        found.setdefault(name, {})[role] = file
    whole = []
    for name, pair in found.items():
        with bad.passed_over():
            if len(pair) < 2:
                there, lacking = next(iter(pair)), "output" if "input" in pair else "input"
                raise InvalidInputError(f"{folder}: {name}_{lacking}.csv is missing beside {name}_{there}.csv")
            whole.append(pair)
    bad.check(whole, "samples")
    return [pair["input"] for pair in whole], [pair["output"] for pair in whole]


def write_csv(path: Path, sample: Sample, output: Output) -> None:
    """Coordinates, then predicted channels, in columns with their names; as many digits as tell numbers apart."""
    points, values = sample.made.discretization.points.numpy(), sample.made.values.numpy()
    columns = [*points.T.astype(str), *values.T.astype(str)]
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=output.delimiter, lineterminator="\n")
        writer.writerow([*output.coordinates, *(channel.name for channel in output.outputs)])
        writer.writerows(zip(*columns, strict=True))


FORMAT = Format("csv", read_csv_folder, (".csv",), folders=True, write_sample=write_csv, numbers=numbers_of_folder)

"""CSV: a file for each sample, a row for each point."""

import csv
from pathlib import Path

from iaenet.data.writing.output import Output, Sample


def write_csv(path: Path, sample: Sample, output: Output) -> None:
    """Coordinates, then predicted channels, in columns with their names; as many digits as tell numbers apart."""
    points, values = sample.made.discretization.points.numpy(), sample.made.values.numpy()
    columns = [*points.T.astype(str), *values.T.astype(str)]
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=output.delimiter, lineterminator="\n")
        writer.writerow([*output.coordinates, *(channel.name for channel in output.outputs)])
        writer.writerows(zip(*columns, strict=True))

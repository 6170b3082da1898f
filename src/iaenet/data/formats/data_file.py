"""Data files of iaenet: predicted from as they are, and written with each input and its prediction."""

from pathlib import Path

from iaenet.data.dataset import load_dataset
from iaenet.data.file_writer import Precision, write_dataset
from iaenet.data.formats.format import Format
from iaenet.data.reading.files import existing_file
from iaenet.data.reading.imported import Imported, Lazy
from iaenet.data.writing.output import Output


def read_data_file(path: str | Path, *, split: str | None = None, resolution: int | None = None) -> Imported:
    """The pairs of a data file; only those of one split, or of one resolution, if given."""
    data = load_dataset(existing_file(path), split, resolution)
    return Imported(
        data,
        data.inputs,
        data.outputs,
        given=Lazy(len(data), lambda i: data[i][0]),
        where=lambda i: f"{path}: pair {i}",
        splits=[data.entry(i).split for i in range(len(data))],
    )


def write_data_file(path: Path, output: Output) -> None:
    """A data file as `iaenet inspect` shows it."""
    samples = iter(output.samples)
    first = next(samples)
    precision: Precision = "float64" if first.made.values.element_size() == 8 else "float32"
    pairs = ((each.given, each.made) for group in ([first], samples) for each in group)
    write_dataset(
        path,
        pairs,
        inputs=output.inputs,
        outputs=output.outputs,
        splits=output.splits,
        provenance=output.origin,
        precision=precision,
    )


# Its suffix .h5 says HDF5; that a file is one of ours, its content tells.
FORMAT = Format("data", read_data_file, write=write_data_file)

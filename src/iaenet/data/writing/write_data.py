"""Data files of iaenet: each input with the output that was predicted for it."""

from pathlib import Path

from iaenet.data.file_writer import Precision, write_dataset
from iaenet.data.writing.output import Output


def write_data(path: Path, output: Output) -> None:
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

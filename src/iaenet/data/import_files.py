"""The user's own files into one data file."""

from pathlib import Path
from typing import Any, Literal

from iaenet.data.formats import DATA, FORMATS
from iaenet.data.reading.reader_options import parse_options
from iaenet.errors import InvalidInputError, no_such


def import_data(
    format: str,
    path: str,
    out: str,
    *,
    train: float = 0.8,
    validation: float = 0.1,
    test: float = 0.1,
    seed: int | None = 0,
    precision: Literal["float32", "float64"] = "float32",
    **options: Any,
) -> str:
    """Bring your own files into a data file, and say in one line what was written.

    format: what the files are, one of `iaenet.data.formats.FORMATS`.
    path: file or folder to read. It is never changed.
    out: data file to write.
    train: share of the samples for training, or their number; of the records, where samples are cut from records.
        Default 0.8.
    validation: share or number for validation. Default 0.1.
    test: share or number for testing. Default 0.1.
    seed: of the random split; null keeps the order, with the first samples for training. Default 0.
    precision: of the values in the data file. Default float32.

    How to read, `options` say, see `iaenet.data.reading.reader_options.OPTIONS`; each format has some of them.
    """
    if format not in FORMATS or format == DATA:
        raise InvalidInputError(no_such("format", format, [name for name in FORMATS if name != DATA]))
    chosen = parse_options(options)
    FORMATS[format].check(chosen)
    target, source = Path(out).resolve(), Path(path).resolve()
    if target == source or (source.is_dir() and target.exists() and source in target.parents):
        raise InvalidInputError(f"{out}: is among the files to read, which are never changed; write elsewhere")
    from iaenet.data.file_writer import write_dataset  # not above: the command's help needs no PyTorch

    imported = FORMATS[format].load(path, chosen)
    splits = imported.split(train, validation, test, seed)
    numbers = {name: i for i, name in enumerate(dict.fromkeys(imported.records or ()))}
    write_dataset(
        out,
        imported.pairs,
        inputs=imported.inputs,
        outputs=imported.outputs,
        splits=splits,
        records=None if imported.records is None else [numbers[name] for name in imported.records],
        parameters=imported.parameters,
        provenance={**imported.provenance, "options": chosen, "seed": seed},
        precision=precision,
    )
    counts = ", ".join(f"{splits.count(name)} {name}" for name in dict.fromkeys(splits))
    return f"{out}: {len(splits)} samples ({counts})"

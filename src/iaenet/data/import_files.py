"""The user's own files into one data file."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from iaenet.data.atomic import check_output
from iaenet.data.formats import DATA, FORMATS
from iaenet.data.reading.bad_records import told
from iaenet.data.reading.reader_options import parse_options
from iaenet.errors import InvalidInputError, no_such

T = TypeVar("T")


def import_data(
    format: str,
    path: str,
    out: str,
    *,
    train: float = 0.8,
    validation: float = 0.1,
    test: float = 0.1,
    seed: int | None = 0,
    split: Literal["random", "time"] | None = None,
    gap: int = 1,
    precision: Literal["float32", "float64"] = "float32",
    progress: Callable[[int, int], None] | None = None,
    boundary: str | None = None,
    **options: Any,
) -> str:
    """Bring your own files into a data file, and tell what was written, assumed and left out.

    format: what the files are, one of `iaenet.data.formats.FORMATS`.
    path: file or folder to read. It is never changed.
    out: data file to write.
    train: share of the samples for training, or their number; of the records, where samples are cut from records.
        Default 0.8.
    validation: share or number for validation. Default 0.1.
    test: share or number for testing. Default 0.1.
    seed: of the random split; null keeps the order, with the first samples for training. Default 0.
    split: random draws samples, or whole records; time cuts every record (or the samples in their order) in time,
        the first part for training. Default random, but time where there are fewer records than parts.
    gap: windows or samples left out between the parts, if split in time. Default 1.
    precision: of the values in the data file. Default float32.
    boundary: file with the boundary of the domain, or folder with one for each sample: segments in 2-D, triangles in
        3-D (.stl, .vtk, .vtu, .csv). Default: that of the cells, or found from the points.

    How to read, `options` say, see `iaenet.data.reading.reader_options.OPTIONS`; each format has some of them.
    """
    if format not in FORMATS or format == DATA:
        raise InvalidInputError(no_such("format", format, [name for name in FORMATS if name != DATA]))
    chosen = parse_options(options)
    FORMATS[format].check(chosen)
    if Path(out).exists():
        check_output(out, [path], "a data file of iaenet")
    from iaenet.data.file_writer import write_dataset  # not above: the command's help needs no PyTorch

    imported = FORMATS[format].load(path, chosen)
    if boundary is not None:
        from iaenet.data.reading.boundary_files import bounded

        imported = bounded(imported, boundary)
    notes, shares = list(imported.notes), (train, validation, test)
    few = len(set(imported.records or ())) < sum(part > 0 for part in shares)
    if split is None and imported.records and few:
        split = "time"
        notes.append(
            f"fewer records than parts: each is split in time, with a gap of {gap} window{'s' * (gap != 1)} between "
            "parts (--split, --gap)"
        )
    if split == "time":
        imported, splits = imported.split_in_time(*shares, gap)
    else:
        splits = imported.split(*shares, seed)
    numbers = {name: i for i, name in enumerate(dict.fromkeys(imported.records or ()))}
    write_dataset(
        out,
        counted(imported.pairs, progress),
        inputs=imported.inputs,
        outputs=imported.outputs,
        splits=splits,
        records=None if imported.records is None else [numbers[name] for name in imported.records],
        parameters=imported.parameters,
        provenance={
            **imported.provenance,
            "options": chosen,
            **({"split": "time", "gap": gap} if split == "time" else {"seed": seed}),
            **({"skipped": list(imported.skipped)} if imported.skipped else {}),
        },
        precision=precision,
    )
    counts = ", ".join(f"{splits.count(name)} {name}" for name in dict.fromkeys(splits))
    lines = [f"{out}: {len(splits)} samples ({counts})", *(f"note: {note}" for note in notes)]
    return "\n".join(lines + told(imported.skipped))


def counted(items: Sequence[T], progress: Callable[[int, int], None] | None) -> Iterator[T]:
    """The same items one after the other; `progress` hears how many there were, and of how many.

    >>> list(counted(["a", "b"], print))
    1 2
    2 2
    ['a', 'b']
    """
    for i, item in enumerate(items):
        yield item
        if progress is not None:
            progress(i + 1, len(items))

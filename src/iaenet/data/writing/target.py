"""Where predictions go: which format, and a file or folder that is there in full or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from iaenet.data.atomic import check_folder, naming_target, replacing, sync, unfinished
from iaenet.data.formats import DATA, FORMATS, format_names
from iaenet.data.formats.format import Format
from iaenet.data.writing.output import Output
from iaenet.errors import InvalidInputError, no_such


@dataclass(frozen=True)
class Target:
    """A file, or a folder with a file for each sample."""

    path: Path
    format: Format
    folder: bool
    suffix: str  # of the file, or of those in the folder


def choose(output: str | os.PathLike[str], given: str, format: str | None = None) -> Target:
    """The target of this name, for inputs of the format `given`.

    A name that ends in a known suffix is a file, one without any a folder. A folder holds files of the same format as
    the input, or else CSV. HDF5 is a data file of ours if the input is one, and otherwise named arrays; `format` says
    otherwise.

    >>> choose("out.h5", "hdf5").format.name, choose("out.h5", "data").format.name, choose("out", "mesh").suffix
    ('hdf5', 'data', '.vtu')
    """
    path = Path(output)
    suffix = path.suffix.lower()
    written = {name: each for name, each in FORMATS.items() if each.write or each.write_sample}
    if format is not None and format not in written:
        raise InvalidInputError(f"--output_format: {no_such('format', format, written)}")
    stores = {suffix for each in written.values() if each.store for suffix in each.suffixes}
    if (path.is_dir() and suffix not in stores) or not suffix:
        chosen = FORMATS[format or (given if given in written and written[given].write_sample else "csv")]
        if chosen.write_sample is None:
            raise InvalidInputError(
                f"{output}: {chosen.name} keeps all samples in one file; give it a name that ends so"
            )
        return Target(path, chosen, True, chosen.suffixes[0])
    known = {suffix: name for suffix, name in format_names().items() if name in written}
    if suffix not in known:
        raise InvalidInputError(
            f"{output}: predictions are written to {', '.join(known)}, or to a folder (a name without suffix)"
        )
    named = known[suffix]
    name = format or (DATA if named == "hdf5" and given == DATA else named)
    if name != named and (name, named) != (DATA, "hdf5"):
        raise InvalidInputError(f"{output}: its name says {named}, but --output_format {name}")
    return Target(path, written[name], False, suffix)


def write(target: Target, output: Output) -> None:
    """Write predictions in full, or leave nothing behind; samples may be made while they are written.

    >>> import tempfile, torch
    >>> from iaenet import Discretization, Field
    >>> from iaenet.data.problems.problem import Channel
    >>> from iaenet.data.writing.output import Sample
    >>> wave = Field(Discretization.uniform(2), torch.tensor([[0.5], [0.1]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Output([Sample("s1", wave, wave)], (Channel("a"),), (Channel("u"),), ("x",))
    ...     write(choose(f"{folder}/out", "csv"), made)
    ...     Path(folder, "out", "s1.csv").read_text().split()
    ['x,u', '0.0,0.5', '1.0,0.1']
    """
    format = target.format
    with writing(target) as path:
        if format.write is not None and not target.folder:
            format.write(path, output)
            return
        assert format.write_sample is not None
        if not target.folder:
            (sample,) = output.samples
            format.write_sample(path, sample, output)
            return
        for sample in output.samples:
            format.write_sample(path / f"{sample.name}{target.suffix}", sample, output)


@contextmanager
def writing(target: Target) -> Iterator[Path]:
    """The path to write to, a file or an empty folder, which takes the target's name when all went well."""
    with ExitStack() as stack:
        try:
            path = stack.enter_context(
                (replacing_folder if target.folder or target.format.store else replacing)(target.path)
            )
        except OSError as error:
            raise InvalidInputError(f"{target.path}: {error.strerror}") from None
        yield path


@contextmanager
def replacing_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new folder beside `path`, which takes its name when the block ends without an error.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing_folder(f"{folder}/runs") as beside:
    ...         _ = (beside / "a.csv").write_text("x,u")
    ...     os.listdir(folder), os.listdir(f"{folder}/runs")
    (['runs'], ['a.csv'])
    """
    target = Path(path)
    if target.exists() and not target.is_dir():
        raise InvalidInputError(f"{target} is a file; give the name of a folder")
    if target.is_dir() and any(target.iterdir()):
        raise InvalidInputError(f"{target} is not empty; give the name of a new folder")
    check_folder(target)
    beside = target.with_name(f"{unfinished(target)}{secrets.token_hex(4)}.tmp")
    try:
        beside.mkdir()
    except OSError as failure:
        raise type(failure)(failure.errno, f"cannot be written: {failure.strerror}", str(target)) from None
    try:
        with naming_target(target, beside):
            yield beside
            for file in beside.rglob("*"):
                sync(file)
            sync(beside)
            os.replace(beside, target)
            sync(target.absolute().parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)

"""Files that are there in full or not at all, and never in the place of what was read or of a file of another kind."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from iaenet.errors import InvalidInputError
from iaenet.outside import check_name, regular_file

PathLike = str | os.PathLike[str]
# What files begin with.
MAGIC = {
    b"\x89PNG": "a PNG picture",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"PK\x03\x04": "a ZIP archive",
    b"PK\x05\x06": "a ZIP archive",
    b"MATLAB": "a MATLAB file",
    b"CDF\x01": "a NetCDF file",
    b"CDF\x02": "a NetCDF file",
    b"CDF\x05": "a NetCDF file",
    b"IAEJ": "a journal of iaenet",
    b"# vtk": "a VTK file",
    b"<!doctype html": "a page",
    b"<": "an XML file",
    b"{": "a JSON file",
}
TEXT = bytes({*b"\t\n\f\r\x1b", *range(32, 256)})  # what text is made of; ONNX files have neither magic nor zeros


@contextmanager
def replacing(path: PathLike, sources: Sequence[PathLike] = (), *, own: bool = False) -> Iterator[Path]:
    """An empty file beside `path` to write to, which replaces it when the block ends without an error.

    It is on the disk before it is renamed, so that `path` names the old content or the new one even if the power fails.
    `sources` were read, and are never replaced; nor is a file of another kind, unless it is our `own`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as beside:
    ...         _ = beside.write_text("all of it")
    ...         before = os.listdir(folder) == ["a.txt"]
    ...     before, os.listdir(folder)
    (False, ['a.txt'])
    """
    target = Path(path)
    check_output(target, sources)
    beside = target.with_name(f"{unfinished(target)}{secrets.token_hex(4)}.tmp")
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as failure:
        raise type(failure)(failure.errno, f"cannot be written: {failure.strerror}", str(target)) from None
    try:
        with naming_target(target, beside):
            yield beside
            if not own:
                check_output(target, sources, kind_of(beside))
            sync(beside)
            os.replace(beside, target)
            sync(target.parent)
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


@contextmanager
def naming_target(target: Path, beside: Path) -> Iterator[None]:
    """A failure to write what lies beside, such as a full disk, is told of its target."""
    try:
        yield
    except OSError as failure:
        ours = failure.filename is None or str(failure.filename).startswith(str(beside))
        if failure.errno is None or not ours or isinstance(failure, InterruptedError):
            raise
        raise type(failure)(failure.errno, f"cannot be written: {failure.strerror}", str(target)) from None


def check_output(path: PathLike, sources: Sequence[PathLike] = (), kind: str | None = None) -> None:
    """Refuse to write to a folder that is not there, over what was read or among it, or over a file of another kind.

    >>> check_output("/dev/null")
    Traceback (most recent call last):
        ...
    iaenet.errors.InvalidInputError: /dev/null: is no regular file
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidInputError(f"{target} is a folder; give the name of a file")
    check_folder(target)
    apart(target, sources)
    if not target.exists():
        return
    regular_file(target)
    found = kind_of(target) if kind is not None else ""
    if found not in ("", kind):
        raise InvalidInputError(
            f"{target} is {found}, and is not replaced by {kind}; choose another name, or delete it"
        )


def kind_of(path: PathLike) -> str:
    """What a file is, by its first bytes; empty if it has none.

    >>> kind_of(__file__)
    'text'
    """
    with open(path, "rb") as file:
        head = file.read(64)
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    for magic, kind in MAGIC.items():
        if head.startswith(magic) or (magic[0] in b"<{" and start.lower().startswith(magic)):
            return _whose(path) if kind == "an HDF5 file" else kind
    return "" if not head else "a binary file" if head.translate(None, TEXT) else "text"


def _whose(path: PathLike) -> str:
    import h5py

    from iaenet.data.file_format import STREAMS, TABLES, TEXTS

    try:
        with h5py.File(path, "r") as file:
            ours = set(file) == {*TEXTS, *TABLES, *STREAMS}
    except OSError:
        return "a damaged HDF5 file"
    return "a data file of iaenet" if ours else "an HDF5 file"


def apart(path: PathLike, sources: Sequence[PathLike]) -> None:
    """Refuse to write over what is read, or among it."""
    target = Path(path).resolve()
    for source in map(Path, sources):
        read = source.resolve()
        same = target == read or (target.exists() and read.exists() and target.samefile(read))
        if same or (read.is_dir() and read in target.parents):
            raise InvalidInputError(f"{path}: is, or is among, what is read ({source}); write elsewhere")


def check_folder(path: PathLike) -> None:
    """Refuse to write to a folder that is not there.

    >>> check_folder("nowhere/a.h5")
    Traceback (most recent call last):
        ...
    iaenet.errors.InvalidInputError: nowhere/a.h5: there is no folder nowhere; make it first
    """
    check_name(str(path), "the name of a file")
    if not Path(path).absolute().parent.is_dir():
        raise InvalidInputError(f"{path}: there is no folder {Path(path).parent}; make it first")


def unfinished(path: Path) -> str:
    """How the names of unfinished files of this one begin.

    >>> unfinished(Path("data/a.h5"))
    '.a.h5.'
    """
    return f".{path.name}."


def sync(path: PathLike) -> None:
    """Wait until a file or folder is on the disk.

    >>> sync(".")
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

"""Files that are there in full or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from iaenet.errors import InvalidInputError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """An empty file beside `path` to write to, which replaces it when the block ends without an error.

    It is on the disk before it is renamed, so that `path` names the old content or the new one even if the power fails.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/a.txt") as beside:
    ...         _ = beside.write_text("all of it")
    ...         before = os.listdir(folder) == ["a.txt"]
    ...     before, os.listdir(folder)
    (False, ['a.txt'])
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidInputError(f"{target} is a folder; give the name of a file")
    check_folder(target)
    beside = target.with_name(f"{unfinished(target)}{secrets.token_hex(4)}.tmp")
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as failure:
        raise type(failure)(failure.errno, f"cannot be written: {failure.strerror}", str(target)) from None
    try:
        yield beside
        sync(beside)
        os.replace(beside, target)
        sync(target.parent)
    finally:
        with suppress(FileNotFoundError):
            beside.unlink()


def check_folder(path: str | os.PathLike[str]) -> None:
    """Refuse to write to a folder that is not there.

    >>> check_folder("nowhere/a.h5")
    Traceback (most recent call last):
        ...
    iaenet.errors.InvalidInputError: nowhere/a.h5: there is no folder nowhere; make it first
    """
    if not Path(path).absolute().parent.is_dir():
        raise InvalidInputError(f"{path}: there is no folder {Path(path).parent}; make it first")


def unfinished(path: Path) -> str:
    """How the names of unfinished files of this one begin.

    >>> unfinished(Path("data/a.h5"))
    '.a.h5.'
    """
    return f".{path.name}."


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until a file or folder is on the disk.

    >>> sync(".")
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

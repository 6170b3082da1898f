"""The user's files: found, opened, never changed, and what is wrong with them said in one line."""

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from iaenet.data.reading.bad_records import BadRecords
from iaenet.errors import InvalidInputError, pass_on_lack_of_memory
from iaenet.outside import check_name, regular_file


def existing(path: str | Path) -> Path:
    """The path of a file or folder that is there.

    >>> existing("nowhere")
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: nowhere: no such file or folder
    """
    check_name(str(path), "the name of a file")
    if not Path(path).exists():
        raise InvalidInputError(f"{path}: no such file or folder")
    return Path(path)


def existing_file(path: str | Path) -> Path:
    """The path of a file that is there and is not empty.

    >>> existing_file("nowhere.npz")
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: nowhere.npz: no such file
    """
    found = regular_file(path)
    if found.stat().st_size == 0:
        raise InvalidInputError(f"{found}: the file is empty")
    return found


def files_in(path: str | Path, suffixes: Sequence[str], bad: BadRecords | None = None) -> list[Path]:
    """`path` itself if it is a file, or the files with one of the suffixes in that folder, in order of name.

    Numbers in names count as numbers: `s2.csv` comes before `s10.csv`. Empty files are refused, or left to `bad`.
    """
    folder = Path(path)
    if not folder.is_dir():
        return [existing_file(folder)]
    found = [file for file in folder.iterdir() if file.suffix.lower() in suffixes and file.is_file()]
    if not found:
        raise InvalidInputError(f"{folder}: no {' or '.join(suffixes)} file in this folder")
    bad, files = bad or BadRecords(), []
    for file in sorted(found, key=lambda file: natural(file.name)):
        with bad.passed_over():
            files.append(existing_file(file))
    bad.check(files, "files")
    return files


def natural(name: str) -> list[tuple[int, int | str]]:
    """Sort key of a name in which numbers count as numbers.

    >>> sorted(["s10", "s2", "s1"], key=natural)
    ['s1', 's2', 's10']
    """
    parts = []
    digits = ""
    for letter in [*name, ""]:
        if letter.isdecimal():
            digits += letter
            continue
        if digits:
            parts.append((0, int(digits)))
            digits = ""
        parts.append((1, letter))
    return parts  # type: ignore[return-value]


@contextmanager
def reading(where: object, kind: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes one line that begins with where it was.

    >>> with reading("run.h5: sample 3", "HDF5"):
    ...     raise OSError("inflate() failed")
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: run.h5: sample 3: cannot be read as HDF5 (inflate() failed); is the file whole?
    """
    try:
        yield
    except (InvalidInputError, MemoryError):
        raise
    except Exception as error:  # the parsers behind the readers raise anything at all on damaged files
        pass_on_lack_of_memory(error)
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InvalidInputError(f"{where}: cannot be read as {kind} ({lines[0]}); is the file whole?") from error


@contextmanager
def naming(where: object) -> Iterator[None]:
    """The message of a refusal begins with where it was; a file that the message names already is not named twice.

    >>> with naming("run.npz: sample 3"):
    ...     raise InvalidInputError("run.npz: channel u, point 7 is nan")
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: run.npz: sample 3: channel u, point 7 is nan
    """
    try:
        yield
    except InvalidInputError as error:
        message = str(error)
        file = str(where).split(": ")[0]
        raise InvalidInputError(f"{where}: {message.removeprefix(f'{file}: ')}") from error.__cause__


def required(module: str, extra: str) -> ModuleType:
    """An optional package, or how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InvalidInputError(
            f"this format needs the package {module}, which is not installed: pip install iaenet[{extra}]"
        ) from None


def missing(where: object, kind: str, name: str, there: Sequence[str]) -> InvalidInputError:
    """The refusal of a name that is not in the file, with those that are.

    >>> print(missing("run.npz", "array", "b", ["a", "u"]))
    run.npz: no array 'b'; there are: a, u
    """
    names = ", ".join(there[:30]) + (f" and {len(there) - 30} more" if len(there) > 30 else "")
    return InvalidInputError(f"{where}: no {kind} {name!r}; there are: {names or 'none'}")

"""Where predictions go: which family of files, and a file or folder that is there in full or not at all."""

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from iaenet.data.atomic import replacing, sync, unfinished
from iaenet.errors import InvalidInputError

FAMILIES = {
    ".csv": "csv",
    ".npz": "npz",
    ".mat": "mat",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".nc": "netcdf",
    ".nc4": "netcdf",
    ".cdf": "netcdf",
    ".netcdf": "netcdf",
    ".vtu": "mesh",
    ".vtk": "mesh",
}
IN_FOLDERS = {"csv": ".csv", "netcdf": ".nc", "mesh": ".vtu"}  # with the suffix of a sample's file


@dataclass(frozen=True)
class Target:
    """A file, or a folder with a file for each sample."""

    path: Path
    family: str
    folder: bool
    suffix: str  # of the file, or of those in the folder


def choose(output: str | os.PathLike[str], given: str, family: str | None = None) -> Target:
    """The target of this name, for inputs of the format `given`.

    A name that ends in a known suffix is a file, one without any a folder. A folder holds files of the same family as
    the input, or else CSV. HDF5 is a data file of ours if the input is one, and otherwise named arrays; `family` says
    otherwise.

    >>> choose("out.h5", "hdf5").family, choose("out.h5", "data").family, choose("out", "mesh").suffix
    ('hdf5', 'data', '.vtu')
    """
    path = Path(output)
    suffix = path.suffix.lower()
    known = [*dict.fromkeys(FAMILIES.values()), "data"]
    if family is not None and family not in known:
        raise InvalidInputError(f"--output_format: no format {family!r}; there are: {', '.join(known)}")
    if path.is_dir() or not suffix:
        chosen = family or (given if given in IN_FOLDERS else "csv")
        if chosen not in IN_FOLDERS:
            raise InvalidInputError(f"{output}: {chosen} keeps all samples in one file; give it a name that ends so")
        return Target(path, chosen, True, IN_FOLDERS[chosen])
    if suffix not in FAMILIES:
        raise InvalidInputError(
            f"{output}: predictions are written to {', '.join(FAMILIES)}, or to a folder (a name without suffix)"
        )
    named = FAMILIES[suffix]
    chosen = family or ("data" if named == "hdf5" and given == "data" else named)
    if chosen != named and (chosen, named) != ("data", "hdf5"):
        raise InvalidInputError(f"{output}: its name says {named}, but --output_format {chosen}")
    return Target(path, chosen, False, suffix)


def apart(path: str | os.PathLike[str], sources: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse to write over what is read, or among it."""
    target = Path(path).resolve()
    for source in map(Path, sources):
        place = source.resolve()
        same = target == place or (target.exists() and place.exists() and target.samefile(place))
        if same or (place.is_dir() and place in target.parents):
            raise InvalidInputError(f"{path}: is, or is among, what is read ({source}); write elsewhere")


@contextmanager
def writing(target: Target) -> Iterator[Path]:
    """The place to write to, a file or an empty folder, which takes the target's name when all went well."""
    with ExitStack() as stack:
        try:
            place = stack.enter_context((replacing_folder if target.folder else replacing)(target.path))
        except OSError as error:
            raise InvalidInputError(f"{target.path}: {error.strerror}") from None
        yield place


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
    if not target.absolute().parent.is_dir():
        raise InvalidInputError(f"{target}: there is no folder {target.parent}; make it first")
    beside = target.with_name(f"{unfinished(target)}{secrets.token_hex(4)}.tmp")
    try:
        beside.mkdir()
    except OSError as failure:
        raise type(failure)(failure.errno, f"cannot be written: {failure.strerror}", str(target)) from None
    try:
        yield beside
        for file in beside.iterdir():
            sync(file)
        sync(beside)
        os.replace(beside, target)
        sync(target.absolute().parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)

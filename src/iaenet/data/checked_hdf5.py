"""Data sets of an HDF5 file that may be damaged or hostile, looked at before they are read."""

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import h5py
import numpy as np

from iaenet.data.file_format import CHUNK
from iaenet.errors import CorruptFileError, pass_on_lack_of_memory

# What HDF5, NumPy and JSON raise when they meet bytes that make no sense.
_NONSENSE = (OSError, RuntimeError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


@contextmanager
def damage(path: str, what: str) -> Iterator[None]:
    """Whatever goes wrong inside is told as damage to this file.

    >>> with damage("a.h5", "cannot be read"):
    ...     {}["header"]
    Traceback (most recent call last):
    iaenet.errors.CorruptFileError: a.h5 cannot be read: KeyError: 'header'
    """
    try:
        yield
    except _NONSENSE as error:
        pass_on_lack_of_memory(error)
        text = " ".join(str(error).split())
        raise CorruptFileError(f"{path} {what}: {type(error).__name__}: {text}") from error


def open_file(path: str, names: Collection[str]) -> h5py.File:
    """An HDF5 file that holds these data sets, each in itself, and nothing else."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for without end
        raise CorruptFileError(f"{path} is no data file: it is no regular file")
    os.close(os.open(path, os.O_RDONLY))  # a file that may not be read is no damaged file
    with ExitStack() as stack, damage(path, "is no data file, or it is damaged"):
        file = stack.enter_context(h5py.File(path, "r"))
        found = set(file)
        if found != set(names):
            raise ValueError(f"it should hold {sorted(names)}, but has {sorted(found)[:20]}")
        for name in names:
            if file.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
                raise ValueError(f"{name} is a link to another file or group")
        stack.pop_all()  # sound so far: it stays open
    return file


def dataset(file: h5py.File, name: str, dtype: np.dtype[Any]) -> h5py.Dataset:
    """A data set of one axis and this type: in chunks with checksums, in this file, and no larger than the file."""
    identity = h5py.h5o.open(file.id, name.encode())
    if not isinstance(identity, h5py.h5d.DatasetID):
        raise ValueError(f"{name} is no data set")
    made = identity.get_create_plist()
    # The layout first: to ask a virtual data set for its size opens the files that it is made of.
    if made.get_layout() != h5py.h5d.CHUNKED or made.get_external_count():
        raise ValueError(f"{name} is not stored in chunks in this file")
    # Anything else may expand what is read, or load code to do so.
    if made.get_nfilters() != 1 or made.get_filter(0)[0] != h5py.h5z.FILTER_FLETCHER32:
        raise ValueError(f"{name} must have checksums and no other filter")
    if identity.dtype != dtype:
        raise ValueError(f"{name} must be of type {dtype}, not {identity.dtype}")
    size = os.stat(file.filename).st_size
    if identity.rank != 1 or made.get_chunk()[0] > CHUNK or identity.shape[0] * dtype.itemsize > size:
        raise ValueError(f"{name} claims {identity.shape} numbers in chunks of {made.get_chunk()}: not in {size} bytes")
    return h5py.Dataset(identity)

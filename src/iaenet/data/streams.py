"""Rows of numbers that grow in an HDF5 file, on a disk that may be full."""

import io
import os
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from iaenet.data.file_format import CHUNK


class Disk(io.FileIO):
    """A file whose failures wait for `check`, or for the end of a `with` block.

    HDF5 cannot close a file that it cannot write, and at last ends the process with a segmentation fault; PyTorch says
    neither which file it was nor why. So they are told that all went well, and the writer hears of it from here; so is
    a library that writes on after the file was closed, since an error kept it from closing its own.

    >>> with Disk("/dev/null") as null:
    ...     null.write(b"1234")
    4
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(os.fspath(path), "r+")
        self.failure: OSError | None = None

    def write(self, data: Any) -> int:
        """Write all of it, if nothing failed before."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while len(rest) and self.failure is None and not self.closed:
                rest = rest[super().write(rest) :]
        except OSError as failure:
            self.failure = failure
        return size

    def truncate(self, size: int | None = None) -> int:
        """Set the length, if that is possible."""
        try:
            return (size or 0) if self.closed else super().truncate(size)
        except OSError as failure:
            self.failure = self.failure or failure
            return size or 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a byte."""
        return offset if self.closed else super().seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        """Read what was written; nothing of a file that is closed."""
        return memoryview(buffer).nbytes if self.closed else super().readinto(buffer) or 0

    def flush(self) -> None:
        """There is no buffer."""

    def check(self) -> None:
        """Raise what went wrong, with the name of the file."""
        if self.failure is not None:
            raise OSError(self.failure.errno, self.failure.strerror, self.name)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()
        if error is None:
            self.check()


def new_disk(path: str | os.PathLike[str]) -> Disk:
    """The same for a file that need not be there yet, such as one of several in a folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, new_disk(f"{folder}/a.pt") as disk:
    ...     disk.write(b"1234")
    4
    """
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
    return Disk(path)


class Stream:
    """A growing row of numbers, written by whole chunks, each with a checksum.

    >>> with h5py.File("any", "w", driver="core", backing_store=False) as file:
    ...     stream = Stream(file, "numbers", np.dtype("<f4"))
    ...     starts = stream.append(np.ones(3)), stream.append(np.ones(2))
    ...     stream.close()
    ...     starts, file["numbers"].shape
    ((0, 3), (5,))
    """

    def __init__(self, file: h5py.File, name: str, dtype: np.dtype[Any]) -> None:
        self.file, self.name, self.dtype = file, name, dtype
        self.length = 0  # of all that was appended
        self._waiting: list[NDArray[Any]] = []
        self._dataset: h5py.Dataset | None = None

    def append(self, numbers: NDArray[Any]) -> int:
        """Add numbers at the end; gives where they start."""
        start, written = self.length, 0 if self._dataset is None else len(self._dataset)
        self._waiting.append(np.array(numbers, dtype=self.dtype))
        self.length += len(numbers)
        if self.length - written >= 64 * CHUNK:
            self._write((self.length - written) // CHUNK * CHUNK)
        return start

    def close(self) -> None:
        """Write what is left."""
        self._write(self.length - (0 if self._dataset is None else len(self._dataset)))

    def _write(self, count: int) -> None:
        numbers = np.concatenate(self._waiting)
        if self._dataset is None:
            self._dataset = self.file.create_dataset(
                self.name,
                shape=(0,),
                maxshape=(None,),
                chunks=(min(CHUNK, len(numbers)),),
                dtype=self.dtype,
                fletcher32=True,
                track_times=False,
            )
        old = len(self._dataset)
        self._dataset.resize(old + count, axis=0)
        self._dataset[old:] = numbers[:count]
        self._waiting = [numbers[count:]]

"""Finished records of an unfinished data set, kept so that a run that was stopped can go on.

An append-only file of entries, each under its own hash:

    b"IAEJ" | length of the head, 4 bytes | length of the body, 8 bytes | SHA-256 of both | head, JSON | body, numbers

The first entry says which run this is. What follows a damaged entry, such as one cut off when the process was killed,
is dropped and made anew.
"""

import hashlib
import io
import json
import os
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from iaenet.data.atomic import naming_target
from iaenet.data.file_format import to_bytes
from iaenet.data.packing import Packed
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.outside import document, regular_file

_MAGIC = b"IAEJ"
_START = struct.Struct("<4sIQ32s")


class Journal:
    """The records of one run, by number; open in one process at a time.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(f"{folder}/a.partial", {"seed": 0}) as journal:
    ...         journal.append(entry({"record": 7}, b"1234"))
    ...     with Journal(f"{folder}/a.partial", {"seed": 0}) as journal:
    ...         set(journal.records), journal.record(7)
    ({7}, ({'record': 7}, b'1234'))
    """

    def __init__(self, path: str | os.PathLike[str], run: Mapping[str, object]) -> None:
        self.path, self.run = Path(path), dict(run)
        self._lock = FileLock(lock_of(path))
        self.records: dict[int, int] = {}  # number of a record -> where its entry starts
        self.discretizations: dict[str, int] = {}  # hash -> where its entry starts

    def __enter__(self) -> "Journal":
        if not self.path.parent.is_dir():
            raise InvalidInputError(f"{self.path}: there is no folder {self.path.parent}; make it first")
        try:
            self._lock.acquire(blocking=False)  # the system lifts it when the process ends
        except Timeout:
            raise InvalidInputError(f"{self.path}: another process is generating this file") from None
        try:
            if self.path.exists():
                with regular_file(self.path).open("rb") as found:
                    if not _MAGIC.startswith(found.read(len(_MAGIC))):
                        raise InvalidInputError(f"{self.path} is no file of ours; move it away")
            # Without a buffer: what could not be written would be tried again, and fail again, as the file is closed.
            self._file = io.FileIO(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666), "r+")
            with naming_target(self.path, self.path):
                self._scan()
        except BaseException:
            self._close()
            raise
        return self

    def _scan(self) -> None:
        end, offset, size = 0, 0, os.fstat(self._file.fileno()).st_size
        while offset < size:
            try:
                head, _ = self._read(offset)
            except CorruptFileError:
                break
            if offset == 0:
                self._same_run(head.get("run", {}))
            elif "record" in head:
                self.records[head["record"]] = offset
            else:
                self.discretizations[head["sha256"]] = offset
            offset = end = self._file.tell()
        self._file.seek(end)
        self._file.truncate()
        if end == 0:
            self.append(entry({"run": self.run}, b""))

    def _same_run(self, found: dict[str, object]) -> None:
        differ = differences(found, json.loads(to_bytes(self.run)))
        if differ:
            raise InvalidInputError(
                f"{self.path} is of an unfinished run that differs: {differ}. Repeat that command, or delete the file"
            )

    def append(self, *entries: bytes) -> None:
        """Add finished entries."""
        start = self._file.seek(0, os.SEEK_END)
        with naming_target(self.path, self.path):
            rest = memoryview(b"".join(entries))
            while rest:
                rest = rest[self._file.write(rest) :]
        for one in entries:
            head = json.loads(one[_START.size : _START.size + _START.unpack_from(one)[1]])
            if "record" in head:
                self.records[head["record"]] = start
            elif "sha256" in head:
                self.discretizations[head["sha256"]] = start
            start += len(one)

    def record(self, number: int) -> tuple[dict[str, Any], bytes]:
        """Head and body of a record."""
        return self._read(self.records[number])

    def discretization(self, digest: str) -> Packed:
        """The discretization with this hash."""
        return packed_of(*self._read(self.discretizations[digest]))

    def _read(self, offset: int) -> tuple[dict[str, Any], bytes]:
        self._file.seek(offset)
        start = self._file.read(_START.size)
        here = f"{self.path}: the entry at byte {offset} is damaged; delete the file, or repeat the command"
        if len(start) < _START.size:
            raise CorruptFileError(here)
        magic, head_size, body_size, digest = _START.unpack(start)
        left = os.fstat(self._file.fileno()).st_size - self._file.tell()
        if magic != _MAGIC or head_size + body_size > left:
            raise CorruptFileError(here)
        content = bytearray(head_size + body_size)
        rest = memoryview(content)
        while rest and (count := self._file.readinto(rest)):
            rest = rest[count:]
        if hashlib.sha256(content).digest() != digest:
            raise CorruptFileError(here)
        try:
            head = document(dict[str, Any], json.loads(content[:head_size]), here)
        except (ValueError, RecursionError):
            raise CorruptFileError(here) from None
        return head, bytes(content[head_size:])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()
        with suppress(OSError):  # Windows removes it when it is released
            os.unlink(self._lock.lock_file)
        self._lock.release()


def lock_of(path: str | os.PathLike[str]) -> Path:
    """The file by whose lock one process alone has a journal; a process that was killed leaves it behind.

    >>> lock_of("a.h5.partial").name
    'a.h5.partial.lock'
    """
    return Path(f"{path}.lock")


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Which entries of two descriptions of a run differ; empty if none do.

    >>> differences({"seed": 0, "parameters": {"tau": 3}}, {"seed": 0, "parameters": {"tau": 5}})
    'parameters tau is 3, not 5'
    """
    texts = []
    for key in sorted(found.keys() | wanted.keys()):
        old, new = found.get(key), wanted.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            inner = differences(old, new)
            texts += [f"{key} {inner}"] if inner else []
        elif old != new:
            texts.append(f"{key} is {old!r}, not {new!r}")
    return ", ".join(texts)


def entry(head: Mapping[str, object], body: bytes) -> bytes:
    """One entry of a journal.

    >>> entry({"record": 0}, b"1234")[:4]
    b'IAEJ'
    """
    text = to_bytes(head)
    content = text + body
    return _START.pack(_MAGIC, len(text), len(body), hashlib.sha256(content).digest()) + content


def discretization_entry(packed: Packed) -> tuple[str, bytes]:
    """Hash and entry of a discretization.

    >>> from iaenet.functions.discretization import Discretization
    >>> from iaenet.data.packing import pack
    >>> digest, written = discretization_entry(pack(Discretization.uniform(4)))
    >>> len(digest)
    64
    """
    digest = packed.digest().hex()
    head = {"sha256": digest, "grid": packed.grid, "shape": packed.shape, "periodic": packed.periodic}
    head |= {"corners": packed.corners, "rule": packed.rule}
    return digest, entry(head, packed.bounds.astype("<f8").tobytes() + packed.numbers.astype("<f8").tobytes())


def packed_of(head: Mapping[str, Any], body: bytes) -> Packed:
    """The discretization of an entry.

    >>> from iaenet.functions.discretization import Discretization
    >>> from iaenet.data.packing import pack, unpack
    >>> grid = pack(Discretization.uniform(4))
    >>> head = {"grid": True, "shape": [4], "periodic": [False], "corners": 0, "rule": "uniform"}
    >>> unpack(packed_of(head, grid.bounds.tobytes() + grid.numbers.tobytes())).n
    4
    """
    numbers: NDArray[np.float64] = np.frombuffer(body, "<f8")
    d = len(head["periodic"])
    bounds = numbers[: 2 * d].reshape(d, 2)
    rest = numbers[2 * d :], head["corners"], head["rule"]
    return Packed(head["grid"], tuple(head["shape"]), tuple(head["periodic"]), bounds, *rest)

"""The header of a classic NetCDF file (versions 1, 2 and 5), looked at before SciPy believes the sizes in it.

    magic | records | dimensions | attributes | variables

Each list is a tag, a number of entries and the entries; names and values are filled up to four bytes.
"""

import math
import struct
from pathlib import Path

from iaenet.errors import InvalidInputError

DIMENSION, VARIABLE, ATTRIBUTE = 0x0A, 0x0B, 0x0C
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}  # bytes of a number of each type


def check_classic(path: Path) -> None:
    """Refuse a file that claims more entries, names or numbers than it has bytes for.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     claims = Path(folder, "a.nc")
    ...     _ = claims.write_bytes(b"CDF\\x01" + bytes(4) + b"\\0\\0\\0\\x0a\\x7f\\xff\\xff\\xff")
    ...     check_classic(claims)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: ...a.nc: claims 2147483647 dimensions, but has 16 bytes; is the file whole?
    """
    _Header(path).check()


class _Header:
    def __init__(self, path: Path) -> None:
        self.path, self.size = path, path.stat().st_size

    def check(self) -> None:
        """Read from the first byte to the last of the header."""
        with self.path.open("rb") as self.file:
            version = self.file.read(4)[3:]
            self.wide = version == b"\x05"
            self.offset = 4 if version == b"\x01" else 8
            records = self.number(8 if self.wide else 4)
            dimensions = [self.dimension() for _ in range(self.entries(DIMENSION, "dimensions"))]
            self.attributes()
            for _ in range(self.entries(VARIABLE, "variables")):
                self.variable(dimensions, records)

    def number(self, width: int) -> int:
        content = self.file.read(width)
        if len(content) < width:
            raise InvalidInputError(f"{self.path}: ends within its header; is the file whole?")
        found: int = struct.unpack(">q" if width == 8 else ">i", content)[0]
        return found

    def count(self, what: str, each: int = 1) -> int:
        """A number of things of so many bytes each, for which there is room."""
        found = self.number(8 if self.wide else 4)
        if not 0 <= found * each <= self.size - self.file.tell():
            raise InvalidInputError(
                f"{self.path}: claims {found} {what}, but has {self.size} bytes; is the file whole?"
            )
        return found

    def entries(self, tag: int, what: str) -> int:
        found, count = self.number(4), self.count(what, 4)
        if found != tag and (found or count):
            raise InvalidInputError(f"{self.path}: tag {found} in its header, where {what} should be; is it damaged?")
        return count

    def name(self) -> str:
        count = self.count("letters of a name")
        return self.file.read(count + -count % 4)[:count].decode(errors="replace")

    def dimension(self) -> int:
        self.name()
        return self.number(8 if self.wide else 4)

    def attributes(self) -> None:
        for _ in range(self.entries(ATTRIBUTE, "attributes")):
            self.name()
            size = SIZES.get(self.number(4), 1)
            count = self.count("numbers of an attribute", size)
            self.file.seek(count * size + -(count * size) % 4, 1)

    def variable(self, dimensions: list[int], records: int) -> None:
        name = self.name()
        rank = self.count("dimensions of a variable", 8 if self.wide else 4)
        chosen = [self.number(8 if self.wide else 4) for _ in range(rank)]
        if any(not 0 <= index < len(dimensions) or dimensions[index] < 0 for index in chosen):
            raise InvalidInputError(f"{self.path}: variable {name!r} has dimensions that are not there; is it damaged?")
        self.attributes()
        kind = self.number(4)
        self.number(8 if self.wide else 4)  # its size, which the shape tells
        begin = self.number(self.offset)
        # A dimension of length 0 is that of records.
        shape = [dimensions[index] or max(records, 0) for index in chosen]
        needed = math.prod(shape) * SIZES.get(kind, 1)
        if begin < 0 or (needed and begin + needed > self.size):
            raise InvalidInputError(
                f"{self.path}: variable {name!r} claims {needed} bytes from byte {begin}, but the file has "
                f"{self.size}; is it whole?"
            )

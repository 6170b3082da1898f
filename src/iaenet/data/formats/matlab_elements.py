"""The elements of a MATLAB file of version 5, looked at before SciPy reads them: it may crash on types that are none.

tag (type, bytes) | flags and class | dimensions | name | numbers         each part with a tag of its own
"""

import math
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

from iaenet.errors import InvalidInputError

HEADER = 128  # bytes before the first element
HEAD = 2**12  # bytes that flags, dimensions and name may take
MATRIX, COMPRESSED = 14, 15
NUMERIC = range(6, 16)  # classes of arrays of numbers
SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}  # bytes of a number, by type


def check_elements(file: Path) -> set[str]:
    """Refuse a file whose arrays of numbers are not what their tags say; gives the names of those that are complex."""
    named: set[str] = set()
    size = file.stat().st_size
    with file.open("rb") as stream:
        head = stream.read(HEADER)
        order = {b"IM": "<", b"MI": ">"}.get(head[126:128])
        if order is None:
            raise InvalidInputError(f"{file}: no byte order in its header; is the file whole?")
        at = HEADER
        while at < size:
            stream.seek(at)
            kind, count = _tag(stream.read(8), order, file, at)
            if at + 8 + count > size or kind not in (MATRIX, COMPRESSED):
                raise InvalidInputError(f"{file}: the element at byte {at} is no array; is the file whole?")
            named.add(_check_array(_start(stream, kind, count, order, file, at), order, file, at))
            at += 8 + count
    return named


def _start(stream: BinaryIO, kind: int, count: int, order: str, file: Path, at: int) -> bytes:
    """The first bytes of an array behind its tag."""
    if kind == MATRIX:
        return stream.read(min(count, HEAD))
    try:
        found = zlib.decompressobj().decompress(stream.read(min(count, HEAD)), HEAD)
    except zlib.error as error:
        raise InvalidInputError(f"{file}: the element at byte {at} cannot be expanded ({error})") from None
    if _tag(found[:8], order, file, at)[0] != MATRIX:
        raise InvalidInputError(f"{file}: the element at byte {at} is no array; is the file whole?")
    return found[8:]


def _check_array(content: bytes, order: str, file: Path, at: int) -> str:
    """The name of a complex array, whose second part is not looked at; nothing for others."""
    parts: list[tuple[int, int, bytes]] = []
    offset = 0
    while len(parts) < 4:
        kind, count = _tag(content[offset : offset + 8], order, file, at)
        small = kind >> 16  # a part of at most 4 bytes has them in its tag
        kind, count, start = (kind & 0xFFFF, small, offset + 4) if small else (kind, count, offset + 8)
        parts.append((kind, count, content[start : start + min(count, HEAD)]))
        offset = offset + 8 if small else start + count + -count % 8
        if len(parts) == 1 and (kind != 6 or count != 8):
            raise InvalidInputError(f"{file}: the array at byte {at} has no flags; is the file whole?")
        if len(parts) == 1 and struct.unpack(f"{order}I", parts[0][2][:4])[0] & 0xFF not in NUMERIC:
            return ""  # text, cells and the like are refused by their class, and never read
    (_, _, flags), (_, extent, lengths), (_, _, name), (kind, count, _) = parts
    complex_ = struct.unpack(f"{order}I", flags[:4])[0] & 0x800
    shape = struct.unpack(f"{order}{extent // 4}i", lengths[: extent // 4 * 4]) if len(lengths) == extent else ()
    if parts[1][0] != 5 or extent % 4 or len(shape) < 2 or min(shape) < 0 or parts[2][0] not in (1, 2):
        raise InvalidInputError(f"{file}: the array at byte {at} has dimensions that are none; is the file whole?")
    if kind not in SIZES or count != SIZES[kind] * math.prod(shape):
        raise InvalidInputError(f"{file}: the array at byte {at} is no {shape} of numbers; is the file whole?")
    return name.decode(errors="replace") if complex_ else ""


def _tag(content: bytes, order: str, file: Path, at: int) -> tuple[int, int]:
    if len(content) < 8:
        raise InvalidInputError(f"{file}: the element at byte {at} is cut off; is the file whole?")
    kind, count = struct.unpack(f"{order}II", content[:8])
    return kind, count

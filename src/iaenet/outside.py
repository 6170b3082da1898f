"""What comes from outside, looked at before it is believed: files, texts, names, sizes, documents of our own.

Regular files only, since a pipe or device may never end. Text is UTF-8, and no longer than what people write. A size
that a file claims, or that a request needs, is held against a limit before anything is read or allocated:
`IAENET_MEMORY`, as in 8G, or else half of the memory of this machine.
"""

import json
import math
import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.typed import typed

LIMIT = "IAENET_MEMORY"
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
EXPANSION = 100  # times its own size that a compressed file may hold without a question
SMALL = 256 * 10**6  # bytes that any file may hold without a question
MOST_TEXT = 2**24  # bytes of a document
MOST_YAML = 2**18  # its parser takes a minute for some megabytes
MOST_NODES = 10**5  # of a document, aliases written out
DEEPEST = 32  # levels of a document
NO_YAML = (ValueError, LookupError, AttributeError, OverflowError)  # of its parser, by `!!bool x` and `!!int ""`


# ---------------------------------------------------------------------- sizes


def memory_limit() -> int:
    """Bytes that one array may take: `IAENET_MEMORY`, or half of what this process can have."""
    given = os.environ.get(LIMIT, "")
    if given:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", given.strip(), re.IGNORECASE)
        size = float(found[1]) * UNITS[found[2].upper()] if found else math.inf
        if size == math.inf:
            raise InvalidInputError(f"{LIMIT}={given[:40]}: give a size, as in 8G or 500M")
        return int(size)
    sizes = [2**44]
    if hasattr(os, "sysconf"):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(OSError, ValueError):
        sizes.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))  # of a container
    with suppress(ImportError):  # on Windows
        import resource

        sizes += [limit for limit in resource.getrlimit(resource.RLIMIT_AS) if limit > 0]
    return min(sizes) // 2


def check_size(where: object, needed: int, held: int | None = None) -> None:
    """Refuse `needed` bytes that are beyond the limit; or that a file of `held` bytes can hardly hold.

    >>> check_size("bomb.npz: array a", 10**18)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: bomb.npz: array a: needs 1 EB of memory, ... set IAENET_MEMORY=1000000T
    """
    limit, why = memory_limit(), "are allowed"
    if held is not None and not os.environ.get(LIMIT) and max(SMALL, EXPANSION * held) < limit:
        limit, why = max(SMALL, EXPANSION * held), f"are expected of a file of {in_bytes(held)}"
    if needed > limit:
        unit = next((unit for unit in "MGT" if needed <= 1000 * UNITS[unit]), "T")
        raise InvalidInputError(
            f"{where}: needs {in_bytes(needed)} of memory, but only {in_bytes(limit)} {why}; if it is right, "
            f"set {LIMIT}={-(-needed // UNITS[unit])}{unit}"
        )


def in_bytes(size: int) -> str:
    """A number of bytes for people.

    >>> in_bytes(1536), in_bytes(6_400_000_000)
    ('1.54 kB', '6.4 GB')
    """
    for power, unit in enumerate(("B", "kB", "MB", "GB", "TB", "PB")):
        if size < 1000 ** (power + 1):
            return f"{size / 1000**power:.3g} {unit}"
    return f"{size / 1e18:.3g} EB"


# ---------------------------------------------------------------------- files and names


def regular_file(path: str | os.PathLike[str]) -> Path:
    """The path of a file that can be read to its end: no folder, pipe or device.

    >>> regular_file("/dev/null")
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: /dev/null: is no regular file
    """
    found = Path(path)
    check_name(str(path), "the name of a file")
    try:
        mode = found.stat().st_mode
    except FileNotFoundError:
        raise InvalidInputError(f"{found}: no such file") from None
    if not stat.S_ISREG(mode):
        raise InvalidInputError(f"{found}: is {'a folder, not a file' if stat.S_ISDIR(mode) else 'no regular file'}")
    return found


def own_file(folder: str | os.PathLike[str], name: str) -> Path | None:
    """A regular file in a folder, or None; refused if a link leads to a file outside of the folder.

    >>> own_file(".", "no such file")
    """
    found = Path(folder) / name
    if not found.is_file():
        return None
    if Path(folder).resolve() not in found.resolve().parents:
        raise InvalidInputError(f"{found}: is a link to a file outside of {folder}, which is not read")
    return found


def check_name(name: str, where: object) -> str:
    """The name, if a terminal, a picture, a page and a file system take it: UTF-8, no control characters.

    >>> check_name("u\\0", "channel 0")
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: channel 0: 'u\\x00' has a character that no name may have
    """
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise InvalidInputError(f"{where}: {name!r} has a character that no name may have")
    return name


# ---------------------------------------------------------------------- documents


def read_text(path: str | os.PathLike[str], most: int = MOST_TEXT) -> str:
    """A text file of moderate size, in UTF-8."""
    file = regular_file(path)
    size = file.stat().st_size
    if size > most:
        raise InvalidInputError(f"{file}: {in_bytes(size)} of text, but at most {in_bytes(most)} are read")
    content = file.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidInputError(
            f"{file}: byte {error.start} (line {line}) is 0x{content[error.start]:02x}, which is not UTF-8; save the "
            "file as UTF-8"
        ) from None


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """Plain data from a YAML file, of moderate size also when its aliases are written out."""
    import yaml

    text = read_text(path, MOST_YAML)
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        _expanded(node, path, {})
        found = None if node is None else loader.construct_document(node)
    except RecursionError:
        raise InvalidInputError(f"{path}: nested too deeply; at most {DEEPEST} levels are read") from None
    except InvalidInputError:
        raise
    except (yaml.YAMLError, *NO_YAML) as error:
        mark = getattr(error, "problem_mark", None)
        said = f"line {mark.line + 1}: {error.problem}" if mark else str(error)  # type: ignore[union-attr]
        raise InvalidInputError(f"{path}: cannot be read as YAML: {said}") from None
    return found


def _expanded(node: Any, path: object, sizes: dict[int, int], depth: int = 0) -> int:
    """Number of nodes under a node of YAML, aliases written out."""
    if node is None:
        return 0
    if depth > DEEPEST or sizes.get(id(node)) == 0:  # 0: it is within itself
        raise InvalidInputError(f"{path}: nested too deeply; at most {DEEPEST} levels are read")
    if isinstance(node.value, str):
        check_name(re.sub(r"[\t\r\n]", " ", node.value), f"{path}: line {node.start_mark.line + 1}")
        return 1
    if id(node) not in sizes:
        sizes[id(node)] = 0
        parts: Iterable[Any] = (
            part for entry in node.value for part in (entry if isinstance(entry, tuple) else [entry])
        )
        sizes[id(node)] = 1 + sum(_expanded(part, path, sizes, depth + 1) for part in parts)
    if sizes[id(node)] > MOST_NODES:
        raise InvalidInputError(f"{path}: its aliases stand for more than {MOST_NODES} entries")
    return sizes[id(node)]


def read_json(path: str | os.PathLike[str]) -> Any:
    """A JSON file of ours, or `CorruptFileError`."""
    try:
        return json.loads(read_text(path))
    except InvalidInputError as error:
        raise CorruptFileError(str(error)) from None
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{path} is damaged: {error}") from None


def document(kind: Any, found: Any, where: object, *, more: bool = True) -> Any:
    """A document of ours as the dataclass `kind` describes it; with `more`, keys that it does not know are passed over.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Best:
    ...     epoch: int
    >>> document(Best, {"epoch": 3, "note": ""}, "metrics.json")
    Best(epoch=3)
    >>> document(Best, {"epoch": "three"}, "metrics.json")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    iaenet.errors.CorruptFileError: metrics.json is damaged, or of another version of iaenet: epoch must be a whole ...
    """
    try:
        return typed(kind, found, "", more=more)
    except (InvalidInputError, RecursionError) as error:
        said = str(error).removeprefix(": ")[:200]
        raise CorruptFileError(f"{where} is damaged, or of another version of iaenet: {said}") from None

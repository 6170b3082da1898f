"""MATLAB files of version 5."""

import re
from pathlib import Path

import scipy.io

from iaenet.data.writing.output import Output
from iaenet.data.writing.stacked import stacked
from iaenet.errors import InvalidInputError


def write_matlab(path: Path, output: Output) -> None:
    """Coordinates and channels as arrays, `size(u)` being `(samples, s1, ..., sd)`, under names that MATLAB allows."""
    arrays = stacked(output)
    found = {variable(name): each.values for name, each in arrays.items()}
    if len(found) < len(arrays):
        raise InvalidInputError(f"different names become the same in MATLAB: {', '.join(arrays)}; write another format")
    with path.open("wb") as stream:
        scipy.io.savemat(stream, found, do_compression=True)


def variable(name: str) -> str:
    """A name as MATLAB allows it: letters, digits and underscores, a letter first.

    >>> variable("velocity[0]"), variable("2nd")
    ('velocity_0', 'v2nd')
    """
    plain = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_")[:31]
    return plain if plain[:1].isalpha() else f"v{plain}"

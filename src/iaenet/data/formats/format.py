"""What a format of files can do."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from iaenet.data.reading.imported import Imported
from iaenet.data.reading.joined import is_joint, read_joined
from iaenet.data.writing.output import Output, Sample
from iaenet.errors import InvalidInputError


@dataclass(frozen=True)
class Format:
    """How files of a format are read, and how predictions are written to them.

    The keywords of `read` are its options, out of `iaenet.data.reading.reader_options`; it needs those without default.
    A format that is written has a `write`, a `write_sample`, or both; `write_sample` also fills folders, with files of
    the first of the suffixes.
    """

    name: str  # as in `iaenet import NAME`
    read: Callable[..., Imported]  # (path, **options)
    suffixes: tuple[str, ...] = ()  # that tell the format, in lower case
    folders: bool = False  # whether a folder of such files can be read
    store: bool = False  # whether a file of this format is itself a folder
    write: Callable[[Path, Output], None] | None = None  # all samples to one file
    write_sample: Callable[[Path, Sample, Output], None] | None = None  # a file for each
    # Named numbers of all samples (samples, k): (path, names, names of the samples' files if any, options).
    numbers: Callable[[Path, list[str], list[str] | None, Mapping[str, Any]], NDArray[np.float64]] | None = None

    @property
    def options(self) -> dict[str, bool]:
        """The options of the reader, and whether it needs them."""
        own: dict[str, bool] = {}
        for name, each in inspect.signature(self.read).parameters.items():
            if each.kind is each.VAR_KEYWORD:  # Unpack of the options that several readers share
                (shared,) = get_args(each.annotation)
                own |= dict.fromkeys(get_type_hints(shared), False)
            elif name != "path":
                own[name] = each.default is each.empty
        return own | ({} if self.numbers is None else {"scalars": False})

    def load(self, path: str | Path, options: Mapping[str, Any], outputs: bool = True) -> Imported:
        """Pairs of functions or, where options ask for several functions or for numbers, of samples (`joined.py`)."""
        return read_joined(self, path, options, outputs) if is_joint(options) else self.read(path, **options)

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse an option that this format does not have, and one that it needs and did not get."""
        known = self.options
        if is_joint(options):  # each function is checked by itself, when it is read
            known = {name: needed and name not in ("inputs", "coordinates") for name, needed in known.items()}
            known |= {"output_coordinates": False}
        for name in options:
            if name not in known:
                raise InvalidInputError(
                    f"--{name} is no option of the format {self.name}, which has: {', '.join(known)}"
                )
        lacking = [f"--{name}" for name, needed in known.items() if needed and name not in options]
        if lacking:
            raise InvalidInputError(f"the format {self.name} needs {', '.join(lacking)}")

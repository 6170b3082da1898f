"""NumPy archives, `.npz`: arrays with all samples along one axis."""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Unpack

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from iaenet.data.formats.format import Format
from iaenet.data.reading.array_layout import check_numbers
from iaenet.data.reading.channel_names import Names
from iaenet.data.reading.files import existing_file, missing, reading
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.number_tables import numbers_of_stacks
from iaenet.data.reading.stacks import StackOptions, read_stacks
from iaenet.data.writing.output import Output
from iaenet.data.writing.stacked import stacked
from iaenet.errors import InvalidInputError
from iaenet.outside import check_size


def read_npz(
    path: str | Path,
    *,
    inputs: Names,
    outputs: Names,
    **options: Unpack[StackOptions],
) -> Imported:
    """Pairs from arrays `(samples, s1, ..., sd)` or `(samples, s1, ..., sd, c)` of an archive.

    inputs, outputs: names of arrays; `u[0]`, `u[0:3]` take some of the channels.
    coordinates: names of one array `(n, d)`, of d axes, or of d arrays shaped as the points (see `layout`), each also
        with a sample axis; in the order of the axes of the values. Default none: a uniform grid.
    output_coordinates: of the outputs, if they lie elsewhere. Default: those of the inputs.
    dim: how many axes are space, if there are no coordinates. Default: all but that of the samples.
    channels: "last" (default) or "first", for arrays `(samples, c, s1, ..., sd)`.
    sample_axis: which axis counts the samples. Default 0; -1 for the last.
    bounds: pairs (low, high) of the domain. Default: tight around all samples, the unit box without coordinates.
    periodic: one flag, or one for each axis. Default False.
    grid: where the points of a grid without coordinates lie, in parts of a side: "closed", i / (n - 1), but i / n on a
        periodic axis; "left", i / n; "centres", (i + 1/2) / n. Default: closed, with a note that says so.
    rule: weights of point sets, "cells" (default) or "monte-carlo".
    missing: "refuse" (default) a sample with values that are NaN, or "drop" the points that lack a value.
    skip_bad: leave out samples that cannot be used, and list them in `skipped`; all are then read at once to find out.
        Default False: the first of them is an error.
    units: of arrays or channels by name. Default "1".
    time: an axis of time, by its number or by the name of an array of times: samples are then the steps from each state
        to the next, and records the trajectories along the axis of samples, if that is another. Default none.
    segment: cuts trajectories into records of so many steps. Default: none; a tenth of a single trajectory.

    Arrays are read whole, when first needed.

    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     np.savez(Path(folder, "run.npz"), x=np.zeros((10, 64)), y=np.ones((10, 64)))
    ...     imported = read_npz(Path(folder, "run.npz"), inputs="x", outputs="y", periodic=True)
    ...     len(imported.pairs), imported.pairs[3][0].values.shape
    (10, torch.Size([64, 1]))
    """
    file = existing_file(path)
    return read_stacks(
        file,
        Archive(file),
        inputs=inputs,
        outputs=outputs,
        provenance={"reader": "npz", "source": str(file), "bytes": file.stat().st_size},
        **options,
    )


class Archive(Mapping[str, NDArray[Any]]):
    """The arrays of an archive by name; each is looked at before it is read, and nothing in it is executed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._loaded: dict[str, NDArray[Any]] = {}
        with reading(file, "an archive of NumPy arrays"), zipfile.ZipFile(file) as archive:
            self._members = {
                info.filename.removesuffix(".npy"): info
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._members:
            raise missing(self._file, "array", name, list(self._members))
        if name not in self._loaded:
            with reading(f"{self._file}: array {name!r}", "a NumPy array"), zipfile.ZipFile(self._file) as archive:
                with archive.open(self._members[name]) as stream:
                    self._inspect(name, stream)
                with archive.open(self._members[name]) as stream:
                    self._loaded[name] = npy.read_array(stream, allow_pickle=False)
                    if stream.read(1):  # reading on to the end is also what checks the checksum of the archive
                        raise InvalidInputError(f"{self._file}: array {name!r}: more bytes than its shape needs")
        return self._loaded[name]

    def _inspect(self, name: str, stream: IO[bytes]) -> None:
        """Refuse an array by its header alone: objects, other types than numbers, and sizes that cannot be."""
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(stream)
        check_numbers(f"{self._file}: array {name!r}", dtype)
        size = dtype.itemsize
        for length in shape:
            size *= int(length)
        if size + stream.tell() != self._members[name].file_size:
            raise InvalidInputError(
                f"{self._file}: array {name!r}: shape {shape} needs {size} bytes, but the archive holds "
                f"{self._members[name].file_size - stream.tell()}"
            )
        check_size(f"{self._file}: array {name!r}", size, self._file.stat().st_size)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


def write_npz(path: Path, output: Output) -> None:
    """Coordinates and channels as arrays under their names, see `iaenet.data.writing.stacked.arrays`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, each in stacked(output).items():
            # Not numpy.savez, which cannot name an array `file`, and puts the time into the archive.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as stream:
                npy.write_array(stream, np.ascontiguousarray(each.values), allow_pickle=False)


def _numbers(path: Path, names: list[str], _stems: object, _options: object) -> NDArray[np.float64]:
    return numbers_of_stacks(path, Archive(existing_file(path)), names)


FORMAT = Format("npz", read_npz, (".npz",), write=write_npz, numbers=_numbers)

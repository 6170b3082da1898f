"""PyTorch files, `.pt`: tensors, never pickled objects.

| what was saved | names |
|---|---|
| a dict of tensors, also within each other | their keys, `train/x` for `{"train": {"x": ...}}` |
| a list or tuple of tensors, all samples in each | `0`, `1`, ... |
| one tensor | `tensor` |
| a list of dicts of tensors | the keys; each dict is a sample, with points of its own |
"""

import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from numpy.typing import NDArray

from iaenet.data.formats.format import Format
from iaenet.data.reading.bad_records import BadRecords
from iaenet.data.reading.channel_names import Names
from iaenet.data.reading.files import existing_file, reading
from iaenet.data.reading.files import missing as lacking
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.number_tables import Numbers, numbers_of_stacks
from iaenet.data.reading.sample_files import SampledArray
from iaenet.data.reading.stacks import ArrayOptions, read_separate, read_stacks
from iaenet.data.streams import new_disk
from iaenet.data.writing.output import Output
from iaenet.data.writing.stacked import stacked
from iaenet.errors import InvalidInputError
from iaenet.outside import MOST_NODES, check_size

Arrays = dict[str, NDArray[Any]]


def read_torch(
    path: str | Path,
    *,
    inputs: Names = "x",
    outputs: Names = "y",
    output_coordinates: Names | None = None,
    **options: Unpack[ArrayOptions],
) -> Imported:
    """Pairs from tensors `(samples, s1, ..., sd)` or `(samples, s1, ..., sd, c)`, or from a list with a dict for each.

    inputs, outputs: names of tensors, see above. Default `x` and `y`.

    The other options are those of `read_npz`; an axis of samples is that of stacked tensors. The file is read with
    `weights_only`: anything but tensors, numbers, words and containers of them is refused, and no code in it runs.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     torch.save({"x": torch.zeros(10, 16, 16), "y": torch.ones(10, 16, 16)}, f"{folder}/darcy.pt")
    ...     pair = read_torch(f"{folder}/darcy.pt", grid="left").pairs[0]
    ...     pair[0].discretization.axes[0][-1].item()
    0.9375
    """
    file = existing_file(path)
    found = _arrays(file)
    about = {"reader": "pt", "source": str(file), "bytes": file.stat().st_size}
    if isinstance(found, dict):
        return read_stacks(
            file,
            found,
            inputs=inputs,
            outputs=outputs,
            output_coordinates=output_coordinates,
            provenance=about,
            **options,
        )
    return read_separate(
        file,
        _Samples(file, found),
        inputs=inputs,
        outputs=outputs,
        output_coordinates=output_coordinates,
        provenance=about,
        **options,
    )


class _Samples:
    """A dict of tensors for each sample."""

    def __init__(self, file: Path, found: list[Arrays]) -> None:
        self._file, self._found = file, list(enumerate(found))
        self.datasets = list(found[0])

    def __len__(self) -> int:
        return len(self._found)

    def choose(self, bad: BadRecords, wanted: Iterable[str]) -> None:
        """Leave out, or refuse, samples that lack one of the tensors wanted."""
        usable = []
        for i, each in self._found:
            with bad.passed_over():
                for name in wanted:
                    if name not in each:
                        raise lacking(f"{self._file}: sample {i}", "tensor", name, list(each))
                usable.append((i, each))
        bad.check(usable, "samples")
        self._found = usable

    def where(self, sample: int) -> str:
        """The name of a sample in messages."""
        return f"{self._file}: sample {self._found[sample][0]}"

    def array(self, name: str) -> SampledArray:
        """The tensor of that name in every sample."""
        found = [each[name] for _, each in self._found]
        return SampledArray(name, lambda i: found[i].shape, found[0].dtype, lambda i, slices: found[i][slices])


def _arrays(file: Path) -> Arrays | list[Arrays]:
    """The tensors of a file by name, or those of each sample."""
    with reading(file, "a file of PyTorch"):
        if not zipfile.is_zipfile(file):
            raise InvalidInputError(
                f"{file}: is no file of torch.save (or one of a version before 1.6; save it again with a newer one)"
            )
        with zipfile.ZipFile(file) as archive:
            if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
                raise InvalidInputError(f"{file}: has compressed parts, which torch.save does not write")
            if sum(info.file_size for info in archive.infolist()) > file.stat().st_size:
                raise InvalidInputError(f"{file}: its parts claim more bytes than it has; is the file whole?")
            damaged = archive.testzip()  # torch.load does not compare checksums
            if damaged is not None:
                raise InvalidInputError(f"{file}: {damaged} does not match its checksum; is the file whole?")
        try:
            content = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
        except Exception as error:
            if "weights_only" not in str(error) and "Weights only" not in str(error):
                raise
            raise InvalidInputError(
                f"{file}: holds Python objects, whose loading would run code; only tensors are read: save them as "
                'torch.save({"x": x, "y": y}, ...)'
            ) from None
        held = file.stat().st_size
        if isinstance(content, Sequence) and not isinstance(content, str) and content:
            if all(isinstance(each, Mapping) for each in content):
                return [_named(f"{file}: sample {i}", each, held) for i, each in enumerate(content)]
            content = {str(i): each for i, each in enumerate(content)}
        return _named(file, {"tensor": content} if isinstance(content, torch.Tensor) else content, held)


def _named(where: object, content: Any, held: int) -> Arrays:
    """The tensors among these entries, by name, of a file of `held` bytes; numbers, words and others are left out."""
    found: Arrays = {}
    for name, value in _leaves(where, content):
        if isinstance(value, torch.Tensor):
            if value.layout != torch.strided or value.is_quantized:
                raise InvalidInputError(f"{where}: tensor {name!r} is sparse or quantized; save it as to_dense()")
            check_size(f"{where}: tensor {name!r}", value.numel() * value.element_size(), held)
            plain = value.detach()
            # NumPy has no bfloat16, and readers take float16 as float32.
            found[name] = (plain.float() if plain.dtype in (torch.bfloat16, torch.float16) else plain).numpy()
    if not found:
        raise InvalidInputError(f"{where}: holds no tensor")
    return found


def _leaves(where: object, content: Any) -> Iterator[tuple[str, Any]]:
    """What is in mappings within each other, by name; they may stand for far more entries than the file has."""
    waiting: list[tuple[str, Any]] = [("", content)] if isinstance(content, Mapping) else []
    count = 0
    while waiting:
        name, each = waiting.pop()
        count += 1
        if count > MOST_NODES:
            raise InvalidInputError(f"{where}: its mappings stand for more than {MOST_NODES} entries")
        if isinstance(each, Mapping):
            within = f"{name}/" if name else ""
            waiting += [(f"{within}{key}", value) for key, value in reversed(list(each.items()))]
        else:
            yield name, each


def write_torch(path: Path, output: Output) -> None:
    """A dict of tensors: coordinates and channels under their names, see `iaenet.data.writing.stacked.arrays`."""
    tensors = {name: torch.from_numpy(np.ascontiguousarray(each.values)) for name, each in stacked(output).items()}
    with new_disk(path) as disk:
        torch.save(tensors, disk)


def _numbers(path: Path, names: list[str], _stems: object, _options: object) -> Numbers:
    file = existing_file(path)
    found = _arrays(file)
    stacks = found if isinstance(found, dict) else {n: np.array([each[n] for each in found]) for n in found[0]}
    return numbers_of_stacks(file, stacks, names)


FORMAT = Format("pt", read_torch, (".pt", ".pth"), write=write_torch, numbers=_numbers)

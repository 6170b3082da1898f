"""Reading data files: a sequence of pairs of functions, each read and checked when it is asked for."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
import torch
from numpy.typing import NDArray

from iaenet.data.file_format import SPLITS
from iaenet.data.file_reader import DataFile
from iaenet.data.problems.problem import Channel
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field, group_equal
from iaenet.functions.sample import Sample

Pair = tuple[Any, Field]  # input, a `Field` or a `Sample`, and output


class Entry(NamedTuple):
    """What is known of one pair beside its values."""

    sample: int  # counts the samples of the whole file
    record: int  # samples of one record are never in different splits
    resolution: int
    split: str


def load_dataset(path: str | os.PathLike[str], split: str | None = None, resolution: int | None = None) -> "Dataset":
    """The pairs `(input, output field)` of a file; only those of one split, or of one resolution, if given.

    >>> import tempfile
    >>> from iaenet.data.file_writer import write_dataset
    >>> grid = Discretization.uniform(4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pairs = [(Field(grid, torch.full((4, 1), i)), Field(grid, torch.zeros(4, 1))) for i in (1.0, 2.0, 3.0)]
    ...     channels = {"inputs": [Channel("a")], "outputs": [Channel("u")]}
    ...     write_dataset(f"{folder}/a.h5", pairs, splits=["train", "train", "test"], **channels)
    ...     data = load_dataset(f"{folder}/a.h5", split="test")
    ...     len(data), data[0][0].values[0].item(), data.splits
    (1, 3.0, {'test': 1})
    """
    file = DataFile(path)
    return Dataset(file, np.arange(len(file.pairs))).select(split, resolution)


class Dataset(Sequence[Pair]):
    """Pairs of functions in a file, in its order: sample by sample, and within a sample resolution by resolution.

    An input is a `Field`, or a `Sample` where the file has several functions, or numbers, for each input. Pairs are
    read when they are asked for, and compared with their hash. Pairs on the same points get the same
    `Discretization` object. A slice is a data set again. It can be sent to other processes, which open the file
    themselves.
    """

    def __init__(self, file: DataFile, index: NDArray[np.int64]) -> None:
        self._file = file
        self._index = index  # rows of the table of pairs

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset, (self._file, self._index)

    # ------------------------------------------------------------------ what there is

    @property
    def path(self) -> str:
        """The file, as an absolute path."""
        return self._file.path

    @property
    def inputs(self) -> tuple[Channel, ...]:
        """Names and units of the channels of the inputs."""
        return self._file.inputs

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions of an input, "scalars" last if there are numbers; none where it is a single field."""
        return () if self._file.functions == ("",) else self._file.functions

    @property
    def outputs(self) -> tuple[Channel, ...]:
        """Names and units of the channels of the outputs."""
        return self._file.outputs

    @property
    def parameters(self) -> dict[str, Any]:
        """Physical parameters, the same for all samples."""
        return dict(self._file.metadata["parameters"])

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the data come from: version, command, seed."""
        return dict(self._file.provenance)

    @property
    def content_hash(self) -> str:
        """SHA-256 of all that the file holds but its provenance; also of what is not selected here."""
        return self._file.content_hash

    @property
    def precision(self) -> torch.dtype:
        """float32 or float64, the type of the values."""
        return torch.float32 if self._file.metadata["precision"] == "float32" else torch.float64

    @property
    def resolutions(self) -> tuple[int, ...]:
        """The resolutions that occur, smallest first."""
        return tuple(np.unique(self._rows["resolution"]).tolist())

    @property
    def splits(self) -> dict[str, int]:
        """Number of samples in each split that occurs."""
        rows = self._rows
        counts = {name: len(np.unique(rows["sample"][rows["split"] == i])) for i, name in enumerate(SPLITS)}
        return {name: count for name, count in counts.items() if count}

    @property
    def samples(self) -> int:
        """Number of samples; each is one pair for every resolution of the file."""
        return len(self._samples)

    @property
    def discretizations(self) -> tuple[Discretization, ...]:
        """All discretizations that occur, each once."""
        used = np.unique(self._file.at[self._index])
        return tuple(self._file.discretization(row) for row in used.tolist())

    @property
    def nbytes(self) -> int:
        """Bytes of all values, and of the discretizations that occur, each once."""
        return self._file.nbytes(self._index)

    @property
    def groups(self) -> list[NDArray[np.int64]]:
        """Indices of pairs that share their discretizations, for `batch`."""
        return [np.array(group) for group in group_equal(map(tuple, self._file.at[self._index].tolist()))]

    @property
    def trajectories(self) -> list[list[int]]:
        """Indices of pairs that follow one another in time, for each record and resolution; none if time is no matter.

        A file whose parameters have a `time_step` holds trajectories: the input of a sample is the output of the one
        before it in its record.
        """
        if "time_step" not in self.parameters:
            return []
        rows = self._rows
        order = np.lexsort((rows["sample"], rows["resolution"], rows["record"])).tolist()
        found: list[list[int]] = []
        for i in order:
            row, last = rows[i], rows[found[-1][-1]] if found else None
            follows = last is not None and (row["record"], row["resolution"], row["sample"]) == (
                last["record"],
                last["resolution"],
                last["sample"] + 1,
            )
            if follows:
                found[-1].append(i)
            else:
                found.append([i])
        return found

    def entry(self, i: int) -> Entry:
        """Sample, record, resolution and split of pair i."""
        row = self._file.pairs[self._row(i)]
        return Entry(int(row["sample"]), int(row["record"]), int(row["resolution"]), SPLITS[row["split"]])

    def most_points(self, i: int) -> int:
        """Points of pair i's input, of the function that has most of them."""
        return int(self._file.sizes[self._file.at[self._row(i), :-1]].max())

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        name = os.path.basename(self.path)
        return f"Dataset({name!r}, {self.samples} samples, resolutions {self.resolutions}, {self.splits})"

    # ------------------------------------------------------------------ choosing

    def select(self, split: str | None = None, resolution: int | None = None) -> "Dataset":
        """The pairs of one split, or of one resolution, or both; an error if there are none."""
        if split is not None and split not in SPLITS:
            raise InvalidInputError(f"split must be one of {SPLITS}, got {split!r}")
        keep = np.ones(len(self), dtype=bool)
        if split is not None:
            keep &= self._rows["split"] == SPLITS.index(split)
        if resolution is not None:
            keep &= self._rows["resolution"] == resolution
        if not keep.any():
            wanted = " and ".join(
                f"{n} {v}" for n, v in (("split", split), ("resolution", resolution)) if v is not None
            )
            raise InvalidInputError(
                f"{self.path} holds no pair of {wanted}: its splits are {self.splits}, "
                f"its resolutions {self.resolutions}"
            )
        return Dataset(self._file, self._index[keep])

    def subset(self, indices: Sequence[int] | NDArray[np.int64]) -> "Dataset":
        """The pairs of these indices, in this order."""
        return Dataset(self._file, self._index[[self._checked(i) for i in indices]])

    # ------------------------------------------------------------------ reading

    @overload
    def __getitem__(self, i: int) -> Pair: ...
    @overload
    def __getitem__(self, i: slice) -> "Dataset": ...
    def __getitem__(self, i: int | slice) -> "Pair | Dataset":
        if isinstance(i, slice):
            return Dataset(self._file, self._index[i])
        row = self._row(i)
        return self._pair(i, self._file.points_of(row), [values[0] for values in self._file.batch([row])])

    def __iter__(self) -> Iterator[Pair]:
        return (self[i] for i in range(len(self)))

    def sample(self, i: int) -> dict[int, Pair]:
        """The i-th sample: its pairs by resolution."""
        return {self.entry(index).resolution: self[index] for index in self.indices(i)}

    def indices(self, i: int) -> list[int]:
        """Where the pairs of the i-th sample are in this sequence."""
        if not -self.samples <= i < self.samples:
            raise IndexError(f"sample {i} of {self.samples}")
        found: list[int] = np.flatnonzero(self._rows["sample"] == self._samples[i]).tolist()
        return found

    def batch(self, indices: Sequence[int] | NDArray[np.int64]) -> Pair:
        """Pairs that share their discretizations as one pair of fields with values `(b, n, c)`."""
        rows = [self._row(i) for i in indices]
        if not rows:
            raise InvalidInputError("a batch needs at least one pair")
        at = self._file.points_of(rows[0])
        for i, row in zip(indices, rows, strict=True):
            if self._file.points_of(row) != at:
                raise InvalidInputError(
                    f"{self.path}: pairs {indices[0]} and {i} are on different points; take those of one of `groups`"
                )
        return self._pair(int(indices[0]), at, self._file.batch(rows))

    def _pair(self, i: int, at: tuple[int, ...], values: list[NDArray[Any]]) -> Pair:
        *given, wanted = (self._field(i, row, torch.from_numpy(part)) for row, part in zip(at, values, strict=True))
        if not self.functions:
            return given[0], wanted
        return Sample.from_parts(self.functions, self._file.scalars, given), wanted

    def _field(self, i: int, at: int, values: torch.Tensor) -> Field:
        try:
            return Field(self._file.discretization(at), values)
        except InvalidInputError as error:  # refused when written, so this is no file of ours
            raise CorruptFileError(f"{self.path}: pair {i}: {error}") from None

    @cached_property
    def _rows(self) -> NDArray[Any]:
        return self._file.pairs[self._index]

    @cached_property
    def _samples(self) -> NDArray[np.int64]:
        return np.unique(self._rows["sample"])

    def _checked(self, i: int) -> int:
        if not -len(self) <= i < len(self):
            raise IndexError(f"pair {i} of {len(self)}")
        return int(i)

    def _row(self, i: int) -> int:
        return int(self._index[self._checked(i)])

"""The data of a training or of a test, generated when they are first needed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from iaenet.data.dataset import Dataset, load_dataset
from iaenet.data.generate import generate
from iaenet.experiments.plan import Data, Training
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.functions.resample import uniform_grid
from iaenet.models.base import Pair
from iaenet.models.inference import ModelLike

Note = Callable[[str], None]
Bring = Callable[[Field], Field]
ALONG, ACROSS = 24, 8  # points of a grid for functions of the first coordinate alone, along it and across
ARRAY = 50  # points along each axis of an array, as the paper's


def made(data: Data, folder: Path, workers: int = 1, note: Note | None = None) -> Dataset:
    """The data file in the folder, generated if it is not there, or not finished."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / data.name
    show = None if note is None else lambda done, total: note(f"generating {data.problem}, {done} of {total} samples")
    generate(
        data.source(),
        path,
        sum(data.samples),
        data.resolutions,
        seed=data.seed,
        splits=data.samples,
        workers=workers,
        progress=show,
    )
    return load_dataset(path)


@dataclass(frozen=True)
class Material:
    """What a network is trained on: a data set, or pairs whose inputs were brought to other points."""

    data: Dataset | Sequence[Pair]
    validation: Sequence[Pair] | None
    samples: int  # for training
    held: int  # for validation
    bring: Bring | None = None
    on_arrays: bool = False  # outputs, too

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `iaenet.training.fit.fit`."""
        return {"data": self.data, "validation": self.validation}

    def some(self, count: int) -> "Material":
        """At most `count` of the training samples, and one tenth as many for validation."""
        few = max(1, count // 10)
        if self.validation is not None:
            pairs, checks = list(self.data[:count]), list(self.validation[:few])
            return replace(self, data=pairs, validation=checks, samples=len(pairs), held=len(checks))
        assert isinstance(self.data, Dataset)
        splits = [self.data.entry(i).split for i in range(len(self.data))]
        train = [i for i, split in enumerate(splits) if split == "train"][:count]
        held = [i for i, split in enumerate(splits) if split == "validation"][:few]
        return Material(self.data.subset(train + held), None, len(train), len(held))

    def as_operator(self, operator: ModelLike) -> ModelLike:
        """The trained network as a map between functions on any points."""
        if self.bring is None:
            return operator
        bring = self.bring

        def brought(field: Any, at: Any = None) -> Any:
            if isinstance(field, list):
                return [brought(one, None if at is None else at[i]) for i, one in enumerate(field)]
            target = field.discretization if at is None else at
            if self.on_arrays:
                return interpolate(operator(bring(field)), target)
            found: Field = operator(bring(field), target)
            return found

        return brought


def material(training: Training, folder: Path, workers: int = 1, note: Note | None = None) -> Material:
    """The training and validation samples of a training."""
    whole = made(training.data, folder, workers, note)
    if training.spread:
        whole = spread(whole)
    train, held = whole.select(split="train"), whole.select(split="validation")
    arrays = training.inputs == "arrays"
    if training.inputs == "given" or (arrays and all(wanted.discretization.axes is not None for _, wanted in train)):
        return Material(whole, None, len(train), len(held))
    points = fixed_sensors(train) if training.inputs == "sensors" else grid_of(train, ARRAY if arrays else None)
    to = interpolate if training.inputs == "sensors" else extended

    def bring(field: Field) -> Field:
        return to(field, points)

    def pair(given: Field, wanted: Field) -> Pair:
        return bring(given), interpolate(wanted, points) if arrays else wanted

    pairs, checks = ([pair(*one) for one in part] for part in (train, held))
    return Material(pairs, checks, len(train), len(held), bring, arrays)


def extended(field: Field, target: Discretization) -> Field:
    """`a(x, y, ..) = h(x)` at the points of `target`, for values h that depend on the first coordinate alone.

    >>> sides = Discretization.points([[0.0, 0.0], [0.5, 0.8], [1.0, 0.0], [0.5, 0.0]])
    >>> h = Field(sides, torch.tensor([[0.0], [1.0], [2.0], [1.0]]))
    >>> extended(h, Discretization.points([[0.5, 0.3], [1.0, 0.2]])).values.flatten().tolist()
    [1.0, 2.0]
    """
    source = field.discretization
    x, column = torch.unique(source.points[:, 0].round(decimals=9), return_inverse=True)
    wanted, back = torch.unique(target.points[:, 0].round(decimals=9), return_inverse=True)
    values = field.values if field.batched else field.values[None]
    total = values.new_zeros(len(values), len(x), field.channels).index_add(1, column, values)
    mean = total / torch.bincount(column).to(values)[:, None]  # the sides meet in some x
    bounds = [source.bounds[0].tolist()]
    line, at = (Discretization.points(points[:, None], bounds=bounds) for points in (x, wanted))
    found = interpolate(Field.unchecked(line, mean), at).values[:, back]
    return Field.unchecked(target, found if field.batched else found[0])


def spread(data: Dataset) -> Dataset:
    """Each sample at one of the resolutions only, which take turns: as many independent samples of each."""
    resolutions = data.resolutions
    entries = [data.entry(i) for i in range(len(data))]
    return data.subset([i for i, e in enumerate(entries) if e.resolution == resolutions[e.sample % len(resolutions)]])


def grid_of(train: Dataset, side: int | None = None) -> Discretization:
    """The grid that values on the boundary are extended to: the same whatever the mesh, so it is integrated alike."""
    first = train[0][0].discretization
    return uniform_grid(first, (ALONG, *[ACROSS] * (first.dim - 1)) if side is None else side)


def fixed_sensors(train: Dataset) -> Discretization:
    """The points of all inputs; if these differ, a uniform grid on their domain with as many points as the finest."""
    if len(train.groups) == 1:
        return train[0][0].discretization
    first = train[0][0].discretization
    return uniform_grid(first, train.resolutions[-1])

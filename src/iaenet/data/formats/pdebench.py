"""The HDF5 layouts of PDEBench (Takamoto et al., 2022): states of a system at some steps -> at later steps.

Stacked files hold `tensor (samples, t, x, ...)`, or one data set for each quantity (`density`, `pressure`, `Vx`, ...),
with `x-coordinate`, `y-coordinate`, `z-coordinate` and `t-coordinate` (which may have one entry too many); Darcy files
hold `nu (samples, x, y)` and `tensor (samples, 1, x, y)`. Other files (diffusion-sorption, 2-D reaction-diffusion,
shallow water) hold a group for each sample, with `data (t, x, ..., v)` and `grid/x`, `grid/y`, `grid/t`.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

import h5py
import numpy as np
from numpy.typing import NDArray

from iaenet.data.formats.format import Format
from iaenet.data.formats.hdf5 import SampleGroups
from iaenet.data.reading.channel_names import Chosen, Names, chosen
from iaenet.data.reading.files import missing, naming, reading
from iaenet.data.reading.hdf5_file import Hdf5Arrays, open_hdf5, plain_attributes
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.sample_files import ArraySide, FieldOptions, SampledArray, Slices, assemble
from iaenet.data.reading.stacks import shared, stacked
from iaenet.errors import InvalidInputError

AXES = ("x", "y", "z")


def read_pdebench(
    path: str | Path,
    *,
    inputs: Names | None = None,
    outputs: Names | None = None,
    input_steps: int | Sequence[int] = 0,
    output_steps: int | Sequence[int] = -1,
    **options: Unpack[FieldOptions],
) -> Imported:
    """Quantities at the input steps -> quantities at the output steps.

    inputs, outputs: quantities. Default: all of them; `nu` -> `tensor` for Darcy flow.
    input_steps, output_steps: one step, or several, each of which gives a channel `tensor[0]`, `tensor[1]`, ...;
        negative steps count from the end. Default 0 (the initial state) and -1 (the last). `nu` has no steps.
    bounds: Default: PDEBench's points are centres of cells, and the domain is what the cells cover.
    periodic, rule, units: as for `read_npz`.

    Attributes of the file (`Nu`, `beta`, ...) and the times of the steps become parameters. Samples are read when they
    are asked for, and of each only the steps wanted.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with h5py.File(Path(folder, "run.hdf5"), "w") as file:
    ...         file["tensor"], file["x-coordinate"] = np.zeros((2, 21, 4)), [0.125, 0.375, 0.625, 0.875]
    ...     pair = read_pdebench(Path(folder, "run.hdf5"), periodic=True).pairs[0]
    ...     pair[0].discretization.bounds.tolist()
    [[0.0, 1.0]]
    """
    file = open_hdf5(path)
    with reading(path, "HDF5"):
        axes = [axis for axis in AXES if f"{axis}-coordinate" in file]
        layout = _Stacked(file, axes) if axes else _Grouped(file)
        times = layout.times()
        parameters = plain_attributes(file)
    sides = []
    for names, role, default, steps in (
        (inputs, "inputs", layout.inputs, input_steps),
        (outputs, "outputs", layout.outputs, output_steps),
    ):
        arrays, taken = _at_steps(path, layout, chosen(default if names is None else names, role), steps)
        sides.append(ArraySide(path, layout.coordinates, arrays, channels="first"))
        if times is not None and taken:
            parameters[f"{role}_times"] = times.astype(np.float64)[taken].tolist()
    if options.get("bounds") is None:
        with naming(path):
            options["bounds"] = _cells([each.read(0, (slice(None),)) for each in layout.coordinates])
    return assemble(
        layout.where,
        layout.count,
        *sides,
        parameters=parameters,
        provenance={"reader": "pdebench", "source": str(path), "bytes": Path(path).stat().st_size},
        **options,
    )


def _at_steps(
    path: object, layout: "_Stacked | _Grouped", quantities: Sequence[Chosen], steps: int | Sequence[int]
) -> tuple[list[tuple[Chosen, SampledArray]], list[int]]:
    """Every quantity at every step, and the steps counted from the start."""
    arrays: dict[Chosen, SampledArray] = {}
    taken: dict[int, None] = {}
    for step in [steps] if isinstance(steps, int) else steps:
        for quantity in quantities:
            if quantity.index:
                raise InvalidInputError(f"{path}: name the quantity {quantity.name!r} alone; its steps have an option")
            array = layout.array(quantity.name)
            shape = array.shape(0)
            if len(shape) == len(layout.coordinates):  # nu has no steps
                arrays[quantity] = array
                continue
            at = step + shape[0] if step < 0 else step
            if not 0 <= at < shape[0]:
                raise InvalidInputError(f"{path}: no step {step} of {quantity.name!r}: there are {shape[0]}")
            arrays[Chosen(quantity.name, (at,))] = array
            taken[at] = None
    return list(arrays.items()), list(taken)


class _Stacked:
    """All samples in one data set for each quantity."""

    def __init__(self, file: h5py.File, axes: Sequence[str]) -> None:
        self._file = file
        self._arrays = Hdf5Arrays(file)
        with naming(file.filename):
            self.coordinates = [shared(f"{axis}-coordinate", self._arrays[f"{axis}-coordinate"]) for axis in axes]
        quantities = [name for name in file if not name.endswith("-coordinate")]
        if not quantities:
            raise InvalidInputError(f"{file.filename}: there are coordinates, but no quantities")
        darcy = "nu" in quantities and "tensor" in quantities
        self.inputs: Sequence[str] = ["nu"] if darcy else quantities
        self.outputs: Sequence[str] = ["tensor"] if darcy else quantities
        self.count = self._arrays[self.inputs[0]].shape[0]

    def where(self, sample: int) -> str:
        return f"{self._file.filename}: sample {sample}"

    def array(self, name: str) -> SampledArray:
        if name not in self._file or name.endswith("-coordinate"):
            raise missing(self._file.filename, "quantity", name, list(dict.fromkeys([*self.inputs, *self.outputs])))
        stack = self._arrays[name]
        if stack.shape[0] != self.count:
            raise InvalidInputError(
                f"{self._file.filename}: {name!r} has {stack.shape[0]} samples, but {self.inputs[0]!r} has {self.count}"
            )
        return stacked(name, stack)

    def times(self) -> NDArray[np.generic] | None:
        return self._file["t-coordinate"][()] if "t-coordinate" in self._file else None


class _Grouped:
    """A group for each sample."""

    inputs: Sequence[str] = ("data",)
    outputs: Sequence[str] = ("data",)

    def __init__(self, file: h5py.File) -> None:
        self._file = file
        self._groups = SampleGroups(file)
        self.count = len(self._groups.names)
        self.where = self._groups.where
        axes = [axis for axis in AXES if f"grid/{axis}" in self._groups.datasets]
        if not axes or "data" not in self._groups.datasets:
            raise InvalidInputError(
                f"{file.filename}: not a layout of PDEBench: neither x-coordinate, nor groups with data and grid/x; "
                f"try the format hdf5"
            )
        self.coordinates = [self._groups.array(f"grid/{axis}") for axis in axes]

    def array(self, name: str) -> SampledArray:
        """`(t, x, ..., v)` with its channels together: `(t, v, x, ...)`."""
        found = self._groups.array(name)

        def shape(sample: int) -> tuple[int, ...]:
            t, *space, v = found.shape(sample)
            return (t, v, *space)

        def read(sample: int, slices: Slices) -> NDArray[np.generic]:
            t, v, *space = slices
            return np.moveaxis(found.read(sample, (t, *space, v)), -1, 1)

        return SampledArray(name, shape, found.dtype, read)

    def times(self) -> NDArray[np.generic] | None:
        return self._groups.array("grid/t").read(0, (slice(None),)) if "grid/t" in self._groups.datasets else None


def _cells(axes: Sequence[NDArray[np.generic]]) -> list[tuple[float, float]]:
    """The box covered by cells around the given centres, to six digits: centres are float32, and not more exact."""
    box = []
    for axis in axes:
        if len(axis) < 2:
            raise InvalidInputError("an axis has one point only; give bounds")
        low, high = float(axis[0]), float(axis[-1])
        if not low < high:
            raise InvalidInputError(f"an axis runs from {low} to {high}; it must increase")
        half = (high - low) / (len(axis) - 1) / 2
        digits = 6 - math.floor(math.log10(high - low))
        box.append((round(low - half, digits), round(high + half, digits)))
    return box


FORMAT = Format("pdebench", read_pdebench)

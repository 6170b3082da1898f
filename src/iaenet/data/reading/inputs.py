"""Inputs for a trained model, from any file that can be imported; outputs need not be in it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import ArrayLike

from iaenet.data.dataset import Dataset, load_dataset
from iaenet.data.file_format import STREAMS, TABLES, TEXTS
from iaenet.data.formats import READERS
from iaenet.data.formats.meshes import read_mesh
from iaenet.data.import_files import check_options
from iaenet.data.problems.problem import Channel
from iaenet.data.reading.channel_names import name_list
from iaenet.data.reading.files import existing_file, files_in
from iaenet.data.reading.imported import Lazy
from iaenet.data.reading.sample_points import AtLeast
from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field

DATA = "data"  # the format of our own data files
AXES = ("x", "y", "z")
FORMATS = {
    ".csv": "csv",
    ".npz": "npz",
    ".mat": "mat",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".nc": "netcdf",
    ".nc4": "netcdf",
    ".cdf": "netcdf",
    ".netcdf": "netcdf",
    ".vtu": "mesh",
    ".vtk": "mesh",
    ".hea": "wfdb",
}
# What an import remembers of how files are laid out, and where they hold the inputs.
REMEMBERED = {"inputs", "coordinates", "rule", "dim", "channels", "sample_axis", "groups", "input_steps"}
REMEMBERED |= {"sample", "delimiter", "window", "leads"}


@dataclass(frozen=True)
class Given:
    """Functions to predict from, read when asked for, and what is known about them."""

    format: str
    fields: Sequence[Field]
    channels: tuple[Channel, ...]
    names: list[str]  # of the samples, each different
    where: Callable[[int], str]  # where a sample is from, for messages
    coordinates: list[str]  # their names, if they have any
    options: Mapping[str, Any]  # of the reader
    splits: list[str] | None = None
    mesh: Callable[[int], Any] | None = None  # the mesh of a sample, as meshio has it


def read_inputs(
    path: str | Path,
    metadata: Mapping[str, Any],
    *,
    format: str | None = None,
    reach: ArrayLike | None = None,
    **options: Any,
) -> Given:
    """The inputs in a file or folder, as the model that `about` describes takes them (see `iaenet.operator.Operator`).

    Channels have the names that it was trained with, and lie in the domain that it was trained on, widened on closed
    axes to hold points outside it, and those within `reach (d, 2)`. Data of the format that the training data were
    imported from are read in the same way. `options`, those of `iaenet import`, replace all that.

    format: one of `iaenet.data.formats.READERS`, or "data" for our own files. Default: by the name, or what is in a
        folder.
    """
    kind = format_of(path) if format is None else format
    given = {name: value for name, value in options.items() if value is not None}
    if kind == DATA:
        return _from_data_file(path, given)
    if kind not in READERS:
        raise InvalidInputError(f"no format {kind!r}; there are: {DATA}, {', '.join(READERS)}")
    reader = READERS[kind]
    chosen = {**_defaults(kind, metadata, reach), **given}
    known = inspect.signature(reader).parameters
    if "coordinates" not in chosen and "dim" in known and metadata.get("trained"):
        chosen.setdefault("dim", metadata["trained"]["dim"])
    if "inputs" in known and known["inputs"].default is inspect.Parameter.empty and "inputs" not in chosen:
        raise InvalidInputError(f"{path}: name the inputs by --inputs: the model was trained without names for them")
    # A reader wants outputs too. The inputs stand in for them, and are not read twice, for only `given` is looked at.
    for role in ("{}s", "{}_steps"):
        if role.format("output") in known and role.format("input") in chosen:
            chosen[role.format("output")] = chosen[role.format("input")]
    check_options(kind, reader, chosen)
    imported = reader(path, **chosen)
    count = len(imported.given)
    stems = [Path(imported.where(i)).stem if Path(imported.where(i)).is_file() else "" for i in range(count)]
    files = files_in(path, (".vtu", ".vtk")) if kind == "mesh" else []
    return Given(
        format=kind,
        fields=imported.given,
        channels=imported.inputs,
        names=stems if all(stems) and len(set(stems)) == count else _numbered(count),
        where=imported.where,
        coordinates=name_list(chosen.get("coordinates")),
        options=chosen,
        mesh=(lambda i: read_mesh(files[i])) if files else None,
    )


def format_of(path: str | Path) -> str:
    """The format of a file by its name, or of the files in a folder.

    >>> format_of("nowhere.csv")
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: nowhere.csv: no such file or folder
    """
    place = Path(path)
    if not place.exists():
        raise InvalidInputError(f"{place}: no such file or folder")
    if place.is_dir():
        within = {FORMATS[file.suffix.lower()] for file in place.iterdir() if file.suffix.lower() in FORMATS}
        found = sorted(within & {"csv", "netcdf", "mesh", "wfdb"})  # of the others, a file holds all samples
        if not found:
            raise InvalidInputError(f"{place}: no file of samples (.csv, .nc, .vtu, .vtk, .hea) in this folder")
        if len(found) > 1:
            raise InvalidInputError(f"{place}: files of the formats {' and '.join(found)}; say which by --format")
        return found[0]
    if place.suffix.lower() not in FORMATS:
        raise InvalidInputError(f"{place}: which format? Known by name are {', '.join(FORMATS)}; others by --format")
    kind = FORMATS[place.suffix.lower()]
    return DATA if kind == "hdf5" and _is_ours(place) else kind


def _is_ours(file: Path) -> bool:
    try:
        with h5py.File(file, "r") as opened:
            return set(opened) == {*TEXTS, *TABLES, *STREAMS}
    except OSError:  # the reader will say what is wrong with it
        return False


def remembered(metadata: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """How the training data were read, if they were imported from this format.

    >>> remembered({"provenance": {"reader": "csv", "options": {"coordinates": "t", "outputs": "u"}}}, "csv")
    {'coordinates': 't'}
    """
    origin = metadata.get("provenance") or {}
    options = origin.get("options") or {} if origin.get("reader") == kind else {}
    return {name: value for name, value in options.items() if name in REMEMBERED}


def _defaults(kind: str, metadata: Mapping[str, Any], reach: ArrayLike | None) -> dict[str, Any]:
    known = inspect.signature(READERS[kind]).parameters
    trained = metadata.get("trained")
    names = [channel["name"] for channel in metadata.get("inputs") or ()]
    found: dict[str, Any] = {}
    if names:
        found["inputs"] = names
        if kind == "pdebench":  # calls a channel by quantity and step, and wants them apart
            found["inputs"] = list(dict.fromkeys(name.split("[")[0] for name in names))
            steps = dict.fromkeys(int(name.split("[")[1].rstrip("]")) for name in names if name.endswith("]"))
            found |= {"input_steps": list(steps)} if steps else {}
    if trained:
        box = np.asarray(trained["bounds"], dtype=np.float64)
        if reach is not None:
            ends = np.asarray(reach)
            low, high = np.minimum(box[:, 0], ends[:, 0]), np.maximum(box[:, 1], ends[:, 1])
            box = np.where(np.array(trained["periodic"])[:, None], box, np.stack([low, high], axis=1))
        found |= {"bounds": AtLeast(box), "periodic": trained["periodic"]}
        if kind in ("csv", "netcdf"):
            found["coordinates"] = list(AXES[: trained["dim"]])
    return {name: value for name, value in {**found, **remembered(metadata, kind)}.items() if name in known}


def _from_data_file(path: str | Path, options: Mapping[str, Any]) -> Given:
    choice = {name: value for name, value in options.items() if name in ("split", "resolution")}
    if len(choice) < len(options):
        other = next(name for name in options if name not in choice)
        raise InvalidInputError(f"--{other} is no option for a data file of iaenet, which has: split, resolution")
    data: Dataset = load_dataset(existing_file(path), **choice)
    return Given(
        format=DATA,
        fields=Lazy(len(data), lambda i: data[i][0]),
        channels=data.inputs,
        names=_numbered(len(data)),
        where=lambda i: f"{path}: pair {i}",
        coordinates=[],
        options=choice,
        splits=[data.entry(i).split for i in range(len(data))],
    )


def _numbered(count: int) -> list[str]:
    width = max(4, len(str(count - 1)))
    return [f"sample{i:0{width}}" for i in range(count)]

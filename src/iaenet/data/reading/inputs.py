"""Inputs for a trained model, from any file that can be imported; outputs need not be in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import ArrayLike

from iaenet.data.file_format import STREAMS, TABLES, TEXTS
from iaenet.data.formats import DATA, FORMATS, format_names, format_of_store
from iaenet.data.formats.format import Format
from iaenet.data.problems.problem import Channel
from iaenet.data.reading.channel_names import name_list
from iaenet.data.reading.files import existing
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.joined import is_joint
from iaenet.data.reading.reader_options import OPTIONS, parse_options
from iaenet.data.reading.sample_points import AtLeast
from iaenet.data.reading.shared_domain import Spaces
from iaenet.errors import InvalidInputError, no_such
from iaenet.functions.sample import SCALARS

AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Given:
    """Functions to predict from, read when asked for, and what is known about them."""

    format: str
    fields: Sequence[Any]  # a `Field` or a `Sample` each
    channels: tuple[Channel, ...]
    names: list[str]  # of the samples, each different
    where: Callable[[int], str]  # where a sample is from, for messages
    coordinates: list[str]  # their names, if they have any
    options: Mapping[str, Any]  # of the reader
    splits: list[str] | None = None
    mesh: Callable[[int], Any] | None = None  # the mesh of a sample, as meshio has it
    notes: tuple[str, ...] = ()  # what was assumed
    skipped: tuple[str, ...] = ()  # what was left out, and why
    coordinate_units: Mapping[str, str] = field(default_factory=dict)  # by name, of those that the file says


def read_inputs(
    path: str | Path,
    metadata: Mapping[str, Any],
    *,
    format: str | None = None,
    reach: ArrayLike | None = None,
    boundary: str | Path | None = None,
    **options: Any,
) -> Given:
    """The inputs in a file or folder, as the model of this metadata takes them (see `iaenet.models.operator.Operator`).

    Channels have the names that it was trained with, and lie in the domain that it was trained on, widened on closed
    axes to hold points outside it, and those within `reach (d, 2)`. Data of the format that the training data were
    imported from are read in the same way. `options`, see `iaenet.data.reading.reader_options`, replace all that.

    format: one of `iaenet.data.formats.FORMATS`. Default: by the name, or what is in a folder.
    boundary: file or folder with the boundaries of the domains, as for `import_data`. Default: none.
    """
    name = format_of(path) if format is None else format
    if name not in FORMATS:
        raise InvalidInputError(no_such("format", name, FORMATS))
    kind = FORMATS[name]
    chosen = {**_defaults(kind, metadata, reach), **parse_options(options, "predict")}
    if is_joint(chosen):
        found = kind.load(path, _without_outputs(chosen), outputs=False)
        return _given(name, path, found, chosen, metadata, boundary)
    if "coordinates" not in chosen and "dim" in kind.options and metadata.get("trained"):
        chosen.setdefault("dim", metadata["trained"]["dim"])
    if kind.options.get("inputs") and "inputs" not in chosen:
        raise InvalidInputError(f"{path}: name the inputs by --inputs: the model was trained without names for them")
    # A reader wants outputs too. The inputs stand in for them, and are not read twice, for only `given` is looked at.
    for role in ("{}s", "{}_steps"):
        if role.format("output") in kind.options and role.format("input") in chosen:
            chosen[role.format("output")] = chosen[role.format("input")]
    kind.check(chosen)
    return _given(name, path, kind.read(path, **chosen), chosen, metadata, boundary)


def _without_outputs(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in ("outputs", "output_coordinates")}


def _given(
    name: str,
    path: str | Path,
    imported: Imported,
    chosen: dict[str, Any],
    metadata: Mapping[str, Any],
    boundary: str | Path | None,
) -> Given:
    if boundary is not None:
        from iaenet.data.reading.boundary_files import bounded

        imported = bounded(imported, boundary)
    count = len(imported.given)
    if not count:
        raise InvalidInputError(f"{path}: no samples")
    files = [Path(imported.where(i)) for i in range(count)]
    stems = [file.stem if file.is_file() else "" for file in files]
    width = max(4, len(str(count - 1)))
    return Given(
        format=name,
        fields=imported.given,
        channels=imported.inputs,
        names=stems if all(stems) and len(set(stems)) == count else [f"sample{i:0{width}}" for i in range(count)],
        where=imported.where,
        coordinates=name_list(_output_coordinates(chosen.get("coordinates"))),
        options=chosen,
        splits=imported.splits,
        mesh=imported.mesh,
        # Files of the format trained on are read as those were, and whoever imported them was told.
        notes=() if (metadata.get("provenance") or {}).get("reader") == name else imported.notes,
        skipped=imported.skipped,
        coordinate_units=imported.coordinate_units,
    )


def _output_coordinates(given: Any) -> Any:
    """Names of the output's coordinates, of those of functions."""
    return given.get("output") if isinstance(given, Mapping) else given


def format_of(path: str | Path) -> str:
    """The format of a file by its name, or of the files in a folder.

    >>> format_of("nowhere.csv")
    Traceback (most recent call last):
    ...
    iaenet.errors.InvalidInputError: nowhere.csv: no such file or folder
    """
    source, names = existing(path), format_names()
    if store := format_of_store(source):
        return store
    if source.is_dir():
        read = {suffix: name for suffix, name in names.items() if FORMATS[name].folders}  # else a file has all samples
        found = sorted({read[file.suffix.lower()] for file in source.iterdir() if file.suffix.lower() in read})
        if not found:
            raise InvalidInputError(f"{source}: no file of samples ({', '.join(read)}) in this folder")
        if len(found) > 1:
            raise InvalidInputError(f"{source}: files of the formats {' and '.join(found)}; say which by --format")
        return found[0]
    if source.suffix.lower() not in names:
        raise InvalidInputError(f"{source}: which format? Known by name are {', '.join(names)}; others by --format")
    name = names[source.suffix.lower()]
    return DATA if name == "hdf5" and _is_ours(source) else name


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
    return {name: value for name, value in options.items() if name in OPTIONS and OPTIONS[name].remembered}


def _defaults(kind: Format, metadata: Mapping[str, Any], reach: ArrayLike | None) -> dict[str, Any]:
    trained = metadata.get("trained")
    names = [channel["name"] for channel in metadata.get("inputs") or ()]
    found: dict[str, Any] = {}
    if metadata.get("sample") and kind.name != DATA:
        return _sample_defaults(kind, metadata)
    if names:
        found["inputs"] = names
        if "input_steps" in kind.options:  # calls a channel by quantity and step, and wants them apart
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
        if kind.options.get("coordinates"):  # needs their names
            found["coordinates"] = list(AXES[: trained["dim"]])
    return {name: value for name, value in {**found, **remembered(metadata, kind.name)}.items() if name in kind.options}


def _sample_defaults(kind: Format, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Options for the samples that a model takes: names, domains and periodic axes of their functions."""
    names: dict[str, list[str]] = {}
    for channel in metadata.get("inputs") or ():
        names.setdefault(channel["function"], []).append(channel["name"])
    scalars = names.pop(SCALARS, [])
    functions = metadata["sample"]["functions"]
    spaces: dict[tuple[bool, ...], AtLeast] = {}
    for known in (*functions.values(), metadata["targets"]):
        flags, box = tuple(known["periodic"]), np.asarray(known["bounds"], dtype=np.float64)
        if flags in spaces:
            before = np.asarray(spaces[flags].bounds)
            box = np.stack([np.minimum(box, before)[:, 0], np.maximum(box, before)[:, 1]], axis=1)
        spaces[flags] = AtLeast(box)
    found: dict[str, Any] = {"inputs": names} if names else {}
    found |= {"scalars": scalars} if scalars else {}
    found |= {"bounds": Spaces(spaces), "periodic": {name: known["periodic"] for name, known in functions.items()}}
    if kind.options.get("coordinates"):
        found["coordinates"] = {name: list(AXES[: known["dim"]]) for name, known in functions.items()}
    known = remembered(metadata, kind.name)
    return found | {name: value for name, value in known.items() if name in kind.options}

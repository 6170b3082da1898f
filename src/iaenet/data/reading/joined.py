"""Samples of several functions and numbers from files: each function by the reader of its format, then joined.

`inputs` that are a mapping, as in `{boundary: g, source: f}`, name functions, each with points of its own. Where the
files of a folder hold a sample each, a function has a folder of its own in it (`boundary/`, `source/`, `output/`), with
the same names of files in each; in all other cases functions are in the same file, under the names given. Any other
option may be such a mapping, too, with "output" for the output: coordinates, bounds, periodic axes. Functions in the
same space, and the output if it is there, lie in one domain.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from iaenet.data.problems.problem import Channel
from iaenet.data.reading.channel_names import name_list, with_units
from iaenet.data.reading.files import naming
from iaenet.data.reading.imported import Imported, Lazy
from iaenet.data.reading.shared_domain import JointDomain
from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field
from iaenet.functions.sample import SCALARS, Sample

OUTPUT = "output"
APART = ("units", "scalars", "inputs", "outputs", "output_coordinates", "bounds")  # options that are no function's own


class Reader(Protocol):
    """What is needed of a format."""

    @property
    def name(self) -> str: ...
    @property
    def read(self) -> Callable[..., Imported]: ...
    @property
    def numbers(self) -> Callable[..., NDArray[np.float64]] | None: ...
    def check(self, options: Mapping[str, Any]) -> None: ...


def is_joint(options: Mapping[str, Any]) -> bool:
    """Whether options ask for samples of several functions, or of numbers.

    >>> is_joint({"inputs": "a,b"}), is_joint({"inputs": {"boundary": "g"}}), is_joint({"scalars": "Re"})
    (False, True, True)
    """
    return isinstance(options.get("inputs"), Mapping) or "scalars" in options


def read_joined(kind: Reader, path: str | Path, options: Mapping[str, Any], outputs: bool = True) -> Imported:
    """Pairs of samples and their images; without `outputs`, the samples alone (`given`)."""
    inputs = options.get("inputs")
    scalars = name_list(options.get("scalars"))
    joint = JointDomain(options.get("bounds"))
    if isinstance(inputs, Mapping):
        functions = {str(name): names for name, names in inputs.items()}
    else:
        names = name_list(inputs)
        functions = {names[0] if len(names) == 1 else "input": names} if names else {}
    if options.get("separate"):
        raise InvalidInputError(f"{path}: --separate is for one function; several, and their output, have folders")
    if SCALARS in functions or OUTPUT in functions or not (functions or scalars):
        raise InvalidInputError(f"{path}: name functions other than {SCALARS} and {OUTPUT}, or numbers by --scalars")
    read = {name: _read(kind, path, name, names, options, joint) for name, names in functions.items()}
    image = _read(kind, path, OUTPUT, options["outputs"], options, joint) if outputs else None
    parts = [*read.values(), *([image] if image else [])]
    numbers = _numbers(kind, path, scalars, parts, options) if scalars else None
    count = len(parts[0].given) if parts else len(numbers) if numbers is not None else 0
    for name, one in {**read, OUTPUT: image}.items():
        if one is not None and (len(one.given) != count or _stems(one) != _stems(parts[0])):
            raise InvalidInputError(f"{path}: {name} has other samples than {next(iter([*read, OUTPUT]))}")
    if numbers is not None and len(numbers) != count:
        raise InvalidInputError(f"{path}: {len(numbers)} samples of {', '.join(scalars)}, but {count} of the others")
    where = parts[0].where if parts else f"{path}: sample {{}}".format

    def given(i: int) -> Sample:
        with naming(where(i)):
            values = {} if numbers is None else dict(zip(scalars, numbers[i].tolist(), strict=True))
            fields = {name: one.given[i] for name, one in read.items()}
            return Sample(fields, {k: torch.tensor(v, dtype=torch.float64) for k, v in values.items()})

    units = options.get("units") or {}
    channels = [replace(channel, function=name) for name, one in read.items() for channel in one.inputs]
    channels += [replace(channel, function=SCALARS) for channel in with_units(scalars, units)]
    _check_units(units, [*channels, *(image.inputs if image else ())])
    return Imported(
        Lazy(count, lambda i: (given(i), _field(image, i))),
        tuple(channels),
        image.inputs if image else (),
        provenance={"reader": kind.name, "source": str(path), "bytes": sum(_bytes(part) for part in parts)},
        given=Lazy(count, given),
        where=where,
        coordinate_units={name: unit for part in parts for name, unit in part.coordinate_units.items()},
    )


def _read(
    kind: Reader, path: str | Path, name: str, names: Any, options: Mapping[str, Any], joint: JointDomain
) -> Imported:
    """One function of all samples, in the domain that it shares."""
    own = {key: _own(value, name) for key, value in options.items() if key not in APART}
    if name == OUTPUT and options.get("output_coordinates") is not None:
        own["coordinates"] = options["output_coordinates"]
    bounds = options.get("bounds")
    own = {key: value for key, value in own.items() if value is not None}
    own |= {"inputs": names, "outputs": names}
    own["bounds"] = bounds[name] if isinstance(bounds, Mapping) and name in bounds else joint
    base = {one.split("[")[0] for one in name_list(names)} | set(name_list(names))
    units = {key: value for key, value in (options.get("units") or {}).items() if key in base}
    own |= {"units": units} if units else {}
    kind.check(own)
    inside = Path(path, name)
    return kind.read(inside if inside.is_dir() else path, **own)


def _own(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else value


def _numbers(
    kind: Reader, path: str | Path, names: Sequence[str], parts: Sequence[Imported], options: Mapping[str, Any]
) -> NDArray[np.float64]:
    if kind.numbers is None:
        raise InvalidInputError(f"--scalars is no option of the format {kind.name}")
    found = kind.numbers(Path(path), list(names), _stems(parts[0]) if parts else None, options)
    bad = np.argwhere(~np.isfinite(found))
    if len(bad):
        i, j = bad[0]
        raise InvalidInputError(f"{path}: sample {i}, number {names[j]} is {found[i, j]}")
    return found


def _stems(one: Imported) -> list[str]:
    """Names of the files that samples are from, where each is from a file of its own."""
    files = [Path(one.where(i)) for i in range(len(one.given))]
    return [file.stem for file in files] if all(file.is_file() for file in files) else []


def _bytes(one: Imported) -> int:
    return int(one.provenance.get("bytes", 0))


def _field(image: Imported | None, i: int) -> Field:
    if image is None:
        raise InvalidInputError("only inputs were read")
    found: Field = image.given[i]
    return found


def _check_units(units: Mapping[str, str], channels: Sequence[Channel]) -> None:
    known = {name for channel in channels for name in (channel.name, channel.name.split("[")[0])}
    unknown = [name for name in units if name not in known]
    if unknown:
        raise InvalidInputError(f"units: {unknown[0]!r} is not among {', '.join(channel.name for channel in channels)}")

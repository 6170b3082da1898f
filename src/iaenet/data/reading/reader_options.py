"""The options of readers, in one table: for Python, `iaenet import`, `iaenet train` and `iaenet predict`.

No PyTorch here, so that help is instant. Which of the options a format has, its reader's keywords say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from iaenet.data.reading.option_kinds import (
    AXIS,
    CHARACTER,
    FLAG,
    FLAGS,
    NAME,
    NAMES,
    NUMBER,
    NUMBER_OR_LIST,
    NUMBERS,
    PAIRS,
    UNITS,
    Kind,
    choice,
)
from iaenet.errors import InvalidInputError, no_such
from iaenet.outside import NO_YAML


@dataclass(frozen=True)
class Option:
    """An option of readers.

    `trained` is its default in `iaenet predict`. What is `remembered` of the training data is how files of their format
    are laid out and where they hold the inputs.
    """

    name: str
    kind: Kind
    text: str
    default: str
    remembered: bool = False
    trained: str = ""
    commands: tuple[str, ...] = ("import", "predict")

    def parse(self, given: Any) -> Any:
        """The value, from text of the command line or from plain data (YAML, Python).

        >>> OPTIONS["bounds"].parse("[[0, 10]]"), OPTIONS["leads"].parse("1,8"), OPTIONS["inputs"].parse("a,u[0]")
        ([(0.0, 10.0)], [1, 8], 'a,u[0]')
        >>> OPTIONS["inputs"].parse("{boundary: g, source: [f, h]}")
        {'boundary': 'g', 'source': ['f', 'h']}
        >>> OPTIONS["periodic"].parse("maybe")
        Traceback (most recent call last):
            ...
        iaenet.errors.InvalidInputError: must be true or false, or a list of them, one for each axis; got 'maybe'
        """
        for value in self._readings(given):
            try:
                if isinstance(value, Mapping) and self.kind is not UNITS:  # one for each function of a sample
                    return {str(name): self.kind.convert(one) for name, one in value.items()}
                return self.kind.convert(value)
            except (TypeError, ValueError):
                continue
        raise InvalidInputError(f"must be {self.kind.wanted}; got {given!r}")

    def _readings(self, given: Any) -> list[Any]:
        """What text may stand for: itself, YAML, or a list without its brackets."""
        if not isinstance(given, str):
            return [given]
        if self.kind.plain_text and (given[:1] + given[-1:]) not in ("[]", "{}"):
            return [given]
        found = []
        for text in (given, f"[{given}]"):
            try:
                found.append(yaml.safe_load(text))
            except (yaml.YAMLError, *NO_YAML):
                continue
        return found

    def help(self, command: str) -> str:
        """What a command says of it."""
        default = self.default
        if command == "predict":
            default = self.trained or (f"as the training data were read, or {default}" if self.remembered else default)
        return f"{self.text} Default: {default}."


ARRAYS = "(npz, mat, hdf5, pt, zarr)"
IMPORT, PREDICT = ("import",), ("predict",)
OPTIONS = {
    option.name: option
    for option in (
        Option(
            "inputs",
            NAMES,
            "Names of the arrays, variables, point data, signals or columns that are input; u[0] and u[0:3] take some "
            "channels of an array. Functions on points of their own: {boundary: g, source: f}; other options, too, may "
            "then name functions.",
            "all quantities for pdebench; else they must be named",
            remembered=True,
            trained="the names that the model was trained with",
        ),
        Option("outputs", NAMES, "The same of the output.", "as for inputs", commands=IMPORT),
        Option(
            "scalars",
            NAMES,
            "Names of numbers that each sample has: arrays with one entry for each, or columns of scalars.csv.",
            "none",
            remembered=True,
            trained="the names that the model was trained with",
        ),
        Option(
            "coordinates",
            NAMES,
            "Names of the coordinates, in the order of the axes.",
            "none for npz, mat and hdf5, which is a uniform grid; those that vary for mesh; needed for netcdf and csv",
            remembered=True,
            trained="as the training data were read; or x, y, z for csv and netcdf, those that vary for mesh, and a "
            "uniform grid for npz, mat and hdf5",
        ),
        Option(
            "output_coordinates",
            NAMES,
            "Coordinates of the output, if it has points of its own (npz, mat, hdf5, pt, csv).",
            "those of the input",
            commands=IMPORT,
        ),
        Option(
            "bounds",
            PAIRS,
            "The domain, a pair for each axis.",
            "tight around the points of all samples",
            trained="as trained, and wider if points lie outside",
        ),
        Option("periodic", FLAGS, "Whether the axes are periodic.", "false", trained="as trained"),
        Option(
            "rule",
            choice("cells", "monte-carlo", "mesh"),
            "Quadrature weights of points without a grid.",
            "cells; mesh for mesh, which alone has it",
            remembered=True,
        ),
        Option(
            "missing",
            choice("refuse", "drop"),
            "What to do about values that are NaN or missing: drop leaves their points out, sample by sample.",
            "refuse, at the first of them",
            remembered=True,
        ),
        Option(
            "skip_bad",
            FLAG,
            "Leave out files, records and samples that cannot be used, and list them at the end.",
            "false, the first of them is an error",
        ),
        Option("units", UNITS, "Units by name of array or channel.", "those in the file, or 1", commands=IMPORT),
        Option(
            "dim",
            NUMBER,
            f"How many axes of an array are space, if there are no coordinates {ARRAYS}.",
            "all but that of the samples",
            remembered=True,
            trained="as trained",
        ),
        Option(
            "channels", choice("last", "first"), f"Where an array has its channels {ARRAYS}.", "last", remembered=True
        ),
        Option(
            "sample_axis",
            NUMBER,
            f"Which axis of an array counts samples; -1 is the last {ARRAYS}.",
            "0",
            remembered=True,
        ),
        Option(
            "time",
            AXIS,
            "Time, as a dimension of netcdf, or for arrays the number of the axis or the name of the array of times: "
            "each step from one state to the next is a sample, a trajectory a record (npz, mat, hdf5, netcdf).",
            "none",
            commands=IMPORT,
        ),
        Option(
            "segment",
            NUMBER,
            "With --time: cut trajectories into parts of so many steps, each in one split, with one step left out "
            "between them (npz, mat, hdf5, netcdf).",
            "whole trajectories; a tenth where there is one",
            commands=IMPORT,
        ),
        Option(
            "grid",
            choice("closed", "left", "centres"),
            "Where the points of a grid without coordinates lie: closed, i/(n-1) of a side, or i/n if it is periodic; "
            f"left, i/n; centres, (i+1/2)/n {ARRAYS}.",
            "closed, and a line that says so",
            remembered=True,
        ),
        Option(
            "groups",
            NAME,
            "The group whose groups are samples; / is the whole file (hdf5).",
            "none, samples are stacked in arrays",
            remembered=True,
        ),
        Option("input_steps", NUMBER_OR_LIST, "Steps in time of the input (pdebench).", "0", remembered=True),
        Option(
            "output_steps", NUMBER_OR_LIST, "Steps in time of the output (pdebench).", "-1, the last", commands=IMPORT
        ),
        Option(
            "sample",
            NAME,
            "The dimension that counts samples (netcdf, zarr).",
            "none, each file is a sample",
            remembered=True,
        ),
        Option(
            "empty_chunks",
            choice("refuse", "fill"),
            "What to do about chunks that are not there, which read as the fill value (zarr).",
            "refuse, since a damaged store looks the same",
            remembered=True,
        ),
        Option(
            "separate",
            FLAG,
            "Whether input and output are in files NAME_input.csv and NAME_output.csv (csv).",
            "false",
            commands=IMPORT,
        ),
        Option("delimiter", CHARACTER, "Between the cells of a row (csv).", "a comma", remembered=True),
        Option(
            "window", NUMBER, "Length of a sample in samples of the record (wfdb, fecgsyndb).", "2000", remembered=True
        ),
        Option(
            "leads",
            NUMBERS,
            "Channels, counted from 1, each giving samples of its own (fecgsyndb).",
            "1,8,11,22,25",
            remembered=True,
        ),
        Option(
            "split_by",
            choice("record", "subject"),
            "What is kept together in one split (fecgsyndb).",
            "record",
            commands=IMPORT,
        ),
        Option("split", choice("train", "validation", "test"), "Of a data file (data).", "all", commands=PREDICT),
        Option("resolution", NUMBER, "Of a data file (data).", "all", commands=PREDICT),
    )
}


def options_of(command: str) -> list[Option]:
    """The options that a command has."""
    return [option for option in OPTIONS.values() if command in option.commands]


def parse_options(given: Mapping[str, Any], command: str = "import") -> dict[str, Any]:
    """Options by name, each what it should be; those that are None are left out.

    >>> parse_options({"bounds": "[[0,10]]", "dim": None})
    {'bounds': [(0.0, 10.0)]}
    >>> parse_options({"bound": "[[0,10]]"})
    Traceback (most recent call last):
        ...
    iaenet.errors.InvalidInputError: no option 'bound'; did you mean bounds?
    """
    known = {option.name: option for option in options_of(command)}
    found = {}
    for name, value in given.items():
        if name not in known:
            raise InvalidInputError(no_such("option", name, known))
        if value is None:
            continue
        try:
            found[name] = known[name].parse(value)
        except InvalidInputError as error:
            raise InvalidInputError(f"--{name} {error}") from None
    return found

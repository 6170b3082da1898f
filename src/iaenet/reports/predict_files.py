"""Predictions from files to files, in the formats that can be imported."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from iaenet.data.atomic import apart, check_output
from iaenet.data.formats import DATA
from iaenet.data.problems.problem import Channel
from iaenet.data.reading.bad_records import told
from iaenet.data.reading.channel_names import name_list
from iaenet.data.reading.inputs import Given, format_of, read_inputs, remembered
from iaenet.data.reading.point_files import read_points
from iaenet.data.reading.reader_options import parse_options
from iaenet.data.reading.sample_points import Rule
from iaenet.data.summary import label
from iaenet.data.writing.derivative_channels import check_coordinate_units, derivative_channels
from iaenet.data.writing.output import Output, Sample, coordinate_names
from iaenet.data.writing.target import choose, write
from iaenet.errors import InvalidInputError
from iaenet.evaluation.bands import Band
from iaenet.evaluation.calibration import Kind
from iaenet.evaluation.input_checks import InputChecks, channels_of
from iaenet.evaluation.predict import Target, band_maker, predictions, targets
from iaenet.functions.field import Field, Parts
from iaenet.models.differentiated import Derivative, differentiated
from iaenet.models.operator import Operator
from iaenet.models.rollout import next_input, rollout
from iaenet.reports.plots import Panel, channels_shown, draw_panels, numbers_of, save

DRAWN = 3  # samples in a picture


def predict_files(
    operator: Operator,
    source: str | Path,
    output: str | Path,
    *,
    at: str | Path | int | tuple[int, ...] | None = None,
    steps: int = 1,
    picture: str | Path | None = None,
    format: str | None = None,
    output_format: str | None = None,
    band: float | None = None,
    band_kind: Kind = "points",
    derivatives: Derivative | Sequence[Derivative] = (),
    units: Mapping[str, str] | None = None,
    origin: dict[str, Any] | None = None,
    boundary: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> str:
    """Predict from the inputs in `source`, write `output`, and tell what was written, with notes on what to mind.

    at: a grid such as 256 or (64, 64), or a CSV or npz file with coordinates. Default: the input's own points.
    steps: in time, each from the model's output before it, all of which are written. Default 1.
    picture: PNG to draw of some samples, with the last step of each. Default: none.
    format, output_format: Default: by the names of the files, see `read_inputs` and `data.writing.target.choose`.
    band, band_kind: level of a band around each prediction, and what it is to hold, see `iaenet.predict`; its ends are
        written as channels of their own, `u_lower` and `u_upper`. Default: no bands.
    derivatives: gradient, laplacian, or both, of each prediction at its points, written as channels `u_x`, `u_y`, and
        `u_laplacian`. Default: none.
    units: those of coordinates by name, for the units of derivatives. Default: those in a NetCDF or zarr input.
    origin: what the output should say of where it comes from, beside the input.
    boundary: file or folder with the boundaries of the domains, see `import_data`. Default: none.
    options: how to read the input, see `iaenet.data.reading.reader_options`.

    >>> import tempfile, torch
    >>> from iaenet import IAENet
    >>> from iaenet.functions.normalizer import Normalizer
    >>> same = Normalizer([0.0], [1.0])
    >>> metadata = {"inputs": [{"name": "a"}], "outputs": [{"name": "u"}]}
    >>> operator = Operator(IAENet(1, 1, blocks=1), same, same, metadata)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("x,a\\n0.1,1.0\\n0.5,2.0\\n0.9,3.0\\n")
    ...     _ = predict_files(operator, f"{folder}/a.csv", f"{folder}/u.csv", coordinates="x")
    ...     Path(folder, "u.csv").read_text().splitlines()[0]
    'x,u'
    """
    maker = None if band is None else band_maker(operator, band, band_kind)
    plain = operator if maker is None else maker.model
    asked = [derivatives] if isinstance(derivatives, str) else derivatives
    wide = differentiated(operator, asked, plain) if asked else None
    which = () if wide is None else wide.which
    kind = format_of(source) if format is None else format
    target = choose(output, kind, output_format)
    file = at if isinstance(at, str | Path) else None
    sources = [source] if file is None else [source, file]
    apart(output, sources)
    if picture is not None:
        check_output(picture, sources, "a PNG picture")
        _check_picture(Path(picture), Path(output))
    given, where = _read(operator, source, kind, at, target.format.name == DATA, boundary, options)
    if steps < 1:
        raise InvalidInputError(f"a roll-out has at least 1 step, got {steps}")
    if steps > 1 and maker is not None:
        raise InvalidInputError(f"{steps} steps: bands are calibrated for one step; leave out the band")
    count = len(given.fields)
    if count * steps > 1 and not target.folder and target.format.write is None:
        raise InvalidInputError(
            f"{output}: {count * steps} functions, but a {target.suffix} file holds one; give the name of a folder"
        )
    predicted = channels_of(operator, "outputs")
    base = predicted if maker is None else (*predicted, *_ends(predicted))
    coordinates = coordinate_names(given.coordinates, _output_space(operator, given)[0], base)
    check_coordinate_units(units or {}, coordinates)
    known = {**given.coordinate_units, **(units or {})}
    slopes = derivative_channels(predicted, coordinates, which, known, [channel.name for channel in base])
    outputs = (*base, *slopes)
    checks, seen = InputChecks(operator), Seen(outputs)
    drawn = set(np.linspace(0, count - 1, DRAWN).round().astype(int).tolist()) if picture is not None else set()
    rows: dict[str, list[Panel]] = {}

    def samples() -> Iterator[Sample]:
        made = predictions(plain if wide is None else wide, given.fields, where, checks, given.where)
        for i, (start, end) in enumerate(made):
            state, more = (end, {}) if wide is None else wide.split(end)
            around = None if maker is None else maker.band(start, state)
            if around is not None:
                parts = [around.prediction, around.lower, around.upper, *more.values()]
                end = Field.unchecked(end.discretization, torch.cat([part.values for part in parts], dim=-1))
            states = [end]
            if steps > 1:
                states += rollout(wide or operator, next_input(state, start), steps - 1, channels=len(predicted))
            own = end.discretization is start.parts[0].discretization
            mesh = given.mesh(i) if given.mesh is not None and own else None
            whole = mesh is not None and len(mesh.points) == end.discretization.n  # no point without a value left out
            for step, state in enumerate(states):
                seen.add(state)
                name = given.names[i] if steps == 1 else f"{given.names[i]}_step{step + 1:0{len(str(steps))}}"
                yield Sample(name, start, state, mesh if whole else None)
            if i in drawn:
                title = "\n".join([given.names[i], *numbers_of(start)])
                panels = _panels("input", given.channels, start)
                rows[title] = panels + _panels("predicted", predicted, states[-1], around)
                if slopes:
                    shown = Field.unchecked(end.discretization, states[-1].values[:, -len(slopes) :])
                    rows[title] += _panels("predicted", slopes, shown)
            if progress is not None:
                progress(i + 1, count)

    write(
        target,
        Output(
            samples(),
            given.channels,
            outputs,
            coordinates,
            suffix=target.suffix,
            origin={"input": str(source), **(origin or {})},
            splits=[split for split in given.splits or ["test"] * count for _ in range(steps)],
            along=given.options.get("sample") or "sample",
            delimiter=given.options.get("delimiter") or ",",
        ),
    )
    lines = [f"{output}: {seen.text}", *seen.ranges]
    lines += [f"note: {note}" for note in [*given.notes, *_units(operator, given), *checks.notes]]
    if "laplacian" in which and seen.zero(len(predicted)):
        lines.append("note: the Laplacian is 0 everywhere: between points this model is linear, and has no other")
    lines += told(given.skipped)
    if picture is not None:
        save(draw_panels(list(rows.values()), list(rows)), picture, sources)
        lines.append(f"picture: {picture}")
    return "\n".join(lines)


def _read(
    operator: Operator,
    source: str | Path,
    kind: str,
    at: Any,
    kept: bool,
    boundary: str | Path | None,
    options: dict[str, Any],
) -> tuple[Given, Target]:
    """The inputs, and the query points of each; quadrature weights of these matter only where they are `kept`."""
    if not isinstance(at, str | Path):
        given = read_inputs(source, operator.metadata, format=kind, boundary=boundary, **options)
        return given, targets(operator, at, len(given.fields))
    known = remembered(operator.metadata, kind) | parse_options(options, "predict")
    named = known.get("coordinates")
    names = name_list(named.get("output") if isinstance(named, Mapping) else named)
    space = operator.metadata.get("targets" if "sample" in operator.metadata else "trained") or {}
    dim = space.get("dim") or len(names) or 1
    points = read_points(at, dim, names, known.get("delimiter", ","))
    reach = points.extent((False,) * points.dim)
    given = read_inputs(source, operator.metadata, format=kind, reach=reach, boundary=boundary, **options)
    _, bounds, periodic = _output_space(operator, given)
    rule: Rule = "cells" if kept else "monte-carlo"
    try:
        query_points = points.discretize(bounds, periodic, rule)
    except InvalidInputError as error:
        raise InvalidInputError(f"{at}: {error}") from None
    return given, targets(operator, query_points, len(given.fields))


def _output_space(operator: Operator, given: Given) -> tuple[int, Any, tuple[bool, ...]]:
    """Dimension, bounds and periodic axes of the output: those of the input, or of a sample's functions there."""
    first = given.fields[0]
    space = operator.metadata.get("targets") if "sample" in operator.metadata else None
    flags = first.discretization.periodic if space is None else tuple(space["periodic"])
    for part in first.parts:
        if part.discretization.periodic == flags and part.discretization.n > 1:
            return part.discretization.dim, part.discretization.bounds.tolist(), flags
    space = space or {"dim": len(flags), "bounds": first.discretization.bounds.tolist()}
    return space["dim"], space["bounds"], flags


def _check_picture(picture: Path, output: Path) -> None:
    if picture.suffix.lower() != ".png" or picture.is_dir() or not picture.absolute().parent.is_dir():
        raise InvalidInputError(f"--picture {picture}: give the name of a .png file in a folder that is there")
    if picture.resolve() == output.resolve():
        raise InvalidInputError(f"--picture {picture}: is the output; give it another name")


def _units(operator: Operator, given: Given) -> list[str]:
    """Channels whose unit is not the one trained with, where both are known."""
    return [
        f"channel {mine.name} is in {mine.unit}, but the model was trained with {theirs.name} in {theirs.unit}"
        for mine, theirs in zip(given.channels, channels_of(operator, "inputs"), strict=False)
        if mine.unit != theirs.unit and "1" not in (mine.unit, theirs.unit)
    ]


def _ends(channels: tuple[Channel, ...]) -> list[Channel]:
    """Channels for the ends of bands: `u_lower`, `u_upper`; those of `u[0]` are `u_lower[0]`, `u_upper[0]`."""
    made = []
    for end in ("lower", "upper"):
        for channel in channels:
            name, bracket, index = channel.name.partition("[")
            made.append(Channel(f"{name}_{end}{bracket}{index}", channel.unit))
    return made


def _panels(side: str, channels: tuple[Channel, ...], given: Parts, around: Band | None = None) -> list[Panel]:
    """A panel for each channel, with its band; a map has another for the half-width of the band."""
    panels = []
    for channel, field, i in channels_shown(given, channels):
        points = f"{field.discretization.n} points"
        values = field.values[:, i].numpy()
        width = None if around is None else around.half_width.values[:, i].numpy()
        curves = {points: (field.discretization, values)}
        panel = Panel(f"{side} {label(channel)}", curves, (float(values.min()), float(values.max())), width)
        panels.append(panel)
        if width is not None and not panel.lines:
            shown = {points: (field.discretization, width)}
            panels.append(Panel(f"half-width of {label(channel)}", shown, (0.0, float(width.max()))))
    return panels


class Seen:
    """What went by: numbers of samples and points, and the range of each channel."""

    def __init__(self, channels: tuple[Channel, ...]) -> None:
        self._channels = channels
        self._points: list[int] = []
        self._low, self._high = np.full(len(channels), np.inf), np.full(len(channels), -np.inf)

    def add(self, made: Field) -> None:
        """Take note of a prediction."""
        self._points.append(made.discretization.n)
        values = made.values.numpy()
        self._low, self._high = np.minimum(self._low, values.min(axis=0)), np.maximum(self._high, values.max(axis=0))

    @property
    def text(self) -> str:
        """How many samples, at how many points."""
        few, many, count = min(self._points), max(self._points), len(self._points)
        points = f"{few} points" if few == many else f"{few} to {many} points"
        return f"1 sample at {points}" if count == 1 else f"{count} samples at {points} each"

    def zero(self, last: int) -> bool:
        """Whether the last channels are 0 everywhere."""
        return not (self._low[-last:].any() or self._high[-last:].any())

    @property
    def ranges(self) -> list[str]:
        """A line for each predicted channel."""
        ends = zip(self._channels, self._low, self._high, strict=True)
        return [f"{label(channel)}: {low:.4g} to {high:.4g}" for channel, low, high in ends]

"""Whether bands hold what they promise: measured on samples, resolutions and points that the calibration never saw."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import torch

from iaenet.data.dataset import Dataset
from iaenet.data.text_columns import aligned
from iaenet.evaluation.bands import BandMaker
from iaenet.evaluation.calibration import Calibration, Kind
from iaenet.evaluation.evaluate import MOST_RESOLUTIONS, Progress, has_points_of_its_own, only_split
from iaenet.evaluation.resolution_study import random_pair
from iaenet.functions.field import Field
from iaenet.functions.metrics import relative_l2
from iaenet.models.base import Pair
from iaenet.models.inference import infer
from iaenet.models.operator import Operator

DRAWS = 16  # sets of random points that the samples share
BATCH = 32


@dataclass(frozen=True)
class CoverageRow:
    """Bands on one kind of points; shares are means over samples."""

    on: str
    seen: bool  # whether the calibration was on such points
    samples: int
    coverage: float  # share of the domain, all channels
    error: float  # standard error of that
    channels: dict[str, float]  # the same for each channel
    functions: float  # share of the functions that lie in the band as a whole
    half_width: float  # ||half-width|| / ||truth||
    relative_l2: float  # error of the prediction, to compare it with


@dataclass(frozen=True)
class Coverage:
    """A row for each discretization; `print(coverage.table())`, and `to_json` for other programs."""

    level: float
    kind: Kind
    rows: tuple[CoverageRow, ...]
    split: str
    calibrated: int  # samples

    def table(self) -> str:
        """The rows as text."""
        lines: list[tuple[str, ...]] = [("on", "samples", "coverage", "+-", "whole functions", "half-width", "error")]
        for row in self.rows:
            shares = [f"{100 * share:.1f} %" for share in (row.coverage, row.error, row.functions)]
            lines.append(
                (row.on, str(row.samples), *shares, *(f"{size:.3g}" for size in (row.half_width, row.relative_l2)))
            )
        about = "of the domain" if self.kind == "points" else "of the functions"
        head = (
            f"bands for {100 * self.level:g} % {about}, calibrated on {self.calibrated} samples; {self.split} samples"
        )
        new = [f"  {'' if row.seen else 'never seen by the calibration'}".rstrip() for row in self.rows]
        return "\n".join([head, *(line + note for line, note in zip(aligned(lines), ["", *new], strict=True))])

    def to_json(self) -> str:
        """All of it as text."""
        return json.dumps(asdict(self), indent=1, allow_nan=False) + "\n"


def coverage(
    operator: Operator,
    calibration: Calibration,
    dataset: Dataset,
    *,
    level: float = 0.9,
    kind: Kind = "points",
    random_points: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Coverage:
    """How much of the truth lies in the bands, for each resolution in the data and for random points.

    random_points: adds a row for so many points, chosen at random among those of the finest grid. Default: no such row.

    The data set holds samples of one split, other ones than those of the calibration.
    """
    split = only_split(dataset)
    maker = BandMaker(operator, calibration, level, kind)
    many = len(dataset.resolutions) > MOST_RESOLUTIONS or has_points_of_its_own(dataset)
    parts = [dataset] if many else [dataset.select(resolution=one) for one in dataset.resolutions]
    cases: list[tuple[str, Dataset, int | None]] = [(_name(part), part, None) for part in parts]
    if random_points is not None:
        cases.append((f"{random_points} random points", parts[-1], random_points))
    total = sum(len(part) for _, part, _ in cases)
    rows: list[CoverageRow] = []
    done = 0
    for name, part, count in cases:
        found = []
        seen = True
        for given, wanted in _batches(part, count, seed):
            band = maker.band(given, infer(maker.model, given, wanted.discretization))
            shares = band.covers(wanted)
            width = _norms(band.half_width) / _norms(wanted).clamp_min(1e-300)
            error = relative_l2(band.prediction, wanted).double()
            found.append(torch.cat([shares, error[:, None], width[:, None]], dim=1))
            seen &= not maker.unlike(given.parts[0].discretization)
            done += len(shares)
            if progress is not None:
                progress(done, total)
        rows.append(_row(name, seen, torch.cat(found), [channel.name for channel in dataset.outputs]))
    return Coverage(level, kind, tuple(rows), split, calibration.samples)


def _norms(field: Field) -> torch.Tensor:
    """`||f||` over all channels, of each function: `(b,)`."""
    weights = field.discretization.weights
    return ((weights / weights.sum()) @ field.values.double() ** 2).sum(dim=-1).sqrt()


def _row(name: str, seen: bool, found: torch.Tensor, channels: list[str]) -> CoverageRow:
    *shares, error, width = found.T
    means = torch.stack(shares).mean(dim=0)
    return CoverageRow(
        name,
        seen,
        len(found),
        float(means.mean()),
        float(means.std() / len(found) ** 0.5) if len(found) > 1 else 0.0,
        {channel: float(share.mean()) for channel, share in zip(channels, shares, strict=True)},
        float((torch.stack(shares).amin(dim=0) > 1 - 1e-9).double().mean()),
        float(width.mean()),
        float(error.mean()),
    )


def _name(part: Dataset) -> str:
    low, high = part.resolutions[0], part.resolutions[-1]
    return str(low) if low == high else f"{low} to {high}"


def _batches(part: Dataset, count: int | None, seed: int) -> Iterator[Pair]:
    """Pairs that share their points, some at a time; on `count` random points of theirs if asked for."""
    most = BATCH if count is None else max(1, min(BATCH, -(-len(part) // DRAWS)))
    number = 0
    for group in part.groups:
        for start in range(0, len(group), most):
            given, wanted = part.batch(group[start : start + most].tolist())
            yield (given, wanted) if count is None else random_pair(given, wanted, count, seed, number)
            number += 1

"""Split conformal calibration: how wide a band around a prediction must be to hold as much of the truth as it says.

The band of level `1 - alpha` is `|u(x) - u_hat(x)| <= lambda s(x)` with a local scale s. lambda is found from n samples
that the training did not see, by the ratios `r_i(x) = |u_i(x) - u_hat_i(x)| / s_i(x)`:

    points      lambda = min { l : n / (n + 1) M(l) + 1 / (n + 1) <= alpha },  M(l) the mean share of the domain, by its
                measure, where r_i > l: a new function lies outside on a share alpha of its domain, in the mean
                (conformal risk control)
    function    lambda = the ceil((n + 1) (1 - alpha))-th smallest of max_x r_i(x): a new function lies in the band as a
                whole with probability 1 - alpha

Both hold for any model and any n, as long as new samples are like those of the calibration. Every channel has its own.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from iaenet.data.atomic import replacing
from iaenet.data.dataset import Dataset
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.evaluation.local_scale import LocalScale
from iaenet.functions.field import Field
from iaenet.models.base import Pair
from iaenet.models.ensemble import fingerprint, split_spread, with_spread
from iaenet.models.inference import infer
from iaenet.models.operator import Operator, describe
from iaenet.training.batches import Samples

FORMAT = 1
FILE = "calibration.json"
FINE = 4000  # shares of the domain for which the ratio is kept
FEWEST = 8  # samples

Kind = Literal["points", "function"]


@dataclass(frozen=True)
class Calibration:
    """What `calibrate` found; `factor` gives lambda, `save` and `load_calibration` keep it in a run folder."""

    weights: str  # SHA-256 of the model's weights
    scale: LocalScale
    ratios: Tensor  # (c, FINE + 1): ratios that shares 0 .. 1 of the domain stay below, over all samples
    largest: Tensor  # (c, n): the largest ratio of each sample, sorted
    inputs: dict[str, Any]  # what their discretizations are like, see `models.operator.describe`
    origin: dict[str, Any]  # data, split, resolution

    @property
    def samples(self) -> int:
        """Number n of samples that the factors follow from."""
        return int(self.largest.shape[1])

    def factor(self, level: float, kind: Kind = "points") -> Tensor:
        """lambda of each channel, `(c,)`, for a band of this level.

        >>> ratios = torch.linspace(0, 1, FINE + 1).expand(1, -1)
        >>> scale = LocalScale(((0.0, 1.0),), (False,), torch.zeros(1, 1))
        >>> calibration = Calibration("", scale, ratios, torch.linspace(0.01, 1, 100)[None], {}, {})
        >>> [round(calibration.factor(0.9, kind).item(), 3) for kind in ("points", "function")]
        [0.909, 0.91]
        """
        if not 0 < level < 1:
            raise InvalidInputError(f"the level of a band is between 0 and 1, such as 0.9, got {level}")
        if kind not in ("points", "function"):
            raise InvalidInputError(f"a band is about points or function, not {kind!r}")
        n, alpha = self.samples, 1 - level
        rank = math.ceil((n + 1) * level - 1e-9)
        if rank > n:
            raise InvalidInputError(
                f"a band of {level:g} needs {math.ceil(level / alpha - 1e-9)} calibration samples, there are {n}: "
                "calibrate with more, or take a lower level"
            )
        if kind == "function":
            return self.largest[:, rank - 1]
        covered = 1 - ((n + 1) * alpha - 1) / n
        return self.ratios[:, math.ceil(covered * FINE - 1e-9)]

    def check(self, operator: Operator) -> None:
        """Refuse a model that this calibration is not about."""
        if fingerprint(operator) != self.weights:
            raise InvalidInputError(
                "the calibration belongs to other weights than the model's: it was trained further, or it is another "
                "model; calibrate again, with `iaenet calibrate RUN`"
            )

    def save(self, run: str | Path) -> Path:
        """Write `RUN/calibration.json`."""
        content = {
            "format": FORMAT,
            "weights": self.weights,
            "origin": self.origin,
            "inputs": self.inputs,
            "scale": self.scale.to_json(),
            "ratios": self.ratios.tolist(),
            "largest": self.largest.tolist(),
        }
        with replacing(Path(run) / FILE) as beside:
            beside.write_text(json.dumps(content, allow_nan=False) + "\n")
        return Path(run) / FILE


def load_calibration(run: str | Path) -> Calibration:
    """The calibration of a run; whether it is about the run's present weights is asked when it is used."""
    path = Path(run) / FILE
    try:
        found = json.loads(path.read_text())
    except FileNotFoundError:
        raise InvalidInputError(f"{run} has no {FILE}; `iaenet calibrate {run}` makes one") from None
    except ValueError as error:
        raise CorruptFileError(f"{path}: {error}") from None
    try:
        if found["format"] != FORMAT:
            raise InvalidInputError(f"{path} was made by another version of iaenet; calibrate again")
        ratios, largest = (torch.tensor(found[name], dtype=torch.float64) for name in ("ratios", "largest"))
        if ratios.ndim != 2 or ratios.shape[1] != FINE + 1 or largest.ndim != 2 or len(largest) != len(ratios):
            raise ValueError(f"ratios of shape {tuple(ratios.shape)} and {tuple(largest.shape)}")
        scale = LocalScale.from_json(found["scale"])
        return Calibration(str(found["weights"]), scale, ratios, largest, dict(found["inputs"]), dict(found["origin"]))
    except (KeyError, TypeError, ValueError, CorruptFileError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise CorruptFileError(f"{path} is no calibration: {error}") from None


def calibrate(operator: Operator, data: Dataset | Sequence[Pair], *, seed: int = 0) -> Calibration:
    """Find the local scale and the factors from samples that the model was not trained on.

    A third of them, chosen by `seed`, gives the scale sigma(x), the root mean square of the errors at each place; the
    others give the factors. The scale of an ensemble is `(sigma(x)^2 + spread_i(x)^2)^(1/2)`, with the standard
    deviation of its members for the input at hand.

    >>> from iaenet import Discretization, IAENet
    >>> from iaenet.functions.normalizer import Normalizer
    >>> grid, same = Discretization.uniform(16), Normalizer([0.0], [1.0])
    >>> pairs = [(Field(grid, torch.rand(16, 1)), Field(grid, torch.rand(16, 1))) for _ in range(30)]
    >>> calibration = calibrate(Operator(IAENet(1, 1, blocks=1), same, same), pairs)
    >>> calibration.samples, calibration.factor(0.8).shape
    (20, torch.Size([1]))
    """
    if len(data) < FEWEST:
        raise InvalidInputError(f"{len(data)} samples are too few to calibrate with; there should be 100 or more")
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(seed)).tolist()
    samples, third = Samples(data), len(data) // 3
    scale = LocalScale.fit([error for error, _ in _errors(operator, samples.take(sorted(order[:third])))])
    ratios, weights, largest = [], [], []
    rest = samples.take(sorted(order[third:]))
    for error, spread in _errors(operator, rest):
        ratio = error.values.abs() / local_scale(scale, spread, error)
        share = error.discretization.weights / error.discretization.weights.sum()
        ratios.append(ratio.flatten(0, 1))
        weights.append(share.repeat(len(ratio)))
        largest.append(ratio.amax(dim=1))
    origin: dict[str, Any] = {"samples": len(data)}
    if isinstance(data, Dataset):
        origin |= {"data": data.content_hash, "splits": list(data.splits), "resolutions": list(data.resolutions)}
    return Calibration(
        fingerprint(operator),
        scale,
        weighted_quantiles(torch.cat(ratios), torch.cat(weights)).T.contiguous(),
        torch.cat(largest).sort(dim=0).values.T.contiguous(),
        describe(given.parts[0].discretization for given, _ in samples.stacks.pieces()),
        origin,
    )


def _errors(operator: Operator, pairs: Sequence[Pair]) -> list[tuple[Field, Tensor | None]]:
    """Error fields `(b, n, c)` in float64, and the spread of the members there, if there are any."""
    model, found = with_spread(operator), []
    for given, wanted in pairs:
        mean, spread = split_spread(operator, infer(model, given, wanted.discretization))
        difference = mean.values.double() - wanted.values.to("cpu").double()
        found.append((Field.unchecked(mean.discretization, difference), spread))
    return found


def local_scale(scale: LocalScale, spread: Tensor | None, field: Field) -> Tensor:
    """`s_i(x)` at the points of a field: `(n, c)`, or with a spread `(b, n, c)`."""
    sigma = scale.at(field.discretization)
    return sigma if spread is None else (sigma**2 + spread.double() ** 2).sqrt()


def weighted_quantiles(values: Tensor, weights: Tensor) -> Tensor:
    """Of values `(m, c)` with weights `(m,)`, those that shares 0, 1 / FINE, .. 1 stay at or below: `(FINE + 1, c)`.

    >>> weighted_quantiles(torch.tensor([[2.0], [1.0]]), torch.tensor([1.0, 3.0]))[[0, FINE // 2, FINE]].flatten()
    tensor([1., 1., 2.])
    """
    ordered, order = values.sort(dim=0)
    below = weights[order].cumsum(dim=0) / weights.sum()
    shares = torch.linspace(0, 1, FINE + 1, dtype=below.dtype)
    columns = []
    for c in range(values.shape[1]):
        index = torch.searchsorted(below[:, c].contiguous(), shares - 1e-12).clamp_max(len(values) - 1)
        columns.append(ordered[index, c])
    return torch.stack(columns, dim=1)

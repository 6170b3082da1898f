"""Symmetries of a problem, found from its samples: where they hold, a network errs on moved samples as on any others.

    ratio(m) = exp mean_i log |N(m a_i) - m u_i| / |N(a_i) - u_i|

for validation samples (a_i, u_i), none of which N has seen. If the problem has the symmetry m, and inputs come as often
moved as not, the moved samples are samples like the others, and the ratio is 1 but for chance. N must have learned what
distinguishes a symmetry from none: it is the network after a fifth of its training or later, and its error must be
small. What is found makes further samples for the rest of the training: mirror images, shifts, exchanged axes. It is
looked for once the network overfits: before, more samples would bring nothing.
"""

import logging
from itertools import product

import torch
from torch import Tensor

from iaenet.functions.field import Field
from iaenet.functions.metrics import relative_l2
from iaenet.functions.motions import mirrors_and_swaps
from iaenet.functions.seeds import stream
from iaenet.models.base import Model, Pair
from iaenet.models.inference import infer
from iaenet.models.operator import Operator
from iaenet.training.batches import Samples
from iaenet.training.run_folder import RunFolder
from iaenet.training.symmetries import Turn, symmetric

log = logging.getLogger("iaenet")

EARLIEST, PARTS = 2, 10  # after so many tenths of a training, and at each further tenth,
OVERFIT, KNOWN = 1.05, 32  # it is asked whether the validation error is so many times that on so many training samples
FEWEST, MOST = 16, 64  # samples that the ratio is taken over
LEARNED = 0.3  # the error from which on a network tells nothing
ALIKE, MOST_ALIKE = 1.05, 1.1  # the ratio up to which a motion is taken for a symmetry; at most, where chance is larger
CHANNELS = 3  # of the input, at most, whose signs are tried
FAR = 1.0  # a mean of so many standard deviations: a channel of one sign


def is_time(before: float, now: float) -> bool:
    """Whether it is time to look, on the way from one validation to the next.

    >>> [is_time(0.05, 0.15), is_time(0.15, 0.21), is_time(0.21, 0.29), is_time(0.29, 0.31)]
    [False, True, False, True]
    """
    return int(PARTS * now) > int(PARTS * before) and int(PARTS * now) >= EARLIEST


def overfits(operator: Operator, training: Samples, error: float) -> bool:
    """Whether the validation error is clearly larger than that on samples which the network has seen."""
    step = max(1, len(training) // KNOWN)
    pairs = training.take(list(range(0, len(training), step))[:KNOWN])
    return error > OVERFIT * float(_errors(_predictions(operator, pairs), pairs).mean())


def symmetries_of(operator: Operator, samples: Samples, folder: RunFolder | None) -> list[str]:
    """The symmetries that validation samples show; ratios and findings are written to `symmetries.json` of a run."""
    found = ratios(operator, samples)
    names = accepted(found)
    if folder is not None:
        folder.write_json("symmetries.json", {"format": 1, "ratios": found, "accepted": names})
        if names:
            log.info("%s: the problem has the symmetries %s", folder.path.name, ", ".join(names))
    return names


def ratios(operator: Operator, samples: Samples) -> dict[str, list[float]]:
    """The ratio of each motion that the samples' box allows, and its standard error, by its name in a configuration.

    There is none where the error is too large for it to tell anything.

    >>> from iaenet.functions.discretization import Discretization
    >>> from iaenet.functions.normalizer import Normalizer
    >>> from iaenet.models.base import Model
    >>> class Square(Model):
    ...     def transform(self, values, source, target):
    ...         return 1.1 * values**2
    >>> grid = Discretization.uniform(16, periodic=True)
    >>> waves = [torch.sin(2 * torch.pi * (grid.points + k / 7)).float() for k in range(20)]
    >>> pairs = Samples([(Field(grid, a), Field(grid, a**2)) for a in waves])
    >>> found = ratios(Operator(Square(), Normalizer([0.0], [1.0]), Normalizer([0.0], [1.0])), pairs)
    >>> {name: round(ratio, 3) for name, (ratio, _) in found.items()}
    {'shift': 1.0, 'reflect-x': 1.0, 'reflect-x:-/+': 1.0}
    """
    pairs = samples.take(list(range(min(len(samples), MOST))))
    if len(samples) < FEWEST or not all(isinstance(given, Field) for given, _ in pairs):
        return {}
    if any(given.discretization.key != wanted.discretization.key for given, wanted in pairs):
        return {}
    usual = _errors(_predictions(operator, pairs), pairs)
    if not 0 < float(usual.mean()) <= LEARNED:
        return {}
    found: dict[str, list[float]] = {}
    first = pairs[0][0].discretization
    if first.axes is not None and any(first.periodic) and all(all(one.discretization.uniform_axes) for one, _ in pairs):
        moved = symmetric(pairs, ["shift"], stream(0, "shift"))
        found["shift"] = _ratio(_errors(_predictions(operator, moved), moved), usual)
    places = [given.discretization for given, _ in pairs]
    network = operator.network
    anywhere = isinstance(network, Model) and network.accepts.points and network.accepts.resolutions
    for motion in mirrors_and_swaps(first):
        if all(motion.keeps(where) or (anywhere and where.axes is None and motion.fits(where)) for where in places):
            for signs in _signs(operator):
                turn = Turn(motion, signs)
                predicted = _predictions(operator, [turn.of_pair(pair) for pair in pairs])
                turn = turn._replace(wanted=_signs_of(predicted, [turn.of_pair(pair)[1] for pair in pairs]))
                found[turn.name] = _ratio(_errors(predicted, [turn.of_pair(pair) for pair in pairs]), usual)
    return found


def accepted(found: dict[str, list[float]]) -> list[str]:
    """The names that stand for symmetries; of several signs of a motion, the one that fits best.

    >>> accepted({"reflect-x": [1.02, 0.01], "reflect-y": [1.08, 0.05], "swap-xy": [1.08, 0.01]})
    ['reflect-x', 'reflect-y']
    """
    best: dict[str, str] = {}
    for name, (ratio, error) in sorted(found.items(), key=lambda item: item[1]):
        if ratio <= min(max(ALIKE, 1 + 2 * error), MOST_ALIKE):
            best.setdefault(name.partition(":")[0], name)
    return [name for name in found if name in best.values()]


def _ratio(moved: Tensor, usual: Tensor) -> list[float]:
    """The geometric mean of how much larger the errors of images are, and its standard error."""
    logs = (moved / usual.clamp_min(1e-30)).clamp(1e-30, 1e30).log()
    return [float(logs.mean().exp()), float(logs.std() / len(logs) ** 0.5)]


def _signs(operator: Operator) -> list[str]:
    """Signs of the input's channels that are worth a look: those of all, but where a channel has one sign anyway."""
    mean, std = operator.input_normalizer.mean, operator.input_normalizer.std
    both = (mean.abs() < FAR * std).tolist()
    if sum(both) > CHANNELS:
        return ["+" * len(both)]
    return ["".join(signs) for signs in product(*["+-" if free else "+" for free in both])]


def _signs_of(predicted: list[Field], wanted: list[Field]) -> str:
    """The signs of the output's channels that predictions have, compared with functions."""
    along = torch.stack(
        [(a.values * b.values.to(a.values)).flatten(0, -2).sum(0) for a, b in zip(predicted, wanted, strict=True)]
    )
    return "".join("-" if number < 0 else "+" for number in along.sum(0).tolist())


def _predictions(operator: Operator, pairs: list[Pair]) -> list[Field]:
    inputs, points = [given for given, _ in pairs], [wanted.discretization for _, wanted in pairs]
    found: list[Field] = infer(operator, inputs, points, check=False)
    return found


def _errors(predicted: list[Field], pairs: list[Pair]) -> Tensor:
    return torch.cat([relative_l2(one, wanted.to("cpu")) for one, (_, wanted) in zip(predicted, pairs, strict=True)])

"""The loss of a batch (eq. loss): relative L2 errors, or a loss of the user's, on the pairs and on resampled ones."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field, Parts
from iaenet.functions.metrics import relative_l2
from iaenet.models.base import Pair
from iaenet.training.augment import at_some_points, resampled
from iaenet.training.batches import Samples
from iaenet.training.config import TrainConfig
from iaenet.training.symmetries import symmetric
from iaenet.training.unrolled import noisy, unrolled

Loss = Callable[[Any, Field, Field], Tensor]  # `loss(model, given, wanted) -> (b,)`, for b functions on the same points


def losses_of(
    network: Any,
    samples: Samples,
    indices: list[int],
    config: TrainConfig,
    generator: torch.Generator,
    loss: Loss | None = None,
) -> Tensor:
    """The loss of each sample, with its share of the loss on resampled pairs; one call of the network for all."""
    augment = config.augment
    if augment.steps > 1:
        with _autocast(samples.device.type, config.precision):
            return unrolled(network, samples.chains(indices, augment.steps), config, generator)
    pairs: list[Pair] = symmetric(samples.take(indices), augment.known_symmetries, generator)
    pairs = at_some_points(pairs, augment.query_points, generator) if augment.query_points else pairs
    pairs = [(noisy(given, augment.noise, generator), wanted) for given, wanted in pairs] if augment.noise else pairs
    more = resampled(pairs, augment, generator) if augment.weight else []
    with _autocast(pairs[0][1].values.device.type, config.precision):
        if loss is None:
            found = network([given for given, _ in pairs + more], [wanted.discretization for _, wanted in pairs + more])
            apart = config.optimizer.loss == "channels"
            losses = [
                relative_l2(one, wanted, by_channel=apart) for one, (_, wanted) in zip(found, pairs + more, strict=True)
            ]
        else:
            losses = [_checked(loss(network, *pair), pair[0]) for pair in pairs + more]
    total = torch.cat(losses[: len(pairs)])
    if more:
        versions = len(more) // len(pairs)
        total = total + augment.weight / versions * torch.cat(losses[len(pairs) :]).reshape(versions, -1).sum(0)
    return total


def _autocast(device: str, precision: str) -> Any:
    return torch.autocast(device, torch.bfloat16) if precision == "bf16" else nullcontext()


def _checked(losses: object, given: Parts) -> Tensor:
    """What a loss of the user's gave: a number for each function."""
    if isinstance(losses, Tensor) and losses.shape == (given.count,) and losses.requires_grad:
        return losses
    found = f"shape {tuple(losses.shape)}" if isinstance(losses, Tensor) else type(losses).__name__
    raise InvalidInputError(
        f"the loss must be a tensor of shape ({given.count},), one number for each function, with a gradient; "
        f"got {found}"
    )

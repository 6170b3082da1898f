"""Learning several steps ahead: the loss along a trajectory, each step from the network's own output."""

from typing import Any

import torch
from torch import Tensor

from iaenet.functions.field import Field
from iaenet.functions.metrics import relative_l2
from iaenet.models.base import Given
from iaenet.models.rollout import next_input
from iaenet.training.config import TrainConfig


def unrolled(
    network: Any, chains: list[tuple[Any, list[Field]]], config: TrainConfig, generator: torch.Generator
) -> Tensor:
    """The loss of each sample, `(b,)`: the mean of `L(Psi^k u, u_k)` over the steps k that its trajectory has.

    With `push_forward` it is the mean of `L(Psi u, u_1)` and `L(Psi sg(Psi^(K-1) u), u_K)`, where no gradient goes
    through `sg`: the network learns to correct what it did itself.

    Args:
        network: an operator in the data's units.
        chains: inputs, and the outputs after 1, 2, .. steps; samples of one chain are as long.
        config: `steps`, `push_forward` and `noise` of its `augment`, and which loss.
        generator: of the noise.
    """
    options, apart = config.augment, config.optimizer.loss == "channels"
    states = [noisy(given, options.noise, generator) if options.noise else given for given, _ in chains]
    losses: list[list[Tensor]] = [[] for _ in chains]
    for step in range(options.steps):
        alive = [j for j, (_, wanted) in enumerate(chains) if step < len(wanted)]
        if not alive:
            break
        counted = not options.push_forward or step == 0 or any(step == len(chains[j][1]) - 1 for j in alive)
        with torch.set_grad_enabled(counted):
            found = network([states[j] for j in alive], [chains[j][1][step].discretization for j in alive])
        for j, state in zip(alive, found, strict=True):
            last = step == len(chains[j][1]) - 1
            if not options.push_forward or step == 0 or last:
                losses[j].append(relative_l2(state, chains[j][1][step], by_channel=apart))
            if not last:
                if options.push_forward:
                    state = Field.unchecked(state.discretization, state.values.detach())
                states[j] = next_input(state, states[j])
    return torch.cat([torch.stack(each).mean(dim=0) for each in losses])


def noisy(given: Given, size: float, generator: torch.Generator) -> Any:
    """The field with random numbers added, of standard deviation `size` times that of each channel of the batch.

    Of a sample, they are added to its first function, which is the state.

    >>> from iaenet import Discretization
    >>> grid = Discretization.uniform(4000)
    >>> wave = Field(grid, torch.sin(grid.points)[None])
    >>> added = noisy(wave, 0.1, torch.Generator().manual_seed(0)).values - wave.values
    >>> round(float(added.std() / wave.values.std()), 2)
    0.1
    """
    field, *rest = given.parts
    scale = field.values.std(dim=(0, 1), keepdim=True, correction=0)
    random = torch.randn(field.values.shape, generator=generator, dtype=field.values.dtype).to(field.values.device)
    return given.with_parts([Field.unchecked(field.discretization, field.values + size * scale * random), *rest])

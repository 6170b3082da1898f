"""Optimisers and learning rates."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from iaenet.nn.local import CONVOLUTIONS
from iaenet.training.config import OptimizerConfig, ScheduleConfig

SMALLEST_SIDE = 8  # matrices with a shorter side have nothing to orthogonalise
# Newton-Schulz iteration of odd polynomials that brings singular values near 1 in 5 steps (Jordan et al., 2024).
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)


class Muon(torch.optim.Optimizer):
    """`W <- W - rate (0.2 sqrt(max(rows, columns)) orthogonal(momentum) + decay W)` for matrices.

    The factor gives steps as large as AdamW's, so that both share a rate. Runs in the matrices' own precision
    (PyTorch's Muon rounds to bfloat16), and all matrices of one shape at once. Kernels of convolutions
    `(channels out, channels in, points ..)` are matrices with a column for each channel and point.

    >>> W = nn.Parameter(torch.zeros(8, 8))
    >>> W.grad = torch.eye(8)
    >>> Muon([W], rate=1.0).step()
    >>> 0.3 < -W[0, 0].item() < 0.8
    True
    """

    def __init__(
        self, parameters: Iterable[nn.Parameter], rate: float, momentum: float = 0.95, weight_decay: float = 0.0
    ) -> None:
        super().__init__(list(parameters), {"lr": rate, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        """One step; Nesterov momentum."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[nn.Parameter]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    shapes.setdefault(parameter.shape, []).append(parameter)
            for parameters in shapes.values():
                self._step(parameters, group)

    def _step(self, parameters: list[nn.Parameter], group: dict[str, Any]) -> None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        buffers = []
        for parameter in parameters:
            state = self.state[parameter]
            if not state:
                state["momentum"] = torch.zeros_like(parameter)
            buffers.append(state["momentum"])
        torch._foreach_lerp_(buffers, gradients, 1 - group["momentum"])
        momenta = torch.stack(torch._foreach_lerp(gradients, buffers, group["momentum"])).flatten(2)
        updates = orthogonal(momenta).view(len(parameters), *parameters[0].shape)
        scale = 0.2 * math.sqrt(max(momenta.shape[1:]))
        torch._foreach_mul_(list(parameters), 1 - group["lr"] * group["weight_decay"])
        torch._foreach_add_(list(parameters), list(updates.unbind()), alpha=-group["lr"] * scale)


def orthogonal(matrices: Tensor) -> Tensor:
    """Nearly the nearest orthogonal matrices to `(k, rows, columns)`: singular values between 0.7 and 1.2.

    >>> size = torch.linalg.svdvals(orthogonal(torch.randn(2, 16, 32)))
    >>> bool((size > 0.6).all() and (size < 1.3).all())
    True
    """
    a, b, c = NEWTON_SCHULZ
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp_min(1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


def matrices_of(network: nn.Module, convolutions: bool = True) -> set[int]:
    """Identities of the parameters that Muon takes: weights of linear layers and convolutions, and what layers name.

    A layer of yours names its own in `muon`, as in `muon = ("weight",)`; all others go to AdamW. Matrices with a side
    shorter than 8 have nothing to orthogonalise, and complex ones go to AdamW.

    >>> layer = nn.Linear(8, 16)
    >>> matrices_of(nn.Sequential(layer, nn.LayerNorm(16))) == {id(layer.weight)}
    True
    """
    known = (nn.Linear, *CONVOLUTIONS) if convolutions else (nn.Linear,)
    found: set[int] = set()
    for module in network.modules():
        names = ("weight",) if isinstance(module, known) else getattr(module, "muon", ())
        for name in names:
            named = getattr(module, name)
            for parameter in named if isinstance(named, nn.ParameterList) else [named]:
                if min(len(parameter), parameter[0].numel()) >= SMALLEST_SIDE and not parameter.is_complex():
                    found.add(id(parameter))
    return found


def make_optimizers(network: nn.Module, options: OptimizerConfig) -> list[torch.optim.Optimizer]:
    """The optimizers of a config; each parameter belongs to one of them."""
    rate, decay = options.lr, options.weight_decay
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]

    def adaptive(some: list[nn.Parameter]) -> torch.optim.Optimizer:
        kind = torch.optim.Adam if options.name == "adam" else torch.optim.AdamW
        fused = not any(parameter.is_complex() for parameter in some)  # the fused kernels take real numbers only
        return kind(some, rate, weight_decay=decay, fused=fused)

    chosen = matrices_of(network, options.convolutions) if options.name == "muon" else set()
    matrices = [parameter for parameter in parameters if id(parameter) in chosen]
    rest = [parameter for parameter in parameters if id(parameter) not in chosen]
    made: list[torch.optim.Optimizer] = [Muon(matrices, rate, weight_decay=decay)] if matrices else []
    return [*made, adaptive(rest)] if rest else made


class Rate:
    """The learning rate, as a share of the largest, at every step.

    >>> rate = Rate(ScheduleConfig(warmup=0.1), steps=100)
    >>> [round(rate.at(step), 2) for step in (0, 9, 10, 55, 99)]
    [0.1, 1.0, 1.0, 0.5, 0.0]
    """

    def __init__(self, schedule: ScheduleConfig, steps: int) -> None:
        self.schedule = schedule
        self.steps = steps
        # Of the plateau: the lowest loss so far, epochs since, and the share reached.
        self.state: dict[str, float] = {"best": math.inf, "waited": 0, "share": 1.0}

    def at(self, step: int) -> float:
        """Share of the largest rate at a step, counted from 0."""
        if self.schedule.name != "cosine":
            return self.state["share"]
        rising = max(1, round(self.schedule.warmup * self.steps))
        if step < rising:
            return (step + 1) / rising
        return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, self.steps - rising)))

    def along(self, progress: float) -> float:
        """Share of the largest rate at a share of the way, for a training whose number of steps is not fixed."""
        if self.schedule.name != "cosine":
            return self.state["share"]
        warmup = self.schedule.warmup
        if progress < warmup:
            return max(progress, 0.05 * warmup) / warmup
        return 0.5 * (1 + math.cos(math.pi * (progress - warmup) / (1 - warmup)))

    def epoch(self, loss: float) -> None:
        """Note the training loss of an epoch."""
        if self.schedule.name != "plateau":
            return
        state = self.state
        if loss < state["best"] * (1 - 1e-4):
            state["best"], state["waited"] = loss, 0
        else:
            state["waited"] += 1
            if state["waited"] > self.schedule.patience:
                state["share"], state["waited"] = state["share"] * self.schedule.factor, 0

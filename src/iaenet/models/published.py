"""The published form of IAE-Net, for honest comparison: invariant only as far as augmentation makes it so.

It takes plain means over grid points, transforms the values' index by FFT and keeps the whole band, gives frequencies
as an index divided by their number, has ReLU kinks, and normalises latent values. `docs/published.md` has it equation
by equation, with each place where the paper's text and its authors' program differ.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization, Periodic
from iaenet.models.base import IDEAS, Accepts, Model
from iaenet.nn.published_block import BRANCHES, SKIPS, FNOLayer, NoSkips, PublishedBlock
from iaenet.nn.published_iae import AxisEncoder, LinearDecoder, ProgramDecoder, TextDecoder, pointwise_mlp

LATENT = {1: 256, 2: 64}  # points along each axis of the latent grid, by dimension (2 stands for more, too)
FREQUENCIES = {1: 16, 2: 12}  # that G keeps along each axis
DECODERS: dict[str, type[LinearDecoder]] = {"program": ProgramDecoder, "text": TextDecoder}
KERNELS = {"nonlinear": True, "linear": False}  # whether they see the function


class PublishedIAENet(Model):
    """`f -F-> a_0 -IAE_1-> a_1 ... -IAE_L-> a_L -G-> g` (section iaenet) as published; the paper's size by default.

    Takes tensor grids, uniform or not (in 1-D, points in their order are one), and gives the output on the same points.
    Kernels are evaluated in factored form where that is exactly the same function (`nn/published_iae.py`). There is no
    dropout, which the program has.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim: dimension d of the domain.
        periodic: has no effect, since the published form takes every axis for one period.
        width: channels w of the intermediate functions.
        latent: points m along each axis of the latent grid; by default 256 in 1-D and 64 x 64 in 2-D.
        blocks: number L of IAE blocks.
        skips: "dense" (the program's: linear maps of all earlier outputs, before G, too), "dense-text" (eq. densenet to
            the letter), "residual" (eq. resnet) or "none".
        branches: "both", "original" or "fourier".
        decoder: what the decoder's kernel sees of the latent function u: "program", one learned sum of its values for
            each channel, or "text", u(z), at a cost of m kernel networks for each point.
        kernels: "nonlinear", or "linear" for kernels that see no function.
        channel_mlp: whether a pointwise MLP follows each integral transform.
        post: whether two Fourier layers come before the projection; without them there is no G.
        depth: hidden layers of phi_0, phi_1 and phi_2 alike; by default 2 in phi_0 and 1 in the kernels. One deep block
            is `blocks=1, depth=4`.

    >>> sum(p.numel() for p in PublishedIAENet(1, 1).parameters())
    5300873
    """

    accepts = Accepts(resolutions=True, points=False, query_points=False)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,  # noqa: ARG002 - every axis is taken for one period
        *,
        width: int = 64,
        latent: int | None = None,
        blocks: int = 4,
        skips: Literal["dense", "dense-text", "residual", "none"] = "dense",
        branches: Literal["both", "original", "fourier"] = "both",
        decoder: Literal["program", "text"] = "program",
        kernels: Literal["nonlinear", "linear"] = "nonlinear",
        channel_mlp: bool = True,
        post: bool = True,
        depth: int | None = None,
    ) -> None:
        super().__init__()
        for name in ("width", "latent", "blocks", "depth"):
            size = self.options[name]
            if size is not None and size < 1:
                raise InvalidInputError(f"{name} must be at least 1, got {size}")
        self.in_channels = in_channels
        self.dim = dim
        _choice("branches", branches, BRANCHES)
        sees = _choice("kernels", kernels, KERNELS)
        kind = _choice("decoder", decoder, DECODERS)
        self.lift = nn.Linear(in_channels + dim, width)
        made = [
            PublishedBlock(
                width,
                (latent or LATENT[min(dim, 2)],) * dim,
                branches,
                decoder=kind if sees else LinearDecoder,
                channel_mlp=channel_mlp,
                depth=depth,
            )
            for _ in range(blocks)
        ]
        self.blocks: Sequence[PublishedBlock] = nn.ModuleList(made)  # type: ignore[assignment]
        self.skips: NoSkips = _choice("skips", skips, SKIPS)(width, blocks)
        layers = [FNOLayer(width, FREQUENCIES[min(dim, 2)], dim, last=last) for last in (False, True)]
        self.post = nn.Sequential(*layers if post else ())
        self.project = pointwise_mlp(width, 2 * width, out_channels)

    @property
    def ideas(self) -> dict[str, bool]:
        """Which of the paper's ideas this network has."""
        encoders = [part for part in self.modules() if isinstance(part, AxisEncoder)]
        found = (
            bool(encoders),
            any(part.auxiliary for part in encoders),
            len(self.blocks[0].branches) > 1,
            self.skips.dense,
            len(self.post) > 0,
        )
        return dict(zip(IDEAS, found, strict=True))

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values on a tensor grid -> values on the same grid."""
        if target.key != source.key:
            raise InvalidInputError("the published form gives its output on the input's own grid; leave `at` out")
        along = source.axes
        if along is None and source.dim == 1 and bool((source.points[1:] > source.points[:-1]).all()):
            along = (source.points[:, 0],)  # points of a line in their order are a grid
        if along is None or source.dim != self.dim or values.shape[-1] != self.in_channels:
            raise InvalidInputError(
                f"the published form takes {self.in_channels} channels on {self.dim}-D tensor grids, "
                f"got {values.shape[-1]} on {source}"
            )
        low, high = source.bounds.unbind(1)
        unit = [(x - low[i]) / (high[i] - low[i]) for i, x in enumerate(along)]
        axes = [x.to(values)[:, None] for x in unit]
        places = torch.stack(torch.meshgrid(*unit, indexing="ij"), dim=-1).to(values)
        given = values.unflatten(1, source.shape)
        history = [self.lift(torch.cat([given, places.expand(len(values), *places.shape)], dim=-1))]
        for i, block in enumerate(self.blocks):
            a = self.skips.before(i, history)
            history.append(torch.relu(self.skips.beside(i, a, block(a, axes))))
        return self.project(self.post(self.skips.after(history))).flatten(1, self.dim)


def _choice(name: str, word: str, known: Mapping[str, Any]) -> Any:
    if word not in known:
        raise InvalidInputError(f"{name} must be one of {', '.join(known)}, got {word!r}")
    return known[word]

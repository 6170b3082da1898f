"""IAE-Net: a map between functions, on whatever points they are sampled."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Periodic
from iaenet.functions.geometry import (
    Geometry,
    distance_of,
    distance_to,
    measured,
    on_nodes,
    own_distance,
    with_channel,
)
from iaenet.functions.latent_grid import unit
from iaenet.models.base import IDEAS, Pair, infer_shape
from iaenet.models.grid_model import GridModel, Group, as_shape
from iaenet.models.linear_start import start_of
from iaenet.models.presets import for_pairs, preset_sizes
from iaenet.models.query_head import Head, input_at
from iaenet.nn.block import IAEBlock, Skips
from iaenet.nn.branches import Branch, Fourier, PointIAE, SpectralConv, SpectralIAE, from_plain, to_plain
from iaenet.nn.coordinates import HARMONICS, coordinate_count
from iaenet.nn.kernels import Kernel
from iaenet.nn.pointwise import linear
from iaenet.nn.spectral import FourierLayer
from iaenet.nn.transform import Grid, shifted

POST_LAYERS = 2  # Fourier layers of G
PIECE = 2**16  # points that a head works on at a time, of all functions, when no gradient is wanted


class IAENet(GridModel):
    """`f -E-> a_0 -IAE_1-> a_1 ... -IAE_L-> a_L -G-> -D-> g` (section iaenet), all but E and D on one latent grid.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim: dimension d of the domain.
        periodic: which axes are periodic; one flag, or one per axis.
        grid: points along each axis of the latent grid; one number, or one per axis.
        width: channels c of the intermediate functions.
        blocks: number L of IAE blocks. With 0 there is no latent grid: all is done by the kernels of the head.
        branches: of each block, see `nn.branches`; objects, or their names and numbers. Default: the paper's two,
            integral autoencoders in the original and in the Fourier domain, and a spectral convolution.
        skips: "dense" (eq. densenet), "residual" (eq. resnet) or "none".
        post: harmonics kept by the two Fourier layers of the post-processing G; 0 leaves G out.
        head: features that are read off at the query points and go, with the input's value and the coordinates there,
            through a pointwise network; `Head(32, kernels=PointIAE(...))` has learned kernels on the points, too.
            0: the output itself is read off, for functions that the grid resolves.
        linear_start: harmonics of the best linear map from input to output, which `initialise` finds in closed form;
            the network learns the rest. 0 for none; "auto": on a line, if it leaves at most a fifth of such samples;
            "identity": the input itself, so that the network learns the change, for steps in time.
        geometry: what the network is told of the sample's domain, as further channels on the grid: its "measure", the
            "distance" to its boundary, which a head sees at the query points, too. For domains that are not the box.
        smoothing: of the projection of point sets, see `Projection`; above 1 for functions with noise or jumps.

    >>> from iaenet import Discretization, Field
    >>> model = IAENet(in_channels=1, out_channels=1, periodic=True)
    >>> grid = Discretization.uniform(64, periodic=True)
    >>> field = Field(grid, torch.sin(2 * torch.pi * grid.points).float())
    >>> model(field).values.shape
    torch.Size([64, 1])
    >>> model(field, at=Discretization.points([[0.3], [0.55]], periodic=True)).values.shape
    torch.Size([2, 1])
    """

    autocast = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        grid: int | Sequence[int] | None = None,
        width: int = 32,
        blocks: int = 4,
        branches: Sequence[Branch | Mapping[str, Any]] | None = None,
        skips: Skips = "dense",
        post: int = 0,
        head: int | Head | Mapping[str, Any] = 0,
        linear_start: int | Literal["auto", "identity"] = 0,
        geometry: Sequence[Geometry] = (),
        smoothing: float = 1.0,
    ) -> None:
        super().__init__(in_channels, out_channels, dim, periodic, grid, smoothing, HARMONICS[min(dim, 3)])
        self.geometry = tuple(geometry)
        if not set(self.geometry) <= set(get_args(Geometry)):
            raise InvalidInputError(f"geometry is any of {get_args(Geometry)}, got {list(self.geometry)}")
        chosen = _default(self.grid) if branches is None else [from_plain(one) for one in branches]
        asked: Head | None = (Head(head) if head else None) if isinstance(head, int) else from_plain(head)
        if not blocks and (asked is None or asked.kernels is None or post or linear_start):
            raise InvalidInputError(
                "without blocks there is no latent grid: give a head with kernels, and no post or linear_start"
            )
        self.options |= {"branches": [to_plain(one) for one in chosen], "head": to_plain(asked) if asked else 0}
        known = in_channels + len(self.geometry)
        coordinates = coordinate_count(self.periodic, self.harmonics)
        if blocks:
            self.lift = linear(known + coordinates, width)
            made = [IAEBlock(width, self.grid, chosen, skips=skips, inputs=i + 1) for i in range(blocks)]
            self.blocks: Sequence[IAEBlock] = nn.ModuleList(made)  # type: ignore[assignment]
            layers = [
                FourierLayer(width, self.grid.held(post), self.periodic, last=i == POST_LAYERS - 1)
                for i in range(POST_LAYERS if post else 0)
            ]
            for layer in layers:
                layer.convolution.transform(self.grid.shape)  # made here, and not in a call that is traced
            self.post: Sequence[FourierLayer] = nn.ModuleList(layers)  # type: ignore[assignment]
        else:
            self.blocks, self.post = [], []
        self.head = None
        if asked is not None:
            seen = in_channels + ("distance" in self.geometry)
            self.head = asked.build(seen, width if blocks else 0, out_channels, self.periodic)
        if self.head is None:
            self.project = nn.Sequential(linear(width, width), nn.GELU(), linear(width, out_channels))
        self.linear_start, self.worth = start_of(linear_start, known, out_channels, self.grid)

    @classmethod
    def from_preset(
        cls,
        name: Literal["small", "base", "published"],
        *,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        grid: int | Sequence[int] | None = None,
        **options: Any,
    ) -> nn.Module:
        """A network of a named size: `small`, `base`, or `published` (the paper's own form, see `PublishedIAENet`).

        >>> sum(p.numel() for p in IAENet.from_preset("small", in_channels=1, out_channels=1).parameters()) < 10**6
        True
        """
        if name == "published":
            from iaenet.models.published import PublishedIAENet

            return PublishedIAENet(in_channels, out_channels, dim, periodic, **options)
        shape = as_shape(grid, dim)
        flags = (periodic,) * dim if isinstance(periodic, bool) else tuple(periodic)
        sizes = preset_sizes(name, Grid(shape, flags)) | options
        return cls(in_channels, out_channels, dim, periodic, grid=list(shape), **sizes)

    @classmethod
    def for_data(cls, data: Sequence[Pair], *, preset: str = "small", **options: Any) -> "IAENet":
        """The network of a preset for such pairs, see `presets.for_pairs`; options replace what that chooses."""
        chosen = for_pairs(data, preset) | ({} if options.get("blocks", 1) else {"linear_start": 0}) | options
        network: Any = cls.from_preset(preset, **infer_shape(data), **chosen)  # type: ignore[arg-type]
        return network

    @property
    def ideas(self) -> dict[str, bool]:
        """Which of the paper's ideas this network has; matrices between coefficients count as kernels."""
        parts = [from_plain(one) for one in self.options["branches"]] if self.blocks else []
        points = any(isinstance(one, PointIAE) for one in parts)
        spectral = [one.basis for one in parts if isinstance(one, SpectralIAE)]
        kernels = [one for one in self.modules() if isinstance(one, Kernel)]
        found = (
            bool(kernels or spectral),
            any(one.value is not None for one in kernels),
            points and any(isinstance(basis, Fourier) for basis in spectral),
            self.options["skips"] == "dense" and len(self.blocks) > 1,
            len(self.post) > 0,
        )
        return dict(zip(IDEAS, found, strict=True))

    def encode(self, group: Group) -> Tensor:
        """E: the input on the latent grid, and what is told of the domain there: `(b, s, c)`."""
        if not self.blocks:
            return group.values.new_zeros(sum(group.counts), 0, 0)
        found = super().encode(group)
        for what in self.geometry:
            found = with_channel(found, on_nodes(self.latent, what, group.source))
        return found

    def known(
        self,
        latent: Tensor,
        points: Tensor,
        weights: Tensor,
        boundary: Tensor | None = None,
        bounded: Tensor | None = None,
    ) -> Tensor:
        """What `on_grid` takes, for functions on the grid that were given at points of the unit box."""
        for what in self.geometry:
            if what == "measure":
                function = self.latent.measure_of(points, weights, *measured(boundary, bounded, weights.sum()))
            else:
                function = distance_to(boundary, self.latent.coordinates.to(points), self.periodic, bounded)
            latent = with_channel(latent, function)
        return latent

    def on_grid(self, values: Tensor) -> Tensor:
        """`IAE_1 ... IAE_L` and G on the latent grid: `(b, s, c)` -> what D reads off."""
        if not self.blocks:
            return values
        if self.training and self.head is not None and self.head.shifts:
            by = torch.rand(len(self.periodic), device=values.device) - 0.5  # cells
            return shifted(self._network(shifted(values, self.grid, by)), self.grid, -by)
        return self._network(values)

    def _network(self, values: Tensor) -> Tensor:
        history = [self.lift(torch.cat([values, self.coordinates(values)], dim=-1))]
        for block in self.blocks:
            history.append(block(history))
        a = history[-1]
        for layer in self.post:
            a = layer(a, self.grid.shape)
        found = self.project(a) if self.head is None else self.head.features(a)
        if self.linear_start is None:
            return found
        start = self.linear_start(values)
        if self.head is None:
            return torch.addcmul(start, self.linear_start.residual, found)
        return torch.cat([found, start], dim=-1)

    def decode(self, values: Tensor, group: Group) -> Tensor:
        """D: what is read off at the query points, and the head's pointwise network there."""
        if self.head is None:
            return super().decode(values, group)
        here = group.values
        same = group.target is group.source or group.target.key == group.source.key
        there = here if same else input_at(group.target, group.fields, self.latent if self.blocks else None)
        points, weights = unit(group.source, group.source)
        query, _ = unit(group.target, group.source)
        if "distance" in self.geometry:
            here = with_channel(here, own_distance(group.source))
            there = here if same else with_channel(there, distance_of(group.source, group.target))
        code = self.head.encode(here, points, weights)
        along = self.blocks and group.target.axes is not None  # read off axis by axis, all points at once
        read = self.latent.read_off(values, group.target, group.source) if along else None
        if torch.is_grad_enabled():
            return self.at(values, there, code, query, read)
        step = max(1, PIECE // len(here))  # a head has many features for each point: some points at a time
        rows = [slice(start, start + step) for start in range(0, len(query), step)]
        known = [None if read is None else read[:, some] for some in rows]
        pieces = zip(rows, known, strict=True)
        return torch.cat([self.at(values, there[:, some], code, query[some], part) for some, part in pieces], dim=1)

    def at(self, values: Tensor, there: Tensor, code: Tensor | None, query: Tensor, read: Any = None) -> Tensor:
        """D with a head at query points `(m, d)` of the unit box, where the input is `there (b, m, c)`.

        What is read off of `values` there can be given, if it is known.
        """
        assert self.head is not None
        if not self.blocks:
            return self.head(there, None, code, query)
        read = self.latent.read(values, query) if read is None else read
        if self.linear_start is None:
            return self.head(there, read, code, query)
        features, start = read.split([read.shape[-1] - self.out_channels, self.out_channels], dim=-1)
        return torch.addcmul(start, self.linear_start.residual, self.head(there, features, code, query))


def _default(grid: Grid) -> list[Branch]:
    along, modes = {1: (64, 24), 2: (16, 12)}.get(len(grid.shape), (8, 4))
    return [PointIAE(along), SpectralIAE(Fourier(modes), along ** len(grid.shape)), SpectralConv(modes)]

"""IAE-Net: a map between functions, on whatever points they are sampled."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization, Periodic
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.functions.latent_grid import LatentGrid, best_smoothing, unit
from iaenet.models.base import Pair, infer_shape
from iaenet.models.grid_model import GridModel, Group, as_shape, latent_shape
from iaenet.models.linear_start import LinearStart
from iaenet.models.presets import preset_sizes
from iaenet.nn.block import IAEBlock, Skips
from iaenet.nn.branches import Branch, Fourier, PointIAE, SpectralConv, SpectralIAE, from_plain, to_plain
from iaenet.nn.coordinates import coordinate_count, coordinate_features
from iaenet.nn.iae import IAE
from iaenet.nn.kernels import Sites
from iaenet.nn.pointwise import full_precision, linear
from iaenet.nn.spectral import FourierLayer
from iaenet.nn.transform import Grid

HARMONICS = {1: 1, 2: 3, 3: 2}  # frequencies in which coordinates enter the lift, by dimension
AUTO_MODES = 24  # of a linear start by "auto", on a line
QUICK = 1024  # coefficients of an input up to which "auto" has one: the fit takes seconds
WORTH = 0.2  # what "auto" lets a linear start leave of held-out samples, as a share of their size (docs/research.md)
POST_LAYERS = 2  # Fourier layers of G
ROUGH = 0.015  # what a grid of a few points less may leave of outputs that are read off without a head
LOOKED_AT = 64  # outputs, at most, that this is judged by
PIECE = 2**16  # points that a head works on at a time, of all functions, when no gradient is wanted


class IAENet(GridModel):
    """`f -E-> a_0 -IAE_1-> a_1 ... -IAE_L-> a_L -G-> -D-> g` (section iaenet), all but E and D on one latent grid.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim: dimension d of the domain.
        periodic: which axes are periodic; one flag, or one per axis.
        grid: points along each axis of the latent grid; one number, or one per axis.
        width: channels c of the intermediate functions.
        blocks: number L of IAE blocks. With 0 there is no latent grid: all is done by `kernels`.
        branches: of each block, see `nn.branches`; objects, or their names and numbers. Default: the paper's two,
            integral autoencoders in the original and in the Fourier domain, and a spectral convolution.
        skips: "dense" (eq. densenet), "residual" (eq. resnet) or "none".
        post: harmonics kept by the two Fourier layers of the post-processing G; 0 leaves G out.
        head: features that are read off at the query points and go, with the input's value and the coordinates there,
            through a pointwise network. 0: the output itself is read off, for functions that the grid resolves.
        kernels: the learned part of E and D beside the projection: an integral autoencoder on the points themselves,
            for functions that no grid resolves. Needs a head.
        linear_start: harmonics of the best linear map from input to output, which `initialise` finds in closed form;
            the network learns the rest. 0 for none; "auto": on a line, if it leaves at most a fifth of such samples.
        measure: the domain's measure on the grid is one more channel of the input, for domains that are not the box.
        smoothing: of the projection of point sets, see `Projection`; above 1 for functions with noise or jumps.

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
        head: int = 0,
        kernels: PointIAE | Mapping[str, Any] | None = None,
        linear_start: int | Literal["auto"] = 0,
        measure: bool = False,
        smoothing: float = 1.0,
    ) -> None:
        super().__init__(in_channels, out_channels, dim, periodic, grid, smoothing)
        self.measure = measure
        self.harmonics = HARMONICS[min(dim, 3)]
        chosen = _default(self.grid) if branches is None else [from_plain(one) for one in branches]
        learned: PointIAE | None = from_plain(kernels)
        if not (learned is None or isinstance(learned, PointIAE)):
            raise InvalidInputError(f"kernels are a PointIAE, got {learned!r}")
        if learned is not None and not head:
            raise InvalidInputError("kernels work at the points themselves: give a head, too")
        if not blocks and (learned is None or post or linear_start):
            raise InvalidInputError("without blocks there is no latent grid: give kernels, and no post or linear_start")
        self.options |= {"branches": [to_plain(one) for one in chosen], "kernels": to_plain(learned)}
        known = in_channels + measure
        coordinates = coordinate_count(self.periodic, self.harmonics)
        if blocks:
            self.lift = linear(known + coordinates, width)
            made = [IAEBlock(width, self.grid, chosen, skips=skips, inputs=i + 1) for i in range(blocks)]
            self.blocks: Sequence[IAEBlock] = nn.ModuleList(made)  # type: ignore[assignment]
            layers = [
                FourierLayer(width, self.grid.held(post), self.periodic, last=i == POST_LAYERS - 1)
                for i in range(POST_LAYERS if post else 0)
            ]
            self.post: Sequence[FourierLayer] = nn.ModuleList(layers)  # type: ignore[assignment]
        else:
            self.blocks, self.post = [], []
        self.head = (
            Head(in_channels, width if blocks else 0, head, out_channels, self.periodic, learned) if head else None
        )
        if not head:
            self.project = nn.Sequential(linear(width, width), nn.GELU(), linear(width, out_channels))
        modes, self.worth = _start(linear_start, known, self.grid)
        self.linear_start = LinearStart(known, out_channels, modes, self.grid) if modes else None

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

            return PublishedIAENet(in_channels, out_channels, dim)
        shape = as_shape(grid, dim)
        flags = (periodic,) * dim if isinstance(periodic, bool) else tuple(periodic)
        sizes = preset_sizes(name, Grid(shape, flags)) | options
        return cls(in_channels, out_channels, dim, periodic, grid=list(shape), **sizes)

    @classmethod
    def for_data(cls, data: Sequence[Pair], *, preset: str = "small", **options: Any) -> "IAENet":
        """The network of a preset for such pairs, on a grid like theirs; options replace those of the preset.

        Where the inputs' points do not fill the box, the domain's measure is a channel. The smoothing of point sets is
        that which finds inputs at half of their points best from the other half. The output has a head in 2-D
        and 3-D where inputs are given on points, and wherever outputs have much that a grid of a few points less along
        each axis does not hold: shocks, edges.
        """
        shape = infer_shape(data)
        chosen: dict[str, Any] = {"grid": list(latent_shape(data))}
        if any(not _fills_box(given.discretization) for given, _ in data):
            chosen |= {"measure": True}
        chosen["smoothing"] = best_smoothing([given for given, _ in data], chosen["grid"], shape["periodic"])
        scattered = any(given.discretization.axes is None for given, _ in data)
        if (scattered and shape["dim"] > 1) or (not scattered and unresolved([wanted for _, wanted in data]) > ROUGH):
            chosen |= {"head": 32}
        network: Any = cls.from_preset(preset, **shape, **chosen | options)  # type: ignore[arg-type]
        return network

    def initialise(self, data: Sequence[Pair]) -> None:
        """Fit the linear start, if there is one, to pairs of the training."""
        start = self.linear_start
        if start is None:
            return
        for i, (given, wanted) in enumerate(data):
            self.check_domain(f"sample {i}", given.discretization, wanted.discretization)
        with torch.no_grad():
            inputs = [self.encode(Group([0], [given], given.discretization, given.discretization)) for given, _ in data]
            outputs = [
                self.latent.encode(wanted.discretization, wanted.values if wanted.batched else wanted.values[None])
                for _, wanted in data
            ]
        if start.fit(inputs, outputs, self.worth):
            for block in self.blocks:
                for branch in block.branches:
                    branch.initialise(start.maps, start.modes)

    def encode(self, group: Group) -> Tensor:
        """E: the input on the latent grid and, if that is a channel, the domain's measure: `(b, s, c)`."""
        if not self.blocks:
            return group.values.new_zeros(sum(group.counts), 0, 0)
        found = super().encode(group)
        return with_channel(found, self.latent.measure(group.source)) if self.measure else found

    def known(self, latent: Tensor, points: Tensor, weights: Tensor) -> Tensor:
        """What `on_grid` takes, for functions on the grid that were given at points of the unit box."""
        return with_channel(latent, self.latent.measure_of(points, weights)) if self.measure else latent

    def on_grid(self, values: Tensor) -> Tensor:
        """`IAE_1 ... IAE_L` and G on the latent grid: `(b, s, c)` -> what D reads off."""
        if not self.blocks:
            return values
        history = [self.lift(torch.cat([values, self.coordinates(self.harmonics, values)], dim=-1))]
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
        there = here if same else self._values_at(here, group)
        code = self.head.encode(here, *unit(group.source, group.source))
        query, _ = unit(group.target, group.source)
        if torch.is_grad_enabled():
            return self.at(values, there, code, query)
        step = max(1, PIECE // len(here))  # a head has many features for each point: some points at a time
        rows = [slice(start, start + step) for start in range(0, len(query), step)]
        return torch.cat([self.at(values, there[:, some], code, query[some]) for some in rows], dim=1)

    def at(self, values: Tensor, there: Tensor, code: Tensor | None, query: Tensor) -> Tensor:
        """D with a head at query points `(m, d)` of the unit box, where the input is `there (b, m, c)`."""
        assert self.head is not None
        if not self.blocks:
            return self.head(there, None, code, query)
        read = self.latent.read(values, query)
        if self.linear_start is None:
            return self.head(there, read, code, query)
        features, start = read.split([read.shape[-1] - self.out_channels, self.out_channels], dim=-1)
        return torch.addcmul(start, self.linear_start.residual, self.head(there, features, code, query))

    def _values_at(self, values: Tensor, group: Group) -> Tensor:
        """The input at the query points: its projection there, and what the projection leaves, interpolated."""
        if not self.blocks:
            return interpolate(Field.unchecked(group.source, values), group.target).values
        latent = super().encode(group)
        rest = values - self.latent.read_off(latent, group.source)
        near = interpolate(Field.unchecked(group.source, rest), group.target).values
        return self.latent.read_off(latent, group.target, group.source) + near


class Head(nn.Module):
    """`g(x) = P_2 sigma(P_1 sigma(A [f(x), xi(x)] + V u(x) + b(x)))` at the query points.

    u is what is read off the latent grid, xi the coordinates, and b, if there are `kernels`, the output of an integral
    autoencoder on `a = A [f, xi]` at the input's own points: the learned part of E and D.
    """

    def __init__(
        self,
        in_channels: int,
        width: int,
        size: int,
        out_channels: int,
        periodic: tuple[bool, ...],
        kernels: PointIAE | None,
    ) -> None:
        super().__init__()
        self.periodic = periodic
        self.harmonics = kernels.harmonics if kernels is not None else HARMONICS[min(len(periodic), 3)]
        self.own = linear(in_channels + coordinate_count(periodic, self.harmonics), size)
        self.features = linear(width, size) if width else nn.Identity()
        self.project = nn.Sequential(nn.GELU(), linear(size, size), nn.GELU(), linear(size, out_channels))
        self.iae = None
        if kernels is not None:
            if kernels.axiswise:
                raise InvalidInputError("kernels on any points cannot work axis by axis")
            count = [coordinate_count((wraps,), kernels.harmonics) for wraps in periodic]
            self.iae = IAE(size, count, (kernels.latent,) * len(periodic), kernels.rank, **kernels.options)
            self.merge = linear(size, size, bias=False)
            with torch.no_grad():
                self.merge.weight *= 0.25  # as the branches of a block

    def encode(self, here: Tensor, points: Tensor, weights: Tensor) -> Tensor | None:
        """The learned transform of E: input values `(b, n, c)` at its points -> the code of the kernels, if any."""
        if self.iae is None:
            return None
        sites = Sites(self._features(points, here), weights.to(here))
        code, _ = self.iae.encode(self._lift(here, sites.coordinates), sites)
        with full_precision(code):
            return code @ self.merge.weight.T

    def forward(self, there: Tensor, read: Tensor | None, code: Tensor | None, query: Tensor) -> Tensor:
        """Input values `(b, m, c)` at query points, features read off there, the kernels' code -> `(b, m, c')`."""
        features = self._features(query, there)
        own = self._lift(there, features)
        total = own if read is None else own + read
        if self.iae is not None and code is not None:
            total = total + self.iae.decode(code, own, Sites(features, features[:, 0]))  # decoders need no weights
        return self.project(total)

    def _features(self, points: Tensor, like: Tensor) -> Tensor:
        return coordinate_features(points, self.periodic, self.harmonics).to(like)

    def _lift(self, values: Tensor, features: Tensor) -> Tensor:
        return self.own(torch.cat([values, features.expand(len(values), -1, -1)], dim=-1))


def with_channel(values: Tensor, function: Tensor) -> Tensor:
    """A function `(s, 1)` as one more channel of values `(b, s, c)`."""
    return torch.cat([values, function.to(values).expand(len(values), -1, -1)], dim=-1)


def _default(grid: Grid) -> list[Branch]:
    along, modes = {1: (64, 24), 2: (16, 12)}.get(len(grid.shape), (8, 4))
    return [PointIAE(along), SpectralIAE(Fourier(modes), along ** len(grid.shape)), SpectralConv(modes)]


def _start(given: int | Literal["auto"], channels: int, grid: Grid) -> tuple[int, float]:
    """Modes of the linear start, and what it may leave."""
    if given != "auto":
        return grid.held(given), 1.0
    modes = grid.held(AUTO_MODES)
    quick = len(grid.shape) == 1 and channels * (2 * modes + 1) <= QUICK
    return (modes if quick else 0), WORTH


def unresolved(outputs: Sequence[Field]) -> float:
    """What a grid of four fifths of the points along each axis leaves of functions, as a share of their size.

    >>> grid = Discretization.uniform(32, periodic=True)
    >>> wave, shock = torch.cos(2 * torch.pi * grid.points), torch.sign(grid.points - 0.4)
    >>> unresolved([Field(grid, wave)]) < 1e-9, unresolved([Field(grid, shock)]) > 0.05
    (True, True)
    """
    rest = size = 0.0
    for field in outputs[:: max(1, len(outputs) // LOOKED_AT)]:
        where, values = field.discretization, field.values[:LOOKED_AT] if field.batched else field.values[None]
        if where.axes is None or min(where.shape) < 8:
            continue
        fewer = LatentGrid([-(-4 * count // 5) for count in where.shape], where.periodic)
        rest += float((values - fewer.read_off(fewer.encode(where, values), where)).double().square().sum())
        size += float(values.double().square().sum())
    return (rest / size) ** 0.5 if size else 0.0


def _fills_box(where: Discretization) -> bool:
    """Whether the weights add up to the volume of the box."""
    return where.axes is not None or abs(float(where.weights.sum()) / where.volume - 1) < 0.01

"""IAE-Net: a map between functions, on whatever points they are sampled."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, overload

import torch
from torch import Tensor, nn

from iaenet.block import IAEBlock, Layer
from iaenet.discretization import Discretization, Periodic
from iaenet.domain import Domain, Fourier, Identity, Wavelet
from iaenet.errors import InvalidInputError
from iaenet.field import Field
from iaenet.geometry import coordinate_count, geometry_in
from iaenet.linear_path import LinearPath
from iaenet.model import Model, Pair, asked, groups, shape_of
from iaenet.pointwise import full_precision, linear
from iaenet.refine import among, refined
from iaenet.resample import interpolate
from iaenet.sites import Piece, lifted, pass_through, total
from iaenet.sizes import PRESETS, WORTH, sizes_of
from iaenet.spectral import FourierLayer

Skips = Literal["dense", "residual", "none"]


class Group(NamedTuple):
    """Functions that share their points: which of the call's fields, where from and where to."""

    members: list[int]
    counts: list[int]  # functions in each member
    at: Discretization
    source: list[Piece]
    goal: list[Piece]  # the same object as `source` if all points that are asked for are among the input's
    places: Tensor | None  # which of the goal's points are asked for; None for all


class IAENet(Model):
    """`f -F-> a_0 -IAE_1-> a_1 ... -IAE_L-> a_L -G-> g` (section iaenet).

    Args:
        in_channels, out_channels: components of the input and output function.
        dim: dimension d of the domain.
        periodic: which axes are periodic; one flag, or one per axis.
        width: channels c of the intermediate functions.
        latent: latent points m per axis.
        rank: hidden width r of the kernel networks.
        blocks: number L of IAE blocks.
        modes: harmonics of the period kept by the Fourier branch, per axis (a closed axis counts half periods). A
            uniform grid that does not hold them is refined first (docs/maths.md, no. 15).
        domains: one branch each: "identity", "fourier", "wavelet", or a domain of your own.
        skips: "dense" (eq. densenet), "residual" (eq. resnet) or "none".
        post_blocks: Fourier layers of the post-processing G; 0 leaves G out.
        post_modes: harmonics kept by G.
        harmonics: frequencies in which coordinates enter kernels and lift, see `coordinate_features`.
        axiswise: transform tensor grids axis by axis (the paper's 2-layer IAE); such a network takes no other points.
        auxiliary: kernels see function values; False gives the paper's linear kernels.
        channel_mlp: channel MLP on the latent values.
        depth: hidden layers of phi_0, phi_1 and phi_2 (the paper's deep block has 4).
        dense: phi_0 mixes all latent points with full matrices instead of axis by axis; no difference for d = 1.
        direct: harmonics of a linear path beside the branches, with a matrix for each; 0 for none. Default: as
            `modes` if there is a Fourier branch.
        rasters: points per axis of grids of the network's own; on each, a branch of small convolutions works. Uniform
            grids that are coarser are refined first.
        kernel: width of these convolutions in points of the raster, odd.
        levels: how often the finest raster is halved and doubled again, as in a U-Net, with twice the channels each
            time up to 8 times `width`. 0 for two convolutions on the raster itself.
        attention: layers of attention between the points of the first level that has at most 128 of them, in each
            block; its channels must be a multiple of 32. For functions whose distant parts are alike: heartbeats.
        groups: the full linear map between coefficients of a Fourier or wavelet branch, which all channels share, is
            one for each of so many groups of channels instead. `width` is a multiple of it.
        linear_path: harmonics of the best linear map from input to output, which `for_data` finds in closed form before
            the training; the network learns the rest. 0 for none (docs/maths.md, no. 17).
        recompute: training batches of more points than this (b n in all) keep only the layers' outputs and compute the
            rest again for the gradient, some points at a time: a third more time, several times less memory.

    >>> model = IAENet(in_channels=1, out_channels=1, periodic=True)
    >>> grid = Discretization.uniform(64, periodic=True)
    >>> field = Field(grid, torch.sin(2 * torch.pi * grid.points).float())
    >>> model(field).values.shape
    torch.Size([64, 1])
    >>> model(field, at=Discretization.points([[0.3], [0.55]], periodic=True)).values.shape
    torch.Size([2, 1])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        width: int = 32,
        latent: int = 64,
        rank: int = 64,
        blocks: int = 4,
        modes: int = 24,
        domains: Sequence[str | Domain | Identity] = ("identity", "fourier"),
        skips: Skips = "dense",
        post_blocks: int = 2,
        post_modes: int = 16,
        harmonics: int = 1,
        axiswise: bool = False,
        auxiliary: bool = True,
        channel_mlp: bool = True,
        depth: int = 1,
        dense: bool = False,
        direct: int | None = None,
        rasters: Sequence[int] = (),
        kernel: int = 3,
        levels: int = 0,
        attention: int = 0,
        groups: int = 1,
        linear_path: int = 0,
        recompute: int = 32768,
    ) -> None:
        super().__init__()
        self.recompute = recompute
        self.raster = max(rasters, default=0)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.periodic = (periodic,) * dim if isinstance(periodic, bool) else tuple(periodic)
        self.harmonics = harmonics
        self.axiswise = axiswise
        if len(self.periodic) != dim:
            raise InvalidInputError(f"periodic must be one flag or {dim} of them, got {len(self.periodic)}")
        if groups < 1 or width % groups:
            raise InvalidInputError(f"groups must divide the width {width}, got {groups}")
        if kernel < 1 or kernel % 2 == 0:
            raise InvalidInputError(f"kernel must be odd, got {kernel}")
        if min(levels, attention) < 0:
            raise InvalidInputError(f"levels and attention must not be negative, got {levels} and {attention}")
        if levels and not rasters:
            raise InvalidInputError("levels are those of a raster: give rasters, too")
        if attention and not levels:
            raise InvalidInputError("attention is on a level of a raster: give levels, too")
        if skips not in ("dense", "residual", "none"):
            raise InvalidInputError(f"skips must be 'dense', 'residual' or 'none', got {skips!r}")
        branches = [_domain(domain, modes) for domain in domains]
        if direct is None:
            direct = modes if any(isinstance(branch, Fourier) for branch in branches) else 0
        bands = [getattr(branch, "modes", 0) for branch in branches]
        self.band = max(post_modes if post_blocks else 0, direct, linear_path, *bands)
        coordinates = coordinate_count(self.periodic, harmonics)
        self.lift = linear(in_channels + coordinates, width)
        made: list[Layer] = [
            IAEBlock(
                width,
                self.periodic,
                branches,
                latent,
                rank,
                inputs=i + 1 if skips == "dense" else 1,
                residual=skips == "residual",
                harmonics=harmonics,
                axiswise=axiswise,
                direct=direct,
                rasters=rasters,
                kernel=kernel,
                levels=levels,
                attention=attention,
                groups=groups,
                auxiliary=auxiliary,
                channel_mlp=channel_mlp,
                depth=depth,
                dense=dense,
            )
            for i in range(blocks)
        ]
        made += [FourierLayer(width, post_modes, self.periodic, last=i == post_blocks - 1) for i in range(post_blocks)]
        self.layers: Sequence[Layer] = nn.ModuleList(made)  # type: ignore[assignment, arg-type]
        self.project = nn.Sequential(linear(width, width), nn.GELU(), linear(width, out_channels))
        self.linear_path = LinearPath(in_channels, out_channels, linear_path, self.periodic) if linear_path else None

    @classmethod
    def from_preset(
        cls,
        name: Literal["small", "base", "published"],
        *,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
    ) -> nn.Module:
        """A network of a named size: `small`, `base`, or `published` (the paper's own form, see `PublishedIAENet`).

        >>> sum(p.numel() for p in IAENet.from_preset("small", in_channels=1, out_channels=1).parameters()) < 10**6
        True
        """
        if name == "published":
            from iaenet.published import PublishedIAENet

            return PublishedIAENet(in_channels, out_channels, dim)
        if name not in PRESETS:
            raise InvalidInputError(f"no preset {name!r}; there are {', '.join([*PRESETS, 'published'])}")
        return cls(in_channels, out_channels, dim, periodic, **sizes_of(name, in_channels, dim, periodic))

    @classmethod
    def for_data(cls, data: Sequence[Pair], *, preset: Literal["small", "base"] = "small", **options: Any) -> "IAENet":
        """A network of a named size for such pairs; options replace those of the preset.

        A linear path that the preset has is left out where the map is far from linear.
        """
        shape = shape_of(data)
        if preset not in PRESETS:
            raise InvalidInputError(f"no preset {preset!r}; there are {', '.join(PRESETS)}")
        sizes = sizes_of(preset, shape["in_channels"], shape["dim"], shape["periodic"]) | options
        path = None
        if sizes.get("linear_path"):
            path = LinearPath(shape["in_channels"], shape["out_channels"], sizes["linear_path"], shape["periodic"])
            path.fit(data)
            if "linear_path" not in options and float(path.left) > WORTH:
                path, sizes["linear_path"] = None, 0
        network = cls(**shape, **sizes)
        if path is not None:
            network.linear_path = path
            for layer in network.layers:
                if isinstance(layer, IAEBlock):
                    layer.begin_with(path.maps)
        return network

    @overload
    def forward(self, field: Field, at: Discretization | None = None, chunk: int | None = None) -> Field: ...
    @overload
    def forward(
        self, field: Sequence[Field], at: Sequence[Discretization] | None = None, chunk: int | None = None
    ) -> list[Field]: ...
    def forward(self, field: Any, at: Any = None, chunk: int | None = None) -> Any:
        """The output function of each input function.

        Args:
            field: a field, or a list of fields on any discretizations (a ragged batch).
            at: where to evaluate the output, one per field; the input's own points if not given. The input's values
                there, which pointwise paths need, are interpolated, so that `model(f, at=d)` and `model(f)` agree
                wherever points coincide.
            chunk: most points to work on at a time. Same result, memory for little more than the layers' outputs.
        """
        single = isinstance(field, Field)
        fields, targets = asked(field, at)
        batches = [len(f.values) if f.batched else 1 for f in fields]
        points = sum(b * f.values.shape[-2] for b, f in zip(batches, fields, strict=True))
        lean = chunk is not None or (torch.is_grad_enabled() and points > self.recompute)
        if lean and chunk is None:
            chunk = max(1, self.recompute // (2 * max(batches)))
        made = self._grouped(fields, targets, chunk)
        results: list[Field | None] = [None] * len(fields)
        for group, values in zip(made, self._run(made, lean), strict=True):
            for i, part in zip(group.members, values.split(group.counts), strict=True):
                results[i] = Field.unchecked(group.at, part if fields[i].batched else part[0])
        return results[0] if single else results

    @torch.compiler.disable
    def _grouped(self, fields: list[Field], at: list[Discretization], chunk: int | None) -> list[Group]:
        """Functions on the same points, asked for at the same points, run as one group."""
        for i, (f, target) in enumerate(zip(fields, at, strict=True)):
            self.check(i, f)
            self._check(i, f, target)
        made = []
        for some in groups(fields, at):
            stacked, target, places = _stacked([fields[i] for i in some]), at[some[0]], None
            with full_precision(stacked.values):
                fine = refined(stacked, self.band, self.raster)
                source = goal = self._pieces(fine, stacked.discretization, chunk)
                if target.key != fine.discretization.key:
                    places = among(target, fine.discretization)
                    if places is None:
                        goal = self._pieces(interpolate(stacked, target), stacked.discretization, chunk, asked=True)
            counts = [len(fields[i].values) if fields[i].batched else 1 for i in some]
            made.append(Group(some, counts, target, source, goal, places))
        return made

    def _pieces(self, field: Field, source: Discretization, chunk: int | None, asked: bool = False) -> list[Piece]:
        geometry = geometry_in(source, field.discretization, field.values.dtype, asked)
        if chunk is not None:
            return [(field.values[:, places], piece) for places, piece in geometry.chunks(chunk)]
        for layer in self.layers:
            geometry.prepare(self.harmonics, layer.bases)
        return [(field.values, geometry)]

    def _run(self, groups: list[Group], lean: bool) -> list[Tensor]:
        """The network on groups of functions."""
        sources = [lifted(g.source, self.lift, self.harmonics, lean) for g in groups]
        goals = [
            own if g.goal is g.source else lifted(g.goal, self.lift, self.harmonics, lean)
            for g, own in zip(groups, sources, strict=True)
        ]
        if groups:
            pass_through(self.layers, sources, goals)
        found = [torch.cat([self.project(site.history[-1]) for site in goal], dim=1) for goal in goals]
        if self.linear_path is not None:
            found = [self._linear(one, group, self.linear_path) for one, group in zip(found, groups, strict=True)]
        return [one if g.places is None else one[:, g.places] for one, g in zip(found, groups, strict=True)]

    def _linear(self, found: Tensor, group: Group, path: LinearPath) -> Tensor:
        with full_precision(path.matrix):
            (coefficients,) = total([path.reduce(values, geometry)] for values, geometry in group.source)
            code = path.latent(coefficients)
            own = torch.cat([path.expand(code, geometry) for _, geometry in group.goal], dim=1)
            return torch.addcmul(own, path.left, found.to(own))

    def _check(self, i: int, field: Field, target: Discretization) -> None:
        for what, where in (("input", field.discretization), ("output", target)):
            if where.periodic != self.periodic:
                raise InvalidInputError(
                    f"field {i}: {what} is on a domain with periodic axes {where.periodic}, "
                    f"the network was built for {self.periodic} in {len(self.periodic)}-D"
                )
            if self.axiswise and where.axes is None:
                raise InvalidInputError(
                    f"field {i}: {what} is a point set, but an axiswise network needs tensor grids; "
                    "build it with axiswise=False to use any points"
                )


def _domain(given: str | Domain | Identity, modes: int) -> Domain | Identity:
    if not isinstance(given, str):
        return given
    made: dict[str, Domain | Identity] = {"identity": Identity(), "fourier": Fourier(modes), "wavelet": Wavelet()}
    if given not in made:
        raise InvalidInputError(f"no domain {given!r}; there are {', '.join(made)}, or give one of your own")
    return made[given]


def _stacked(fields: list[Field]) -> Field:
    """Fields on one discretization as one batched field."""
    values = [f.values if f.batched else f.values[None] for f in fields]
    return Field.unchecked(fields[0].discretization, values[0] if len(values) == 1 else torch.cat(values))

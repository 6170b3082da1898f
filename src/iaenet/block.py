"""The IAE block: integral autoencoders in several domains at once, merged point by point.

Every layer of the network has the same four steps, which is what makes ragged batches, other output points and
streaming one piece of code (`sites.py`):

    local    what a point knows by itself          pointwise
    reduce   what the layer must know of a function  a sum over points, any discretization
    latent   fixed-size computation
    expand   the new value at a point              pointwise, at any point
"""

import math
from collections.abc import Sequence
from typing import Protocol, TypedDict, Unpack

import torch
from torch import Tensor, nn

from iaenet.axiswise import AxiswiseDecoder, AxiswiseEncoder
from iaenet.coefficients import CoefficientIAE
from iaenet.convolution import RasterConvolutions
from iaenet.domain import Domain, Fourier, Identity, Raster
from iaenet.geometry import Basis, Geometry, Sites, coordinate_count
from iaenet.integral import IntegralDecoder, IntegralEncoder, KernelOptions
from iaenet.latent import LatentNetwork
from iaenet.levels import RasterLevels
from iaenet.pointwise import ChannelMLP, full_precision, linear
from iaenet.spectral import SpectralConvolution

Tensors = list[Tensor]


class Layer(Protocol):
    """The four steps of a layer, and the bases that it uses for analysis and synthesis."""

    @property
    def bases(self) -> Sequence[tuple[Basis, Basis]]:
        """Bases that are worth making ahead."""
        ...

    def local(self, history: Sequence[Tensor], geometry: Geometry) -> Tensors:
        """Earlier outputs `(b, n, c)` at some points -> the layer's input a there, and what else both passes need."""
        ...

    def reduce(self, local: Tensors, geometry: Geometry) -> Tensors:
        """What the layer must know of the function; a sum over points."""
        ...

    def latent(self, moments: Tensors) -> Tensors:
        """Fixed-size computation, first axis b."""
        ...

    def expand(self, codes: Tensors, local: Tensors, geometry: Geometry) -> Tensor:
        """The layer's output `(b, n, c)` at some points."""
        ...


class IAE(nn.Module):
    """Integral autoencoder `Phi: a -> v -> u -> b` (section iae): encoder, phi_0, decoder.

    `shape` is the latent grid, `rank` the hidden width r of both kernels. `axiswise` works along each axis in turn and
    needs tensor grids; otherwise any points will do.
    """

    def __init__(
        self,
        channels: int,
        coordinates: Sequence[int],
        shape: Sequence[int],
        rank: int,
        *,
        auxiliary: bool = True,
        channel_mlp: bool = True,
        depth: int = 1,
        dense: bool = False,
        axiswise: bool = False,
    ) -> None:
        super().__init__()
        options: KernelOptions = {"auxiliary": auxiliary, "depth": depth}
        self.encoder: IntegralEncoder | AxiswiseEncoder
        self.decoder: IntegralDecoder | AxiswiseDecoder
        if axiswise:
            self.encoder = AxiswiseEncoder(channels, coordinates, shape, rank, **options)
            self.decoder = AxiswiseDecoder(channels, coordinates, shape, rank, self.encoder.kernel, **options)
        else:
            sizes = channels, sum(coordinates), math.prod(shape), rank
            self.encoder = IntegralEncoder(*sizes, **options)
            self.decoder = IntegralDecoder(*sizes, self.encoder.kernel, **options)
        self.mix = ChannelMLP(channels) if channel_mlp else nn.Identity()
        self.phi_0 = LatentNetwork(shape, dense=dense, depth=depth)

    def local(self, a: Tensor, sites: Sites) -> Tensor:
        """The kernel's hidden values z, which encoder and decoder share."""
        return self.encoder.local(a, sites)

    def reduce(self, a: Tensor, z: Tensor, sites: Sites) -> Tensor:
        """Moments of values `(b, n, c)`; a sum over points."""
        return self.encoder.reduce(a, sites, z)

    def latent(self, moments: Tensor) -> Tensor:
        """Moments -> v -> u -> the decoder's code."""
        v = self.encoder.latent(moments)
        u = self.phi_0(self.mix(v))
        return self.decoder.code(u)

    def expand(self, code: Tensor, a: Tensor, z: Tensor, sites: Sites) -> Tensor:
        """Values `(b, n, c)` of b; `a` are the values of the input at the same points."""
        return self.decoder.expand(code, a, sites, z)

    def forward(self, a: Tensor, sites: Sites) -> Tensor:
        """Values `(b, n, c)` -> `(b, n, c)` on the same points."""
        z = self.local(a, sites)
        return self.expand(self.latent(self.reduce(a, z, sites)), a, z, sites)


class IAEOptions(TypedDict, total=False):
    """Options that a block hands on to the `IAE` of each branch."""

    auxiliary: bool
    channel_mlp: bool
    depth: int
    dense: bool


class PointBranch(nn.Module):
    """`Phi_1(a)`: an IAE on the function's own points."""

    def __init__(self, iae: IAE, harmonics: int) -> None:
        super().__init__()
        self.iae = iae
        self.harmonics = harmonics

    def local(self, a: Tensor, geometry: Geometry) -> Tensor:
        """The kernel's hidden values."""
        return self.iae.local(a, geometry.sites(self.harmonics))

    def reduce(self, a: Tensor, z: Tensor, geometry: Geometry) -> Tensor:
        """Moments of values `(b, n, c)`."""
        return self.iae.reduce(a, z, geometry.sites(self.harmonics))

    def latent(self, moments: Tensor) -> Tensor:
        """Moments -> code."""
        return self.iae.latent(moments)

    def expand(self, code: Tensor, a: Tensor, z: Tensor, geometry: Geometry) -> Tensor:
        """Values `(b, n, c)` at the points of `geometry`."""
        return self.iae.expand(code, a, z, geometry.sites(self.harmonics))


class DomainBranch(nn.Module):
    """`F^-1 Phi(F a)`: an IAE on the coefficients of a domain, which are the same on every discretization.

    The values on a raster are such coefficients, too; there Phi are convolutions, and attention.
    """

    def __init__(self, domain: Domain | Raster, iae: CoefficientIAE | RasterConvolutions | RasterLevels) -> None:
        super().__init__()
        self.domain = domain
        self.iae = iae

    def local(self, a: Tensor, geometry: Geometry) -> Tensor:  # noqa: ARG002 - as in PointBranch
        """Nothing beyond the values themselves."""
        return a

    def reduce(self, a: Tensor, z: Tensor, geometry: Geometry) -> Tensor:  # noqa: ARG002
        """Coefficients `(b, p, c)` of values `(b, n, c)`."""
        return self.domain.forward(a, geometry)

    def latent(self, coefficients: Tensor) -> Tensor:
        """Coefficients of the input -> coefficients of the output."""
        output: Tensor = self.iae(coefficients)
        return output

    def expand(self, code: Tensor, a: Tensor, z: Tensor, geometry: Geometry) -> Tensor:  # noqa: ARG002
        """Values `(b, n, c)` at the points of `geometry`."""
        return self.domain.inverse(code, geometry)


class DirectBranch(nn.Module):
    """`F^-1 (R F a)`: a linear path beside the autoencoders, the same at every place, which autoencoders are not.

    On closed axes it adds sines to their cosines, for functions that are not even about the ends.
    """

    def __init__(self, convolution: SpectralConvolution) -> None:
        super().__init__()
        self.convolution = convolution

    def local(self, a: Tensor, geometry: Geometry) -> Tensor:  # noqa: ARG002 - as in PointBranch
        """Nothing beyond the values themselves."""
        return a

    def reduce(self, a: Tensor, z: Tensor, geometry: Geometry) -> Tensor:  # noqa: ARG002
        """Fourier coefficients of values `(b, n, c)`."""
        return self.convolution.reduce(a, geometry)

    def latent(self, coefficients: Tensor) -> Tensor:
        """The spectral product."""
        return self.convolution.latent(coefficients)

    def expand(self, code: Tensor, a: Tensor, z: Tensor, geometry: Geometry) -> Tensor:  # noqa: ARG002
        """Values `(b, n, c)` at the points of `geometry`."""
        return self.convolution.expand(code, geometry)


Branch = PointBranch | DomainBranch | DirectBranch


class IAEBlock(nn.Module):
    """`a_i = sigma(M([a, Phi_1(a), F^-1 Phi_2(F a), ...]))`, `a = M_i([a_0 .. a_{i-1}])` (eqs. multichannel, densenet).

    The input a itself goes into the merge beside the branches, as in the authors' implementation.
    `inputs` is how many earlier outputs are merged: i for dense skips, 1 otherwise. `residual` adds a linear map of the
    input before the activation (eq. resnet). `direct` is the highest frequency of the direct path, 0 for none.
    Each of the `rasters` adds a branch of convolutions, `kernel` points wide; those on the finest may go down so many
    `levels` and up again, with layers of `attention` on one of them (`RasterLevels`).
    `groups` is how many full linear maps a branch on coefficients has.
    """

    def __init__(
        self,
        channels: int,
        periodic: tuple[bool, ...],
        domains: Sequence[Domain | Identity],
        latent: int,
        rank: int,
        *,
        inputs: int = 1,
        residual: bool = False,
        harmonics: int = 1,
        axiswise: bool = False,
        direct: int = 0,
        rasters: Sequence[int] = (),
        kernel: int = 3,
        levels: int = 0,
        attention: int = 0,
        groups: int = 1,
        **iae: Unpack[IAEOptions],
    ) -> None:
        super().__init__()
        self.channels = channels
        shape = (latent,) * len(periodic)
        self.gather: Sequence[nn.Linear] | None = None
        if inputs > 1:
            gather = [linear(channels, channels, terms=inputs, bias=i == 0) for i in range(inputs)]
            self.gather = nn.ModuleList(gather)  # type: ignore[assignment]
            self.gather_out = linear(channels, channels)
        branches: list[Branch] = []
        for domain in domains:
            if isinstance(domain, Identity):
                features = [coordinate_count((wraps,), harmonics) for wraps in periodic]
                own = IAE(channels, features, shape, rank, axiswise=axiswise, **iae)
                branches.append(PointBranch(own, harmonics))
            else:
                tables = CoefficientIAE(
                    domain.sizes(periodic),
                    math.prod(shape),
                    channels,
                    channel_mlp=iae.get("channel_mlp", True),
                    depth=iae.get("depth", 1),
                    groups=groups,
                )
                branches.append(DomainBranch(domain, tables))
        if direct:
            branches.append(DirectBranch(SpectralConvolution(channels, channels, direct, periodic)))
        for count in rasters:
            convolutions: RasterConvolutions | RasterLevels
            if levels and count == max(rasters):
                convolutions = RasterLevels(count, channels, periodic, kernel, levels=levels, attention=attention)
            else:
                convolutions = RasterConvolutions(count, channels, periodic, kernel)
            branches.append(DomainBranch(Raster(count), convolutions))
        self.branches: Sequence[Branch] = nn.ModuleList(branches)  # type: ignore[assignment]
        # M on [a, branches] is linear: the hidden layer of the paper's M costs about half a block (docs/maths.md).
        self.merge = linear(channels * (1 + len(branches)), channels)
        with torch.no_grad():
            self.merge.weight[:, channels:] *= 0.25  # branches join gently, see docs/maths.md
        self.skip = linear(channels, channels) if residual else None

    @property
    def bases(self) -> list[tuple[Basis, Basis]]:
        """Those of the branches' domains that have one."""
        found: list[tuple[Basis, Basis]] = []
        for branch in self.branches:
            if isinstance(branch, DirectBranch):
                found.append((branch.convolution.analysis, branch.convolution.synthesis))
            elif isinstance(branch, DomainBranch) and isinstance(branch.domain, Raster):
                found.append(branch.domain.bases)
            elif isinstance(branch, DomainBranch) and hasattr(branch.domain, "basis"):
                found.append((branch.domain.basis, branch.domain.basis))
        return found

    def begin_with(self, maps: Tensor) -> None:
        """Let the full linear maps of branches with such coefficients be `maps (k, p, p)` at first."""
        for branch in self.branches:
            if not (isinstance(branch, DomainBranch) and isinstance(branch.domain, Fourier)):
                continue
            if isinstance(branch.iae, CoefficientIAE) and len(branch.iae.each) == maps.shape[-1]:
                branch.iae.begin_with(maps)

    def local(self, history: Sequence[Tensor], geometry: Geometry) -> Tensors:
        """`a = M_i([A_0 a_0, ..., A_{i-1} a_{i-1}])` at each point, and what each branch makes of it there."""
        a = history[-1]
        if self.gather is not None:
            # A linear layer on concatenated channels is a sum of linear layers; the A_j are part of them.
            a = self.gather_out(nn.functional.gelu(_sum_of(self.gather, history)))
        return [a, *(branch.local(a, geometry) for branch in self.branches)]

    def reduce(self, local: Tensors, geometry: Geometry) -> Tensors:
        """What each branch integrates."""
        a, *own = local
        return [branch.reduce(a, z, geometry) for branch, z in zip(self.branches, own, strict=True)]

    def latent(self, moments: Tensors) -> Tensors:
        """Each branch's fixed-size part, and its part of the merge: branches expand linearly, channel by channel."""
        weights = self.merge.weight.T.split(self.channels)[1:]
        return [
            branch.latent(moment) @ weight
            for branch, moment, weight in zip(self.branches, moments, weights, strict=True)
        ]

    def expand(self, codes: Tensors, local: Tensors, geometry: Geometry) -> Tensor:
        """The block's output `(b, n, c)` at the points of `geometry`."""
        a, *own = local
        flat = a.flatten(0, 1)
        with full_precision(a):
            total = nn.functional.linear(flat, self.merge.weight[:, : self.channels], self.merge.bias)
        for branch, code, z in zip(self.branches, codes, own, strict=True):
            total += branch.expand(code, a, z, geometry).flatten(0, 1)  # in place: fresh memory is dear
        if self.skip is not None:
            total += self.skip(flat)
        return nn.functional.gelu(total).view_as(a)


def _sum_of(layers: Sequence[nn.Linear], inputs: Sequence[Tensor]) -> Tensor:
    """`sum_j A_j a_j`, added up in place (and not in a view, of which autograd would copy the gradient each time)."""
    with full_precision(inputs[0]):
        total: Tensor = layers[0](inputs[0].flatten(0, 1))
        for layer, value in zip(layers[1:], inputs[1:], strict=True):
            total.addmm_(value.flatten(0, 1), layer.weight.T)
    return total.view(*inputs[0].shape[:2], -1)

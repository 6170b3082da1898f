"""A network as a map between tensors, for `torch.export` and other programs: points and values in, values out."""

import torch
from torch import Tensor, nn

from iaenet.functions.geometry import distance_to, with_channel
from iaenet.models.grid_model import GridModel
from iaenet.models.iae_net import IAENet


class PointModel(nn.Module):
    """`g(y) = D N E f` of values `(b, n, c)` at points `(n, d)` of the unit box, at query points `(m, d)` of it.

    The numbers n and m are free. E is the projection of points whatever they are, with `weights (n,)`, equal ones if
    none are given, unless the function on the latent grid is given as `latent (b, s, c)`. A head sees the input at the
    query points as its projection there and what the projection leaves, interpolated from the points `near (m, t)` with
    `shares (m, t)`, as `iaenet.functions.taps` has them; from the nearest point if these are not given. Where the
    network is told of the domain, `boundary (f, k, d)` has the corners of the facets (segments, triangles) around it in
    the unit box, as `boundary_corners` gives them; f is free. Without facets, or if `bounded ()` says that they do not
    count, the boundary is that of the box, and the domain what the weights say, or others of points `measured`.

    >>> model = PointModel(IAENet.from_preset("small", in_channels=1, out_channels=1, dim=2))
    >>> x, y = torch.rand(300, 2, dtype=torch.float64), torch.rand(5, 2, dtype=torch.float64)
    >>> model(x, torch.rand(1, 300, 1), y).shape
    torch.Size([1, 5, 1])
    """

    def __init__(self, network: GridModel) -> None:
        super().__init__()
        self.network = network
        with torch.no_grad():  # what is made at the first call is made before one that is traced
            latent = next(network.parameters()).new_zeros(1, network.latent.size, network.in_channels)
            points = network.latent.coordinates.to(latent.device)
            network.on_grid(network.known(latent, points, torch.full_like(points[:, 0], 1 / len(points))))

    def forward(
        self,
        points: Tensor,
        values: Tensor,
        query: Tensor,
        weights: Tensor | None = None,
        boundary: Tensor | None = None,
        near: Tensor | None = None,
        shares: Tensor | None = None,
        latent: Tensor | None = None,
        bounded: Tensor | None = None,
        measured: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """Values `(b, n, c)` -> `(b, m, c')`."""
        network = self.network
        share = torch.full_like(points[:, 0], 1.0 / points.shape[0]) if weights is None else weights
        if latent is None:
            latent = network.latent.project(points, share, values)
        found = network.on_grid(network.known(latent, *(measured or (points, share)), boundary, bounded))
        if not isinstance(network, IAENet) or network.head is None:
            return network.latent.read(found, query)
        if near is None or shares is None:
            near = torch.cdist(query, points, compute_mode="donot_use_mm_for_euclid_dist").argmin(dim=1, keepdim=True)
            shares = torch.ones_like(query[:, :1])
        on_grid = bool(network.blocks)  # else the input is interpolated as it is
        rest = values - network.latent.read(latent, points) if on_grid else values
        here, there = values, (rest[:, near] * shares[..., None].to(rest)).sum(dim=2)
        if on_grid:
            there = there + network.latent.read(latent, query)
        if "distance" in network.geometry:
            there = with_channel(there, distance_to(boundary, query, network.periodic, bounded))
            if network.head.iae is not None:  # else nobody asks
                here = with_channel(here, distance_to(boundary, points, network.periodic, bounded))
        return network.at(found, there, network.head.encode(here, points, share), query)

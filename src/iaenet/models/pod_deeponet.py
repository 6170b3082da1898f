"""POD-DeepONet (Lu et al., Comput. Methods Appl. Mech. Engrg. 393, 2022): trunk functions from the training outputs."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from iaenet.functions.discretization import Discretization, Periodic
from iaenet.functions.field import Field
from iaenet.functions.interpolate import interpolate
from iaenet.models.base import Pair, Presets, preset_options
from iaenet.models.deeponet import SensorNetwork, Sensors, common_sensors, mlp, sensor_shape

SNAPSHOTS = 2000  # outputs that modes are made of: more are thinned out evenly
NEGLIGIBLE = 1e-6  # modes whose coefficients are smaller than this share of the largest are rounding


class PODDeepONet(SensorNetwork):
    """`u(y) = mean(y) + sum_k b_k(a(x_1) .. a(x_n)) phi_k(y)` with the POD modes phi_k of the training outputs.

    `phi_k = s_k v_k`, where the v_k are orthonormal, `int v_j(y) v_k(y) dy = delta_jk` (all channels together), and
    s_k^2 is the variance of the coefficient: the branch b gives coefficients of variance one. Modes are known at the
    output points of the training data and interpolated to others. The sensors x_i are fixed, as in `DeepONet`.

    Args:
        in_channels, out_channels: components of the input and output function.
        dim, periodic: of the output's domain.
        sensors, sensor_dim: number of input points, and the dimension that they lie in (default `dim`).
        shape: points along each axis of the training outputs' grid, or `[n]` for n points that are no grid.
        modes: number of modes.
        width, depth: of the hidden layers of the branch, and how many.

    >>> grid = Discretization.uniform(32, periodic=True)
    >>> data = [(Field(grid, torch.rand(32, 1)), Field(grid, torch.rand(32, 1))) for _ in range(5)]
    >>> model = PODDeepONet.for_data(data)
    >>> model.modes.shape  # five functions, less their mean, span four dimensions
    torch.Size([4, 32, 1])
    """

    mean: Tensor
    modes: Tensor
    bounds: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        sensors: int,
        sensor_dim: int | None = None,
        shape: Sequence[int],
        modes: int = 32,
        width: int = 128,
        depth: int = 3,
    ) -> None:
        super().__init__(in_channels, dim, periodic, sensors, sensor_dim)
        self.shape = tuple(shape)
        n = int(np.prod(self.shape))
        self.places = Sensors(n, dim)
        self.register_buffer("bounds", torch.tensor([[0.0, 1.0]] * dim, dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(n, out_channels, dtype=torch.float64))
        self.register_buffer("modes", torch.zeros(modes, n, out_channels, dtype=torch.float64))
        self.branch = mlp(in_channels * sensors, width, depth, modes)

    @classmethod
    def for_data(cls, data: Sequence[Pair], *, preset: str = "default", **options: Any) -> "PODDeepONet":
        """A network with the input points of the data, the same in all pairs, and the modes of the outputs.

        Modes live on the points of the output with most of them; outputs on other points are interpolated to these.
        There are no more modes than the outputs span dimensions.
        """
        snapshots = [data[i][1] for i in range(0, len(data), -(-len(data) // SNAPSHOTS))]
        place = max((u.discretization for u in snapshots), key=lambda at: at.n)
        chosen = {**preset_options(PRESETS, preset, place.dim), **options}
        outputs = [interpolate(u, place).values for u in snapshots]
        mean, modes = pod(torch.cat([u if u.ndim == 3 else u[None] for u in outputs]), place.weights, chosen["modes"])
        chosen["modes"] = len(modes)
        model = cls(**sensor_shape(data), shape=list(place.shape), **chosen)
        model.sensors.points.copy_(common_sensors(data))
        model.places.points.copy_(place.points)
        model.bounds.copy_(place.bounds)
        model.mean.copy_(mean)
        model.modes.copy_(modes)
        return model

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values `(b, sensors, c)` -> `(b, n', c')`."""
        b = self.coefficients(values, source, target)
        functions = self._at(torch.cat([self.mean[None], self.modes]), target).to(values)  # (1 + p, n', c')
        return functions[0] + torch.einsum("bk,knj->bnj", b, functions[1:])

    def _at(self, functions: Tensor, target: Discretization) -> Tensor:
        order = None if target.points.requires_grad else self.places.order(target)
        if order is not None:
            inverse = torch.empty_like(order)
            inverse[order] = torch.arange(len(order), device=order.device)
            return functions[:, inverse]
        points, bounds = (part.detach().cpu().double().numpy().tobytes() for part in (self.places.points, self.bounds))
        return interpolate(
            Field.unchecked(_rebuilt(points, bounds, self.shape, self.periodic), functions), target
        ).values


def pod(outputs: Tensor, weights: Tensor, modes: int) -> tuple[Tensor, Tensor]:
    """Mean `(n, c)` and at most `modes` scaled POD modes `(p, n, c)` of functions `(b, n, c)`, in float64.

    With `X_i = u_i - mean` and `X sqrt(w) = U S V^T`: `phi_k = X^T U_k / sqrt(b)`, of norm `S_k / sqrt(b)`.

    >>> grid = Discretization.uniform(64, periodic=True)
    >>> wave = torch.sin(2 * torch.pi * grid.points)
    >>> mean, modes = pod(torch.stack([1 + wave, 1 - wave]), grid.weights, 8)
    >>> bool((mean - 1).abs().max() < 1e-12), torch.allclose(modes[0].abs(), wave.abs())
    (True, True)
    """
    u = outputs.detach().double()
    mean = u.mean(0)
    X = (u - mean).flatten(1)
    roots = weights.to(u).clamp_min(0).sqrt()[:, None].expand(-1, u.shape[2]).flatten()
    U, S, _ = torch.linalg.svd(X * roots, full_matrices=False)
    count = max(1, min(modes, int((S / S[0] > NEGLIGIBLE).sum())))
    return mean, (X.T @ U[:, :count] / len(u) ** 0.5).T.reshape(count, *u.shape[1:])


@lru_cache(maxsize=16)
def _rebuilt(points: bytes, bounds: bytes, shape: tuple[int, ...], periodic: tuple[bool, ...]) -> Discretization:
    """The discretization of buffers; the same object for the same numbers, so that its interpolation is made once."""
    d = len(periodic)
    coordinates, box = (np.frombuffer(part, dtype=np.float64) for part in (points, bounds))
    if len(shape) == 1:  # on a line, points and grids are interpolated alike
        return Discretization.points(
            coordinates.reshape(-1, d), np.ones(shape[0]), bounds=box.reshape(d, 2), periodic=periodic
        )
    grid = coordinates.reshape(*shape, d)
    axes = [grid[(0,) * i + (slice(None),) + (0,) * (d - 1 - i) + (i,)] for i in range(d)]
    return Discretization.tensor_grid(*axes, bounds=box.reshape(d, 2), periodic=periodic)


# Sizes by dimension (3 stands for 3 and more). "paper": those of Lu et al. for Burgers' equation.
PRESETS: Presets = {
    "default": {
        1: {"modes": 64, "width": 256, "depth": 3},
        2: {"modes": 64, "width": 256, "depth": 3},
        3: {"modes": 64, "width": 256, "depth": 3},
    },
    "paper": {
        1: {"modes": 32, "width": 128, "depth": 2},
        2: {"modes": 32, "width": 128, "depth": 2},
        3: {"modes": 32, "width": 128, "depth": 2},
    },
}

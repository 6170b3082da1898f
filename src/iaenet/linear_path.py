"""The best linear map between coefficients, found in closed form before the training."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from iaenet.domain.basis import Trigonometric
from iaenet.errors import InvalidInputError
from iaenet.geometry import Basis, Geometry, geometry_in
from iaenet.model import Pair, groups

MOST = 4096  # numbers on the input's side; the fit solves an equation of this size
RIDGES = tuple(10.0**-i for i in range(9))  # shares of the mean square of the input's numbers
HELD_OUT = 10  # every tenth sample chooses the ridge
AT_A_TIME = 256  # samples


class LinearPath(nn.Module):
    """`g = sum_p B_p(x) (L c + l)_p`, c the Fourier coefficients of the input, B_p those functions: linear, any points.

    `fit` finds L and l by ridge regression; they are not trained. What is left for the network are the parts of the map
    that are not linear, and what lies beyond the band.
    """

    matrix: Tensor
    constant: Tensor
    left: Tensor

    def __init__(self, in_channels: int, out_channels: int, modes: int, periodic: tuple[bool, ...]) -> None:
        super().__init__()
        self.basis: Basis = Trigonometric(modes)
        self.periodic = periodic
        self.channels = out_channels
        p = 1
        for wraps in periodic:
            p *= 2 * modes + 1 if wraps else modes + 1
        if p * in_channels > MOST:
            raise InvalidInputError(
                f"a linear path of {modes} modes has {p * in_channels} numbers for an input, at most {MOST} will do; "
                "use fewer modes"
            )
        self.register_buffer("matrix", torch.zeros(p * in_channels, p * out_channels))
        self.register_buffer("constant", torch.zeros(p * out_channels))
        self.register_buffer("left", torch.ones(()))

    def reduce(self, values: Tensor, geometry: Geometry) -> Tensor:
        """Coefficients `(b, p, c)` of values `(b, n, c)`; a sum over points."""
        return geometry.analyse(self.basis, values)

    def latent(self, coefficients: Tensor) -> Tensor:
        """`L c + l`: coefficients `(b, p, c)` -> `(b, p, c')`."""
        found = torch.addmm(self.constant, coefficients.flatten(1), self.matrix)
        return found.unflatten(1, (coefficients.shape[1], self.channels))

    def expand(self, code: Tensor, geometry: Geometry) -> Tensor:
        """Values `(b, n, c')` at the points of `geometry`."""
        return geometry.synthesise(self.basis, code)

    @property
    def maps(self) -> Tensor:
        """L between single channels, `(c c', p, p)`."""
        p = len(self.constant) // self.channels
        return self.matrix.reshape(p, -1, p, self.channels).permute(1, 3, 2, 0).flatten(0, 1)

    @torch.no_grad()
    def fit(self, data: Sequence[Pair]) -> None:
        """Fit such pairs. `left` becomes what is left of samples that were not fitted, as a share of their size."""
        given, wanted = self._coefficients(data)
        held = torch.arange(len(given), device=given.device) % HELD_OUT == HELD_OUT - 1
        if not bool(held.any()):
            return
        tries = _ridge(given[~held], wanted[~held])
        size = (wanted[held] ** 2).sum()
        errors = [float(((wanted[held] - given[held] @ matrix) ** 2).sum() / size) for matrix in tries]
        best = min(range(len(errors)), key=errors.__getitem__)
        found = tries[best].to(self.matrix)
        self.constant.copy_(found[0])
        self.matrix.copy_(found[1:])
        self.left.fill_(min(1.0, errors[best] ** 0.5))

    def _coefficients(self, data: Sequence[Pair]) -> tuple[Tensor, Tensor]:
        """Of all samples, in float64: `(k, 1 + p c)` of the inputs, the constant 1 first, and `(k, p c')`."""
        parts: list[tuple[Tensor, Tensor]] = []
        for start in range(0, len(data), AT_A_TIME):
            some = [data[i] for i in range(start, min(start + AT_A_TIME, len(data)))]
            for members in groups([pair[0] for pair in some], [pair[1].discretization for pair in some]):
                sides = []
                for side in (0, 1):
                    fields = [some[i][side] for i in members]
                    values = torch.cat([f.values if f.batched else f.values[None] for f in fields])
                    place, own = (some[members[0]][which].discretization for which in (0, side))
                    if own.periodic != self.periodic:
                        raise InvalidInputError(
                            f"sample {start + members[0]} is on a domain with periodic axes {own.periodic}, "
                            f"the first one on {self.periodic}"
                        )
                    coefficients = self.reduce(values, geometry_in(place, own, values.dtype))
                    sides.append(coefficients.flatten(1).double())
                ones = torch.ones_like(sides[0][:, :1])
                parts.append((torch.cat([ones, sides[0]], dim=1), sides[1]))
        given, wanted = (torch.cat(side) for side in zip(*parts, strict=True))
        return given, wanted


def _ridge(given: Tensor, wanted: Tensor) -> list[Tensor]:
    """`(G + r I)^-1 X^T Y`, `G = X^T X`, for every ridge r.

    >>> X = torch.eye(3, dtype=torch.float64)
    >>> _ridge(X, 2 * X)[-1].diagonal().round(decimals=3).tolist()
    [2.0, 2.0, 2.0]
    """
    values, vectors = torch.linalg.eigh(given.T @ given)
    image = vectors.T @ (given.T @ wanted)
    mean = values.mean()
    return [vectors @ (image / (values.clamp_min(0) + ridge * mean)[:, None]) for ridge in RIDGES]

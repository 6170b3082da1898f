"""What a branch needs of the domain it works in."""

from typing import Protocol

from torch import Tensor

from iaenet.geometry import Geometry, Sites


class Domain(Protocol):
    """A transform F to a fixed set of coefficients and back, as in `F^-1 Phi(F a)` (eq. multichannel).

    `forward` must be a sum over points, so that it can be streamed; `sites` says where the coefficients live.
    """

    def forward(self, values: Tensor, geometry: Geometry) -> Tensor:
        """Values `(b, n, c)` -> coefficients `(b, p, c)`."""
        ...

    def inverse(self, coefficients: Tensor, geometry: Geometry) -> Tensor:
        """Coefficients `(b, p, c)` -> values `(b, n, c)`."""
        ...

    def sites(self, periodic: tuple[bool, ...]) -> Sites:
        """Coordinates `(p, f)` of the coefficients on a fixed scale, and their weights `(p,)`."""
        ...

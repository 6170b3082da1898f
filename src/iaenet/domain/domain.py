"""What a branch needs of the domain it works in."""

from typing import Protocol

from torch import Tensor

from iaenet.geometry import Geometry


class Domain(Protocol):
    """A transform F to a fixed set of coefficients and back, as in `F^-1 Phi(F a)` (eq. multichannel).

    `forward` must be a sum over points, so that it can be streamed; `sizes` says how many coefficients there are.
    """

    def forward(self, values: Tensor, geometry: Geometry) -> Tensor:
        """Values `(b, n, c)` -> coefficients `(b, p, c)`."""
        ...

    def inverse(self, coefficients: Tensor, geometry: Geometry) -> Tensor:
        """Coefficients `(b, p, c)` -> values `(b, n, c)`."""
        ...

    def sizes(self, periodic: tuple[bool, ...]) -> Tensor:
        """How large the p coefficients of an output may be at first, `(p,)`, with squares that sum to 1."""
        ...

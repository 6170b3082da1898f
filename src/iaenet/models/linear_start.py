"""The best linear map between coefficients, found in closed form before the training."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.basis import Trigonometric
from iaenet.nn.pointwise import full_precision
from iaenet.nn.transform import Grid, GridTransform

MOST = 4096  # numbers on the input's side; the fit solves an equation of this size
RIDGES = tuple(10.0**-i for i in range(9))  # shares of the mean square of the input's numbers
HELD_OUT = 10  # every tenth sample chooses the ridge


class LinearStart(nn.Module):
    """`g = sum_p B_p(z) (L c + l)_p` on the latent grid, c the `modes` lowest Fourier coefficients of the input.

    `fit` finds L and l by ridge regression; they are not trained. What is left for the network are the parts of the map
    that are not linear, and what lies beyond the band: `residual`, as a share of the output's size. Until it is fitted,
    and where the map is far from linear, L and l are zero and the residual is one.
    """

    matrix: Tensor
    constant: Tensor
    residual: Tensor

    def __init__(self, in_channels: int, out_channels: int, modes: int, grid: Grid) -> None:
        super().__init__()
        self._transform = GridTransform(grid, Trigonometric(modes))
        self.modes = modes
        self.channels = out_channels
        p = 1
        for count in self._transform.sizes:
            p *= count
        if p * in_channels > MOST:
            raise InvalidInputError(
                f"a linear start of {modes} modes has {p * in_channels} numbers for an input, at most {MOST} will do; "
                "use fewer modes"
            )
        self.register_buffer("matrix", torch.zeros(p * in_channels, p * out_channels))
        self.register_buffer("constant", torch.zeros(p * out_channels))
        self.register_buffer("residual", torch.ones(()))

    def forward(self, values: Tensor) -> Tensor:
        """`L c + l` as a function: values `(b, s, c)` on the grid -> `(b, s, c')`."""
        coefficients = self._transform.analyse(values)
        with full_precision(values):
            found = torch.addmm(self.constant, coefficients.flatten(1), self.matrix)
        return self._transform.synthesise(found.unflatten(1, (coefficients.shape[1], self.channels)))

    @property
    def maps(self) -> Tensor:
        """L between single channels, `(c c', p, p)`."""
        p = len(self.constant) // self.channels
        return self.matrix.reshape(p, -1, p, self.channels).permute(1, 3, 2, 0).flatten(0, 1)

    @torch.no_grad()
    def fit(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], worth: float = 1.0) -> bool:
        """Fit functions `(b, s, c)` on the grid; whether it leaves no more than `worth` of held-out samples."""
        given, wanted = (
            torch.cat([self._transform.analyse(values).flatten(1).double() for values in side])
            for side in (inputs, outputs)
        )
        given = torch.cat([torch.ones_like(given[:, :1]), given], dim=1)
        held = torch.arange(len(given), device=given.device) % HELD_OUT == HELD_OUT - 1
        if not bool(held.any()):
            return False
        tries = _ridge(given[~held], wanted[~held])
        size = (wanted[held] ** 2).sum()
        errors = [float(((wanted[held] - given[held] @ matrix) ** 2).sum() / size) for matrix in tries]
        best = min(range(len(errors)), key=errors.__getitem__)
        residual = errors[best] ** 0.5
        if not residual <= worth:
            return False
        found = tries[best].to(self.matrix)
        self.constant.copy_(found[0])
        self.matrix.copy_(found[1:])
        self.residual.fill_(residual)
        return True


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

"""Where a network starts from, found in closed form before the training: a linear map, or the input itself."""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.basis import Trigonometric
from iaenet.functions.field import Field
from iaenet.models.base import Pair
from iaenet.nn.branches import BranchLayer
from iaenet.nn.pointwise import full_precision
from iaenet.nn.transform import Grid, GridTransform

MOST = 4096  # numbers on the input's side; the fit solves an equation of this size
RIDGES = tuple(10.0**-i for i in range(9))  # shares of the mean square of the input's numbers
HELD_OUT = 10  # every tenth sample chooses the ridge
LEVEL = 1.05  # times the lowest error: the largest ridge within it is taken, which is calm beyond the samples
AUTO_MODES = 24  # of a linear start by "auto", on a line
QUICK = 1024  # coefficients of an input up to which "auto" has one: the fit takes seconds
WORTH = 0.2  # what "auto" lets a linear start leave of held-out samples, as a share of their size (docs/research.md)
ENOUGH = 4096  # functions of the fit; more would hardly change it


class Start(Protocol):
    """What a network starts from: a map on the latent grid, and the size of what it leaves."""

    residual: Tensor

    def __call__(self, values: Tensor) -> Tensor: ...
    def fit(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], worth: float = 1.0) -> bool: ...
    def share_with(self, branches: Sequence[BranchLayer]) -> None: ...


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

    def share_with(self, branches: Sequence[BranchLayer]) -> None:
        """Start branches between the same coefficients from L, too."""
        for branch in branches:
            branch.initialise(self.maps, self.modes)

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
        best = next((i for i, error in enumerate(errors) if error <= LEVEL**2 * min(errors)), 0)
        residual = errors[best] ** 0.5
        if not residual <= worth:
            return False
        found = tries[best].to(self.matrix)
        self.constant.copy_(found[0])
        self.matrix.copy_(found[1:])
        self.residual.fill_(residual)
        return True


class IdentityStart(nn.Module):
    """`g = alpha f + beta` on the latent grid, channel by channel: a state in time is much like the state before it.

    What is left for the network is the change, `residual` in each channel. Unlike a linear map between coefficients
    this has no band: what the network does not see stays as it was. Further channels of the input have no part in it.
    """

    factor: Tensor
    constant: Tensor
    residual: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        for name, value in (("factor", 0.0), ("constant", 0.0), ("residual", 1.0)):
            self.register_buffer(name, torch.full((channels,), value))

    def forward(self, values: Tensor) -> Tensor:
        """Values `(b, s, c)` on the grid -> `(b, s, c')`."""
        return torch.addcmul(self.constant, values[..., : len(self.factor)], self.factor)

    def share_with(self, branches: Sequence[BranchLayer]) -> None:
        """Nothing: branches see the input as it is."""

    @torch.no_grad()
    def fit(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], worth: float = 1.0) -> bool:
        """Fit functions `(b, s, c)` on the grid; whether it leaves no more than `worth` of them."""
        c = len(self.factor)
        count, sums = 0, torch.zeros(5, c, dtype=torch.float64)
        for given, wanted in zip(inputs, outputs, strict=True):
            f, g = given[..., :c].double().flatten(0, 1), wanted.double().flatten(0, 1)
            count += len(f)
            sums += torch.stack([f.sum(0), g.sum(0), (f * f).sum(0), (f * g).sum(0), (g * g).sum(0)]).cpu()
        mean_f, mean_g, ff, fg, gg = sums / count
        factor = (fg - mean_f * mean_g) / (ff - mean_f**2).clamp_min(1e-30)
        constant = mean_g - factor * mean_f
        rest = (gg - mean_g**2 - factor * (fg - mean_f * mean_g)).clamp_min(0.0)
        if not float(rest.sum()) <= worth**2 * float(gg.sum()):
            return False
        self.factor.copy_(factor)
        self.constant.copy_(constant)
        self.residual.copy_(rest.sqrt().clamp_min(1e-6))
        return True


def start_of(given: int | str, in_channels: int, out_channels: int, grid: Grid) -> tuple[Start | None, float]:
    """What the network starts from, and how much that may leave."""
    if given == "identity":
        if out_channels > in_channels:
            raise InvalidInputError(f"linear_start identity: {out_channels} outputs, but only {in_channels} inputs")
        return IdentityStart(out_channels), 1.0
    modes, worth = (grid.held(AUTO_MODES), WORTH) if given == "auto" else (grid.held(int(given)), 1.0)
    if given == "auto" and (len(grid.shape) > 1 or in_channels * (2 * modes + 1) > QUICK):
        modes = 0
    return (LinearStart(in_channels, out_channels, modes, grid) if modes else None), worth


def some_of(data: Sequence[Pair]) -> Sequence[Pair]:
    """The pairs that a start is fitted to: all, or else evenly taken ones, of stacks some functions of each."""
    step = -(-sum(given.count for given, _ in data) // ENOUGH)
    if step == 1 or len(data) > ENOUGH:
        return data[::step]
    taken = [[Field.unchecked(one.discretization, one.batch_values[::step]) for one in pair] for pair in data]
    return [(given, wanted) for given, wanted in taken]


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

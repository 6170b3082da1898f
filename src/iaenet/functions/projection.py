"""The projection: a function given at any points -> its Fourier coefficients, by regularised least squares.

    c = argmin  sum_i w_i |f(x_i) - sum_k c_k B_k(x_i)|^2  +  sum_k lambda_k |c_k|^2

One formula for uniform and non-uniform grids, sensors and meshes, for any domain inside the box, and for fewer points
than coefficients. `docs/maths.md` derives it, with its errors.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.harmonics import narrower, product_table, trigonometric

PERIOD = 1.5  # of a closed axis, in units of its length: the function is continued smoothly, with no kink at the ends
PENALTY = 1e-3  # lambda at the highest frequency of the band, for uniform points; ten times as much for random ones
ORDER = 4  # lambda grows like |k|^(2 ORDER), as for smooth functions; with smoothing like |k|^(2 ROUGH_ORDER)
ROUGH_ORDER = 2
THIN = 0.1  # the same for functions on curves and surfaces in a sample, which it continues into space
FLOOR = (
    1e-12,
    1e-5,
)  # lambda at least: on a line what float64 can solve, beyond what keeps noise out of holes and corners
ITERATIONS = 4  # of refinement: the penalty's bias is lambda^4 where the points determine a coefficient
SCATTERED = 0.4  # share of the Nyquist frequency of a uniform grid that scattered points of the same spacing determine
CHUNK = 2**15  # points at a time
FEW = 8  # columns below which a product takes all functions at once
MANY = 16  # channels from which reading off is one product with a matrix


class Projection:
    """Coefficients of the `p` functions `B_k = prod_i b_{k_i}(x_i)` with `modes` harmonics of the period on each axis.

    On an axis, `b = 1, sqrt2 cos(2 pi k x / L), sqrt2 sin(2 pi k x / L)`: orthonormal on its period L, 1 on a periodic
    axis and 1.5 on a closed one, of which the box is a part. Points are those of the unit box. `smoothing` above 1 is
    for functions with noise or jumps: so many times the penalty, of a lower order, and no refinement.

    >>> x = torch.rand(100, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    >>> projection = Projection([12], (False,))
    >>> c = projection.coefficients(x, torch.ones(100), x[None] ** 2)  # no period: a parabola has a kink at its ends
    >>> y = torch.tensor([[0.0], [0.5], [1.0]], dtype=torch.float64)
    >>> projection.evaluate(c, y).flatten().round(decimals=3).tolist()
    [0.0, 0.25, 1.0]
    """

    def __init__(self, modes: Sequence[int], periodic: Sequence[bool], smoothing: float = 1.0) -> None:
        if len(modes) != len(periodic) or min(modes) < 0:
            raise InvalidInputError(f"needs a number of modes for each of {len(periodic)} axes, got {list(modes)}")
        self.modes = tuple(int(count) for count in modes)
        self.periodic = tuple(periodic)
        self.smoothing = smoothing
        self.order = ORDER if smoothing == 1 else ROUGH_ORDER
        self.periods = tuple(1.0 if wraps else PERIOD for wraps in periodic)
        self.shape = tuple(2 * count + 1 for count in self.modes)  # functions along each axis
        self.size = math.prod(self.shape)
        self._tables = [product_table(count) for count in self.modes] if len(self.modes) > 1 else []

    def functions(self, x: Tensor, axis: int, band: int = 1) -> Tensor:
        """The functions b at coordinates `x (..., n)` of an axis -> `(..., n, 2 band modes + 1)`."""
        return trigonometric(x / self.periods[axis], band * self.modes[axis])

    def coefficients(
        self,
        points: Tensor,
        weights: Tensor,
        values: Tensor,
        nyquist: Tensor | float = SCATTERED,
        thin: Tensor | bool = False,
    ) -> Tensor:
        """Coefficients `(b, p, c)` of values `(b, n, c)` at points `(n, d)` with weights `(n,)`.

        Linear in the values, and differentiable in them. The weights' size does not matter. `nyquist` as in `penalty`.
        `thin` says that the points are on a curve or surface: `thin_penalty`, and no refinement. It is a tensor where a
        program leaves that open.
        """
        gram, image = self.system(points, weights, values)
        if isinstance(thin, bool) and thin:
            return self.solve(gram, self.thin_penalty(gram), image, refine=False)
        penalty = self.penalty(distinct(points, weights.double()), nyquist)
        if isinstance(thin, bool):
            return self.solve(gram, penalty, image)
        return self.solve(gram, torch.where(thin, self.thin_penalty(gram), penalty), image, ~thin)

    def system(self, points: Tensor, weights: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """`G = B^T W B` and `B^T W f`, weights of sum 1: all that is known of the function, of size p, not n.

        Products of two functions b are sums of functions b of up to twice the frequency, so `(4 modes + 1)^d` weighted
        sums over the points make all of G.
        """
        share = weights.double() / weights.double().sum()
        image = sums = torch.zeros((), dtype=torch.float64, device=points.device)
        for rows in chunks(points):
            w = share[rows, None]
            if len(self.modes) == 1:  # on a line G is as cheap as its moments
                own = [self.functions(points[rows, 0].double(), 0)]
                sums = sums + (w * own[0]).T @ own[0]
            else:
                wide = [self.functions(points[rows, i].double(), i, band=2) for i in range(len(self.modes))]
                sums = sums + products(w, wide)[..., 0]
                own = [narrower(b, count) for b, count in zip(wide, self.modes, strict=True)]
            image = image + products(w * columns(values[:, rows]), own)
        found = image.reshape(self.size, values.shape[0], values.shape[2])
        return (sums if len(self.modes) == 1 else self._gram(sums)), found

    def moments(self, points: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """`sum_i w_i B_k(x_i) f(x_i)`: values `(b, n, c)` at points `(n, d)` -> `(p, b, c)`."""
        found = torch.zeros((), dtype=torch.float64, device=points.device)
        for rows in chunks(points):
            factors = [self.functions(points[rows, i].double(), i) for i in range(len(self.modes))]
            found = found + products(weights[rows, None].double() * columns(values[:, rows]), factors)
        return found.reshape(self.size, values.shape[0], values.shape[2])

    def solve(self, gram: Tensor, penalty: Tensor, image: Tensor, refine: Tensor | bool = True) -> Tensor:
        """`c <- c + (G + Lambda)^-1 (B^T W f - G c)`, `ITERATIONS` times, or once: `(p, b, c)` -> `(b, p, c)`."""
        factor, _ = torch.linalg.cholesky_ex(gram + torch.diag(penalty))
        right = image.flatten(1)
        c = torch.cholesky_solve(right, factor)
        for _ in range(ITERATIONS - 1 if self.smoothing == 1 and refine is not False else 0):
            c = c + torch.cholesky_solve(right - gram @ c, factor) * refine
        return c.reshape(image.shape).movedim(0, 1)

    def penalty(self, weights: Tensor, nyquist: Tensor | float = SCATTERED) -> Tensor:
        """`lambda_k = eta ((1 + 4 |nu_k|^2) / (1 + 4 nu^2))^order + FLOOR`, `nu_k = k / L` the frequency: `(p,)`.

        nu is the highest frequency of the band, or what distinct points of such weights determine if that is less:
        `nyquist / (2 h)` with the spacing `h = sum_i w_i^(1 + 1/d)`, weights of sum 1. Beyond it coefficients are
        damped. Irregular points (a `nyquist` below 1) do not only determine less, they amplify noise:
        `eta = PENALTY nyquist^-2.5`.
        """
        d = len(self.modes)
        share = (weights / weights.sum()).nan_to_num()
        spacing = (share.clamp_min(0) ** (1 + 1 / d)).sum()
        top = (nyquist / (2 * spacing)).clamp_max(self._band)
        eta = self.smoothing * PENALTY * nyquist**-2.5
        return eta * ((1 + 4 * self._squares(share)) / (1 + 4 * top**2)) ** self.order + FLOOR[d > 1]

    def thin_penalty(self, like: Tensor) -> Tensor:
        """`lambda_k = THIN ((1 + 4 |nu_k|^2) / (1 + 4 nu^2))^order`, on curves and surfaces, which it alone continues.

        nu is the band's, and there is no FLOOR: what is off the curve must not depend on the points on it.
        """
        return self.smoothing * THIN * ((1 + 4 * self._squares(like)) / (1 + 4 * self._band**2)) ** self.order

    @property
    def _band(self) -> float:
        """The highest frequency that all axes have."""
        return min(count / period for count, period in zip(self.modes, self.periods, strict=True))

    def _squares(self, like: Tensor) -> Tensor:
        """`|nu_k|^2` of each function: `(p,)`."""
        squares = like.new_zeros(1)
        for count, period in zip(self.modes, self.periods, strict=True):
            k = torch.arange(count + 1, dtype=like.dtype, device=like.device) / period
            squares = (squares[:, None] + torch.cat([k, k[1:]]) ** 2).flatten()
        return squares

    def evaluate(self, coefficients: Tensor, points: Tensor) -> Tensor:
        """`sum_k c_k B_k(x)`: coefficients `(b, p, c)`, points `(n, d)` -> values `(b, n, c)`."""
        factors = [self.functions(points[:, i].double(), i).to(coefficients) for i in range(len(self.modes))]
        return read_points(coefficients, factors)

    def on_axes(self, coefficients: Tensor, axes: Sequence[Tensor]) -> Tensor:
        """Values `(b, n, c)` on the tensor grid of `axes`."""
        factors = [self.functions(x.double(), i).to(coefficients) for i, x in enumerate(axes)]
        return apply_axes(factors, coefficients)

    def _gram(self, moments: Tensor) -> Tensor:
        """G `(p, p)` from the sums over points `(4 modes + 1, ...)`."""
        gram = moments
        for table in reversed(self._tables):  # the last axis of what is left; its pair of indices goes in front
            gram = torch.tensordot(table.to(moments), gram, dims=([2], [-1]))
        d = len(self.modes)
        order = [2 * i for i in range(d)] + [2 * i + 1 for i in range(d)]
        return gram.permute(order).reshape(self.size, self.size)


def distinct(points: Tensor, weights: Tensor) -> Tensor:
    """The weights of distinct points `(n, d)`: those of points that coincide, added up.

    >>> distinct(torch.tensor([[0.1], [0.3], [0.1]]), torch.tensor([1.0, 2.0, 3.0])).tolist()
    [4.0, 2.0]
    """
    # A number for each point, which two points share only if they coincide: quicker to sort than rows.
    mark = points.double() @ torch.tensor([math.sqrt(2 + 3 * i) for i in range(points.shape[1])]).to(points).double()
    if torch.compiler.is_compiling():  # the number of points is free: zeros stand for those that are others again
        _, owner, order = ranks(mark)
        return torch.zeros_like(weights).scatter_add(0, owner, weights[order])
    _, owner = torch.unique(mark, return_inverse=True)
    return weights.new_zeros(int(owner.max()) + 1).index_add_(0, owner, weights)


def ranks(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Numbers `(n,)` in order, which of the distinct ones each is, and where it was.

    >>> [found.tolist() for found in ranks(torch.tensor([0.5, 0.1, 0.5]))][:2]
    [[0.10000000149011612, 0.5, 0.5], [0, 1, 1]]
    """
    ordered, order = torch.sort(x)
    new = torch.cat([torch.zeros_like(order[:1]), (ordered[1:] != ordered[:-1]).to(order)])
    return ordered, torch.cumsum(new, 0), order


def apply_axes(matrices: Sequence[Tensor], values: Tensor) -> Tensor:
    """A matrix `(m_i, s_i)` along each axis: values `(b, s_1 .. s_d, c)` -> `(b, m_1 .. m_d, c)`, both flattened."""
    b, _, c = values.shape
    rest = c
    for matrix in reversed(matrices):  # the last axis first: what is left of the grid stays in front as batch
        lines = values.reshape(-1, matrix.shape[1], rest)
        if rest < FEW:  # one product for all, instead of one with few columns for each
            flat = lines.transpose(1, 2).reshape(-1, matrix.shape[1])  # or matmul takes them one by one
            values = (flat @ matrix.T).reshape(lines.shape[0], rest, -1).transpose(1, 2)
        else:
            values = matrix @ lines
        rest *= matrix.shape[0]
    return values.reshape(b, rest // c, c)


def read_points(values: Tensor, factors: Sequence[Tensor]) -> Tensor:
    """`sum_s prod_i factors_i(x, s_i) values(s)`: values `(b, s_1 .. s_d, c)`, factors `(n, s_i)` -> `(b, n, c)`."""
    b, _, c = values.shape
    n = factors[0].shape[0]
    if c >= MANY:  # the product of the factors first: one matrix for all channels
        product = factors[0]
        for factor in factors[1:]:
            product = (product[:, :, None] * factor[:, None]).flatten(1)
        return product @ values
    found = factors[0] @ values.reshape(b, factors[0].shape[1], -1)  # (b, n, s_2 .. s_d c)
    for factor in factors[1:]:
        found = (factor[:, :, None] * found.reshape(b, n, factor.shape[1], -1)).sum(2)
    return found.reshape(b, n, c)


def products(weighted: Tensor, factors: list[Tensor]) -> Tensor:
    """`sum_i f_1(x_i) ... f_d(x_i) v(x_i)`: values `(n, c)`, factors `(n, p_i)` -> `(p_1, .., p_d, c)`."""
    *before, last = factors
    left = weighted
    for factor in reversed(before):
        left = (factor[:, :, None] * left[:, None]).flatten(1)
    found = left.T @ last  # (p_1 .. p_{d-1} c, p_d)
    shape = [factor.shape[1] for factor in before]
    return found.reshape(*shape, weighted.shape[1], last.shape[1]).transpose(-1, -2)


def columns(values: Tensor) -> Tensor:
    """Values `(b, n, c)` of all functions side by side, in float64: `(n, b c)`."""
    return values.double().movedim(1, 0).flatten(1)


def chunks(points: Tensor) -> list[slice]:
    """Some points `(n, d)` at a time."""
    if torch.compiler.is_compiling():  # the number of points is free: all at once
        return [slice(None)]
    n = len(points)
    return [slice(start, min(start + CHUNK, n)) for start in range(0, n, CHUNK)]

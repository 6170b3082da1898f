"""The projection: exact where it can be, accurate on any points, and deaf to noise."""

import math

import pytest
import torch

from iaenet import Discretization, InvalidInputError, LatentGrid, Projection
from iaenet.functions.geometry import on_nodes


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def waves(d, generator, size=3.5, count=40):
    """A smooth random function: waves of about `size` radians per unit."""
    k = size * torch.randn(count, d, generator=generator, dtype=torch.float64)
    phase = 2 * math.pi * torch.rand(count, generator=generator, dtype=torch.float64)
    a = torch.randn(count, generator=generator, dtype=torch.float64) / count**0.5
    return lambda x: (torch.cos(x @ k.T + phase) @ a)[:, None]


REGIONS = {
    "box": lambda x: x[:, 0] >= 0,
    "L": lambda x: ~((x[:, 0] > 0.5) & (x[:, 1] > 0.5)),
    "hole": lambda x: ((x - 0.5) ** 2).sum(1) > 0.04,
}


def points_in(region, n, d, generator):
    x = torch.rand(4 * n + 100, d, generator=generator, dtype=torch.float64)
    return x[REGIONS[region](x)][:n]


def relative(found, true):
    return float((found - true).norm() / true.norm())


# ---------------------------------------------------------------- exactness


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("n", [17, 32, 100])
def test_band_limited_functions_on_uniform_periodic_grids(d, n):
    """To 1e-10, also at the highest frequency."""
    grid = LatentGrid((16,) * d, (True,) * d)
    where = Discretization.uniform((n,) * d, periodic=True)
    f = lambda x: torch.prod(torch.cos(2 * math.pi * 7 * x + 0.3) + torch.sin(2 * math.pi * 2 * x), 1)  # noqa: E731
    found = grid.encode(where, f(where.points)[None, :, None])[0, :, 0]
    assert relative(found, f(grid.coordinates)) < 1e-10
    one = Projection([7], [True])
    x = where.points[:: n ** (d - 1), :1] if d > 1 else where.points
    c = one.coefficients(x, torch.ones(n), torch.cos(2 * math.pi * 7 * x)[None], nyquist=1.0)
    assert relative(one.evaluate(c, x)[0], torch.cos(2 * math.pi * 7 * x)) < 1e-10


@pytest.mark.parametrize(("d", "modes", "limit"), [(1, 12, 1e-5), (2, 5, 5e-4), (3, 2, 1e-3)])
@pytest.mark.parametrize("periodic", [True, False])
def test_what_is_in_the_band_comes_back_from_any_points_to_the_penaltys_size(d, modes, limit, periodic):
    projection = Projection([modes] * d, [periodic] * d)
    x = torch.rand(4 * projection.size, d, generator=rng(), dtype=torch.float64)
    c = torch.randn(1, projection.size, 1, generator=rng(1), dtype=torch.float64)
    squares = projection.penalty(torch.ones(4 * projection.size, dtype=torch.float64))
    c = c / (1 + squares[None, :, None] / squares.min())  # a smooth function of the band
    f = projection.evaluate(c, x)
    found = projection.evaluate(projection.coefficients(x, torch.ones(len(x)), f), x)
    assert relative(found, f) < limit


@pytest.mark.parametrize("d", [1, 2, 3])
def test_order_and_duplicates_do_not_matter(d):
    projection = Projection([4] * d, [False] * d)
    x = torch.rand(2000, d, generator=rng(), dtype=torch.float64)
    w, f = torch.rand(2000, generator=rng(1), dtype=torch.float64), waves(d, rng(2))(x)[None]
    c = projection.coefficients(x, w, f)
    order = torch.randperm(2000, generator=rng(3))
    assert relative(projection.coefficients(x[order], w[order], f[:, order]), c) < 1e-10
    doubled = projection.coefficients(torch.cat([x, x]), torch.cat([w, w]) / 2, torch.cat([f, f], dim=1))
    assert relative(doubled, c) < 1e-10


@pytest.mark.parametrize("periodic", [True, False])
def test_a_tensor_axis_and_points_on_a_line_are_the_same(periodic):
    """0.1 had two rules: an error of 0.155 and one of 0.0025 on 60 of 100 points."""
    x = torch.sort(torch.randperm(100, generator=rng())[:60]).values.double() / 100
    grid = LatentGrid((64,), (periodic,))
    f = waves(1, rng(1))(x[:, None])[None]
    axis = grid.encode(Discretization.tensor_grid(x, periodic=periodic), f)
    line = grid.encode(Discretization.points(x[:, None], periodic=periodic), f)
    assert relative(line, axis) < 1e-10


def test_a_uniform_grid_in_any_order_is_that_grid():
    grid = LatentGrid((32,), (False,))
    x = torch.linspace(0, 1, 32, dtype=torch.float64)
    order = torch.randperm(32, generator=rng())
    f = torch.rand(32, 1, dtype=torch.float64)
    found = grid.encode(Discretization.points(x[order, None]), f[order][None])
    assert relative(found[0], f) < 1e-12


def test_gradients():
    projection = Projection([2, 1], [True, False])
    x, w = torch.rand(9, 2, dtype=torch.float64), torch.rand(9, dtype=torch.float64)
    values = torch.randn(2, 9, 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: projection.coefficients(x, w, v), (values,))
    grid = LatentGrid((4, 5), (True, False))
    latent = torch.randn(1, 20, 2, dtype=torch.float64, requires_grad=True)
    y = torch.rand(3, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v, at: grid.read(v, at), (latent, y))


# ---------------------------------------------------------------- accuracy


@pytest.mark.parametrize(
    ("region", "d", "modes", "n", "limit"),
    [
        *[(region, 2, 6, n, limit) for region in REGIONS for n, limit in ((500, 1.5e-3), (2000, 1e-3))],
        ("box", 3, 4, 2000, 1e-2),
        ("box", 1, 12, 256, 3e-4),
    ],
)
def test_smooth_functions_on_random_points(region, d, modes, n, limit):
    """169 and 729 coefficients; other points of the same domain, which nobody told."""
    projection = Projection([modes] * d, [False] * d)
    errors, noise = [], []
    for seed in range(5):
        generator = rng(seed)
        f = waves(d, generator)
        x, y = points_in(region, n, d, generator), points_in(region, 1000, d, generator)
        c = projection.coefficients(x, torch.ones(n), f(x)[None])
        errors.append(relative(projection.evaluate(c, y)[0], f(y)))
        c = projection.coefficients(x, torch.ones(n), torch.randn(1, n, 1, generator=generator, dtype=torch.float64))
        noise.append(float(projection.evaluate(c, y).square().mean().sqrt()))
    assert sum(errors) / len(errors) <= limit
    if n >= 3 * projection.size:
        assert max(noise) <= 1


def test_small_eddies_of_a_periodic_flow_come_from_random_points():
    """Waves of up to 14 periods each way, as a flow has them."""
    latent = LatentGrid((48, 48), (True, True))
    at = Discretization.points(torch.rand(6000, 2, generator=torch.Generator().manual_seed(0)), periodic=True)
    x, y = (2 * math.pi * latent.coordinates).unbind(1)
    p, q = (2 * math.pi * at.points).unbind(1)
    found = latent.encode(at, (torch.cos(14 * p) * torch.sin(13 * q))[None, :, None])[0, :, 0]
    assert (found - torch.cos(14 * x) * torch.sin(13 * y)).norm() < 0.03 * found.norm()


def test_noise_stays_small_at_nodes_without_points():
    """In holes and corners, and beyond the last point: no point tells what is there."""
    grid = LatentGrid((28, 28), (False, False))
    for region, limit in (("box", 2), ("hole", 6), ("L", 20)):
        x = points_in(region, 500, 2, rng(5))
        noise = torch.randn(1, 500, 1, generator=rng(6), dtype=torch.float64)
        found = grid.project(x, torch.ones(500), noise)
        assert float(found.square().mean().sqrt()) < limit


def test_the_measure_is_the_domain_whatever_its_points():
    grid = LatentGrid((28, 28), (False, False))
    sets = [Discretization.points(points_in("hole", n, 2, rng(n))) for n in (4000, 1000)]
    fine, coarse = (on_nodes(grid, "measure", one) for one in sets)
    assert relative(coarse, fine) < 0.1
    inside = ((grid.coordinates - 0.5) ** 2).sum(1) < 0.01
    assert float(fine[inside].abs().max()) < 0.25
    away = ((grid.coordinates - 0.5).abs().amax(1) < 0.4) & (((grid.coordinates - 0.5) ** 2).sum(1) > 0.09)
    assert float((fine[away] - 1).abs().max()) < 0.25


def test_cost_is_a_sum_over_points():
    """Moments of parts add up, so that any number of points is worked through some at a time."""
    projection = Projection([3, 3], [False, False])
    x, w = torch.rand(70000, 2, dtype=torch.float64), torch.rand(70000, dtype=torch.float64)
    f = waves(2, rng())(x)[None]
    whole = projection.moments(x, w, f)
    parts = projection.moments(x[:123], w[:123], f[:, :123]) + projection.moments(x[123:], w[123:], f[:, 123:])
    assert relative(parts, whole) < 1e-12


# ---------------------------------------------------------------- reading off


@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_reading_off_at_the_nodes_is_the_identity(d, periodic):
    grid = LatentGrid((6, 9, 5)[:d], (periodic,) * d)
    values = torch.randn(2, grid.size, 3, dtype=torch.float64)
    assert relative(grid.read(values, grid.coordinates), values) < 1e-8
    many = torch.randn(1, grid.size, 20, dtype=torch.float64)
    assert relative(grid.read(many, grid.coordinates), many) < 1e-8


def test_reading_off_some_points_at_a_time_is_the_same(monkeypatch):
    grid = LatentGrid((8, 8), (False, True))
    values, y = torch.randn(2, 64, 3, dtype=torch.float64), torch.rand(500, 2, dtype=torch.float64)
    whole = grid.read(values, y)
    monkeypatch.setattr("iaenet.functions.latent_grid.READ", 1000)
    torch.testing.assert_close(grid.read(values, y), whole)


def test_what_cannot_be_is_named():
    with pytest.raises(InvalidInputError, match="at least 4 points"):
        LatentGrid((3,), (False,))
    with pytest.raises(InvalidInputError, match="modes for each of 2 axes"):
        Projection([3], [True, False])


def test_zero_needs_no_equation():
    where = Discretization.points(points_in("hole", 300, 2, rng(3)))
    grid = LatentGrid((12, 12), (False, False))
    zero = torch.zeros(2, where.n, 3)
    assert torch.equal(grid.encode(where, zero), grid.project(where.points, where.weights, zero))

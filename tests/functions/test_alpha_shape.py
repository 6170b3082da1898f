"""Laws of the cells of scattered points, and the domains that are found from points."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from iaenet import Discretization
from iaenet.data.problems.airfoil import Airfoil
from iaenet.functions import alpha_shape
from iaenet.functions.alpha_shape import BOX
from iaenet.functions.geometry import distance_at


def drawn(seed, n, d, inside=lambda x: np.ones(len(x), bool)):
    """The first n of random points of the unit box that lie inside."""
    x = np.random.default_rng(seed).random((20 * n, d))
    return x[inside(x)][:n]


def l_shape(x):
    return ~np.all(x > 0.5, axis=1)


def away(x, centre=0.5):
    return np.linalg.norm(x - centre, axis=1)


def annulus(x):
    return (away(x) > 0.2) & (away(x) < 0.5)


def two_discs(x):
    return (away(x, 0.25) < 0.2) | (away(x, 0.75) < 0.2)


def hole(x):
    return away(x) > 0.2


FOUND = {
    "L": (l_shape, 2, 0.75),
    "hole": (hole, 2, 1 - 0.04 * math.pi),
    "annulus": (annulus, 2, 0.21 * math.pi),
    "two discs": (two_discs, 2, 0.08 * math.pi),
    "cube without a ball": (lambda x: away(x) > 0.3, 3, 1 - 4 / 3 * math.pi * 0.3**3),
}


PLANE = [(case, n, off) for case, (_, d, _) in FOUND.items() if d == 2 for n, off in ((500, 0.06), (2000, 0.03))]


@pytest.mark.parametrize(("case", "n", "off"), [*PLANE, ("cube without a ball", 4000, 0.03)])
def test_the_measure_of_a_domain_is_found_from_random_points(case, n, off):
    inside, d, exact = FOUND[case]
    for seed in range(5 if d == 2 else 2):
        made = Discretization.points(drawn(seed, n, d, inside))
        assert made.measure == pytest.approx(exact, rel=off)
        assert made.domain == f"{100 * made.measure:.3g} % of its box, found from the points"
        assert (made.weights > 0).all()


WHOLE = {
    "square": lambda seed: drawn(seed, 500, 2),
    "cube": lambda seed: drawn(seed, 1000, 3),
    "a half four times denser": lambda seed: np.concatenate(
        [drawn(seed, 400, 2) * [0.5, 1], drawn(seed + 99, 100, 2) * [0.5, 1] + [0.5, 0]]
    ),
    "few": lambda seed: drawn(seed, 40, 2),
    "Chebyshev": lambda _: product((1 - np.cos(math.pi * np.arange(20) / 19)) / 2, np.linspace(0, 1, 30)),
    "a boundary layer": lambda _: product(np.linspace(0, 1, 20), np.linspace(0, 1, 30) ** 4),
    "long cells": lambda _: product(np.linspace(0, 1, 5), np.linspace(0, 1, 100)),
    "midpoints": lambda _: product((np.arange(15) + 0.5) / 15, (np.arange(12) + 0.5) / 12),
}


def product(*axes):
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


@pytest.mark.parametrize("case", WHOLE)
def test_points_all_over_the_box_are_recognised(case):
    for seed in range(5):
        made = Discretization.points(WHOLE[case](seed))
        assert made.domain == BOX
        assert made.measure == pytest.approx(1, abs=1e-12)


def test_nodes_of_a_mesh_give_the_measure_of_the_mesh():
    # A plate with a round hole, nodes on the hole and the walls: rings from the hole to the square.
    t = 2 * math.pi * np.arange(96) / 96
    circle = np.stack([np.cos(t), np.sin(t)], axis=1)
    square = circle / np.abs(circle).max(axis=1, keepdims=True)
    rings = [0.5 + 0.2 * circle + r * (0.5 * square - 0.2 * circle) for r in np.linspace(0, 1, 14)]
    exact = 1 - 96 / 2 * math.sin(2 * math.pi / 96) * 0.04
    made = Discretization.points(np.clip(np.concatenate(rings), 0, 1))
    assert made.measure == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize("axes", [(0.25, 0.4, 0.6), (0.27, 0.3, 0.6), (0.5, 0.5, 0.25)])
def test_flat_bodies_are_voids_although_no_ball_in_them_is_large(axes):
    """Random points around an ellipsoid, and on it, in a cube of side 2."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        sphere = rng.standard_normal((500, 3))
        points = rng.uniform(-1, 1, (2200, 3))
        points = points[((points / axes) ** 2).sum(axis=1) > 1][:2000]
        points = np.concatenate([sphere / np.linalg.norm(sphere, axis=1, keepdims=True) * axes, points])
        made = Discretization.points(points, bounds=[[-1, 1]] * 3)
        # The body is 3 % of the cube, at least.
        assert made.measure == pytest.approx(8 - 4 / 3 * math.pi * math.prod(axes), rel=0.01)


def test_integrals_over_a_domain_that_was_found():
    x = drawn(3, 4000, 2, l_shape)
    made = Discretization.points(x)
    exact = math.sin(2) * (1 - math.cos(2)) / 4 - (math.sin(2) - math.sin(1)) * (math.cos(1) - math.cos(2)) / 4
    values = torch.cos(2 * made.points[:, 0]) * torch.sin(2 * made.points[:, 1])
    assert made.integrate(values).item() == pytest.approx(exact, abs=0.01)


def test_cells_cover_the_domain_and_name_its_points():
    x = drawn(1, 800, 2, l_shape)
    made = Discretization.points(np.concatenate([x, x[:5]]))
    assert made.cells.dtype == torch.int64
    assert made.cells.min() >= 0
    assert made.cells.max() < made.n
    mesh = Discretization.mesh(made.points, made.cells)
    assert 0.85 * made.measure < mesh.measure < made.measure
    centroids = made.points[made.cells].mean(dim=1).numpy()
    assert l_shape(centroids).mean() > 0.99


def test_cells_wrap_around_periodic_axes():
    grid = Discretization.uniform((6, 7), periodic=True)
    made = Discretization.points(grid.points, periodic=True)
    assert len(made.cells) == 2 * 42
    assert torch.bincount(made.cells.ravel(), minlength=42).min() >= 4


@pytest.mark.parametrize("d", [2, 3])
def test_the_box_is_taken_when_asked_for(d):
    made = Discretization.points(drawn(0, 600, d, l_shape), domain="box")
    assert made.domain == BOX
    assert made.measure == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("periodic", list(itertools.product([False, True], repeat=2)))
@pytest.mark.parametrize("domain", ["auto", "box"])
@given(seed=st.integers(0, 10_000), n=st.integers(1, 120), coarse=st.booleans())
@settings(max_examples=15, deadline=None)
def test_random_points_in_a_box_add_up_to_it(periodic, domain, seed, n, coarse):
    x = drawn(seed, n, 2)
    made = Discretization.points(np.round(5 * x) / 5 if coarse else x, periodic=periodic, domain=domain)
    assert (made.weights > 0).all()
    if domain == "box" or made.domain.startswith(BOX):
        assert made.measure == pytest.approx(1, abs=1e-12)
    assert made.measure <= 1 + 1e-12


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3), (2, 4), (3, 3, 3), (5, 2, 3)])
def test_small_grids_have_their_own_weights_on_any_axes(shape):
    for periodic in itertools.product([False, True], repeat=len(shape)):
        grid = Discretization.uniform(shape, periodic=periodic)
        for domain in ("auto", "box"):
            made = Discretization.points(grid.points, periodic=periodic, domain=domain)
            torch.testing.assert_close(made.weights, grid.weights, atol=0, rtol=1e-9)


def both_domains():
    return {"box": drawn(5, 300, 2), "L": drawn(5, 300, 2, l_shape), "cube": 0.01 + 0.98 * drawn(5, 200, 3)}


@pytest.mark.parametrize("case", both_domains())
@given(st.lists(st.integers(-9, 9), min_size=3, max_size=3), st.lists(st.integers(-8, 8), min_size=3, max_size=3))
@settings(max_examples=10, deadline=None)
def test_stretching_and_shifting_an_axis_scales_the_weights(case, powers, shifts):
    x = both_domains()[case]
    d = x.shape[1]
    stretch = 10.0 ** np.array(powers[:d])
    low = np.array(shifts[:d]) * stretch
    made = Discretization.points(x)
    moved = Discretization.points(low + stretch * x, bounds=np.stack([low, low + stretch], axis=1))
    torch.testing.assert_close(moved.weights / np.prod(stretch), made.weights, atol=0, rtol=1e-9)
    assert moved.domain == made.domain
    assert torch.equal(moved.cells.sort(dim=1).values.unique(dim=0), made.cells.sort(dim=1).values.unique(dim=0))


@pytest.mark.parametrize("case", both_domains())
@pytest.mark.parametrize("periodic", [False, True])
def test_the_order_of_points_does_not_matter(case, periodic):
    x = both_domains()[case]
    order = np.random.default_rng(0).permutation(len(x))
    made, moved = Discretization.points(x, periodic=periodic), Discretization.points(x[order], periodic=periodic)
    torch.testing.assert_close(moved.weights, made.weights[order], atol=0, rtol=1e-9)


@pytest.mark.parametrize("case", both_domains())
def test_points_that_coincide_share_a_cell(case):
    x = both_domains()[case]
    once, twice = Discretization.points(x), Discretization.points(np.concatenate([x, x[:50], x[:20]]))
    torch.testing.assert_close(twice.weights[:20], once.weights[:20] / 3)
    torch.testing.assert_close(twice.weights[20:50], once.weights[20:50] / 2)
    torch.testing.assert_close(twice.weights[50 : len(x)], once.weights[50:])
    assert twice.domain == once.domain


def test_points_on_both_walls_of_a_periodic_axis_coincide():
    made = Discretization.points([[0, 0.3], [1, 0.3], [0.5, 0.3], [0.2, 0.8]], periodic=(True, False))
    assert made.weights[0].item() == pytest.approx(made.weights[1].item())
    assert made.measure == pytest.approx(1)


THIN = {
    "one point": (np.full((1, 2), 0.5), "1 distinct point, too few for cells"),
    "one place": (np.full((4, 3), 0.5), "1 distinct point, too few for cells"),
    "two points": (np.array([[0.1, 0.2], [0.3, 0.9]]), "2 distinct points, too few for cells"),
    "three points in space": (drawn(0, 3, 3), "3 distinct points, too few for cells"),
    "on a wall": (np.stack([np.zeros(30), drawn(0, 30, 1)[:, 0]], axis=1), "the points span no area"),
    "on a diagonal": (np.repeat(drawn(0, 30, 1), 2, axis=1), "the points span no area"),
    "almost on a diagonal": (np.repeat(drawn(0, 30, 1), 2, axis=1) * [1, 1 - 1e-11], "the points span no area"),
    "on a plane": (np.insert(drawn(0, 30, 2), 1, 0.3, axis=1), "the points span no volume"),
    "on a line in space": (np.repeat(drawn(0, 30, 1), 3, axis=1), "the points span no volume"),
}


@pytest.mark.parametrize("case", THIN)
@pytest.mark.parametrize("domain", ["auto", "box"])
def test_points_without_cells_have_equal_weights(case, domain):
    x, why = THIN[case]
    made = Discretization.points(2 * x, bounds=[(0, 2)] * x.shape[1], domain=domain)
    if len(x) == 30 and x.shape[1] == 2 and domain == "auto":
        assert made.domain.startswith("a curve of length")
        return
    torch.testing.assert_close(made.weights, torch.full((len(x),), made.volume / len(x), dtype=torch.float64))
    assert made.domain == f"{BOX} in equal parts: {why}"
    assert made.cells is None


@pytest.mark.parametrize("d", [2, 3])
def test_points_on_a_curve_in_space_or_by_choice_are_given_the_box(d):
    t = np.linspace(0, 1, 150)
    x = np.stack([t, 0.5 + 0.4 * np.sin(6 * t), t**2], axis=1)[:, :d]
    made = Discretization.points(x, domain="box" if d == 2 else "auto")
    assert made.domain == BOX
    assert made.measure == pytest.approx(1, abs=1e-12)


def test_clusters_and_points_that_nearly_coincide_are_no_obstacle():
    rng = np.random.default_rng(0)
    x = rng.random((300, 3))
    for apart in (1e-14, 1e-12, 1e-10, 1e-8):
        near = np.clip(x + apart * rng.random(x.shape), 0, 1)
        made = Discretization.points(np.concatenate([x, near]), domain="box")
        assert made.measure == pytest.approx(1, abs=1e-12)
        assert (made.weights >= 0).all()


@pytest.mark.parametrize("d", [2, 3])
def test_very_many_points_are_weighed_by_bins(d):
    x = drawn(0, 2**17 + 1, d)
    made = Discretization.points(np.concatenate([x, x[:10]]))
    assert made.domain == BOX
    assert made.cells is None
    assert made.measure == pytest.approx(1, abs=1e-12)
    torch.testing.assert_close(made.weights[:10], made.weights[-10:])
    part = Discretization.points(drawn(1, 2**17 + 1, d, l_shape))
    assert part.measure == pytest.approx(1 - 0.5**d, rel=0.01)
    assert part.domain.endswith("% of its box, found from the points")


@pytest.mark.parametrize("seed", range(6))
def test_a_void_of_a_mesh_ends_where_it_is_a_point(seed):
    """Nodes of a mesh around a wing: the profile up to its trailing edge, where it is thinner than nodes are apart."""
    mesh = Airfoil().record(np.random.default_rng([11, seed]), [1000])[0][1000].input_at
    bare = Discretization.points(mesh.points, bounds=mesh.bounds.tolist())
    assert bare.measure == pytest.approx(mesh.measure, rel=4e-4)  # 1e-3 with the strip behind the blunt end
    tail = torch.tensor([[0.74, 0.5]], dtype=torch.float64)  # of the unit box: just before the trailing edge
    assert float(distance_at(bare, tail)) == pytest.approx(float(distance_at(mesh, tail)), abs=2e-3)


@pytest.mark.parametrize("seed", range(4))
def test_random_points_lose_nothing_to_ends_of_voids(seed):
    """Their borders are ragged: an edge between two sharp turns is no narrow end."""
    x = np.random.default_rng([12, seed]).random((1500, 2))
    x = x[np.linalg.norm(x - [0.45, 0.5], axis=1) > 0.2]
    assert Discretization.points(x).measure == pytest.approx(1 - 0.04 * math.pi, rel=0.02)


@pytest.mark.parametrize("domain", ["auto", "box"])
@pytest.mark.parametrize("seed", range(6))
def test_points_that_fill_a_square_need_one_triangulation(seed, domain, monkeypatch):
    x = drawn(seed, 60 * (seed + 1), 2)
    once = Discretization.points(x, domain=domain)
    monkeypatch.setattr(alpha_shape, "_whole_box", lambda *_: None)
    twice = Discretization.points(x, domain=domain)
    assert once.domain == twice.domain == BOX
    assert torch.allclose(once.weights, twice.weights, rtol=1e-6, atol=1e-9 / len(x))

"""Integrals of closed forms, with the order of convergence measured by regression."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iaenet import Discretization, InvalidInputError
from iaenet.functions.quadrature import binned, gather, lumped_mass

SEVEN_SIZES = np.array([17, 33, 65, 129, 257, 513, 1025])


def order(sizes, errors):
    """Slope p of `error ~ n^-p`."""
    return -np.polyfit(np.log(sizes), np.log(errors), 1)[0]


def error_of(discretization, function, exact):
    return abs(discretization.integrate(function(discretization.points)).item() - exact)


def wave(x):
    return torch.exp(x[:, 0]) * torch.cos(3 * x[:, 0])


WAVE = (math.exp(1) * (math.cos(3) + 3 * math.sin(3)) - 1) / 10


@pytest.mark.parametrize("layout", ["uniform", "tensor_grid", "clustered", "shuffled"])
def test_trapezoid_is_second_order(layout):
    errors = []
    for n in SEVEN_SIZES:
        x = np.linspace(0, 1, n)
        if layout != "uniform":
            x = x**2 * (3 - 2 * x)  # clustered at both ends
        if layout == "shuffled":
            x = np.random.default_rng(0).permutation(x)
        made = (
            Discretization.tensor_grid(x) if layout in ("uniform", "tensor_grid") else Discretization.points(x[:, None])
        )
        errors.append(error_of(made, wave, WAVE))
    assert order(SEVEN_SIZES, errors) >= 1.9


def test_random_points_in_one_dimension_converge_almost_as_fast():
    rng = np.random.default_rng(1)
    sizes = np.array([100, 400, 1600, 6400])
    errors = [
        np.sqrt(np.mean([error_of(Discretization.points(rng.random((n, 1))), wave, WAVE) ** 2 for _ in range(40)]))
        for n in sizes
    ]
    assert order(sizes, errors) >= 1.8  # 2 up to the logarithm in the largest gap


def test_periodic_grids_are_spectrally_accurate():
    # int exp(sin 2 pi x) dx = I_0(1), the modified Bessel function
    exact = 1.2660658777520084
    errors = [
        error_of(Discretization.uniform(n, periodic=True), lambda x: torch.exp(torch.sin(2 * math.pi * x[:, 0])), exact)
        for n in (4, 8, 12, 16)
    ]
    assert errors[0] > 1e-4
    assert errors[-1] < 1e-14


def test_monte_carlo_has_order_one_half():
    rng = np.random.default_rng(2)
    sizes = np.array([100, 400, 1600, 6400])
    exact = 1 / 4

    def spread(n):
        draws = [
            error_of(Discretization.points(rng.random((n, 2)), rule="monte-carlo"), lambda x: x[:, 0] * x[:, 1], exact)
            for _ in range(100)
        ]
        return np.sqrt(np.mean(np.square(draws)))

    assert 0.45 <= order(sizes, [spread(n) for n in sizes]) <= 0.55


@pytest.mark.parametrize("d", [2, 3])
def test_cells_beat_monte_carlo_and_fill_the_box(d):
    rng = np.random.default_rng(3)
    sizes = np.array([200, 800, 3200]) if d == 2 else np.array([200, 600, 1800])
    exact = (math.e - 1) ** d
    errors = []
    for n in sizes:
        trials = []
        for _ in range(4):
            made = Discretization.points(rng.random((n, d)), domain="box")
            assert made.weights.sum().item() == pytest.approx(1, abs=1e-9)
            trials.append(error_of(made, lambda x: torch.exp(x.sum(dim=1)), exact))
        errors.append(np.mean(trials))
    assert order(sizes, errors) * d >= 1.4  # in the spacing h = n^(-1/d)
    assert errors[-1] < 0.3 / math.sqrt(sizes[-1])


@pytest.mark.parametrize("periodic", [(True, True), (True, False), (False, False)])
def test_cells_of_a_lattice_have_the_grids_own_weights(periodic):
    grid = Discretization.uniform((6, 7), periodic=periodic, bounds=[(0, 2), (-1, 1)])
    made = Discretization.points(grid.points, periodic=periodic, bounds=[(0, 2), (-1, 1)])
    torch.testing.assert_close(made.weights, grid.weights, atol=1e-12, rtol=0)


def test_lumped_mass_is_second_order_on_meshes():
    sizes, errors = np.array([8, 16, 32, 64]), []
    for n in sizes:
        # The quarter disc by mapped triangles: a mesh that is not a grid, on a curved domain.
        r, t = np.meshgrid(np.linspace(0, 1, n + 1), np.linspace(0, math.pi / 2, n + 1), indexing="ij")
        points = np.stack([(r * np.cos(t)).ravel(), (r * np.sin(t)).ravel()], axis=1)
        corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
        quads = np.stack([corner, corner + n + 1, corner + n + 2, corner + 1], axis=1)
        cells = np.concatenate([quads[:, [0, 1, 2]], quads[n:, [0, 2, 3]]])  # flat at the centre, r = 0
        mesh = Discretization.mesh(points, cells)
        errors.append(error_of(mesh, lambda x: x[:, 0] * x[:, 1], 1 / 8))
    assert order(sizes, errors) >= 1.9


def test_lumped_mass_of_tetrahedra_and_surfaces():
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    assert Discretization.mesh(corners, [[0, 1, 2, 3]]).weights.sum().item() == pytest.approx(1 / 6)
    assert Discretization.mesh(corners, [[1, 2, 3]]).weights.sum().item() == pytest.approx(math.sqrt(3) / 2)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.booleans(), st.randoms())
def test_weights_fill_the_interval_whatever_the_points(x, periodic, random):
    made = Discretization.points(np.array(x)[:, None], periodic=periodic)
    assert made.weights.sum().item() == pytest.approx(1)
    assert (made.weights >= 0).all()
    places = list(range(len(x)))
    random.shuffle(places)
    moved = Discretization.points(np.array(x)[places, None], periodic=periodic)
    torch.testing.assert_close(moved.weights, made.weights[places], atol=1e-15, rtol=1e-12)


@given(st.integers(2, 40), st.integers(1, 3), st.booleans())
def test_duplicated_points_do_not_change_an_integral(n, d, periodic):
    points = np.random.default_rng(n).random((n, d))
    once = Discretization.points(points, periodic=periodic)
    twice = Discretization.points(np.concatenate([points, points[: n // 2]]), periodic=periodic)
    f = torch.cos(once.points.sum(dim=1))
    g = torch.cos(twice.points.sum(dim=1))
    assert twice.integrate(g).item() == pytest.approx(once.integrate(f).item(), abs=1e-12)


def test_stretched_meshes_have_the_right_size():
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    cells = np.array([[0, 1, 2], [1, 2, 3]])
    for stretch in ([1e9, 1e-9], [1e120, 1e120], [1e-120, 1.0], [1.0, 1e-7]):
        found = lumped_mass(corners * stretch, cells)
        np.testing.assert_allclose(found / np.prod(stretch), [1 / 6, 1 / 3, 1 / 3, 1 / 6], rtol=1e-12)


def test_sizes_of_cells_do_not_depend_on_where_the_mesh_lies():
    rng = np.random.default_rng(0)
    corners, cells = rng.random((4, 3)), np.array([[0, 1, 2], [0, 1, 3]])
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(lumped_mass(corners @ turn + 5, cells), lumped_mass(corners, cells), rtol=1e-12)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[0, 1, 2], [1, 3, 2], [2, 0, 1]], "cell 2 is cell 0 again"),
        ([[0, 1, 2], [0, 4, 1]], r"cell 1 \[0, 4, 1\] is flat"),
        ([[0, 1, 1]], "cell 0 .* is flat: its corners coincide"),
    ],
)
def test_meshes_with_cells_that_do_not_count_are_refused(cells, message):
    with pytest.raises(InvalidInputError, match=message):
        Discretization.mesh([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0]], cells)


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("periodic", [False, True])
def test_bins_of_random_points_fill_the_box(d, periodic):
    nodes = np.random.default_rng(0).random((20_000, d))
    weights = binned(nodes, (periodic,) * d)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    exact = (math.e - 1) ** d
    assert weights @ np.exp(nodes.sum(axis=1)) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("d", [2, 3])
def test_bins_leave_out_what_has_no_points(d):
    nodes = np.random.default_rng(1).random((200_000, d))
    nodes = nodes[~np.all(nodes > 0.5, axis=1)]
    assert binned(nodes, (False,) * d).sum() == pytest.approx(1 - 0.5**d, rel=0.01)
    assert binned(nodes, (False,) * d, whole=True).sum() == pytest.approx(1, abs=1e-12)


def test_bins_of_sparse_parts_are_part_of_the_domain():
    rng = np.random.default_rng(2)
    dense, sparse = rng.random((160_000, 2)) * [0.5, 1], rng.random((40_000, 2)) * [0.5, 1] + [0.5, 0]
    weights = binned(np.concatenate([dense, sparse]), (False, False))
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert weights[:160_000].sum() == pytest.approx(0.5, abs=0.01)


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(-1, 1)), max_size=50))
def test_gathering_adds_up(pairs):
    owners, shares = np.array([i for i, _ in pairs], np.int64), np.array([x for _, x in pairs])
    dense = np.array([shares[owners == i].sum() for i in range(10)])
    np.testing.assert_allclose(gather(owners, shares, 10), dense, atol=1e-12)

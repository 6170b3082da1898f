import math

import numpy as np
import pytest
import torch

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.models.gino import GINO
from iaenet.models.grid_model import Group
from iaenet.models.point_model import PointModel
from iaenet.nn.neighbourhood import NeighbourhoodIntegral, neighbours
from iaenet.training.optim import matrices_of
from tests.smooth import mismatch, smooth

SMALL = {"grid": 8, "width": 6, "modes": 2, "layers": 2, "hidden": 5, "encoder": [7, 4], "decoder": [6]}
PERIODIC = [(False,), (True,), (False, False), (True, False), (False, True, False)]


def randomised(model: GINO) -> GINO:
    """In float64, every parameter random: biases, too, have something to do."""
    model.double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def scattered(n: int, periodic: tuple[bool, ...] = (False, False), seed: int = 0) -> Discretization:
    points = np.random.default_rng(seed).random((n, len(periodic)))
    return Discretization.points(points, periodic=periodic, rule="monte-carlo")


def apart(x: np.ndarray, y: np.ndarray, periodic: tuple[bool, ...]) -> np.ndarray:
    """`x - y`, for a periodic axis the shortest of its copies."""
    return np.array(
        [
            min((a - b + k for k in (-1, 0, 1)), key=abs) if wraps else a - b
            for a, b, wraps in zip(x, y, periodic, strict=True)
        ]
    )


# ---------------------------------------------------------------------- neighbours


@pytest.mark.parametrize("radius", [0.02, 0.2, 0.45, 0.7])
@pytest.mark.parametrize("periodic", PERIODIC)
def test_neighbours_are_those_of_a_search_through_all(periodic, radius):
    rng = np.random.default_rng(1)
    points, places = rng.random((40, len(periodic))), rng.random((30, len(periodic)))
    found = neighbours(torch.from_numpy(places), torch.from_numpy(points), radius, periodic)
    senders = found.senders.split(found.counts.tolist())
    alone = 0
    for y, near in zip(places, senders, strict=True):
        distance = np.array([np.linalg.norm(apart(x, y, periodic)) for x in points])
        wanted = np.flatnonzero(distance <= radius)
        alone += not len(wanted)
        assert near.tolist() == (wanted.tolist() or [int(distance.argmin())])
    assert alone == 0 or radius < 0.5
    assert alone > 0 or radius > 0.1


def test_a_point_at_the_radius_is_within_it_whatever_rounding_says():
    nodes = torch.arange(31, dtype=torch.float64)[:, None] / 30
    counts = neighbours(nodes, nodes, 0.1, (False,)).counts
    assert counts.tolist() == [4, 5, 6] + [7] * 25 + [6, 5, 4]


def test_points_that_are_equally_near_are_all_taken():
    points = torch.tensor([[0.9], [0.1], [0.95]], dtype=torch.float64)
    assert neighbours(torch.tensor([[0.5]]), points, 0.01, (False,)).senders.tolist() == [0, 1]


def test_a_point_on_the_seam_is_no_other_than_its_copy():
    places = torch.tensor([[-1e-17], [0.0], [1.0]], dtype=torch.float64)
    found = neighbours(places, torch.tensor([[0.95], [0.5], [1.0]]), 0.1, (True,))
    assert found.senders.tolist() == [0, 2] * 3


def test_lists_are_kept_with_their_points_one_in_each_direction():
    model, at = GINO(1, 1, 2, **SMALL), scattered(50)
    model(Field(at, torch.ones(50, 1)))
    kept = dict(at.cache)
    assert sorted(key[1] for key in kept) == ["from grid", "to grid"]
    assert all(near.senders.dtype == near.counts.dtype == torch.int32 for _, near in kept.values())
    model(Field(at, torch.ones(50, 1)))
    assert all(at.cache[key] is near for key, near in kept.items())
    for width in (2, 3):  # places in other boxes
        other = Discretization.points(width * at.points, bounds=[[0, width]] * 2, rule="monte-carlo")
        model(Field(other, torch.ones(50, 1)), at=at)
    assert set(at.cache) == set(kept)


# ---------------------------------------------------------------------- formulas


def gelu(x: np.ndarray) -> np.ndarray:
    return np.array([t * (1 + math.erf(t / math.sqrt(2))) / 2 for t in x.ravel()]).reshape(x.shape)


def features(x: np.ndarray, periodic: tuple[bool, ...]) -> np.ndarray:
    """Coordinates of a point as the kernels see them."""
    count = {1: 1, 2: 3, 3: 2}[len(periodic)]
    found = []
    for t, wraps in zip(x, periodic, strict=True):
        if wraps:
            found += [wave(2 * np.pi * 2**j * t) for j in range(count) for wave in (np.cos, np.sin)]
        else:
            found += [2 * t - 1] + [np.cos(np.pi * 2**j * t) for j in range(count - 1)]
    return np.array(found)


def apply(layer: torch.nn.Linear, x: np.ndarray) -> np.ndarray:
    y = layer.weight.detach().numpy() @ x
    return y if layer.bias is None else y + layer.bias.detach().numpy()


def explicit_sum(part, y, points, weights, a, f, radius, periodic):
    """`sum_i w_i k(y, x_i, f_i) a_i / sum_i w_i` over the points near y, or the nearest, one by one."""
    away = [apart(x, y, periodic) for x in points]
    distance = np.array([np.linalg.norm(d) for d in away])
    near = [i for i in range(len(points)) if distance[i] <= radius] or [int(distance.argmin())]
    total = np.zeros(a.shape[1])
    for i in near:
        seen = np.concatenate([features(points[i], periodic), f[i]])
        h = apply(part.place, features(y, periodic)) + apply(part.point, seen) + apply(part.offset, away[i] / radius)
        for layer in part.kernel:
            h = gelu(h) if isinstance(layer, torch.nn.GELU) else apply(layer, h)
        total += weights[i] * h * a[i]
    return total / sum(weights[i] for i in near)


def explicit(model: GINO, field: Field, queries: np.ndarray) -> np.ndarray:
    """The network in loops over places and points; only the Fourier layers are its own (`test_fno.py` has theirs)."""
    at, periodic, radius = field.discretization, model.periodic, model.radius
    points, weights, f = at.points.numpy(), at.weights.numpy(), field.values.numpy()
    sides = [np.arange(s) / (s if wraps else s - 1) for s, wraps in zip(model.grid.shape, periodic, strict=True)]
    nodes = np.array(np.meshgrid(*sides, indexing="ij")).reshape(len(sides), -1).T
    lifted = np.array(
        [apply(model.lift, np.concatenate([v, features(x, periodic)])) for v, x in zip(f, points, strict=True)]
    )
    ball = {1: 2 * radius, 2: math.pi * radius**2, 3: 4 / 3 * math.pi * radius**3}[len(periodic)]
    rows = []
    for z in nodes:
        v = explicit_sum(model.encoder, z, points, weights, lifted, f, radius, periodic)
        inside = [np.linalg.norm(apart(x, z, periodic)) <= radius for x in points]
        mu = weights[inside].sum() / ball
        rows.append(apply(model.enter, np.concatenate([v, [mu / (1 + mu)], features(z, periodic)])))
    a = torch.from_numpy(np.array(rows))[None]
    for layer in model.layers:
        a = layer(a, model.grid.shape)
    share = np.ones(len(nodes))
    for axis, wraps in enumerate(periodic):
        if not wraps:
            share[(nodes[:, axis] == 0) | (nodes[:, axis] == 1)] /= 2
    values, none = a[0].detach().numpy(), np.zeros((len(nodes), 0))
    u = [explicit_sum(model.decoder, y, nodes, share, values, none, radius, periodic) for y in queries]
    return np.array([apply(model.project[2], gelu(apply(model.project[0], row))) for row in u])


@pytest.mark.parametrize(
    ("periodic", "grid"), [((True,), 8), ((True, False), [6, 5]), ((False, True, False), [4, 5, 4])]
)
def test_it_equals_its_formulas(periodic, grid):
    model = randomised(GINO(2, 3, len(periodic), periodic, **SMALL | {"grid": grid}))
    rng = np.random.default_rng(0)
    at = Discretization.points(rng.random((15, len(periodic))), rng.random(15) / 15, periodic=periodic)
    queries = Discretization.points(rng.random((4, len(periodic))), periodic=periodic, rule="monte-carlo")
    field = Field(at, torch.randn(15, 2, dtype=torch.float64))
    truth = explicit(model, field, queries.points.numpy())
    assert np.abs(model(field, at=queries).values.detach().numpy() - truth).max() < 1e-10 * np.abs(truth).max()


def test_pairs_taken_some_at_a_time_make_no_difference(monkeypatch):
    model, at = randomised(GINO(1, 1, 2, **SMALL)), scattered(60)
    field = Field(at, torch.randn(3, 60, 1, dtype=torch.float64))
    whole = model(field).values
    monkeypatch.setattr("iaenet.nn.neighbourhood.PIECE", 500)
    torch.testing.assert_close(model(field).values, whole, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("periodic", PERIODIC)
def test_normalised_sums_reproduce_constants(periodic):
    """With a kernel of one: whatever the points and their weights are, and where a node has no point near it."""
    model = GINO(1, 1, len(periodic), periodic, grid=8, width=6, modes=2).double()
    rng = np.random.default_rng(0)
    at = Discretization.points(rng.random((12, len(periodic))), rng.random(12), periodic=periodic)
    constant = torch.arange(1.0, 7.0, dtype=torch.float64)
    for part, where in ((model.encoder, model.to_grid(at)), (model.decoder, model.from_grid(at, at))):
        torch.nn.init.zeros_(part.kernel[-1].weight)
        a = constant.expand(2, len(where.points), 6)
        seen = torch.randn(2, len(where.points), 1, dtype=torch.float64) if part is model.encoder else None
        found = part(a, where, seen)
        torch.testing.assert_close(found, constant.expand(2, len(where.places), 6), rtol=1e-13, atol=0)


def test_weights_of_zero_count_as_equal_ones_where_there_are_no_others():
    weights = torch.zeros(10)
    weights[0] = 1.0
    at = Discretization.points(torch.linspace(0, 1, 10, dtype=torch.float64)[:, None], weights)
    model = GINO(1, 1, **SMALL).double()
    assert model(Field(at, torch.ones(10, 1, dtype=torch.float64))).values.isfinite().all()
    torch.testing.assert_close(model.to_grid(at).shares.sum(), torch.tensor(8.0, dtype=torch.float64))


def test_the_measure_is_one_inside_of_a_domain_and_nothing_in_its_hole():
    points = torch.rand(40000, 2, dtype=torch.float64)
    points = points[(points - 0.5).norm(dim=1) > 0.3]
    at = Discretization.points(points, torch.full((len(points),), 1 / 40000))
    model = GINO(1, 1, 2, grid=20, width=4, modes=2)
    measure = model.to_grid(at).measure.reshape(20, 20)
    assert measure[10, 10] == 0
    assert measure[3, 3] == pytest.approx(1, abs=0.05)
    assert measure[0, 0] == pytest.approx(0.25, abs=0.03)  # a quarter of the ball at a corner


# ---------------------------------------------------------------------- properties


@pytest.mark.parametrize("periodic", PERIODIC)
def test_points_in_another_order(periodic):
    model = GINO(2, 3, len(periodic), periodic, **SMALL)
    at = scattered(60, periodic)
    field = Field(at, torch.randn(60, 2))
    order = torch.randperm(60)
    shuffled = Discretization(at.points[order], at.weights[order], at.bounds, at.periodic)
    found, truth = model(Field(shuffled, field.values[order])).values, model(field).values[order]
    assert (found - truth).abs().max() < 1e-6 * truth.abs().max()


def refinement(rule: str, sizes: list[int], tries: int) -> list[float]:
    """Root mean square difference of the untrained encoder at `sizes` points from that on a fine grid."""
    model = GINO(1, 1, 2, grid=8, width=8, modes=2, encoder=[16]).double()

    def encoded(at: Discretization) -> torch.Tensor:
        group = Group([0], [smooth(at, torch.float64)], at, at)
        return model.encode(group)[..., :-1]

    with torch.no_grad():
        truth = encoded(Discretization.uniform((257, 257)))
        errors = []
        for n in sizes:
            places = [Discretization.points(torch.rand(n, 2, dtype=torch.float64), rule=rule) for _ in range(tries)]
            errors.append(math.sqrt(np.mean([mismatch(encoded(at), truth) ** 2 for at in places])))
    return errors


@pytest.mark.parametrize(("rule", "order"), [("monte-carlo", 0.4), ("cells", 0.65)])
def test_the_encoder_converges_as_points_are_added(rule, order):
    """With the root of their number for equal weights, faster with the sizes of their cells."""
    sizes = [500, 2000, 8000]
    errors = refinement(rule, sizes, tries=3)
    assert -np.polyfit(np.log(sizes), np.log(errors), 1)[0] > order
    assert errors[-1] < 0.05


def test_coordinates_are_those_in_the_box_of_the_input():
    model = randomised(GINO(1, 1, 2, **SMALL))
    at = scattered(60)
    values = torch.randn(60, 1, dtype=torch.float64)
    low, size = torch.tensor([-3.0, 10.0]), torch.tensor([2.0, 0.5])
    box = torch.stack([low, low + size], dim=1)
    moved = Discretization.points(low + size * at.points, at.weights * size.prod(), bounds=box)
    truth = model(Field(at, values)).values
    torch.testing.assert_close(model(Field(moved, values)).values, truth, rtol=1e-9, atol=1e-9)
    part = Discretization.points(moved.points[5:20], bounds="tight")
    torch.testing.assert_close(model(Field(moved, values), at=part).values, truth[5:20], rtol=1e-9, atol=1e-9)


def test_gradients_of_an_integral():
    part = NeighbourhoodIntegral(2, (False, False), [3, 3], 1).double()
    model = GINO(1, 1, 2, grid=4, width=2, modes=1)
    at = model.to_grid(scattered(5))
    a, f = (torch.randn(2, 5, c, dtype=torch.float64, requires_grad=True) for c in (2, 1))
    assert torch.autograd.gradcheck(lambda a, f, *_: part(a, at, f), (a, f, *part.parameters()))


def test_gradients_of_the_network():
    model = randomised(GINO(1, 1, grid=4, width=2, modes=1, layers=2, hidden=2, encoder=[2], decoder=[2]))
    at = scattered(5, (False,))
    values = torch.randn(1, 5, 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v, *_: model(Field(at, v)).values, (values, *model.parameters()))


def test_muon_takes_the_matrices_of_the_kernels():
    model = GINO(1, 1, 2)
    taken = matrices_of(model)
    for part in (model.encoder, model.decoder):
        assert id(part.kernel[-1].weight) in taken
        assert id(part.offset.weight) not in taken  # two columns have nothing to orthogonalise


def test_autocast_changes_nothing():
    model, at = GINO(1, 1, 2, **SMALL), scattered(60)
    field = Field(at, torch.randn(60, 1))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(field).values
    assert torch.equal(found, model(field).values)


# ---------------------------------------------------------------------- sizes, and what is refused


def test_presets_reach_the_model():
    field = Field(scattered(60), torch.randn(60, 1))
    model = GINO.for_data([(field, field)], preset="paper", layers=1)
    assert model.radius == 0.16
    assert [layer.out_features for layer in model.decoder.kernel if hasattr(layer, "weight")] == [1024, 512, 64]
    assert GINO.for_data([(field, field)]).radius == pytest.approx(1.7 / 27)


def test_what_cannot_be_is_refused():
    with pytest.raises(InvalidInputError, match=r"radius of 0.05 leaves points between .* at least 0.101"):
        GINO(1, 1, 2, grid=8, radius=0.05)
    with pytest.raises(InvalidInputError, match="at least one hidden layer"):
        GINO(1, 1, encoder=[])
    with pytest.raises(InvalidInputError, match="needs lists of neighbours"):
        PointModel(GINO(1, 1, 2, **SMALL))

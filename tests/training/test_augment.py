"""Augmentation: symmetries are those of the equations, resampling keeps pairs together, the objective is eq. (loss)."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError, interpolate, relative_l2
from iaenet.data.problems.burgers import Burgers, cole_hopf
from iaenet.data.problems.random_fields import FourierSeries
from iaenet.functions.seeds import stream
from iaenet.models.registry import build
from iaenet.training.augment import SETS, at_some_points, resampled
from iaenet.training.batches import Samples
from iaenet.training.config import AugmentConfig, TrainConfig
from iaenet.training.losses import losses_of
from iaenet.training.symmetries import symmetric
from tests.sizes import sizes
from tests.trainings import TINY, waves


def chance(seed=0):
    return torch.Generator().manual_seed(seed)


def batch(grid, f, g=None, copies=12):
    """The same pair many times, so that every element of a symmetry occurs."""
    values = [f(grid.points).sum(1, keepdim=True), (g or f)(grid.points).sum(1, keepdim=True)]
    return tuple(Field(grid, one.expand(copies, -1, -1).clone()) for one in values)


# ------------------------------------------------------------------ symmetries


@pytest.mark.parametrize("name", ["shift", "odd-reflect"])
def test_they_are_symmetries_of_burgers_equation(name):
    """Move the initial condition, solve again: the solution has moved alike."""
    problem = Burgers(viscosity=0.02, modes=40)
    pairs = [problem.record(np.random.default_rng(i), [128])[0][128] for i in range(6)]
    grid = pairs[0].input_at
    given, wanted = (
        Field(grid, torch.from_numpy(np.stack(v))) for v in ([p.input for p in pairs], [p.output for p in pairs])
    )
    ((moved, image),) = symmetric([(given, wanted)], [name], chance(1))
    changed = [not torch.allclose(a, b) for a, b in zip(moved.values, given.values, strict=True)]
    assert any(changed)
    for u0, u in zip(moved.values[..., 0].numpy(), image.values[..., 0].numpy(), strict=True):
        c = 2 * np.fft.rfft(u0, norm="forward")[:-1]
        c[0] /= 2
        solved = cole_hopf(FourierSeries(c), grid.points[:, 0].numpy(), problem.viscosity, problem.time)
        assert np.abs(solved - u).max() < 1e-10 * np.abs(u).max()


def test_an_even_reflection_is_no_symmetry_of_burgers_equation():
    """The test above can fail."""
    sine = FourierSeries(np.array([0, -1j, 0.3]))
    x = Discretization.uniform(64, periodic=True).points[:, 0].numpy()
    turned = FourierSeries(np.conj(sine.coefficients))  # f(-x)
    assert np.abs(cole_hopf(turned, x, 0.02, 1.0) - cole_hopf(sine, -x, 0.02, 1.0)).max() > 0.1


def parts(pair, count):
    return [(pair[0].values[i], pair[1].values[i]) for i in range(count)]


@pytest.mark.parametrize("dim", [1, 2])
def test_a_shift_moves_input_and_output_alike_along_periodic_axes(dim):
    grid = Discretization.uniform((8, 6)[:dim], periodic=True)
    pair = batch(grid, lambda x: torch.sin(2 * torch.pi * x) + x, lambda x: x**2)
    ((moved, image),) = symmetric([pair], ["shift"], chance())
    shifts = set()
    for one, other in zip(moved.values, image.values, strict=True):
        fits = [
            by
            for by in np.ndindex(grid.shape)
            if all(
                torch.equal(new.reshape(grid.shape), old[0].reshape(grid.shape).roll(by, tuple(range(dim))))
                for new, old in ((one, pair[0].values), (other, pair[1].values))
            )
        ]
        assert len(fits) == 1
        shifts.add(fits[0])
    assert len(shifts) > 4  # another one for each sample


def test_a_shift_leaves_closed_axes():
    grid = Discretization.tensor_grid([0.0, 0.1, 1.0], np.arange(4) / 4, periodic=(False, True))
    pair = batch(grid, lambda x: x * torch.tensor([1.0, 0.0], dtype=torch.float64))
    ((moved, _),) = symmetric([pair], ["shift"], chance())
    assert torch.equal(moved.values, pair[0].values)


def test_a_reflection_of_a_period_is_x_to_minus_x():
    grid = Discretization.uniform(16, periodic=True, bounds=[(-1.0, 3.0)])

    def f(x):
        angle = 2 * torch.pi * (x + 1) / 4
        return torch.sin(angle) + 0.5 * torch.cos(2 * angle)

    pair = batch(grid, f)
    ((moved, image),) = symmetric([pair], ["reflect"], chance())
    mirrored = f(-2 - grid.points)  # about the lower bound, which is also the upper one
    kinds = {0, 1}
    for one, other in zip(moved.values, image.values, strict=True):
        turned = torch.allclose(one, mirrored)
        assert turned or torch.equal(one, pair[0].values[0])
        assert torch.equal(one, other)
        kinds.discard(int(turned))
    assert not kinds  # some were turned, some were not


@pytest.mark.parametrize("grid", [
    Discretization.uniform((5, 9), bounds=[(0, 2), (-1, 1)]),
    Discretization.tensor_grid([0.1, 0.5, 0.9], [0.25, 0.75]),
    Discretization.tensor_grid([0.0, 0.1, 0.9, 1.0], [0.0, 1.0]),
])  # fmt: skip
def test_a_reflection_of_closed_axes_is_about_the_middle(grid):
    def f(x):
        return torch.exp(x) * torch.tensor([1.0, 0.3], dtype=torch.float64)

    pair = batch(grid, f, copies=30)
    ((moved, _),) = symmetric([pair], ["reflect"], chance())
    middle = grid.bounds.sum(1)
    versions = []
    for turn in np.ndindex(2, 2):
        turned = torch.tensor(turn, dtype=torch.bool)
        versions.append(f(torch.where(turned, middle - grid.points, grid.points)).sum(1, keepdim=True))
    hits = [[torch.allclose(one, version) for version in versions].index(True) for one in moved.values]
    assert set(hits) == {0, 1, 2, 3}


def test_a_transposition_swaps_the_axes():
    grid = Discretization.uniform((6, 6))
    pair = batch(grid, lambda x: x * torch.tensor([1.0, 10.0], dtype=torch.float64))
    ((moved, image),) = symmetric([pair], ["transpose"], chance())
    swapped = pair[0].values[0].reshape(6, 6).T.reshape(36, 1)
    hits = [torch.equal(one, swapped) for one in moved.values]
    assert 0 < sum(hits) < len(hits)
    assert all(hit or torch.equal(one, pair[0].values[0]) for hit, one in zip(hits, moved.values, strict=True))
    assert torch.equal(moved.values, image.values)


def test_symmetries_change_nothing_that_they_were_given():
    pairs = Samples(waves(6)).take(range(6))
    before = [tuple(one.values.clone() for one in pair) for pair in pairs]
    symmetric(pairs, ["shift", "odd-reflect"], chance())
    assert all(torch.equal(one.values, old) for pair, olds in zip(pairs, before, strict=True)
               for one, old in zip(pair, olds, strict=True))  # fmt: skip


UNEVEN = Discretization.tensor_grid([0.0, 0.1, 0.6, 1.0])
HALF = Discretization.tensor_grid([0.0, 0.25, 0.5])  # even, but of a domain that goes on


@pytest.mark.parametrize(
    ("grid", "name"),
    [
        (UNEVEN, "reflect"),
        (HALF, "odd-reflect"),
        (Discretization.tensor_grid([0.0, 0.1, 0.6], periodic=True), "shift"),
        (Discretization.tensor_grid([0.0, 0.1, 0.6], periodic=True), "reflect"),
        (Discretization.tensor_grid(np.arange(4) / 8, periodic=True), "shift"),
        (Discretization.tensor_grid((np.arange(4) + 0.3) / 4, periodic=True), "reflect"),
        (Discretization.uniform((4, 5)), "transpose"),
        (Discretization.uniform((4, 4), bounds=[(0, 1), (0, 2)]), "transpose"),
        (Discretization.uniform((4, 4), periodic=(True, False)), "transpose"),
        (Discretization.uniform(4), "transpose"),
    ],
)
def test_a_grid_that_is_not_mapped_onto_itself_is_refused(grid, name):
    pair = batch(grid, lambda x: x)
    with pytest.raises(InvalidInputError, match=f"symmetry {name}"):
        symmetric([pair], [name], chance())


def test_input_and_output_on_different_grids_are_refused():
    one, other = (Discretization.uniform(n, periodic=True) for n in (4, 8))
    pair = batch(one, lambda x: x)[0], batch(other, lambda x: x)[0]
    with pytest.raises(InvalidInputError, match="same tensor grid"):
        symmetric([pair], ["shift"], chance())


# ------------------------------------------------------------------ resampling

BOTH = AugmentConfig(weight=1.0, sizes=[32, 24], points=[40], draw="all")


def test_resampled_pairs_are_interpolants_on_the_same_new_points():
    pairs = Samples(waves(5, grids=(16, 20))).take(range(5))
    made = resampled(pairs, BOTH, chance())
    assert len(made) == 3 * len(pairs)
    for i, (one, other) in enumerate(made):
        given, wanted = pairs[i % len(pairs)]
        assert one.discretization is other.discretization  # I_T f and I_T g, on one T
        assert torch.equal(one.values, interpolate(given, one.discretization).values)
        assert torch.equal(other.values, interpolate(wanted, one.discretization).values)
        expected = (32, 24, 40)[i // len(pairs)]
        assert one.discretization.n == expected
        assert (one.discretization.axes is None) == (expected == 40)
        assert one.discretization.periodic == (True,)


def test_targets_on_a_domain_of_their_own_stay_there():
    line, square = Discretization.uniform(9, bounds=[(0, 2)]), Discretization.uniform((5, 5), periodic=True)
    pair = Field(line, torch.rand(3, 9, 1)), Field(square, torch.rand(3, 25, 2))
    made = resampled([pair], AugmentConfig(weight=1.0, sizes=[7], points=[11], draw="all"), chance())
    assert [(one.discretization.shape, other.discretization.shape) for one, other in made] == [
        ((7,), (7, 7)),
        ((11,), (11,)),
    ]
    for one, other in made:
        assert one.discretization.bounds.tolist() == [[0, 2]]
        assert other.discretization.periodic == (True, True)


def test_a_vector_stays_as_it_is():
    grid, point = Discretization.uniform(9), Discretization.points([[0.5]])
    pair = Field(grid, torch.rand(3, 9, 1)), Field(point, torch.rand(3, 1, 4))
    for one, other in resampled([pair], BOTH, chance()):
        assert one.discretization.n > 9
        assert other is pair[1]


def test_random_points_are_one_of_some_sets():
    """Each made once, so that neither time nor memory is spent on them at every step."""
    pair = Field(Discretization.uniform(9), torch.rand(2, 9, 1)), Field(Discretization.uniform(9), torch.rand(2, 9, 1))
    sets = {}
    for seed in range(300):
        ((one, _),) = resampled([pair], AugmentConfig(weight=1.0, points=[12]), chance(seed))
        sets.setdefault(id(one.discretization), one.discretization)
    assert SETS / 2 < len(sets) <= SETS
    every = torch.cat([at.points for at in sets.values()])
    assert len(every.unique()) == len(every)
    assert abs(every.mean() - 0.5) < 0.05
    assert abs(every.std() - 12**-0.5) < 0.03  # uniform on [0, 1]


def all_of(pairs):
    """Samples of batched pairs, and the numbers of all of them."""
    single = [
        tuple(Field(side.discretization, side.values[i] if side.batched else side.values) for side in pair)
        for pair in pairs
        for i in range(len(pair[0].values) if pair[0].batched else 1)
    ]
    return Samples(single), list(range(len(single)))


def objective(options, seed, network, pairs):
    return losses_of(network, *all_of(pairs), TrainConfig(augment=options), stream(seed)).detach()


def test_one_draw_at_a_time_agrees_with_all_in_expectation():
    pairs = Samples(waves(4)).take(range(4))
    network = build("resnet-interpolation", width=4, data=pairs)  # one that shows which grid was drawn
    sizes = [20, 24, 32, 48]
    each = {n: objective(AugmentConfig(0.7, sizes=[n]), 0, network, pairs) for n in sizes}
    every = objective(AugmentConfig(0.7, sizes=sizes, draw="all"), 0, network, pairs)
    assert torch.allclose(every, sum(each.values()) / 4, rtol=1e-5)
    hits = dict.fromkeys(sizes, 0)
    for seed in range(200):
        drawn = objective(AugmentConfig(0.7, sizes=sizes, draw="one"), seed, network, pairs)
        (found,) = [n for n in sizes if torch.allclose(drawn, each[n], rtol=1e-6)]
        hits[found] += 1
    assert all(30 <= count <= 70 for count in hits.values())  # 50 are expected


# ------------------------------------------------------------------ the objective


@pytest.mark.parametrize("draw", ["one", "all"])
def test_the_objective_is_eq_loss(draw):
    options = AugmentConfig(weight=0.3, sizes=[24], points=[20, 30], draw=draw, symmetries=["shift", "odd-reflect"])
    pairs = Samples(waves(7, grids=(16, 32))).take(range(7))
    network = build(**TINY, data=pairs).double()
    pairs = [(given.to(torch.float64), wanted.to(torch.float64)) for given, wanted in pairs]
    found = losses_of(network, *all_of(pairs), TrainConfig(augment=options), stream(5))
    # The same draws, function by function: L(Psi f, g) + lambda mean_T L(Psi I_T f, I_T g).
    draws = stream(5)
    moved = symmetric(pairs, options.symmetries, draws)
    more = resampled(moved, options, draws)
    versions = 1 if draw == "one" else 3
    by_hand = []
    for i, (given, wanted) in enumerate(moved):
        for b in range(len(given.values)):
            terms = [(given, wanted), *more[i :: len(moved)]]
            assert len(terms) == 1 + versions
            sizes = []
            for one, other in terms:
                f, g = (Field(each.discretization, each.values[b]) for each in (one, other))
                out = network(f)
                w = g.discretization.weights
                sizes.append(((w @ (out.values - g.values) ** 2) / (w @ g.values**2)).sqrt().item())
            by_hand.append(sizes[0] + 0.3 * sum(sizes[1:]) / versions)
    assert found.tolist() == pytest.approx(by_hand, rel=1e-10)


def test_without_augmentation_the_objective_is_the_relative_error():
    pairs = Samples(waves(5, grids=(16, 20), points=(13,))).take(range(5))
    network = build(**TINY, data=pairs)
    found = losses_of(network, *all_of(pairs), TrainConfig(), stream(0))
    assert torch.allclose(found, torch.cat([relative_l2(network(given), wanted) for given, wanted in pairs]), rtol=1e-5)


# ------------------------------------------------------------------ some of an output's points


def mesh_pair(n=400):
    points = np.random.default_rng(0).random((n, 2))
    mesh = Discretization.points(points)
    values = (torch.from_numpy(points) ** 2).sum(1, keepdim=True).float()
    return Field(Discretization.uniform((5, 5)), torch.rand(3, 25, 1)), Field(mesh, values.expand(3, -1, -1))


def test_some_points_keep_values_and_integrals():
    """Over the draws every point is seen, with the weight that gives the integral over all of them."""
    given, wanted = mesh_pair()
    integrals, seen = [], set()
    for seed in range(300):
        ((same, some),) = at_some_points([(given, wanted)], 100, chance(seed))
        assert same is given
        assert some.values.shape == (3, 100, 1)
        x = some.discretization.points
        assert torch.allclose(some.values[1, :, 0], (x**2).sum(1).float())
        seen |= set(x[:, 0].tolist())
        integrals.append(some.discretization.integrate(some.values)[0].item())
    assert len(seen) == 400
    whole = wanted.discretization.integrate(wanted.values)[0].item()
    assert np.mean(integrals) == pytest.approx(whole, rel=0.02)
    assert np.std(integrals) > 0.01 * whole


def test_outputs_with_few_points_stay_as_they_are():
    given, wanted = mesh_pair(50)
    ((_, some),) = at_some_points([(given, wanted)], 50, chance())
    assert some is wanted


def test_the_objective_on_some_points():
    pairs = [mesh_pair()]
    network = build("iaenet", data=pairs, **sizes(width=4, latent=4, rank=4, modes=2))
    found = losses_of(network, *all_of(pairs), TrainConfig(augment=AugmentConfig(query_points=60)), stream(3))
    ((given, some),) = at_some_points(pairs, 60, stream(3))
    assert torch.allclose(found, relative_l2(network(given, at=some.discretization), some))
    assert not torch.allclose(found, losses_of(network, *all_of(pairs), TrainConfig(), stream(3)), rtol=1e-5)

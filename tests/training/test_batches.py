"""Samples in memory, and the order in which they are seen."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import DataLoader

import iaenet
from iaenet import Discretization, Field, InvalidInputError, load_dataset, write_dataset
from iaenet.data.problems.problem import Channel
from iaenet.functions.seeds import derived_seed, stream
from iaenet.training.batches import Samples, batches
from tests.trainings import waves


def same(pairs, others):
    return all(
        torch.equal(a.values, b.values) and a.discretization.key == b.discretization.key
        for pair, other in zip(pairs, others, strict=True)
        for a, b in zip(pair, other, strict=True)
    )


def apart(taken):
    """Batched pairs as single ones."""
    return [
        (Field(a.discretization, a.values[i]), Field(b.discretization, b.values[i]))
        for a, b in taken
        for i in range(len(a.values))
    ]


MIXED = waves(23, grids=(8, 16), points=(12, 8))


# ------------------------------------------------------------------ taking


@given(st.lists(st.integers(0, 22), min_size=1, max_size=30))
def test_take_gives_each_sample_asked_for(places):
    taken = Samples(MIXED).take(places)
    found = sorted(apart(taken), key=lambda pair: pair[0].values[0].item())
    wanted = sorted((MIXED[i] for i in places), key=lambda pair: pair[0].values[0].item())
    assert same(found, wanted)
    keys = [one.discretization.key for one, _ in taken]
    assert len(keys) == len(set(keys))  # as few fields as there are point sets


def test_samples_of_a_file_are_those_of_its_pairs(tmp_path):
    write_dataset(tmp_path / "a.h5", MIXED, inputs=[Channel("a")], outputs=[Channel("u")])
    data = load_dataset(tmp_path / "a.h5")
    for i in range(len(MIXED)):
        assert same(apart(Samples(data).take([i])), [MIXED[i]])


def test_no_samples_and_different_channels_are_refused():
    with pytest.raises(InvalidInputError, match="no samples"):
        Samples([])
    grid = Discretization.uniform(4)
    one, two = Field(grid, torch.ones(4, 1)), Field(grid, torch.ones(4, 2))
    with pytest.raises(InvalidInputError, match="channels"):
        Samples([(one, one), (two, one)])
    with pytest.raises(InvalidInputError, match="batches"):
        Samples([(Field(grid, torch.ones(3, 4, 1)), Field(grid, torch.ones(3, 4, 1)))])


# ------------------------------------------------------------------ order


@given(st.integers(1, 23), st.integers(0, 50), st.integers(0, 5))
def test_an_epoch_is_a_permutation(batch, epoch, seed):
    samples = Samples(MIXED)
    order = batches(samples, epoch, batch_size=batch, seed=seed)
    assert sorted(place for places in order for place in places) == list(range(len(MIXED)))
    assert all(len(places) == batch for places in order[:-1])
    assert 1 <= len(order[-1]) <= batch


def test_the_order_follows_from_seed_and_epoch_alone():
    samples = Samples(MIXED)
    first = batches(samples, 3, batch_size=4, seed=1)
    torch.manual_seed(99)
    torch.rand(7)
    for epoch in range(5):
        batches(samples, epoch, batch_size=5, seed=1)
    assert batches(Samples(MIXED), 3, batch_size=4, seed=1) == first
    flat = [place for places in first for place in places]
    assert flat == [place for places in batches(samples, 3, batch_size=7, seed=1) for place in places]
    assert flat != [place for places in batches(samples, 4, batch_size=4, seed=1) for place in places]
    assert flat != [place for places in batches(samples, 3, batch_size=4, seed=2) for place in places]


def test_orders_of_epochs_are_not_alike():
    """Every sample comes first about equally often."""
    samples = Samples(waves(8))
    firsts = [batches(samples, epoch, batch_size=1, seed=0)[0][0] for epoch in range(400)]
    assert all(25 <= firsts.count(place) <= 80 for place in range(8))


def test_mixed_batches_hold_all_kinds():
    samples = Samples(MIXED)
    kinds = [{samples.take([place])[0][0].discretization.key for place in places}
             for epoch in range(20) for places in batches(samples, epoch, batch_size=20, seed=0)[:1]]  # fmt: skip
    assert all(len(kind) == 4 for kind in kinds)


@pytest.mark.parametrize(
    ("epochs", "order"),
    [
        (1, [2]),
        (4, [1, 1, 2, 2]),
        (6, [0, 0, 1, 1, 2, 2]),
        (7, [2, 0, 0, 1, 1, 2, 2]),
        (9, [1, 2, 2, 0, 0, 1, 1, 2, 2]),
    ],
)
def test_sequential_takes_one_resolution_for_its_turn_and_then_the_next_and_ends_on_the_finest(epochs, order):
    samples = Samples(MIXED)  # 8, 12 and 16 points; two kinds of 8
    sizes = [[i for i, (one, _) in enumerate(MIXED) if one.discretization.n == n] for n in (8, 12, 16)]
    assert [sorted(places) for places in samples.by_size()] == sizes
    options = {"batch_size": 3, "seed": 0, "epochs": epochs, "epochs_per_resolution": 2}
    seen = [sorted(p for places in batches(samples, e, **options) for p in places) for e in range(len(order))]
    assert seen == [sizes[i] for i in order]


# ------------------------------------------------------------------ random numbers


def test_streams_are_independent_and_repeat():
    draws = {purpose: torch.rand(1000, generator=stream(0, *purpose)) for purpose in (("a", 1), ("a", 2), ("b", 1))}
    assert torch.equal(torch.rand(1000, generator=stream(0, "a", 1)), draws["a", 1])
    a, b, c = draws.values()
    for one, other in ((a, b), (a, c), (b, c)):
        assert abs(torch.corrcoef(torch.stack([one, other]))[0, 1]) < 0.1


def test_seeds_of_streams_do_not_depend_on_the_process():
    assert derived_seed(0, "order", 3) == 66275818384681139
    assert len({derived_seed(seed, step) for seed in range(30) for step in range(300)}) == 9000


def test_a_loop_of_ones_own_over_a_data_loader_of_mixed_points():
    grids = [iaenet.Discretization.uniform(n, periodic=True) for n in (16, 24)]
    fields = [iaenet.Field(grids[k % 2], torch.sin(2 * torch.pi * grids[k % 2].points + k).float()) for k in range(12)]
    loader = DataLoader([(f, f) for f in fields], batch_size=6, shuffle=True, collate_fn=iaenet.collate)
    model = iaenet.IAENet(1, 1, periodic=True, width=8, blocks=1)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    losses = []
    for _ in range(12):
        for inputs, outputs in loader:
            found = model(inputs, at=[wanted.discretization for wanted in outputs])
            assert sum(len(field.values) for field in inputs) == 6
            loss = torch.cat([iaenet.relative_l2(f, w) for f, w in zip(found, outputs, strict=True)]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]

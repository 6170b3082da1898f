"""One split for imports, generated data and `fit`: sizes, whole records, the same again."""

import pytest

from iaenet.data.generate import allot
from iaenet.data.reading.imported import Imported, Lazy
from iaenet.data.splits import split_records, split_sizes
from iaenet.errors import InvalidInputError

NAMES = ("train", "validation", "test")


def counts(splits):
    return [splits.count(name) for name in NAMES]


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_sizes_are_those_asked_for(seed):
    assert counts(split_records(range(100), (0.7, 0.2, 0.1), seed)) == [70, 20, 10]
    assert counts(split_records(range(100), (6, 90, 4), seed)) == [6, 90, 4]


@pytest.mark.parametrize("count", range(3, 60))
def test_every_share_gets_a_sample_and_the_nearest_number(count):
    sizes = split_sizes((0.8, 0.1, 0.1), count)
    assert sum(sizes) == count
    assert min(sizes) >= 1
    if count >= 10:
        assert all(abs(size - count * share) < 1 for size, share in zip(sizes, (0.8, 0.1, 0.1), strict=True))


def test_no_share_no_sample():
    assert split_sizes((0.9, 0.1, 0), 2) == [1, 1, 0]
    assert split_sizes((1, 0, 0), 7) == [7, 0, 0]


def test_records_stay_whole():
    records = [f"r{i % 10}" for i in range(100)]
    splits = split_records(records, (6, 2, 2), seed=3)
    assert counts(splits) == [60, 20, 20]
    assert all(len({splits[i] for i in range(k, 100, 10)}) == 1 for k in range(10))


def test_the_seed_decides_and_none_keeps_the_order():
    assert split_records(range(50), seed=0) == split_records(range(50), seed=0) != split_records(range(50), seed=1)
    assert split_records(range(4), (2, 1, 1), seed=None) == ["train", "train", "validation", "test"]


@pytest.mark.parametrize("wrong", [(0.5, 0.1, 0.1), (60, 20, 10), (-1, 1, 1), (float("nan"), 0, 0), (0.5, 0.5)])
def test_parts_that_cannot_be_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="splits must be"):
        split_records(range(100), wrong)


def test_imported_and_generated_data_split_alike():
    imported = Imported(Lazy(23, lambda i: i), (), ())
    generated = [name for name, _ in allot(23, 1, (0.8, 0.1, 0.1))]
    assert imported.split(seed=None) == generated

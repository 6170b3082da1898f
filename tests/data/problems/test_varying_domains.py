"""What holds for every problem whose domain differs from sample to sample."""

import numpy as np
import pytest

from iaenet.data.dataset import load_dataset
from iaenet.data.generate import generate
from iaenet.data.problems import PROBLEMS

CASES = [
    ("plate", {"vertices": 300}, (200, 400)),
    ("airfoil", {}, (300, 600)),
    ("airfoil", {"at": "surface"}, (50, 100)),
    ("bodies", {"normals": True}, (42, 162)),
    ("bodies", {"at": "volume"}, (100, 300)),
    ("laplace-ring", {}, (200, 400)),
]


def record(name, options, resolutions, seed):
    return PROBLEMS[name](**options).record(np.random.default_rng(seed), resolutions)[0]


def same(one, other):
    places = zip((one.input_at, one.output_at), (other.input_at, other.output_at), strict=True)
    return (
        np.array_equal(one.input, other.input)
        and np.array_equal(one.output, other.output)
        and all(a.key == b.key for a, b in places)
    )


@pytest.mark.parametrize(("name", "options", "resolutions"), CASES)
def test_a_sample_follows_from_its_seed_whatever_resolutions_are_asked_for(name, options, resolutions):
    both = record(name, options, resolutions, 3)
    for n in resolutions:
        assert same(both[n], record(name, options, [n], 3)[n])
    assert list(record(name, options, resolutions[::-1], 3)) == list(resolutions[::-1])
    assert same(both[resolutions[0]], record(name, options, resolutions[::-1], 3)[resolutions[0]])
    assert not same(both[resolutions[0]], record(name, options, resolutions, 4)[resolutions[0]])


@pytest.mark.parametrize(("name", "options", "resolutions"), CASES)
def test_every_sample_has_points_of_its_own_in_one_box(name, options, resolutions):
    keys, boxes = set(), set()
    for seed in range(3):
        for pair in record(name, options, resolutions, seed).values():
            keys.add(pair.output_at.key)
            boxes |= {str(at.bounds.tolist()) for at in (pair.input_at, pair.output_at)}
    assert len(keys) == 6
    assert len(boxes) == 1


@pytest.mark.parametrize(("name", "options", "resolutions"), CASES)
def test_generated_files_hold_the_samples(name, options, resolutions, tmp_path):
    generate(PROBLEMS[name](**options), tmp_path / "a.h5", 3, resolutions, splits=(1, 1, 1), precision="float64")
    data = load_dataset(tmp_path / "a.h5")
    expected = record(name, options, resolutions, [0, 1])
    for n, (given, wanted) in data.sample(1).items():
        assert np.array_equal(given.values.numpy(), expected[n].input)
        assert np.array_equal(wanted.values.numpy(), expected[n].output)
        assert np.array_equal(wanted.discretization.weights.numpy(), expected[n].output_at.weights.numpy())

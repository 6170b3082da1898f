"""Normalisation: moments of functions, not of lists of numbers, and of training samples only."""

import numpy as np
import pytest
import torch

from iaenet.data.dataset import load_dataset
from iaenet.data.file_writer import write_dataset
from iaenet.data.problems.problem import Channel
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.normalizer import Moments, Normalizer

CHANNELS = {"inputs": [Channel("a")], "outputs": [Channel("u"), Channel("v")]}


def wave(at, scale, shift, dtype=torch.float64):
    x = at.points[:, :1]
    return Field(at, (shift + scale * torch.sin(2 * torch.pi * x)).to(dtype))


def test_moments_are_integrals_on_any_points():
    """shift + scale sin(2 pi x) has mean shift and standard deviation scale / sqrt(2), wherever it is sampled."""
    clustered = np.sort(np.random.default_rng(0).beta(0.5, 2, 20_000))
    for at in (
        Discretization.uniform(64, periodic=True),
        Discretization.uniform(1001),
        Discretization.points(clustered[:, None]),
    ):
        moments = Moments().add(wave(at, 3.0, 2.0))
        assert moments.mean == pytest.approx([2.0], abs=5e-3)
        assert moments.std == pytest.approx([3 / 2**0.5], rel=5e-3)


def test_every_function_counts_the_same():
    coarse, fine = Discretization.uniform(8, periodic=True), Discretization.uniform(1024, periodic=True)
    moments = Moments().add(wave(coarse, 0.0, 0.0)).add(wave(fine, 0.0, 1.0))
    assert moments.mean == pytest.approx([0.5])
    assert moments.std == pytest.approx([0.5])
    assert (moments.low, moments.high, moments.count) == (0.0, 1.0, 2)


def test_adding_in_batches_or_any_order_changes_nothing():
    grid = Discretization.uniform(16)
    values = torch.randn(6, 16, 2, dtype=torch.float64) * 1e-3 + 1e4  # a large mean must not drown the deviation
    together = Moments().add(Field(grid, values))
    one_by_one = Moments()
    for i in (3, 0, 5, 1, 4, 2):
        one_by_one.add(Field(grid, values[i]))
    weights = grid.weights.numpy()
    mean = np.einsum("n,bnc->c", weights, values.numpy()) / 6
    std = np.sqrt(np.einsum("n,bnc->c", weights, (values.numpy() - mean) ** 2) / 6)
    for moments in (together, one_by_one):
        assert moments.mean == pytest.approx(mean, rel=1e-12)
        assert moments.std == pytest.approx(std, rel=1e-6)


def test_fitted_to_training_samples_only(tmp_path):
    grid = Discretization.uniform(32, periodic=True)

    def pair(scale, shift):
        given = wave(grid, scale, shift, torch.float32)
        return given, Field(grid, torch.cat([given.values, 10 * given.values], dim=1))

    made = [pair(1.0, 0.0), pair(1.0, 4.0), pair(1e6, 1e6), pair(1e6, -1e6)]
    write_dataset(tmp_path / "a.h5", made, splits=["train", "train", "validation", "test"], **CHANNELS)
    data = load_dataset(tmp_path / "a.h5")
    input_normalizer, output_normalizer = Normalizer.fit(data.select(split="train"))
    assert input_normalizer.mean.tolist() == pytest.approx([2.0])
    assert input_normalizer.std.tolist() == pytest.approx([(0.5 + 4) ** 0.5])
    assert output_normalizer.mean.tolist() == pytest.approx([2.0, 20.0])
    assert output_normalizer.std.tolist() == pytest.approx([(0.5 + 4) ** 0.5, 10 * (0.5 + 4) ** 0.5])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_normalised_training_data_have_unit_moments_and_come_back(dtype):
    grid = Discretization.uniform((8, 8))
    fields = [Field(grid, torch.randn(64, 2, dtype=dtype) * torch.tensor([3.0, 1e-8], dtype=dtype)) for _ in range(20)]
    normalizer, _ = Normalizer.fit([(field, field) for field in fields])
    moments = Moments()
    for field in fields:
        scaled = normalizer.apply(field)
        moments.add(scaled)
        assert scaled.values.dtype == dtype
        back = normalizer.undo(scaled)
        tolerance = 1e-6 if dtype == torch.float32 else 1e-14
        assert (back.values - field.values).abs().max() <= tolerance * field.values.abs().max()
    assert moments.mean == pytest.approx([0, 0], abs=1e-6)
    assert moments.std == pytest.approx([1, 1], rel=1e-5)


@pytest.mark.parametrize("constant", [0.0, 0.1, -3e7])
def test_a_constant_channel_becomes_zero_and_comes_back(constant):
    grid = Discretization.points(np.random.default_rng(0).random((50, 2)))
    field = Field(grid, torch.full((50, 1), constant))
    normalizer, _ = Normalizer.fit([(field, field)] * 3)
    scaled = normalizer.apply(field)
    assert torch.equal(scaled.values, torch.zeros(50, 1))
    assert torch.equal(normalizer.undo(scaled).values, field.values)
    other = normalizer.apply(Field(grid, torch.full((50, 1), constant + 1)))  # unseen values stay finite
    assert torch.isfinite(other.values).all()


def test_text_form_is_exact():
    normalizer = Normalizer(np.random.default_rng(0).standard_normal(3), [0.1, 1e-300, 7.0])
    again = Normalizer.from_json(normalizer.to_json())
    assert torch.equal(again.mean, normalizer.mean)
    assert torch.equal(again.std, normalizer.std)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        '{"mean": [1]}',
        '{"mean": 1, "std": 1}',
        '{"mean": [], "std": []}',
        '{"mean": [1], "std": [0]}',
        '{"mean": [1], "std": [-1]}',
        '{"mean": [1, 2], "std": [1]}',
        '{"mean": ["x"], "std": [1]}',
        '{"mean": [NaN], "std": [1]}',
    ],
)
def test_bad_text_is_refused(text):
    with pytest.raises(InvalidInputError):
        Normalizer.from_json(text)


def test_mistakes_are_named():
    grid = Discretization.uniform(4)
    with pytest.raises(InvalidInputError, match="2 channels, but statistics of 1"):
        Normalizer([0.0], [1.0]).apply(Field(grid, torch.ones(4, 2)))
    with pytest.raises(InvalidInputError, match="no samples"):
        Normalizer.fit([])
    with pytest.raises(InvalidInputError, match="2 channels after functions of 1"):
        Moments().add(Field(grid, torch.ones(4, 1))).add(Field(grid, torch.ones(4, 2)))

"""Several functions and numbers as one input: stacked, normalised, moved and stored as fields are."""

import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError, Sample, load_dataset, write_dataset
from iaenet.data.problems.problem import Channel
from iaenet.data.summary import summary
from iaenet.functions.normalizer import Normalizer
from iaenet.training.batches import Samples

GRID = Discretization.uniform((4, 5))


def sample(seed, n=7):
    g = torch.Generator().manual_seed(seed)
    line = Discretization.points(torch.rand(n, 1, generator=g))
    functions = {"g": Field(line, torch.randn(n, 2, generator=g)), "f": Field(GRID, torch.randn(20, 1, generator=g))}
    return Sample(functions, {"kappa": 1.0 + seed, "T": 300.0 - seed})


def image(seed):
    return Field(GRID, torch.full((20, 1), float(seed)))


def test_parts_and_names():
    one = sample(3)
    assert list(one) == ["g", "f", "kappa", "T"]
    assert one.names == ("g", "f", "scalars")
    assert one["kappa"].item() == 4.0
    assert one["g"].channels == 2
    assert one.channels == 5
    assert one.most_points == 20
    assert one.discretization.dim == 1
    again = Sample.of({"g": one["g"], "f": one["f"], "kappa": 4.0, "T": 297})
    assert again.layout == one.layout
    assert all(torch.equal(a.values, b.values) for a, b in zip(again.parts, one.parts, strict=True))


def test_a_batch_and_its_rows():
    one, other = sample(0), sample(0)
    both = Sample.stack([one, other])
    assert both.batched
    assert both.count == 2
    assert both["kappa"].tolist() == [1.0, 1.0]
    assert both.rows([0, 1]) is both
    assert both.rows([1])["g"].values.shape == (1, 7, 2)
    assert both.to(torch.float64)["T"].dtype == torch.float64


def test_samples_on_the_same_points_are_stacked():
    pairs = [(sample(i % 2), image(i)) for i in range(4)]
    taken = Samples(pairs).take([0, 1, 2, 3])
    assert [given.count for given, _ in taken] == [2, 2]
    assert taken[1][0]["T"].tolist() == [299.0, 299.0]


def test_each_channel_has_mean_zero_and_variance_one():
    pairs = [(sample(i), image(i)) for i in range(10)]
    normalizer, _ = Normalizer.fit(pairs)
    kappa = torch.stack([normalizer.apply(given)["kappa"] for given, _ in pairs])
    assert abs(kappa.mean()) < 1e-6
    assert abs(kappa.std(correction=0) - 1) < 1e-6
    back = normalizer.undo(normalizer.apply(pairs[3][0]))
    assert torch.allclose(back["g"].values, pairs[3][0]["g"].values, atol=1e-6)


def test_a_data_file_holds_samples(tmp_path):
    pairs = [(sample(i), image(i)) for i in range(3)]
    pairs[2] = (dict(pairs[2][0]), pairs[2][1])  # a mapping will do
    inputs = [Channel("gx"), Channel("gy", "m"), Channel("f"), Channel("kappa"), Channel("T", "K")]
    write_dataset(tmp_path / "a.h5", pairs, inputs=inputs, outputs=[Channel("u")])
    data = load_dataset(tmp_path / "a.h5")
    assert data.functions == ("g", "f", "scalars")
    assert [(c.name, c.unit, c.function) for c in data.inputs[1::2]] == [("gy", "m", "g"), ("kappa", "1", "scalars")]
    for i in range(3):
        given, wanted = data[i]
        for one, other in zip(given.parts, sample(i).parts, strict=True):
            assert torch.equal(one.values, other.values)
            assert one.discretization.key == other.discretization.key
        assert torch.equal(wanted.values, image(i).values)
    assert len(data.groups) == 3
    assert len(data.discretizations) == 5
    assert data.batch([1])[0]["T"].tolist() == [299.0]
    assert "scalars kappa" in summary(data)


def test_numbers_alone_are_an_input(tmp_path):
    pairs = [(Sample({}, {"a": float(i), "b": 2.0}), image(i)) for i in range(4)]
    write_dataset(tmp_path / "a.h5", pairs, inputs=[Channel("a"), Channel("b")], outputs=[Channel("u")])
    data = load_dataset(tmp_path / "a.h5")
    assert data.functions == ("scalars",)
    assert data[3][0]["a"].item() == 3.0
    assert len(data.groups) == 1
    assert data.batch([0, 3])[0]["a"].tolist() == [0.0, 3.0]


def test_files_of_single_functions_are_as_they_were(tmp_path):
    write_dataset(tmp_path / "a.h5", [(image(1), image(2))], inputs=[Channel("a")], outputs=[Channel("u")])
    data = load_dataset(tmp_path / "a.h5")
    assert data._file.metadata["version"] == 3
    assert data.functions == ()
    assert isinstance(data[0][0], Field)


@pytest.mark.parametrize(
    ("functions", "scalars", "says"),
    [
        ({}, {}, "different names"),
        ({"f": image(1)}, {"f": 1.0}, "different names"),
        ({"scalars": image(1)}, {}, "none of them 'scalars'"),
        ({"f": 3.0}, {}, "'f': expected a Field, got float"),
        ({"f": image(1)}, {"k": "two"}, "'k': expected a number"),
        ({"f": image(1)}, {"k": float("nan")}, "finite number"),
        ({"f": image(1)}, {"k": torch.ones(2)}, "batches of the same length"),
    ],
)
def test_what_is_no_sample_is_refused(functions, scalars, says):
    with pytest.raises(InvalidInputError, match=says):
        Sample(functions, scalars)


def test_samples_of_other_names_are_refused(tmp_path):
    pairs = [(sample(0), image(0)), (Sample({"g": sample(1)["g"]}, {"kappa": 1.0, "T": 2.0}), image(1))]
    with pytest.raises(InvalidInputError, match="sample 1 has other functions"):
        Samples(pairs)
    with pytest.raises(InvalidInputError, match="sample 1 has other functions"):
        write_dataset(tmp_path / "a.h5", pairs, inputs=[Channel(c) for c in "abcde"], outputs=[Channel("u")])

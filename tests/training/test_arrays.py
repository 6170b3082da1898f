"""Arrays in, arrays out: `fit(model, (X, Y))`, fields as arrays, models as files, names of options."""

import json

import numpy as np
import pytest
import torch
from matplotlib import pyplot

import iaenet
from iaenet import Discretization, Field, InvalidInputError
from iaenet.cli.main import main
from iaenet.errors import CorruptFileError

GRID = np.arange(16) / 16
X = np.stack([np.sin(2 * np.pi * (GRID + k / 12)) for k in range(12)])
BRIEF = {"epochs": 1, "threads": 1}
FNO = {"name": "fno", "width": 4, "modes": 4}


@pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor])
def test_a_model_by_name_trains_on_arrays(kind):
    model = iaenet.fit(FNO, (kind(X), kind(2 * X)), **BRIEF)
    assert next(model.parameters()).dtype == torch.float32, "whatever the arrays have"
    assert model.metadata["inputs"] == [{"name": "x", "unit": "1"}]
    at = iaenet.from_arrays(X, X).pairs[0][0].discretization
    assert model.predict(Field(at, X[0, :, None])).numpy().shape == (16, 1)


def test_pairs_lists_of_fields_and_what_readers_give(tmp_path):
    data = iaenet.from_arrays(X, 2 * X, periodic=True)
    pairs = list(data.pairs)
    weights = []
    for given in (pairs, tuple(map(list, zip(*pairs, strict=True)))):
        weights.append(torch.cat([p.detach().ravel() for p in iaenet.fit(FNO, given, **BRIEF).parameters()]))
    assert torch.equal(*weights)
    np.savez(tmp_path / "f.npz", a=X, u=2 * X)
    model = iaenet.fit(FNO, iaenet.read_npz(tmp_path / "f.npz", inputs="a", outputs="u", periodic=True), **BRIEF)
    assert (model.metadata["inputs"][0]["name"], model.metadata["trained"]["periodic"]) == ("a", [True])


@pytest.mark.parametrize(
    ("x", "y", "options", "shapes"),
    [
        ((5, 8), (5, 8), {}, ((8,), 1, 1)),
        ((5, 8, 1), (5, 8, 1), {}, ((8,), 1, 1)),
        ((5, 8, 8, 3), (5, 8, 8), {}, ((8, 8), 3, 1)),
        ((5, 8, 8, 3), (5, 8, 8, 1), {}, ((8, 8), 3, 1)),
        ((5, 3, 8, 8), (5, 1, 8, 8), {"channels": "first"}, ((8, 8), 3, 1)),
        ((5, 8, 3), (5, 8, 2), {"dim": 1}, ((8,), 3, 2)),
    ],
)
def test_which_axes_are_space(x, y, options, shapes):
    given, wanted = iaenet.from_arrays(np.ones(x), np.ones(y), **options).pairs[0]
    assert (given.discretization.shape, given.channels, wanted.channels) == shapes


def test_arrays_with_coordinates_of_their_own():
    points = np.random.default_rng(0).uniform(size=(5, 30, 2))
    pairs = iaenet.from_arrays(points[..., :1], points[..., 1:], coordinates=points).pairs
    assert torch.allclose(pairs[3][0].values[:, 0].double(), pairs[3][0].discretization.points[:, 0], atol=1e-6)
    axes = [np.linspace(0, 2, 8), np.linspace(0, 1, 6)]
    assert (
        iaenet.from_arrays(np.ones((5, 8, 6)), np.ones((5, 8, 6)), coordinates=axes).pairs[0][0].discretization.dim == 2
    )


def test_arrays_that_do_not_fit_are_named():
    with pytest.raises(InvalidInputError, match="say by dim="):
        iaenet.from_arrays(np.ones((5, 8)), np.ones((5, 9)))
    with pytest.raises(InvalidInputError, match="'y' has 4 samples, but 'x' has 5"):
        iaenet.from_arrays(np.ones((5, 8)), np.ones((4, 8)))
    with pytest.raises(InvalidInputError, match=r"arrays of all samples as \(X, Y\)"):
        iaenet.fit("fno", [(X[0], X[0])] * 4)


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ("lr", "it is called optimizer.lr, in Python optimizer={'lr': ...}"),
        ("batch", "it is called batch_size"),
        ("epoch", "did you mean epochs?"),
        ("devcie", "did you mean device?"),
        ("n_epochs", "it is called epochs"),
    ],
)
def test_names_of_options_that_other_packages_have(option, advice):
    with pytest.raises(InvalidInputError) as error:
        iaenet.fit("fno", (X, X), **{option: 1})
    assert advice in str(error.value)


def test_a_saved_model_is_one_file(tmp_path, capsys):
    model = iaenet.fit(FNO, (X, 2 * X), **BRIEF)
    model.save(tmp_path / "model.safetensors")
    again = iaenet.load(tmp_path / "model.safetensors")
    field = iaenet.from_arrays(X, X).pairs[3][0]
    assert torch.equal(again.predict(field).values, model.predict(field).values)
    assert again.metadata == json.loads(json.dumps(model.metadata))
    np.savez(tmp_path / "new.npz", x=X[:2])
    command = ["predict", str(tmp_path / "model.safetensors"), "--input", str(tmp_path / "new.npz")]
    assert main([*command, "--output", str(tmp_path / "out.npz")]) == 0
    with np.load(tmp_path / "out.npz") as found:
        assert np.allclose(found["y"][0], model.predict(iaenet.from_arrays(X, X).pairs[0][0]).values[:, 0], atol=1e-6)
    content = bytearray((tmp_path / "model.safetensors").read_bytes())
    content[-3] ^= 1
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(CorruptFileError, match="does not match its hash"):
        iaenet.load(tmp_path / "model.safetensors")
    with pytest.raises(InvalidInputError, match=r"ends in \.safetensors"):
        model.save(tmp_path / "model.pt")


def test_fields_as_arrays_and_their_arithmetic():
    grid = Discretization.uniform((2, 3))
    field = Field(grid, np.arange(6.0)[:, None])
    assert np.array_equal(np.asarray(field), field.numpy())
    assert field.numpy(grid=True).shape == (2, 3, 1)
    made = (2 * field + field / 2 - 1) * np.float64(3) - (-field)
    assert np.allclose(made.numpy()[:, 0], (2.5 * np.arange(6) - 1) * 3 + np.arange(6))
    assert np.allclose((1 - field).numpy()[:, 0], 1 - np.arange(6))
    with pytest.raises(InvalidInputError, match="fields on different points"):
        _ = field + Field(Discretization.uniform((3, 2)), np.ones((6, 1)))
    with pytest.raises(InvalidInputError, match="is inf"):
        _ = 1 / field
    with pytest.raises(TypeError):
        _ = field + "a"
    with pytest.raises(InvalidInputError, match=r"values\.reshape\(n, -1\)"):
        Field(grid, np.ones((2, 3)))
    batch = Field(grid, torch.rand(4, 6, 1))
    assert torch.equal(batch[2].values, batch.values[2])
    assert len(list(batch)) == 4


@pytest.mark.parametrize(
    "at",
    [
        Discretization.uniform(8),
        Discretization.uniform((8, 8)),
        Discretization.points(np.random.default_rng(1).uniform(size=(50, 2))),
        Discretization.uniform((4, 4, 4)),
    ],
    ids=["line", "map", "points", "volume"],
)
def test_pictures_of_fields(at):
    figure = Field(at, at.points[:, :1] - 0.5).plot(["u"])
    assert figure.axes[0].get_title() == "u"
    assert figure.axes[0].has_data()
    pyplot.close(figure)
    with pytest.raises(InvalidInputError, match="plot one of them"):
        Field(at, torch.ones(2, at.n, 1)).plot()


def test_readers_and_evaluation_are_at_the_top():
    for name in ("evaluate", "certify", "predict", "collate", "from_arrays", "from_xarray", "read_npz", "read_torch"):
        assert callable(getattr(iaenet, name)), name

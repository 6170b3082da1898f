"""Predictions of an exact operator and of a network: values, notes, estimates, large inputs, files of every family."""

import math
import re
import shlex
import subprocess
import sys

import h5py
import numpy as np
import pytest
import scipy.io
import torch
from torch import nn

from iaenet import Discretization, Field, FunctionToVector, IAENet, load_dataset, write_dataset
from iaenet.cli.predict_command import EXAMPLES, query_points
from iaenet.data.problems.problem import Channel
from iaenet.errors import InvalidInputError
from iaenet.evaluation.mismatch import mismatch
from iaenet.evaluation.predict import predict
from iaenet.functions.normalizer import Normalizer
from iaenet.models.base import Model
from iaenet.models.inference import MOST_POINTS
from iaenet.models.operator import Operator, describe
from iaenet.reports.predict_files import predict_files
from tests.sizes import sizes
from tests.smooth import smooth

RNG = np.random.default_rng(21)


class Smoothing(Model):
    """`u(x) = int exp(-|x - y|^2 / (2 s^2)) a(y) dy` by the quadrature of the input: exact as its points grow dense."""

    def __init__(self, width: float = 0.2) -> None:
        super().__init__()
        self.width = width

    def transform(self, values, source, target):
        distance = torch.cdist(target.points, source.points)
        kernel = torch.exp(-(distance**2) / (2 * self.width**2)) * source.weights
        return kernel.to(values) @ values


class Remembering(Smoothing):
    """The same, and it remembers how it was called."""

    calls: list  # of numbers of points, one for each function

    def forward(self, field, at=None):
        fields = [field] if isinstance(field, Field) else field
        sizes = [f.discretization.n for f in fields for _ in range(len(f.values) if f.batched else 1)]
        self.calls = [*getattr(self, "calls", []), sizes]
        return super().forward(field, at)


def operator(network, *trained, channels=("a",), out=("u",)):
    same = [Normalizer([0.0] * len(names), [1.0] * len(names)) for names in (channels, out)]
    about = {
        "inputs": [{"name": name, "unit": "1"} for name in channels],
        "outputs": [{"name": name, "unit": "1"} for name in out],
    }
    return Operator(network, *same, about | ({"trained": describe(list(trained))} if trained else {}))


def wave(points):
    """A smooth function on points (n, d)."""
    return torch.sin(3 * points.sum(dim=1, keepdim=True)) + points[:, :1] ** 2


def on(at):
    return Field(at, wave(at.points))


def random_points(n, d=2, seed=0, **options):
    return Discretization.points(np.random.default_rng(seed).uniform(size=(n, d)), **options)


GRID = Discretization.uniform(65)
SQUARE = Discretization.uniform((33, 33))


# ------------------------------------------------------------------ values


def test_an_exact_operator_predicts_the_truth_anywhere():
    model = operator(Smoothing(), GRID)
    elsewhere = Discretization.points([[0.0], [0.123], [0.5], [0.987]])
    truth = model.predict(on(Discretization.uniform(20001)), elsewhere).values
    found = predict(model, on(GRID), elsewhere)
    assert found.notes == []
    assert found.fields[0].discretization is elsewhere
    assert torch.allclose(found.fields[0].values, truth, atol=1e-4)
    grid = predict(model, [on(GRID)] * 2, 201).fields
    assert [field.discretization.n for field in grid] == [201, 201]
    assert torch.allclose(grid[1].values[100], truth[2], atol=1e-4)


def test_a_grid_lies_in_the_domain_trained_on_with_its_periodic_axes():
    trained = Discretization.uniform((8, 8), periodic=(True, False), bounds=[[0, 2], [5, 6]])
    model = operator(IAENet(1, 1, dim=2, periodic=(True, False), **sizes(latent=4, modes=2, dim=2)), trained)
    field = Field(trained, torch.rand(64, 1))
    for asked, shape in ((4, (4, 4)), ((3, 5), (3, 5))):
        at = predict(model, field, asked).fields[0].discretization
        assert at.key == Discretization.uniform(shape, periodic=(True, False), bounds=[[0, 2], [5, 6]]).key
    with pytest.raises(InvalidInputError, match="a grid of 3 sizes, but the functions have 2 dimensions"):
        predict(model, field, (4, 4, 4))


def test_functions_on_any_points_in_one_call_are_each_as_if_alone():
    torch.manual_seed(3)
    model = operator(IAENet(1, 1, **sizes(width=16, latent=16, rank=16, blocks=2, modes=8)), GRID)
    fields = [smooth(at) for at in (GRID, random_points(50, 1), Discretization.uniform(40), GRID)]
    together = predict(model, fields, [GRID, random_points(20, 1, 5), GRID, random_points(3, 1, 6)]).fields
    for field, found in zip(fields, together, strict=True):
        alone = predict(model, field, found.discretization).fields[0]
        assert torch.allclose(found.values, alone.values, rtol=1e-6, atol=1e-6 * float(alone.values.abs().max()))


def test_precision_is_the_networks_and_inputs_stay_as_they_are():
    model = operator(IAENet(1, 1, **sizes()), GRID)
    field = on(GRID)
    before = field.values.clone()
    found = predict(model, field).fields[0]
    assert field.values.dtype == torch.float64
    assert found.values.dtype == torch.float32
    assert torch.equal(field.values, before)
    assert torch.equal(found.values, predict(model, field.to(torch.float32)).fields[0].values)


def test_a_vector_is_predicted_as_a_function_on_one_point():
    torch.manual_seed(0)
    network = FunctionToVector(1, 3, features=8, **sizes())
    model = operator(network, GRID, out=("p", "q", "r"))
    model.metadata["targets"] = {"dim": 1, "bounds": [[0, 1]], "periodic": [False], "points": [1, 1], "kinds": []}
    found = predict(model, [smooth(GRID)] * 2).fields
    assert [tuple(field.values.shape) for field in found] == [(1, 3)] * 2
    assert torch.allclose(found[0].values[0], network(smooth(GRID)), atol=1e-6)


# ------------------------------------------------------------------ large inputs


@pytest.mark.parametrize(
    "at", [Discretization.uniform(40001), random_points(40000, rule="monte-carlo")], ids=["a line", "points in 2-D"]
)
def test_pieces_give_what_the_whole_gives(at):
    torch.manual_seed(1)
    model = operator(IAENet(1, 1, dim=at.dim, **sizes(blocks=2, dim=at.dim)), at)
    field = smooth(at)
    whole = model.predict(field).values
    found = predict(model, field).fields[0].values
    assert float((found - whole).norm() / whole.norm()) < 1e-5
    few = Discretization.points(at.points[:10].numpy(), rule="monte-carlo")
    assert torch.allclose(predict(model, field, few).fields[0].values, whole[:10], rtol=1e-4, atol=1e-5)


def test_small_functions_share_a_batch_and_large_ones_do_not():
    model, few, many = (
        operator(Remembering(), GRID),
        Discretization.uniform(33),
        Discretization.uniform(MOST_POINTS + 1),
    )
    predict(model, [on(few)] * 3)
    assert model.network.calls == [[33, 33, 33]]
    predict(model, [on(few)] * 3, [few, many, few])
    assert model.network.calls[1:] == [[33], [33], [33]]


def test_batches_stay_below_the_limit():
    model, at = operator(Remembering(), GRID), Discretization.uniform(2000)
    predict(model, [on(at)] * 80, Discretization.uniform(11))
    points = [sum(each) for each in model.network.calls]
    assert sum(points) == 160000
    assert max(points) <= MOST_POINTS
    assert len(points) == 3


# ------------------------------------------------------------------ notes


def test_no_notes_on_what_it_was_trained_on():
    model = operator(Smoothing(), Discretization.uniform(64), random_points(100, 1))
    for at in (Discretization.uniform(32), Discretization.uniform(1024), random_points(50, 1, 4)):
        assert predict(model, on(at)).notes == []
    assert predict(operator(Smoothing()), on(Discretization.uniform(4))).notes == [], "nothing known of its training"


@pytest.mark.parametrize(
    ("at", "trained", "words"),
    [
        (Discretization.uniform(31), GRID, "31 points, fewer than half of the 65 of the coarsest trained on"),
        (random_points(64, 1), GRID, "a point set, but trained on tensor grids only"),
        (SQUARE, random_points(800), "a tensor grid, but trained on point sets only"),
        (
            Discretization.uniform(65, bounds=[[0, 1.5]]),
            GRID,
            r"the domain \[0, 1.5\] is not the one trained on, \[0, 1\]",
        ),
    ],
)
def test_what_was_never_seen_is_noted_with_an_estimate(at, trained, words):
    found = predict(operator(Smoothing(), trained), [on(at), on(at)])
    assert len(found.notes) == 2
    assert found.notes[0].startswith("sample 0 and 1 more: ")
    assert re.search(words, found.notes[0])
    assert f"estimated discretization mismatch {found.mismatch:.1e} (relative L2" in found.notes[1]
    assert 0 < found.mismatch < 0.2


def test_estimates_are_made_for_a_few_functions_only():
    model = operator(Remembering(), GRID)
    predict(model, [on(Discretization.uniform(20 + i)) for i in range(8)])
    assert sum(len(points) for points in model.network.calls) == 8 + 3 * 2


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (on(Discretization.uniform(65, periodic=True)), r"sample 1: periodic axes \[True\], but .* with \[False\]"),
        (on(SQUARE), "sample 1: points in 2-D, but the model was trained in 1-D"),
        (Field(GRID, torch.ones(65, 2)), "sample 1: 2 channels, but the model takes 1: a"),
    ],
)
@pytest.mark.parametrize("at", [None, 9, GRID])
def test_what_cannot_be_taken_is_refused_by_name(field, message, at):
    with pytest.raises(InvalidInputError, match=message):
        predict(operator(Smoothing(), GRID), [on(GRID), field], at)


def test_query_points_must_be_as_many_and_in_the_same_domain():
    model = operator(Smoothing(), GRID)
    with pytest.raises(InvalidInputError, match="2 functions, but 1 sets of query points"):
        predict(model, [on(GRID)] * 2, [GRID])
    with pytest.raises(InvalidInputError, match=r"sample 0: the input lies in the domain \[0, 1\], .* \[0, 2\]"):
        predict(model, on(GRID), Discretization.uniform(5, bounds=[[0, 2]]))


def test_a_prediction_that_is_no_number_names_its_sample():
    class Broken(Smoothing):
        def transform(self, values, source, target):
            return torch.where(values > 1e3, math.nan, values)

    spike = Field(GRID, torch.where(GRID.points == 0.5, 1e4, 0.0))
    with pytest.raises(InvalidInputError, match="sample 2: the model's output: channel 0, point 32 is nan"):
        predict(operator(Broken(), GRID), [on(GRID), on(GRID), spike, on(GRID)])


def test_a_network_that_ignores_the_query_points_is_noticed():
    class Deaf(nn.Module):
        def forward(self, field, at=None):
            return field

    with pytest.raises(InvalidInputError, match=r"shape \(65, 1\) for 1 function\(s\) at 7 query points"):
        predict(operator(Deaf(), GRID), on(GRID), 7)


# ------------------------------------------------------------------ the estimate


def true_mismatch(model, field, fine):
    """Against the exact operator, at the input's own points."""
    at = field.discretization
    truth, found = model.predict(fine, at).values, model.predict(field).values
    weights = at.weights
    return float(torch.sqrt(weights @ (found - truth) ** 2 / (weights @ truth**2)))


def estimate(model, field, at=None):
    return mismatch(model, field, at)


@pytest.mark.parametrize("n", [17, 33, 64, 129])
def test_on_grids_the_estimate_is_three_times_the_error_of_second_order(n):
    model, field = operator(Smoothing()), on(Discretization.uniform(n))
    truth = true_mismatch(model, field, on(Discretization.uniform(8193)))
    assert 1.5 < estimate(model, field) / truth < 6


@pytest.mark.parametrize("rule", ["cells", "monte-carlo"])
@pytest.mark.parametrize(("n", "d"), [(60, 1), (400, 1), (300, 2), (1000, 2), (300, 3)])
def test_on_random_points_the_estimate_has_the_right_order_of_magnitude(n, d, rule):
    model = operator(Smoothing(0.3))
    fine = on(Discretization.uniform({1: 4097, 2: (65, 65), 3: (17, 17, 17)}[d]))
    fields = [on(random_points(n, d, seed, rule=rule)) for seed in range(6)]
    ratios = [estimate(model, field) / true_mismatch(model, field, fine) for field in fields]
    assert 0.1 < min(ratios) <= max(ratios) < 10
    assert 0.4 < np.median(ratios) < 5


def test_on_a_mesh_in_a_domain_that_is_no_box():
    from scipy.spatial import Delaunay

    model = operator(Smoothing(0.3))

    def triangle(n):
        x = np.stack(np.meshgrid(*[np.linspace(0, 1, n)] * 2), axis=-1).reshape(-1, 2)
        x = x[x.sum(axis=1) <= 1 + 1e-9]
        return on(Discretization.mesh(x, Delaunay(x).simplices[:, :3].astype(np.int64)))

    field, fine = triangle(20), triangle(150)
    assert 1 < estimate(model, field) / true_mismatch(model, field, fine) < 9


def test_the_estimate_at_other_points_and_of_a_network():
    model, at = operator(Smoothing()), Discretization.points([[0.2], [0.7]])
    field = on(Discretization.uniform(33))
    truth = model.predict(on(Discretization.uniform(8193)), at).values
    error = float((model.predict(field, at).values - truth).norm() / truth.norm())
    assert 1.5 < estimate(model, field, at) / error < 6
    torch.manual_seed(0)
    network = operator(IAENet(1, 1, periodic=True, **sizes(latent=16, blocks=2, modes=6)))
    errors = [estimate(network, smooth(Discretization.uniform(n, periodic=True))) for n in (16, 32)]
    assert errors[0] > 100 * errors[1], "the layers converge spectrally, and the estimate shows it"


def test_nothing_to_leave_out_is_no_estimate():
    model = operator(Smoothing(), GRID)
    assert estimate(model, on(Discretization.uniform(2))) is None
    assert estimate(model, on(Discretization.points([[0.5]]))) is None
    notes = predict(model, on(Discretization.uniform(2))).notes
    assert notes[-1].startswith("the mismatch cannot be estimated")


# ------------------------------------------------------------------ files


MODEL = operator(Smoothing(), Discretization.uniform((33, 33)), random_points(100))
LINE = operator(Smoothing(), GRID, random_points(40, 1))


def csv_file(path, points, values, names=("x", "y", "a")):
    table = np.column_stack([points, values])
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return path


def csv_folder(folder, sizes=(60, 80, 100)):
    """Irregular samples, one per file; and the fields that they hold."""
    folder.mkdir()
    fields = []
    for i, n in enumerate(sizes):
        fields.append(on(random_points(n, 2, i)))
        csv_file(folder / f"s{i + 8}.csv", fields[-1].discretization.points, fields[-1].values)
    return fields


def table(path):
    return np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)


def test_a_folder_of_csv_files_to_a_folder_of_csv_files(tmp_path):
    fields = csv_folder(tmp_path / "in")
    text = predict_files(MODEL, tmp_path / "in", tmp_path / "out")
    files = sorted((tmp_path / "out").iterdir(), key=lambda file: len(file.name) * 100 + ord(file.name[1]))
    assert {file.name for file in files} == {"s8.csv", "s9.csv", "s10.csv"}, "a prediction has its input's name"
    truth = predict(MODEL, fields).fields
    for name, made in zip(("s8", "s9", "s10"), truth, strict=True):
        rows = table(tmp_path / "out" / f"{name}.csv")
        assert (tmp_path / "out" / f"{name}.csv").read_text().startswith("x,y,u\n")
        assert np.array_equal(rows[:, :2], made.discretization.points)
        assert np.allclose(rows[:, 2:], made.values, rtol=1e-12)
    low, high = (pick(float(pick(made.values)) for made in truth) for pick in (min, max))
    assert text.splitlines() == [
        f"{tmp_path / 'out'}: 3 samples at 60 to 100 points each",
        f"u: {low:.4g} to {high:.4g}",
    ]


def test_points_lie_in_the_domain_trained_on_and_widen_it(tmp_path):
    inside = [[0.2], [0.4], [0.5], [0.8]] * 10
    csv_file(tmp_path / "a.csv", inside, np.ones(40), ("x", "a"))
    assert "note" not in predict_files(LINE, tmp_path / "a.csv", tmp_path / "u.csv")
    # A constant over [0, 1], not over [0.2, 0.8]: the domain is not tight.
    wide = operator(Smoothing(1e3), *[random_points(40, 1)])
    predict_files(wide, tmp_path / "a.csv", tmp_path / "u.csv")
    assert np.allclose(table(tmp_path / "u.csv")[:, 1], 1.0, atol=1e-4)
    csv_file(tmp_path / "b.csv", [*inside, [1.25]], np.ones(41), ("x", "a"))
    text = predict_files(wide, tmp_path / "b.csv", tmp_path / "u.csv")
    assert "b.csv: the domain [0, 1.25] is not the one trained on, [0, 1]" in text
    assert "estimated discretization mismatch" in text
    assert np.allclose(table(tmp_path / "u.csv")[:, 1], 1.25, atol=1e-4)
    text = predict_files(wide, tmp_path / "a.csv", tmp_path / "u.csv", bounds=[(0.0, 2.0)])
    assert "the domain [0, 2] is not the one trained on" in text


def test_a_point_outside_a_period_is_refused(tmp_path):
    around = operator(Smoothing(), random_points(40, 1, periodic=True))
    csv_file(tmp_path / "a.csv", [[0.1], [0.5], [1.3]], np.ones(3), ("x", "a"))
    with pytest.raises(InvalidInputError, match=r"a\.csv: points: point 2 \[1\.3\] lies outside the domain"):
        predict_files(around, tmp_path / "a.csv", tmp_path / "u.csv")


@pytest.mark.parametrize("suffix", ["npz", "mat", "hdf5"])
def test_arrays_to_arrays(tmp_path, suffix):
    fields = [Field(SQUARE, wave(SQUARE.points) * factor) for factor in (1.0, 2.0, -1.0)]
    stack = np.stack([field.values.numpy().reshape(33, 33) for field in fields])
    source = tmp_path / f"in.{suffix}"
    if suffix == "npz":
        np.savez(source, a=stack, other=np.zeros(3))
    elif suffix == "mat":
        scipy.io.savemat(source, {"a": stack})
    else:
        with h5py.File(source, "w") as file:
            file["a"] = stack
    predict_files(MODEL, source, tmp_path / f"out.{suffix}")
    if suffix == "npz":
        with np.load(tmp_path / "out.npz") as file:
            found = dict(file)
    elif suffix == "mat":
        found = scipy.io.loadmat(tmp_path / "out.mat")
    else:
        with h5py.File(tmp_path / "out.hdf5") as file:
            found = {name: file[name][()] for name in file}
            assert str(source) in file.attrs["origin"]
    truth = [made.values.numpy().reshape(33, 33) for made in predict(MODEL, fields).fields]
    assert np.allclose(found["u"], truth, rtol=1e-12)
    assert np.allclose(np.ravel(found["x"]), np.linspace(0, 1, 33))


def test_a_data_file_to_a_data_file_keeps_inputs_and_splits(tmp_path):
    pairs = [(on(at), on(at)) for at in (SQUARE, random_points(80), SQUARE)]
    channels = {"inputs": [Channel("a", "m")], "outputs": [Channel("u")]}
    write_dataset(tmp_path / "in.h5", pairs, splits=["train", "test", "test"], precision="float64", **channels)
    predict_files(MODEL, tmp_path / "in.h5", tmp_path / "out.h5", split="test")
    found = load_dataset(tmp_path / "out.h5")
    assert found.splits == {"test": 2}
    assert found.inputs == (Channel("a", "m"),)
    for (given, made), (field, _) in zip(found, pairs[1:], strict=True):
        assert given.discretization.key == field.discretization.key
        assert torch.equal(given.values, field.values)
        assert torch.allclose(made.values, predict(MODEL, field).fields[0].values)
    MODEL.metadata["inputs"][0]["unit"] = "km"
    try:
        text = predict_files(MODEL, tmp_path / "in.h5", tmp_path / "folder")
    finally:
        MODEL.metadata["inputs"][0]["unit"] = "1"
    assert "note: channel a is in m, but the model was trained with a in km" in text
    assert sorted(file.name for file in (tmp_path / "folder").iterdir()) == [f"sample000{i}.csv" for i in range(3)]


def test_netcdf_to_netcdf(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    field = on(SQUARE)
    axes = np.linspace(0, 1, 33)
    values = np.stack([field.values.numpy().reshape(33, 33)] * 2)
    data = xarray.Dataset({"a": (("time", "x", "y"), values)}, {"x": axes, "y": axes, "time": [0, 1]})
    data.to_netcdf(tmp_path / "in.nc", engine="h5netcdf")
    predict_files(MODEL, tmp_path / "in.nc", tmp_path / "out.nc", sample="time")
    with xarray.open_dataset(tmp_path / "out.nc", engine="h5netcdf") as found:
        assert found["u"].dims == ("time", "x", "y")
        truth = predict(MODEL, field).fields[0].values.numpy().reshape(33, 33)
        assert np.allclose(found["u"].values[1], truth, rtol=1e-12)


def test_a_mesh_to_a_mesh_and_to_a_grid(tmp_path):
    meshio = pytest.importorskip("meshio")
    from scipy.spatial import Delaunay

    points = np.random.default_rng(0).uniform(size=(90, 2))
    cells = Delaunay(points).simplices
    flat = np.column_stack([points, np.zeros(90)])
    a = wave(torch.from_numpy(points)).numpy()[:, 0]
    (tmp_path / "in").mkdir()
    for name in ("s1", "s2"):
        meshio.Mesh(flat, [("triangle", cells)], point_data={"a": a, "other": a}).write(tmp_path / "in" / f"{name}.vtu")
    predict_files(MODEL, tmp_path / "in", tmp_path / "out")
    found = meshio.vtu.read(str(tmp_path / "out" / "s2.vtu"))
    assert np.array_equal(found.cells[0].data, cells)
    field = Field(Discretization.mesh(points, cells.astype(np.int64)), torch.from_numpy(a)[:, None])
    assert np.allclose(found.point_data["u"], predict(MODEL, field).fields[0].values[:, 0], rtol=1e-9)
    predict_files(MODEL, tmp_path / "in" / "s1.vtu", tmp_path / "out.vtk", at=(5, 4))
    found = meshio.vtk.read(str(tmp_path / "out.vtk"))
    assert [block.type for block in found.cells] == ["quad"]
    assert len(found.points) == 20


@pytest.mark.parametrize("kind", ["csv", "columns", "rows", "axes", "mesh grid"])
def test_at_the_points_of_a_file(tmp_path, kind):
    csv_folder(tmp_path / "in")
    points = np.random.default_rng(5).uniform(size=(30, 2))
    x, y = np.linspace(0, 1, 6), np.linspace(0, 1, 5)
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    if kind == "csv":
        at = csv_file(tmp_path / "at.csv", points[:, ::-1], np.zeros(30), ("y", "x", "ignored"))
    else:
        at = tmp_path / "at.npz"
        rows = {"columns": {"x": points[:, 0], "y": points[:, 1]}, "rows": {"p": points}, "axes": {"x": x, "y": y}}
        mesh_grid = dict(zip("xy", np.meshgrid(x, y), strict=True))
        np.savez(at, **rows.get(kind, mesh_grid))
    predict_files(MODEL, tmp_path / "in", tmp_path / "out.npz", at=at)
    wanted = points if kind in ("csv", "columns", "rows") else grid
    with np.load(tmp_path / "out.npz") as file:
        found = dict(file)
    if wanted is points:
        assert np.array_equal(np.column_stack([found["x"], found["y"]]), wanted)
    place = Discretization.points(wanted)
    truth = [predict(MODEL, on(random_points(n, 2, i)), place).fields[0] for i, n in enumerate((60, 80, 100))]
    assert np.allclose(found["u"].reshape(3, -1), np.stack([made.values[:, 0] for made in truth]), rtol=1e-9)


def test_points_asked_for_outside_widen_the_domain_with_a_note(tmp_path):
    csv_folder(tmp_path / "in")
    at = csv_file(tmp_path / "at.csv", [[0.5, 0.5], [1.1, 0.2]], [0, 0], ("x", "y", "n"))
    text = predict_files(MODEL, tmp_path / "in", tmp_path / "out", at=at)
    assert "s8.csv and 2 more: the domain [0, 1.1], [0, 1] is not the one trained on" in text


def test_data_are_read_as_the_training_data_were_imported(tmp_path):
    model = operator(Smoothing(), GRID)
    model.metadata["provenance"] = {
        "reader": "csv",
        "options": {"coordinates": "t", "inputs": "load", "outputs": "u", "delimiter": ";", "bounds": [[0, 9]]},
    }
    (tmp_path / "a.csv").write_text("t;load;x\n" + "".join(f"{i / 64};1;7\n" for i in range(65)))
    predict_files(model, tmp_path / "a.csv", tmp_path / "u.csv")
    assert (tmp_path / "u.csv").read_text().startswith("t;u\n0.0;")
    for names in ("t", "x"):
        (tmp_path / "at.csv").write_text(f"{names};other\n0.25;0\n0.75;0\n")
        predict_files(model, tmp_path / "a.csv", tmp_path / "u.csv", at=tmp_path / "at.csv")
        assert [row.split(";")[0] for row in (tmp_path / "u.csv").read_text().split()] == ["t", "0.25", "0.75"]
    np.savez(tmp_path / "a.npz", a=np.ones((1, 65)))
    predict_files(model, tmp_path / "a.npz", tmp_path / "u.npz")
    with np.load(tmp_path / "u.npz") as file:
        assert file["u"].shape == (1, 65)


def test_steps_of_pdebench_and_groups_of_hdf5(tmp_path):
    steps = operator(Smoothing(), GRID, channels=("tensor[0]", "tensor[2]"), out=("u", "v"))
    tensor = RNG.normal(size=(2, 4, 65))
    with h5py.File(tmp_path / "steps.hdf5", "w") as file:
        file["tensor"], file["x-coordinate"] = tensor, np.linspace(0, 1, 65)
    predict_files(steps, tmp_path / "steps.hdf5", tmp_path / "u.npz", format="pdebench")
    truth = predict(steps, [Field(GRID, torch.from_numpy(sample[[0, 2]].T)) for sample in tensor]).fields
    with np.load(tmp_path / "u.npz") as found:
        assert np.allclose(found["v"], np.stack([made.values[:, 1] for made in truth]), rtol=1e-9)
    fields = [on(random_points(n, 1, n)) for n in (40, 50)]
    with h5py.File(tmp_path / "groups.h5", "w") as file:
        for i, field in enumerate(fields):
            file[f"s{i}/x"], file[f"s{i}/a"] = field.discretization.points[:, 0], field.values[:, 0]
    options = {"groups": "/", "coordinates": "x"}
    predict_files(LINE, tmp_path / "groups.h5", tmp_path / "u.h5", **options)
    with h5py.File(tmp_path / "u.h5") as file:
        assert list(file) == ["sample0000", "sample0001"]
        assert np.allclose(file["sample0001/u"], predict(LINE, fields[1]).fields[0].values[:, 0], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of pandas, about wfdb
def test_windows_of_a_record(tmp_path):
    wfdb = pytest.importorskip("wfdb")
    at = Discretization.tensor_grid(np.arange(100) * 0.01, bounds=[[0, 1]])
    signal = RNG.normal(size=(250, 1))
    wfdb.wrsamp("r", 100, ["mV"], ["a"], p_signal=signal, fmt=["32"], write_dir=str(tmp_path))
    model = operator(Smoothing(), at)
    predict_files(model, tmp_path / "r.hea", tmp_path / "out", window=100)
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == ["sample0000.csv", "sample0001.csv"]
    truth = predict(model, Field(at, torch.from_numpy(signal[100:200]))).fields[0]
    assert np.allclose(table(files[1])[:, 1], truth.values[:, 0], atol=1e-6)


def test_a_model_without_names_needs_them(tmp_path):
    model = operator(Smoothing(), GRID)
    model.metadata |= {"inputs": [], "outputs": []}
    np.savez(tmp_path / "a.npz", b=np.ones((2, 65)))
    with pytest.raises(InvalidInputError, match=r"a\.npz: name the inputs by --inputs"):
        predict_files(model, tmp_path / "a.npz", tmp_path / "u.npz")
    predict_files(model, tmp_path / "a.npz", tmp_path / "u.npz", inputs="b")
    with np.load(tmp_path / "u.npz") as found:
        assert sorted(found) == ["output", "x"]


def test_a_picture_is_drawn(tmp_path):
    csv_folder(tmp_path / "in")
    text = predict_files(MODEL, tmp_path / "in", tmp_path / "out", at=(9, 9), picture=tmp_path / "u.png")
    assert text.endswith(f"picture: {tmp_path / 'u.png'}")
    assert (tmp_path / "u.png").read_bytes().startswith(b"\x89PNG")
    np.savez(tmp_path / "a.npz", a=RNG.normal(size=(7, 65)))
    predict_files(LINE, tmp_path / "a.npz", tmp_path / "u.npz", picture=tmp_path / "line.png")


# ------------------------------------------------------------------ what is wrong with the files


def files(folder):
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*"))


def _nan(folder):
    csv_file(folder / "in" / "s9.csv", [[0.1, 0.2], [0.3, math.nan]], [1, 2])


def _nan_in_array(folder):
    values = np.ones((3, 33, 33))
    values[2, 1, 5] = np.nan
    np.savez(folder / "a.npz", a=values)


def _missing(folder):
    csv_file(folder / "in" / "s9.csv", [[0.1, 0.2], [0.3, 0.4]], [1, 2], ("x", "y", "b"))


def _empty(folder):
    (folder / "empty").mkdir()


def _line(folder):
    np.savez(folder / "line.npz", a=np.ones((3, 65)), x=np.linspace(0, 1, 65))


def _points(folder):
    (folder / "at.csv").write_text("x,y\n0.5,0.5\n0.5,inf\n")


@pytest.mark.parametrize(
    ("prepare", "source", "output", "options", "message"),
    [
        (_nan, "in", "out", {}, r"in/s9\.csv: row 3, column 'y': is nan"),
        (_nan_in_array, "a.npz", "u.npz", {}, r"a\.npz: sample 2: channel a, point 38 is nan"),
        (_missing, "in", "out", {}, r"in/s9\.csv: no column 'a'; there are: x, y, b"),
        (_missing, "in", "out", {"coordinates": "x,z"}, r"in/s8\.csv: no column 'z'; there are: x, y, a"),
        (_empty, "empty", "out", {}, r"empty: no file of samples \(\.csv, .* in this folder"),
        (None, "nowhere", "out", {}, "nowhere: no such file or folder"),
        (None, "in", "in", {}, "is, or is among, what is read"),
        (None, "in", "in/u.csv", {}, "is, or is among, what is read"),
        (None, "in/s8.csv", "in/s8.csv", {}, "is, or is among, what is read"),
        (None, "in/s8.csv", "no/u.csv", {}, "there is no folder .*no; make it first"),
        (None, "in", "no/out", {}, "there is no folder .*no; make it first"),
        (None, "in", "u.csv", {}, r"u\.csv: 3 functions, but a \.csv file holds one; give the name of a folder"),
        (None, "in", "u.npz", {}, "different numbers of points or grids: write to a folder"),
        (None, "in", "u.docx", {}, r"u\.docx: predictions are written to"),
        (None, "in/s8.csv", "u.csv", {"format": "excel"}, "no format 'excel'; there are csv, npz"),
        (None, "in/s8.csv", "u.csv", {"window": 5}, "--window is no option of the format csv"),
        (None, "in/s8.csv", "u.csv", {"periodic": True, "bounds": [(0, 1)] * 2}, r"s8\.csv: periodic axes"),
        (None, "in/s8.csv", "u.csv", {"inputs": "a,x"}, r"s8\.csv: 2 channels, but the model takes 1: a"),
        (_line, "line.npz", "u.npz", {}, r"line\.npz: 'a': dim is 2, but an array of one sample has shape \(65,\)"),
        (_line, "line.npz", "u.npz", {"coordinates": "x"}, r"line\.npz.*: points in 1-D, but the domain .* has 2 axes"),
        (_points, "in", "out", {"at": "at.csv"}, r"at\.csv: row 3, column 'y': is inf"),
        (_points, "in", "at.csv", {"at": "at.csv"}, r"is, or is among, what is read"),
        (None, "in", "out", {"at": "at.csv"}, r"at\.csv: no such file"),
        (_line, "in", "out", {"at": "line.npz"}, r"line\.npz: no coordinate 'y'; there are: a, x"),
        (None, "in", "out", {"at": "in/s8.csv", "coordinates": "x,z"}, r"in/s8\.csv: no column 'z'"),
        (None, "in", "out", {"at": (4, 4, 4)}, "a grid of 3 sizes, but the functions have 2 dimensions"),
        (None, "in", "out", {"picture": "u.jpg"}, r"give the name of a \.png file"),
        (None, "in", "out", {"picture": "in/s8.csv"}, "is, or is among, what is read"),
    ],
)
def test_one_clear_refusal_and_nothing_left_behind(tmp_path, monkeypatch, prepare, source, output, options, message):
    monkeypatch.chdir(tmp_path)
    csv_folder(tmp_path / "in")
    if prepare is not None:
        prepare(tmp_path)
    before = files(tmp_path)
    content = {name: (tmp_path / name).read_bytes() for name in before if (tmp_path / name).is_file()}
    with pytest.raises(InvalidInputError, match=message) as caught:
        predict_files(MODEL, source, output, **options)
    assert "\n" not in str(caught.value)
    assert files(tmp_path) == before
    assert all((tmp_path / name).read_bytes() == text for name, text in content.items())


# ------------------------------------------------------------------ the command


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from iaenet.cli.predict_command import predict_command\n"
        "try: predict_command(['--help'], None)\n"
        "except SystemExit: pass\n"
        "print('imported', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text, _, imported = done.stdout.rpartition("imported")
    assert text.startswith("usage: iaenet predict")
    assert "examples:" in text
    heavy = {"torch", "numpy", "scipy", "matplotlib", "h5py", "skfem", "loky", "rich"}
    assert {name.partition(".")[0] for name in imported.split()} & heavy == set()


@pytest.mark.parametrize("line", EXAMPLES.splitlines())
def test_the_examples_in_the_help_are_understood(line, tmp_path):
    from iaenet.cli.predict_command import predict_command

    words = shlex.split(line)
    assert words[:3] == ["iaenet", "predict", "RUN"]
    with pytest.raises(InvalidInputError, match="no training run"):
        predict_command([str(tmp_path), *words[3:]], lambda what: None)


@pytest.mark.parametrize(
    ("given", "wanted"), [("256", (256,)), ("64, 32", (64, 32)), ([8, 9], (8, 9)), ("a.csv", "a.csv")]
)
def test_a_place_is_a_grid_or_a_file(given, wanted):
    assert query_points(given) == wanted

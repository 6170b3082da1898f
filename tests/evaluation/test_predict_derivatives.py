"""Derivatives of predictions through the command: finite differences, every format, units, bands, steps, refusals."""

import h5py
import numpy as np
import pytest
import scipy.io
import torch

import iaenet
from iaenet import Discretization, Field, FunctionToVector, InvalidInputError, gradient, load_dataset, predict
from iaenet.cli.main import main
from iaenet.data.problems.problem import Channel
from iaenet.data.writing.derivative_channels import derivative_channels
from iaenet.functions.derivatives import differentiable
from iaenet.functions.interpolate import interpolate
from iaenet.functions.normalizer import Normalizer
from iaenet.models import differentiated as home
from iaenet.models.base import Model
from iaenet.models.operator import Operator, describe
from iaenet.models.registry import build
from iaenet.reports.predict_files import predict_files

H = 0.01  # of central differences of fourth order: of float32 values they have five digits
STENCIL = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
TINY = {"name": "iaenet", "width": 8, "blocks": 1}
SHORT = {"epochs": 3, "batch_size": 4, "threads": 1}


def arrays(path):
    """All arrays of a file, which is closed."""
    with np.load(path) as found:
        return dict(found)


def waves(dim, count=12, periodic=False):
    grid = Discretization.uniform((16,) * dim, periodic=periodic)
    x = 2 * torch.pi * grid.points
    fields = [torch.sin(x[:, :1] + 0.3 * k) * (1 if dim == 1 else torch.cos(x[:, 1:] - 0.2 * k)) for k in range(count)]
    return [(Field(grid, f.float()), Field(grid, (f + 0.5 * f**2).float())) for f in fields]


@pytest.fixture(scope="module", params=[1, 2])
def trained(request, tmp_path_factory):
    """A run folder, and an input of its model as a file."""
    folder, dim = tmp_path_factory.mktemp("trained"), request.param
    pairs = waves(dim)
    iaenet.fit(TINY, pairs, folder / "run", **SHORT)
    np.savez(folder / "new.npz", input=pairs[5][0].numpy(grid=True)[None, ..., 0])
    return folder, dim


def columns(path):
    found = np.genfromtxt(path, delimiter=",", names=True)
    return {name: found[name] for name in found.dtype.names}


def command(folder, points, *more):
    """What `iaenet predict` gives at points, by name."""
    names = ["x", "y", "z"][: points.shape[1]]
    np.savetxt(folder / "at.csv", points, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    files = ["--input", str(folder / "new.npz"), "--inputs", "input", "--at", str(folder / "at.csv")]
    assert main(["predict", str(folder / "run"), *files, "--output", str(folder / "u.csv"), *more]) == 0
    return columns(folder / "u.csv")


def differences(call, points, axis):
    """du/dx along an axis, `call(points)` being u there."""
    step = H * np.eye(points.shape[1])[axis]
    return sum(weight * call(points + k * step) for k, weight in STENCIL.items()) / H


def off(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def test_the_command_agrees_with_finite_differences(trained, capsys):
    folder, dim = trained
    points = np.random.default_rng(0).uniform(0.1, 0.9, size=(40, dim))
    found = command(folder, points, "--derivatives", "gradient,laplacian")
    axes = "xyz"[:dim]
    slopes = [f"output_{x}" for x in axes]
    assert list(found) == [*axes, "output", *slopes, "output_laplacian"]
    text = capsys.readouterr().out
    assert f"output_x: {found['output_x'].min():.4g} to {found['output_x'].max():.4g}" in text
    assert np.allclose(command(folder, points)["output"], found["output"], rtol=1e-5, atol=1e-6)
    second = 0
    for axis, name in enumerate(slopes):
        assert off(found[name], differences(lambda x: command(folder, x)["output"], points, axis)) < 1e-4
        second = second + differences(
            lambda x, name=name: command(folder, x, "--derivatives", "gradient")[name], points, axis
        )
    assert off(found["output_laplacian"], second) < 1e-4


# ------------------------------------------------------------------ an operator whose derivatives are known


class Smoothing(Model):
    """`u(x) = sum_i w_i exp(-|x - y_i|^2 / (2 s^2)) a_i`, whose derivatives are sums, too."""

    width = 0.2

    def transform(self, values, source, target):
        return self.kernel(source, target).to(values) @ values

    def kernel(self, source, target):
        return torch.exp(-self.difference(source, target).square().sum(-1) / (2 * self.width**2)) * source.weights

    def difference(self, source, target):
        return target.points[:, None] - source.points

    def slopes(self, field, target):
        """`(n, d)` and `(n, 1)`, of one channel."""
        d, s = self.difference(field.discretization, target), self.width**2
        terms = self.kernel(field.discretization, target) * field.values[:, 0]
        second = (d.square().sum(-1) / s - d.shape[-1]) / s
        return torch.einsum("ni,nid->nd", terms, -d / s), (terms * second).sum(1, keepdim=True)


class Interpolating(Model):
    """Linear between scattered points."""

    def transform(self, values, source, target):
        return interpolate(Field.unchecked(source, values), target).values


def operator(network, at, channels=1, unit="1"):
    names = [
        {"name": f"{letter}{i}" if channels > 1 else letter, "unit": unit} for letter in "au" for i in range(channels)
    ]
    same = Normalizer([0.0] * channels, [1.0] * channels)
    about = {"inputs": names[:channels], "outputs": names[channels:], "trained": describe([at])}
    return Operator(network, same, same, about)


SQUARE = Discretization.uniform((17, 17))
MODEL = operator(Smoothing(), SQUARE, unit="K")
FIELD = Field(SQUARE, torch.sin(3 * SQUARE.points.sum(1, keepdim=True)))
BOTH = ("gradient", "laplacian")


def truth(field=FIELD, at=SQUARE):
    found = Smoothing().slopes(field, at)
    return {"u_x": found[0][:, 0].numpy(), "u_y": found[0][:, 1].numpy(), "u_laplacian": found[1][:, 0].numpy()}


@pytest.fixture
def source(tmp_path):
    np.savez(tmp_path / "a.npz", a=FIELD.numpy(grid=True)[None, ..., 0])
    return tmp_path / "a.npz"


def read(path):
    """The channels in a file of any format, flattened."""
    match path.suffix:
        case ".csv":
            found = columns(path)
        case ".npz":
            found = arrays(path)
        case ".pt":
            found = {name: np.asarray(each) for name, each in torch.load(path, weights_only=True).items()}
        case ".mat":
            found = scipy.io.loadmat(path)
        case ".hdf5":
            with h5py.File(path) as file:
                found = {name: file[name][()] for name in file}
        case ".h5":
            data = load_dataset(path)
            found = {channel.name: data[0][1].values[:, i].numpy() for i, channel in enumerate(data.outputs)}
        case ".nc" | ".zarr":
            xarray = pytest.importorskip("xarray")
            engine = "h5netcdf" if path.suffix == ".nc" else "zarr"
            pytest.importorskip(engine)
            options = {"consolidated": False} if path.suffix == ".zarr" else {}
            with xarray.open_dataset(path, engine=engine, **options) as file:
                found = {name: file[name].values for name in file.variables}
        case _:
            meshio = pytest.importorskip("meshio")
            found = (meshio.vtu if path.suffix == ".vtu" else meshio.vtk).read(str(path)).point_data
    return {name: np.ravel(values) for name, values in found.items() if not name.startswith("__")}


@pytest.mark.parametrize("suffix", ["csv", "npz", "pt", "mat", "hdf5", "h5", "nc", "zarr", "vtu", "vtk"])
def test_every_format_has_them_by_name(source, tmp_path, suffix):
    options = {"output_format": "data"} if suffix == "h5" else {}
    if suffix in ("nc", "zarr"):
        pytest.importorskip("xarray")
    text = predict_files(MODEL, source, tmp_path / f"u.{suffix}", derivatives=BOTH, **options)
    found, wanted = read(tmp_path / f"u.{suffix}"), truth()
    assert {"u", *wanted} <= set(found)
    for name, values in wanted.items():
        assert np.allclose(found[name], values, rtol=1e-5, atol=1e-5), name
        assert f"{name}: {values.min():.4g} to {values.max():.4g}" in text
    plain = predict(MODEL, FIELD).fields[0].values[:, 0].numpy()
    assert np.allclose(found["u"], plain, rtol=1e-6)


def test_from_python_of_batches_and_both_kinds():
    at = Discretization.points(np.random.default_rng(1).uniform(size=(30, 2)))
    batch = Field(SQUARE, torch.stack([FIELD.values, 2 * FIELD.values]))
    found = predict(MODEL, [FIELD, batch], [at, at], derivatives=BOTH)
    wanted = truth(at=at)
    slopes = np.stack([wanted["u_x"], wanted["u_y"]], axis=1)
    assert np.allclose(found.gradients[0].numpy(), slopes)
    assert np.allclose(found.gradients[1].numpy()[1], 2 * slopes)
    assert np.allclose(found.laplacians[1].numpy()[0, :, 0], wanted["u_laplacian"])
    assert torch.allclose(found.fields[0].values, predict(MODEL, FIELD, at).fields[0].values, rtol=1e-12)
    only = predict(MODEL, FIELD, at, derivatives="laplacian")
    assert not only.gradients
    assert torch.allclose(only.laplacians[0].values, found.laplacians[0].values, rtol=1e-10)
    assert not found.gradients[0].values.requires_grad


def test_some_points_at_a_time_give_the_same(monkeypatch):
    network = build("iaenet", waves(2))
    model = operator(network, SQUARE)
    found = []
    for most in (home.MOST, 20):
        monkeypatch.setattr(home, "MOST", most)
        made = predict(model, waves(2)[0][0], 9, derivatives=BOTH)
        found.append((*made.fields, *made.gradients, *made.laplacians))
    for whole, parts in zip(*found, strict=True):
        assert off(parts.numpy(), whole.numpy()) < 1e-5


def test_weights_are_left_as_they_were():
    model = operator(build("fno", waves(1)), waves(1)[0][0].discretization)
    predict(model, waves(1)[0][0], derivatives="gradient")
    assert all(weight.requires_grad and weight.grad is None for weight in model.parameters())
    assert model.training


# ------------------------------------------------------------------ names and units


def test_units_are_those_of_the_channel_over_those_of_the_coordinate(source, tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    text = predict_files(MODEL, source, tmp_path / "u.npz", derivatives=BOTH, units={"x": "m", "y": "s"})
    assert "u (K): " in text
    assert "u_x (K/m): " in text
    assert "u_y (K/s): " in text
    assert "\nu_laplacian: " in text, "m and s have no common unit"
    axes = {x: (x, np.linspace(0, 1, 17), {"units": "mm"}) for x in "xy"}
    data = xarray.Dataset({"a": (("x", "y"), FIELD.numpy(grid=True)[..., 0])}, axes)
    data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    assert "u_laplacian (K/mm^2): " in predict_files(MODEL, tmp_path / "a.nc", tmp_path / "u.nc", derivatives=BOTH)
    with xarray.open_dataset(tmp_path / "u.nc", engine="h5netcdf") as found:
        assert found["u_x"].attrs["units"] == "K/mm"
    assert "\nu_x: " in predict_files(MODEL, source, tmp_path / "u.npz", derivatives=BOTH), "none is known"


def test_names_that_are_taken_are_not_taken_twice():
    def names(*channels):
        return [one.name for one in derivative_channels([Channel(name) for name in channels], ["x", "y"], BOTH)]

    assert names("u[0]", "u[1]")[:4] == ["u_x[0]", "u_y[0]", "u_x[1]", "u_y[1]"]
    assert names("u", "u_x")[:2] == ["du_dx", "du_dy"]
    with pytest.raises(InvalidInputError, match="names that are taken"):
        names("u", "u_x", "du_dx")


def test_several_channels_have_their_own(tmp_path):
    model = operator(Smoothing(), SQUARE, channels=2)
    values = FIELD.numpy(grid=True)[..., 0]
    np.savez(tmp_path / "a.npz", a0=values[None], a1=-3 * values[None])
    predict_files(model, tmp_path / "a.npz", tmp_path / "u.csv", derivatives=BOTH)
    found, wanted = read(tmp_path / "u.csv"), truth()
    assert list(found)[2:] == ["u0", "u1", "u0_x", "u0_y", "u1_x", "u1_y", "u0_laplacian", "u1_laplacian"]
    assert np.allclose(found["u1_y"], -3 * wanted["u_y"], atol=1e-8)
    assert np.allclose(found["u1_laplacian"], -3 * wanted["u_laplacian"], atol=1e-8)


# ------------------------------------------------------------------ with bands, steps, many files, pictures


@pytest.mark.parametrize("members", [1, 2])
def test_beside_bands(tmp_path, members):
    pairs = waves(1, 24)
    more = {"members": members} if members > 1 else {}
    model = iaenet.fit(TINY, pairs, tmp_path / "run", **SHORT, **more)
    iaenet.calibrate(model, waves(1, 60)[20:]).save(tmp_path / "run")
    np.savez(tmp_path / "new.npz", input=pairs[3][0].numpy()[None, :, 0])
    at = np.linspace(0.1, 0.9, 30)[:, None]
    found = command(tmp_path, at, "--band", "0.9", "--derivatives", "gradient")
    assert list(found) == ["x", "output", "output_lower", "output_upper", "output_x"]
    with pytest.raises(InvalidInputError, match="bands are calibrated for one step"):
        predict_files(model, tmp_path / "new.npz", tmp_path / "v.npz", inputs="input", band=0.9, steps=2)
    alone, banded = command(tmp_path, at, "--derivatives", "gradient"), command(tmp_path, at, "--band", "0.9")
    assert np.allclose(found["output_x"], alone["output_x"], rtol=1e-6, atol=1e-6)
    assert np.allclose(found["output_upper"], banded["output_upper"], rtol=1e-6, atol=1e-6)


def test_after_each_step(tmp_path):
    grid = Discretization.uniform(16, periodic=True)
    pairs = waves(1, periodic=True)
    model = iaenet.fit(TINY, pairs, tmp_path / "run", **SHORT)
    np.savez(tmp_path / "new.npz", input=pairs[3][0].numpy()[None, :, 0])
    files = f"predict {tmp_path}/run --inputs input --input {tmp_path}/new.npz --output {tmp_path}/u.npz"
    assert main(f"{files} --steps 3 --derivatives gradient".split()) == 0
    found = arrays(tmp_path / "u.npz")
    states = [pairs[3][0], *model.rollout(pairs[3][0], 3)]
    for step in range(3):
        assert np.allclose(found["output"][step], states[step + 1].numpy()[:, 0], atol=1e-5)
        x = differentiable(grid)
        slope = gradient(model(states[step], x).values, x)[:, 0, 0].detach()
        assert off(found["output_x"][step], slope.numpy()) < 1e-4


def test_many_files_are_predicted_with_the_same_options(tmp_path):
    pairs = waves(1, 24, periodic=True)
    model = iaenet.fit(TINY, pairs, tmp_path / "run", **SHORT)
    iaenet.calibrate(model, waves(1, 60, periodic=True)[20:]).save(tmp_path / "run")
    (tmp_path / "in").mkdir()
    for i in range(2):
        np.savez(tmp_path / "in" / f"r{i}.npz", input=pairs[i][0].numpy()[None, :, 0])
    files = f"predict {tmp_path}/run --inputs input --input {tmp_path}/in/*.npz --output {tmp_path}"
    assert main([*f"{files}/a --derivatives gradient --band 0.9 --units".split(), "{x: m}"]) == 0
    assert {"output_x", "output_lower"} < set(arrays(tmp_path / "a" / "r1.npz"))
    assert main(f"{files}/b --steps 3".split()) == 0
    assert arrays(tmp_path / "b" / "r1.npz")["output"].shape == (3, 16)


def test_a_picture_has_a_panel_for_each(source, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "iaenet.reports.predict_files.draw_panels", lambda rows, names: drawn.extend(rows) or FIELD.plot()
    )
    predict_files(MODEL, source, tmp_path / "u.npz", picture=tmp_path / "u.png", derivatives=BOTH)
    names = [panel.channel for panel in drawn[0]]
    assert names == ["input a", *(f"predicted {name}" for name in ("u (K)", "u_x", "u_y", "u_laplacian"))]
    ((_, values),) = drawn[0][2].curves.values()
    assert np.allclose(values, truth()["u_x"])


# ------------------------------------------------------------------ what has none


def test_a_laplacian_that_says_nothing_is_noted(tmp_path):
    points = Discretization.points(np.random.default_rng(2).uniform(size=(60, 2)))
    table = torch.cat([points.points, torch.sin(points.points.sum(1, keepdim=True))], dim=1).numpy()
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header="x,y,a", comments="", fmt="%.17g")
    model = operator(Interpolating(), points)
    text = predict_files(model, tmp_path / "a.csv", tmp_path / "u.csv", at=(7, 7), derivatives=BOTH)
    assert "note: the Laplacian is 0 everywhere: between points this model is linear" in text
    assert "Laplacian is 0" not in predict_files(MODEL, tmp_path / "a.csv", tmp_path / "v.csv", derivatives=BOTH)


def test_what_has_no_derivatives_is_refused(source, tmp_path):
    vector = operator(FunctionToVector(1, 1, dim=2), SQUARE)
    own = operator(build("transolver", waves(2)), SQUARE)
    for model, words in ((vector, "FunctionToVector has no derivatives"), (own, "Transolver has no derivatives")):
        with pytest.raises(InvalidInputError, match=words):
            predict_files(model, source, tmp_path / "u.npz", derivatives="gradient")
    with pytest.raises(InvalidInputError, match=r"no derivative 'hessian'; there are gradient, laplacian"):
        predict(MODEL, FIELD, derivatives="hessian")
    with pytest.raises(InvalidInputError, match="'t' is not among the coordinates x, y"):
        predict_files(MODEL, source, tmp_path / "u.npz", derivatives="gradient", units={"t": "s"})
    assert not (tmp_path / "u.npz").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("--derivatives hessian", "derivatives are gradient, laplacian or both"),
        ("--derivatives gradient,gradient", "derivatives are gradient, laplacian or both"),
        ("--units {x:_m}", "--units: says those of coordinates, for derivatives"),
        ("--derivatives gradient --units m", "units by name"),
        ("--derivatives gradient --units {t:_s}", "'t' is not among the coordinates x"),
        ("--derivatives gradient --band 0.9", "has no bands yet"),
    ],
)
def test_one_line_for_a_mistake(trained, capsys, more, words):
    folder, _ = trained
    options = [word.replace("_", " ") for word in more.split()]
    out = folder / "never.npz"
    files = ["--input", str(folder / "new.npz"), "--inputs", "input", "--output", str(out)]
    assert main(["predict", str(folder / "run"), *files, *options]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len([line for line in said.splitlines() if line.strip()]) == 1
    assert not out.exists()

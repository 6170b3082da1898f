"""Exported models that are told of the domain, have heads, or are programs of PyTorch: the numbers of the model."""

import numpy as np
import pytest
import torch
from scipy.spatial import Delaunay

import iaenet
from iaenet import Discretization, Field, Head, IAENet, InvalidInputError, PointIAE
from iaenet.data.problems.bodies import icosphere
from iaenet.exporting import exported as running
from iaenet.functions.given_boundary import with_boundary
from iaenet.functions.normalizer import Normalizer
from iaenet.models.operator import Operator, describe

BOUNDS = {2: [[0.0, 2.0], [1.0, 2.0]], 3: [[0.0, 1.0]] * 3}
NETWORKS = {
    "measure": (2, {"geometry": ["measure"]}),
    "as for meshes": (2, {"head": 8, "geometry": ["measure", "distance"]}),
    "kernels": (2, {"head": Head(8, PointIAE(6, 4)), "geometry": ["distance"]}),
    "body": (3, {"head": 4, "geometry": ["distance", "measure"]}),
}


def operator(dim, **options):
    torch.manual_seed(0)
    sizes = {"grid": 12 if dim == 2 else 6, "width": 4, "blocks": 1, "post": 0} | options
    network = IAENet(1, 1, dim, branches=[], **sizes).eval()
    metadata = {"trained": describe([Discretization.uniform((8,) * dim, bounds=BOUNDS[dim])])}
    return Operator(network, Normalizer([0.3], [1.7]), Normalizer([0.0], [2.0]), metadata)


def ring(n, dim, seed=0):
    """Cells of random points around a hole: points `(n, d)`, simplices."""
    x = np.random.default_rng(seed).random((n, dim))
    low, high = np.array(BOUNDS[dim]).T
    cells = Delaunay(x).simplices
    cells = cells[np.linalg.norm(x[cells].mean(axis=1) - 0.5, axis=1) > 0.25].astype(np.int64)
    used, index = np.unique(cells, return_inverse=True)
    return low + (high - low) * x[used], index.reshape(cells.shape)


def waves(x):
    return np.sin(2.5 * x[:, :1]) + 0.5 * np.cos(7 * x.sum(axis=1, keepdims=True))


def apart(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted - wanted.mean())


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in NETWORKS if name != "as for meshes"]


@pytest.fixture(scope="module", params=["as for meshes", *OTHERS])
def made(request, tmp_path_factory):
    dim, options = NETWORKS[request.param]
    model = operator(dim, **options)
    path = iaenet.export(model, tmp_path_factory.mktemp("export") / "model.onnx")
    return dim, model, iaenet.load_exported(path, threads=1)


@pytest.mark.parametrize("n", [20, 300])
def test_on_a_mesh_with_a_hole(made, n):
    dim, model, exported = made
    x, cells = ring(n, dim)
    mesh = Discretization.mesh(x, cells, bounds=BOUNDS[dim])
    field = Field(mesh, torch.from_numpy(waves(x)).float())
    y = ring(41, dim, seed=1)[0]
    at = Discretization.points(y, bounds=BOUNDS[dim], rule="monte-carlo")
    assert apart(exported(x, waves(x), cells=cells), model.predict(field).values.numpy()) < 1e-5
    assert apart(exported(x, waves(x), y, cells=cells), model.predict(field, at).values.numpy()) < 1e-5


def test_on_points_in_a_domain_and_in_the_box(made):
    """The domain is found from the points; with weights of one's own it is the box."""
    dim, model, exported = made
    x, _ = ring(400, dim)
    for options, given in (({}, {}), ({"rule": "monte-carlo"}, {"weights": np.full(len(x), 1 / len(x))})):
        where = Discretization.points(x, bounds=BOUNDS[dim], **options)
        wanted = model.predict(Field(where, torch.from_numpy(waves(x)).float())).values.numpy()
        if given:  # a network that is told the measure sees their sum
            given["weights"] = where.weights.numpy()
        assert apart(exported(x, waves(x), **given), wanted) < 1e-5


def test_with_a_boundary_of_ones_own(made):
    dim, model, exported = made
    if dim == 3:
        pytest.skip("the same as in the plane")
    x, _ = ring(300, dim)
    square = np.array([[0.7, 1.35], [1.3, 1.35], [1.3, 1.65], [0.7, 1.65]])
    x = x[((x < square.min(0)) | (x > square.max(0))).any(axis=1)]
    where = with_boundary(Discretization.points(x, bounds=BOUNDS[dim]), square, [[0, 1], [1, 2], [2, 3], [3, 0]])
    wanted = model.predict(Field(where, torch.from_numpy(waves(x)).float())).values.numpy()
    found = exported(x, waves(x), weights=where.weights, boundary=where.boundary)
    assert apart(found, wanted) < 1e-5
    if "distance" in exported.metadata["geometry"]:
        assert apart(exported(x, waves(x), weights=where.weights), wanted) > 1e-4


def test_some_query_points_at_a_time(made, monkeypatch):
    """Later pieces leave out points, and are the same."""
    dim, _, exported = made
    x, cells = ring(150, dim)
    y = ring(60, dim, seed=1)[0]
    for options in ({"cells": cells}, {}):
        whole, own = exported(x, waves(x), y, **options), exported(x, waves(x), **options)
        monkeypatch.setattr(running, "PIECE", 13 * int(np.prod(exported.metadata["latent_grid"])))
        np.testing.assert_allclose(exported(x, waves(x), y, **options), whole, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(exported(x, waves(x), **options), own, rtol=1e-5, atol=1e-6)
        monkeypatch.undo()


def on_curve(n, dim, seed=0):
    """A closed curve around the middle of the box, in space not in a plane: points in random order, segments."""
    low, high = np.array(BOUNDS[dim]).T
    angle = np.sort(2 * np.pi * np.random.default_rng(seed).random(n))
    x = 0.5 + 0.35 * np.stack([np.cos(angle), np.sin(angle), 0.5 * np.sin(3 * angle)][:dim], axis=1)
    order = np.random.default_rng(seed).permutation(n)
    place = np.argsort(order)
    return low + (high - low) * x[order], np.stack([place, np.roll(place, -1)], axis=1)


@pytest.mark.parametrize("n", [30, 300])
def test_on_a_curve(made, n):
    """Segments with a direction in the plane, without an inside in space; at their points and at others."""
    dim, model, exported = made
    x, cells = on_curve(n, dim)
    field = Field(Discretization.mesh(x, cells, bounds=BOUNDS[dim]), torch.from_numpy(waves(x)).float())
    y = ring(41, dim, seed=1)[0]
    at = Discretization.points(y, bounds=BOUNDS[dim], rule="monte-carlo")
    wanted = model.predict(field).values.numpy()
    assert apart(exported(x, waves(x), cells=cells), wanted) < 1e-5
    assert apart(exported(x, waves(x), y, cells=cells), model.predict(field, at).values.numpy()) < 1e-5
    area = exported(x, waves(x), weights=np.full(n, 1 / n))  # the network is told of a curve
    assert apart(area, wanted) > 1e-3


def test_on_a_curve_that_is_found(made):
    """Points in the plane without cells."""
    dim, model, exported = made
    if dim == 3:
        pytest.skip("in the plane alone")
    x, _ = on_curve(100, dim)
    where = Discretization.points(x, bounds=BOUNDS[dim])
    assert where.domain.startswith("a curve")
    wanted = model.predict(Field(where, torch.from_numpy(waves(x)).float())).values.numpy()
    assert apart(exported(x, waves(x)), wanted) < 1e-5


def test_on_a_surface(made):
    dim, model, exported = made
    if dim == 2:
        pytest.skip("there is none")
    sphere, cells = icosphere(162)
    x = 0.5 + 0.3 * sphere * [1.0, 0.8, 1.2]
    field = Field(Discretization.mesh(x, cells, bounds=BOUNDS[dim]), torch.from_numpy(waves(x)).float())
    assert apart(exported(x, waves(x), cells=cells), model.predict(field).values.numpy()) < 1e-5


def test_a_curve_is_its_own_boundary(made):
    dim, _, exported = made
    x, cells = on_curve(30, dim)
    with pytest.raises(InvalidInputError, match="its own boundary"):
        exported(x, waves(x), cells=cells, boundary=(x, cells))


@pytest.mark.parametrize("case", ["as for meshes", *OTHERS])
def test_as_a_program_of_pytorch(case, tmp_path):
    dim, options = NETWORKS[case]
    model = operator(dim, **options)
    path = iaenet.export(model, tmp_path / "model.pt2", to="torch")
    exported = iaenet.load_exported(path)
    assert exported.metadata["geometry"] == options["geometry"]
    for n in (20, 300):
        x, cells = ring(n, dim)
        field = Field(Discretization.mesh(x, cells, bounds=BOUNDS[dim]), torch.from_numpy(waves(x)).float())
        assert apart(exported(x, waves(x), cells=cells), model.predict(field).values.numpy()) < 1e-5
        wanted = model.predict(Field(Discretization.points(x, bounds=BOUNDS[dim]), field.values)).values.numpy()
        assert apart(exported(x, waves(x)), wanted) < 1e-5
        np.testing.assert_allclose(exported(x, waves(x), x[:1]), wanted[:1], rtol=1e-4, atol=1e-5)  # one query point
        x, cells = on_curve(n + 20, dim)
        field = Field(Discretization.mesh(x, cells, bounds=BOUNDS[dim]), torch.from_numpy(waves(x)).float())
        assert apart(exported(x, waves(x), cells=cells), model.predict(field).values.numpy()) < 1e-5

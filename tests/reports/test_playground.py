"""The playground page, and the exported model inside it: the same numbers as PyTorch, in a real browser, too."""

import base64
import gzip
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy.spatial import Delaunay

import iaenet
from iaenet import Discretization, Field, IAENet, InvalidInputError
from iaenet.data.problems.problem import Channel
from iaenet.functions.given_boundary import with_boundary
from iaenet.functions.normalizer import Normalizer
from iaenet.models.operator import Operator, describe
from iaenet.models.published import PublishedIAENet
from iaenet.reports.playground import Exhibit, write_playground
from tests.reports.browser import browser, missing


def operator(dim, **options):
    torch.manual_seed(0)
    network = IAENet.from_preset("small", in_channels=1, out_channels=1, dim=dim, **options).eval()
    bounds = [[0.0, 2.0]] * dim
    metadata = {"trained": describe([Discretization.uniform((32,) * dim, bounds=bounds)])}
    return Operator(network, Normalizer([0.3], [1.7]), Normalizer([1.0], [2.0]), metadata)


def waves(points):
    return np.sin(2.5 * points[:, :1]) + 0.5 * np.cos(17 * points.sum(axis=1, keepdims=True))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A page with a small network on a line, that network, and its exported file, taken from the page."""
    folder = tmp_path_factory.mktemp("page")
    model = operator(1, grid=24, width=8, blocks=1, post=0, linear_start=0)
    grid = Discretization.uniform(96, bounds=[[0.0, 2.0]])
    fields = [Field(grid, torch.from_numpy(waves(grid.points.numpy() + k)).float()) for k in range(3)]
    pairs = [(field, model.predict(field)) for field in fields]
    iaenet.write_dataset(folder / "waves.h5", pairs, inputs=[Channel("a")], outputs=[Channel("u", "m")])
    data = iaenet.load_dataset(folder / "waves.h5")
    write_playground([Exhibit("waves", model, data)], folder / "page.html", samples=2)
    text = (folder / "page.html").read_text(encoding="utf-8")
    packed = re.search(r'id="model0">([^<]*)</script>', text)[1]
    (folder / "model.onnx").write_bytes(gzip.decompress(base64.b64decode(packed)))
    return folder, model, text


def apart(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


def points(n, seed):
    return 2 * np.random.default_rng(seed).random((n, 1))


@pytest.mark.parametrize("n", [10, 60, 3000])
def test_the_exported_model_is_the_model_on_points(made, n):
    folder, model, _ = made
    exported = iaenet.load_exported(folder / "model.onnx", threads=1)
    x, y = points(n, 1), points(33, 2)
    x[:3] = x[3]  # points that coincide
    where, at = (Discretization.points(z, bounds=[[0.0, 2.0]]) for z in (x, y))
    field = Field(where, torch.from_numpy(waves(x)).float())
    assert apart(exported(x, waves(x)), model.predict(field).values.numpy()) < 1e-5
    assert apart(exported(x, waves(x), y), model.predict(field, at).values.numpy()) < 1e-5


@pytest.mark.parametrize("n", [9, 24, 40, 200])
def test_and_on_grids(made, n):
    folder, model, _ = made
    exported = iaenet.load_exported(folder / "model.onnx", threads=1)
    grid = Discretization.uniform(n, bounds=[[0.0, 2.0]])
    values = torch.from_numpy(np.stack([waves(grid.points.numpy() + k) for k in range(2)])).float()
    found = exported((grid.axes[0].numpy(),), values.numpy())
    assert apart(found, model.predict(Field(grid, values)).values.numpy()) < 1e-5


def test_without_pytorch(made):
    folder, _, _ = made
    program = (
        "import sys, numpy, iaenet; x = numpy.linspace(0, 2, 30)[:, None]; "
        f"model = iaenet.load_exported({str(folder / 'model.onnx')!r}, threads=1); "
        "print(model(x**2 / 2, x).shape, model.metadata['outputs'][0]['unit'], 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(30, 1) 1 False"


def test_what_cannot_be_is_refused(made, tmp_path):
    folder, _, _ = made
    exported = iaenet.load_exported(folder / "model.onnx", threads=1)
    with pytest.raises(InvalidInputError, match="1 channels"):
        exported(points(20, 0), np.ones((20, 2)))
    with pytest.raises(InvalidInputError, match="outside the domain"):
        exported(points(20, 0) + 1, np.ones((20, 1)))
    with pytest.raises(InvalidInputError, match="trained in 1-D"):
        exported(np.ones((20, 2)), np.ones((20, 1)))
    with pytest.raises(InvalidInputError, match="no such file"):
        iaenet.load_exported(tmp_path / "none.onnx")
    same = Normalizer([0.0], [1.0])
    with pytest.raises(InvalidInputError, match="cannot be exported"):
        iaenet.export(Operator(PublishedIAENet(1, 1, 1), same, same), tmp_path / "a.onnx")
    with pytest.raises(InvalidInputError, match="path"):
        iaenet.export(operator(1, grid=8, width=8, blocks=1, post=0))


def test_the_page_has_no_address_of_the_web(made):
    """Whatever it needs is in it; what is left are names of namespaces and of licences."""
    _, _, text = made
    own = text[text.index("const Maths") :] + text[: text.index("<script")]
    assert "http" not in own.replace("http-equiv", "")


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_in_a_browser(made, tmp_path):
    folder, model, _ = made
    with browser(tmp_path / "profile") as page:
        page.requests()
        page.call("url", {"url": (folder / "page.html").as_uri()})
        page.wait("window.playground.ready")
        asked = [url for url in page.requests() if not url.startswith("chrome")]  # of the browser itself
        assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []
        before = page.run("return window.playground.numbers()")
        grid = Discretization.uniform(16, bounds=[[0.0, 2.0]])
        check(model, before, grid)
        begin = page.run("return window.playground.sensor(5)")
        page.drag(begin, [begin[0] + 60, begin[1]])
        page.wait("window.playground.settled()")
        after = page.run("return window.playground.numbers()")
        assert after["points"][5][0] - before["points"][5][0] > 0.03
        assert apart(np.array(after["output"]), np.array(before["output"])) > 1e-3
        x = 2 * np.array(after["points"])
        moved = Discretization.points(x, bounds=[[0.0, 2.0]])
        np.testing.assert_allclose(2 * np.array(after["weights"]), moved.weights.numpy(), rtol=1e-9)
        check(model, after, moved)
        own = page.run(VORONOI)
        assert all(abs(np.array(own[k]["weights"]) - square(own[k])).max() < 1e-9 for k in (0, 1))
        assert page.run("return document.getElementById('status').hidden")


@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_a_mesh_with_a_hole_in_a_browser(tmp_path):
    """A network that is told of the domain: the page knows the boundary, whichever nodes are sensors."""
    x = np.random.default_rng(0).random((300, 2))
    cells = Delaunay(x).simplices
    cells = cells[np.linalg.norm(x[cells].mean(axis=1) - 0.5, axis=1) > 0.25].astype(np.int64)
    used, index = np.unique(cells, return_inverse=True)
    mesh = Discretization.mesh(2 * x[used], index.reshape(cells.shape), bounds=[[0.0, 2.0]] * 2)
    model = operator(2, grid=12, width=8, blocks=1, head=8, geometry=["measure", "distance"])
    field = Field(mesh, torch.from_numpy(waves(mesh.points.numpy())).float())
    iaenet.write_dataset(
        tmp_path / "a.h5", [(field, model.predict(field))] * 2, inputs=[Channel("a")], outputs=[Channel("u")]
    )
    write_playground(
        [Exhibit("ring", model, iaenet.load_dataset(tmp_path / "a.h5"))], tmp_path / "page.html", samples=1
    )
    with browser(tmp_path / "profile") as page:
        page.call("url", {"url": (tmp_path / "page.html").as_uri()})
        page.wait("window.playground.ready")
        begin = page.run("return window.playground.sensor(3)")
        page.drag(begin, [begin[0] + 50, begin[1] + 20])
        page.wait("window.playground.settled()")
        shown = page.run("return window.playground.numbers()")
    assert apart(np.array(shown["full"]), model.predict(field).values[:, 0].numpy()) < 1e-4
    box = [[0.0, 2.0]] * 2
    sensors = Discretization.points(2 * np.array(shown["points"]), 4 * np.array(shown["weights"]), bounds=box)
    check(model, shown, with_boundary(sensors, *mesh.boundary), box)


VORONOI = """
const M = window.playground.maths, next = M.random(3), some = (n) => Array.from({length: n}, () => [next(), next()]);
return [[false, false], [true, false]].map((periodic) => { const points = some(40); points[3] = points[5];
  return {points, periodic, weights: Array.from(M.voronoi(points, periodic))}; });
"""


def square(case):
    return Discretization.points(case["points"], periodic=case["periodic"], domain="box").weights.numpy()


def check(model, shown, where, bounds=((0.0, 2.0),)):
    """What the page shows is what PyTorch predicts from the sensors that it shows."""
    field = Field(where, torch.tensor(shown["values"])[:, None].float())
    query = Discretization.points(2 * np.array(shown["query"]), bounds=bounds, rule="monte-carlo")
    wanted = model.predict(field, query).values[:, 0].numpy()
    assert apart(np.array(shown["output"]), wanted) < 1e-4

"""Exported models of samples, several functions and numbers: the numbers of the model, on any points of each input."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy.spatial import Delaunay

import iaenet
from iaenet import Discretization, Field, InvalidInputError, Sample
from iaenet.exporting import exported as running
from iaenet.functions.normalizer import Normalizer
from iaenet.models.operator import Operator, describe
from iaenet.models.registry import build

BOX = [[0.0, 2.0], [1.0, 2.0]]
KINDS = ("onnx", "torch")


def some(shape, seed):
    return np.random.default_rng(seed).random(shape)


def inside(n, seed):
    """Random points of the box."""
    low, high = np.array(BOX).T
    return low + (high - low) * some((n, 2), seed)


def circle(n, seed):
    """Random points on a circle or ellipse, which differs from seed to seed."""
    angle, size = 2 * np.pi * some(n, seed), 0.2 + 0.2 * some(2, [seed, 1])
    return np.array([1.0, 1.5]) + size * np.stack([2 * np.cos(angle), np.sin(angle)], axis=1)


def waves(x, c=1):
    columns = [np.sin((2 + j) * x[:, 0]) + 0.5 * np.cos(5 * x.sum(axis=1) + j) for j in range(c)]
    return np.stack(columns, axis=1)


def field(where, c=1):
    return Field(where, torch.from_numpy(waves(where.points.numpy(), c)).float())


def mixed(i):
    """Values on a curve that differs, a source on a grid or points, a signal in time, and two numbers."""
    on = Discretization.points(circle(40 + i, i), bounds=BOX)
    grid = Discretization.uniform((7, 6), bounds=BOX) if i % 2 else Discretization.points(inside(50, i), bounds=BOX)
    time = Discretization.uniform(16, periodic=True, bounds=[[0.0, 3.0]])
    at = Discretization.points(inside(30, i + 9), bounds=BOX)
    functions = {"g": field(on), "f": field(grid, 2), "signal": field(time)}
    return Sample(functions, {"T": 0.1 * i, "kappa": 3.0 - i}), field(at)


def numbers(i):
    return Sample({}, {"a": 0.2 * i, "b": 1.0 - i}), field(Discretization.uniform((8, 8), bounds=BOX))


def lifted(i):
    """One function on a line, and its image in the plane."""
    line = Discretization.uniform(12, bounds=[[-1.0, 1.0]])
    return field(line), field(Discretization.uniform((8, 8), bounds=BOX))


SMALL = {"name": "iaenet", "grid": 6, "width": 6, "blocks": 1, "branches": [], "post": 0}
CASES = {
    "mixed": (mixed, SMALL),
    "mixed, a head": (mixed, SMALL | {"head": 8}),
    "mixed, as by default": (mixed, {"name": "iaenet", "grid": 9, "width": 6, "blocks": 1}),
    "mixed, fno": (mixed, {"name": "fno", "grid": 9, "width": 6, "modes": 3, "layers": 1}),
    "numbers": (numbers, {"name": "iaenet", "grid": 8, "width": 6, "blocks": 1}),
    "lifted": (lifted, {"name": "iaenet", "grid": 8, "width": 6, "blocks": 1}),
}


def operator(case):
    make, options = CASES[case]
    torch.manual_seed(0)
    pairs = [make(i) for i in range(4)]
    inputs, outputs = Normalizer.fit(pairs)
    given = pairs[0][0]
    metadata = {"targets": describe([image.discretization for _, image in pairs])}
    if isinstance(given, Sample):
        known = {name: describe([one.functions[name].discretization for one, _ in pairs]) for name in given.functions}
        metadata["sample"] = {"functions": known, "scalars": list(given.scalar_names)}
    else:
        metadata["trained"] = describe([one.discretization for one, _ in pairs])
    data = [(inputs.apply(one), outputs.apply(image)) for one, image in pairs]
    options = dict(options)
    return Operator(build(options.pop("name"), data, **options).eval(), inputs, outputs, metadata)


def apart(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted - wanted.mean())


OTHERS = [("mixed, as by default", "onnx"), ("mixed, a head", "onnx"), ("mixed, fno", "onnx")]
OTHERS += [(case, kind) for case in ("numbers", "lifted") for kind in KINDS]
SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in OTHERS]


@pytest.fixture(scope="module", params=[("mixed", "onnx"), ("mixed, a head", "torch"), *SLOW])
def made(request, tmp_path_factory):
    case, kind = request.param
    model = operator(case)
    path = iaenet.export(model, tmp_path_factory.mktemp("export") / ("a.onnx" if kind == "onnx" else "a.pt2"), to=kind)
    return case, model, iaenet.load_exported(path, threads=1)


def drawn(case, seed):
    """Random discretizations of each input, as arrays and as what PyTorch takes, and query points."""
    sizes = np.random.default_rng(seed).integers(3, 300, size=4)
    query = inside(int(sizes[3]), seed + 1)
    at = Discretization.points(query, bounds=BOX, rule="monte-carlo")
    if case == "numbers":
        values = {"a": float(some((), seed)), "b": -1.5}
        return values, Sample({}, values), query, at
    if case == "lifted":
        t = 2 * some((int(sizes[0]), 1), seed) - 1
        return (t, waves(t)), field(Discretization.points(t, bounds=[[-1.0, 1.0]])), query, at
    on, x, t = circle(24 + int(sizes[0]), seed), inside(int(sizes[1]), seed), 3 * some((int(sizes[2]), 1), seed)
    given = {"g": (on, waves(on)), "f": (x, waves(x, 2)), "signal": (t, waves(t)), "T": 0.3, "kappa": 2.0}
    functions = {
        "g": field(Discretization.points(on, bounds=BOX)),
        "f": field(Discretization.points(x, bounds=BOX), 2),
        "signal": field(Discretization.points(t, periodic=True, bounds=[[0.0, 3.0]])),
    }
    return given, Sample(functions, {"T": 0.3, "kappa": 2.0}), query, at


def asked(exported, case, given, query):
    return exported(*given, query) if case == "lifted" else exported(given, at=query)


@pytest.mark.parametrize("seed", range(6))
def test_on_random_points_of_each_input(made, seed):
    case, model, exported = made
    given, sample, query, at = drawn(case, seed)
    assert apart(asked(exported, case, given, query), model.predict(sample, at).values.numpy()) < 1e-5


def test_one_query_point_and_few_points(made):
    case, model, exported = made
    given, sample, query, at = drawn(case, 1)
    if case.startswith("mixed"):
        given["f"] = (inside(1, 4), np.ones((1, 2)))
        one = Field(Discretization.points(given["f"][0], bounds=BOX), torch.ones(1, 2))
        sample = Sample({**sample.functions, "f": one}, sample.scalars)
    wanted = model.predict(sample, at).values.numpy()
    found = np.concatenate([asked(exported, case, given, query[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(found, wanted[:5], rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


def test_a_batch_on_grids_and_meshes(made):
    """Functions on a tensor grid, on a mesh and on segments, three of each."""
    case, model, exported = made
    if not case.startswith("mixed"):
        pytest.skip("the same for all")
    x, n = inside(80, 3), 30
    cells = Delaunay(x).simplices.astype(np.int64)
    cells = cells[np.linalg.norm((x[cells].mean(axis=1) - [1.0, 1.5]) / [2, 1], axis=1) > 0.2]
    used, index = np.unique(cells, return_inverse=True)
    mesh, cells = x[used], index.reshape(cells.shape)
    angle = 2 * np.pi * np.arange(n) / n
    ring = np.array([1.0, 1.5]) + np.stack([0.5 * np.cos(angle), 0.4 * np.sin(angle)], axis=1)
    segments = np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    time = Discretization.uniform(40, periodic=True, bounds=[[0.0, 3.0]])
    batch = lambda points, c=1: np.stack([(k + 1) * waves(points + k, c) for k in range(3)])  # noqa: E731
    for f, where in (
        (((np.linspace(0, 2, 11), np.linspace(1, 2, 8) ** 2 / 2), {}), None),
        ((mesh, {"cells": cells}), Discretization.mesh(mesh, cells, bounds=BOX)),
    ):
        points, more = f
        if where is None:
            points = (points[0], 1 + (points[1] - 0.5) / 1.5)
            where = Discretization.tensor_grid(*points, bounds=BOX)
        own = {
            "f": (where, batch(where.points.numpy(), 2)),
            "g": (Discretization.mesh(ring, segments, bounds=BOX), batch(ring)),
            "signal": (time, batch(time.points.numpy())),
        }
        scalars = {"T": np.array([0.1, 0.2, 0.3]), "kappa": np.array([1.0, 2.0, -1.0])}
        functions = {name: Field(on, torch.from_numpy(values).float()) for name, (on, values) in own.items()}
        ordered = {name: functions[name] for name in ("g", "f", "signal")}
        sample = Sample(ordered, {name: torch.from_numpy(each).float() for name, each in scalars.items()})
        given = {
            "g": {"points": ring, "values": own["g"][1], "cells": segments},
            "f": {"points": points, "values": own["f"][1], **more},
            "signal": ((time.axes[0].numpy(),), own["signal"][1]),
            **scalars,
        }
        wanted = model.predict(sample).values.numpy()  # at the points of the first function
        assert apart(exported(given), wanted) < 1e-5


def test_some_query_points_at_a_time(made, monkeypatch):
    """What was projected once is taken for later pieces, the last of one point."""
    case, _, exported = made
    given, _, _, _ = drawn(case, 2)
    query = inside(27, 5)
    whole = asked(exported, case, given, query)
    monkeypatch.setattr(running, "PIECE", 13 * int(np.prod(exported.metadata["latent_grid"])))
    np.testing.assert_allclose(asked(exported, case, given, query), whole, rtol=1e-5, atol=1e-6)


def test_each_input_matters(made):
    case, _, exported = made
    given, _, query, _ = drawn(case, 3)
    if case == "lifted":
        given = {"input": given}
    wanted = exported(given, at=query)
    for name, one in given.items():
        other = one + 1.0 if isinstance(one, float) else (one[0], 2 * one[1] + 1)
        assert apart(exported({**given, name: other}, at=query), wanted) > 1e-4


def test_what_cannot_be_is_refused(made):
    case, _, exported = made
    given, _, query, _ = drawn(case, 0)
    if case != "mixed":
        pytest.skip("the same for all")
    with pytest.raises(InvalidInputError, match="the model takes g, f, signal, T, kappa"):
        exported({"g": given["g"]}, at=query)
    with pytest.raises(InvalidInputError, match=r"f: .*2 channels"):
        exported({**given, "f": (given["f"][0], given["f"][1][:, :1])}, at=query)
    with pytest.raises(InvalidInputError, match="g: give"):
        exported({**given, "g": given["g"][0]}, at=query)
    with pytest.raises(InvalidInputError, match="batches of the same length"):
        exported({**given, "T": [1.0, 2.0]}, at=query)
    with pytest.raises(InvalidInputError, match="finite number"):
        exported({**given, "T": np.nan}, at=query)
    with pytest.raises(InvalidInputError, match="takes a sample"):
        exported(given["g"][0])


def test_metadata(made):
    case, model, exported = made
    meta = exported.metadata
    assert meta["bounds"] == BOX
    assert meta["parameters"] == sum(p.numel() for p in model.network.parameters())
    if case.startswith("mixed"):
        assert list(meta["functions"]) == ["g", "f", "signal"]
        assert meta["scalars"] == ["T", "kappa"]
        assert [one["own_space"] for one in meta["functions"].values()] == [False, False, True]
        assert meta["functions"]["g"]["measure"]
        assert meta["functions"]["signal"]["bounds"] == [[0.0, 3.0]]


def test_without_pytorch_and_with_defaults(made, tmp_path):
    """The graph itself, by its documented names: inputs with a default are left out."""
    case, model, _ = made
    if case != "numbers":
        pytest.skip("the quickest to export")
    path = iaenet.export(model, tmp_path / "a.onnx")
    program = (
        "import sys, numpy, onnxruntime; "
        f"session = onnxruntime.InferenceSession({str(path)!r}, providers=['CPUExecutionProvider']); "
        "feeds = {'query': numpy.ones((3, 2)), 'scalars': numpy.ones((1, 2), 'float32')}; "
        "print(session.run(['output'], feeds)[0].shape, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1, 3, 1) False"

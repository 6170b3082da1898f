"""Networks of samples: each input brought to one grid, invariant to its own points; what takes them, and what not."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError, Sample, fit, relative_l2
from iaenet.data.problems.screened_poisson import ScreenedPoisson, _sample
from iaenet.functions.normalizer import Normalizer
from iaenet.functions.resample import permuted
from iaenet.models.operator import Operator
from iaenet.models.registry import MODELS, build

SMALL = {"width": 8, "blocks": 1}


def poisson(i, s=12, points=0):
    """A sample of boundary values, source and number, and its image; `points` draws others of the same functions."""
    u = ScreenedPoisson().draw(np.random.default_rng([1, i]))
    (g, edge), (f, grid), (kappa, _), (out, at) = _sample(u, s, np.random.default_rng([2, i, points])).parts
    as_tensor = lambda values: torch.from_numpy(values).float()  # noqa: E731
    functions = {"boundary": Field(edge, as_tensor(g)), "source": Field(grid, as_tensor(f))}
    return Sample(functions, {"kappa": float(kappa[0, 0])}), Field(at, as_tensor(out))


@pytest.fixture(scope="module")
def pairs():
    return [poisson(i) for i in range(6)]


@pytest.fixture(scope="module")
def model(pairs):
    torch.manual_seed(0)
    inputs, outputs = Normalizer.fit(pairs)
    data = [(inputs.apply(given), outputs.apply(wanted)) for given, wanted in pairs]
    metadata = {"sample": {"functions": {"boundary": {}, "source": {}}, "scalars": ["kappa"]}}
    return Operator(build("iaenet", data, **SMALL), inputs, outputs, metadata)


def test_parts_are_channels_on_one_grid(model):
    parts = {part["name"]: part for part in model.network.options["parts"]}
    assert list(parts) == ["boundary", "source", "scalars"]
    assert all(not part["grid"] for part in parts.values())  # all in the output's space
    assert parts["boundary"]["measure"] == 0.0  # the same square for all: no channel for it
    assert model.network.options["grid"] == [12, 12]
    assert model.network.network.in_channels == 3


def test_a_sample_a_mapping_and_a_batch_agree(model, pairs):
    (one, image), (other, _) = pairs[:2]
    found = model.predict(one, image.discretization)
    turned = {"kappa": one["kappa"], "source": one["source"], "boundary": one["boundary"]}
    assert torch.equal(model.predict(turned, image.discretization).values, found.values)
    together = model.predict([one, other, one], [image.discretization] * 3)
    assert torch.allclose(together[0].values, found.values, atol=1e-5)
    assert torch.allclose(together[2].values, found.values, atol=1e-5)


def test_it_comes_back_from_its_options(model, pairs):
    import json

    again = Operator.from_json(json.loads(json.dumps(model.to_json())))
    again.load_state_dict(model.state_dict())
    given, image = pairs[0]
    assert torch.equal(
        again.predict(given, image.discretization).values, model.predict(given, image.discretization).values
    )


def test_every_input_matters_and_has_a_gradient(model, pairs):
    given, image = pairs[0]
    parts = [Field.unchecked(p.discretization, p.values.clone().requires_grad_()) for p in given.parts]
    model(given.with_parts(parts), image.discretization).values.square().sum().backward()
    assert all(float(part.values.grad.abs().max()) > 0 for part in parts)


@pytest.mark.parametrize("name", ["boundary", "source"])
def test_the_order_of_an_inputs_points_means_nothing(model, pairs, name):
    given, image = pairs[0]
    n = given[name].discretization.n
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    one, other = (
        Sample(given.functions | {name: permuted(given[name], new)}, given.scalars) for new in (torch.arange(n), order)
    )
    found, true = (model.predict(each, image.discretization) for each in (other, one))
    assert float(relative_l2(found, true)) < 1e-5


@pytest.mark.parametrize("name", ["boundary", "source"])
def test_other_points_of_an_input_change_no_more_than_its_projection(model, name):
    latent = model.network.encoders[0].latent
    for i in range(3):
        given, image = poisson(i, 16)
        other = poisson(i, 32, points=1)[0]
        mixed = Sample(given.functions | {name: other[name]}, given.scalars)
        one, two = (latent.encoded(each[name]) for each in (given, other))
        projection = float((one - two).norm() / two.norm())
        found, true = (model.predict(each, image.discretization) for each in (mixed, given))
        assert 0 < float(relative_l2(found, true)) <= projection


def test_a_line_to_a_plane_trains():
    plane = Discretization.points(torch.rand(60, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    pairs = []
    for i in range(24):
        line = Discretization.points(torch.rand(30 + i % 3, 1, generator=torch.Generator().manual_seed(i)))
        a, b = torch.randn(2, generator=torch.Generator().manual_seed(100 + i), dtype=torch.float64)
        curve = a * torch.sin(3 * line.points) + b * torch.cos(3 * line.points)
        x, y = plane.points.T[:, :, None]
        pairs.append((Field(line, curve.float()), Field(plane, (a * x + b * y).float())))
    model = fit({"name": "iaenet", "width": 16, "blocks": 1, "grid": 12}, pairs, epochs=25, batch_size=6, threads=1)
    assert type(model.network).__name__ == "SampleModel"
    assert float(relative_l2(model.predict(*_at(pairs[0])), pairs[0][1])) < 0.3
    with pytest.raises(InvalidInputError, match="give query points"):
        model.predict(pairs[0][0])


def _at(pair):
    return pair[0], pair[1].discretization


def test_a_field_in_the_volume_to_values_on_its_boundary(pairs):
    turned = [(Sample({"u": image}, dict(given.scalars)), given["boundary"]) for given, image in pairs]
    model = build("iaenet", turned, **SMALL)
    found = model(turned[0][0], turned[0][1].discretization)
    assert found.values.shape == turned[0][1].values.shape
    assert found.discretization is turned[0][1].discretization


def test_augmentation_says_that_it_is_for_one_function(pairs):
    with pytest.raises(InvalidInputError, match=r"augment\.weight is for inputs of one function"):
        fit({"name": "iaenet", **SMALL}, pairs, epochs=1, threads=1, augment={"weight": 1.0, "sizes": [8]})


def test_numbers_alone_give_a_function(pairs):
    data = [(Sample({}, {"a": float(i), "b": 1.0 - i}), image) for i, (_, image) in enumerate(pairs)]
    model = build("iaenet", data, **SMALL)
    assert model(data[0][0], data[0][1].discretization).values.shape == data[0][1].values.shape
    with pytest.raises(InvalidInputError, match="give query points"):
        model(data[0][0])


def test_a_measure_where_domains_differ():
    def ring(i):
        angle = 2 * torch.pi * torch.arange(80, dtype=torch.float64) / 80
        points = 0.5 + (0.2 + 0.05 * i) * torch.stack([angle.cos(), angle.sin()], dim=1)
        return Discretization.points(points)

    plane = Discretization.uniform((12, 12))
    data = [
        (Sample({"g": Field(ring(i), torch.ones(80, 1))}, {"k": 1.0 * i}), Field(plane, torch.ones(144, 1)))
        for i in range(4)
    ]
    assert build("iaenet", data, **SMALL).options["parts"][0]["measure"] > 0


@pytest.mark.parametrize("name", MODELS)
def test_every_model_takes_samples_or_says_in_one_line_that_it_cannot(name, pairs):
    normalizer, _ = Normalizer.fit(pairs)
    data = [(normalizer.apply(given), image) for given, image in pairs]
    if MODELS[name].accepts.query_points:
        model = build(name, data)
        assert model(data[0][0], data[0][1].discretization).values.shape == data[0][1].values.shape
    else:
        with pytest.raises(InvalidInputError, match=f"model {name} gives its output at the points of its input") as why:
            build(name, data)
        assert "\n" not in str(why.value)


def test_other_samples_than_it_was_built_for_are_refused(model, pairs):
    given, image = pairs[0]
    with pytest.raises(
        InvalidInputError, match="the model takes boundary, source, kappa; the sample has boundary, kappa"
    ):
        model.predict(Sample({"boundary": given["boundary"]}, given.scalars), image.discretization)
    wraps = Discretization.uniform((8, 8), periodic=True)
    periodic = given.functions | {"source": Field(wraps, torch.ones(64, 1))}
    with pytest.raises(InvalidInputError, match="source has periodic axes"):
        model.predict(Sample(periodic, given.scalars), image.discretization)
    moved = Discretization.uniform((8, 8), bounds=[[0, 2], [0, 1]])
    with pytest.raises(InvalidInputError, match="same bounds"):
        model.predict(
            Sample(given.functions | {"source": Field(moved, torch.ones(64, 1))}, given.scalars), image.discretization
        )

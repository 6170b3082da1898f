"""Inference: results on the CPU and in order, whatever the model's precision, device and batches."""

import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError, Model
from iaenet.functions.normalizer import Normalizer
from iaenet.models.inference import infer, use_device
from iaenet.models.operator import Operator
from tests.waves import Turn


def line(n, batch=None):
    grid = Discretization.uniform(n, periodic=True)
    return Field(grid, torch.randn(*([batch] if batch else []), n, 1))


class Counting(Turn):
    """Notes how many functions come in each call, as one field or as a list."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def forward(self, field, at=None):
        fields = [field] if isinstance(field, Field) else field
        self.calls.append([len(f.values) if f.batched else 1 for f in fields])
        return super().forward(field, at)


def test_a_model_is_left_as_it_was():
    model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(1, 1)).double().train()

    class Pointwise(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, field, at=None):
            return Field(field.discretization, self.inner(field.values))

    grid = Discretization.uniform(50)
    field = Field(grid, grid.points.float())  # float32 for a float64 model
    first, second = (infer(Pointwise(), field) for _ in range(2))
    assert torch.equal(first.values, second.values)  # no dropout
    assert (first.values.dtype, first.values.requires_grad) == (torch.float64, False)
    assert model.training
    assert first.discretization is grid


def test_outputs_at_other_points_than_the_query_points_are_noticed():
    grid = Discretization.uniform(8)
    deaf = lambda field, at=None: field  # noqa: E731
    with pytest.raises(InvalidInputError, match=r"shape \(8, 1\) for 1 function\(s\) at 5 query points"):
        infer(deaf, Field(grid, grid.points), Discretization.uniform(5))


def test_functions_come_back_in_order_whatever_the_batches():
    fields = [line(n, batch) for n, batch in ((8, 3), (16, None), (8, None), (16, 2), (9, None))]
    targets = [Discretization.uniform(n, periodic=True) for n in (5, 16, 5, 7, 5)]
    alone = [Turn()(field, at) for field, at in zip(fields, targets, strict=True)]
    for options in ({}, {"ragged": False}, {"most_points": 1}, {"most_points": 30}):
        found = infer(Turn(), fields, targets, **options)
        for one, wanted, at in zip(found, alone, targets, strict=True):
            assert one.discretization is at
            torch.testing.assert_close(one.values, wanted.values)


def test_functions_on_the_same_points_go_together_and_calls_stay_small():
    model, fields = Counting(), [line(8), line(8), line(16), line(8), line(16)]
    infer(model, fields)
    infer(model, fields, ragged=False)
    infer(model, fields, most_points=24)
    infer(model, fields, most_points=16)
    assert model.calls == [[3, 2], [3], [2], [3], [1], [1], [2], [1], [1], [1]]
    model.calls.clear()
    infer(model, line(8, 10), Discretization.uniform(2**14, periodic=True))
    assert model.calls == [[4], [4], [2]]


def test_an_output_that_is_no_number_is_refused_unless_it_may_be():
    broken = lambda field, at=None: Field.unchecked(field.discretization, field.values * float("nan"))  # noqa: E731
    with pytest.raises(InvalidInputError, match="the model's output: channel 0, point 0 is nan"):
        infer(broken, line(8))
    assert infer(broken, line(8), check=False).values.isnan().all()


class Elsewhere(torch.nn.Module):
    """A model on a device that every PyTorch has, without numbers."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1, device="meta"))
        self.seen = []

    def forward(self, field, at=None):
        self.seen += [field.values.device, field.discretization.points.device]
        self.seen += [] if at is None else [at.points.device]
        n = (at or field.discretization).n
        return Field.unchecked(at or field.discretization, torch.zeros(*field.values.shape[:-2], n, 1))


def test_fields_are_moved_to_the_model_and_results_to_the_cpu():
    model, at = Elsewhere(), Discretization.uniform(5)
    for field in (line(8), line(8, 3)):
        found = infer(model, field, at)
        assert found.discretization is at
        assert found.values.device.type == "cpu"
    same = Normalizer([0.0], [1.0])
    assert infer(model, line(8)).discretization.points.device.type == "cpu"
    assert {device.type for device in model.seen} == {"meta"}
    assert Operator(Turn(), same, same).predict(line(8)).values.device.type == "cpu"


def test_a_call_with_fields_on_another_device_is_one_clear_error():
    class Scale(Model):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def transform(self, values, source, target):
            return self.weight * values

    with pytest.raises(InvalidInputError, match=r"values are on cpu, the network is on meta; .* or use predict"):
        Scale().to("meta")(line(8))


def test_devices():
    assert use_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    for name in ("abacus", "meta", "cuda:99"):
        with pytest.raises(InvalidInputError, match=f"device '{name}' cannot be used"):
            use_device(name)

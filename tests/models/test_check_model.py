"""Every registered model keeps the laws, and those that do not are found out."""

import math

import pytest
import torch

from iaenet import Accepts, Discretization, Field, InvalidInputError, Model, check_model
from iaenet.functions.normalizer import Normalizer
from iaenet.models.operator import Operator
from iaenet.models.registry import MODELS, build
from tests.models.test_contract import SMALL, functions, place


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dim", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_registered_model_keeps_the_laws(name, dim):
    at = place(dim).grid
    one = Discretization.points([[0.0] * dim], bounds=at.bounds.tolist(), periodic=at.periodic)
    target = one if name == "function-to-vector" else at
    data = [(functions(at, 2), functions(target, 3)) for _ in range(8)]
    model = build(name, data, **SMALL.get({"iaenet": "iae-net"}.get(name, name), {}))
    laws = {law.name: law for law in check_model(model, data[0][0])}
    assert {"finite", "repeated", "batch mates", "pickling", "threads"} <= set(laws)
    assert ("scaling" in laws) == (name != "function-to-vector")
    assert ("stretching" in laws) == (model.accepts.resolutions and name != "dgfno")
    assert ("memory" in laws) == model.accepts.resolutions
    assert ("point order" in laws) == (model.accepts.resolutions and model.accepts.points)


def test_a_trained_operator_and_the_default_field():
    network = build("fno", [(functions(place(1).grid, 1), functions(place(1).grid, 1))] * 4, width=4, modes=3, layers=1)
    check_model(Operator(network, Normalizer([1.0], [2.0]), Normalizer([0.0], [3.0])), functions(place(1).grid, 1))
    assert check_model(Wrong(), functions(place(1).grid, 1))
    with pytest.raises(InvalidInputError, match="give a function"):
        check_model(torch.nn.Identity())


class Wrong(Model):
    """Breaks one law."""

    accepts = Accepts(resolutions=True, points=True, query_points=False)

    def __init__(self, law: str = "") -> None:
        super().__init__()
        self.law, self.calls, self.kept = law, 0, []
        self.scale = torch.nn.Parameter(torch.ones(()))

    def transform(self, values, source, target):
        self.calls += 1
        found = values * self.scale
        match self.law:
            case "finite":
                return found / 0
            case "repeated":
                return found * self.calls
            case "batch mates":
                return found - found.mean(dim=0)
            case "point order":
                return found.cumsum(dim=1)
            case "stretching":
                return found * source.weights.sum()
            case "memory":
                self.kept.append(torch.zeros(1000))
        return found

    def __getstate__(self):
        return {**self.__dict__, "law": "pickling" if self.law == "pickling" else self.law}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.law == "pickling":
            self.scale = torch.nn.Parameter(torch.full((), math.pi))


@pytest.mark.parametrize(
    "law", ["finite", "repeated", "batch mates", "point order", "stretching", "memory", "pickling"]
)
def test_a_model_that_breaks_a_law_is_found_out(law):
    grid = Discretization.uniform(16, periodic=True)
    field = Field(grid, torch.rand(16, 2))
    with pytest.raises(InvalidInputError, match=law):
        check_model(Wrong(law), field)

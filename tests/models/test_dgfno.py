"""dgFNO+: a grid around the domain; and the notch problem, on its mesh."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError, relative_l2
from iaenet.data.problems.darcy_notch import DarcyNotch
from iaenet.models.dgfno import DgFNO
from iaenet.models.registry import BASELINES

TINY = {"width": 8, "modes": 3, "layers": 2}


def test_on_a_grid_it_is_fno():
    grid = Discretization.uniform((8, 9), periodic=(False, True), bounds=[(0, 2), (1, 4)])
    pair = (Field(grid, torch.randn(72, 2)), Field(grid, torch.randn(72, 1)))
    model = DgFNO.for_data([pair], **TINY)
    assert model.shape == (8, 9)
    torch.testing.assert_close(model(pair[0]).values, model.network(pair[0]).values)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_function_of_one_coordinate_is_continued_along_the_other(axis):
    model = DgFNO(1, 1, 2, shape=[6, 5], axes=[axis], **TINY).double()
    grid = Discretization.uniform((6, 5))
    line = Discretization.uniform((6, 5)[axis])
    h = torch.randn(line.n, 1).double()
    everywhere = Field(grid, h[(torch.arange(30) // 5, torch.arange(30) % 5)[axis]])
    torch.testing.assert_close(model(Field(line, h), at=grid).values, model.network(everywhere).values)


def test_values_on_a_curve_may_count_as_a_function_of_one_coordinate():
    x = torch.linspace(0, 1, 21).double()
    curve = Discretization.points(torch.stack([x, 0.5 + 0.3 * torch.sin(5 * x)], dim=1), torch.ones(21))
    h = torch.cos(3 * x)[:, None]
    model = DgFNO(1, 1, 2, shape=[9, 8], axes=[0], **TINY).double()
    grid = Discretization.uniform((9, 8))
    straight = model(Field(Discretization.uniform(21), h), at=grid).values
    torch.testing.assert_close(model(Field(curve, h), at=grid).values, straight)


def test_the_output_is_a_function_on_the_domain_of_the_data():
    points = torch.rand(80, 2).double() * torch.tensor([2.0, 1.0])
    domain = Discretization.points(points, torch.full((80,), 0.02), bounds=[(0, 2), (0, 1)])
    field = Field(domain, torch.randn(80, 1))
    model = DgFNO.for_data([(field, field)], **TINY)
    assert model.shape == (14, 7)  # 50 points per unit area, which is 7.07 per unit length
    part = Discretization.points(points[10:20], torch.ones(10), bounds="tight")
    torch.testing.assert_close(model(field, at=part).values, model(field).values[10:20])


def test_a_grid_has_at_least_four_points_along_an_axis():
    few = Discretization.uniform((3, 5))
    pair = (Field(few, torch.randn(15, 1)), Field(few, torch.randn(15, 1)))
    model = DgFNO.for_data([pair], **TINY)
    assert model.shape == (4, 5)
    assert torch.isfinite(model(pair[0]).values).all()


def test_what_does_not_fit_is_refused():
    model = DgFNO(1, 1, 2, shape=[6, 6], **TINY)
    line = Field(Discretization.uniform(9), torch.randn(9, 1))
    with pytest.raises(InvalidInputError, match=r"1-D.*2-D; say where with `at`"):
        model(line)
    cube = Field(Discretization.uniform((3, 3, 3)), torch.randn(27, 1))
    with pytest.raises(InvalidInputError, match=r"3-D.*2-D domain"):
        model(cube, at=Discretization.uniform((6, 6)))
    with pytest.raises(InvalidInputError, match="axes must be some of 0 to 1"):
        DgFNO(1, 1, 2, shape=[6, 6], axes=[1, 0])
    with pytest.raises(InvalidInputError, match="one entry for each of 2 axes"):
        DgFNO(1, 1, 2, shape=[6])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("deeponet", {"width": 64, "terms": 32}),
        ("pod-deeponet", {"width": 64}),
        ("dgfno", {"width": 12, "modes": 4, "layers": 2, "grid": [16, 16]}),
        ("dgfno", {"width": 12, "modes": 4, "layers": 2, "grid": [16, 16], "axes": [0]}),
    ],
    ids=["deeponet", "pod-deeponet", "dgfno", "dgfno along x"],
)
def test_boundary_values_of_the_notched_triangle(name, options):
    problem = DarcyNotch(mesh_size=0.2)
    samples = [problem.record(np.random.default_rng(seed), [8])[0][8] for seed in range(120)]
    sides, mesh = samples[0].input_at, samples[0].output_at
    inputs, outputs = (
        torch.from_numpy(np.stack([getattr(sample, part) for sample in samples])).float()
        for part in ("input", "output")
    )
    outputs = (outputs - outputs.mean()) / outputs.std()
    data = [(Field(sides, one), Field(mesh, image)) for one, image in zip(inputs[:100], outputs[:100], strict=True)]
    model = BASELINES[name].for_data(data, **options)

    def error(rows):
        return relative_l2(model(Field(sides, inputs[rows]), at=mesh), Field(mesh, outputs[rows])).mean()

    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(100):
        loss = error(torch.randint(0, 100, (25,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        assert error(slice(100, None)) < 0.3

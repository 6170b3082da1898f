"""The pages on parts of your own: their code runs, and does what they say."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import iaenet
from iaenet.data.generate import generate

DOCS = Path(__file__).parents[1] / "docs"


def code_of(page):
    """What the Python blocks of a page define, one after the other."""
    found = {}
    for block in re.findall(
        r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        exec(compile(block, page, "exec"), found)
    return found


def test_a_problem_of_your_own(tmp_path):
    problem = code_of("problems.md")["Antiderivative"](decay=1.5)
    generate(problem, tmp_path / "a.h5", 6, [16, 64], splits=(4, 1, 1))
    data = iaenet.load_dataset(tmp_path / "a.h5")
    assert (data.samples, data.resolutions) == (6, (16, 64))
    given, wanted = data.sample(0)[64]
    x = given.discretization.points[:, 0].numpy()
    trapezoid = np.concatenate([[0], np.cumsum(np.diff(x) * (given.values[1:, 0] + given.values[:-1, 0]).numpy() / 2)])
    assert np.abs(trapezoid - wanted.values[:, 0].numpy()).max() < 2e-3


def test_samples():
    found = code_of("samples.md")
    assert found["found"].values.shape == (50, 1)
    assert found["same"].values.shape == (4096, 1)


@pytest.mark.parametrize("dim", [1, 2])
def test_a_model_of_your_own(dim):
    kind = code_of("models.md")["ModeRegression"]
    grid = iaenet.Discretization.uniform((24,) * dim)
    fields = [iaenet.Field(grid, torch.cos(grid.points[:, :1] * (1 + k / 8)).float() * (1 + k / 8)) for k in range(16)]
    pairs = [(field, iaenet.Field(grid, field.values**2)) for field in fields]
    model = iaenet.fit(kind.for_data(pairs), pairs, epochs=60, batch_size=8, threads=1)
    assert float(iaenet.relative_l2(model.predict(fields[5]), pairs[5][1])) < 0.1
    points = iaenet.Discretization.points(torch.rand(50, dim, generator=torch.Generator().manual_seed(0)))
    assert model.predict(fields[5], at=points).values.shape == (50, 1)
    again = kind(**model.network.options)
    assert [p.shape for p in again.parameters()] == [p.shape for p in model.network.parameters()]


def test_the_page_on_time(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "time.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    brief = block.replace('budget="5m"', "epochs=1, threads=1").replace("start=50.0", "start=5.0")
    found = {}
    exec(compile(brief, "time.md", "exec"), found)
    assert len(found["states"]) == 20
    assert "standing still" in capsys.readouterr().out


def test_derivatives_of_predictions():
    """Of the page on predictions, the block that stands for itself."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (DOCS / "predict.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    found = {}
    exec(compile(next(block for block in blocks if "derivatives=" in block), "predict.md", "exec"), found)
    made = found["found"]
    u, slope = made.fields[0].values[:, 0], made.gradients[0].values[:, 0]
    centred = (u.roll(-1) - u.roll(1)) * 100 / 2
    assert float((centred - slope).norm() / slope.norm()) < 0.02
    assert made.laplacians[0].values.shape == (100, 1)


def test_arrays_in_and_out():
    blocks = re.findall(
        r"^```python\n(.*?)^```", (DOCS / "data.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    found = {}
    exec(compile(next(block for block in blocks if "from_arrays" in block), "data.md", "exec"), found)
    assert found["array"].shape == (32, 1)
    assert torch.allclose(found["error"].values, found["predicted"].values - found["true"].values)
    again = iaenet.Field.from_xarray(found["labelled"])
    assert again.discretization.key == found["field"].discretization.key


def test_bands():
    """The code of the page on uncertainty."""
    band = code_of("uncertainty.md")["band"]
    assert band.half_width.values.shape == (200, 1)
    assert bool((band.half_width.values > 0).all())


def test_an_equation_in_the_loss():
    """Of the page on training, the block that stands for itself."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", (DOCS / "training.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    found = {}
    exec(compile(next(block for block in blocks if "physics_loss" in block), "training.md", "exec"), found)
    given, wanted = found["pairs"][0]
    batch = (
        iaenet.Field(given.discretization, given.values[None]),
        iaenet.Field(wanted.discretization, wanted.values[None]),
    )
    loss = found["physics_loss"](found["model"], *batch)
    assert loss.shape == (1,)
    assert loss.requires_grad

import importlib.util
import itertools
import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import erf

from iaenet import Discretization, Field
from iaenet.baselines.fno import FNO, PRESETS
from iaenet.baselines.neuralop_adapter import NeuralOperatorFNO
from iaenet.errors import InvalidInputError
from tests.smooth import mismatch, smooth

needs_neuralop = pytest.mark.skipif(importlib.util.find_spec("neuralop") is None, reason="needs neuraloperator")


def _by_dft(model: FNO, values: NDArray, shape: tuple[int, ...]) -> NDArray:
    """FNO on a uniform periodic grid by its definition: every coefficient and every value a sum over all points."""
    weights = {name: p.detach().double().numpy() for name, p in model.named_parameters()}
    modes, layers, d = model.options["modes"], model.options["layers"], len(shape)

    def pointwise(name: str, a: NDArray) -> NDArray:
        return a @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def gelu(a: NDArray) -> NDArray:
        return a / 2 * (1 + erf(a / math.sqrt(2)))

    x = np.array(list(itertools.product(*[np.arange(s) / s for s in shape])))  # (n, d)
    both = [*range(modes + 1), *range(-1, -modes - 1, -1)]
    k = np.array(list(itertools.product(*[both] * (d - 1), range(modes + 1))))
    wave = np.exp(2j * np.pi * x @ k.T)  # (n, k)
    conjugates = np.where(k[:, -1:] > 0, 2, 1)  # the other half of the real function's spectrum
    angles = 2 * np.pi * np.repeat(x, 2, axis=1) - np.tile([0, np.pi / 2], d)
    a = pointwise("lift", np.concatenate([values, np.cos(angles)], axis=1))
    for i in range(layers):
        R = weights[f"layers.{i}.convolution.weight"] @ np.array([1, 1j])  # (k, c, c')
        product = np.einsum("kc,kce->ke", wave.conj().T @ a / len(x), R)
        a = pointwise(f"layers.{i}.pointwise", a) + (wave @ (conjugates * product)).real
        a = gelu(a) if i < layers - 1 else a
    return pointwise("project.2", gelu(pointwise("project.0", a)))


def _random(shape: tuple[int, ...], channels: int, dtype: torch.dtype = torch.float32) -> Field:
    grid = Discretization.uniform(shape, periodic=True)
    return Field(grid, torch.randn(3, grid.n, channels, dtype=dtype))


@pytest.mark.parametrize("shape", [(48,), (37,), (14, 18), (8, 10, 9)])
def test_equals_a_direct_dft(shape):
    model = FNO(2, 3, len(shape), True, width=6, modes=3, layers=3, hidden=7)
    field = _random(shape, 2)
    truth = [torch.from_numpy(_by_dft(model, one.double().numpy(), shape)) for one in field.values]
    assert mismatch(model(field).values.double(), torch.stack(truth)) < 1e-5


def test_equals_a_direct_dft_at_its_default_size():
    model = FNO(1, 1, periodic=True)
    field = _random((256,), 1)
    truth = torch.from_numpy(_by_dft(model, field.values[0].double().numpy(), (256,)))
    assert mismatch(model(field).values[0].double(), truth) < 1e-5


def test_a_smooth_function_gives_the_same_output_on_every_periodic_grid():
    model = FNO(1, 1, periodic=True)
    truth = model(smooth(Discretization.uniform(2048, periodic=True))).values
    for s in (64, 128, 256, 1024):
        found = model(smooth(Discretization.uniform(s, periodic=True))).values
        assert mismatch(found, truth[:: 2048 // s]) < 1e-5


def _order(sizes: list[int], errors: list[float]) -> float:
    return -float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def test_second_order_on_closed_grids():
    model = FNO(1, 1, width=16, modes=8).double()
    sizes = [64, 128, 256, 512]
    truth = model(smooth(Discretization.uniform(8193), torch.float64)).values
    errors = [
        mismatch(model(smooth(Discretization.uniform(s + 1), torch.float64)).values, truth[:: 8192 // s]) for s in sizes
    ]
    assert _order(sizes, errors) > 1.9


@pytest.mark.parametrize("periodic", [True, False])
def test_converges_on_uneven_points(periodic):
    model = FNO(1, 1, periodic=periodic, width=16, modes=8).double()
    at = Discretization.uniform(17, periodic=periodic)
    fine = Discretization.uniform(4097, periodic=periodic)
    truth = model(smooth(fine, torch.float64), at=at).values
    sizes, errors = [64, 128, 256, 512], []
    for s in sizes:
        x = torch.linspace(0, 1, s + 1, dtype=torch.float64)[: s if periodic else None, None]
        points = Discretization.points(x + 0.08 * torch.sin(2 * torch.pi * x) ** 2, periodic=periodic)
        errors.append(mismatch(model(smooth(points, torch.float64), at=at).values, truth))
    assert _order(sizes, errors) > 1.9


def test_converges_on_scattered_points_in_the_plane():
    model = FNO(1, 1, 2, width=8, modes=4).double()
    # Away from the walls, where the input's values are those of the nearest points.
    at = Discretization.points(0.2 + 0.6 * Discretization.uniform((9, 9)).points)
    truth = model(smooth(Discretization.uniform((129, 129)), torch.float64), at=at).values
    errors = []
    for n in (250, 1000, 4000):
        points = Discretization.points(torch.rand(n, 2, dtype=torch.float64))
        errors.append(mismatch(model(smooth(points, torch.float64), at=at).values, truth))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


@pytest.mark.parametrize("dim", [1, 2])
def test_elsewhere_agrees_where_points_coincide(dim):
    model = FNO(1, 1, dim, periodic=True, width=8, modes=4)
    field = _random((24,) * dim, 1)
    own = model(field).values.reshape(3, *(24,) * dim)
    half = model(field, at=Discretization.uniform((12,) * dim, periodic=True)).values.reshape(3, *(12,) * dim)
    every_second = own[(slice(None), *[slice(None, None, 2)] * dim)]
    torch.testing.assert_close(half, every_second, rtol=1e-5, atol=1e-6)


def test_elsewhere_agrees_whatever_box_the_points_come_with():
    model = FNO(1, 1, width=8, modes=4)
    field = Field(Discretization.uniform(21, bounds=[[0, 2]]), torch.randn(21, 1))
    part = field.discretization.points[5:12]
    found = model(field, at=Discretization.points(part, bounds="tight")).values
    torch.testing.assert_close(found, model(field).values[5:12], rtol=1e-5, atol=1e-6)


def test_the_order_of_points_does_not_matter():
    model = FNO(1, 2, 2, width=8, modes=4).double()
    points = torch.rand(100, 2, dtype=torch.float64)
    order = torch.randperm(100)
    weights = Discretization.points(points).weights
    one, other = (
        model(smooth(Discretization.points(points[i], weights[i]), torch.float64)).values
        for i in (torch.arange(100), order)
    )
    assert mismatch(other, one[order]) < 1e-12


def test_paper_preset_has_the_published_number_of_parameters():
    field = _random((16,), 1)
    model = FNO.for_data([(field, field)], preset="paper")
    assert abs(sum(p.numel() for p in model.parameters()) / 0.5e6 - 1) < 0.1


def test_presets_and_options_reach_the_model():
    field = _random((8, 8), 2)
    model = FNO.for_data([(field, field)], layers=2)
    expected = {"in_channels": 2, "out_channels": 2, "dim": 2, "layers": 2, "hidden": 128}
    assert model.options == PRESETS["default"][2] | expected | {"periodic": (True, True)}
    with pytest.raises(InvalidInputError, match="no preset 'huge'; there are default, paper"):
        FNO.for_data([(field, field)], preset="huge")


def test_refuses_what_it_was_not_built_for():
    model = FNO(1, 1, periodic=True, width=4, modes=2, layers=1)
    grid = Discretization.uniform(8, periodic=True)
    with pytest.raises(InvalidInputError, match="takes 1 channels, got 2"):
        model(Field(grid, torch.ones(8, 2)))
    with pytest.raises(InvalidInputError, match=r"float64, the network is torch\.float32"):
        model(Field(grid, torch.ones(8, 1, dtype=torch.float64)))
    with pytest.raises(InvalidInputError, match="input is on a domain with periodic axes"):
        model(Field(Discretization.uniform(8), torch.ones(8, 1)))
    with pytest.raises(InvalidInputError, match="output is on a domain with periodic axes"):
        model(Field(grid, torch.ones(8, 1)), at=Discretization.uniform(8))
    with pytest.raises(InvalidInputError, match="periodic must be one flag or 2 of them, got 3"):
        FNO(1, 1, 2, (True, False, True))


@needs_neuralop
@pytest.mark.parametrize(
    ("shape", "options"),
    [((128,), {}), ((32, 40), {"width": 8, "modes": 6}), ((12, 14, 16), {"width": 6, "modes": 3})],
)
def test_is_neuraloperators_fno_with_the_same_weights(shape, options):
    ours = FNO(1, 2, len(shape), True, **options)
    theirs = NeuralOperatorFNO.from_fno(ours)
    field = _random(shape, 1)
    assert mismatch(theirs(field).values, ours(field).values) < 1e-4


@needs_neuralop
def test_neuraloperators_state_is_tensors_and_loads_again():
    model = NeuralOperatorFNO(1, 1, periodic=True, width=4, modes=2, layers=1)
    state = model.state_dict()
    assert all(isinstance(value, torch.Tensor) for value in state.values())
    again = NeuralOperatorFNO(**model.options)
    again.load_state_dict(state)
    field = _random((16,), 1)
    torch.testing.assert_close(again(field).values, model(field).values)


@needs_neuralop
def test_neuraloperators_fno_refuses_what_it_cannot_do():
    model = NeuralOperatorFNO(1, 1, periodic=True, width=4, modes=2, layers=1)
    for axis in ([0, 0.1, 0.5, 0.6, 0.7], [0, 0.1, 0.2, 0.3, 0.4]):  # the second leaves half of the period out
        with pytest.raises(InvalidInputError, match="uniform grids"):
            model(Field(Discretization.tensor_grid(axis, periodic=True), torch.ones(5, 1)))
    with pytest.raises(InvalidInputError, match="uniform grids"):
        model(Field(Discretization.points([[0.1], [0.3]], periodic=True), torch.ones(2, 1)))
    with pytest.raises(InvalidInputError, match="built for 1 channels in float32"):
        model(_random((8,), 1, torch.float64))
    with pytest.raises(InvalidInputError, match="leave `at` out"):
        model(_random((8,), 1), at=Discretization.uniform(16, periodic=True))


@pytest.mark.skipif(importlib.util.find_spec("neuralop") is not None, reason="neuraloperator is installed")
def test_says_what_is_missing_without_neuraloperator():
    with pytest.raises(InvalidInputError, match="pip install neuraloperator"):
        NeuralOperatorFNO(1, 1)

"""FNO: its definition on its own grid, and the same function on all others."""

import itertools
import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.signal import resample
from scipy.special import erf

from iaenet import Discretization, Field, InvalidInputError
from iaenet.models.fno import FNO, PRESETS
from tests.smooth import mismatch, smooth


def _by_dft(model: FNO, values: NDArray, shape: tuple[int, ...]) -> NDArray:
    """FNO on a uniform periodic grid by its definition: every coefficient and every value a sum over all points."""
    weights = {name: p.detach().double().numpy() for name, p in model.named_parameters()}
    layers, d = model.options["layers"], len(shape)
    modes = min(model.options["modes"], *((size - 1) // 2 for size in shape))

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
    model = FNO(2, 3, len(shape), True, grid=shape, width=6, modes=3, layers=3, hidden=7)
    field = _random(shape, 2)
    truth = torch.stack([torch.from_numpy(_by_dft(model, one.double().numpy(), shape)) for one in field.values])
    assert mismatch(model(field).values.double(), truth) < 1e-5
    assert mismatch(model.double()(field.to(torch.float64)).values, truth) < 1e-12


def test_equals_a_direct_dft_at_its_default_size():
    model = FNO(1, 1, periodic=True, grid=256)
    field = _random((256,), 1)
    truth = torch.from_numpy(_by_dft(model, field.values[0].double().numpy(), (256,)))
    assert mismatch(model(field).values[0].double(), truth) < 1e-5


@pytest.mark.parametrize(("shape", "kept"), [((8,), 3), ((9,), 4), ((8, 40), 3)])
def test_modes_are_cut_to_those_that_the_grid_holds(shape, kept):
    model = FNO(1, 1, len(shape), True, grid=shape, width=4).double()
    assert len(model.layers[0].convolution.weight) == (2 * kept + 1) ** (len(shape) - 1) * (kept + 1)
    field = _random(shape, 1, torch.float64)
    truth = torch.from_numpy(_by_dft(model, field.values[0].numpy(), shape))
    assert mismatch(model(field).values[0], truth) < 1e-12


@pytest.mark.parametrize("size", [20, 21, 64, 65, 400])
def test_on_other_periodic_grids_it_is_that_of_the_part_which_its_grid_holds(size):
    """Waves of up to 16 periods, cut off and put on 33 points by FFT; the output's waves go on `size` points."""
    model = FNO(1, 1, periodic=True, grid=33, width=8).double()
    field = _random((size,), 1, torch.float64)
    truth = resample(_by_dft(model, resample(field.values[0].numpy(), 33), (33,)), max(size, 33))
    if size > 33:
        assert mismatch(model(field).values[0], torch.from_numpy(truth)) < 1e-12
    else:
        found = model(field, at=Discretization.uniform(33, periodic=True)).values[0]
        assert mismatch(found, torch.from_numpy(truth)) < 1e-12


def test_a_smooth_function_gives_the_same_output_on_every_periodic_grid():
    for dtype, limit in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
        model = FNO(1, 1, periodic=True).to(dtype)
        truth = model(smooth(Discretization.uniform(2048, periodic=True), dtype)).values
        for s in (16, 64, 128, 256, 1024):
            found = model(smooth(Discretization.uniform(s, periodic=True), dtype)).values
            assert mismatch(found, truth[:: 2048 // s]) < limit


def _order(sizes: list[int], errors: list[float]) -> float:
    return -float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def test_fourth_order_on_closed_grids():
    """Up to the size of the latent grid, and from there on next to nothing."""
    model = FNO(1, 1, grid=65, width=16, modes=8).double()
    truth = model(smooth(Discretization.uniform(8193), torch.float64)).values
    sizes = [8, 16, 32, 64, 128, 256, 512]
    errors = [
        mismatch(model(smooth(Discretization.uniform(s + 1), torch.float64)).values, truth[:: 8192 // s]) for s in sizes
    ]
    assert _order(sizes[:4], errors[:4]) > 4
    assert max(errors[3:]) < 1e-6


@pytest.mark.parametrize(("periodic", "order", "limit"), [(True, 9, 1e-11), (False, 3, 1e-6)])
def test_converges_on_uneven_points(periodic, order, limit):
    model = FNO(1, 1, periodic=periodic, width=16, modes=8).double()
    at = Discretization.uniform(17, periodic=periodic)
    fine = Discretization.uniform(4097, periodic=periodic)
    truth = model(smooth(fine, torch.float64), at=at).values
    sizes, errors = [16, 32, 64, 128, 256, 512], []
    for s in sizes:
        x = torch.linspace(0, 1, s + 1, dtype=torch.float64)[: s if periodic else None, None]
        points = Discretization.points(x + 0.08 * torch.sin(2 * torch.pi * x) ** 2, periodic=periodic)
        errors.append(mismatch(model(smooth(points, torch.float64), at=at).values, truth))
    assert _order(sizes[:4], errors[:4]) > order
    assert max(errors[3:]) < limit


@pytest.mark.parametrize(("periodic", "limit"), [(True, 1e-9), (False, 5e-4)])
def test_converges_on_scattered_points_in_the_plane(periodic, limit):
    model = FNO(1, 1, 2, periodic, width=8, modes=4).double()
    at = Discretization.uniform((9, 9), periodic=periodic)
    truth = model(smooth(Discretization.uniform((129, 129), periodic=periodic), torch.float64), at=at).values
    errors = []
    for n in (250, 1000, 4000):
        points = Discretization.points(torch.rand(n, 2, dtype=torch.float64), periodic=periodic)
        errors.append(mismatch(model(smooth(points, torch.float64), at=at).values, truth))
    assert errors[0] > 5 * errors[1] > 10 * errors[2]
    assert errors[2] < limit


@pytest.mark.parametrize("grid", [24, 15, None])
@pytest.mark.parametrize("periodic", [True, False])
@pytest.mark.parametrize("dim", [1, 2])
def test_query_points_agree_where_points_coincide(dim, periodic, grid):
    model = FNO(1, 1, dim, periodic, grid=grid, width=8, modes=4).double()
    size, half = (24, 12) if periodic else (25, 13)
    whole = Discretization.uniform((size,) * dim, periodic=periodic)
    field = Field(whole, torch.randn(3, whole.n, 1, dtype=torch.float64))
    own = model(field).values.reshape(3, *(size,) * dim)
    found = model(field, at=Discretization.uniform((half,) * dim, periodic=periodic)).values
    every_second = own[(slice(None), *[slice(None, None, 2)] * dim)]
    assert mismatch(found.reshape(every_second.shape), every_second) < 1e-11
    some = Discretization.points(whole.points[5:12], torch.ones(7), periodic=periodic)
    assert mismatch(model(field, at=some).values, own.reshape(3, -1, 1)[:, 5:12]) < 1e-11


def test_query_points_agree_whatever_box_the_points_come_with():
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
    field = _random((64,), 1)
    model = FNO.for_data([(field, field)], preset="paper")
    assert abs(sum(p.numel() for p in model.parameters()) / 0.5e6 - 1) < 0.1


def test_presets_and_options_reach_the_model():
    field = _random((8, 8), 2)
    model = FNO.for_data([(field, field)], layers=2)
    expected = {"in_channels": 2, "out_channels": 2, "dim": 2, "layers": 2, "hidden": 128, "grid": [8, 8]}
    expected |= {"linear_start": 0}
    assert model.options == PRESETS["default"][2] | expected | {"periodic": (True, True)}
    with pytest.raises(InvalidInputError, match="no preset 'huge'; there are default, paper"):
        FNO.for_data([(field, field)], preset="huge")


def test_with_a_linear_start_it_begins_with_the_linear_map():
    grid = Discretization.uniform(32, periodic=True)
    waves = [Field(grid, (torch.cos(2 * torch.pi * (grid.points + k / 60)) / (1 + k % 3)).float()) for k in range(60)]
    pairs = [(wave, Field(grid, wave.values.roll(3, 0))) for wave in waves]
    model = FNO.for_data(pairs, width=8, modes=4, linear_start=4)
    model.initialise(pairs)
    assert mismatch(model(waves[0]).values, pairs[0][1].values) < 1e-3
    plain = FNO.for_data(pairs, width=8, modes=4)
    plain.initialise(pairs)
    assert plain.linear_start is None
    assert mismatch(plain(waves[0]).values, pairs[0][1].values) > 0.1


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
    with pytest.raises(InvalidInputError, match=r"grid must be one number or 2 of them, got \[8\]"):
        FNO(1, 1, 2, grid=[8])
    with pytest.raises(InvalidInputError, match=r"at least 4 points along each of 1 axes, got \[3\]"):
        FNO(1, 1, grid=3)

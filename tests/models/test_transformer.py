"""Attention equals its explicit sum; the transformers are the same functions on all points."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from iaenet import Discretization, Field, InvalidInputError
from iaenet.functions.latent_grid import unit
from iaenet.models.galerkin_attention import Attention, FourierAttention, GalerkinAttention
from iaenet.models.transformer import PRESETS, FourierTransformer, GalerkinTransformer
from iaenet.nn.coordinates import coordinate_count, coordinate_features
from iaenet.nn.kernels import Sites
from tests.smooth import mismatch, smooth

KINDS = [GalerkinTransformer, FourierTransformer]
PLACES = {
    "uniform periodic": Discretization.uniform(12, periodic=True),
    "uneven": Discretization.tensor_grid([0, 0.1, 0.15, 0.4, 0.8, 0.85, 1]),
    "plane": Discretization.points(np.random.default_rng(0).random((15, 2))),
}


def _sites(place: Discretization) -> Sites:
    x, weights = unit(place, place)
    return Sites(coordinate_features(x, place.periodic, 1), weights)


def _made(kind: type[Attention], place: Discretization, width: int = 6, heads: int = 2) -> Attention:
    """Attention in float64 whose every parameter is random: normalisation, too, has something to scale and shift."""
    attention = kind(width, heads, coordinate_count(place.periodic, 1)).double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    return attention


def _explicit(attention: Attention, a: NDArray, place: Discretization, weights: NDArray) -> NDArray:
    """`z_i = sum_j w_j (q_i . k_j) v_j` in every head, point by point, merged."""
    array = {name: p.detach().numpy() for name, p in attention.named_parameters()}
    coordinates = _sites(place).coordinates.numpy()
    normalised = "kv" if isinstance(attention, GalerkinAttention) else "qk"
    n, width = a.shape
    size = width // attention.heads
    found = []
    for head in range(attention.heads):
        part = slice(head * size, (head + 1) * size)
        rows = {}
        for name in ("query", "key", "value"):
            y = (a @ array[f"{name}.weight"].T + array[f"{name}.bias"])[:, part]
            if name[0] in normalised:
                y = (y - y.mean(1, keepdims=True)) / np.sqrt(y.var(1, keepdims=True) + 1e-5)
                y = y * array[f"norm_{name}.scale"][head] + array[f"norm_{name}.shift"][head]
            rows[name] = np.concatenate([coordinates, y], axis=1)
        z = np.zeros((n, rows["value"].shape[1]))
        for i in range(n):
            for j in range(n):
                z[i] += weights[j] * (rows["query"][i] @ rows["key"][j]) * rows["value"][j]
        found.append(z if "v" in normalised else z / np.sqrt(z.shape[1]))
    return np.concatenate(found, axis=1) @ array["merge.weight"].T + array["merge.bias"]


@pytest.mark.parametrize("kind", [GalerkinAttention, FourierAttention])
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_attention_equals_the_explicit_sum(kind, place):
    attention = _made(kind, place)
    a = torch.randn(2, place.n, 6, dtype=torch.float64)
    found = attention(a, _sites(place))
    for one, out in zip(a, found, strict=True):
        truth = _explicit(attention, one.numpy(), place, place.weights.numpy() / place.volume)
        assert mismatch(out, torch.from_numpy(truth)) < 1e-12


@pytest.mark.parametrize("kind", [GalerkinAttention, FourierAttention])
def test_weights_are_one_over_n_on_a_uniform_periodic_grid(kind):
    place = PLACES["uniform periodic"]
    attention = _made(kind, place)
    a = torch.randn(1, place.n, 6, dtype=torch.float64)
    truth = _explicit(attention, a[0].numpy(), place, np.full(place.n, 1 / place.n))
    assert mismatch(attention(a, _sites(place))[0], torch.from_numpy(truth)) < 1e-12


@pytest.mark.parametrize("kind", [GalerkinAttention, FourierAttention])
def test_gradients_of_attention(kind):
    place = PLACES["uneven"]
    attention = _made(kind, place, width=4)
    a = torch.randn(1, place.n, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a, *_: attention(a, _sites(place)), (a, *attention.parameters()))


@pytest.mark.parametrize("kind", KINDS)
def test_projections_start_diagonally_dominant(kind):
    attention = kind(1, 1).layers[0].attention
    for layer in (attention.query, attention.key, attention.value):
        size = layer.weight.abs()
        assert bool((2 * size.diagonal() > size.sum(1)).all())
        assert layer.weight.std() > 0
        assert not layer.bias.any()


def _order(sizes: list[int], errors: list[float]) -> float:
    return -float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def _small(kind: type[GalerkinTransformer | FourierTransformer], dim: int = 1, **options):
    """A network in float64 whose attention matters from the start, as it does after training."""
    model = kind(1, 1, dim, width=16, heads=2, layers=3, modes=6, decoder_width=8, **options).double()
    for layer in model.layers:
        for projection in (layer.attention.query, layer.attention.key, layer.attention.value):
            torch.nn.init.orthogonal_(projection.weight)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_fourth_order_on_closed_grids(kind):
    """Up to the size of the latent grid, and from there on next to nothing."""
    model = _small(kind, grid=65)
    sizes = [8, 16, 32, 64, 128, 256, 512]
    truth = model(smooth(Discretization.uniform(4097), torch.float64)).values
    errors = [
        mismatch(model(smooth(Discretization.uniform(s + 1), torch.float64)).values, truth[:: 4096 // s]) for s in sizes
    ]
    assert _order(sizes[:4], errors[:4]) > 4
    assert max(errors[3:]) < 1e-7


@pytest.mark.parametrize("kind", KINDS)
def test_exact_on_periodic_grids_that_hold_the_function(kind):
    """It has 5 periods: 8 points do not hold it, 16 do."""
    model = _small(kind, periodic=True)
    truth = model(smooth(Discretization.uniform(1024, periodic=True), torch.float64)).values
    errors = [
        mismatch(model(smooth(Discretization.uniform(s, periodic=True), torch.float64)).values, truth[:: 1024 // s])
        for s in (8, 16, 32, 64, 128)
    ]
    assert errors[0] > 1e-3
    assert max(errors[1:]) < 1e-12


@pytest.mark.parametrize(("periodic", "order", "limit"), [(True, 9, 1e-11), (False, 3, 1e-6)])
@pytest.mark.parametrize("kind", KINDS)
def test_converges_on_uneven_points(kind, periodic, order, limit):
    model = _small(kind, periodic=periodic)
    at = Discretization.uniform(17, periodic=periodic)
    truth = model(smooth(Discretization.uniform(4097, periodic=periodic), torch.float64), at=at).values
    sizes, errors = [16, 32, 64, 128, 256, 512], []
    for s in sizes:
        x = torch.linspace(0, 1, s + 1, dtype=torch.float64)[: s if periodic else None, None]
        points = Discretization.points(x + 0.08 * torch.sin(2 * torch.pi * x) ** 2, periodic=periodic)
        errors.append(mismatch(model(smooth(points, torch.float64), at=at).values, truth))
    assert _order(sizes[:4], errors[:4]) > order
    assert max(errors[3:]) < limit


@pytest.mark.parametrize(("periodic", "limit"), [(True, 1e-10), (False, 5e-4)])
@pytest.mark.parametrize("kind", KINDS)
def test_converges_on_scattered_points_in_the_plane(kind, periodic, limit):
    model = _small(kind, 2, periodic=periodic)
    at = Discretization.uniform((9, 9), periodic=periodic)
    truth = model(smooth(Discretization.uniform((129, 129), periodic=periodic), torch.float64), at=at).values
    errors = []
    for n in (250, 1000, 4000):
        points = Discretization.points(torch.rand(n, 2, dtype=torch.float64), periodic=periodic)
        errors.append(mismatch(model(smooth(points, torch.float64), at=at).values, truth))
    assert errors[0] > 4 * errors[1] > 8 * errors[2]
    assert errors[2] < limit


@pytest.mark.parametrize("grid", [25, 17, None])
@pytest.mark.parametrize("kind", KINDS)
def test_query_points_agree_where_points_coincide(kind, grid):
    model = _small(kind, grid=grid)
    field = Field(Discretization.uniform(25), torch.randn(3, 25, 1, dtype=torch.float64))
    half = model(field, at=Discretization.uniform(13)).values
    torch.testing.assert_close(half, model(field).values[:, ::2])


@pytest.mark.parametrize(("periodic", "kept"), [(True, 3), (False, 7)])
def test_modes_are_cut_to_those_that_the_grid_holds(periodic, kept):
    decoder = GalerkinTransformer(1, 1, periodic=periodic, grid=8).decoder
    assert all(len(layer.convolution.weight) == kept + 1 for layer in decoder)


@pytest.mark.parametrize("kind", KINDS)
def test_autocast_changes_nothing(kind):
    model = _small(kind).float()
    field = smooth(Discretization.uniform(33))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model(field).values
    assert torch.equal(found, model(field).values)


@pytest.mark.parametrize("kind", KINDS)
def test_paper_preset_has_the_published_number_of_parameters(kind):
    grid = Discretization.uniform(64, periodic=True)
    field = Field(grid, torch.randn(64, 1))
    model = kind.for_data([(field, field)], preset="paper")
    assert model.options.items() >= PRESETS["paper"][1].items()
    count = sum(p.numel() for p in model.parameters())
    assert abs(count / 0.5e6 - 1) < 0.1
    assert abs(count / 530e3 - 1) < 0.01  # as Cao's network for Burgers' equation


def test_heads_share_the_channels_evenly():
    with pytest.raises(InvalidInputError, match="5 heads cannot share 96 channels evenly"):
        GalerkinTransformer(1, 1, heads=5)

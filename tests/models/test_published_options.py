"""Options of the published form: each ablation of the paper changes what it says and nothing else, and trains."""

import json
import re

import pytest
import torch
from torch import nn

from iaenet import Discretization, Field, Head, IAENet, InvalidInputError
from iaenet.functions.metrics import relative_l2
from iaenet.models.base import IDEAS
from iaenet.models.fno import FNO
from iaenet.models.published import PublishedIAENet
from iaenet.nn.branches import Fourier, PointIAE, SpectralConv, SpectralIAE, Wavelet
from iaenet.nn.published_block import FNOLayer
from iaenet.nn.published_iae import FourierIAE
from tests.models.dense_published import DensePublished

SIZES = {"width": 6, "latent": 5, "blocks": 2}
LINE = Discretization.uniform(24, periodic=True)
SQUARE = Discretization.uniform((9, 8))

MERGE = r"blocks\.\d\.(norm|merge_linear|merge\.0)\."
KERNEL = r"blocks\.\d\.branches\.\d\.(en|de)coders\.\d\."
# The rows of the paper's tables: options, and the parameters that they remove, add or give another shape.
ABLATIONS = {
    "IAE-Net (No Skip)": ({"skips": "none"}, [r"skips\."]),
    "IAE-Net (ResNet)": ({"skips": "residual"}, [r"skips\."]),
    "eq. densenet": ({"skips": "dense-text"}, [r"skips\."]),
    "IAE-Net (Original)": ({"branches": "original"}, [r"blocks\.\d\.branches\.1\.", MERGE]),
    "IAE-Net (Fourier)": ({"branches": "fourier"}, [r"blocks\.\d\.branches\.\d\.", MERGE]),
    "IAE-Net (No MLP)": ({"channel_mlp": False}, [r"blocks\.\d\.branches\.\d\.(en|de)coded\.(mlp|norm_out)\."]),
    "IAE-Net (Linear)": ({"kernels": "linear"}, [KERNEL + r"(kernel\.first\.weight|compress\.)"]),
    "IAE-Net (w/o G)": ({"post": False}, [r"post\."]),
    "text": ({"decoder": "text"}, [KERNEL + r"compress\."]),
    "5 blocks": ({"blocks": 5}, [r"blocks\.[234]\.", r"skips\.maps\.[2345]\."]),
    "IAE-Net (Deep)": (
        {"blocks": 1, "depth": 4},
        [r"blocks\.1\.", r"skips\.maps\.[12]\.", KERNEL + r"kernel\.deeper\.", r"blocks\.0\.branches\.\d\.phi_0\."],
    ),
}


def published(dim=1, **options):
    torch.manual_seed(0)
    return PublishedIAENet(1, 1, dim, **SIZES | options)


def shapes(model):
    return {name: tuple(p.shape) for name, p in model.named_parameters()}


def noise(grid, dtype=torch.float64):
    return Field(grid, torch.randn(3, grid.n, 1, dtype=dtype, generator=torch.Generator().manual_seed(1)))


@pytest.mark.parametrize("row", ABLATIONS)
def test_an_ablation_changes_what_it_says_and_nothing_else(row):
    options, patterns = ABLATIONS[row]
    whole, other = shapes(published()), shapes(published(**options))
    changed = {name for name in {*whole, *other} if whole.get(name) != other.get(name)}
    for name in changed:
        assert any(re.match(pattern, name) for pattern in patterns), name
    for pattern in patterns:
        assert any(re.match(pattern, name) for name in changed), pattern


@pytest.mark.parametrize("grid", [LINE, SQUARE], ids=["line", "square"])
@pytest.mark.parametrize("row", ABLATIONS)
def test_every_ablation_equals_its_dense_form(row, grid):
    field = noise(grid)
    model = published(grid.dim, **ABLATIONS[row][0]).double()
    torch.testing.assert_close(model(field).values, DensePublished(model)(field).values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("row", ABLATIONS)
def test_every_ablation_takes_a_step(row):
    given = noise(LINE, torch.float32)
    wanted = Field(LINE, given.values.cumsum(dim=1))
    model = published(**ABLATIONS[row][0])
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    losses = []
    for _ in range(2):
        loss = relative_l2(model(given), wanted).mean()
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
        optimizer.step()
    assert losses[1] < losses[0]


def test_parts_that_an_ablation_removes_are_gone():
    def count(kind, **options):
        return sum(isinstance(module, kind) for module in published(**options).modules())

    assert (count(FNOLayer), count(FNOLayer, post=False)) == (2, 0)
    assert (count(FourierIAE), count(FourierIAE, branches="original")) == (2, 0)
    assert [count(FourierIAE, blocks=blocks) for blocks in range(1, 6)] == [1, 2, 3, 4, 5]
    deep = published(blocks=1, depth=4).blocks[0].branches[0]
    linears = [[type(layer) for layer in part.modules()].count(nn.Linear) for part in (deep.phi_0, deep.encoders)]
    assert linears == [5, 5]  # four hidden layers each


@pytest.mark.parametrize("kernels", ["linear", "nonlinear"])
def test_linear_kernels_do_not_see_the_function(kernels):
    iae = published(kernels=kernels).double().blocks[0].branches[0]
    x = torch.rand(24, 1, dtype=torch.float64)
    a, u = (torch.randn(2, n, 6, dtype=torch.float64) for n in (24, 5))
    for transform, values in ((iae.encoders[0], a), (iae.decoders[0], u)):
        error = (transform(3 * values, x) - 3 * transform(values, x)).abs().max()
        assert error < 1e-12 if kernels == "linear" else error > 1e-3


def test_the_decoders_see_different_things():
    """Of two latent functions with the same compressed value the program's kernel knows no difference, the text's does.

    The matrix of the kernel between them is read off by its action: it is the same if the decoder is additive.
    """
    x = torch.rand(7, 1, dtype=torch.float64)
    u, step = torch.randn(2, 5, 6, dtype=torch.float64).unbind()
    for decoder, additive in (("program", True), ("text", False)):
        transform = published(decoder=decoder).double().blocks[0].branches[0].decoders[0]
        weight = published().double().blocks[0].branches[0].decoders[0].compress.weight[0]
        # What the compressed value does not show.
        hidden = step - torch.outer(weight, weight @ step) / weight.square().sum()
        first, second = transform(u + hidden, x) - transform(u, x), transform(u + 2 * hidden, x) - transform(u, x)
        assert ((second - 2 * first).abs().max() < 1e-12) == additive


def test_options_serialise():
    for options, _ in ABLATIONS.values():
        model = published(**options)
        again = PublishedIAENet(**json.loads(json.dumps(model.options)))
        assert again.options == model.options
        assert shapes(again) == shapes(model)


def test_ideas_are_read_off_the_network():
    def ideas(model):
        return [name for name in IDEAS if model.ideas[name]]

    kernels, nonlinear, channels, dense, post = IDEAS
    assert ideas(published()) == list(IDEAS)
    assert ideas(published(kernels="linear")) == [kernels, channels, dense, post]
    assert ideas(published(branches="fourier")) == [kernels, nonlinear, dense, post]
    assert ideas(published(skips="residual")) == [kernels, nonlinear, channels, post]
    assert ideas(published(post=False)) == [kernels, nonlinear, channels, dense]
    assert ideas(FNO(1, 1)) == []

    def ours(*branches, **options):
        return IAENet(1, 1, grid=16, width=4, branches=branches, **{"blocks": 2, **options})

    point, spectral = PointIAE(4, 4), SpectralIAE(Fourier(3), 4)
    assert ideas(ours(point, spectral, post=2)) == list(IDEAS)
    assert ideas(ours(SpectralConv(3), skips="none")) == []
    assert ideas(ours(spectral, blocks=1)) == [kernels]
    assert ideas(ours(PointIAE(4, 4, auxiliary=False), SpectralIAE(Wavelet(2), 4))) == [kernels, dense]
    assert ideas(IAENet(1, 1, blocks=0, head=Head(4, point))) == [kernels, nonlinear]


@pytest.mark.parametrize("option", ["skips", "branches", "decoder", "kernels"])
def test_unknown_words_are_refused(option):
    with pytest.raises(InvalidInputError, match=f"{option} must be one of .*, got 'both of them'"):
        published(**{option: "both of them"})


@pytest.mark.parametrize("option", ["width", "latent", "blocks", "depth"])
def test_sizes_below_one_are_refused(option):
    with pytest.raises(InvalidInputError, match=f"{option} must be at least 1, got 0"):
        published(**{option: 0})

"""The published form: the paper's size, the same values as the formulas written densely, and what it refuses."""

from itertools import pairwise

import pytest
import torch

from iaenet import Discretization, Field, IAENet, InvalidInputError
from iaenet.models.published import PublishedIAENet
from iaenet.nn import published_iae
from tests.models.dense_published import DensePublished

SIZES = {"width": 6, "latent": 5, "blocks": 2}
UNEVEN = [0.0, 0.05, 0.2, 0.22, 0.5, 0.61, 0.7, 0.83, 0.99]


def noise(grid, batch=2, channels=1):
    generator = torch.Generator().manual_seed(grid.n)
    return Field(grid, torch.randn(batch, grid.n, channels, dtype=torch.float64, generator=generator))


def parameters(model):
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(("dim", "millions"), [(1, 5.30), (2, 408.8)])
@pytest.mark.parametrize("decoder", ["program", "text"])
def test_parameters_are_those_of_the_paper(dim, millions, decoder):
    with torch.device("meta"):
        model = PublishedIAENet(1, 1, dim, decoder=decoder)
    assert parameters(model) / 1e6 == pytest.approx(millions, rel=1e-3)


def test_the_default_is_the_authors_program_to_a_parameter():
    """Counted by hand from the formulas of docs/published.md, with w = 64."""
    w = 64
    for dim, m, frequencies in ((1, 256, 16), (2, 64, 2 * 12 * 12)):
        points = m**dim
        hidden = [points, 2 * points if dim == 1 else points, points, points]
        total = (1 + dim) * w + w + 2 * w * w + 2 * w + 2 * w + 1  # F, and the projection's two layers
        total += 2 * (2 * w * w * frequencies + w * w + w)  # G
        total += sum(i * w * w + w for i in range(1, 6))  # skips: into four blocks and into G
        for c in (w, 2 * w):  # original and Fourier branch
            kernel = ((c + 1) * m + m) + 2 * m + (m * m + m)
            processed = (2 * c * c + 2 * c) + (2 * c * c + c) + 2 * 2 * c
            phi_0 = sum(i * o + o for i, o in pairwise(hidden))
            total += 4 * (2 * dim * kernel + dim * (m + 1) + 2 * processed + phi_0)
        merge = (3 * w * w + w) + (3 * w * 2 * w + 2 * w) + (2 * w * w + w) + 2 * 3 * w + 2 * w
        total += 4 * (merge + w * w + w)
        with torch.device("meta"):
            assert parameters(PublishedIAENet(1, 1, dim)) == total


GRIDS = {
    "uniform": Discretization.uniform(26),
    "odd": Discretization.uniform(35, periodic=True),
    "non-uniform": Discretization.tensor_grid(UNEVEN, bounds=[(-1.0, 2.0)]),
    "square": Discretization.uniform((26, 25)),
    "non-uniform square": Discretization.tensor_grid(UNEVEN, [0.0, 0.3, 0.4, 0.9]),
}


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("decoder", ["program", "text"])
def test_equals_the_formulas_written_densely(grid, decoder):
    field = noise(GRIDS[grid])
    model = PublishedIAENet(1, 2, field.discretization.dim, decoder=decoder, **SIZES).double()
    torch.testing.assert_close(model(field).values, DensePublished(model)(field).values, rtol=1e-12, atol=1e-12)


def test_gradients_equal_those_of_the_dense_form():
    field = noise(GRIDS["square"])
    for decoder in ("program", "text"):
        model = PublishedIAENet(1, 1, 2, decoder=decoder, **SIZES).double()
        found = []
        for form in (model, DensePublished(model)):
            model.zero_grad()
            form(field).values.square().sum().backward()
            found.append([p.grad.clone() for p in model.parameters()])
        for one, truth in zip(*found, strict=True):
            torch.testing.assert_close(one, truth, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("grad", [True, False])
def test_the_decoder_of_the_text_gives_the_same_some_points_at_a_time(grad, monkeypatch):
    field = noise(GRIDS["uniform"])
    model = PublishedIAENet(1, 1, decoder="text", **SIZES).double()
    with torch.set_grad_enabled(grad):
        whole = model(field).values
        monkeypatch.setattr(published_iae, "PIECE", 2 * 5 * 10 * 3)
        parts = model(field).values
    torch.testing.assert_close(parts, whole, rtol=1e-13, atol=1e-13)
    if grad:
        slopes = [torch.autograd.grad(v.square().sum(), model.lift.weight)[0] for v in (whole, parts)]
        torch.testing.assert_close(*slopes, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("decoder", ["program", "text"])
@pytest.mark.parametrize("dim", [1, 2])
def test_gradcheck_of_a_block(dim, decoder):
    torch.manual_seed(0)
    block = PublishedIAENet(1, 1, dim, decoder=decoder, width=2, latent=3, blocks=1).double().blocks[0]
    axes = [torch.rand(s, 1, dtype=torch.float64).sort(dim=0).values for s in (4, 3)[:dim]]
    a = torch.randn(1, *(4, 3)[:dim], 2, dtype=torch.float64, requires_grad=True)
    # Weights are changed in place, so the block sees them change.
    assert torch.autograd.gradcheck(lambda *_: block(a, axes), (a, *block.parameters()), fast_mode=dim == 2)


def test_coordinates_are_those_of_the_grid():
    """On points that are not uniform, values by the index alone would be the same."""
    model = PublishedIAENet(1, 1, **SIZES).double()
    index = Discretization.uniform(len(UNEVEN))
    field = noise(index)
    uneven = Discretization.tensor_grid(UNEVEN)
    by_index, found = model(field).values, model(Field(uneven, field.values)).values
    assert (found - by_index).abs().amax(dim=(0, 2)).min() > 1e-4  # at 0, which both grids have, too
    stretched = Discretization.tensor_grid([10 * x + 3 for x in UNEVEN], bounds=[(3.0, 13.0)])
    torch.testing.assert_close(model(Field(stretched, field.values)).values, found, rtol=1e-10, atol=1e-10)


def test_points_of_a_line_in_their_order_are_a_grid():
    model = PublishedIAENet(1, 1, **SIZES).double()
    points = Discretization.points([[x] for x in UNEVEN])
    field = noise(points)
    grid = Discretization.tensor_grid(UNEVEN, bounds=points.bounds.tolist())
    assert torch.equal(model(field).values, model(Field(grid, field.values)).values)


def test_lists_and_single_fields():
    model = PublishedIAENet(1, 1, width=6, latent=5, blocks=1)
    fields = [Field(Discretization.uniform(s), torch.randn(s, 1)) for s in (40, 50)]
    for field, found in zip(fields, model(fields), strict=True):
        torch.testing.assert_close(found.values, model(field).values)


def test_what_it_cannot_do_is_said():
    model = IAENet.from_preset("published", in_channels=1, out_channels=1)
    line = Field(Discretization.uniform(64), torch.randn(64, 1))
    with pytest.raises(InvalidInputError, match="own grid"):
        model(line, at=Discretization.uniform(32))
    with pytest.raises(InvalidInputError, match="tensor grids"):
        model(Field(Discretization.points([[0.5], [0.1]]), torch.randn(2, 1)))

"""Grids of the network's own, and the convolutions on them."""

import pytest
import torch

from iaenet import Discretization, Field, IAENet, InvalidInputError
from iaenet.convolution import RasterConvolutions
from iaenet.domain import Raster
from iaenet.geometry import Geometry

CASES = [(True, 12), (True, 13), (False, 12), (False, 13)]


def geometry(count, periodic, dim=1):
    return Geometry.of(Discretization.uniform((count,) * dim, periodic=periodic), torch.float64)


def waves(at, highest, periodic):
    """Some function of frequencies up to `highest` in periods, or half periods of a closed axis."""
    k = torch.arange(highest + 1, dtype=torch.float64)
    phase = 0.7 * k if periodic else 0 * k
    return torch.cos((2 if periodic else 1) * torch.pi * k * at + phase).sum(-1, keepdim=True)


@pytest.mark.parametrize(("periodic", "count"), CASES)
def test_values_on_the_raster_are_those_of_the_function(periodic, count):
    """On every grid that holds the function, and back again at any points."""
    raster, own = Raster(count), geometry(count, periodic)
    highest = (count - 1) // 2
    wanted = waves(own.points, highest, periodic)
    for size in (count, 2 * count, 5 * count + 3):
        found = raster.forward(
            waves(geometry(size, periodic).points, highest, periodic)[None], geometry(size, periodic)
        )
        limit = 1e-10 if periodic or size == count else 5e-3  # integrals on closed axes are not spectral
        assert (found[0] - wanted).norm() < limit * wanted.norm()
    anywhere = Geometry.of(Discretization.points(torch.rand(40, 1).tolist(), periodic=periodic), torch.float64)
    back = raster.inverse(wanted[None], anywhere)[0]
    assert torch.allclose(back, waves(anywhere.points, highest, periodic), rtol=0, atol=1e-10)


@pytest.mark.parametrize("periodic", [True, False])
def test_frequencies_beyond_the_raster_are_left_out(periodic):
    """They do not come back as lower ones, as they would by taking values at the nodes."""
    fine = geometry(97, periodic)
    high = torch.cos((2 if periodic else 1) * torch.pi * 20 * fine.points)
    assert Raster(12).forward(high[None], fine).abs().max() < (1e-12 if periodic else 2e-3)


@pytest.mark.parametrize(("periodic", "count"), CASES)
def test_its_own_points_pass_unchanged(periodic, count):
    raster, own = Raster(count), geometry(count, periodic, dim=2)
    values = torch.randn(2, count**2, 3, dtype=torch.float64)
    assert raster.forward(values, own) is values
    assert torch.allclose(own.analyse(raster.bases[0], values), values, rtol=0, atol=1e-12)
    assert torch.allclose(own.synthesise(raster.bases[1], values), values, rtol=0, atol=1e-12)


def test_too_few_points_are_refused():
    with pytest.raises(InvalidInputError, match="at least 4 points along an axis, got 3"):
        Raster(3)


@pytest.mark.parametrize("periodic", [True, False])
def test_a_network_with_rasters_is_the_same_on_finer_grids(periodic):
    torch.manual_seed(0)
    net = IAENet(
        1, 1, periodic=periodic, width=16, modes=6, blocks=2, post_blocks=0, domains=["fourier"], rasters=[16, 8]
    )
    at = Discretization.uniform(9, periodic=periodic)

    def answer(size):
        grid = Discretization.uniform(size, periodic=periodic)
        with torch.no_grad():
            return net.double()(Field(grid, waves(grid.points, 3, periodic)), at=at).values

    finest = answer(2048)
    errors = [float((answer(size) - finest).norm() / finest.norm()) for size in (16, 64, 256)]
    assert errors[0] < 0.02
    assert errors[2] < 1e-4
    assert errors[2] <= errors[1] <= errors[0]


def test_the_axis_may_end_before_the_domain_does():
    """A window of samples at 0, h, 2 h, ... without the last one is refined as other uniform axes are."""
    torch.manual_seed(0)
    net = IAENet(1, 1, width=8, modes=6, blocks=1, post_blocks=0, direct=0, domains=["fourier"], rasters=[65]).double()

    def answer(size):
        axis = torch.arange(size, dtype=torch.float64) / size
        grid = Discretization.tensor_grid(axis, bounds=[(0.0, 1.0)])
        with torch.no_grad():
            return net(Field(grid, waves(grid.points, 4, periodic=False))).values[:: size // 16]

    finest = answer(1024)
    assert (answer(16) - finest).norm() < 0.1 * finest.norm()
    assert (answer(64) - finest).norm() < 0.02 * finest.norm()


@pytest.mark.parametrize("size", [12, 20])
def test_a_network_with_rasters_streams(size):
    """Also on the raster's own points, which pass unchanged only as a whole; gradients too."""
    torch.manual_seed(0)
    net = IAENet(1, 1, dim=2, width=8, modes=4, blocks=2, post_blocks=0, domains=["fourier"], rasters=[12]).double()
    field = Field(Discretization.uniform((size, size)), torch.randn(3, size**2, 1, dtype=torch.float64))
    results = []
    for chunk in (None, 50):
        net.zero_grad()
        output = net(field, chunk=chunk).values
        output.square().sum().backward()
        results.append([output.detach(), *(p.grad.clone() for p in net.parameters())])
    for whole, streamed in zip(*results, strict=True):
        assert torch.allclose(whole, streamed, rtol=1e-9, atol=1e-9 * float(whole.abs().max()))


@pytest.mark.parametrize(("kernel", "reach"), [(3, 2), (7, 6)])
def test_convolutions_see_neighbours_only(kernel, reach):
    """Two of them see as many points on each side as one kernel is wide, less one."""
    made = RasterConvolutions(17, 2, (False,), kernel).double()
    values = torch.randn(1, 17, 2, dtype=torch.float64, requires_grad=True)
    made(values)[0, 8].sum().backward()
    touched = values.grad[0].abs().amax(-1).nonzero().flatten()
    assert int((touched - 8).abs().max()) == reach

"""On a grid that is too coarse for its band a network works on a finer one: no frequency comes back as another."""

import pytest
import torch

from iaenet import Discretization, Field, IAENet, iae_net
from iaenet.refine import among, refined


def waves(at: Discretization) -> Field:
    """Frequencies up to 3 periods, or 3 half periods on a closed axis."""
    total = torch.zeros(at.n, 1, dtype=torch.float64)
    for i, wraps in enumerate(at.periodic):
        angle = (2 if wraps else 1) * torch.pi * at.points[:, i : i + 1]
        total += torch.cos(3 * angle) - 0.5 * torch.cos(angle) + (torch.sin(2 * angle) if wraps else 0)
    return Field(at, total)


def parabolas(at: Discretization) -> Field:
    """A wave along periodic axes and a parabola along closed ones."""
    total = torch.zeros(at.n, 1, dtype=torch.float64)
    for i, wraps in enumerate(at.periodic):
        x = at.points[:, i : i + 1]
        total += torch.sin(6 * torch.pi * x) if wraps else 2 * x**2 - 3 * x
    return Field(at, total)


@pytest.mark.parametrize(
    ("size", "periodic", "function"),
    [
        ((7,), (True,), waves),
        ((8,), (True,), waves),
        ((3,), (False,), parabolas),
        ((5,), (False,), parabolas),
        ((8, 5), (True, False), parabolas),
    ],
)
def test_what_the_grid_holds_is_continued_exactly(size, periodic, function):
    coarse = function(Discretization.uniform(size, periodic=periodic))
    fine = refined(coarse, modes=9)
    torch.testing.assert_close(fine.values, function(fine.discretization).values)
    held = [s / 2 if wraps else s - 1 for s, wraps in zip(fine.discretization.shape, periodic, strict=True)]
    assert min(held) >= 9
    batch = refined(Field(coarse.discretization, torch.stack([coarse.values, -coarse.values])), modes=9)
    torch.testing.assert_close(batch.values, torch.stack([fine.values, -fine.values]))


def test_smooth_functions_on_closed_axes_are_continued_without_a_kink():
    """Not even about the ends: cosines through the values would miss by 1.5e-2 and 2e-3."""
    for s, limit in ((9, 1e-3), (33, 1e-4)):
        at = Discretization.uniform(s)
        found = refined(Field(at, torch.exp(2 * at.points) * torch.sin(4 * at.points + 1)), modes=4 * s)
        x = found.discretization.points
        truth = torch.exp(2 * x) * torch.sin(4 * x + 1)
        assert found.discretization.n > 4 * s
        assert float((found.values - truth).norm() / truth.norm()) < limit


def test_what_is_fine_enough_or_not_a_uniform_grid_stays_as_it_is():
    for at in (
        Discretization.uniform(64, periodic=True),
        Discretization.tensor_grid([0.0, 0.1, 0.5, 1.0]),
        Discretization.points([[0.0], [0.2], [0.9]]),
        Discretization.points(Discretization.uniform((4, 4)).points),
    ):
        field = Field(at, torch.randn(at.n, 1))
        assert refined(field, modes=24) is field


def test_only_the_axes_that_need_it_are_divided():
    fine = refined(waves(Discretization.uniform((5, 40))), modes=9)
    assert fine.discretization.shape == (13, 40)


@pytest.mark.parametrize("periodic", [True, False])
def test_a_coarse_grid_gives_what_a_fine_one_gives(monkeypatch, periodic):
    torch.manual_seed(0)
    model = IAENet(1, 1, periodic=periodic, width=16, latent=8, modes=12, post_modes=8, blocks=2).double()
    coarse = Discretization.uniform(8 if periodic else 9, periodic=periodic)

    def mismatch() -> float:
        with torch.no_grad():
            here = model(waves(coarse)).values
            there = model(waves(Discretization.uniform(512 if periodic else 513, periodic=periodic)), at=coarse).values
        return float((here - there).norm() / there.norm())

    with_it = mismatch()
    monkeypatch.setattr(iae_net, "refined", lambda field, *_: field)
    assert with_it < min(0.05, mismatch() / 3)


@pytest.mark.parametrize("periodic", [True, False])
def test_a_grid_of_cell_centres_is_taken(periodic):
    """Its points do not begin where the domain does."""
    centres = Discretization.tensor_grid((torch.arange(8).double() + 0.5) / 8, periodic=periodic, bounds=[(0, 1)])
    fine = refined(waves(centres), modes=12)
    assert fine.discretization.n == (8 if periodic else 15)
    old = fine.values if periodic else fine.values[::2]
    assert torch.allclose(old, waves(centres).values, atol=1e-9)


@pytest.mark.parametrize("periodic", [True, False])
def test_points_of_the_finer_grid_are_read_off_it(periodic):
    """The answer on the input's own points is that on the finer grid there, and that at the same points as a set."""
    torch.manual_seed(0)
    net = IAENet(1, 1, dim=2, periodic=periodic, width=6, modes=6, blocks=2, post_blocks=0, domains=["fourier"])
    coarse = waves(Discretization.uniform((6, 7), periodic=periodic))
    as_set = Discretization.points(coarse.discretization.points, periodic=periodic)
    with torch.no_grad():
        own, asked = net.double()(coarse).values, net(coarse, at=as_set).values
    assert refined(coarse, net.band).discretization.n > coarse.discretization.n
    assert torch.allclose(own, asked, rtol=0, atol=1e-9)


@pytest.mark.parametrize("axis", [[0.0, 0.3, 1.0], [0.0, 0.25, 1.01]])
def test_points_beside_the_finer_grid_have_no_place_in_it(axis):
    assert among(Discretization.tensor_grid(axis, bounds=[(0, 2)]), Discretization.uniform(9, bounds=[(0, 2)])) is None


def test_a_window_that_lacks_its_last_point_is_ended_for_a_raster():
    """Samples at 0, h, 2 h, ... of a closed axis: the last value stands at the end, too; others are not touched."""
    window = Discretization.tensor_grid([0.0, 0.25, 0.5, 0.75], bounds=[(0, 1)])
    field = Field(window, torch.tensor([[1.0], [2.0], [3.0], [5.0]], dtype=torch.float64))
    ended = refined(field, modes=0, points=5)
    assert ended.discretization.key == Discretization.uniform(5).key
    assert ended.values.flatten().tolist() == [1.0, 2.0, 3.0, 5.0, 5.0]
    assert refined(field, modes=0) is field
    uneven = Field(Discretization.tensor_grid([0.0, 0.2, 0.5, 0.75], bounds=[(0, 1)]), field.values)
    assert refined(uneven, modes=0, points=5) is uneven
    assert among(window, ended.discretization).tolist() == [0, 1, 2, 3]

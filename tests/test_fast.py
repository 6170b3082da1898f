"""Wide bands by FFT are the same sums, and their gradients too."""

import pytest
import torch

from iaenet import Discretization, fast
from iaenet.domain.basis import Trigonometric
from iaenet.geometry import Geometry

GRIDS = {
    "periodic": Discretization.uniform(200, periodic=True),
    "closed": Discretization.uniform(600),
    "rectangle": Discretization.uniform((140, 513), periodic=(True, False)),
}
MODES = 66


def both(grid, monkeypatch, use):
    """A result by FFT and by sums, with the gradients of their squares."""
    found = []
    for threshold in (fast.FROM_MODES, 10**9):
        monkeypatch.setattr(fast, "FROM_MODES", threshold)
        torch.manual_seed(0)
        result, given = use(Geometry.of(grid, torch.float64))
        (gradient,) = torch.autograd.grad((result**2).sum(), given)
        found.append((result.detach(), gradient))
    return found


@pytest.mark.parametrize("name", GRIDS)
def test_analysis(name, monkeypatch):
    def use(geometry):
        values = torch.randn(2, geometry.n, 3, dtype=torch.float64, requires_grad=True)
        return geometry.analyse(Trigonometric(MODES), values), values

    for one, other in zip(*both(GRIDS[name], monkeypatch, use), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-12 * other.abs().max())


@pytest.mark.parametrize("sines", [False, True])
@pytest.mark.parametrize("name", GRIDS)
def test_synthesis(name, sines, monkeypatch):
    grid = GRIDS[name]
    count = 1
    for wraps in grid.periodic:
        count *= 2 * MODES + 1 if wraps or sines else MODES + 1

    def use(geometry):
        coefficients = torch.randn(2, count, 3, dtype=torch.float64, requires_grad=True)
        return geometry.synthesise(Trigonometric(MODES, sines=sines), coefficients), coefficients

    for one, other in zip(*both(grid, monkeypatch, use), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-11 * other.abs().max())


def test_only_where_it_is_right():
    x = torch.arange(200, dtype=torch.float64) / 200
    assert fast.worthwhile(x, 66, True)
    assert not fast.worthwhile(x, 20, True)  # too few modes to be worth it
    assert not fast.worthwhile(x, 100, True)  # at the Nyquist frequency a sum aliases
    assert not fast.worthwhile(x**1.01, 66, True)
    assert not fast.worthwhile(x + 0.001, 66, True)  # another starting point is another phase
    assert not fast.worthwhile(x, 66, False)  # a closed axis ends at 1

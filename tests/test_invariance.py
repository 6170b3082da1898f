"""The network is a map between functions: its output converges as the grid refines, on any kind of points."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iaenet import Discretization, Field, Fourier, IAENet, Identity, Wavelet
from tests.smooth import mismatch, smooth


def preset(name="small", **options):
    return IAENet.from_preset(name, in_channels=1, out_channels=1, **options)


def ladder(model, sizes, finest, *, dim=1, periodic=True, dtype=torch.float32):
    """Mismatch to the finest grid on common points, for each size."""
    step = 0 if periodic else 1

    def output(s):
        grid = Discretization.uniform((s,) * dim, periodic=periodic)
        with torch.no_grad():
            return model(smooth(grid, dtype)).values.reshape(*grid.shape, -1)

    reference = output(finest)
    found = []
    for s in sizes:
        stride = (finest - step) // (s - step)
        common = reference[(slice(None, None, stride),) * dim]
        # Against the variation of the output: a constant part would flatter.
        found.append(mismatch(output(s) - common.mean(), common - common.mean()))
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["small", "base"])
def test_periodic_line(name, seed):
    torch.manual_seed(seed)
    at_256, at_1024 = ladder(preset(name, periodic=True), [256, 1024], 8192)
    assert at_256 <= 5e-4
    assert at_1024 <= 5e-6


def test_periodic_line_is_spectral():
    at_128, at_256, at_512 = ladder(preset(periodic=True).double(), [128, 256, 512], 2048, dtype=torch.float64)
    assert at_256 < at_128 / 16  # a rule of fixed order 4 would give 16
    assert at_512 < at_256 / 16 or at_512 < 1e-12


@pytest.mark.parametrize("name", ["small", "base"])
def test_closed_line_is_of_third_order_and_better(name):
    sizes = np.array([65, 129, 257])
    errors = ladder(preset(name).double(), sizes, 8193, periodic=False, dtype=torch.float64)
    assert -np.polyfit(np.log(sizes), np.log(errors), 1)[0] >= 3
    assert errors[0] < 1e-4
    assert ladder(preset(name).double(), [513], 8193, periodic=False, dtype=torch.float64)[0] < 1e-7  # by another rule


@pytest.mark.parametrize("axiswise", [False, True])
@pytest.mark.parametrize("periodic", [True, False])
def test_square(periodic, axiswise):
    model = IAENet(1, 1, 2, periodic, width=16, latent=8, rank=16, modes=8, post_modes=6, axiswise=axiswise)
    step = 0 if periodic else 1
    sizes = [32 + step, 64 + step, 128 + step]
    errors = ladder(model, sizes, 256 + step, dim=2, periodic=periodic)
    assert errors[-1] <= 1e-4
    assert errors[0] > errors[1] > errors[2] or errors[1] < 1e-5


def test_random_points_on_the_line():
    model = preset(periodic=True)
    reference = Discretization.uniform(1024, periodic=True)
    points = torch.rand(4096, 1, dtype=torch.float64)
    with torch.no_grad():
        truth = model(smooth(Discretization.uniform(8192, periodic=True))).values[::8]
        found = model(smooth(Discretization.points(points, periodic=True)), at=reference).values
    assert mismatch(found, truth) <= 1e-2


def test_scattered_points_in_the_square_approach_the_grid():
    model = IAENet(1, 1, 2, True, width=16, latent=8, rank=16, modes=6, post_modes=6, harmonics=2)
    fine = smooth(Discretization.uniform((128, 128), periodic=True))
    rng = np.random.default_rng(0)
    errors = []
    for n in (1000, 4000):
        scattered = Discretization.points(rng.random((n, 2)), periodic=True)
        with torch.no_grad():
            errors.append(mismatch(model(smooth(scattered)).values, model(fine, at=scattered).values))
    assert errors[1] < errors[0] / 2
    assert errors[1] < 0.02  # the function has 25 oscillating products


@pytest.mark.parametrize("domains", [[Identity()], [Fourier(8)], [Wavelet(4)], [Identity(), Fourier(8), Wavelet(4)]])
def test_every_branch_converges(domains):
    errors = ladder(
        IAENet(1, 1, periodic=True, width=16, domains=domains).double(), [256, 1024], 8192, dtype=torch.float64
    )
    assert errors[1] < max(errors[0] / 4, 1e-7)


def test_the_published_form_does_not_converge():
    ours = ladder(preset(periodic=True), [256, 1024, 4096], 8192)
    model = preset("published")
    published = ladder(model, [256, 1024, 4096], 8192, periodic=True)
    print(f"mismatch to s = 8192 at 256, 1024, 4096: ours {ours}, published {published}")
    assert max(ours) < 5e-4
    assert min(published[:2]) > 1e-2


# ---------------------------------------------------------------- batches, order, duplicates


def tiny(d, out_channels=1, **options):
    """A small network, the same at every call."""
    torch.manual_seed(0)
    sizes = {"width": 8, "latent": 8, "rank": 8, "modes": 6, "post_modes": 4, "blocks": 2}
    return IAENet(1, out_channels, d, True, **sizes, **options)


def random_field(rng, n, dtype, d=1):
    """A random trigonometric polynomial on n random points."""
    made = Discretization.points(rng.random((n, d)), periodic=True)
    waves, phases = rng.integers(-5, 6, (d, 8)), rng.random(8)
    values = np.cos(2 * np.pi * (made.points.numpy() @ waves + phases)) @ rng.standard_normal((8, 1))
    return Field(made, torch.tensor(values, dtype=dtype))


@given(st.integers(2, 60), st.integers(1, 3), st.sampled_from([torch.float32, torch.float64]))
def test_order_of_points_does_not_matter(n, d, dtype):
    model = tiny(d).to(dtype)
    rng = np.random.default_rng(n)
    field = random_field(rng, n, dtype, d)
    places = rng.permutation(n)
    own = field.discretization
    moved = Discretization.points(own.points[places], weights=own.weights[places], periodic=True)
    with torch.no_grad():
        there = model(Field(moved, field.values[places])).values
        here = model(field).values[places]
    assert mismatch(there, here) <= (1e-5 if dtype == torch.float32 else 1e-12)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(0, 5))
def test_batch_mates_do_not_matter(sizes, extra):
    model = tiny(1, out_channels=8)  # eight numbers a point: not all of them are near zero by chance
    rng = np.random.default_rng(len(sizes))
    fields = [random_field(rng, n, torch.float32) for n in sizes]
    grid = Discretization.uniform(32, periodic=True)
    fields += [Field(grid, torch.roll(smooth(grid).values, shift, 0)) for shift in range(extra)]
    with torch.no_grad():
        together = model(fields)
        for field, found in zip(fields, together, strict=True):
            assert found.discretization is field.discretization
            # A single point's few numbers can all be near zero by chance, and are then compared with nearly nothing.
            assert mismatch(found.values, model(field).values) <= (1e-6 if field.discretization.n > 1 else 1e-5)


@given(st.integers(2, 50))
def test_duplicated_points_do_not_matter(n):
    model = tiny(1)
    field = random_field(np.random.default_rng(n), n, torch.float32)
    own = field.discretization
    doubled = Discretization.points(own.points.repeat(2, 1), weights=own.weights.repeat(2) / 2, periodic=True)
    with torch.no_grad():
        twice = model(Field(doubled, field.values.repeat(2, 1))).values[:n]
        once = model(field).values
    assert mismatch(twice, once) <= 1e-5


@given(st.integers(3, 40), st.integers(1, 17), st.sampled_from([1, 2]), st.booleans())
def test_streaming_gives_the_same(n, chunk, d, axiswise):
    model = tiny(d, axiswise=axiswise).double()
    grid = Discretization.uniform((n, 5)[:d], periodic=True)
    goal = Discretization.uniform((7, 3)[:d], periodic=True)
    field = Field(grid, torch.randn(2, grid.n, 1, dtype=torch.float64))
    with torch.no_grad():
        torch.testing.assert_close(model(field, chunk=chunk).values, model(field).values)
        torch.testing.assert_close(model(field, at=goal, chunk=chunk).values, model(field, at=goal).values)


@pytest.mark.parametrize("chunk", [None, 7])
@pytest.mark.parametrize("kind", ["grid", "points", "square"])
def test_gradients_are_the_same_when_computed_again(kind, chunk):
    grid = {
        "grid": Discretization.uniform(20, periodic=True),
        "points": Discretization.points(np.random.default_rng(0).random((20, 1)), periodic=True),
        "square": Discretization.uniform((4, 5), periodic=True),
    }[kind]
    goal = Discretization.uniform((11, 3)[: grid.dim], periodic=True)
    values = torch.randn(2, 20, 1, dtype=torch.float64)
    model = tiny(grid.dim).double()

    def gradients(recompute, chunk):
        model.recompute = recompute
        model.zero_grad()
        model(Field(grid, values), chunk=chunk).values.square().sum().backward()
        model(Field(grid, values), at=goal, chunk=chunk).values.square().sum().backward()
        return [p.grad.clone() for p in model.parameters()]

    for once, again in zip(gradients(10**9, None), gradients(16, chunk), strict=True):
        torch.testing.assert_close(again, once)

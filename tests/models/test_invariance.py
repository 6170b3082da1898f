"""The network is a map between functions: its output converges as the grid refines, on any kind of points."""

import gc
import pickle

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iaenet import (
    Discretization,
    Field,
    Fourier,
    GridConv,
    GridUNet,
    IAENet,
    Operator,
    PointIAE,
    SpectralConv,
    SpectralIAE,
    Wavelet,
    relative_l2,
)
from iaenet.functions.normalizer import Normalizer
from tests.sizes import sizes
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
    assert max(ladder(preset(name, periodic=True).double(), [32, 128, 1024], 8192, dtype=torch.float64)) <= 1e-12
    assert max(ladder(preset(name, periodic=True), [32, 128, 1024], 8192)) <= 5e-6  # rounding


@pytest.mark.parametrize("name", ["small", "base"])
def test_closed_line(name):
    found = ladder(preset(name).double(), [33, 65, 129, 257, 1025], 8193, periodic=False, dtype=torch.float64)
    assert found[0] < 1e-3
    assert found[1] < 1e-4
    assert max(found[2:]) < 1e-6


@pytest.mark.parametrize("axiswise", [False, True])
@pytest.mark.parametrize("periodic", [True, False])
def test_square(periodic, axiswise):
    branches = [PointIAE(8, 16, axiswise=axiswise), SpectralIAE(Fourier(8), 64)]
    model = IAENet(1, 1, 2, periodic, width=16, branches=branches, post=6)
    step = 0 if periodic else 1
    errors = ladder(model, [16 + step, 32 + step, 64 + step], 128 + step, dim=2, periodic=periodic)
    assert errors[-1] <= 1e-5
    assert errors[0] > errors[1] or errors[0] < 1e-5


@pytest.mark.parametrize("head", [0, 16])
@pytest.mark.parametrize("periodic", [True, False])
def test_random_points_in_the_square(periodic, head):
    """2000 random points and a fine grid, asked for at the same places."""
    model = preset(dim=2, periodic=periodic, head=head)
    fine = smooth(Discretization.uniform((129, 129), periodic=periodic))
    scattered = Discretization.points(np.random.default_rng(0).random((2000, 2)), periodic=periodic)
    with torch.no_grad():
        truth, found = model(fine, at=scattered).values, model(smooth(scattered)).values
    assert mismatch(found - truth.mean(), truth - truth.mean()) <= 2e-3


def test_random_points_on_the_line():
    model = preset(periodic=True)
    points = torch.rand(300, 1, dtype=torch.float64)
    reference = Discretization.uniform(1024, periodic=True)
    with torch.no_grad():
        truth = model(smooth(reference)).values
        found = model(smooth(Discretization.points(points, periodic=True)), at=reference).values
    assert mismatch(found, truth) <= 1e-4


@pytest.mark.parametrize(
    "branch",
    [
        PointIAE(16, 16),
        SpectralIAE(Fourier(8), 16),
        SpectralIAE(Wavelet(4), 16),
        SpectralConv(8),
        GridConv(),
        GridUNet(2),
    ],
)
def test_every_branch_is_invariant(branch):
    model = IAENet(1, 1, periodic=True, grid=64, width=8, branches=[branch]).double()
    assert max(ladder(model, [32, 256, 1024], 8192, dtype=torch.float64)) < 1e-10


def test_the_published_form_does_not_converge():
    ours = ladder(preset(periodic=True), [256, 1024, 4096], 8192)
    model = preset("published")
    published = ladder(model, [256, 1024, 4096], 8192, periodic=True)
    print(f"mismatch to s = 8192 at 256, 1024, 4096: ours {ours}, published {published}")
    assert max(ours) < 5e-6
    assert min(published[:2]) > 1e-2


# ---------------------------------------------------------------- boxes, sizes, memory


@pytest.mark.parametrize("sides", [[(0, 1.001), (0, 1)], [(-3, 1e9), (5, 6)], [(0, 1e-9), (7, 1007)]])
def test_stretching_and_shifting_axes_changes_nothing(sides):
    """0.1 lost its rule on a box of 1.001 x 1: a mismatch of 0.26."""
    model = preset(dim=2, head=8)
    unit = np.random.default_rng(1).random((300, 2))
    low, high = np.array(sides).T
    here = Discretization.points(unit)
    there = Discretization.points(low + (high - low) * unit, bounds=sides)
    values = smooth(here).values
    with torch.no_grad():
        assert mismatch(model(Field(there, values)).values, model(Field(here, values)).values) < 1e-4


@pytest.mark.parametrize("size", [1e-30, 1e-19, 1e19, 1e30])
def test_the_size_of_values_does_not_matter(size):
    """Statistics, network and loss: outputs of 1e-24 had a reported error of 1e-19 in 0.1, and a true one of 0.99."""
    grid = Discretization.uniform(32, periodic=True)
    rng = torch.Generator().manual_seed(0)
    waves = [torch.cos(2 * torch.pi * (grid.points + torch.rand(1, generator=rng))) for _ in range(4)]
    found = []
    for factor in (1.0, size):
        torch.manual_seed(0)
        pairs = [(Field(grid, (factor * w).float()), Field(grid, (factor * w.roll(3, 0)).float())) for w in waves]
        operator = Operator(preset(periodic=True, grid=32), *Normalizer.fit(pairs))
        losses = [relative_l2(operator(a), u) for a, u in pairs]
        torch.stack(losses).sum().backward()
        gradient = torch.cat([p.grad.flatten() for p in operator.parameters()])
        found.append((torch.stack(losses).detach(), gradient))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5 * float(one.abs().max()))


@pytest.mark.parametrize("calls", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_memory_is_flat_over_new_points(calls):
    model = preset(dim=2, head=8)
    field = smooth(Discretization.uniform((20, 20)))
    rng = np.random.default_rng(0)

    def call():
        some = Discretization.points(rng.random((200, 2)))
        with torch.no_grad():
            model(smooth(some))
            model(field, at=Discretization.points(rng.random((50, 2)), rule="monte-carlo"))

    for _ in range(20):
        call()
    gc.collect()
    before = len(gc.get_objects()), psutil.Process().memory_info().rss
    for _ in range(calls):
        call()
    gc.collect()
    after = len(gc.get_objects()), psutil.Process().memory_info().rss
    assert after[0] - before[0] < 200
    assert after[1] - before[1] < 20e6


def kept_bytes(cache):
    """Of all tensors in a cache, and in caches within it."""
    parts = [*cache.values()] if isinstance(cache, dict) else cache if isinstance(cache, tuple | list) else []
    return sum(kept_bytes(part) for part in parts) + (cache.nbytes if isinstance(cache, torch.Tensor) else 0)


def test_little_is_kept_of_a_sample_on_points_of_its_own():
    """0.1 kept 1708 floats for each point; here it is the values at the nodes, and the domain's measure."""
    model = preset(dim=2, head=8, geometry=["measure"])
    operator = Operator(model, Normalizer([0.0], [2.0]), Normalizer([0.0], [1.0]))
    field = smooth(Discretization.points(np.random.default_rng(0).random((800, 2))))
    operator(field).values.sum().backward()
    assert 0 < kept_bytes(field.cache) + kept_bytes(field.discretization.cache) <= 4 * 800 * 4
    assert "cache" not in Field.__getstate__(field)


def test_points_that_are_made_anew_give_the_same():
    """A service, or a worker of a DataLoader, rebuilds its points for each call."""
    model = preset(dim=2, head=8)
    points = np.random.default_rng(0).random((300, 2))
    values = smooth(Discretization.points(points)).values
    with torch.no_grad():
        first, second = (model(Field(Discretization.points(points), values)).values for _ in range(2))
        third = model(pickle.loads(pickle.dumps(Field(Discretization.points(points), values)))).values
    assert torch.equal(first, second)
    assert torch.equal(first, third)


# ---------------------------------------------------------------- batches, order, duplicates


def tiny(d, out_channels=1, **options):
    """A small network, the same at every call."""
    torch.manual_seed(0)
    return IAENet(1, out_channels, d, True, **sizes(blocks=2, modes=6, post=4, dim=d), **options)


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

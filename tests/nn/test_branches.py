"""Branches: each works alone, is kept as names and numbers, and does what it says; and one of one's own."""

import dataclasses
import json
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from iaenet import (
    Discretization,
    Field,
    Fourier,
    GridConv,
    GridUNet,
    IAEBlock,
    IAENet,
    InvalidInputError,
    PointIAE,
    SpectralConv,
    SpectralIAE,
    Wavelet,
    branch,
)
from iaenet.functions.basis import Cardinal, Trigonometric, Wavelets
from iaenet.nn import branch as module
from iaenet.nn.branches import Branch, BranchLayer, from_plain, to_plain
from iaenet.nn.local import GridConvolutions
from iaenet.nn.point_branch import grid_sites
from iaenet.nn.spectral_branch import CoefficientIAE
from iaenet.nn.transform import Grid, GridTransform
from tests.smooth import mismatch, smooth

EACH = {
    "point-iae": PointIAE(latent=4, rank=5),
    "point-iae, harmonics": PointIAE(latent=4, rank=5, harmonics=2),
    "point-iae, linear kernels": PointIAE(latent=4, rank=5, auxiliary=False),
    "point-iae, deep and dense": PointIAE(latent=3, rank=5, depth=2, dense=True, channel_mlp=False),
    "point-iae, axis by axis": PointIAE(latent=4, rank=5, axiswise=True),
    "spectral-iae": SpectralIAE(Fourier(2), latent=6),
    "spectral-iae, groups": SpectralIAE(Fourier(2), latent=6, groups=4, channel_mlp=False, depth=2),
    "spectral-iae, wavelets": SpectralIAE(Wavelet(2, "db3"), latent=6),
    "spectral-conv": SpectralConv(2),
    "grid-conv": GridConv(),
    "grid-conv, size": GridConv(size=5, kernel_size=5),
    "grid-unet": GridUNet(depth=2),
    "grid-unet, size": GridUNet(depth=2, size=6),
    "grid-unet, attention": GridUNet(depth=2, attention=1, size=5),
}
SHAPES = {1: (9,), 2: (8, 7), 3: (6, 7, 8)}


def width_of(name):
    return 32 if "attention" in name else 8  # attention asks for it


def layer(name, grid, width=None):
    return EACH[name].build(width or width_of(name), grid).double()


def random(grid, width=8, count=2):
    return torch.randn(count, int(np.prod(grid.shape)), width, dtype=torch.float64)


@pytest.fixture(params=[1, 2, 3], ids=["1-D", "2-D", "3-D"])
def shape(request):
    return SHAPES[request.param]


@pytest.fixture(params=["closed", "periodic", "mixed"])
def grid(request, shape):
    d = len(shape)
    flags = {"closed": (False,) * d, "periodic": (True,) * d, "mixed": (True, False, True)[:d]}
    return Grid(shape, flags[request.param])


# ---------------------------------------------------------------------- every branch


@pytest.mark.parametrize("name", EACH)
def test_it_works_alone(name, grid):
    made, a = layer(name, grid), random(grid, width_of(name))
    before = a.clone()
    found = made(a)
    assert found.shape == a.shape
    assert torch.isfinite(found).all()
    assert torch.equal(a, before)
    assert torch.equal(made(a), found)
    torch.testing.assert_close(made(a[1:]), found[1:])  # functions do not see each other
    assert mismatch(made(a + 0.1 * torch.randn_like(a)), found) > 1e-3  # the input matters
    single = made.float()(a.float())
    assert single.dtype == torch.float32
    assert mismatch(single.double(), found) < 1e-5


@pytest.mark.parametrize("name", EACH)
def test_a_code_is_decoded_to_the_output_linearly_channel_by_channel(name, grid):
    made, a = layer(name, grid), random(grid, width_of(name))
    code, memory = made.encode(a)
    found = made.decode(code, memory)
    assert torch.equal(found, made(a))
    W = torch.randn(a.shape[-1], 5, dtype=torch.float64)
    merged = made.decode(code @ W, memory)
    assert merged.shape == (*a.shape[:2], 5)
    assert mismatch(merged, found @ W) < 1e-10
    assert mismatch(made.decode(torch.zeros_like(code), memory) + 1, torch.ones_like(a)) < 1e-12


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize(("shape", "periodic"), [((7,), (True,)), ((6, 7), (False, True))])
def test_gradcheck(name, shape, periodic):
    grid = Grid(shape, periodic)
    width = 32 if "attention" in name else 4
    made = layer(name, grid, width)
    a = random(grid, width, count=1).requires_grad_()
    assert torch.autograd.gradcheck(made, (a,), fast_mode=len(shape) > 1 or width > 4)
    assert torch.autograd.gradcheck(lambda *_: made(a.detach()), tuple(made.parameters()), fast_mode=True)


@pytest.mark.parametrize("name", EACH)
def test_gradients_reach_every_weight(name, grid):
    made, a = layer(name, grid), random(grid, width_of(name))
    (made(a) * torch.randn_like(a)).sum().backward()
    for where, parameter in made.named_parameters():
        assert parameter.grad is not None, where
        assert parameter.grad.abs().max() > 0, where


@pytest.mark.parametrize("name", EACH)
def test_it_is_kept_as_names_and_numbers(name):
    spec = EACH[name]
    plain = to_plain(spec)
    assert plain["name"] == name.split(",")[0]
    assert from_plain(json.loads(json.dumps(plain))) == spec
    assert from_plain(spec) is spec
    fewest = {key: value for key, value in plain.items() if key in ("name", "modes")}
    assert from_plain(fewest) == type(spec)(**{key: value for key, value in fewest.items() if key != "name"})
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.name_of_nothing = 1


def test_every_branch_is_here():
    ours = {
        name
        for name, kind in module._KNOWN.items()
        if issubclass(kind, Branch) and kind.__module__.startswith("iaenet.")
    }
    assert ours == {name.split(",")[0] for name in EACH}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "fft"}, "no branch 'fft'; there are .*fourier, grid-conv, grid-unet, .*point-iae, spectral-conv"),
        ({"modes": 3}, "no branch None; there are"),
        ({"name": "spectral-conv", "mods": 3}, "branch spectral-conv: got an unexpected keyword argument 'mods'"),
        ({"name": "spectral-conv"}, "branch spectral-conv: missing 1 required .* 'modes'"),
        ({"name": "spectral-iae", "basis": {"name": "haar"}}, "no branch 'haar'"),
        ({"name": "spectral-iae", "basis": {"name": "wavelet", "level": 3}}, "branch wavelet: .* 'level'"),
        ({"name": "fourier", "modes": 3}, r"expected a branch, got Fourier\(modes=3\)"),
        ("spectral-conv", "expected a branch, got 'spectral-conv'"),
        (None, "expected a branch, got None"),
        ({"name": "spectral-iae", "basis": "fourier"}, "expected a basis such as .* got 'fourier'"),
    ],
)
def test_what_is_no_branch_is_named(given, message):
    with pytest.raises(InvalidInputError, match=message):
        IAENet(1, 1, branches=[given])


def test_kernels_of_another_kind_are_refused():
    with pytest.raises(InvalidInputError, match=r"kernels are a PointIAE, got SpectralConv\(modes=3\)"):
        IAENet(1, 1, head={"name": "head", "size": 8, "kernels": {"name": "spectral-conv", "modes": 3}})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (SpectralConv(0), "modes must be at least 1, got 0"),
        (SpectralIAE(Fourier(-2)), "modes must be at least 1, got -2"),
        (SpectralIAE(Wavelet(0)), "levels must be at least 1, got 0"),
        (SpectralIAE(Wavelet(5)), "wavelets of 5 levels need 32 points along each axis"),
        (SpectralIAE(Wavelet(3, "bior2.2")), "'bior2.2' is not an orthogonal wavelet"),
        (GridConv(3), "a grid of 3 points along each axis is none of 4 to 16"),
        (GridConv(17), "a grid of 17 points along each axis is none of 4 to 16"),
        (GridConv(kernel_size=2), "kernel_size must be odd, got 2"),
    ],
)
def test_numbers_that_cannot_be_are_refused(spec, message):
    with pytest.raises(InvalidInputError, match=message):
        spec.build(8, Grid((16, 20), (False, True)))


# ---------------------------------------------------------------------- in a block


@pytest.mark.parametrize("skips", ["dense", "residual", "none"])
def test_a_block_is_its_formula(skips):
    """`sigma(M [a, Phi_1(a), ...])` written out: M on codes changes nothing."""
    grid = Grid((8, 7), (True, False))
    specs = [EACH[name] for name in ("point-iae", "point-iae, axis by axis", "spectral-iae", "grid-conv, size")]
    block = IAEBlock(8, grid, specs, skips=skips, inputs=3).double()
    history = [random(grid, 8) for _ in range(3)]
    gelu = torch.nn.functional.gelu
    a = history[-1]
    if skips == "dense":
        a = block.gather_out(gelu(sum(layer(one) for layer, one in zip(block.gather, history, strict=True))))
    wanted = gelu(block.merge(torch.cat([a, *(made(a) for made in block.branches)], dim=-1)))
    wanted = wanted + history[-1] if skips == "residual" else wanted
    assert mismatch(block(history), wanted) < 1e-12


def test_another_kind_of_skips_is_refused():
    with pytest.raises(InvalidInputError, match="skips must be 'dense', 'residual' or 'none', got 'some'"):
        IAEBlock(8, Grid((8,), (True,)), [GridConv()], skips="some")


# ---------------------------------------------------------------------- what each says of itself


@pytest.mark.parametrize("name", ["spectral-conv", "point-iae, linear kernels", "point-iae"])
def test_which_branches_are_linear(name):
    """A spectral convolution is; an integral autoencoder, whose kernels see the function, is not."""
    grid = Grid((9,), (False,))
    made, a, b = layer(name, grid), random(grid), random(grid)
    gap = mismatch(made(a + 2 * b), made(a) + 2 * made(b))
    assert gap < 1e-12 if name == "spectral-conv" else gap > 1e-2


def test_without_the_auxiliary_value_kernels_are_those_of_places_alone():
    grid = Grid((9,), (True,))
    for auxiliary in (True, False):
        iae = PointIAE(latent=4, rank=5, auxiliary=auxiliary, channel_mlp=False).build(3, grid).double().iae
        a, b = random(grid, 3), random(grid, 3)
        sites = grid_sites(grid, 1)
        encoded = [iae.encoder(values, sites) for values in (a, b, a + 2 * b)]
        assert (mismatch(encoded[2], encoded[0] + 2 * encoded[1]) < 1e-12) == (not auxiliary)


@pytest.mark.parametrize("name", ["spectral-conv", "grid-conv", "grid-conv, size"])
def test_the_same_at_every_place(name):
    """On a period a shift of the input is a shift of the output; with fewer points, one by their spacing."""
    size = 15
    grid = Grid((size, size), (True, True))
    made, a = layer(name, grid, 4), random(grid, 4)
    step = 3  # 5 points of their own have this spacing
    field = a.unflatten(1, grid.shape)
    moved = made(field.roll((step, 2 * step), (1, 2)).flatten(1, 2)).unflatten(1, grid.shape)
    assert mismatch(moved, made(a).unflatten(1, grid.shape).roll((step, 2 * step), (1, 2))) < 1e-12


@pytest.mark.parametrize(("modes", "kept"), [(3, 7), (4, 9), (100, 9)])
def test_harmonics_that_a_grid_does_not_hold_are_left_out(modes, kept):
    grid = Grid((10, 9), (True, True))
    assert Fourier(modes).transform(grid).sizes == (kept, kept)
    assert Fourier(modes).sizes(grid).shape == (kept**2,)
    weight = SpectralConv(modes).build(2, grid).convolution.weight
    assert len(weight) == kept * (kept // 2 + 1)


@pytest.mark.parametrize("basis", [Fourier(3), Wavelet(3)])
def test_sizes_are_those_of_a_function_of_size_one(basis, grid):
    wide = Grid(tuple(size + 2 for size in grid.shape), grid.periodic)
    sizes = basis.sizes(wide)
    assert len(sizes) == np.prod(basis.transform(wide).sizes)
    assert sizes.square().sum().item() == pytest.approx(1)
    assert (sizes > 0).all()


def test_a_convolution_without_a_size_is_on_the_latent_grid_itself():
    grid = Grid((9, 12), (True, False))
    assert isinstance(layer("grid-conv", grid).layer, GridConvolutions)
    assert layer("grid-conv", grid).layer.shape == grid.shape
    assert layer("grid-conv, size", grid).layer.shape == (5, 5)
    same = Grid((5, 5), grid.periodic)
    made, a = layer("grid-conv, size", same), random(same)
    assert torch.equal(made(a), made.layer(a))  # no way there and back


@pytest.mark.parametrize(("kernel", "reach"), [(3, 2), (7, 6)])
def test_convolutions_see_neighbours_only(kernel, reach):
    """Two of them see as many points on each side as one kernel is wide, less one."""
    made = GridConv(kernel_size=kernel).build(2, Grid((17,), (False,))).double()
    values = torch.randn(1, 17, 2, dtype=torch.float64, requires_grad=True)
    made(values)[0, 8].sum().backward()
    touched = values.grad[0].abs().amax(-1).nonzero().flatten()
    assert int((touched - 8).abs().max()) == reach


# ---------------------------------------------------------------------- there and back: cardinal functions

CASES = [(True, 12), (True, 13), (False, 12), (False, 13)]


def to_nodes(size, count, periodic, dim=1):
    """From a grid of `size` points along each axis to one of `count`, and back."""
    grid = Grid((size,) * dim, (periodic,) * dim)
    return GridTransform(grid, Cardinal(count, dual=True), Cardinal(count))


def waves(at, highest, periodic):
    """Some function of frequencies up to `highest` in periods, or half periods of a closed axis."""
    k = torch.arange(highest + 1, dtype=torch.float64)
    phase = 0.7 * k if periodic else 0 * k
    return torch.cos((2 if periodic else 1) * torch.pi * k * at[:, None] + phase).sum(-1, keepdim=True)


@pytest.mark.parametrize(("periodic", "count"), CASES)
def test_values_at_the_nodes_are_those_of_the_function(periodic, count):
    """On every grid that holds the function, and back again at any points."""
    highest = (count - 1) // 2
    wanted = waves(Grid((count,), (periodic,)).nodes[0], highest, periodic)
    for size in (count, 2 * count, 5 * count + 3):
        transform = to_nodes(size, count, periodic)
        given = waves(transform.grid.nodes[0], highest, periodic)
        assert mismatch(transform.analyse(given[None])[0], wanted) < 1e-12
        assert mismatch(transform.synthesise(wanted[None])[0], given) < 1e-12
    anywhere = torch.rand(40, dtype=torch.float64)
    back = Cardinal(count).functions(anywhere, periodic) @ wanted
    assert torch.allclose(back, waves(anywhere, highest, periodic), rtol=0, atol=1e-10)


@pytest.mark.parametrize("periodic", [True, False])
def test_frequencies_beyond_the_nodes_are_left_out(periodic):
    """They do not come back as lower ones, as they would by taking values at the nodes."""
    transform = to_nodes(97, 12, periodic)
    high = torch.cos((2 if periodic else 1) * torch.pi * 20 * transform.grid.nodes[0])
    assert transform.analyse(high[None, :, None]).abs().max() < 1e-12


@pytest.mark.parametrize(("periodic", "count"), CASES)
def test_its_own_points_pass_unchanged(periodic, count):
    transform = to_nodes(count, count, periodic, dim=2)
    values = torch.randn(2, count**2, 3, dtype=torch.float64)
    assert torch.allclose(transform.analyse(values), values, rtol=0, atol=1e-12)
    assert torch.allclose(transform.synthesise(values), values, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("periodic", "limits"), [(True, [1e-12] * 3), (False, [1e-3, 1e-5, 1e-5])])
def test_a_network_with_coarser_grids_is_the_same_on_finer_ones(periodic, limits):
    branches = [SpectralIAE(Fourier(6)), GridConv(16), GridConv(8)]
    net = IAENet(1, 1, periodic=periodic, grid=32, width=16, blocks=2, branches=branches).double()
    at = Discretization.uniform(9, periodic=periodic)

    def answer(size):
        grid = Discretization.uniform(size, periodic=periodic)
        with torch.no_grad():
            return net(Field(grid, waves(grid.points[:, 0], 3, periodic)), at=at).values

    finest = answer(2048)
    errors = [mismatch(answer(size), finest) for size in (16, 64, 256)]
    assert all(error < limit for error, limit in zip(errors, limits, strict=True))
    assert periodic or errors[2] <= errors[1] <= errors[0]


def test_the_axis_may_end_before_the_domain_does():
    """A window of samples at 0, h, 2 h, ... without the last one is the same function as on other uniform axes."""
    branches = [SpectralIAE(Fourier(6)), GridConv()]
    net = IAENet(1, 1, grid=65, width=8, blocks=1, branches=branches).double()

    def answer(size):
        axis = torch.arange(size, dtype=torch.float64) / size
        grid = Discretization.tensor_grid(axis, bounds=[(0.0, 1.0)])
        with torch.no_grad():
            return net(Field(grid, waves(grid.points[:, 0], 4, periodic=False))).values[:: size // 16]

    finest = answer(1024)
    assert mismatch(answer(16), finest) < 0.01
    assert mismatch(answer(64), finest) < 1e-4


# ---------------------------------------------------------------------- Fourier and wavelet coefficients


def test_fourier_coefficients_are_physical():
    for s in (16, 64, 100):
        transform = Fourier(4).transform(Grid((s,), (True,)))
        x = transform.grid.nodes[0]
        f = 0.3 + 2 * torch.cos(2 * np.pi * 3 * x) - torch.sin(2 * np.pi * x)
        found = transform.analyse(f[None, :, None])[0, :, 0] * 2**0.5
        expected = torch.zeros(9, dtype=torch.float64)
        expected[0], expected[3], expected[5] = 0.3 * 2**0.5, 2, -1
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("periodic", [True, False])
def test_trigonometric_functions_are_orthonormal(periodic):
    grid = Grid((513,), (periodic,))
    functions = Trigonometric(6).functions(grid.nodes[0], periodic)
    gram = functions.T @ (grid.weights[0][:, None] * functions)
    torch.testing.assert_close(gram, torch.eye(gram.shape[0], dtype=torch.float64), atol=1e-10, rtol=0)


@pytest.mark.parametrize("name", ["db4", "db6", "sym8", "coif3"])
def test_wavelets_are_orthonormal(name):
    grid = Grid((4096,), (True,))
    functions = Wavelets(4, name).functions(grid.nodes[0], True)
    gram = functions.T @ (grid.weights[0][:, None] * functions)
    torch.testing.assert_close(gram, torch.eye(16, dtype=torch.float64), atol=2e-3, rtol=0)


def test_wavelet_expansions_converge():
    grid = Grid((2048,), (True,))
    values = torch.exp(torch.sin(2 * np.pi * grid.nodes[0]))[None, :, None]
    errors = []
    for levels in (3, 4, 5, 6):
        transform = Wavelet(levels).transform(grid)
        errors.append(mismatch(transform.synthesise(transform.analyse(values)), values))
    assert -np.polyfit([3, 4, 5, 6], np.log2(errors), 1)[0] > 4  # db6 reproduces polynomials up to degree 5


@pytest.mark.parametrize(
    ("spec", "basis"), [(Fourier(3), Trigonometric(3)), (Wavelet(3), Wavelets(3))], ids=["fourier", "wavelet"]
)
def test_axis_by_axis_equals_the_direct_sum(spec, basis, grid):
    grid = Grid(tuple(size + 2 for size in grid.shape), grid.periodic)
    values = random(grid, 3)
    functions, weights = torch.ones(1, 1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    for x, w, wraps in zip(grid.nodes, grid.weights, grid.periodic, strict=True):
        functions = torch.kron(functions, basis.functions(x, wraps))
        weights = torch.kron(weights, w)
    transform = spec.transform(grid)
    coefficients = torch.einsum("np,n,bnc->bpc", functions, weights, values)
    torch.testing.assert_close(transform.analyse(values), coefficients)
    torch.testing.assert_close(transform.synthesise(coefficients), functions @ coefficients)


# ---------------------------------------------------------------------- of one's own


@branch("test-legendre")
@dataclass(frozen=True)
class Legendre:
    """A basis of one's own: Legendre polynomials on every axis."""

    degree: int

    def functions(self, x, periodic):
        k = np.arange(self.degree + 1)
        values = np.polynomial.legendre.legvander(2 * x.numpy() - 1, self.degree) * np.sqrt(2 * k + 1)
        return torch.from_numpy(values)

    def transform(self, grid):
        return GridTransform(grid, self)

    def sizes(self, grid):
        count = (self.degree + 1) ** len(grid.shape)
        return torch.full((count,), count**-0.5, dtype=torch.float64)


@branch("test-moments")
@dataclass(frozen=True)
class Moments(Branch):
    """A branch of one's own: an autoencoder of its Legendre coefficients."""

    degree: int = 3

    def build(self, width, grid):
        return MomentsLayer(Legendre(self.degree), width, grid)


class MomentsLayer(BranchLayer):
    def __init__(self, basis, width, grid):
        super().__init__()
        self.transform = basis.transform(grid)
        self.iae = CoefficientIAE(basis.sizes(grid), 8, width)

    def forward(self, a):
        return self.transform.synthesise(self.iae(self.transform.analyse(a)))


@pytest.mark.parametrize("own", [Moments(4), SpectralIAE(Legendre(4), latent=8)], ids=["branch", "basis"])
@pytest.mark.parametrize("d", [1, 2])
def test_a_branch_of_ones_own(d, own):
    branches = [PointIAE(latent=6, rank=8), own]
    model = IAENet(1, 1, d, grid=(129, 33)[d - 1], width=8, blocks=2, branches=branches, post=3)
    fine = smooth(Discretization.uniform((257, 65)[d - 1 : d] * d))
    errors = []
    for size in (9, 17, 33):
        grid = Discretization.uniform((size,) * d)
        with torch.no_grad():
            errors.append(mismatch(model(smooth(grid)).values, model(fine, at=grid).values))
    assert errors[2] < errors[1] / 4 < errors[0] / 40
    assert errors[2] < 1e-4
    field = Field(grid, torch.randn(grid.n, 1))
    model(field).values.sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    again = IAENet(**json.loads(json.dumps(model.options)))
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(field).values, model(field).values)

"""The network as a map between tensors: exported once, for any numbers of points."""

import pytest
import torch
from scipy.spatial import Delaunay
from torch.export import Dim, export

from iaenet import Discretization, Head, IAENet, PointIAE
from iaenet.functions.geometry import boundary_corners
from iaenet.models.fno import FNO
from iaenet.models.point_model import PointModel
from tests.smooth import mismatch, smooth

CASES = {
    "line": (1, {}),
    "square": (2, {}),
    "head, measure and distance": (2, {"head": 8, "geometry": ["distance", "measure"]}),
    "kernels alone": (2, {"head": Head(8, PointIAE(8, 8)), "blocks": 0, "branches": []}),
    "the change": (1, {"linear_start": "identity"}),
    "body in a cube": (3, {"geometry": ["distance"]}),
}


def network(d, **options):
    return IAENet.from_preset("small", in_channels=1, out_channels=1, dim=d, **options).eval()


@pytest.mark.parametrize("case", CASES)
def test_exported_with_free_numbers_of_points(case):
    d, options = CASES[case]
    model = PointModel(network(d, **options))

    def inputs(n, m, f):
        x, y = (torch.rand(count, d, dtype=torch.float64) for count in (n, m))
        facets = (torch.rand(f, d, d, dtype=torch.float64),) if "distance" in options.get("geometry", ()) else ()
        return x, torch.randn(2, n, 1), y, torch.full((n,), 1 / n, dtype=torch.float64), *facets

    n, m, f = Dim("n", min=8, max=10**7), Dim("m", min=2, max=10**7), Dim("f", min=2, max=10**6)
    shapes = {"points": {0: n}, "values": {1: n}, "query": {0: m}, "weights": {0: n}, "boundary": {0: f}}
    example = inputs(300, 40, 11)
    program = export(model, example, dynamic_shapes=dict(list(shapes.items())[: len(example)])).module()
    for sizes in ((50, 7, 5), (517, 91, 23)):
        given = inputs(*sizes)
        with torch.no_grad():
            torch.testing.assert_close(program(*given), model(*given), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("head", [0, 8])
def test_it_is_the_network(head):
    """On points, the same projection, whatever form the network is called in."""
    made = network(2, head=head)
    field = smooth(Discretization.points(torch.rand(400, 2, dtype=torch.float64)))
    where = field.discretization
    with torch.no_grad():
        found = PointModel(made)(where.points, field.values[None], where.points, where.weights)[0]
        assert mismatch(found, made(field).values) < 1e-5


@pytest.mark.parametrize("geometry", [["distance"], ["measure"], ["measure", "distance"]])
def test_it_is_the_network_on_a_domain(geometry):
    """The facets of a mesh's boundary tell what its cells do, at the nodes and elsewhere."""
    made = network(2, head=8, geometry=geometry)
    x = torch.cartesian_prod(*[torch.linspace(0, 1, 21, dtype=torch.float64)] * 2)
    cells = torch.from_numpy(Delaunay(x.numpy()).simplices.astype("int64"))
    ring = Discretization.mesh(x, cells[(x[cells].mean(1) - 0.5).norm(dim=1) > 0.3])
    field = smooth(ring)
    with torch.no_grad():
        given = ring.points, field.values[None], ring.points, ring.weights
        found = PointModel(made)(*given, boundary_corners(ring))[0]
        assert mismatch(found, made(field).values) < 1e-5
        if "distance" in geometry:  # the box is another domain
            assert mismatch(PointModel(made)(*given)[0], made(field).values) > 1e-3


def test_baselines_on_a_latent_grid_have_it_too():
    made = FNO(1, 1, 2, grid=16, modes=4, width=8, layers=2)
    where = Discretization.points(torch.rand(200, 2, dtype=torch.float64))
    with torch.no_grad():
        found = PointModel(made)(where.points, smooth(where).values[None], where.points, where.weights)[0]
        assert mismatch(found, made(smooth(where)).values) < 1e-5

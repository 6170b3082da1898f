"""Every layout of arrays that users have, written by NumPy, comes back value by value at the right points."""

import os
import pickle
import zipfile

import numpy as np
import pytest
import torch

from iaenet.data.formats.npz import read_npz
from iaenet.errors import InvalidInputError

RNG = np.random.default_rng(0)


def saved(path, compressed=False, **arrays):
    (np.savez_compressed if compressed else np.savez)(path, **arrays)
    return path


@pytest.mark.parametrize("compressed", [False, True])
def test_fno_style_arrays_on_a_uniform_periodic_grid(tmp_path, compressed):
    x, y = RNG.normal(size=(5, 64)), RNG.normal(size=(5, 64)).astype(np.float32)
    imported = read_npz(
        saved(tmp_path / "f.npz", compressed, x=x, y=y), inputs="x", outputs="y", periodic=True, units={"y": "m"}
    )
    assert len(imported.pairs) == 5
    for i, (a, u) in enumerate(imported.pairs):
        assert a.values.dtype == torch.float64
        assert u.values.dtype == torch.float32
        assert np.array_equal(a.values[:, 0], x[i])
        assert np.array_equal(u.values[:, 0], y[i])
        assert a.discretization is u.discretization
        assert a.discretization.periodic == (True,)
        assert np.array_equal(a.discretization.points[:, 0], np.arange(64) / 64)
    assert [channel.name for channel in imported.inputs] == ["x"]
    assert imported.outputs[0].unit == "m"


def test_channels_last_first_and_chosen(tmp_path):
    last = RNG.normal(size=(3, 6, 5, 4))
    path = saved(tmp_path / "f.npz", last=last, first=np.moveaxis(last, -1, 1))
    whole = read_npz(path, inputs="last", outputs="last[1:3]", dim=2)
    flipped = read_npz(path, inputs="first", outputs="first[-1]", dim=2, channels="first")
    assert [channel.name for channel in whole.inputs] == ["last[0]", "last[1]", "last[2]", "last[3]"]
    assert [channel.name for channel in flipped.outputs] == ["first[3]"]
    for i in range(3):
        assert np.array_equal(whole.pairs[i][0].values, last[i].reshape(30, 4))
        assert np.array_equal(whole.pairs[i][1].values, last[i].reshape(30, 4)[:, 1:3])
        assert np.array_equal(flipped.pairs[i][0].values, last[i].reshape(30, 4))
        assert np.array_equal(flipped.pairs[i][1].values, last[i].reshape(30, 4)[:, 3:])


def test_samples_along_the_last_axis(tmp_path):
    a = RNG.normal(size=(7, 3))
    imported = read_npz(saved(tmp_path / "f.npz", a=a), inputs="a", outputs="a", sample_axis=-1)
    assert [pair[0].values[:, 0].tolist() for pair in imported.pairs] == a.T.tolist()


def f(points):
    """A function that tells every point of the plane from every other."""
    return 10 * points[..., 0] + points[..., 1]


def test_axes_mesh_grids_and_decreasing_axes_are_the_same_tensor_grid(tmp_path):
    x, y = np.array([0.0, 0.1, 0.4, 1.0]), np.array([-1.0, 0.5, 2.0])
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)
    values = f(grid)[None]
    turned_x, turned_y = np.meshgrid(x, y)
    path = saved(
        tmp_path / "f.npz", x=x, y=y, back=y[::-1], X=grid[..., 0], Y=grid[..., 1], TX=turned_x, TY=turned_y,
        u=values, flipped=values[:, :, ::-1], turned=values.transpose(0, 2, 1),
    )  # fmt: skip
    for coordinates, name in (("x,y", "u"), ("x,back", "flipped"), ("X,Y", "u"), ("TX,TY", "turned")):
        field = read_npz(path, coordinates=coordinates, inputs=name, outputs=name).pairs[0][0]
        assert field.discretization.shape == (4, 3), coordinates
        assert field.discretization.bounds.tolist() == [[0, 1], [-1, 2]]
        assert np.array_equal(field.values[:, 0], f(field.discretization.points.numpy())), coordinates


def test_points_shared_per_sample_and_curvilinear(tmp_path):
    shared = RNG.uniform(size=(20, 2))
    own = RNG.uniform(size=(4, 20, 2))
    curved = shared.reshape(5, 4, 2) * [1, 2]
    path = saved(
        tmp_path / "f.npz", shared=shared, own=own, x=own[..., 0], y=own[..., 1], X=curved[..., 0], Y=curved[..., 1],
        at_shared=np.tile(f(shared), (4, 1)), at_own=f(own), at_curved=np.tile(f(curved), (4, 1, 1)),
    )  # fmt: skip
    for coordinates, name in (("shared", "at_shared"), ("own", "at_own"), ("x,y", "at_own"), ("X,Y", "at_curved")):
        imported = read_npz(path, coordinates=coordinates, inputs=name, outputs=name)
        boxes = {str(pair[0].discretization.bounds.tolist()) for pair in imported.pairs}
        assert len(boxes) == 1, "all samples share one domain"
        for pair in imported.pairs:
            field = pair[0]
            assert field.discretization.axes is None
            assert np.array_equal(field.values[:, 0], f(field.discretization.points.numpy())), coordinates
    fields = read_npz(path, coordinates="shared", inputs="at_shared", outputs="at_shared").pairs
    assert fields[0][0].discretization is fields[3][1].discretization


def test_one_dimensional_points_in_any_order_and_other_output_points(tmp_path):
    x, y = RNG.permutation(np.linspace(0, 1, 9)), RNG.uniform(size=(12, 2))
    path = saved(tmp_path / "f.npz", x=x, y=y, a=np.tile(x, (3, 1)), u=np.tile(f(y), (3, 1)))
    a, u = read_npz(path, coordinates="x", output_coordinates="y", inputs="a", outputs="u").pairs[1]
    assert np.array_equal(a.values, a.discretization.points)
    assert np.array_equal(u.values[:, 0], f(u.discretization.points.numpy()))
    assert u.discretization.bounds.tolist() == np.stack([y.min(0), y.max(0)], axis=1).tolist()


def test_bounds_periodicity_and_rule_are_those_asked_for(tmp_path):
    x = RNG.uniform(size=(30, 2))
    path = saved(tmp_path / "f.npz", x=x, u=np.ones((2, 30)), t=np.arange(8) * 0.25, v=np.ones((2, 8)))
    options = {"inputs": "u", "outputs": "u", "coordinates": "x", "bounds": [(0, 1), (-1, 1)], "rule": "monte-carlo"}
    at = read_npz(path, **options).pairs[0][0].discretization
    assert at.bounds.tolist() == [[0, 1], [-1, 1]]
    assert torch.all(at.weights == 2 / 30)
    wrapped = read_npz(path, inputs="v", outputs="v", coordinates="t", periodic=True).pairs[0][0].discretization
    assert wrapped.bounds.tolist() == [[0, 2]], "an even periodic axis is closed by one step more"
    with pytest.raises(InvalidInputError, match=r"f\.npz: sample 0: points on a periodic axis .* give it by bounds"):
        read_npz(path, inputs="u", outputs="u", coordinates="x", periodic=True)


def test_float32_axes_become_exactly_uniform(tmp_path):
    x = (np.arange(1000) / 999).astype(np.float32)
    path = saved(tmp_path / "f.npz", x=x, u=np.ones((1, 1000)))
    axis = read_npz(path, inputs="u", outputs="u", coordinates="x").pairs[0][0].discretization.axes[0].numpy()
    assert np.abs(axis - x).max() < 1e-7
    assert np.allclose(np.diff(axis), np.diff(axis)[0], rtol=1e-9)


@pytest.mark.parametrize("dtype", [">f8", ">i2", "?", "f2", "u8"])
def test_other_number_types_keep_their_values(tmp_path, dtype):
    a = np.array([[0, 1, 3]]).astype(dtype)
    values = read_npz(saved(tmp_path / "f.npz", a=a), inputs="a", outputs="a").pairs[0][0].values
    assert values.dtype == (torch.float32 if dtype == "f2" else torch.float64)
    assert values[:, 0].tolist() == a[0].astype(float).tolist()


class Payload:
    """What a hostile file holds: unpickling it makes a folder."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


def test_pickled_objects_are_refused_before_anything_is_executed(tmp_path):
    marker = tmp_path / "executed"
    hostile = np.empty((2, 3), dtype=object)
    hostile[:] = Payload(marker)
    objects = saved(tmp_path / "objects.npz", a=hostile, u=np.ones((2, 3)))
    bare = tmp_path / "bare.npz"
    with zipfile.ZipFile(bare, "w") as archive:
        archive.writestr("a.npy", pickle.dumps(Payload(marker)))
    structured = saved(tmp_path / "structured.npz", a=np.zeros((2, 3), dtype=[("x", "f8"), ("y", "O")]))
    with pytest.raises(InvalidInputError, match=r"objects\.npz: array 'a': is made of Python objects"):
        read_npz(objects, inputs="a", outputs="u")
    with pytest.raises(InvalidInputError, match=r"bare\.npz: array 'a': cannot be read as a NumPy array"):
        read_npz(bare, inputs="a", outputs="a")
    with pytest.raises(InvalidInputError, match=r"structured\.npz: array 'a': is made of structures"):
        read_npz(structured, inputs="a", outputs="a")
    assert not marker.exists()
    with np.load(objects, allow_pickle=True) as executed:
        executed["a"]
    assert marker.exists(), "the payload works, so the test above means something"


def test_a_small_file_that_claims_a_huge_array_is_refused_from_its_header(tmp_path):
    path = tmp_path / "bomb.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000, 1000), }"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\x00" * 80)
    with pytest.raises(InvalidInputError, match=r"bomb\.npz: array 'a': shape .* needs 8000000000000000 bytes"):
        read_npz(path, inputs="a", outputs="a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": "b"}, r"f\.npz: no array 'b'; there are: a, u, short, z, s, x, few"),
        ({"inputs": "short"}, r"f\.npz: 'u' has 4 samples, but 'short' has 3"),
        ({"inputs": "z"}, r"f\.npz: array 'z': is complex; store real and imaginary part"),
        ({"inputs": "s"}, r"f\.npz: array 's': is text, not numbers"),
        ({"inputs": "x"}, r"f\.npz: 'x' has shape \(6,\), but needs an axis of samples"),
        ({"inputs": "a[0]"}, r"f\.npz: a\[0\] has 1 indices, but array 'a' has 0 channel axes"),
        ({"inputs": "a", "coordinates": "few"}, r"'a': coordinates of shape \(5,\) do not fit values of shape \(6,\)"),
        ({"inputs": "a", "coordinates": "x", "dim": 1}, r"dim is for arrays without coordinates"),
        ({"inputs": "a,a"}, r"inputs: the same name twice"),
        ({"inputs": ""}, r"names must not be empty"),
        ({"inputs": "a", "units": {"b": "m"}}, r"units: 'b' is not among the channels a, u"),
        ({"inputs": "a", "rule": "guess"}, r"rule must be 'cells' or 'monte-carlo', got 'guess'"),
        ({"inputs": "a", "channels": "middle"}, r"channels must be 'last' or 'first'"),
        ({"inputs": "a", "dim": 3}, r"dim is 3, but an array of one sample has shape \(6,\)"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, options, message):
    path = saved(
        tmp_path / "f.npz", a=np.ones((4, 6)), u=np.ones((4, 6)), short=np.ones((3, 6)), z=np.ones((4, 6)) * 1j,
        s=np.array([["a", "b"]] * 4), x=np.arange(6.0), few=np.arange(5.0),
    )  # fmt: skip
    with pytest.raises(InvalidInputError, match=message):
        read_npz(path, outputs="u", **options)


@pytest.mark.parametrize(("bad", "text"), [(np.nan, "nan"), (np.inf, "inf")])
def test_a_number_that_is_not_finite_is_named_by_sample_channel_and_point(tmp_path, bad, text):
    u = np.ones((4, 6, 2))
    u[2, 5, 1] = bad
    imported = read_npz(saved(tmp_path / "f.npz", u=u), inputs="u[0]", outputs="u", dim=1)
    assert imported.pairs[1][1].values.shape == (6, 2)
    with pytest.raises(InvalidInputError, match=rf"f\.npz: sample 2: channel u\[1\], point 5 is {text}"):
        list(imported.pairs)
    x = np.array([0.0, bad, 1.0])
    path = saved(tmp_path / "g.npz", x=x, u=np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match=rf"g\.npz: sample 0: coordinate 'x', entry \[1\] is {text}"):
        read_npz(path, coordinates="x", inputs="u", outputs="u")

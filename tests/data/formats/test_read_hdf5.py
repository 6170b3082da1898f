"""HDF5 files of the user, stacked or with a group for each sample; and files whose data lie elsewhere."""

import h5py
import numpy as np
import pytest

from iaenet.data.formats.hdf5 import read_hdf5
from iaenet.errors import InvalidInputError

RNG = np.random.default_rng(2)


def test_stacked_data_sets_with_axes_and_channels(tmp_path):
    x, y = np.linspace(0, 2, 9), np.linspace(-1, 1, 7)
    a, u = RNG.normal(size=(5, 9, 7)), RNG.normal(size=(5, 9, 7, 3)).astype(np.float32)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("in/a", data=a, chunks=(2, 9, 7), compression="lzf", shuffle=True)
        file["u"], file["grid/x"], file["grid/y"] = u, x, y
        file.attrs["viscosity"], file.attrs["author"], file.attrs["table"] = 0.01, "me", [1, 2]
        file["again"] = h5py.SoftLink("/in/a")
    path = tmp_path / "f.h5"
    imported = read_hdf5(path, coordinates="grid/x,grid/y", inputs="in/a,again", outputs="u[2]")
    assert imported.parameters == {"viscosity": 0.01, "author": "me"}
    for i, (given, wanted) in enumerate(imported.pairs):
        assert np.array_equal(given.values, np.stack([a[i].ravel()] * 2, axis=1))
        assert np.array_equal(wanted.values[:, 0], u[i, :, :, 2].ravel())
        assert given.discretization.bounds.tolist() == [[0, 2], [-1, 1]]


def test_a_group_for_each_sample_each_with_its_own_points(tmp_path):
    points = [RNG.uniform(size=(n, 2)) for n in (11, 5, 8)]
    with h5py.File(tmp_path / "f.h5", "w") as file:
        for name, x in zip(("s1", "s2", "s10"), points, strict=True):
            file[f"runs/{name}/points"], file[f"runs/{name}/u"] = x, x[:, 0] - 2 * x[:, 1]
    pairs = read_hdf5(tmp_path / "f.h5", coordinates="points", inputs="u", outputs="u", groups="runs").pairs
    assert [pair[0].discretization.n for pair in pairs] == [11, 5, 8], "in order of number"
    everything = np.concatenate(points)
    box = np.stack([everything.min(0), everything.max(0)], axis=1).tolist()
    for pair, x in zip(pairs, points, strict=True):
        assert np.array_equal(pair[0].discretization.points, x)
        assert np.array_equal(pair[0].values[:, 0], x[:, 0] - 2 * x[:, 1])
        assert pair[0].discretization.bounds.tolist() == box


def test_a_sample_that_lacks_something_is_named(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        for name, n in (("s1", 4), ("s2", 4), ("s3", 3)):
            file[f"{name}/x"], file[f"{name}/u"] = np.arange(4.0), np.ones(n)
        file["s2/v"] = np.ones(4)
    path = tmp_path / "f.h5"
    options = {"coordinates": "x", "inputs": "u", "outputs": "u", "groups": "/"}
    with pytest.raises(InvalidInputError, match=r"f\.h5: sample '/s3': .*\(4,\) do not fit values of shape \(3,\)"):
        read_hdf5(path, **options)
    with pytest.raises(InvalidInputError, match=r"f\.h5: no data set '/s1/v'; there are: /s1/u, /s1/x"):
        read_hdf5(path, **{**options, "inputs": "v"})
    with pytest.raises(InvalidInputError, match=r"f\.h5: no group 'runs'"):
        read_hdf5(path, **{**options, "groups": "runs"})
    with pytest.raises(InvalidInputError, match=r"f\.h5: no groups within 's1', so no samples"):
        read_hdf5(path, **{**options, "groups": "s1"})


def secret(tmp_path):
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["a"] = np.full((2, 3), 42.0)
    np.full((2, 3), 42.0).tofile(tmp_path / "secret.bin")


def external_link(file):
    file["a"] = h5py.ExternalLink("secret.h5", "/a")


def soft_link_through_an_external_one(file):
    file["out"] = h5py.ExternalLink("secret.h5", "/")
    file["a"] = h5py.SoftLink("/out/a")


def external_storage(file):
    file.create_dataset("a", (2, 3), "f8", external=[("secret.bin", 0, 48)])


def virtual(file):
    layout = h5py.VirtualLayout((2, 3), "f8")
    layout[:] = h5py.VirtualSource("secret.h5", "a", (2, 3))
    file.create_virtual_dataset("a", layout)


def hidden_deep_inside(file):
    file["a"] = np.ones((2, 3))
    file["b/c/d"] = h5py.ExternalLink("secret.h5", "/a")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (external_link, "'a' is an external link"),
        (soft_link_through_an_external_one, "'out' is an external link"),
        (external_storage, "'a' is stored in another file"),
        (virtual, "'a' is a virtual data set"),
        (hidden_deep_inside, "'b/c/d' is an external link"),
    ],
)
def test_data_in_other_files_is_refused_before_it_is_read(tmp_path, monkeypatch, make, message):
    monkeypatch.chdir(tmp_path)
    secret(tmp_path)
    with h5py.File("f.h5", "w") as file:
        make(file)
    with h5py.File("f.h5") as file:
        assert np.asarray(file["a"]).shape == (2, 3), "without the look, it would be read"
    with pytest.raises(InvalidInputError, match=rf"f\.h5: {message}: data in other files is not read"):
        read_hdf5("f.h5", inputs="a", outputs="a")


def test_a_filter_that_would_be_loaded_from_a_library_is_refused(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((2, 3))
        plist.set_filter(32001, h5py.h5z.FLAG_OPTIONAL)  # blosc
        h5py.h5d.create(file.id, b"a", h5py.h5t.NATIVE_DOUBLE, h5py.h5s.create_simple((2, 3)), plist)
    with pytest.raises(InvalidInputError, match=r"'a' is compressed by a filter that is not part of HDF5"):
        read_hdf5(tmp_path / "f.h5", inputs="a", outputs="a")


def test_parts_that_were_never_written_do_not_read_as_zeros(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        half = file.create_dataset("half", (4, 6), "f8", chunks=(1, 6))
        half[:2] = 1.0
        file.create_dataset("none", (4, 6), "f8")
        file["whole"] = np.ones((4, 6))
        file.create_dataset("bomb", (2**40, 2**20), "f8", chunks=(2**10, 2**10))
        file.create_dataset("empty", (0, 6), "f8")
        file["text"] = ["a", "b", "c", "d"]
        file["group/x"] = 1.0
    for name, message in (
        ("half", "'half': 2 of 4 parts were never written"),
        ("none", "'none': 1 of 1 parts were never written"),
        ("bomb", "'bomb': 1099511627776 of 1099511627776 parts were never written"),
        ("empty", "'empty': is empty"),
        ("text", "'text': is made of Python objects or references"),
        ("group", "'group': is a group, not a data set"),
        ("nothing", "no array 'nothing'; there are: bomb, empty, group/x, half, none, text, whole"),
    ):
        with pytest.raises(InvalidInputError, match=rf"f\.h5: {message}"):
            read_hdf5(tmp_path / "f.h5", inputs=name, outputs="whole")


def test_samples_are_read_when_asked_for_and_in_blocks(tmp_path, monkeypatch):
    from iaenet.data.reading import stacks

    a = RNG.normal(size=(100, 8))
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["a"] = a
    reads = []
    monkeypatch.setattr(stacks, "BLOCK", 10 * 8 * 8)
    original = h5py.Dataset.__getitem__
    monkeypatch.setattr(
        h5py.Dataset, "__getitem__", lambda self, index: (reads.append(index), original(self, index))[1]
    )
    pairs = read_hdf5(tmp_path / "f.h5", inputs="a", outputs="a").pairs
    assert reads == []
    assert np.array_equal(pairs[57][0].values[:, 0], a[57])
    assert np.array_equal(pairs[51][0].values[:, 0], a[51])
    assert reads == [(slice(50, 60), slice(None))] * 2, "once for the input, once for the output"
    assert [pair[0].values[0].item() for pair in pairs[-3:]] == a[-3:, 0].tolist()

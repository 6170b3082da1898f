"""Files as MATLAB and scipy write them: version 5, and 7.3, whose axes are stored in reverse."""

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse

from iaenet.data.formats.matlab import read_matlab
from iaenet.errors import InvalidInputError

RNG = np.random.default_rng(1)
CLASSES = {"float64": b"double", "float32": b"single", "uint8": b"uint8", "bool": b"logical"}


def save73(path, arrays, **attributes):
    """What `save -v7.3` writes: a block of text, then HDF5 with compressed chunks, axes reversed, classes named."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            stored = np.asarray(array, dtype=np.uint8 if array.dtype == bool else None).T
            dataset = file.create_dataset(
                name, data=stored, chunks=stored.shape, compression="gzip", compression_opts=3
            )
            dataset.attrs["MATLAB_class"] = np.bytes_(attributes.get(name, CLASSES.get(str(array.dtype), b"double")))
    with path.open("r+b") as stream:
        text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024 HDF5 schema 1.00 ."
        stream.write(text.ljust(116) + bytes(8) + b"\x00\x02IM")
    return path


def save5(path, arrays):
    scipy.io.savemat(path, arrays, do_compression=True)
    return path


def save4(path, arrays):
    scipy.io.savemat(path, arrays, format="4")
    return path


@pytest.mark.parametrize("save", [save4, save5, save73])
def test_burgers_as_the_fourier_neural_operator_ships_it(tmp_path, save):
    a, u = RNG.normal(size=(6, 128)), RNG.normal(size=(6, 128))
    imported = read_matlab(save(tmp_path / "b.mat", {"a": a, "u": u}), inputs="a", outputs="u", periodic=True)
    assert len(imported.pairs) == 6
    for i, pair in enumerate(imported.pairs):
        assert np.array_equal(pair[0].values[:, 0], a[i])
        assert np.array_equal(pair[1].values[:, 0], u[i])
        assert pair[0].discretization.points[3, 0] == 3 / 128


@pytest.mark.parametrize("save", [save5, save73])
def test_darcy_and_navier_stokes_as_the_fourier_neural_operator_ships_them(tmp_path, save):
    coeff, sol = np.round(RNG.uniform(3, 12, size=(3, 9, 7))), RNG.normal(size=(3, 9, 7)).astype(np.float32)
    steps = RNG.normal(size=(3, 9, 7, 20))
    path = save(tmp_path / "d.mat", {"coeff": coeff, "sol": sol, "u": steps, "t": np.arange(20.0)[None]})
    imported = read_matlab(path, inputs="coeff,u[0:10]", outputs="sol,u[19]", dim=2)
    assert [channel.name for channel in imported.outputs] == ["sol", "u[19]"]
    for i, (given, wanted) in enumerate(imported.pairs):
        assert np.array_equal(given.values[:, 0], coeff[i].ravel())
        assert np.array_equal(given.values[:, 1:], steps[i, :, :, :10].reshape(63, 10))
        assert np.array_equal(wanted.values[:, 0], sol[i].ravel().astype(float))
        assert np.array_equal(wanted.values[:, 1], steps[i, :, :, 19].ravel())
        assert given.discretization.shape == (9, 7)


@pytest.mark.parametrize("save", [save5, save73])
@pytest.mark.parametrize("column", [False, True])
def test_vectors_are_axes_and_types_are_kept(tmp_path, save, column):
    x, y = np.array([[0.0, 0.5, 2.0]]), np.array([[1.0, 3.0]])
    u = RNG.normal(size=(4, 3, 2)).astype(np.float32)
    u[0] = np.round(u[0])
    flags = np.ones((4, 3, 2), dtype=bool)
    arrays = {"x": x.T if column else x, "y": y.T if column else y, "u": u, "flags": flags}
    pair = read_matlab(save(tmp_path / "v.mat", arrays), inputs="flags", outputs="u", coordinates=["x", "y"]).pairs[2]
    assert pair[1].values.numpy().dtype == np.float32
    assert np.array_equal(pair[1].values[:, 0], u[2].ravel())
    assert pair[0].values.sum() == 6
    assert pair[1].discretization.bounds.tolist() == [[0, 2], [1, 3]]


def test_samples_of_version_73_are_read_in_blocks_not_whole(tmp_path, monkeypatch):
    from iaenet.data.reading import stacks

    a = RNG.normal(size=(50, 16))
    path = save73(tmp_path / "b.mat", {"a": a})
    monkeypatch.setattr(stacks, "BLOCK", 7 * 16 * 8)
    pairs = read_matlab(path, inputs="a", outputs="a").pairs
    for i in (49, 0, 6, 7, 13, 48):
        assert np.array_equal(pairs[i][0].values[:, 0], a[i])


def cells():
    array = np.empty((2, 3), dtype=object)
    array[:] = 1.0
    return array


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (cells(), "cell"),
        ({"field": 1.0}, "struct"),
        ("text", "char"),
        (scipy.sparse.eye(3, format="csc"), "sparse"),
    ],
)
def test_version_5_arrays_that_are_not_numbers_are_refused(tmp_path, array, kind):
    path = save5(tmp_path / "c.mat", {"a": array, "u": np.ones((2, 3))})
    with pytest.raises(InvalidInputError, match=rf"c\.mat: 'a' is of class {kind}, not an array of numbers"):
        read_matlab(path, inputs="a", outputs="u")
    assert len(read_matlab(path, inputs="u", outputs="u").pairs) == 2, "the other arrays can be read"


@pytest.mark.parametrize("kind", [b"cell", b"struct", b"function_handle", b"string", b"char", b"table"])
def test_version_73_objects_are_refused(tmp_path, kind):
    path = save73(tmp_path / "c.mat", {"a": np.ones((2, 3))}, a=kind)
    with pytest.raises(InvalidInputError, match=rf"c\.mat: 'a' is of class {kind.decode()}, not an array of numbers"):
        read_matlab(path, inputs="a", outputs="a")


def test_version_73_structures_complex_sparse_and_empty_arrays_are_refused(tmp_path):
    path = save73(tmp_path / "c.mat", {"a": np.ones((2, 3))})
    with h5py.File(path, "r+") as file:
        file["complex"] = np.zeros((3, 2), dtype=[("real", "f8"), ("imag", "f8")])
        file.create_group("sparse").attrs["MATLAB_sparse"] = np.uint64(3)
        file.create_group("struct").attrs["MATLAB_class"] = np.bytes_(b"struct")
        file["empty"] = np.array([0, 0], dtype=np.uint64)
        file["empty"].attrs["MATLAB_empty"] = np.int32(1)
        file.create_group("#refs#")
    for name, message in (
        ("complex", "'complex': is complex"),
        ("sparse", "'sparse' is of class sparse"),
        ("struct", "'struct' is of class struct"),
        ("empty", "'empty' is empty"),
        ("nothing", "no array 'nothing'; there are: a, complex, empty, sparse, struct"),
    ):
        with pytest.raises(InvalidInputError, match=rf"c\.mat: {message}"):
            read_matlab(path, inputs=name, outputs="a")


def test_complex_arrays_and_nan_of_version_5_are_named(tmp_path):
    u = np.ones((2, 3))
    u[1, 2] = np.nan
    path = save5(tmp_path / "c.mat", {"z": np.ones((2, 3)) * 1j, "u": u})
    with pytest.raises(InvalidInputError, match=r"c\.mat: 'z': is complex"):
        read_matlab(path, inputs="z", outputs="u")
    with pytest.raises(InvalidInputError, match=r"c\.mat: sample 1: channel u, point 2 is nan"):
        list(read_matlab(path, inputs="u", outputs="u").pairs)

"""The three layouts of PDEBench, as its own scripts write them."""

import h5py
import numpy as np
import pytest

from iaenet.data.formats.pdebench import read_pdebench
from iaenet.errors import InvalidInputError

RNG = np.random.default_rng(3)


def centres(n, low=0.0, high=1.0):
    step = (high - low) / n
    return (low + step * (np.arange(n) + 0.5)).astype(np.float32)


def burgers(path):
    """`transform` of Data_Merge.py; t-coordinate has one entry more than there are steps."""
    tensor = RNG.normal(size=(4, 21, 64)).astype(np.float32)
    with h5py.File(path, "w") as file:
        file["tensor"] = tensor
        file["x-coordinate"] = centres(64)
        file["t-coordinate"] = (np.arange(22) * 0.1).astype(np.float32)
        file.attrs["Nu"] = 0.01
    return tensor


def test_scalar_equation_in_one_dimension(tmp_path):
    tensor = burgers(tmp_path / "b.hdf5")
    imported = read_pdebench(tmp_path / "b.hdf5", periodic=True)
    assert imported.parameters["Nu"] == 0.01
    assert imported.parameters["outputs_times"] == pytest.approx([2.0]), "step 20, not the superfluous last time"
    assert [channel.name for channel in imported.inputs + imported.outputs] == ["tensor[0]", "tensor[20]"]
    for i, (given, wanted) in enumerate(imported.pairs):
        assert np.array_equal(given.values[:, 0], tensor[i, 0])
        assert np.array_equal(wanted.values[:, 0], tensor[i, -1])
    at = imported.pairs[0][0].discretization
    assert at.bounds.tolist() == [[0, 1]], "points are centres of cells that cover the domain"
    assert np.allclose(at.weights, 1 / 64, rtol=1e-12)


def test_several_steps_in_and_out(tmp_path):
    tensor = burgers(tmp_path / "b.hdf5")
    imported = read_pdebench(tmp_path / "b.hdf5", input_steps=range(10), output_steps=[10, -1])
    assert np.array_equal(imported.pairs[3][0].values, tensor[3, :10].T)
    assert np.array_equal(imported.pairs[3][1].values, tensor[3, [10, 20]].T)
    assert imported.parameters["inputs_times"] == pytest.approx(np.arange(10) * 0.1)


def test_darcy_flow(tmp_path):
    nu, tensor = RNG.normal(size=(3, 16, 8)).astype(np.float32), RNG.normal(size=(3, 1, 16, 8)).astype(np.float32)
    with h5py.File(tmp_path / "d.hdf5", "w") as file:
        file["nu"], file["tensor"] = nu, tensor
        file["x-coordinate"], file["y-coordinate"] = centres(16), centres(8)
        file.attrs["beta"] = 1.0
    imported = read_pdebench(tmp_path / "d.hdf5")
    assert [channel.name for channel in imported.inputs + imported.outputs] == ["nu", "tensor[0]"]
    for i, (given, wanted) in enumerate(imported.pairs):
        assert np.array_equal(given.values[:, 0], nu[i].ravel())
        assert np.array_equal(wanted.values[:, 0], tensor[i, 0].ravel())
        assert given.discretization.shape == (16, 8)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_compressible_flow_with_a_data_set_for_each_quantity(tmp_path, dim):
    shape = (12, 10, 8)[:dim]
    names = ["density", "pressure", *("Vx", "Vy", "Vz")[:dim]]
    data = {name: RNG.normal(size=(2, 5, *shape)).astype(np.float32) for name in names}
    with h5py.File(tmp_path / "c.hdf5", "w") as file:
        for name, array in data.items():
            file[name] = array
        for axis, n in zip("xyz", shape, strict=False):
            file[f"{axis}-coordinate"] = centres(n, -1, 1)
        file["t-coordinate"] = np.arange(6.0)
        file.attrs["eta"], file.attrs["zeta"], file.attrs["M"] = 1e-8, 1e-8, 0.1
    imported = read_pdebench(
        tmp_path / "c.hdf5", inputs=names, outputs="density,Vx", output_steps=[2, 4], periodic=True, units={"Vx": "m/s"}
    )
    given, wanted = imported.pairs[1]
    assert np.array_equal(given.values, np.stack([data[name][1, 0].ravel() for name in names], axis=1))
    expected = [data[name][1, step].ravel() for step in (2, 4) for name in ("density", "Vx")]
    assert np.array_equal(wanted.values, np.stack(expected, axis=1))
    assert [channel.unit for channel in imported.outputs] == ["1", "m/s"] * 2
    assert given.discretization.bounds.tolist() == [[-1, 1]] * dim


def test_a_group_for_each_sample(tmp_path):
    data = RNG.normal(size=(3, 6, 12, 10, 2)).astype(np.float32)
    with h5py.File(tmp_path / "r.h5", "w") as file:
        for i, sample in enumerate(data):
            group = file.create_group(f"{i:04d}")
            group.create_dataset("data", data=sample, dtype="float32", compression="lzf")
            group.create_dataset("grid/x", data=centres(12, -1, 1), compression="lzf")
            group.create_dataset("grid/y", data=centres(10, -1, 1), compression="lzf")
            group.create_dataset("grid/t", data=np.arange(6.0), compression="lzf")
    imported = read_pdebench(tmp_path / "r.h5", input_steps=[0, 1], output_steps=5)
    assert [channel.name for channel in imported.inputs] == ["data[0,0]", "data[0,1]", "data[1,0]", "data[1,1]"]
    for i, (given, wanted) in enumerate(imported.pairs):
        assert np.array_equal(given.values, data[i, :2].transpose(1, 2, 0, 3).reshape(120, 4))
        assert np.array_equal(wanted.values, data[i, 5].reshape(120, 2))
        assert given.discretization is imported.pairs[0][0].discretization
    assert imported.parameters["outputs_times"] == [5.0]


def test_what_does_not_fit_is_named(tmp_path):
    burgers(tmp_path / "b.hdf5")
    for options, message in (
        ({"inputs": "u"}, r"b\.hdf5: no quantity 'u'; there are: tensor"),
        ({"output_steps": 21}, r"b\.hdf5: no step 21 of 'tensor': there are 21"),
        ({"inputs": "tensor[3]"}, r"b\.hdf5: name the quantity 'tensor' alone"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            read_pdebench(tmp_path / "b.hdf5", **options)
    with h5py.File(tmp_path / "n.h5", "w") as file:
        file["velocity"] = np.ones((2, 3, 4, 4, 2))
        file["meta/note"] = 1.0
    with pytest.raises(InvalidInputError, match=r"n\.h5: not a layout of PDEBench"):
        read_pdebench(tmp_path / "n.h5")
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file["density"], file["pressure"] = np.ones((2, 3, 8)), np.ones((1, 3, 8))
        file["x-coordinate"] = centres(8)
    with pytest.raises(InvalidInputError, match=r"m\.h5: 'pressure' has 1 samples, but 'density' has 2"):
        read_pdebench(tmp_path / "m.h5")

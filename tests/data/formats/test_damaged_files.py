"""Files of every format, cut off, overwritten or absent: one clear error, or the right values; never another end.

And reading changes nothing: every file is the same, byte for byte, afterwards.
"""

import builtins
import hashlib
import importlib
import warnings

import h5py
import numpy as np
import pytest
import scipy.io
import torch

from iaenet.data.formats import FORMATS
from iaenet.errors import InvalidInputError

RNG = np.random.default_rng(8)
A, U = RNG.normal(size=(3, 24)), RNG.normal(size=(3, 24))
X = np.linspace(0, 1, 24)


def npz(folder):
    np.savez_compressed(folder / "f.npz", a=A, u=U)
    return folder / "f.npz", {"inputs": "a", "outputs": "u"}


def pt(folder):
    tensors = {name: torch.from_numpy(values) for name, values in (("x", X), ("a", A), ("u", U))}
    torch.save(tensors, folder / "f.pt")
    return folder / "f.pt", {"coordinates": "x", "inputs": "a", "outputs": "u"}


def mat5(folder):
    scipy.io.savemat(folder / "f.mat", {"a": A, "u": U}, do_compression=True)
    return folder / "f.mat", {"inputs": "a", "outputs": "u"}


def mat73(folder):
    with h5py.File(folder / "g.mat", "w", userblock_size=512) as file:
        for name, array in (("a", A), ("u", U)):
            file.create_dataset(name, data=array.T, chunks=(8, 3), compression="gzip")
            file[name].attrs["MATLAB_class"] = np.bytes_(b"double")
    return folder / "g.mat", {"inputs": "a", "outputs": "u"}


def hdf5(folder):
    with h5py.File(folder / "f.h5", "w") as file:
        file.create_dataset("a", data=A, chunks=(1, 24), fletcher32=True)
        file.create_dataset("u", data=U, chunks=(1, 24), compression="gzip")
    return folder / "f.h5", {"inputs": "a", "outputs": "u"}


def pdebench(folder):
    with h5py.File(folder / "f.hdf5", "w") as file:
        file["tensor"], file["x-coordinate"] = np.stack([A, U], axis=1), X
    return folder / "f.hdf5", {}


def netcdf(folder, engine="h5netcdf"):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    data = xarray.Dataset({"a": (("run", "x"), A), "u": (("run", "x"), U)}, {"x": X})
    data.to_netcdf(folder / f"{engine}.nc", engine=engine)
    return folder / f"{engine}.nc", {"coordinates": "x", "sample": "run", "inputs": "a", "outputs": "u"}


def classic(folder):
    return netcdf(folder, "scipy")


def mesh(folder, suffix="vtu"):
    meshio = pytest.importorskip("meshio")
    points = np.stack(np.meshgrid(range(6), range(4), indexing="ij"), axis=-1).reshape(24, 2)
    points = np.concatenate([points, np.zeros((24, 1))], axis=1).astype(float)
    cells = [[i, i + 4, i + 1] for i in range(19) if i % 4 != 3]
    for i in range(3):
        meshio.Mesh(points, [("triangle", cells)], {"a": A[i], "u": U[i]}).write(folder / f"s{i}.{suffix}")
    return folder / f"s2.{suffix}", {"inputs": "a", "outputs": "u"}


def vtk(folder):
    return mesh(folder, "vtk")


def wfdb(folder):
    package = pytest.importorskip("wfdb")
    digital = np.round(np.stack([A.ravel(), U.ravel()], axis=1) * 1000).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package.wrsamp(
            "r", fs=250, units=["mV"] * 2, sig_name=["a", "u"], d_signal=digital, fmt=["16"] * 2, adc_gain=[1000.0] * 2,
            baseline=[0] * 2, write_dir=str(folder),
        )  # fmt: skip
    return folder / "r.dat", {"inputs": "a", "outputs": "u", "window": 24}


def csv(folder):
    for i in range(3):
        rows = "".join(f"{x!r},{a!r},{u!r}\n" for x, a, u in zip(X.tolist(), A[i].tolist(), U[i].tolist(), strict=True))
        (folder / f"s{i}.csv").write_text("x,a,u\n" + rows)
    return folder / "s2.csv", {"coordinates": "x", "inputs": "a", "outputs": "u"}


WRITERS = {
    npz: "npz", pt: "pt", mat5: "mat", mat73: "mat", hdf5: "hdf5", pdebench: "pdebench", netcdf: "netcdf",
    classic: "netcdf", mesh: "mesh", vtk: "mesh", wfdb: "wfdb", csv: "csv",
}  # fmt: skip
FOLDERS = (mesh, vtk, wfdb, csv)
every_format = pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)


def attempt(write, path, options):
    """All values, or the message of the refusal; any other error fails the test."""
    source = path.parent if write in FOLDERS else path
    try:
        pairs = list(FORMATS[WRITERS[write]].read(source, **options).pairs)
    except InvalidInputError as error:
        message = str(error)
        assert "\n" not in message
        # Bounds are those of all files together, and refused with the first.
        assert path.name in message or path.with_suffix(".hea").name in message or ": bounds [[" in message, message
        return message
    if len({given.discretization.n for given, _ in pairs}) > 1:
        return "another number of points"
    return np.stack([np.concatenate([given.values[:, 0], wanted.values[:, 0]]) for given, wanted in pairs])


@every_format
def test_reading_changes_nothing(tmp_path, write):
    path, options = write(tmp_path)
    before = {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in tmp_path.iterdir()}
    values = attempt(write, path, options)
    expected = np.concatenate([A, U], axis=1)
    assert np.allclose(values, np.round(expected, 3) if write is wfdb else expected, rtol=0, atol=1e-12)
    assert {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("write", [each for each in WRITERS if each is not csv], ids=lambda each: each.__name__)
def test_a_file_cut_off_anywhere_is_refused_or_still_whole(tmp_path, write):
    path, options = write(tmp_path)
    whole = path.read_bytes()
    good = attempt(write, path, options)
    refused = 0
    lengths = np.unique(np.linspace(0, len(whole) - 1, 60).astype(int))
    for length in lengths.tolist():
        path.write_bytes(whole[:length])
        outcome = attempt(write, path, options)
        if isinstance(outcome, str):
            refused += 1
        else:
            assert np.array_equal(outcome, good), f"cut off after {length} of {len(whole)} bytes"
    assert refused >= 0.9 * len(lengths)


def test_a_csv_file_cut_off_within_a_row_is_refused(tmp_path):
    path, options = csv(tmp_path)
    whole = path.read_text()
    for row in range(1, 25):
        start = sum(len(line) + 1 for line in whole.split("\n")[:row])
        path.write_text(whole[: start + whole[start:].index(",") + 5])
        assert f"s2.csv: row {row + 1}: 2 cells" in attempt(csv, path, options)


# Not NetCDF 4: where the heap that its dimensions refer to is damaged, the HDF5 library itself may never come back.
@pytest.mark.parametrize("write", [each for each in WRITERS if each is not netcdf], ids=lambda each: each.__name__)
def test_bytes_overwritten_anywhere_never_end_in_another_error(tmp_path, write):
    path, options = write(tmp_path)
    whole = path.read_bytes()
    good = attempt(write, path, options)
    rng = np.random.default_rng(9)
    for byte in np.unique(np.linspace(0, len(whole) - 1, 100).astype(int)).tolist():
        damaged = bytearray(whole)
        damaged[byte] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        outcome = attempt(write, path, options)
        if write is npz and not isinstance(outcome, str):
            assert np.array_equal(outcome, good), "an archive has checksums"


@every_format
def test_a_path_that_is_not_there_is_refused(tmp_path, write):
    path, options = write(tmp_path)
    absent = tmp_path / "absent" / path.name
    with pytest.raises(InvalidInputError, match="no such file"):
        FORMATS[WRITERS[write]].read(absent, **options)


@every_format
def test_a_file_of_another_format_is_refused(tmp_path, write, caplog):
    path, options = write(tmp_path)
    path.write_bytes(b"\x7fELF" + RNG.bytes(4000))
    outcome = attempt(write, path, options)
    if write is wfdb:  # any bytes are samples, but they have a checksum
        assert "signal a does not match its checksum" in caplog.text
    else:
        assert isinstance(outcome, str)


@pytest.mark.parametrize(
    ("write", "package", "extra"),
    [(netcdf, "xarray", "netcdf"), (netcdf, "h5netcdf", "netcdf"), (mesh, "meshio", "mesh"), (wfdb, "wfdb", "ecg")],
)
def test_a_package_that_is_not_installed_is_named_with_its_extra(tmp_path, monkeypatch, write, package, extra):
    path, options = write(tmp_path)
    real = importlib.import_module

    def without(name, *rest):
        if name == package:
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(InvalidInputError, match=rf"package {package}, .* pip install iaenet\[{extra}\]"):
        FORMATS[WRITERS[write]].read(path.parent if write in FOLDERS else path, **options)


def test_readers_of_arrays_need_no_extra(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        assert name.split(".")[0] not in ("xarray", "meshio", "wfdb", "pandas", "h5netcdf"), name
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    for write in (npz, mat5, mat73, hdf5, pdebench, csv):
        path, options = write(tmp_path)
        assert isinstance(attempt(write, path, options), np.ndarray)

"""Small files that claim, or expand to, more than anybody has: refused from their headers."""

import zipfile

import h5py
import numpy as np
import pytest
import torch

from tests.attacks.base import mistake


def test_bombs(here, capsys):
    fast = zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with fast as archive, archive.open("a.npy", "w") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (64, 10**6)})
        for _ in range(64):
            stream.write(bytes(8 * 10**6))
    with h5py.File("bomb.h5", "w") as file:
        file.create_dataset("a", shape=(2, 10**5, 1000), chunks=(1, 10**5, 1000), compression=1, dtype="f4")
        file["a"][0, 0, 0] = file["a"][1, 0, 0] = 1
    claims = "DATASET STRUCTURED_POINTS\nDIMENSIONS 300 300 300\nORIGIN 0 0 0\nSPACING 1 1 1\nPOINT_DATA 27000000\n"
    (here / "bomb.vtk").write_text(
        f"# vtk DataFile Version 3.0\nx\nASCII\n{claims}SCALARS a float\nLOOKUP_TABLE default\n"
    )
    for kind, file, message in (
        ("npz", "bomb.npz", "needs 512 MB of memory, but only 256 MB"),
        ("hdf5", "bomb.h5", "needs 400 MB of memory"),
        ("mesh", "bomb.vtk", "claims DIMENSIONS 300 300 300, but has"),
    ):
        assert message in mistake(capsys, "import", kind, file, "--inputs", "a", "--outputs", "a", "--out", "i.h5")


def test_bombs_of_named_dimensions_and_tensors(here, capsys):
    """Each would be allocated as the file is opened, or by the first sample."""
    import zlib

    import zarr

    deep = {"t": torch.zeros(3, 4)}
    for _ in range(30):
        deep = {"a": deep, "b": deep}
    torch.save(deep, "deep.pt")
    torch.save({"a": torch.zeros(1).expand(2, 10**9), "u": torch.zeros(2, 4)}, "expanded.pt")
    with h5py.File("index.nc", "w") as file:
        index = file.create_dataset("x", shape=(4 * 10**8,), chunks=(10**6,), compression="gzip", dtype="f4")
        packed = zlib.compress(bytes(4 * 10**6))
        for i in range(400):
            index.id.write_direct_chunk((i * 10**6,), packed)
        index.make_scale("x")
        file["a"] = np.zeros((2, 3))
    group = zarr.open_group("bomb.zarr", mode="w")
    group.create_array("a", shape=(2, 10**8), chunks=(1, 10**6), dtype="f4")[0, :10] = 1.0
    group.create_array("u", shape=(2, 8), dtype="f4")[:] = 1.0
    (here / "claims.nc").write_bytes(b"CDF\x01" + bytes(4) + b"\0\0\0\x0a\x7f\xff\xff\xff")
    for kind, file, more, message in (
        ("pt", "deep.pt", (), "more than 100000 entries"),
        ("pt", "expanded.pt", (), "needs 8 GB of memory, but only 256 MB"),
        ("netcdf", "index.nc", ("--coordinates", "x"), "needs 1.6 GB of memory, but only 256 MB"),
        ("netcdf", "claims.nc", ("--coordinates", "x"), "claims 2147483647 dimensions"),
        ("zarr", "bomb.zarr", ("--empty_chunks", "fill"), "needs 800 MB of memory, but only 256 MB"),
    ):
        given = ("import", kind, file, "--inputs", "a", "--outputs", "u", *more, "--out", "i.h5")
        assert message in mistake(capsys, *given)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize("header", ["rec 1 0 40\nrec.dat 16 200 16 0 0 0 0 MLII\n", "rec 1 250 40\nrec.dat 16 200\n"])
def test_records_without_rate_or_names(header, tmp_path, capsys):
    (tmp_path / "rec.hea").write_text(header)
    np.zeros(40, "<i2").tofile(tmp_path / "rec.dat")
    said = mistake(
        capsys, "import", "wfdb", tmp_path / "rec", "--inputs", "MLII", "--outputs", "MLII", "--window", "20",
        "--out", tmp_path / "i.h5",
    )  # fmt: skip
    assert "rate of 0" in said or "has no name" in said

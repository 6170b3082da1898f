"""A small sound file of each format, and a run, for the fuzzer to damage."""

import shutil
from pathlib import Path

import numpy as np

# How a format is read, if not with inputs a and outputs u.
OPTIONS = {
    "csv": {"inputs": "a", "outputs": "u", "coordinates": "x"},
    "mesh": {"inputs": "a", "outputs": "u", "coordinates": "x"},
    "netcdf": {"inputs": "a", "outputs": "u", "coordinates": "x", "sample": "i"},
    "wfdb": {"inputs": "a", "outputs": "a", "window": 8},
    "fecgsyndb": {"leads": [1], "window": 8},
    "pdebench": {},
    "data": {},
}


def make_sound_files(folder: Path, base: Path) -> None:
    """`sound/KIND.SUFFIX` for every format, some of them folders; beside it the run and the data of `base`."""
    sound = folder / "sound"
    sound.mkdir()
    shutil.copy(base / "csv" / "s0.csv", sound / "csv.csv")
    shutil.copy(base / "waves.h5", sound / "data.h5")
    shutil.copy(base / "waves.h5", folder / "waves.h5")
    shutil.copytree(base / "csv", folder / "csv")
    shutil.copytree(base / "run", folder / "sound-run")
    shutil.copytree(base / "run", folder / "run")
    rng = np.random.default_rng(0)
    a, u = rng.random((3, 8)), rng.random((3, 8))
    _arrays(sound, a, u)
    _named_dimensions(sound, a, u)
    _meshes(sound, a, u)
    for name, place in (("wfdb", sound / "wfdb"), ("fecgsyndb", sound / "fecgsyndb/sub01/snr00dB")):
        place.mkdir(parents=True)
        for record in ("signal",) if name == "wfdb" else ("sub01_snr00dB_l1_mecg", "sub01_snr00dB_l1_fecg1"):
            (place / f"{record}.hea").write_text(f"{record} 1 250 32\n{record}.dat 16 200 16 0 0 0 0 a\n")
            np.arange(32, dtype="<i2").tofile(place / f"{record}.dat")


def _arrays(sound: Path, a: np.ndarray, u: np.ndarray) -> None:
    import h5py
    import scipy.io
    import torch

    np.savez(sound / "npz.npz", a=a, u=u)
    scipy.io.savemat(sound / "mat.mat", {"a": a, "u": u})
    torch.save({"a": torch.from_numpy(a), "u": torch.from_numpy(u)}, sound / "pt.pt")
    torch.save([{"a": torch.from_numpy(a[0]), "u": torch.from_numpy(u[0])}], sound / "pt.list.pt")
    with h5py.File(sound / "hdf5.h5", "w") as file:
        file.create_dataset("a", data=a, compression="gzip")
        file["u"] = u
    with h5py.File(sound / "pdebench.h5", "w") as file:
        file["tensor"], file["x-coordinate"] = np.stack([a, u], axis=1), (np.arange(8) + 0.5) / 8
        file["t-coordinate"] = [0.0, 1.0]
        file.attrs["Nu"] = 0.1


def _named_dimensions(sound: Path, a: np.ndarray, u: np.ndarray) -> None:
    import xarray
    import zarr

    found = xarray.Dataset({"a": (("i", "x"), a), "u": (("i", "x"), u)}, {"x": np.arange(8) / 8})
    found.to_netcdf(sound / "netcdf.nc", engine="h5netcdf")
    found.to_netcdf(sound / "netcdf.classic.nc", engine="scipy")
    group = zarr.open_group(sound / "zarr.zarr", mode="w")
    group["a"], group["u"] = a, u
    old = zarr.open_group(sound / "zarr.old.zarr", mode="w", zarr_format=2)
    old["a"], old["u"] = a, u


def _meshes(sound: Path, a: np.ndarray, u: np.ndarray) -> None:
    import meshio

    points = np.stack([np.arange(4.0), np.zeros(4), np.zeros(4)], axis=1)
    mesh = meshio.Mesh(points, [("line", [[0, 1], [1, 2], [2, 3]])], point_data={"a": a[0, :4], "u": u[0, :4]})
    meshio.vtu.write(str(sound / "mesh.vtu"), mesh, binary=False)
    meshio.vtu.write(str(sound / "mesh.binary.vtu"), mesh, binary=True)
    meshio.vtk.write(str(sound / "mesh.vtk"), mesh)

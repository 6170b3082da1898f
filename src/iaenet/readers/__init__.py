"""Readers that bring the user's own files into pairs of fields: `READERS[format](path, ...) -> Imported`."""

from collections.abc import Callable

from iaenet.readers.csv_folder import read_csv_folder
from iaenet.readers.fecgsyndb import read_fecgsyndb
from iaenet.readers.hdf5 import read_hdf5
from iaenet.readers.imported import Imported
from iaenet.readers.matlab import read_matlab
from iaenet.readers.meshes import read_meshes
from iaenet.readers.netcdf import read_netcdf
from iaenet.readers.npz import read_npz
from iaenet.readers.pdebench import read_pdebench
from iaenet.readers.wfdb_records import read_wfdb

READERS: dict[str, Callable[..., Imported]] = {
    "npz": read_npz,
    "mat": read_matlab,
    "hdf5": read_hdf5,
    "pdebench": read_pdebench,
    "netcdf": read_netcdf,
    "mesh": read_meshes,
    "wfdb": read_wfdb,
    "fecgsyndb": read_fecgsyndb,
    "csv": read_csv_folder,
}

__all__ = [
    "READERS",
    "Imported",
    "read_csv_folder",
    "read_fecgsyndb",
    "read_hdf5",
    "read_matlab",
    "read_meshes",
    "read_netcdf",
    "read_npz",
    "read_pdebench",
    "read_wfdb",
]

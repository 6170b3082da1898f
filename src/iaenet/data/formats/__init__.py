"""Readers that bring the user's own files into pairs of fields: `READERS[format](path, ...) -> Imported`."""

from collections.abc import Callable

from iaenet.data.formats.csv_folder import read_csv_folder
from iaenet.data.formats.fecgsyndb import read_fecgsyndb
from iaenet.data.formats.hdf5 import read_hdf5
from iaenet.data.formats.matlab import read_matlab
from iaenet.data.formats.meshes import read_meshes
from iaenet.data.formats.netcdf import read_netcdf
from iaenet.data.formats.npz import read_npz
from iaenet.data.formats.pdebench import read_pdebench
from iaenet.data.formats.wfdb_records import read_wfdb
from iaenet.data.reading.imported import Imported

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

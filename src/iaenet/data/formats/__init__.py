"""Formats of the user's files, by the names that the command line knows them by; a file of this folder for each.

A line of the table is all that a new format needs beside its file, which defines a `Format`.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from iaenet.data.lazy_registry import LazyRegistry

if TYPE_CHECKING:
    from iaenet.data.formats.format import Format

DATA = "data"  # files of our own: predicted from and written, but never imported

FORMATS: "LazyRegistry[Format]" = LazyRegistry(
    __name__,
    {
        "csv": ("csv_folder:FORMAT", "a folder of CSV files, a sample each: a row for each point"),
        "npz": ("npz:FORMAT", "NumPy archive: arrays with all samples"),
        "pt": ("torch_tensors:FORMAT", "PyTorch file: tensors with all samples, or a list with a dict for each"),
        "mat": ("matlab:FORMAT", "MATLAB file of any version: arrays with all samples"),
        "hdf5": ("hdf5:FORMAT", "HDF5: data sets with all samples, or a group for each"),
        "pdebench": ("pdebench:FORMAT", "HDF5 as PDEBench lays it out"),
        "netcdf": ("netcdf:FORMAT", "NetCDF: files with a dimension of samples, or a folder of files, a sample each"),
        "zarr": ("zarr_store:FORMAT", "zarr store: a folder with a dimension of samples, or arrays with all samples"),
        "mesh": ("meshes:FORMAT", "a folder of VTU or VTK meshes with data at their points, a sample each"),
        "wfdb": ("wfdb_records:FORMAT", "WFDB records (PhysioNet), cut into windows"),
        "fecgsyndb": ("fecgsyndb:FORMAT", "the PhysioNet database of that name, as downloaded"),
        DATA: ("data_file:FORMAT", "data file of iaenet"),
    },
)


def format_of_store(path: "str | os.PathLike[str]") -> str | None:
    """The format of a folder that is one file, such as a zarr store; None for all else.

    >>> format_of_store("runs") is None
    True
    """
    name = format_names().get(Path(path).suffix.lower())
    return name if name is not None and FORMATS[name].store and Path(path).is_dir() else None


def format_names() -> dict[str, str]:
    """The format of each suffix that tells it.

    >>> format_names()[".vtu"], format_names()[".h5"]
    ('mesh', 'hdf5')
    """
    return {suffix: name for name, each in FORMATS.items() for suffix in each.suffixes}

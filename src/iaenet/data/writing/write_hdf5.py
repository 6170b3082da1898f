"""HDF5 with named data sets."""

from collections.abc import Mapping
from pathlib import Path

import h5py

from iaenet.data.file_format import as_json, to_bytes
from iaenet.data.writing.output import Output
from iaenet.data.writing.stacked import Named, arrays, sample_arrays


def write_hdf5(path: Path, output: Output) -> None:
    """Data sets with all samples; or, where they do not fit together, a group for each, under its name."""
    samples = [(sample.name, sample.made) for sample in output.samples]
    found = arrays([made for _, made in samples], output)
    with h5py.File(path, "w", libver="latest") as file:
        file.attrs["origin"] = to_bytes(as_json(output.origin, "origin")).decode()
        if found is not None:
            _write(file, found)
        else:
            loose = any(made.discretization.axes is None for _, made in samples)  # then grids too are points
            for name, made in samples:
                _write(file.create_group(name), sample_arrays(made, output, flat=loose))


def _write(group: h5py.Group, found: Mapping[str, Named]) -> None:
    for name, each in found.items():
        stored = group.create_dataset(name, data=each.values, fletcher32=True, chunks=True, track_times=False)
        stored.attrs["units"] = each.unit

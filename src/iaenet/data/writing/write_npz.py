"""NumPy archives."""

import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from iaenet.data.writing.output import Output
from iaenet.data.writing.stacked import stacked


def write_npz(path: Path, output: Output) -> None:
    """Coordinates and channels as arrays under their names, see `iaenet.data.writing.stacked.arrays`."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, each in stacked(output).items():
            # Not numpy.savez, which cannot name an array `file`, and puts the time into the archive.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as stream:
                npy.write_array(stream, np.ascontiguousarray(each.values), allow_pickle=False)

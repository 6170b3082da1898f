"""Writers of predictions: `WHOLE[family]` writes all samples to one file, `EACH[family]` one sample to each file."""

from collections.abc import Callable
from pathlib import Path

from iaenet.data.writing.output import Output, Sample
from iaenet.data.writing.target import Target, choose, writing
from iaenet.data.writing.write_csv import write_csv
from iaenet.data.writing.write_data import write_data
from iaenet.data.writing.write_hdf5 import write_hdf5
from iaenet.data.writing.write_matlab import write_matlab
from iaenet.data.writing.write_mesh import write_mesh
from iaenet.data.writing.write_netcdf import write_netcdf, write_netcdf_sample
from iaenet.data.writing.write_npz import write_npz

WHOLE: dict[str, Callable[[Path, Output], None]] = {
    "npz": write_npz,
    "mat": write_matlab,
    "hdf5": write_hdf5,
    "data": write_data,
    "netcdf": write_netcdf,
}
EACH: dict[str, Callable[[Path, Sample, Output], None]] = {
    "csv": write_csv,
    "mesh": write_mesh,
    "netcdf": write_netcdf_sample,
}

__all__ = ["EACH", "WHOLE", "Output", "Sample", "Target", "choose", "write", "writing"]


def write(target: Target, output: Output) -> None:
    """Write predictions in full, or leave nothing behind; samples may be made while they are written.

    >>> import tempfile, torch
    >>> from iaenet import Discretization, Field
    >>> from iaenet.data.problems.problem import Channel
    >>> wave = Field(Discretization.uniform(2), torch.tensor([[0.5], [0.1]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Output([Sample("s1", wave, wave)], (Channel("a"),), (Channel("u"),), ("x",))
    ...     write(choose(f"{folder}/out", "csv"), made)
    ...     Path(folder, "out", "s1.csv").read_text().split()
    ['x,u', '0.0,0.5', '1.0,0.1']
    """
    with writing(target) as place:
        if target.folder:
            for sample in output.samples:
                EACH[target.family](place / f"{sample.name}{target.suffix}", sample, output)
        elif target.family in WHOLE:
            WHOLE[target.family](place, output)
        else:
            (sample,) = output.samples
            EACH[target.family](place, sample, output)

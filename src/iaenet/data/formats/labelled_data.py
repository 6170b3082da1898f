"""Pairs from `xarray` objects in memory."""

from typing import Any, Unpack

from iaenet.data.reading.channel_names import Names
from iaenet.data.reading.files import required
from iaenet.data.reading.imported import Imported
from iaenet.data.reading.labelled_arrays import read_labelled
from iaenet.data.reading.sample_files import FieldOptions
from iaenet.errors import InvalidInputError


def from_xarray(
    dataset: Any,
    *,
    coordinates: Names,
    inputs: Names,
    outputs: Names,
    sample: str,
    **options: Unpack[FieldOptions],
) -> Imported:
    """Pairs from the variables of an `xarray.Dataset`, also a lazy one; the options are those of `read_netcdf`.

    One function alone is `Field.from_xarray(dataset["u"])`.

    >>> import numpy, xarray
    >>> axes = {"t": [0, 1, 2], "x": numpy.linspace(0, 1, 8)}
    >>> data = xarray.Dataset({"a": (("t", "x"), numpy.ones((3, 8))), "u": (("x", "t"), numpy.ones((8, 3)))}, axes)
    >>> pairs = from_xarray(data, coordinates="x", inputs="a", outputs="u", sample="t").pairs
    >>> len(pairs), pairs[0][1].values.shape
    (3, torch.Size([8, 1]))
    """
    xarray = required("xarray", "netcdf")
    if not isinstance(dataset, xarray.Dataset):
        raise InvalidInputError(f"an xarray.Dataset is needed, got {type(dataset).__name__}")
    return read_labelled(
        ["dataset"],
        lambda _: dataset,
        coordinates=coordinates,
        inputs=inputs,
        outputs=outputs,
        sample=sample,
        provenance={"reader": "xarray"},
        **options,
    )

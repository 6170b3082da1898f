"""Functions to and from `xarray.DataArray`, whose axes have names and coordinates."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Bounds, Discretization, Periodic
from iaenet.functions.field import Field

CHANNEL, POINT, BATCH = "channel", "point", "batch"


def to_xarray(field: Field, coordinates: Sequence[str] = (), channels: Sequence[str] = ()) -> Any:
    """Values on named dimensions: a coordinate for each axis of a grid, else `point`; `channel` if there are several.

    coordinates: names of the axes. Default `x`, `y`, `z`, or `x1`, `x2`, ... in more dimensions.
    channels: names of the channels; a single one is the name of the array. Default: their numbers.

    Coordinates say in their attributes `domain` and `periodic` what `from_xarray` needs to make the same field again.

    >>> import torch
    >>> grid = Discretization.uniform((2, 3))
    >>> Field(grid, torch.ones(6, 1)).to_xarray(["lon", "lat"]).sizes
    Frozen({'lon': 2, 'lat': 3})
    """
    xarray = _xarray()
    at = field.discretization.to("cpu")
    names = tuple(coordinates) or (
        ("x", "y", "z")[: at.dim] if at.dim <= 3 else tuple(f"x{i + 1}" for i in range(at.dim))
    )
    if len(names) != at.dim or (channels and len(channels) != field.channels):
        raise InvalidInputError(f"{len(names)} coordinates and {len(channels)} channels do not name those of {field}")
    dims = (POINT,) if at.axes is None else names
    axes = at.points.T if at.axes is None else at.axes
    about = [
        {"domain": low_high.tolist(), "periodic": int(p)} for low_high, p in zip(at.bounds, at.periodic, strict=True)
    ]
    found = {
        name: (dims if at.axes is None else (name,), axis.numpy(), attributes)
        for name, axis, attributes in zip(names, axes, about, strict=True)
    }
    values = field.numpy() if at.axes is None else field.numpy(grid=True)
    if field.channels == 1:
        name = channels[0] if channels else None
        return xarray.DataArray(values[..., 0], found, ((BATCH,) if field.batched else ()) + dims, name)
    found[CHANNEL] = ((CHANNEL,), list(channels) or list(range(field.channels)), {})
    return xarray.DataArray(values, found, ((BATCH,) if field.batched else ()) + (*dims, CHANNEL))


def from_xarray(
    array: Any,
    coordinates: Sequence[str] = (),
    *,
    bounds: Bounds = None,
    periodic: Periodic | None = None,
) -> Field:
    """One function: a tensor grid if each coordinate has a dimension of its own, points if they share one.

    coordinates: names, in the order of the axes. Default: all coordinates of the array in the order of its dimensions,
        but for `channel`.
    bounds: the domain. Default: as `to_xarray` wrote it, or tight around the points (and a step more where periodic).
    periodic: a flag, or one for each axis. Default: as `to_xarray` wrote it, or false.

    Another dimension counts channels. Axes may decrease. Take one sample of several by `array.isel(...)`, and leave out
    points without a value by `array.dropna(...)`.

    >>> import xarray
    >>> array = xarray.DataArray([1.0, 3.0, 2.0], {"t": [0.0, 2.0, 4.0]}, "t")
    >>> field = from_xarray(array)
    >>> field.discretization.bounds.tolist(), field.values[:, 0].tolist()
    ([[0.0, 4.0]], [1.0, 3.0, 2.0])
    """
    xarray = _xarray()
    if not isinstance(array, xarray.DataArray):
        raise InvalidInputError(f"an xarray.DataArray is needed, got {type(array).__name__}; take a variable of it")
    names = tuple(coordinates) or tuple(
        str(name) for dim in array.dims for name, each in array.coords.items() if dim != CHANNEL and each.dims == (dim,)
    )
    unknown = [name for name in names if name not in array.coords or array.coords[name].ndim != 1]
    if unknown or not names:
        raise InvalidInputError(
            f"no coordinate {unknown[0] if unknown else ''!r} along one dimension; there are {list(array.coords)}"
        )
    dims = tuple(dict.fromkeys(str(array.coords[name].dims[0]) for name in names))
    others = [str(dim) for dim in array.dims if dim not in dims]
    if len(others) > 1 or len(dims) not in (1, len(names)):
        raise InvalidInputError(
            f"coordinates {', '.join(names)} leave more than one of the dimensions {', '.join(map(str, array.dims))} "
            "for channels"
        )
    array = array.transpose(*dims, *others)
    grid = len(dims) == len(names)
    if grid:
        array = array.sortby(list(names))
    axes = [np.asarray(array.coords[name].values, dtype=np.float64) for name in names]
    about = [array.coords[name].attrs for name in names]
    flags = [bool(each.get("periodic", False)) for each in about] if periodic is None else periodic
    if bounds is None:
        bounds = (
            [each["domain"] for each in about] if all("domain" in each for each in about) else _box(axes, flags, grid)
        )
    at = (
        Discretization.tensor_grid(*axes, periodic=flags, bounds=bounds)
        if grid
        else Discretization.points(np.stack(axes, axis=1), periodic=flags, bounds=bounds)
    )
    values = array.values.reshape(at.n, -1)
    return Field(at, values if values.dtype.kind == "f" else values.astype(np.float64))


def _box(axes: list[Any], periodic: Periodic, grid: bool) -> Any:
    flags = [periodic] * len(axes) if isinstance(periodic, bool) else list(periodic)
    if any(flags) and not grid:
        raise InvalidInputError("points on a periodic axis do not tell its period; give it by bounds=")
    ends = [(axis.min(), axis.max()) for axis in axes]
    return [
        (low, high + (high - low) / max(len(axis) - 1, 1) if wraps else high)
        for axis, (low, high), wraps in zip(axes, ends, flags, strict=True)
    ]


def _xarray() -> Any:
    try:
        import xarray
    except ImportError:
        raise InvalidInputError("this needs the package xarray: pip install iaenet[netcdf]") from None
    return xarray

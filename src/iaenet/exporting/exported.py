"""Exported models at work, with ONNX Runtime alone: no PyTorch is imported."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.functions.axis_arrays import AxisRule, is_regular
from iaenet.functions.facets import boundary_facets
from iaenet.functions.point_checks import (
    check_inside,
    checked_axes,
    checked_box,
    checked_cells,
    checked_weights,
    finite_numbers,
)
from iaenet.functions.point_weights import point_weights
from iaenet.functions.quadrature import Array, Index, lumped_mass, trapezoid
from iaenet.functions.taps import grid_taps, simplex_taps

Run = Callable[[Mapping[str, Any]], Sequence[Any]]
AXIS = 2**14  # points along an axis up to which a matrix is made for it
LEAST = 4  # points that a file takes at least
PIECE = 2**25  # numbers of an intermediate: query points times nodes of the latent grid


def load_exported(path: str | os.PathLike[str], *, threads: int | None = None) -> "Exported":
    """A model that `iaenet.export` wrote. An ONNX file needs ONNX Runtime, and no PyTorch; a `.pt2` file needs PyTorch.

    `threads` is for ONNX Runtime. Default: as many as there are cores.
    """
    if not Path(path).is_file():
        raise InvalidInputError(f"{path}: there is no such file; `iaenet export` makes one")
    run, text = (_torch_program if Path(path).suffix == ".pt2" else _onnx_session)(path, threads)
    try:
        metadata = json.loads(text or "")
    except ValueError:
        raise InvalidInputError(f"{path} was not written by `iaenet export`") from None
    if metadata.get("format") != 1:
        raise InvalidInputError(f"{path} was written by iaenet {metadata.get('version')}; use that version")
    return Exported(run, metadata)


class Exported:
    """A trained model as a function of arrays, in the data's units. `metadata` says what it is and was trained on.

    `model(points, values)` -> values at the same points, `model(points, values, at)` at others. `points` are an array
    `(n, d)`, or a tuple of d axes, a tensor grid; `values (n, c)`, or `(b, n, c)` for b functions.
    """

    def __init__(self, run: Run, metadata: dict[str, Any]) -> None:
        self._run = run
        self.metadata = metadata
        self._periodic = tuple(metadata["periodic"])
        self._rule = AxisRule(**metadata["projection"])
        self._dtype = np.dtype(metadata["precision"])

    def __call__(
        self,
        points: Any,
        values: ArrayLike,
        at: Any = None,
        *,
        weights: ArrayLike | None = None,
        cells: ArrayLike | None = None,
        boundary: tuple[ArrayLike, ArrayLike] | None = None,
        bounds: ArrayLike | None = None,
        domain: str = "auto",
    ) -> NDArray[Any]:
        """Values of the output at the points `at`, the input's own by default: `(m, c')` or `(b, m, c')`.

        Args:
            points: an array `(n, d)`, or a tuple of d axes.
            values: `(n, c)` or `(b, n, c)`, the points of a tensor grid in C order.
            at: query points, in the same forms.
            weights: `(n,)` of the points. Default: sizes of their cells, as `Discretization.points` has them.
            cells: simplices `(e, d + 1)` of a mesh, which give the weights and the boundary.
            boundary: corners `(v, d)` and facets `(f, d)` of the domain's boundary, the domain on their left, as
                `Discretization.boundary` has them. Default: that of the cells. Only networks that are told of the
                domain (`metadata["geometry"]`) look at it.
            bounds: `(d, 2)`, the box of the domain. Default: the one trained on.
            domain: "auto" finds which part of the box scattered points fill, "box" takes all of it.
        """
        box, _ = checked_box(len(self._periodic), self.metadata["bounds"] if bounds is None else bounds, self._periodic)
        axes, array = self._places(points, box, "points")
        given, batched = self._values(values, len(array))
        _, query = (axes, array) if at is None else self._places(at, box, "at")
        share, simplices = self._weights(axes, array, box, weights, cells, domain)
        feeds = {"points": array, "values": given, "weights": share, "bounds": box}
        if self.metadata["geometry"]:
            feeds |= self._domain(array, box, simplices, boundary)
        taps = self._taps(axes, array, query, box, own=at is None) if self.metadata["head"] else {}
        # The measure of a mesh is that within its boundary, any other the sum over the points.
        of_points = "measure" in self.metadata["geometry"] and (cells is None or weights is not None or bool(boundary))
        few = not (self.metadata["kernels"] or of_points)
        output = self._pieces(feeds, {"query": query, **taps}, self._latent(axes, array, box, given), few)
        return output if batched else output[0]

    def _pieces(
        self, feeds: dict[str, Any], asked: dict[str, NDArray[Any]], latent: NDArray[Any] | None, few: bool
    ) -> NDArray[Any]:
        """The output at some query points at a time; what is projected once is not projected again.

        few: whether the points that no query point is interpolated from can be left out then.
        """
        values, query = feeds["values"], asked["query"]
        size, parts = int(np.prod(self.metadata["latent_grid"])), []
        step = max(2, PIECE // (size * len(values)))
        for start in range(0, len(query), step):
            some = {name: each[start : start + step] for name, each in asked.items()}
            use = latent is not None
            on_grid = np.zeros((len(values), size, values.shape[2]), self._dtype) if latent is None else latent
            some = self._needed(feeds, some) if use and few else feeds | some
            found, latent = self._run({**some, "use_latent": np.array(use), "latent": on_grid})
            parts.append(found)
        return np.concatenate(parts, axis=1)

    def _needed(self, feeds: dict[str, Any], some: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """All inputs, without the points that no query point is interpolated from; weights add up to what they did."""
        near = some.get("near", np.zeros(0, np.int64))
        least = np.arange(min(LEAST, len(feeds["points"])))
        kept, place = np.unique(np.concatenate([least, near.ravel()]), return_inverse=True)
        weights = feeds["weights"][kept]
        found = feeds | some
        found["points"] = feeds["points"][kept]
        found["values"] = np.ascontiguousarray(feeds["values"][:, kept])
        found["weights"] = weights * (feeds["weights"].sum() / weights.sum())
        if "near" in some:
            found["near"] = place.reshape(-1)[len(least) :].reshape(near.shape)
        return found

    def _places(self, given: Any, box: Array, name: str) -> tuple[list[Array] | None, Array]:
        """The axes of a tensor grid, if it is one, and all points `(n, d)`."""
        d = len(self._periodic)
        if isinstance(given, tuple):
            if len(given) != d:
                raise InvalidInputError(f"{name}: {len(given)} axes, but the model was trained in {d}-D")
            axes, _, _ = checked_axes(given, box, self._periodic)
            return axes, np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
        array = finite_numbers(given, name, ndim=2)
        if array.shape[1] != d:
            raise InvalidInputError(f"{name} in {array.shape[1]}-D, but the model was trained in {d}-D")
        check_inside(array, box, name)
        return None, array

    def _values(self, values: ArrayLike, n: int) -> tuple[NDArray[Any], bool]:
        batched = np.ndim(values) == 3
        array = finite_numbers(values, "values", ndim=3 if batched else 2)
        wanted = self.metadata["inputs"]
        if array.shape[-2:] != (n, len(wanted)):
            names = ", ".join(channel["name"] for channel in wanted)
            raise InvalidInputError(
                f"values must have shape (n, c) or (b, n, c) with n = {n} points and c = {len(wanted)} channels "
                f"({names}), got {array.shape}"
            )
        return np.ascontiguousarray(array if batched else array[None], dtype=self._dtype), batched

    def _weights(
        self, axes: list[Array] | None, array: Array, box: Array, weights: Any, cells: Any, domain: str
    ) -> tuple[Array, Index | None]:
        """Weights of the points, and the simplices of their domain, if it has any."""
        if cells is not None:
            simplices = checked_cells(cells, *array.shape)
            return lumped_mass(array, simplices) if weights is None else checked_weights(weights, len(array)), simplices
        if weights is None and axes is not None:
            found = np.ones(())
            for axis, (low, high), wraps in zip(axes, box, self._periodic, strict=True):
                found = np.multiply.outer(found, trapezoid(axis, low, high, wraps))
            return np.asarray(found.ravel()), None
        share, _, found_cells, _ = point_weights(array, box, self._periodic, weights, "cells", domain)
        return share, found_cells

    def _domain(
        self, array: Array, box: Array, cells: Index | None, given: tuple[ArrayLike, ArrayLike] | None
    ) -> dict[str, Any]:
        """The corners of the boundary's facets, `(f, d, d)`, for networks that are told of the domain."""
        d = len(box)
        if given is None and cells is None:
            return {"use_boundary": np.array(False), "boundary": np.zeros((2, d, d))}
        if given is not None:
            corners = finite_numbers(given[0], "corners of the boundary", ndim=2)
            facets = checked_cells(given[1], len(corners), d)
        elif cells is not None:
            low, high = box.T
            corners, facets = array, boundary_facets((array - low) / (high - low), cells)
        if facets.shape[1] != d or (cells is not None and cells.shape[1] != d + 1):
            raise InvalidInputError(
                f"an exported model is told of domains with an inside, of cells with {d + 1} corners and facets with "
                f"{d}, not of curves or surfaces; use iaenet.load"
            )
        return {"use_boundary": np.array(True), "boundary": corners[facets]}

    def _latent(self, axes: list[Array] | None, array: Array, box: Array, values: NDArray[Any]) -> NDArray[Any] | None:
        """E of functions on a tensor grid, axis by axis; None for points, whose projection is in the file."""
        if axes is None and len(self._periodic) == 1:
            axes = [array[:, 0]]
        if axes is None or max(map(len, axes)) > AXIS:
            return None
        shape = self.metadata["latent_grid"]
        unit = [(axis - low) / (high - low) for axis, (low, high) in zip(axes, box, strict=True)]
        if len(axes) == 1 and not (len(unit[0]) <= shape[0] and is_regular(np.sort(unit[0]), self._periodic[0])):
            return None
        found = values.astype(np.float64).reshape(len(values), *map(len, unit), -1)
        for i, (x, size, wraps) in enumerate(zip(unit, shape, self._periodic, strict=True)):
            matrix = self._rule.encoder(x, trapezoid(x, 0.0, 1.0, wraps), size, wraps)
            found = np.moveaxis(np.tensordot(matrix, found, axes=(1, i + 1)), 0, i + 1)
        return np.ascontiguousarray(found.reshape(len(values), -1, values.shape[2]), dtype=self._dtype)

    def _taps(
        self, axes: list[Array] | None, array: Array, query: Array, box: Array, own: bool
    ) -> dict[str, NDArray[Any]]:
        if own:
            return {"near": np.arange(len(array))[:, None], "shares": np.ones((len(array), 1))}
        if axes is None and len(self._periodic) == 1:
            axes = [array[:, 0]]
        if axes is not None:
            near, shares = grid_taps(axes, query, box, self._periodic)
        else:
            near, shares, _ = simplex_taps(array, query, box, self._periodic)
        return {"near": near, "shares": shares}


def _onnx_session(path: str | os.PathLike[str], threads: int | None) -> tuple[Run, str | None]:
    try:
        import onnxruntime
    except ImportError:
        raise InvalidInputError(f"{path}: needs ONNX Runtime: pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # one of ONNX Runtime's own, which have no common class
        raise CorruptFileError(f"{path}: {str(error).splitlines()[0]}") from None
    names = [one.name for one in (*session.get_inputs(), *session.get_overridable_initializers())]

    def run(feeds: Mapping[str, Any]) -> Sequence[Any]:
        found: Sequence[Any] = session.run(["output", "on_grid"], {name: feeds[name] for name in names})
        return found

    return run, session.get_modelmeta().custom_metadata_map.get("iaenet")


def _torch_program(path: str | os.PathLike[str], threads: int | None) -> tuple[Run, str | None]:  # noqa: ARG001
    import torch

    extra = {"iaenet.json": ""}
    try:
        module = torch.export.load(os.fspath(path), extra_files=extra).module()
    except Exception as error:
        raise CorruptFileError(f"{path}: {str(error).splitlines()[0]}") from None

    def run(feeds: Mapping[str, Any]) -> Sequence[Any]:
        with torch.no_grad():
            found = module(**{name: torch.from_numpy(np.ascontiguousarray(each)) for name, each in feeds.items()})
        return [each.numpy() for each in found]

    return run, extra["iaenet.json"]

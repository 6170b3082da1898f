"""Exported models at work, with ONNX Runtime alone: no PyTorch is imported."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iaenet.errors import InvalidInputError
from iaenet.exporting.input_space import GivenFunction, InputSpace
from iaenet.exporting.sample_inputs import SampleInputs
from iaenet.exporting.sessions import FEWEST, Arrays, Run, onnx_session, padded, torch_program
from iaenet.functions.axis_arrays import AxisRule

PIECE = 2**25  # numbers of an intermediate: query points times nodes of the latent grid
FORMATS = (2,)  # of the metadata
ONE = "input"  # the name of a function that has none, in files of samples


def load_exported(path: str | os.PathLike[str], *, threads: int | None = None) -> "Exported":
    """A model that `iaenet.export` wrote. An ONNX file needs ONNX Runtime, and no PyTorch; a `.pt2` file needs PyTorch.

    `threads` is for ONNX Runtime. Default: as many as there are cores.
    """
    if not Path(path).is_file():
        raise InvalidInputError(f"{path}: there is no such file; `iaenet export` makes one")
    run, text = (torch_program if Path(path).suffix == ".pt2" else onnx_session)(path, threads)
    try:
        metadata = json.loads(text or "")
    except ValueError:
        raise InvalidInputError(f"{path} was not written by `iaenet export`") from None
    if metadata.get("format") not in FORMATS:
        raise InvalidInputError(
            f"{path} was written by iaenet {metadata.get('version')} in another format: export the model again, or use "
            "that version"
        )
    return Exported(run, metadata)


class Exported:
    """A trained model as a function of arrays, in the data's units. `metadata` says what it is and was trained on.

    `model(points, values)` -> values at the same points, `model(points, values, at)` at others. `points` are an array
    `(n, d)`, or a tuple of d axes, a tensor grid; `values (n, c)`, or `(b, n, c)` for b functions.

    A model of samples takes them as a mapping: `model({"g": (points, values), "T": 0.5}, at=query)`. A function that
    needs more than points and values is a mapping, too: `{"points": ..., "values": ..., "cells": ...}`.
    """

    def __init__(self, run: Run, metadata: dict[str, Any]) -> None:
        self._run = run
        self.metadata = metadata
        rule = AxisRule(**metadata["projection"])
        self._space = InputSpace(metadata, rule, metadata["precision"])
        self._samples = SampleInputs(metadata, rule) if "functions" in metadata else None

    def __call__(
        self,
        points: Any,
        values: ArrayLike | None = None,
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
            points: an array `(n, d)`, or a tuple of d axes; or a sample, a mapping of names to functions and numbers.
            values: `(n, c)` or `(b, n, c)`, the points of a tensor grid in C order.
            at: query points, in the same forms. Default: the input's own, of a sample those of its first function.
            weights: `(n,)` of the points. Default: sizes of their cells, as `Discretization.points` has them.
            cells: simplices `(e, k + 1)` of a mesh, which give the weights and the boundary.
            boundary: corners `(v, d)` and facets `(f, d)` of the domain's boundary, the domain on their left, as
                `Discretization.boundary` has them. Default: that of the cells. Only networks that are told of the
                domain (`metadata["geometry"]`) look at it.
            bounds: `(d, 2)`, the box of the domain, for samples that of the output. Default: the one trained on.
            domain: "auto" finds which part of the box scattered points fill, "box" takes all of it.
        """
        own = {"weights": weights, "cells": cells}
        if self._samples is not None:
            if values is not None:
                points = {ONE: {"points": points, "values": values, **own, "domain": domain}}
            elif weights is not None or cells is not None:
                raise InvalidInputError("weights and cells of a sample stand with its functions")
            if not isinstance(points, Mapping) or boundary is not None:
                raise InvalidInputError(f"the model takes a sample, a mapping of {', '.join(self._samples.about)} ...")
            return self._of_sample(self._samples, points, at, bounds)
        if isinstance(points, Mapping) or values is None:
            raise InvalidInputError("the model takes one function: model(points, values)")
        one = self._space.function(points, values, **own, boundary=boundary, bounds=bounds, domain=domain)
        return self._of_function(one, at, measure=cells is None or weights is not None or bool(boundary))

    def _of_sample(self, inputs: SampleInputs, given: Mapping[str, Any], at: Any, bounds: Any) -> NDArray[Any]:
        feeds, asked, latents, batched = inputs.feeds(given, at, bounds)
        count = len(next(iter(feeds[name] for name in feeds if name == "scalars" or name.endswith(".values"))))
        output = self._pieces(asked, count, latents, lambda some, known: inputs.reuse(feeds, known) | some)
        return output if batched else output[0]

    def _of_function(self, one: GivenFunction, at: Any, measure: bool) -> NDArray[Any]:
        """The output for one function; `measure` says that the measure of its domain is a sum over its points."""
        space, meta = self._space, self.metadata
        query = one.points if at is None else space.places(at, one.box, "at")[1]
        feeds = {"points": one.points, "values": one.values, "weights": one.weights, "bounds": one.box}
        feeds |= {"use_latent": np.array(False), "latent": space.empty_latent(len(one.values))}
        if meta["geometry"]:
            feeds |= one.domain("measure" in meta["geometry"])
        asked: Arrays = {"query": query}
        if meta["head"] and at is None:
            asked |= {"near": np.arange(len(query))[:, None], "shares": np.ones((len(query), 1))}
        elif meta["head"]:
            asked |= space.taps(one.axes, one.points, query, one.box)
        # The measure of a mesh is that within its boundary or along its curves, any other the sum over the points.
        sums = "measure" in meta["geometry"] and (measure or (one.thin and not one.curve))
        few = not (meta["kernels"] or sums)

        def inputs(some: Arrays, known: Arrays) -> Arrays:
            if not known:
                return feeds | some
            found = _needed(feeds, some) if few else feeds | some
            return found | {"use_latent": np.array(True), "latent": known["on_grid"]}

        latent = space.latent(one)
        output = self._pieces(asked, len(one.values), {} if latent is None else {"on_grid": latent}, inputs)
        return output if one.batched else output[0]

    def _pieces(
        self, asked: Arrays, count: int, latents: Arrays, inputs: Callable[[Arrays, Arrays], Arrays]
    ) -> NDArray[Any]:
        """The output at some query points at a time; what is projected once is not projected again."""
        m, parts = len(asked["query"]), []
        step = max(2, PIECE // (int(np.prod(self.metadata["latent_grid"])) * count))
        for start in range(0, m, step):
            some = {name: each[start : start + step] for name, each in asked.items()}
            latents = self._run(padded(inputs(some, latents)))
            parts.append(latents.pop("output")[:, : len(some["query"])])
        return np.concatenate(parts, axis=1)


def _needed(feeds: Arrays, some: Arrays) -> Arrays:
    """All inputs, without the points that no query point is interpolated from; weights add up to what they did."""
    near = some.get("near", np.zeros(0, np.int64))
    least = np.arange(min(FEWEST, len(feeds["points"])))
    kept, place = np.unique(np.concatenate([least, near.ravel()]), return_inverse=True)
    weights = feeds["weights"][kept]
    found = feeds | some
    found["points"] = feeds["points"][kept]
    found["values"] = np.ascontiguousarray(feeds["values"][:, kept])
    found["weights"] = weights * (feeds["weights"].sum() / weights.sum())
    if "near" in some:
        found["near"] = place.reshape(-1)[len(least) :].reshape(near.shape)
    return found

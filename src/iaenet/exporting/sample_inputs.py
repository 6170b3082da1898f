"""Samples of several functions and numbers, given as arrays -> the inputs of an exported file, without PyTorch."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iaenet.errors import InvalidInputError
from iaenet.exporting.input_space import GivenFunction, InputSpace
from iaenet.exporting.sessions import FEWEST, Arrays
from iaenet.functions.axis_arrays import AxisRule, uniform_nodes

OPTIONS = ("points", "values", "weights", "cells", "bounds", "domain")  # of a function of a sample


class SampleInputs:
    """What an exported model of samples takes: functions, each in a space of its own, and numbers."""

    def __init__(self, metadata: Mapping[str, Any], rule: AxisRule) -> None:
        dtype = np.dtype(metadata["precision"])
        self.output = InputSpace(metadata, rule, dtype)
        self.about: dict[str, dict[str, Any]] = metadata["functions"]
        self.spaces = {name: InputSpace(about, rule, dtype) for name, about in self.about.items()}
        self.scalars: list[str] = metadata["scalars"]
        self._head: bool = metadata["head"]
        self._dtype = dtype

    def feeds(self, given: Mapping[str, Any], at: Any, bounds: ArrayLike | None) -> tuple[Arrays, Arrays, Arrays, bool]:
        """Inputs, those of query points, functions on grids that are known, and whether there is a batch."""
        wanted = [*self.spaces, *self.scalars]
        if set(given) != set(wanted):
            raise InvalidInputError(f"the model takes {', '.join(wanted)}; the sample has {', '.join(map(str, given))}")
        box = self.output.box(bounds)
        functions = {name: self._function(name, given[name], box) for name in self.spaces}
        batch, batched, numbers = self._batch(functions, given)
        found: Arrays = {"bounds": box}
        if self.scalars:
            found["scalars"] = numbers
        latents: Arrays = {}
        for name, one in functions.items():
            space, about = self.spaces[name], self.about[name]
            parts = {"points": one.points, "values": one.values, "weights": one.weights}
            parts |= {"use_latent": np.array(False), "latent": space.empty_latent(batch)}
            if about["own_space"]:
                parts["bounds"] = one.box
            elif space.dim > 1:
                parts["thin"] = np.array(one.thin)
            if about["measure"] and space.dim > 1:
                parts |= one.domain(measure=True)
            found |= {f"{name}.{part}": array for part, array in parts.items()}
            if (latent := space.latent(one)) is not None:
                latents[f"{name}.on_grid"] = latent
        query = self._query(functions, at, box)
        nodes = zip(self.output.grid, self.output.periodic, box, strict=True)
        axes = [low + (high - low) * uniform_nodes(size, wraps) for size, wraps, (low, high) in nodes]
        taps = self.output.taps(axes, query, query, box) if self._head else {}
        return found, {"query": query, **taps}, latents, batched

    def reuse(self, feeds: Arrays, latents: Arrays) -> Arrays:
        """The inputs with functions that are known on their grids, so that their points need not be looked at."""
        found = dict(feeds)
        for key, latent in latents.items():
            name = key.removesuffix(".on_grid")
            found |= {f"{name}.use_latent": np.array(True), f"{name}.latent": latent}
            if not self.about[name]["measure"]:
                found[f"{name}.points"] = feeds[f"{name}.points"][:FEWEST]
                found[f"{name}.values"] = feeds[f"{name}.values"][:, :FEWEST]
                found[f"{name}.weights"] = np.ones(len(found[f"{name}.points"]))
        return found

    def _function(self, name: str, given: Any, box: NDArray[Any]) -> GivenFunction:
        if isinstance(given, tuple | list) and len(given) == 2:
            given = dict(zip(("points", "values"), given, strict=True))
        if not isinstance(given, Mapping) or not {"points", "values"} <= set(given) <= set(OPTIONS):
            raise InvalidInputError(f"{name}: give (points, values), or a mapping with these and any of {OPTIONS[2:]}")
        options = dict(given)
        if not self.about[name]["own_space"]:
            if options.pop("bounds", None) is not None:
                raise InvalidInputError(f"{name} lies in the output's space: give bounds= for all of it")
            options["bounds"] = box
        try:
            return self.spaces[name].function(**options)
        except InvalidInputError as error:
            raise InvalidInputError(f"{name}: {error}") from None

    def _batch(
        self, functions: Mapping[str, GivenFunction], given: Mapping[str, Any]
    ) -> tuple[int, bool, NDArray[Any]]:
        """How many samples, whether they are a batch, and the numbers `(b, k)`."""
        counts = {name: len(one.values) if one.batched else None for name, one in functions.items()}
        columns = []
        for name in self.scalars:
            number = np.asarray(given[name], dtype=np.float64)
            if number.ndim > 1 or not number.size or not np.isfinite(number).all():
                raise InvalidInputError(f"{name!r}: expected a finite number, or (b,) of them, got {given[name]!r}")
            counts[name] = len(number) if number.ndim else None
            columns.append(np.atleast_1d(number))
        if len(set(counts.values())) > 1:
            raise InvalidInputError("functions and numbers of a sample must all be one, or batches of the same length")
        count = next(iter(counts.values()))
        numbers = np.stack(columns, axis=1).astype(self._dtype) if columns else np.zeros((count or 1, 0))
        return count or 1, count is not None, numbers

    def _query(self, functions: Mapping[str, GivenFunction], at: Any, box: NDArray[Any]) -> NDArray[Any]:
        if at is not None:
            return self.output.places(at, box, "at")[1]
        first = next(iter(self.spaces), None)
        if first is None or self.about[first]["own_space"]:
            raise InvalidInputError("no function of the sample is in the output's space: give query points, at=...")
        return functions[first].points

"""Exported files as functions of named arrays: by ONNX Runtime, without PyTorch, or as programs of PyTorch."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iaenet.errors import CorruptFileError, InvalidInputError

Arrays = dict[str, NDArray[Any]]
Run = Callable[[Mapping[str, NDArray[Any]]], Arrays]  # inputs by name -> outputs by name
FEWEST, FEWEST_QUERY = 4, 2  # points and query points that a program takes at least


def onnx_session(path: str | os.PathLike[str], threads: int | None) -> tuple[Run, str | None]:
    """The graph of an ONNX file, and its metadata."""
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
    outputs = [one.name for one in session.get_outputs()]

    def run(feeds: Mapping[str, Any]) -> Arrays:
        return dict(zip(outputs, session.run(outputs, {name: feeds[name] for name in names}), strict=True))

    return run, session.get_modelmeta().custom_metadata_map.get("iaenet")


def torch_program(path: str | os.PathLike[str], threads: int | None) -> tuple[Run, str | None]:  # noqa: ARG001
    """The program of a `.pt2` file, and its metadata."""
    import torch

    extra = {"iaenet.json": ""}
    try:
        module = torch.export.load(os.fspath(path), extra_files=extra).module()
    except Exception as error:
        raise CorruptFileError(f"{path}: {str(error).splitlines()[0]}") from None

    def run(feeds: Mapping[str, Any]) -> Arrays:
        given = {name: torch.from_numpy(np.ascontiguousarray(each)) for name, each in feeds.items()}
        with torch.no_grad():
            output, on_grid = module(**nested(given))
        latents = (
            {f"{name}.on_grid": each for name, each in on_grid.items()}
            if isinstance(on_grid, dict)
            else {"on_grid": on_grid}
        )
        return {name: each.numpy() for name, each in {"output": output, **latents}.items()}

    return run, extra["iaenet.json"]


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs of a program by name, those of a function of a sample together.

    >>> nested({"query": 1, "f.points": 2, "f.values": 3})
    {'query': 1, 'functions': {'f': {'points': 2, 'values': 3}}}
    """
    found: dict[str, Any] = {"functions": {}} if "scalars" in flat else {}  # a sample, if only of numbers
    for name, each in flat.items():
        function, dot, part = name.rpartition(".")
        if dot:
            found.setdefault("functions", {}).setdefault(function, {})[part] = each
        else:
            found[name] = each
    return found


def padded(feeds: Mapping[str, NDArray[Any]]) -> Arrays:
    """Inputs with as many points as a program takes at least: the last again, of no weight; the same of query points.

    >>> found = padded({"points": np.ones((1, 2)), "values": np.ones((1, 1, 3)), "weights": np.ones(1)})
    >>> found["values"].shape, found["weights"].tolist()
    ((1, 4, 3), [1.0, 0.0, 0.0, 0.0])
    """
    found = dict(feeds)
    for name, points in feeds.items():
        prefix = name.removesuffix("points")
        if prefix != name and (not prefix or prefix.endswith(".")) and (lack := FEWEST - len(points)) > 0:
            found[name] = np.concatenate([points, points[-1:].repeat(lack, axis=0)])
            values, weights = feeds[f"{prefix}values"], feeds[f"{prefix}weights"]
            found[f"{prefix}values"] = np.concatenate([values, values[:, -1:].repeat(lack, axis=1)], axis=1)
            found[f"{prefix}weights"] = np.concatenate([weights, np.zeros(lack)])
    if "query" in feeds and len(feeds["query"]) < FEWEST_QUERY:
        for name in {"query", "near", "shares"} & set(feeds):
            found[name] = feeds[name].repeat(FEWEST_QUERY, axis=0)
    return found

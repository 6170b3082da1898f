"""A page to play with trained models on: models, samples and the program that runs them, all in one file."""

import base64
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

import iaenet
from iaenet.data.atomic import replacing
from iaenet.data.dataset import Dataset
from iaenet.errors import InvalidInputError
from iaenet.exporting.write import describe_model, onnx_bytes, quiet, trace
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.geometry import boundary_corners
from iaenet.functions.interpolate import interpolate
from iaenet.functions.latent_grid import unit
from iaenet.models.operator import Operator
from iaenet.models.sample_model import SampleModel

MOST_POINTS = {1: 1024, 2: 96**2}  # of a sample on the page
SCRIPTS = ("ort.wasm.min.js", "delaunator.min.js", "playground_maths.js", "playground_views.js", "playground.js")


@dataclass(frozen=True)
class Exhibit:
    """A model on the page: its name there, the trained model, samples to play with, and its certificate if any."""

    name: str
    operator: Operator
    dataset: Dataset
    certificate: dict[str, Any] | None = None


def write_playground(
    exhibits: Sequence[Exhibit],
    path: str | Path,
    title: str | None = None,
    samples: int = 6,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write the page for these models, with so many samples of each to begin with."""
    if not exhibits:
        raise InvalidInputError("a playground needs at least one model")
    if samples < 1:
        raise InvalidInputError(f"a playground needs at least one sample of each model, got {samples}")
    made, binaries = [], {"glue": _encoded(_read("ort-wasm-simd-threaded.mjs"))}
    binaries["wasm"] = _encoded(_read("ort-wasm-simd-threaded.wasm.gz"))
    for i, one in enumerate(exhibits):
        if progress is not None:
            progress(i, len(exhibits))
        if isinstance(one.operator.network, SampleModel):
            raise InvalidInputError(f"{one.name}: a playground shows models of one function, not of several or numbers")
        presets = [preset(one.dataset, k) for k in range(min(samples, one.dataset.samples))]
        program, portable = trace(one.operator)
        metadata = describe_model(one.operator, portable, one.certificate)
        with quiet():
            content = onnx_bytes(program, portable, metadata, defaults=False)
        made.append({"name": one.name, "metadata": metadata, "presets": presets})
        binaries[f"model{i}"] = _encoded(gzip.compress(content, 6, mtime=0))
    environment = jinja2.Environment(loader=jinja2.PackageLoader("iaenet.reports"), autoescape=True, trim_blocks=True)
    text = environment.get_template("playground.html.j2").render(
        title=title or " · ".join(one.name for one in exhibits),
        version=iaenet.__version__,
        style=Markup(_read("playground.css").decode()),
        models=Markup(json.dumps(made).replace("</", "<\\/")),
        binaries={name: Markup(packed) for name, packed in binaries.items()},
        scripts=[Markup(_read(name).decode()) for name in SCRIPTS],
    )
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def preset(dataset: Dataset, sample: int) -> dict[str, Any]:
    """A sample as the page has it, at the finest resolution that is not too fine, in coordinates of the unit box."""
    pairs = dataset.sample(sample)
    dim = next(iter(pairs.values()))[0].discretization.dim
    if dim not in MOST_POINTS:
        raise InvalidInputError(f"a playground shows functions of one or two variables, not of {dim}")
    fit = [key for key, (given, _) in pairs.items() if given.discretization.n <= MOST_POINTS[dim]] or [min(pairs)]
    given, wanted = pairs[max(fit)]
    where = given.discretization
    truth: Field = interpolate(wanted, where)
    found = {"label": f"Sample {sample + 1}", "input": _floats(given.values), "truth": _floats(truth.values)}
    return found | _places(where)


def _places(where: Discretization) -> dict[str, Any]:
    points, weights = (each.numpy() for each in unit(where, where))
    if where.dim == 1 and where.axes is None:
        raise InvalidInputError("a playground shows functions on a line that are given on a grid; these are on points")
    if where.axes is not None:
        box = where.bounds.numpy()
        axes = [(axis.numpy() - low) / (high - low) for axis, (low, high) in zip(where.axes, box, strict=True)]
        return {"kind": "line" if where.dim == 1 else "grid", "axes": [_encoded(axis.tobytes()) for axis in axes]}
    if where.cells is None or where.cells.shape[1] != 3:
        raise InvalidInputError(
            "a playground shows functions in the plane on a grid or on triangles; these have neither"
        )
    corners = boundary_corners(where)
    assert corners is not None  # it has cells
    return {
        "kind": "mesh",
        "points": _encoded(points.tobytes()),
        "weights": _encoded(weights.tobytes()),
        "cells": _encoded(where.cells.numpy().astype(np.int32).tobytes()),
        "boundary": _encoded(corners.numpy().tobytes()),
    }


def _floats(values: Any) -> str:
    return _encoded(values.numpy().astype(np.float32).tobytes())


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _read(name: str) -> bytes:
    return files("iaenet.reports").joinpath("web", name).read_bytes()

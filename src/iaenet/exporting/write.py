"""Trained models written to one file, for other programs: ONNX, or a program of `torch.export`."""

import json
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from torch.export import ExportedProgram

import iaenet
from iaenet.data.atomic import replacing
from iaenet.data.streams import Disk
from iaenet.errors import InvalidInputError
from iaenet.evaluation.input_checks import channels_of
from iaenet.exporting.portable import OPTIONAL, Portable, projection_numbers
from iaenet.exporting.portable_sample import PortableSample, names_of
from iaenet.models.operator import Operator
from iaenet.models.registry import name_of
from iaenet.models.sample_model import SampleModel
from iaenet.training.fit import load
from iaenet.training.run_folder import RunFolder

Kind = Literal["onnx", "torch"]
SUFFIXES = {"onnx": ".onnx", "torch": ".pt2"}
FORMAT = 2  # of the metadata
OPSET = 18


def export(
    model: Operator | str | os.PathLike[str], path: str | os.PathLike[str] | None = None, *, to: Kind = "onnx"
) -> Path:
    """Write a trained model to one file, and give its name; `load_exported` runs it.

    Args:
        model: a run folder, or an operator as `iaenet.load` or `iaenet.fit` give it.
        path: of the file. Default: `model.onnx` or `model.pt2` in the run folder.
        to: "onnx", for ONNX Runtime and other programs, or "torch", a program of `torch.export`.

    Numbers of points and functions are free; normalisation and projection are inside; channels, units, domain, what it
    was trained on and its certificate are in the file's metadata. `docs/export.md` lists inputs and outputs.
    """
    if to not in SUFFIXES:
        raise InvalidInputError(f"to is any of {', '.join(SUFFIXES)}, got {to!r}")
    certificate = None
    if isinstance(model, Operator):
        operator, folder = model, None
    else:
        operator, folder = load(model), Path(model)
        certificate = RunFolder(model).read_json("certificate/certificate.json")
    if path is None and folder is None:
        raise InvalidInputError("give the path of the file to write: this model has no run folder")
    target = Path(path) if path is not None else Path(folder or ".", f"model{SUFFIXES[to]}")
    program, portable = trace(operator)
    metadata = describe_model(operator, portable, certificate)
    with replacing(target) as beside, quiet():
        if to == "torch":
            with Disk(beside) as file:
                torch.export.save(program, file, extra_files={"iaenet.json": json.dumps(metadata)})
        else:
            beside.write_bytes(onnx_bytes(program, portable, metadata))
    return target


def trace(operator: Operator) -> tuple[ExportedProgram, Portable | PortableSample]:
    """The model as a program, with free numbers of points, query points and functions."""
    kind = PortableSample if isinstance(operator.network, SampleModel) else Portable
    portable = kind(operator).cpu().eval()
    with quiet():
        return torch.export.export(portable, (), portable.example(), dynamic_shapes=portable.shapes()), portable


def onnx_bytes(
    program: ExportedProgram,
    portable: Portable | PortableSample,
    metadata: dict[str, Any],
    defaults: bool = True,
) -> bytes:
    """The program as an ONNX file. With `defaults`, inputs such as the domain need not be given."""
    try:
        from onnx import numpy_helper

        from iaenet.exporting.onnx_cholesky import CHOLESKY
        from iaenet.exporting.onnx_scalars import NUMBERS
    except ImportError as error:
        raise InvalidInputError(f"ONNX files need {error.name}: pip install 'iaenet[export]'") from None
    given = names_of(portable.example(batch=1))
    made = torch.onnx.export(
        program,
        dynamo=True,
        opset_version=OPSET,
        custom_translation_table=CHOLESKY | NUMBERS,
        input_names=list(given),
        output_names=portable.outputs,
        verbose=False,
    )
    assert made is not None
    proto = made.model_proto
    boxes = {f"{name}.bounds": about["bounds"] for name, about in metadata.get("functions", {}).items()}
    boxes["bounds"] = metadata["bounds"]
    for name, example in given.items():
        if defaults and name.rpartition(".")[2] in OPTIONAL:
            tensor = torch.tensor(boxes[name], dtype=torch.float64) if name in boxes else example
            proto.graph.initializer.append(numpy_helper.from_array(tensor.numpy(), name))
    proto.metadata_props.add(key="iaenet", value=json.dumps(metadata))
    proto.producer_name, proto.producer_version = "iaenet", iaenet.__version__
    return bytes(proto.SerializeToString())


def describe_model(
    operator: Operator, portable: Portable | PortableSample, certificate: dict[str, Any] | None
) -> dict[str, Any]:
    """What the file says of itself, as JSON."""
    network = portable.model.network
    trained = operator.metadata.get("trained") or {}
    sides = {
        side: [{"name": channel.name, "unit": channel.unit} for channel in channels_of(operator, side)]
        for side in ("inputs", "outputs")
    }
    return {
        "format": FORMAT,
        "version": iaenet.__version__,
        "model": name_of(network),
        "parameters": sum(p.numel() for p in operator.network.parameters()),
        **sides,
        "dim": len(network.periodic),
        "periodic": list(network.periodic),
        "trained": trained,
        **portable.describe(operator),
        "latent_grid": list(network.latent.shape),
        "projection": projection_numbers(),
        "head": portable.head,
        "kernels": portable.kernels,
        "geometry": list(portable.geometry),
        "precision": str(next(network.parameters()).dtype).removeprefix("torch."),
        "certificate": certificate,
    }


@contextmanager
def quiet() -> Iterator[None]:
    """The exporter's own warnings are none of the user's."""
    noisy = {name: logging.getLogger(name).level for name in ("torch.onnx", "onnxscript", "onnx_ir")}
    for name in noisy:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in noisy.items():
            logging.getLogger(name).setLevel(level)

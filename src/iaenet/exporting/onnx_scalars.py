"""Numbers in graphs, exact: the exporter's own translation rounds those beside float64 tensors to float32.

With `sqrt 2` and `2 pi` to eight digits the functions of the projection are not those that its tables of products are
of, which costs nothing on points that fill a domain, and a thousandth of a function that is continued off a curve.
"""

from collections.abc import Callable
from typing import Any

import onnx_ir
import torch
from onnxscript import opset18 as op

REAL = {
    onnx_ir.DataType.COMPLEX64: onnx_ir.DataType.FLOAT,
    onnx_ir.DataType.COMPLEX128: onnx_ir.DataType.DOUBLE,
    onnx_ir.DataType.UNDEFINED: onnx_ir.DataType.FLOAT,
}


def _scalar_tensor(
    s: Any,
    dtype: int = onnx_ir.DataType.FLOAT,
    layout: str = "",  # noqa: ARG001 - as in PyTorch
    device: str = "",  # noqa: ARG001
    pin_memory: bool = False,  # noqa: ARG001
) -> Any:
    kind = onnx_ir.DataType(max(int(dtype), 0))
    kind = REAL.get(kind, kind)
    if isinstance(s, bool | int | float):
        return op.Constant(value=onnx_ir.tensor(s, dtype=kind))
    return op.Cast(s, to=int(kind))


NUMBERS: dict[Callable[..., Any], Callable[..., Any]] = {torch.ops.aten.scalar_tensor.default: _scalar_tensor}

"""The solution of symmetric positive definite equations with operators that ONNX has: products, and one small loop.

    A = [A11 A21^T]      L^-1 = [ K1             ]      K1 = L11^-1,  L21 = A21 K1^T,
        [A21 A22  ]             [-K2 L21 K1    K2]      K2 = (factor of A22 - L21 L21^T)^-1

The recursion ends at blocks of 32, where the factor is found column by column. In a graph, the factor that
`torch.linalg.cholesky_ex` gives is kept as its inverse K: `A^-1 b = K^T (K b)`.
"""

from collections.abc import Callable
from typing import Any

import torch
from onnxscript import DOUBLE, script
from onnxscript import opset18 as op

BLOCK = 32  # rows of the blocks that are factored column by column


@script()
def block_inverse(matrix: DOUBLE[...]) -> DOUBLE[...]:
    """Inverse of the Cholesky factor of a small matrix: elimination in `[A | 1]`, a row at a time."""
    identity = op.EyeLike(matrix)
    size = op.Shape(matrix, start=0, end=1)
    state = op.Concat(matrix, identity, axis=1)
    rows = op.Slice(state, op.Constant(value_ints=[0]), op.Constant(value_ints=[0]), op.Constant(value_ints=[0]))
    for j in range(op.Squeeze(size)):
        at = op.Unsqueeze(j, op.Constant(value_ints=[0]))
        pivot_row = op.Gather(state, at, axis=0)
        row = pivot_row / op.Sqrt(op.Gather(pivot_row, at, axis=1))
        column = op.Transpose(
            op.Slice(row, op.Constant(value_ints=[0]), size, op.Constant(value_ints=[1])), perm=[1, 0]
        )
        state = state - op.MatMul(column, row)
        rows = op.Concat(rows, row, axis=0)
    return op.Slice(rows, size, size + size, op.Constant(value_ints=[1]))


def inverse_factor(matrix: Any, size: int) -> Any:
    """`L^-1` of a matrix `(p, p)`; p is known when the graph is made."""
    if size <= BLOCK:
        return block_inverse(matrix)
    half = BLOCK * -(-size // (2 * BLOCK))
    upper, lower = _rows(matrix, 0, half), _rows(matrix, half, size)
    k1 = inverse_factor(_columns(upper, 0, half), half)
    l21 = op.MatMul(_columns(lower, 0, half), op.Transpose(k1, perm=[1, 0]))
    rest = op.Sub(_columns(lower, half, size), op.MatMul(l21, op.Transpose(l21, perm=[1, 0])))
    k2 = inverse_factor(rest, size - half)
    below = op.Neg(op.MatMul(k2, op.MatMul(l21, k1)))
    nothing = op.Mul(op.Transpose(below, perm=[1, 0]), op.CastLike(0.0, matrix))
    return op.Concat(op.Concat(k1, nothing, axis=1), op.Concat(below, k2, axis=1), axis=0)


def _rows(matrix: Any, start: int, stop: int) -> Any:
    return op.Slice(
        matrix, op.Constant(value_ints=[start]), op.Constant(value_ints=[stop]), op.Constant(value_ints=[0])
    )


def _columns(matrix: Any, start: int, stop: int) -> Any:
    return op.Slice(
        matrix, op.Constant(value_ints=[start]), op.Constant(value_ints=[stop]), op.Constant(value_ints=[1])
    )


def _cholesky_ex(matrix: Any, upper: bool = False, check_errors: bool = False) -> Any:  # noqa: ARG001 - as in PyTorch
    found = inverse_factor(matrix, int(matrix.shape[0]))
    return found, op.Constant(value_int=0)


def _cholesky_solve(right: Any, inverse: Any, upper: bool = False) -> Any:  # noqa: ARG001
    return op.MatMul(op.Transpose(inverse, perm=[1, 0]), op.MatMul(inverse, right))


# What `torch.onnx.export` is to write for operators of PyTorch that ONNX does not have.
CHOLESKY: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.ops.aten.linalg_cholesky_ex.default: _cholesky_ex,
    torch.ops.aten.cholesky_solve.default: _cholesky_solve,
}

"""What `Field` accepts, and what it refuses."""

import numpy as np
import pytest
import torch

from iaenet import Discretization, Field, InvalidInputError

GRID = Discretization.uniform(4)


def test_shapes_and_precisions():
    for dtype in (torch.float32, torch.float64):
        assert Field(GRID, torch.ones(4, 2, dtype=dtype)).channels == 2
        assert Field(GRID, torch.ones(3, 4, 2, dtype=dtype)).batched


def test_to():
    field = Field(GRID, torch.ones(4, 1))
    assert field.to(torch.float64).values.dtype == torch.float64
    assert field.to("cpu").discretization.key == GRID.key


def nan_at(*place):
    values = torch.ones(3, 4, 2)
    values[place] = float("nan")
    return values


BAD = {
    "NaN in a batch": (nan_at(2, 3, 1), "sample 2, channel 1, point 3 is nan"),
    "NaN": (nan_at(0, 1, 0)[0], "channel 0, point 1 is nan"),
    "infinite": (torch.full((4, 1), float("inf")), "channel 0, point 0 is inf"),
    "no channel": (torch.ones(4), r"values\[:, None\]"),
    "length": (torch.ones(5, 1), r"n = 4, got \(5, 1\)"),
    "empty": (torch.ones(0, 4, 1), "got"),
    "no channels": (torch.ones(4, 0), "got"),
    "whole numbers": (torch.ones(4, 1, dtype=torch.int64), "float32 or float64, got torch.int64"),
    "half": (torch.ones(4, 1, dtype=torch.float16), "float32 or float64"),
    "complex": (torch.ones(4, 1, dtype=torch.complex64), "float32 or float64"),
    "text": (np.array([["a"]] * 4), "tensor or an array of numbers, got ndarray"),
    "a list": ([[1.0]] * 4, "tensor or an array of numbers, got list"),
    "whole numbers of NumPy": (np.ones((4, 1), dtype=int), "float32 or float64, got torch.int64"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_values_are_named(case):
    values, message = BAD[case]
    with pytest.raises(InvalidInputError, match=message):
        Field(GRID, values)

"""Pictures of functions of three variables."""

import numpy as np
import pytest
import torch

from iaenet import Discretization
from iaenet.reports.plots import Panel, draw_panels, png

TETRAHEDRON = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("at", "shapes"),
    [
        (Discretization.uniform((5, 4, 6)), 3 * 5 + 4 * 5 + 4 * 3),  # squares across x, y and z
        (Discretization.mesh(TETRAHEDRON, [[0, 1, 2, 3]]), 4),  # triangles of its boundary
        (Discretization.mesh(TETRAHEDRON, [[0, 1, 2], [0, 1, 3]]), 2),  # triangles of a surface
        (Discretization.points(torch.rand(30, 3, dtype=torch.float64)), 30),  # dots
    ],
)
def test_every_kind_of_function_in_space_has_its_shapes(at, shapes):
    values = at.points[:, 0].numpy()
    figure = draw_panels([[Panel("u", {"": (at, values)}, (0.0, 1.0))]], ["sample 0"])
    ax = figure.axes[0]
    assert ax.name == "3d"
    (drawn,) = ax.collections
    assert png(figure)[:4] == b"\x89PNG"
    assert len(np.atleast_2d(drawn.get_facecolor())) == shapes
    assert "sample 0" in [text.get_text() for text in ax.texts]

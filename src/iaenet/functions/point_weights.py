"""What points without a grid weigh, and what domain they fill."""

import numpy as np
from numpy.typing import ArrayLike

from iaenet.errors import InvalidInputError
from iaenet.functions import quadrature
from iaenet.functions.alpha_shape import BOX, scattered
from iaenet.functions.curve import curve_segments
from iaenet.functions.point_checks import checked_weights
from iaenet.functions.quadrature import Array, Index


def point_weights(
    array: Array, box: Array, flags: tuple[bool, ...], weights: ArrayLike | None, rule: str, domain: str
) -> tuple[Array, str, Index | None, str]:
    """Weights of points `(n, d)` by a rule or as given, its name, simplices if there are any, the domain in words.

    >>> point_weights(np.array([[0.9], [0.1]]), np.array([[0.0, 1.0]]), (False,), None, "monte-carlo", "auto")[:2]
    (array([0.5, 0.5]), 'monte-carlo')
    """
    n, d = array.shape
    if domain not in ("auto", "box"):
        raise InvalidInputError(f"domain must be 'auto' or 'box', got {domain!r}")
    cells, words = None, BOX
    volume = float(np.prod(box[:, 1] - box[:, 0]))
    if weights is not None:
        found, made = checked_weights(weights, n), "given"
        words = f"{100 * found.sum() / volume:.3g} % of its box, by the weights given"
    elif rule == "monte-carlo":
        found, made = quadrature.monte_carlo(n, volume), "monte-carlo"
    elif rule != "cells":
        raise InvalidInputError(f"rule must be 'cells' or 'monte-carlo', got {rule!r}")
    elif d == 1:
        found, made = quadrature.trapezoid(array[:, 0], box[0, 0], box[0, 1], flags[0]), "cells"
    elif (segments := _segments(array, box, flags, domain)) is not None:
        found, made, cells = quadrature.lumped_mass(array, segments), "cells", segments
        words = f"a curve of length {found.sum():.3g}"
    elif d <= 3:
        (found, cells, words), made = scattered(array, box, flags, whole=domain == "box"), "cells"
    else:
        raise InvalidInputError(f"cell weights are for 1, 2 or 3 dimensions, not {d}; use rule='monte-carlo'")
    return found, made, cells, words


def _segments(array: Array, box: Array, flags: tuple[bool, ...], domain: str) -> Index | None:
    """Segments of the curve that the points lie on, if they do, and are not said to fill their box."""
    if domain == "box" or any(flags) or array.shape[1] != 2:
        return None
    return curve_segments((array - box[:, 0]) / (box[:, 1] - box[:, 0]))

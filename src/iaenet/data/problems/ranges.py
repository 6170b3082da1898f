"""Parameters that are drawn anew for each sample, from the least to the greatest that the user gives."""

import numpy as np

from iaenet.errors import InvalidInputError

Range = tuple[float, ...]


def check_range(name: str, given: Range, least: float, most: float) -> None:
    """Refuse what is not two numbers, the first not above the second, between `least` and `most`.

    >>> check_range("ratio", (0.5, 2.0), 0.1, 1.0)
    Traceback (most recent call last):
    iaenet.errors.InvalidInputError: ratio must be two growing numbers between 0.1 and 1.0, got (0.5, 2.0)
    """
    if len(given) != 2 or not least <= given[0] <= given[1] <= most:
        raise InvalidInputError(f"{name} must be two growing numbers between {least} and {most}, got {given}")


def drawn(rng: np.random.Generator, within: Range) -> float:
    """A number drawn uniformly from a range.

    >>> drawn(np.random.default_rng(0), (2.0, 2.0))
    2.0
    """
    low, high = within
    return float(rng.uniform(low, high))

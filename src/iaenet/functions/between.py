"""What is known of one set of points at another, kept so that the next step need not find it again."""

from collections.abc import Callable
from typing import TypeVar

from iaenet.functions.discretization import Discretization

Known = TypeVar("Known")
KEPT = 64  # pairs of each kind that a discretization remembers


def between(kind: str, source: Discretization, at: Discretization, make: Callable[[], Known]) -> Known:
    """What `make` finds of `source` at the points of `at`; kept, unless points have a gradient.

    It is kept with the points that come and go, and not with a grid that many point sets are taken to.
    """
    if at.points.requires_grad or source.points.requires_grad:
        return make()
    home, key = (at, (kind, "from", source.key)) if at.axes is None else (source, (kind, "to", at.key))
    if key not in home.cache:
        made = make()
        kept = [known for known in home.cache if known[0] == kind]
        if len(kept) >= KEPT:
            del home.cache[kept[0]]
        home.cache[key] = made
    found: Known = home.cache[key]
    return found

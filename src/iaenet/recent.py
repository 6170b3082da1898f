"""What was made for discretizations, kept while it is in use."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

from iaenet.discretization import Discretization

Result = TypeVar("Result")


def recent(points: int) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Keep the results used last, as long as their discretizations have at most so many points in all.

    Thousands of samples on points of their own stay, a few huge ones do not: what is kept grows with the points.

    >>> @recent(points=8)
    ... def total(at: Discretization) -> float:
    ...     made.append(at.n)
    ...     return at.weights.sum().item()
    >>> made: list[int] = []
    >>> four, six = Discretization.uniform(4), Discretization.uniform(6)
    >>> [total(at) for at in (four, four, six, four)], made
    ([1.0, 1.0, 1.0, 1.0], [4, 6, 4])
    """

    def decorate(make: Callable[..., Result]) -> Callable[..., Result]:
        kept: OrderedDict[tuple[Hashable, ...], Result] = OrderedDict()
        held = 0

        @wraps(make)
        def found(*arguments: Any) -> Result:
            nonlocal held
            if arguments in kept:
                kept.move_to_end(arguments)
                return kept[arguments]
            result = kept[arguments] = make(*arguments)
            held += _points(arguments)
            while held > points and len(kept) > 1:
                held -= _points(kept.popitem(last=False)[0])
            return result

        return found

    return decorate


def _points(arguments: tuple[Any, ...]) -> int:
    return sum(one.n for one in arguments if isinstance(one, Discretization))

"""What a branch of a block is: an object that says what happens to a function on the latent grid.

A branch is a small frozen object, kept in files by its name and numbers; `build(width, grid)` makes the layer, whose
`forward` takes values `(b, s_1 .. s_d, c)`, flattened to `(b, s, c)`, to values of the same shape. A branch of your own
is a dataclass with `build`, under a name by `@branch("...")`; `docs/branches.md` has one in twenty lines.
"""

import dataclasses
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, ClassVar, TypeVar

from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.nn.transform import Grid

T = TypeVar("T")
_KNOWN: dict[str, type[Any]] = {}


def branch(name: str) -> Callable[[type[T]], type[T]]:
    """Give a branch, or a basis of one, the name under which files know it."""

    def named(made: type[T]) -> type[T]:
        made.name = name  # type: ignore[attr-defined]
        _KNOWN[name] = made
        return made

    return named


class Branch:
    """What a block needs of a branch: a frozen dataclass below this, under a name by `@branch("...")`."""

    name: ClassVar[str] = ""

    def build(self, width: int, grid: Grid) -> "BranchLayer":
        """The layer for functions of `width` channels on a grid."""
        raise NotImplementedError


class BranchLayer(nn.Module):
    """A layer on the grid: `forward`, or `encode` and `decode` where the decoder is linear, channel by channel.

    A block multiplies codes by its merge matrix instead of values, which are more.
    """

    autocast: ClassVar[bool] = False  # whether the layer knows what may follow autocast; else it is in full precision

    def encode(self, a: Tensor) -> tuple[Tensor, Any]:
        """Values `(b, s, c)` -> a code `(b, q, c)`, and what the decoder needs besides."""
        return self(a), None

    def decode(self, code: Tensor, memory: Any) -> Tensor:  # noqa: ARG002 - some need it
        """A code `(b, q, c')` -> values `(b, s, c')`."""
        return code

    def initialise(self, maps: Tensor, modes: int) -> None:
        """Begin with linear maps `(k, p, p)` between Fourier coefficients of so many modes, where that applies."""


def to_plain(part: Any) -> Any:
    """A branch as names and numbers.

    >>> from iaenet import SpectralConv
    >>> to_plain(SpectralConv(8))
    {'name': 'spectral-conv', 'modes': 8}
    """
    if not dataclasses.is_dataclass(part) or not hasattr(part, "name"):
        return part
    values = {f.name: to_plain(getattr(part, f.name)) for f in dataclasses.fields(part)}
    return {"name": part.name, **values}


def from_plain(given: Any) -> Any:
    """The branch of `to_plain`, or the branch itself.

    >>> import iaenet.nn.branches
    >>> from_plain({"name": "spectral-iae", "basis": {"name": "wavelet", "levels": 4}, "latent": 8}).basis
    Wavelet(levels=4, wavelet='db6')
    """
    if not isinstance(given, Mapping):
        return given
    options = {key: from_plain(value) for key, value in given.items() if key != "name"}
    name = given.get("name")
    if name not in _KNOWN:
        for entry in entry_points(group="iaenet.branches"):  # of installed packages; loading one names its branches
            entry.load()
    if name not in _KNOWN:
        raise InvalidInputError(f"no branch {name!r}; there are {', '.join(sorted(_KNOWN))}")
    try:
        return _KNOWN[name](**options)
    except TypeError as error:
        raise InvalidInputError(f"branch {name}: {str(error).split('() ')[-1]}") from None

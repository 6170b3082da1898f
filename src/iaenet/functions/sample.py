"""Several functions, each on points of its own, and numbers: what a model may take in the place of one function."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field, Parts

SCALARS = "scalars"  # the name under which numbers are kept together: no function has it

Number = float | Tensor


class Sample(Parts):
    """Named functions, each with a discretization of its own, and named numbers.

    A batch has functions with values `(b, n, c)` and numbers `(b,)`. Numbers are kept together as the channels of one
    more field, on a single point, so that whatever is done to fields is done to them.

    >>> curve, grid = Discretization.uniform(64, periodic=True), Discretization.uniform((8, 8))
    >>> sample = Sample({"g": Field(curve, torch.ones(64, 1)), "f": Field(grid, torch.ones(64, 1))}, {"kappa": 2.0})
    >>> sample["g"].discretization.dim, sample["kappa"].item(), [part.channels for part in sample.parts]
    (1, 2.0, [1, 1, 1])
    """

    def __init__(self, functions: Mapping[str, Field], scalars: Mapping[str, Number] | None = None) -> None:
        self.functions = dict(functions)
        self.scalar_names = tuple(scalars or ())
        names = [*self.functions, *self.scalar_names]
        if not names or SCALARS in names or len(set(names)) < len(names):
            raise InvalidInputError(
                f"a sample has functions and numbers of different names, none of them {SCALARS!r}; got {names}"
            )
        for name, field in self.functions.items():
            if not isinstance(field, Field):
                raise InvalidInputError(f"function {name!r}: expected a Field, got {type(field).__name__}")
        self._numbers = _as_field(scalars, next(iter(self.functions.values()), None)) if scalars else None
        counts = {part.values.shape[0] if part.batched else None for part in self.parts}
        if len(counts) > 1:
            raise InvalidInputError("functions and numbers of a sample must all be one, or batches of the same length")

    @classmethod
    def of(cls, given: "Sample | Mapping[str, Any]") -> "Sample":
        """A sample from a mapping of names to fields and numbers; a sample is itself.

        >>> Sample.of({"f": Field(Discretization.uniform(3), torch.ones(3, 1)), "T": 300}).scalars
        {'T': tensor(300.)}
        """
        if isinstance(given, Sample):
            return given
        functions = {name: one for name, one in given.items() if isinstance(one, Field)}
        return cls(functions, {name: one for name, one in given.items() if name not in functions})

    # ------------------------------------------------------------------ a mapping

    @property
    def scalars(self) -> dict[str, Tensor]:
        """The numbers: each one number, or `(b,)`."""
        if self._numbers is None:
            return {}
        return dict(zip(self.scalar_names, self._numbers.values[..., 0, :].unbind(-1), strict=True))

    def __getitem__(self, name: str) -> Field | Tensor:
        return self.functions[name] if name in self.functions else self.scalars[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """The names, as of a mapping: `dict(sample)`."""
        return [*self.functions, *self.scalar_names]

    # ------------------------------------------------------------------ fields

    @property
    def names(self) -> tuple[str, ...]:
        """The names of `parts`."""
        return tuple(self.functions) if self._numbers is None else (*self.functions, SCALARS)

    @property
    def layout(self) -> Hashable:
        """Names of the functions with the channels of each, and names of the numbers."""
        return tuple((name, field.channels) for name, field in self.functions.items()), self.scalar_names

    @property
    def parts(self) -> tuple[Field, ...]:
        """The functions, then the numbers as one more."""
        functions = tuple(self.functions.values())
        return functions if self._numbers is None else (*functions, self._numbers)

    def with_parts(self, parts: Sequence[Field]) -> "Sample":
        """The same names with other fields."""
        made = object.__new__(Sample)
        made.functions = dict(zip(self.functions, parts, strict=False))
        made.scalar_names = self.scalar_names
        made._numbers = parts[-1] if self.scalar_names else None
        return made

    def arranged(self, functions: Sequence[str], scalars: Sequence[str]) -> "Sample":
        """The same in this order; others than these are refused."""
        wanted = [*functions, *scalars]
        if set(wanted) != set(self) or set(functions) != set(self.functions):
            raise InvalidInputError(f"the model takes {', '.join(wanted)}; the sample has {', '.join(self)}")
        if wanted == list(self):
            return self
        order = [self.scalar_names.index(name) for name in scalars]
        made = object.__new__(Sample)
        made.functions, made.scalar_names = {name: self.functions[name] for name in functions}, tuple(scalars)
        numbers_field = self._numbers
        made._numbers = (
            None
            if numbers_field is None
            else Field.unchecked(numbers_field.discretization, numbers_field.values[..., order])
        )
        return made

    @classmethod
    def from_parts(cls, names: Sequence[str], scalar_names: Sequence[str], parts: Sequence[Field]) -> "Sample":
        """A sample from its `parts` and their `names`."""
        made = object.__new__(cls)
        made.functions = dict.fromkeys((name for name in names if name != SCALARS), parts[0])
        made.scalar_names = tuple(scalar_names)
        return made.with_parts(parts)

    @property
    def discretization(self) -> Discretization:
        """The points of the first function: where an output is asked for unless query points are given."""
        if not self.functions:
            raise InvalidInputError("numbers have no points of their own: give query points, at=...")
        return next(iter(self.functions.values())).discretization

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={_short(value)}" for name, value in self.scalars.items())
        return f"Sample({self.functions}{f', {numbers}' if numbers else ''})"


@lru_cache(maxsize=8)
def one_point(device: torch.device | str = "cpu") -> Discretization:
    """The point that numbers are given on.

    >>> one_point().n
    1
    """
    return Discretization.points([[0.5]]).to(device)


def _as_field(scalars: Mapping[str, Number], like: Field | None) -> Field:
    dtype = torch.get_default_dtype() if like is None else like.values.dtype
    device = "cpu" if like is None else like.values.device
    columns = []
    for name, value in scalars.items():
        try:
            number = torch.as_tensor(value, dtype=dtype, device=device)
        except (TypeError, ValueError, RuntimeError):
            raise InvalidInputError(f"{name!r}: expected a number or a Field, got {type(value).__name__}") from None
        if number.ndim > 1 or not bool(torch.isfinite(number).all()):
            raise InvalidInputError(f"{name!r}: expected a finite number, or (b,) of them, got {_short(number)}")
        columns.append(number)
    if len({number.shape for number in columns}) > 1:
        raise InvalidInputError("numbers of a sample must all be one, or batches of the same length")
    return Field(one_point(device), torch.stack(columns, dim=-1)[..., None, :])


def _short(value: Tensor) -> str:
    return f"{value.item():.6g}" if value.ndim == 0 else f"{tuple(value.shape)} numbers"

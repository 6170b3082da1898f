"""What every model of this package has in common: one call, and options from which it can be built again."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field, group_equal
from iaenet.functions.sample import Sample

Given = Field | Sample  # what a model takes
Pair = tuple[Any, Field]  # a `Given`, of one kind throughout a data set, and its image

# The paper's ideas about networks, as pages list them; augmentation is one of the training.
IDEAS = (
    "data-driven kernels",
    "nonlinear kernels",
    "original + Fourier channels",
    "dense skips",
    "post-processing G",
)


@dataclass(frozen=True)
class Accepts:
    """What a model takes and gives; `docs/baselines.md` shows it as a table, and a test compares it with behaviour."""

    resolutions: bool  # inputs on other grids than those it was built or trained for
    points: bool  # inputs on points that are no tensor grid: sensors, meshes
    query_points: bool  # output at other points than the input's


class Model(nn.Module):
    """A map between functions: `model(field, at=None) -> Field`, and the same for lists: `model([f], at=[points])`.

    A subclass writes `transform`, which sees one batch of functions on the same points. Its constructor takes numbers,
    words and lists of them, which are kept in `options`: `type(model)(**model.options)` is a model of the same shape.

    >>> class Scale(Model):
    ...     accepts = Accepts(resolutions=True, points=True, query_points=False)
    ...
    ...     def __init__(self, factor: float = 2.0) -> None:
    ...         super().__init__()
    ...         self.factor = factor
    ...
    ...     def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
    ...         return self.factor * values
    >>> model = Scale(3.0)
    >>> grid = Discretization.uniform(2)
    >>> model.options, model(Field(grid, torch.ones(2, 1))).values.tolist()
    ({'factor': 3.0}, [[3.0], [3.0]])
    """

    accepts: ClassVar[Accepts] = Accepts(resolutions=True, points=True, query_points=True)
    options: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Note the constructor's arguments, defaults included."""
        model = super().__new__(cls)
        try:
            bound = inspect.signature(cls.__init__).bind(model, *args, **kwargs)
        except TypeError:  # the constructor will say what is wrong; a copy is made without arguments
            return model
        bound.apply_defaults()
        given = dict(list(bound.arguments.items())[1:])
        for name, parameter in inspect.signature(cls.__init__).parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                given |= given.pop(name, {})
        object.__setattr__(model, "options", given)
        return model

    @classmethod
    def for_data(cls, data: Sequence[Pair], **options: Any) -> "Model":
        """A model for such pairs (normalised, training samples only): channels, dimension and periodic axes as theirs.

        A model that needs more of the data, such as sensors or modes, overrides this.
        """
        return cls(**infer_shape(data), **options)

    @property
    def ideas(self) -> dict[str, bool]:
        """Which of the paper's ideas (`IDEAS`) the network has, read off the network itself; none for most models."""
        return dict.fromkeys(IDEAS, False)

    def initialise(self, data: Sequence[Pair]) -> None:
        """What is found in closed form before the training, from training samples alone; nothing for most models."""

    def forward(self, field: Any, at: Any = None) -> Any:
        """The output function of each input function, on its own points or `at` others."""
        single = not isinstance(field, Sequence)
        fields, targets = as_batch(field, at)
        for i, f in enumerate(fields):
            self.check(i, f)
        results: list[Field | None] = [None] * len(fields)
        for members in group_by_discretization(fields, targets):
            source, target = fields[members[0]].discretization, targets[members[0]]
            values = [fields[i].batch_values for i in members]
            output = self.transform(values[0] if len(values) == 1 else torch.cat(values), source, target)
            for i, part in zip(members, output.split([len(v) for v in values]), strict=True):
                results[i] = Field.unchecked(target, part if fields[i].batched else part[0])
        return results[0] if single else results

    def check(self, i: int, field: Field) -> None:
        """Refuse a field of other channels, another precision or another device than the network's."""
        if not isinstance(field, Field):
            raise InvalidInputError(
                f"sample {i}: this network takes one function; build one for samples with `build(name, samples)` or fit"
            )
        wanted = getattr(self, "in_channels", field.channels)
        if field.channels != wanted:
            raise InvalidInputError(f"field {i}: the network takes {wanted} channels, got {field.channels}")
        like = next((p for p in self.parameters() if p.is_floating_point()), field.values)
        if field.values.device != like.device:
            raise InvalidInputError(
                f"field {i}: values are on {field.values.device}, the network is on {like.device}; move them with "
                f"field.to({str(like.device)!r}), or use predict, which does it"
            )
        dtype = like.dtype
        if field.values.dtype != dtype:
            raise InvalidInputError(
                f"field {i}: values are {field.values.dtype}, the network is {dtype}; convert with field.to({dtype}) "
                "or the network with .double() or .float()"
            )

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values `(b, n, c)` at the points of `source` -> values `(b, n', c')` at those of `target`."""
        raise NotImplementedError


def as_given(one: Any, name: str) -> Given:
    """A field or a sample; a mapping of names to fields and numbers becomes a sample."""
    if isinstance(one, Mapping):
        return Sample.of(one)
    if not isinstance(one, Field | Sample):
        raise InvalidInputError(f"{name}: expected a Field, got {type(one).__name__}")
    return one


def as_batch(field: Any, at: Any) -> tuple[list[Any], list[Discretization]]:
    """The inputs of a call and the query points of each: its own points if `at` is not given."""
    single = isinstance(field, Field | Sample | Mapping)
    if not single and not isinstance(field, Sequence):
        raise InvalidInputError(f"expected a Field or a list of them, got {type(field).__name__}")
    fields = [as_given(one, f"field {i}") for i, one in enumerate([field] if single else field)]
    if at is None:
        return fields, [one.discretization for one in fields]
    if not single and not isinstance(at, Sequence):
        raise InvalidInputError(f"a list of fields needs a list of query points, not a {type(at).__name__}")
    targets = [at] if single else list(at)
    if len(targets) != len(fields):
        raise InvalidInputError(f"{len(fields)} fields, but {len(targets)} sets of query points")
    for i, target in enumerate(targets):
        if not isinstance(target, Discretization):
            raise InvalidInputError(f"query points {i}: expected a Discretization, got {type(target).__name__}")
    return fields, targets


def group_by_discretization(fields: Sequence[Given], targets: Sequence[Discretization]) -> list[list[int]]:
    """Which inputs share their points, and their query points."""
    return group_equal((field.points_key, target.key) for field, target in zip(fields, targets, strict=True))


def infer_shape(data: Sequence[Pair]) -> dict[str, Any]:
    """The constructor's arguments that follow from the data.

    >>> grid = Discretization.uniform(4, periodic=True)
    >>> infer_shape([(Field(grid, torch.ones(4, 2)), Field(grid, torch.ones(4, 1)))])
    {'in_channels': 2, 'out_channels': 1, 'dim': 1, 'periodic': (True,)}
    """
    given, wanted = data[0]
    return {
        "in_channels": given.channels,
        "out_channels": wanted.channels,
        "dim": given.discretization.dim,
        "periodic": given.discretization.periodic,
    }


Presets = dict[str, dict[int, dict[str, Any]]]


def preset_options(presets: Presets, preset: str, dim: int) -> dict[str, Any]:
    """The options of a named size for a dimension; the largest dimension given stands for those above it.

    >>> preset_options({"default": {1: {"width": 64}, 2: {"width": 32}}}, "default", 3)
    {'width': 32}
    """
    if preset not in presets:
        raise InvalidInputError(f"no preset {preset!r}; there are {', '.join(sorted(presets))}")
    sizes = presets[preset]
    return dict(sizes[min(dim, max(sizes))])

"""Models of samples: any model that takes query points, behind an E that makes one function of several."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field, Parts
from iaenet.functions.geometry import on_nodes
from iaenet.functions.latent_grid import LatentGrid
from iaenet.functions.smoothing import best_smoothing
from iaenet.models.base import Model, Pair, as_batch
from iaenet.models.grid_model import DEFAULT, MOST, as_shape
from iaenet.models.sample_encoder import Part, PartEncoder
from iaenet.nn.pointwise import full_precision

SAME_BOX = 1e-6  # of its width: ends of boxes that are the same
VARIES = 0.05  # of its mean, from which a measure that differs between samples is worth a channel
LOOKED_AT = 64  # samples, at most, by which that is judged


class SampleModel(Model):
    """`g = N(E_1 f_1, ..., E_k f_k, numbers)`: each part of a sample as channels on one grid, then a network N.

    The grid is uniform and lies in the output's space. `sample_encoder` says how parts are brought to it. N is any
    model that takes query points; it sees one function, on that grid.

    Args:
        parts: what a sample consists of, as fields of `Part`.
        grid: points along each axis of the grid.
        periodic: which of its axes are periodic.
        network: name and options of N.
    """

    def __init__(
        self,
        parts: Sequence[Mapping[str, Any]],
        grid: Sequence[int],
        periodic: Sequence[bool],
        network: Mapping[str, Any],
    ) -> None:
        from iaenet.models.registry import model_class  # not above: it knows this class, too

        super().__init__()
        self.specs = [Part(**{key: _frozen(value) for key, value in part.items()}) for part in parts]
        self.latent = LatentGrid(grid, tuple(periodic))
        made = [spec.build(self.latent) for spec in self.specs]
        self.encoders: Sequence[PartEncoder] = nn.ModuleList(made)  # type: ignore[assignment]
        self.network: Model = model_class(network["name"])(**network["options"])

    @classmethod
    def for_samples(cls, name: str, data: Sequence[Pair], options: Mapping[str, Any]) -> "SampleModel":
        """The model of a name, with its options, for pairs of samples and their images."""
        from iaenet.models.registry import model_class

        maker = model_class(name)
        vectors = all(image.discretization.n == 1 for _, image in data)
        if not (maker.accepts.query_points or vectors):
            raise InvalidInputError(
                f"model {name} gives its output at the points of its input: it cannot take several functions, or one "
                "in another space than the output; iaenet, fno, galerkin, unet-interpolation and others can"
            )
        parts, latent, encoders, seen = _encoding(data, options.get("grid"))
        chosen = dict(options)
        if any(part.grid for part in parts) and "linear_start" in maker.__init__.__annotations__:
            chosen["linear_start"] = 0  # a linear map of channels that are learned starts nothing
        inner = maker.for_data(seen, **chosen)
        plain = [asdict(part) for part in parts]
        model = cls(plain, list(latent.shape), list(latent.periodic), {"name": name, "options": inner.options})
        model.encoders, model.network = encoders, inner
        return model

    @property
    def ideas(self) -> dict[str, bool]:
        """Those of its network."""
        return self.network.ideas

    def initialise(self, data: Sequence[Pair]) -> None:
        """What the network finds in closed form."""
        with torch.no_grad():
            self.network.initialise([(self._encoded([one], [image.discretization])[0], image) for one, image in data])

    def forward(self, given: Any, at: Any = None) -> Any:
        """The output function of each sample, `at` query points; without, at those of its first function."""
        single = not isinstance(given, Sequence)
        samples, targets = as_batch(given, at)
        for i, (one, target) in enumerate(zip(samples, targets, strict=True)):
            self._check(f"sample {i}", one, target)
        found = self.network(self._encoded(samples, targets), targets) if samples else []
        return found[0] if single else found

    @torch.compiler.disable
    def _encoded(self, samples: Sequence[Parts], targets: Sequence[Discretization]) -> list[Field]:
        with full_precision(samples[0].parts[0].values):
            return _on_grid(self.encoders, self.latent, samples, targets)

    def _check(self, name: str, one: Parts, target: Discretization) -> None:
        wanted = [spec.channels for spec in self.specs]
        names = getattr(one, "names", ("",))
        if names != tuple(spec.name for spec in self.specs) or [part.channels for part in one.parts] != wanted:
            parts = ", ".join(f"{spec.name or 'one function'} ({spec.channels})" for spec in self.specs)
            raise InvalidInputError(f"{name}: the network takes {parts} (channels), got {one!r}")
        for spec, encoder, part in zip(self.specs, self.encoders, one.parts, strict=True):
            encoder.check(f"{name}: {spec.name or 'the input'}", part)
        if target.periodic != self.latent.periodic and target.n > 1:
            raise InvalidInputError(
                f"{name}: the output is asked for on periodic axes {target.periodic} in {target.dim}-D, the network "
                f"was built for {self.latent.periodic}: give query points there, at=..."
            )


def takes_samples(data: Sequence[Pair]) -> bool:
    """Whether a network on a latent grid needs a `SampleModel` for such pairs."""
    return not isinstance(data[0][0], Field) or apart(*data[0])


def as_functions(data: Sequence[Pair], grid: int | Sequence[int] | None = None) -> list[Pair]:
    """Pairs of samples with each sample as the one function on a grid that its network would see before training."""
    return _encoding(data, grid)[3]


def _encoding(data: Sequence[Pair], grid: int | Sequence[int] | None) -> tuple[list[Part], LatentGrid, Any, list[Pair]]:
    """What the parts of samples are, the grid, the layers that bring them to it, and the pairs there."""
    given, wanted = data[0]
    vectors = all(image.discretization.n == 1 for _, image in data)
    space = given.parts[0].discretization if vectors else wanted.discretization
    shape = _grid_shape(data, space) if grid is None else as_shape(grid, space.dim)
    parts = [_part(number, data, space, shape) for number in range(len(given.parts))]
    latent = LatentGrid(shape, space.periodic)
    encoders: Any = nn.ModuleList([part.build(latent) for part in parts])
    encoders.to(given.parts[0].values.dtype)
    with torch.no_grad():
        seen = [(_on_grid(encoders, latent, [one], [image.discretization])[0], image) for one, image in data]
    return parts, latent, encoders, seen


def apart(given: Field, wanted: Field) -> bool:
    """Whether a function and its image are in different spaces: other dimensions, or other periodic axes.

    >>> line, plane = Discretization.uniform(4), Discretization.uniform((4, 4))
    >>> apart(Field(line, torch.ones(4, 1)), Field(plane, torch.ones(16, 1)))
    True
    """
    return given.discretization.periodic != wanted.discretization.periodic and wanted.discretization.n > 1


def _on_grid(
    encoders: Any, latent: LatentGrid, samples: Sequence[Parts], targets: Sequence[Discretization]
) -> list[Field]:
    """Samples, each as one function on the latent grid."""
    columns = [encoder([one.parts[i] for one in samples]) for i, encoder in enumerate(encoders)]
    values = torch.cat(columns, dim=-1).split([one.count for one in samples])
    found = []
    for one, part, target in zip(samples, values, targets, strict=True):
        grid = latent.in_box(_box(encoders, one, target))
        found.append(Field.unchecked(grid, part if one.batched else part[0]))
    return found


def _box(encoders: Any, one: Parts, target: Discretization) -> Tensor:
    """The box of the output's space: that of the functions in it, or else of the query points."""
    boxes = [
        part.discretization.bounds for encoder, part in zip(encoders, one.parts, strict=True) if encoder.in_output_space
    ]
    for box in boxes[1:]:
        if not _same_box(box, boxes[0]):
            raise InvalidInputError(
                f"functions of a sample in the same space need the same bounds, got {boxes[0].tolist()} and "
                f"{box.tolist()}"
            )
    return boxes[0] if boxes else target.bounds


def _same_box(one: Tensor, other: Tensor) -> bool:
    width = (other[:, 1] - other[:, 0])[:, None]
    return one.shape == other.shape and bool(((one - other).abs() <= SAME_BOX * width).all())


def _part(number: int, data: Sequence[Pair], space: Discretization, shape: Sequence[int]) -> Part:
    """What one of the parts of samples is."""
    first = data[0][0]
    name, part = getattr(first, "names", ("",))[number], first.parts[number]
    if scalars := getattr(first, "scalar_names", ()) if number == len(first.parts) - 1 else ():
        return Part(name, part.channels, scalars)
    fields = [given.parts[number] for given, _ in data]
    own = part.discretization
    if own.periodic == space.periodic and all(
        _same_box(field.discretization.bounds, _space_of(image, space).bounds)
        for field, (_, image) in zip(fields, data, strict=True)
    ):
        smoothing = best_smoothing(fields, shape, space.periodic)
        latent = LatentGrid(shape, space.periodic, smoothing)
        return Part(name, part.channels, smoothing=smoothing, measure=_measure(fields, latent))
    grid = _finest(fields, own.dim) or (DEFAULT[min(own.dim, max(DEFAULT))],) * own.dim
    return Part(
        name, part.channels, grid=grid, periodic=own.periodic, smoothing=best_smoothing(fields, grid, own.periodic)
    )


def _space_of(image: Field, space: Discretization) -> Discretization:
    return image.discretization if image.discretization.n > 1 else space


def _measure(fields: Sequence[Field], latent: LatentGrid) -> float:
    """Deviation of the measures of domains from their mean, 0 if they are all about the same."""
    some = fields[:: max(1, len(fields) // LOOKED_AT)][:LOOKED_AT]
    if all(field.discretization.axes is not None for field in some):
        return 0.0
    measures = torch.stack([on_nodes(latent, "measure", field.discretization) for field in some])
    deviation = float((measures - measures.mean(dim=0)).square().mean().sqrt())
    size = float(measures.mean(dim=0).square().mean().sqrt())
    return deviation if deviation > VARIES * size else 0.0


def _grid_shape(data: Sequence[Pair], space: Discretization) -> tuple[int, ...]:
    """As fine as the finest tensor grid in the output's space, up to a limit; one by dimension without any."""
    there = [part for given, image in data for part in (*given.parts, image)]
    same = [field for field in there if field.discretization.periodic == space.periodic]
    return _finest(same, space.dim) or (DEFAULT[min(space.dim, max(DEFAULT))],) * space.dim


def _finest(fields: Sequence[Field], dim: int) -> tuple[int, ...]:
    grids = [field.discretization.shape for field in fields if field.discretization.axes is not None]
    most = MOST[min(dim, max(MOST))]
    return tuple(int(size) for size in np.clip(np.max(grids, axis=0), 4, most)) if grids else ()


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value

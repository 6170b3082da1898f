"""`check_model`: the laws that every map between functions must keep, tried on one model.

In the manner of scikit-learn's `check_estimator`: a model of your own that passes can be trained, evaluated, certified
and used like those of this package.
"""

import copy
import gc
import pickle
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.field import Field
from iaenet.functions.normalizer import Normalizer
from iaenet.models.base import Accepts
from iaenet.models.operator import Operator

ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-10}  # of a difference, in units of the largest output
CALLS = 24  # on new discretizations
THREADS = 4
SIZES = (1e-30, 1e30)
SIDES = (1e3, 1e-4, 7.0)  # of the stretched box


@dataclass(frozen=True)
class Law:
    """One law, and how far the model is from it: `passed` if not further than `limit`."""

    name: str
    found: float
    limit: float

    @property
    def passed(self) -> bool:
        """Whether the model keeps it."""
        return self.found <= self.limit


def check_model(model: nn.Module, field: Field | None = None) -> list[Law]:
    """Try the laws on a model, and give what was found; `InvalidInputError` names those that it breaks.

    Args:
        model: `model(field, at=None) -> field`, and the same for lists.
        field: a function that it takes. Default: one with the channels and dimension of its options, on a uniform grid.

    | law | what is compared |
    |---|---|
    | finite | the output is finite numbers at the input's points, and the input is unchanged |
    | repeated | two calls on the same function |
    | batch mates | a function alone, and in a batch and a list with others |
    | point order | points in another order (models that take points) |
    | stretching | the same values on a box with other sides (models that take other discretizations in any box) |
    | scaling | values of 1e-30 and 1e30 with statistics of the same size, see `Operator` |
    | pickling | the model, sent to another process or copied |
    | threads | four calls at the same time |
    | memory | tensors that are alive after many calls on new discretizations (models that take such) |

    >>> from iaenet.models.fno import FNO
    >>> all(law.passed for law in check_model(FNO(1, 1, width=4, modes=3, layers=1)))
    True
    """
    training = model.training
    model.eval()
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            laws = list(_laws(model, _example(model) if field is None else field))
    finally:
        model.train(training)
    broken = [f"{law.name} ({law.found:.2g}, at most {law.limit:.2g})" for law in laws if not law.passed]
    if broken:
        raise InvalidInputError(
            f"{type(model).__name__} breaks the laws of a map between functions: {', '.join(broken)}"
        )
    return laws


def _example(model: nn.Module) -> Field:
    options = getattr(model, "options", {})
    channels, dim = options.get("in_channels"), options.get("dim", 1)
    if not isinstance(channels, int) or not isinstance(dim, int):
        raise InvalidInputError("give a function that the model takes, as in check_model(model, field)")
    grid = Discretization.uniform((16, 12, 10)[:dim], periodic=options.get("periodic", False))
    like = next((p.dtype for p in model.parameters() if p.is_floating_point()), torch.float32)
    return Field(grid, _waves(grid, channels).to(like))


def _waves(at: Discretization, channels: int, seed: int = 0) -> Tensor:
    """Smooth functions of the place in the box."""
    x = (at.points - at.bounds[:, 0]) / (at.bounds[:, 1] - at.bounds[:, 0])
    both = torch.cat([torch.cos(2 * torch.pi * x), torch.sin(2 * torch.pi * x)], dim=1)
    mix = torch.randn(both.shape[1], channels, generator=torch.Generator().manual_seed(seed), dtype=both.dtype)
    return both @ mix


def _laws(model: nn.Module, field: Field) -> Iterator[Law]:
    if field.batched:
        field = Field(field.discretization, field.values[0])
    network = model.network if isinstance(model, Operator) else model
    accepts: Accepts = getattr(network, "accepts", Accepts(resolutions=True, points=True, query_points=True))
    limit, given = ROUNDING[field.values.dtype], field.values.clone()
    wanted = _values(model(field))
    size = max(float(wanted.abs().max()), 1e-30)

    def law(name: str, *found: Tensor) -> Law:
        fits = all(one.shape == wanted.shape and bool(torch.isfinite(one).all()) for one in found)
        apart = max(float((one - wanted).abs().max()) for one in found) / size if fits else float("inf")
        return Law(name, apart, limit)

    unchanged = torch.equal(field.values, given) and bool(torch.isfinite(wanted).all())
    yield Law("finite", 0.0 if unchanged else 1.0, 0.0)
    yield law("repeated", _values(model(field)))

    source = field.discretization
    others = Field(source, torch.stack([given.flip(0), given, 2 * given]))
    yield law("batch mates", _values(model(others))[1], _values(model([others, field])[-1]))

    if accepts.points and accepts.resolutions:
        order = torch.randperm(source.n, generator=torch.Generator().manual_seed(0))
        loose = Discretization(source.points, source.weights, source.bounds, source.periodic)
        mixed = Discretization(source.points[order], source.weights[order], source.bounds, source.periodic)
        here, there = _values(model(Field(loose, given))), _values(model(Field(mixed, given[order])))
        here = here[order] if len(here) == source.n else here  # a vector has no order
        apart = float((here - there).abs().max()) if here.shape == there.shape else float("inf")
        yield Law("point order", apart / max(float(here.abs().max()), 1e-30), limit)
    if accepts.resolutions and not hasattr(network, "bounds") and network is model:  # some are tied to one box
        yield law("stretching", _values(model(Field(_stretched(source), given))))
    if network is model and wanted.ndim == 2:
        yield law("scaling", *(_scaled(model, field, wanted.shape[-1], each) for each in SIZES))

    yield law("pickling", *(_values(each(field)) for each in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model))))
    with ThreadPoolExecutor(THREADS) as pool:
        yield law("threads", *pool.map(lambda _: _quietly(model, field), range(2 * THREADS)))
    if accepts.resolutions:
        grows = _growth(lambda at: model(Field(at, _waves(at, given.shape[1]).to(given))), source)
        yield Law("memory", grows, 0.0)


def _values(found: Any) -> Tensor:
    """Of an output, which is a vector for some models."""
    values: Tensor = found if isinstance(found, Tensor) else found.values
    return values


def _quietly(model: nn.Module, field: Field) -> Tensor:
    with torch.no_grad():  # which is a matter of each thread
        return _values(model(Field(field.discretization, field.values.clone())))


def _stretched(source: Discretization) -> Discretization:
    """The same points, seen in a box with other sides."""
    low, high = source.bounds.unbind(1)
    sides = torch.tensor([SIDES[i % len(SIDES)] for i in range(source.dim)], dtype=torch.float64)
    points = (source.points - low) / (high - low) * sides - sides / 3
    weights = source.weights * float((sides / (high - low)).prod())
    bounds = torch.stack([-sides / 3, 2 * sides / 3], dim=1)
    axes = None
    if source.axes is not None:
        scaled = zip(source.axes, low, high, sides, strict=True)
        axes = tuple((axis - a) / (b - a) * side - side / 3 for axis, a, b, side in scaled)
    return Discretization(points, weights, bounds, source.periodic, axes, rule=source.rule, cells=source.cells)


def _scaled(model: nn.Module, field: Field, channels: int, size: float) -> Tensor:
    """The output for values times `size`, by an operator whose statistics are of that size; over `size`."""
    given, wanted = (Normalizer([0.0] * count, [size] * count) for count in (field.channels, channels))
    found: Tensor = Operator(model, given, wanted)(Field(field.discretization, size * field.values)).values
    return found / size


def _growth(call: Callable[[Discretization], object], source: Discretization) -> float:
    """Bytes of tensors that are alive after many calls on new discretizations, beyond those after a few."""
    sizes = []
    for i in range(CALLS):
        if source.axes is None:
            keep = torch.randperm(source.n, generator=torch.Generator().manual_seed(i))[: max(source.n - 1, 1)]
            new = Discretization(source.points[keep], source.weights[keep], source.bounds, source.periodic)
        else:
            shape = [len(axis) + 1 + i % 12 for axis in source.axes]
            new = Discretization.uniform(shape, source.periodic, source.bounds.tolist())
        call(new)
        del new
        if i in (CALLS // 2 - 1, CALLS - 1):
            gc.collect()
            alive = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in _tensors()}
            sizes.append(sum(alive.values()))
    return float(max(sizes[1] - sizes[0], 0))


def _tensors() -> Iterator[Tensor]:
    for found in gc.get_objects():
        try:
            if type(found) in (Tensor, nn.Parameter) and found.device.type == "cpu":
                yield found
        except ReferenceError:  # a weak reference whose object is gone
            continue

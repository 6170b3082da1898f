"""What a checkpoint says of an operator, and a network made of it: looked at before it is believed."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from iaenet.errors import InvalidInputError, pass_on_lack_of_memory
from iaenet.models.registry import model_class

AMPLE = 100  # times its weights that a network may take while it is made
LITTLE = 10**7  # numbers that any network may take


def build_again(name: str, options: dict[str, Any], weights: Mapping[str, Tensor] | None = None) -> nn.Module:
    """A model from its options; a few bytes of which may ask for any size, so that these must fit its `weights`."""
    maker = model_class(name)
    try:
        if weights is None:
            return maker(**options)
        count = sum(weight.numel() for weight in weights.values())
        # No width, number of layers or size of a grid is larger than all weights together.
        if any(abs(number) > max(count, 2**16) for number in _whole_numbers(options)):
            raise InvalidInputError(f"the options of {name} do not fit its {count} weights: {_shown(options)}")
        with _Bounded(max(AMPLE * count, LITTLE)):
            return maker(**options)
    except InvalidInputError:
        raise
    except Exception as error:  # options that are none of this version's may break a constructor anywhere
        pass_on_lack_of_memory(error)
        said = str(error).splitlines() or [type(error).__name__]
        raise InvalidInputError(f"this network was made by another version of {name}: {said[0][:200]}") from None


def _whole_numbers(value: Any) -> Iterator[int]:
    if isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _whole_numbers(part)
    elif isinstance(value, int):
        yield value


def _shown(options: dict[str, Any]) -> str:
    text = str(options)
    return text if len(text) <= 200 else f"{text[:200]}..."


class _Bounded(TorchDispatchMode):
    """Refuses tensors beyond so many numbers in all, before they are made."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.left = most

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        sizes = [arg for arg in args if isinstance(arg, list | tuple) and all(isinstance(n, int) for n in arg)]
        self.left -= max((math.prod(size) for size in sizes), default=0)
        if self.left < 0:
            raise InvalidInputError("its options make a network much larger than the weights that were saved")
        return func(*args, **(kwargs or {}))


# ---------------------------------------------------------------------- what `Operator.to_json` says


@dataclass
class ModelDocument:
    """Which network."""

    name: str | None
    options: dict[str, Any]


@dataclass
class Statistics:
    """Of a normalizer."""

    mean: list[float]
    std: list[float]


@dataclass
class OperatorDocument:
    """An operator, but for its weights."""

    format: int
    model: ModelDocument
    inputs: Statistics
    outputs: Statistics
    metadata: dict[str, Any]


@dataclass
class ChannelDocument:
    """A channel of the data."""

    name: str
    unit: str = "1"


@dataclass
class Described:
    """What `describe` says of discretizations."""

    dim: int
    bounds: list[list[float]]
    periodic: list[bool]
    points: list[int]
    sizes: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """What an operator was trained on."""

    data: dict[str, Any] | None = None
    inputs: list[ChannelDocument] = field(default_factory=list)
    outputs: list[ChannelDocument] = field(default_factory=list)
    provenance: dict[str, Any] | None = None
    trained: Described | None = None
    targets: Described | None = None

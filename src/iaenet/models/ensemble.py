"""Several trainings of one model as one: their mean, and how far they are apart."""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from iaenet.errors import InvalidInputError
from iaenet.functions.field import Field
from iaenet.models.operator import Operator


class Ensemble(Operator):
    """`u = mean_k u_k` of K operators for the same channels; used wherever an operator is.

    >>> from iaenet import Discretization, IAENet
    >>> from iaenet.functions.normalizer import Normalizer
    >>> same = Normalizer([0.0], [1.0])
    >>> members = [Operator(IAENet(1, 1, blocks=1), same, same) for _ in range(3)]
    >>> grid = Discretization.uniform(16)
    >>> Ensemble(members)(Field(grid, torch.ones(16, 1))).values.shape
    torch.Size([16, 1])
    """

    def __init__(self, members: Sequence[Operator]) -> None:
        if not members or any(_channels(one) != _channels(members[0]) for one in members):
            raise InvalidInputError("an ensemble needs operators, all for the same channels")
        first = members[0]
        super().__init__(nn.ModuleList(members), first.input_normalizer, first.output_normalizer, dict(first.metadata))

    @property
    def members(self) -> list[Operator]:
        """The operators."""
        return list(self.network.children())  # type: ignore[arg-type]

    def forward(self, field: Any, at: Any = None, **options: Any) -> Any:
        """The mean output function of each input function, on its own points or `at` others."""
        found = [member(field, at, **options) for member in self.members]
        if not isinstance(field, Sequence):
            return _mean(found)
        return [_mean(same) for same in zip(*found, strict=True)]

    def to_json(self) -> dict[str, Any]:
        """Refused: members are kept one by one."""
        raise InvalidInputError("an ensemble is no single network: each of its `members` has a document")


def _mean(fields: Sequence[Field]) -> Field:
    return Field.unchecked(fields[0].discretization, torch.stack([field.values for field in fields]).mean(dim=0))


def _channels(operator: Operator) -> tuple[int, int]:
    return len(operator.input_normalizer.mean), len(operator.output_normalizer.mean)


def fingerprint(operator: nn.Module) -> str:
    """SHA-256 of all weights by name: tells whether something that was found out about a model is about this one.

    >>> fingerprint(nn.Identity())[:8]
    'e3b0c442'
    """
    digest = hashlib.sha256()
    for name, weight in sorted(operator.state_dict().items()):
        value: Tensor = weight.detach().cpu().contiguous()
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


class _Spread(nn.Module):
    """Mean and standard deviation of the members as the channels of one function."""

    def __init__(self, ensemble: Ensemble) -> None:
        super().__init__()
        self.ensemble = ensemble

    def forward(self, field: Any, at: Any = None) -> Any:
        found = [member(field, at) for member in self.ensemble.members]
        return [_both(same) for same in zip(*found, strict=True)] if isinstance(field, Sequence) else _both(found)


def _both(fields: Sequence[Field]) -> Field:
    values = torch.stack([field.values for field in fields])
    both = torch.cat([values.mean(dim=0), values.std(dim=0)], dim=-1)
    return Field.unchecked(fields[0].discretization, both)


def with_spread(operator: Operator) -> nn.Module:
    """A model whose output `split_spread` takes apart: of an ensemble, mean and standard deviation in one call."""
    return _Spread(operator) if isinstance(operator, Ensemble) else operator


def split_spread(operator: Operator, found: Field) -> tuple[Field, Tensor | None]:
    """The output of `with_spread` as the prediction, and the standard deviation of the members if there are any."""
    if not isinstance(operator, Ensemble):
        return found, None
    mean, spread = found.values.chunk(2, dim=-1)
    return Field.unchecked(found.discretization, mean), spread

"""A trained network in the data's own units."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

import iaenet
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization
from iaenet.functions.normalizer import Normalizer
from iaenet.functions.sample import Sample
from iaenet.models.base import Given, as_given
from iaenet.models.inference import infer
from iaenet.models.operator_document import Metadata, OperatorDocument, build_again
from iaenet.models.registry import name_of
from iaenet.models.rollout import rollout
from iaenet.outside import document

FORMAT = 3  # of the document: networks of 0.1, which had none, are others under the same names
FEW_SIZES = 16  # numbers of points that are listed one by one


class Operator(nn.Module):
    """`u = undo(network(normalise(a)))`: a network with the statistics of its training data, in their own units.

    `metadata` says what it was trained on: names and units of its channels, and the discretizations (see `describe`).

    >>> from iaenet.functions.field import Field
    >>> from iaenet.models.iae_net import IAENet
    >>> operator = Operator(IAENet(1, 1), Normalizer([0.0], [2.0]), Normalizer([5.0], [1.0]))
    >>> grid = Discretization.uniform(16)
    >>> operator(Field(grid, torch.ones(16, 1))).values.shape
    torch.Size([16, 1])
    """

    def __init__(
        self,
        network: nn.Module,
        input_normalizer: Normalizer,
        output_normalizer: Normalizer,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.network = network
        self.input_normalizer = input_normalizer
        self.output_normalizer = output_normalizer
        self.metadata: dict[str, Any] = metadata or {}

    def forward(self, field: Any, at: Any = None, **options: Any) -> Any:
        """The output function of each input function, on its own points or `at` others; options go to the network."""
        if not isinstance(field, Sequence):
            return self.output_normalizer.undo(self.network(self._normalised(field, "input"), at, **options))
        found = self.network([self._normalised(one, f"input {i}") for i, one in enumerate(field)], at, **options)
        return [self.output_normalizer.undo(one) for one in found]

    def _normalised(self, field: Any, name: str) -> Given:
        given, known = as_given(field, name), self.metadata.get("sample")
        if isinstance(given, Sample) and known:
            given = given.arranged(list(known["functions"]), known["scalars"])
        return self.input_normalizer.apply(given)

    def predict(self, field: Any, at: Any = None) -> Any:
        """The output functions for use instead of training, at their own points or `at` others, see `infer`.

        Evaluation mode, no gradients, in the network's precision and on its device; the results are on the CPU.
        """
        return infer(self, field, at)

    def rollout(self, field: Any, steps: int, at: Discretization | None = None) -> list[Any]:
        """The states after 1, .., steps applications to its own output, see `iaenet.models.rollout.rollout`."""
        return rollout(self, field, steps, at)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of it to one `.safetensors` file, which `iaenet.load` and `iaenet predict` take as a run."""
        from iaenet.models.saved import save_operator

        save_operator(self, path)

    def to_json(self) -> dict[str, Any]:
        """All but the weights, as JSON."""
        name = name_of(self.network)
        return {
            "format": FORMAT,
            "iaenet": iaenet.__version__,
            "model": {"name": name, "options": self.network.options if name else {}},
            "inputs": json.loads(self.input_normalizer.to_json()),
            "outputs": json.loads(self.output_normalizer.to_json()),
            "metadata": self.metadata,
        }

    @classmethod
    def from_json(
        cls, found: Any, network: nn.Module | None = None, weights: Mapping[str, Tensor] | None = None
    ) -> "Operator":
        """The operator of `to_json`, with a new network, or with yours if it is none of `iaenet.models`.

        A network is made only if its weights have the shapes of `weights`, where these are given: a few bytes of
        options may ask for any amount of memory.
        """
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            by = found.get("iaenet", "0.1") if isinstance(found, dict) else "nobody"
            raise InvalidInputError(f"made by iaenet {by}, which can load it; train again with {iaenet.__version__}")
        parts: OperatorDocument = document(OperatorDocument, found, "the operator")
        document(Metadata, parts.metadata, "the operator's metadata")
        if network is None:
            if parts.model.name is None:
                raise InvalidInputError("this network is no model that can be named: give it, as in load(run, MyNet())")
            network = build_again(parts.model.name, parts.model.options, weights)
        given, wanted = (Normalizer(side.mean, side.std) for side in (parts.inputs, parts.outputs))
        return cls(network, given, wanted, parts.metadata)


class Description:
    """What discretizations are like, added one by one: dimension, bounds, periodic axes, numbers of points, kinds."""

    def __init__(self) -> None:
        self._first: Discretization | None = None
        self._sizes: set[int] = set()
        self._kinds: set[str] = set()

    def add(self, one: Discretization) -> None:
        """Include one."""
        low, high = one.bounds.unbind(1)
        if self._first is None:
            self._first, self._low, self._high = one, low, high
        self._low, self._high = torch.minimum(self._low, low), torch.maximum(self._high, high)
        self._sizes.add(one.n)
        self._kinds.add("point set" if one.axes is None else "tensor grid")

    def to_json(self) -> dict[str, Any]:
        """`points` are the smallest and largest number of points, `sizes` all of them if these are few."""
        assert self._first is not None
        sizes = sorted(self._sizes)
        return {
            "dim": self._first.dim,
            "bounds": torch.stack([self._low, self._high], dim=1).tolist(),
            "periodic": list(self._first.periodic),
            "points": [sizes[0], sizes[-1]],
            "sizes": sizes if len(sizes) <= FEW_SIZES else [],
            "kinds": sorted(self._kinds),
        }


def describe(discretizations: Iterable[Discretization]) -> dict[str, Any]:
    """The `Description` of some, as JSON.

    >>> describe([Discretization.uniform(64, periodic=True), Discretization.uniform(128, periodic=True)])["points"]
    [64, 128]
    """
    found = Description()
    for one in discretizations:
        found.add(one)
    return found.to_json()

"""A trained model of samples as a map between arrays in the data's units: what goes into a file."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from iaenet.errors import InvalidInputError
from iaenet.evaluation.input_checks import channels_of
from iaenet.exporting.exported import ONE
from iaenet.exporting.portable import FREE, MOST, B, example_taps, keep_statistics, on_grid
from iaenet.functions.geometry import measured, points_or_segments
from iaenet.models.iae_net import IAENet
from iaenet.models.operator import Operator
from iaenet.models.point_model import PointModel
from iaenet.models.sample_encoder import Projected, Transferred
from iaenet.models.sample_model import SampleModel

Function = Mapping[str, Tensor]  # the inputs of one function: points, values, weights ...


class PortableSample(nn.Module):
    """`g(y) = undo(N(E_1 f_1, ..., numbers))`, functions and numbers in their units, at `query (m, d)`.

    Of each function: `points (n, d)`, `values (b, n, c)`, `weights (n,)`, and, unless `use_latent` says that it is
    given on the grid of its projection, as `latent (b, s, c)`, that projection is inside. `thin` says that it is on a
    curve or surface in the output's space, `bounds` are the box of a function in a space of its own. `use_boundary`,
    `boundary` and `curve` are those of `Portable`, where the measure of its domain is a channel. The functions on their
    grids are the second output. `scalars (b, k)` are the numbers, `bounds (d, 2)` the box of the output's space, `near`
    and `shares` interpolate from the nodes of the grid there, for networks with a head.
    """

    geometry: tuple[str, ...] = ()  # of the sample: that of the grid is always the box

    def __init__(self, operator: Operator) -> None:
        super().__init__()
        network = operator.network
        assert isinstance(network, SampleModel)
        inner = on_grid(network.network)
        if inner.latent.shape != network.latent.shape:
            raise InvalidInputError(
                f"a network on the grid {list(inner.latent.shape)} behind samples on the grid "
                f"{list(network.latent.shape)} cannot be exported: give both the same, as --model.grid does"
            )
        self.encoders, self.model = network.encoders, PointModel(inner)
        self.head = isinstance(inner, IAENet) and inner.head is not None
        self.kernels = isinstance(inner, IAENet) and inner.head is not None and inner.head.iae is not None
        grid = network.latent.in_box(torch.tensor([[0.0, 1.0]] * len(network.latent.shape)))
        self.register_buffer("nodes", grid.points.clone())
        self.register_buffer("shares", grid.weights.clone())
        self.channels: dict[str, slice] = {}  # of each function, among those that are normalised
        self.scalars: tuple[str, ...] = ()
        start = 0
        for spec in network.specs:
            self.channels[spec.name or ONE] = slice(start, start + spec.channels)
            self.scalars, start = spec.scalars, start + spec.channels
        keep_statistics(self, operator)

    @property
    def functions(self) -> dict[str, Projected | Transferred]:
        """Layers of the functions, by name."""
        pairs = zip(self.channels, self.encoders, strict=True)
        return {name: one for name, one in pairs if isinstance(one, Projected | Transferred)}

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return ("output", *(f"{name}.on_grid" for name in self.functions))

    def forward(
        self,
        functions: Mapping[str, Function],
        query: Tensor,
        bounds: Tensor,
        scalars: Tensor | None = None,
        near: Tensor | None = None,
        shares: Tensor | None = None,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Values at the query points `(b, m, c')`, and the functions on their grids `(b, s, c)`."""
        mean, std = self.get_buffer("input_mean"), self.get_buffer("input_std")
        parts, found = [], {}
        for (name, own), encoder in zip(self.channels.items(), self.encoders, strict=True):
            if isinstance(encoder, Projected | Transferred):
                projected, measure = self._encoded(encoder, functions[name], bounds, mean[own], std[own])
                parts.append(encoder.channels(projected, measure))
                found[name] = projected * std[own] + mean[own]
            else:
                assert scalars is not None
                numbers = (scalars - mean[own]) / std[own]
                parts.append(numbers[:, None].expand(-1, self.get_buffer("nodes").shape[0], -1))
        a = torch.cat(parts, dim=-1)
        low, high = bounds.unbind(1)
        nodes, weights = self.get_buffer("nodes"), self.get_buffer("shares")
        output = self.model(nodes, a, (query - low) / (high - low), weights, None, near, shares, a)
        return output * self.get_buffer("output_std") + self.get_buffer("output_mean"), found

    def _encoded(
        self, encoder: Projected | Transferred, one: Function, bounds: Tensor, mean: Tensor, std: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """A function on its grid, normalised, and the measure of its domain there."""
        box = one.get("bounds", bounds)
        low, high = box.unbind(1)
        x, share = (one["points"] - low) / (high - low), one["weights"] / (high - low).prod()
        projected = encoder.latent.project(x, share, (one["values"] - mean) / std, one.get("thin", False))
        projected = torch.where(one["use_latent"], (one["latent"] - mean) / std, projected)
        if not (isinstance(encoder, Projected) and encoder.measure):
            return projected, None
        if "boundary" not in one:  # on a line
            return projected, encoder.latent.measure_of(x, share)
        facets = (one["boundary"] - low) / (high - low)
        points, weights = points_or_segments(x, share, facets, box, one["curve"])
        within = measured(facets, one["use_boundary"], weights.sum())
        return projected, encoder.latent.measure_of(points, weights, *within)

    def example(self, m: int = 24, batch: int = 2) -> dict[str, Any]:
        """Inputs of the right kinds and shapes, by name."""
        d, like = self.get_buffer("nodes").shape[1], self.get_buffer("input_mean")
        given: dict[str, Any] = {}
        for i, (name, encoder) in enumerate(self.functions.items()):
            n, dim = (
                40 + 3 * i,
                len(encoder.latent.shape),
            )  # other numbers for each: they have nothing to do with others
            c = self.channels[name].stop - self.channels[name].start
            x = torch.rand(n, dim, dtype=torch.float64)
            one = {"points": x, "values": like.new_zeros(batch, n, c), "weights": torch.full_like(x[:, 0], 1 / n)}
            one |= {"use_latent": torch.tensor(False), "latent": like.new_zeros(batch, encoder.latent.size, c)}
            if isinstance(encoder, Transferred):
                one["bounds"] = _unit_box(dim)
            elif dim > 1:
                one["thin"] = torch.tensor(False)
                if encoder.measure:
                    one |= {"use_boundary": torch.tensor(False), "curve": torch.tensor(False)}
                    one["boundary"] = torch.rand(6 + i, dim, dim, dtype=torch.float64)
            given[name] = one
        found: dict[str, Any] = {
            "functions": given,
            "query": torch.rand(m, d, dtype=torch.float64),
            "bounds": _unit_box(d),
        }
        if self.scalars:
            found["scalars"] = like.new_zeros(batch, len(self.scalars))
        return found | (example_taps(found["query"]) if self.head else {})

    def shapes(self) -> dict[str, Any]:
        """Which sizes of the inputs are free: the points of each function on their own."""
        found: dict[str, Any] = {"functions": {}}
        example = self.example()
        for i, (name, one) in enumerate(example.pop("functions").items()):
            n, f = Dim(f"n{i}", min=4, max=MOST), Dim(f"f{i}", min=2, max=MOST)
            own = FREE | {"points": {0: n}, "values": {0: B, 1: n}, "weights": {0: n}, "boundary": {0: f}, "thin": {}}
            found["functions"][name] = {part: own[part] for part in one}
        return found | {name: {0: B} if name == "scalars" else FREE[name] for name in example}

    def describe(self, operator: Operator) -> dict[str, Any]:
        """The functions and numbers of a sample, as JSON."""
        metadata, inputs = operator.metadata, channels_of(operator, "inputs")
        known = metadata["sample"]["functions"] if "sample" in metadata else {ONE: metadata.get("trained")}
        functions = {}
        for name, encoder in self.functions.items():
            trained, dim = known.get(name) or {}, len(encoder.latent.shape)
            functions[name] = {
                "inputs": [{"name": each.name, "unit": each.unit} for each in inputs[self.channels[name]]],
                "dim": dim,
                "periodic": list(encoder.latent.periodic),
                "bounds": trained.get("bounds", [[0.0, 1.0]] * dim),
                "latent_grid": list(encoder.latent.shape),
                "own_space": isinstance(encoder, Transferred),
                "measure": isinstance(encoder, Projected) and encoder.measure > 0,
                "trained": trained,
            }
        space: dict[str, Any] = {"bounds": [[0.0, 1.0]] * self.get_buffer("nodes").shape[1]} | metadata.get(
            "targets", {}
        )
        there = [one for one in functions.values() if not one["own_space"]] or [space]
        return {"functions": functions, "scalars": list(self.scalars), "bounds": there[0]["bounds"]}


def names_of(example: Mapping[str, Any]) -> dict[str, Tensor]:
    """Inputs by flat names, those of a function after its own: `f.points`, in the order of a program.

    >>> list(names_of({"functions": {"f": {"points": 0, "values": 0}}, "query": 0}))
    ['f.points', 'f.values', 'query']
    """
    functions = example.get("functions", {})
    flat = {f"{name}.{part}": tensor for name, one in functions.items() for part, tensor in one.items()}
    return flat | {name: tensor for name, tensor in example.items() if name != "functions"}


def _unit_box(dim: int) -> Tensor:
    return torch.tensor([[0.0, 1.0]] * dim, dtype=torch.float64)

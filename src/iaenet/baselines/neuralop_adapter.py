"""The FNO of the neuraloperator package under this package's call: a check of ours against theirs."""

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from iaenet.baselines.fno import FNO, PRESETS
from iaenet.discretization import Discretization, Periodic
from iaenet.errors import InvalidInputError
from iaenet.geometry import coordinate_count, geometry_of
from iaenet.model import Accepts, Model, Pair, preset_options, shape_of


class NeuralOperatorFNO(Model):
    """`a_{l+1} = sigma(W a_l + K a_l)` by `neuralop.models.FNO`, of the same shape as our `FNO`.

    Linear lift, no channel MLP, no padding. It runs in float32 on uniform grids, and takes every axis as one period. On
    periodic axes it is the same map as ours with the same weights (`from_fno`); on closed ones it is not, since ours
    continues functions evenly. Needs `pip install neuraloperator`, imported when a model is made.
    """

    accepts = Accepts(resolutions=True, points=False, elsewhere=False)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        dim: int = 1,
        periodic: Periodic = False,
        *,
        width: int = 64,
        modes: int = 16,
        layers: int = 4,
        hidden: int = 128,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.layers = layers
        self.periodic = (periodic,) * dim if isinstance(periodic, bool) else tuple(periodic)
        if len(self.periodic) != dim:
            raise InvalidInputError(f"periodic must be one flag or {dim} of them, got {len(self.periodic)}")
        self.network = _theirs()(
            n_modes=(2 * modes + 1,) * (dim - 1) + (2 * modes,),  # k = -modes .. modes, on the last axis 0 .. modes
            in_channels=in_channels + coordinate_count(self.periodic, harmonics=1),
            out_channels=out_channels,
            hidden_channels=width,
            n_layers=layers,
            lifting_channel_ratio=0,
            projection_channel_ratio=(hidden + 0.5) / width,  # times the width, rounded down
            positional_embedding=None,
            use_channel_mlp=False,
        )
        # Without a channel MLP, blocks of version 2.0 apply the activation twice. `transform` applies it instead, once.
        self.network.fno_blocks.non_linearity = nn.Identity()
        self.register_state_dict_post_hook(_tensors_alone)

    @classmethod
    def for_data(cls, data: Sequence[Pair], *, preset: str = "default", **options: Any) -> Model:
        """A model for such pairs, of a size of our `FNO`; options change it."""
        shape = shape_of(data)
        return cls(**shape, **preset_options(PRESETS, preset, shape["dim"]) | options)

    @classmethod
    def from_fno(cls, ours: FNO) -> "NeuralOperatorFNO":
        """Their network with the weights of ours."""
        model = cls(**ours.options)
        blocks = model.network.fno_blocks
        with torch.no_grad():
            _copy(model.network.lifting.fcs[0], ours.lift)
            for mine, convolution, skip in zip(ours.layers, blocks.convs, blocks.fno_skips, strict=True):
                convolution.weight.tensor.copy_(_shifted(mine.convolution.weight, ours))
                convolution.bias.copy_(mine.pointwise.bias.reshape(convolution.bias.shape))
                skip.conv.weight.copy_(mine.pointwise.weight[..., None])
            projection = [layer for layer in ours.project if isinstance(layer, nn.Linear)]
            for theirs, layer in zip(model.network.projection.fcs, projection, strict=True):
                _copy(theirs, layer)
        return model

    def transform(self, values: Tensor, source: Discretization, target: Discretization) -> Tensor:
        """Values `(b, n, c)` on a uniform grid -> `(b, n, c')` on the same grid."""
        if source.periodic != self.periodic or values.shape[-1] != self.in_channels or values.dtype != torch.float32:
            raise InvalidInputError(
                f"neuraloperator's FNO was built for {self.in_channels} channels in float32 on a domain with periodic "
                f"axes {self.periodic}, got {values.shape[-1]} in {values.dtype} on {source}"
            )
        if not _uniform(source):
            raise InvalidInputError("neuraloperator's FNO takes uniform grids; interpolate, or use our FNO")
        if source.key != target.key:
            raise InvalidInputError("neuraloperator's FNO gives its output on the input's own grid; leave `at` out")
        coordinates = geometry_of(source, values.dtype).sites(harmonics=1).coordinates.expand(len(values), -1, -1)
        stacked = torch.cat([values, coordinates], dim=-1).transpose(1, 2)
        a = self.network.lifting(stacked.reshape(*stacked.shape[:2], *source.shape))
        for number in range(self.layers):
            a = nn.functional.gelu(a) if number else a
            a = self.network.fno_blocks(a, number)
        return self.network.projection(a).flatten(2).transpose(1, 2)


def _theirs() -> Any:
    with warnings.catch_warnings():  # importing it changes the filters
        warnings.simplefilter("ignore")
        try:
            from neuralop.models import FNO as Theirs
        except ImportError as error:
            raise InvalidInputError(f"needs the neuraloperator package ({error}): pip install neuraloperator") from None
    return Theirs


def _uniform(source: Discretization) -> bool:
    """Whether these are the points of a uniform grid over their domain."""
    if source.axes is None or min(source.shape) < 2:
        return False
    whole = Discretization.uniform(source.shape, source.periodic, source.bounds.tolist())
    return torch.allclose(source.points, whole.points.to(source.points), atol=1e-6 * float(source.bounds.diff().min()))


def _tensors_alone(module: nn.Module, state: dict[str, Any], prefix: str, local: Any) -> None:  # noqa: ARG001 - torch's
    """Their network adds its constructor's arguments to the state."""
    state.pop("_metadata", None)


def _copy(theirs: Any, ours: nn.Linear) -> None:
    theirs.weight.copy_(ours.weight[..., None])  # a convolution of one tap
    theirs.bias.copy_(ours.bias)


def _shifted(weight: Tensor, ours: FNO) -> Tensor:
    """Our matrices `(k, c, c', 2)` as theirs: complex, channels first, k rising on every axis but the last."""
    modes = int(ours.options["modes"])
    dim = len(ours.periodic)
    matrices = torch.view_as_complex(weight.contiguous()).reshape(
        *[2 * modes + 1] * (dim - 1), modes + 1, *weight.shape[1:3]
    )
    # Ours are in the order 0, 1 .. modes, -1 .. -modes.
    rising = torch.tensor([*range(2 * modes, modes, -1), *range(modes + 1)])
    for axis in range(dim - 1):
        matrices = matrices.index_select(axis, rising)
    return matrices.permute(dim, dim + 1, *range(dim))

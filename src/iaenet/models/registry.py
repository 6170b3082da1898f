"""The models that configurations and checkpoints may name. No other class is ever built from a file."""

import json
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any

from iaenet.errors import InvalidInputError
from iaenet.models.base import Model, Pair
from iaenet.models.deeponet import DeepONet
from iaenet.models.dgfno import DgFNO
from iaenet.models.fno import FNO
from iaenet.models.gino import GINO
from iaenet.models.heads import FunctionToVector
from iaenet.models.iae_net import IAENet
from iaenet.models.interpolated import InterpolatedResNet, InterpolatedUNet
from iaenet.models.pod_deeponet import PODDeepONet
from iaenet.models.published import PublishedIAENet
from iaenet.models.resnet import ResNet
from iaenet.models.transformer import FourierTransformer, GalerkinTransformer
from iaenet.models.transolver import Transolver
from iaenet.models.unet import UNet

# What IAE-Net is compared with; `docs/baselines.md` says what each accepts, where it comes from and where it deviates.
BASELINES: dict[str, type[Model]] = {
    "fno": FNO,
    "galerkin": GalerkinTransformer,
    "fourier-transformer": FourierTransformer,
    "deeponet": DeepONet,
    "pod-deeponet": PODDeepONet,
    "unet": UNet,
    "resnet": ResNet,
    "unet-interpolation": InterpolatedUNet,
    "resnet-interpolation": InterpolatedResNet,
    "dgfno": DgFNO,
    "transolver": Transolver,
    "gino": GINO,
}
MODELS: dict[str, type[Model]] = {
    "iaenet": IAENet,
    "published": PublishedIAENet,
    "function-to-vector": FunctionToVector,
    **BASELINES,
}


def model_class(name: str) -> type[Model]:
    """The class of a name: one of `MODELS`, or of an installed package with an entry point in `iaenet.models`.

    >>> model_class("iaenet").__name__
    'IAENet'
    """
    if name in MODELS:
        return MODELS[name]
    others = entry_points(group="iaenet.models")
    for entry in others:
        if entry.name == name:
            found: type[Model] = entry.load()
            return found
    raise InvalidInputError(f"no model {name!r}; there are {', '.join([*MODELS, *(entry.name for entry in others)])}")


def build(name: str, data: Sequence[Pair], **options: Any) -> Model:
    """A model of this name for such data, initialised from it."""
    maker = model_class(name)
    try:
        model = maker.for_data(data, **options)
    except TypeError as error:  # an option that it does not have
        raise InvalidInputError(f"model {name}: {str(error).split('() ')[-1]}") from None
    model.initialise(data)
    return model


def name_of(model: object) -> str | None:
    """The name under which a model can be built again from its options; None if it cannot."""
    try:
        json.dumps(getattr(model, "options", object()))
    except TypeError:
        return None
    names = [name for name, known in MODELS.items() if known is type(model)]
    names += [entry.name for entry in entry_points(group="iaenet.models") if entry.load() is type(model)]
    return names[0] if names else None

"""The models that configurations and checkpoints may name. No other class is ever built from a file."""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, get_type_hints

from iaenet.errors import InvalidInputError, no_such, pass_on_lack_of_memory
from iaenet.functions.field import Field
from iaenet.models.base import Model, Pair
from iaenet.models.deeponet import DeepONet
from iaenet.models.dgfno import DgFNO
from iaenet.models.fno import FNO
from iaenet.models.gino import GINO
from iaenet.models.grid_model import GridModel
from iaenet.models.heads import FunctionToVector
from iaenet.models.iae_net import IAENet
from iaenet.models.interpolated import InterpolatedResNet, InterpolatedUNet
from iaenet.models.pod_deeponet import PODDeepONet
from iaenet.models.published import PublishedIAENet
from iaenet.models.resnet import ResNet
from iaenet.models.sample_model import SampleModel, takes_samples
from iaenet.models.transformer import FourierTransformer, GalerkinTransformer
from iaenet.models.transolver import Transolver
from iaenet.models.unet import UNet
from iaenet.typed import plain, typed

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

INSIDE: dict[str, type[Model]] = {"samples": SampleModel}  # made around others by `build`, and found in files

FROM_DATA = ("self", "data", "in_channels", "out_channels", "dim", "periodic", "options")  # what is no option


def model_class(name: str) -> type[Model]:
    """The class of a name: one of `MODELS`, or of an installed package with an entry point in `iaenet.models`.

    >>> model_class("iaenet").__name__
    'IAENet'
    """
    if name in MODELS or name in INSIDE:
        return (MODELS | INSIDE)[name]
    others = entry_points(group="iaenet.models")
    for entry in others:
        if entry.name == name:
            found: type[Model] = entry.load()
            return found
    raise InvalidInputError(f"no model {name!r}; there are {', '.join([*MODELS, *(entry.name for entry in others)])}")


def build(name: str, data: Sequence[Pair], **options: Any) -> Model:
    """A model of this name for such data, initialised from it; for samples, one that takes them (`SampleModel`)."""
    check_options(name, options)
    maker = model_class(name)
    try:
        if not takes_samples(data) or (isinstance(data[0][0], Field) and not issubclass(maker, GridModel)):
            model = maker.for_data(data, **options)
        else:
            model = SampleModel.for_samples(name, data, options)
    except (RuntimeError, ValueError, ArithmeticError, LookupError) as error:
        if isinstance(error, InvalidInputError):
            raise
        pass_on_lack_of_memory(error)
        said = str(error).splitlines() or [type(error).__name__]
        raise InvalidInputError(f"model {name} cannot be made with {options}: {said[0][:200]}") from None
    except TypeError as error:  # an option that a model inside this one does not have
        wrong = re.search(r"(?:(\w+)\.)?\w+\(\) got an unexpected keyword argument '(\w+)'", str(error))
        if wrong is None:
            raise InvalidInputError(f"model {name}: {str(error).split('() ')[-1]}") from None
        inner = [known for known in MODELS.values() if known.__name__ == wrong[1]]
        names = [option for known in (maker, *inner) for option in model_options(known)]
        raise InvalidInputError(f"model {name}: {no_such('option', wrong[2], dict.fromkeys(names))}") from None
    model.initialise(data)
    return model


def check_options(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a model does not have, or that are of another type.

    >>> check_options("fno", {"widht": 8})
    Traceback (most recent call last):
        ...
    iaenet.errors.InvalidInputError: model fno: no option 'widht'; did you mean width?
    """
    maker = model_class(name)
    known = model_options(maker)
    hands_on = "options" in inspect.signature(maker.__init__).parameters
    for key, value in options.items():
        if key not in known and not hands_on:
            raise InvalidInputError(f"model {name}: {no_such('option', key, known)}")
        if key in known and plain(known[key].annotation):
            typed(known[key].annotation, value, f"model {name}: {key}")


def model_options(maker: type[Model]) -> dict[str, inspect.Parameter]:
    """The arguments of a model that do not follow from the data.

    >>> model_options(FNO)["width"].annotation
    <class 'int'>
    """
    taken = {**inspect.signature(maker.for_data).parameters, **inspect.signature(maker.__init__).parameters}
    hints = {**get_type_hints(maker.for_data), **get_type_hints(maker.__init__)}
    return {key: one.replace(annotation=hints.get(key, Any)) for key, one in taken.items() if key not in FROM_DATA}


def name_of(model: object) -> str | None:
    """The name under which a model can be built again from its options; None if it cannot."""
    try:
        json.dumps(getattr(model, "options", object()))
    except TypeError:
        return None
    names = [name for name, known in (MODELS | INSIDE).items() if known is type(model)]
    names += [entry.name for entry in entry_points(group="iaenet.models") if entry.load() is type(model)]
    return names[0] if names else None

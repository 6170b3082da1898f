"""Learn maps between functions whose samples do not share a grid."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iaenet.block import IAE, IAEBlock
    from iaenet.dataset import Dataset, load_dataset
    from iaenet.discretization import Discretization
    from iaenet.domain import Domain, Fourier, Identity, Wavelet
    from iaenet.errors import CorruptFileError, DivergedError, InvalidInputError
    from iaenet.field import Field
    from iaenet.heads import FunctionToVector, VectorToFunction
    from iaenet.iae_net import IAENet
    from iaenet.loss import relative_l2
    from iaenet.model import Accepts, Model
    from iaenet.operator import Operator
    from iaenet.recipe import Recipe
    from iaenet.resample import interpolate
    from iaenet.runs import fit, load
    from iaenet.storage import write_dataset

# Imported when they are first used, so that commands which need no PyTorch start at once.
_HOME = {
    "IAE": "block",
    "Accepts": "model",
    "CorruptFileError": "errors",
    "Dataset": "dataset",
    "Discretization": "discretization",
    "DivergedError": "errors",
    "Domain": "domain",
    "Field": "field",
    "Fourier": "domain",
    "FunctionToVector": "heads",
    "IAEBlock": "block",
    "IAENet": "iae_net",
    "Identity": "domain",
    "InvalidInputError": "errors",
    "Model": "model",
    "Operator": "operator",
    "Recipe": "recipe",
    "VectorToFunction": "heads",
    "Wavelet": "domain",
    "fit": "runs",
    "interpolate": "resample",
    "load": "runs",
    "load_dataset": "dataset",
    "relative_l2": "loss",
    "write_dataset": "storage",
}

__all__ = [
    "IAE",
    "Accepts",
    "CorruptFileError",
    "Dataset",
    "Discretization",
    "DivergedError",
    "Domain",
    "Field",
    "Fourier",
    "FunctionToVector",
    "IAEBlock",
    "IAENet",
    "Identity",
    "InvalidInputError",
    "Model",
    "Operator",
    "Recipe",
    "VectorToFunction",
    "Wavelet",
    "fit",
    "interpolate",
    "load",
    "load_dataset",
    "relative_l2",
    "write_dataset",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'iaenet' has no attribute {name!r}")
    return getattr(import_module(f"iaenet.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

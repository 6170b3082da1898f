"""Learn maps between functions whose samples do not share a grid."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iaenet.data.dataset import Dataset, load_dataset
    from iaenet.data.file_writer import write_dataset
    from iaenet.data.generate import generate
    from iaenet.data.import_files import import_data
    from iaenet.errors import CorruptFileError, DivergedError, InvalidInputError
    from iaenet.evaluation.certify import certify
    from iaenet.evaluation.evaluate import evaluate
    from iaenet.evaluation.predict import predict
    from iaenet.functions.discretization import Discretization
    from iaenet.functions.field import Field
    from iaenet.functions.interpolate import interpolate
    from iaenet.functions.latent_grid import LatentGrid
    from iaenet.functions.metrics import relative_l2
    from iaenet.functions.projection import Projection
    from iaenet.functions.sample import Sample
    from iaenet.models.base import Accepts, Model
    from iaenet.models.heads import FunctionToVector, VectorToFunction
    from iaenet.models.iae_net import IAENet
    from iaenet.models.operator import Operator
    from iaenet.models.query_head import Head
    from iaenet.nn.block import IAEBlock
    from iaenet.nn.branches import Fourier, GridConv, GridUNet, PointIAE, SpectralConv, SpectralIAE, Wavelet, branch
    from iaenet.nn.iae import IAE
    from iaenet.reports.predict_files import predict_files
    from iaenet.training.config import TrainConfig
    from iaenet.training.fit import fit, load

# Imported when they are first used, so that commands which need no PyTorch start at once.
_HOME = {
    "IAE": "nn.iae",
    "Accepts": "models.base",
    "CorruptFileError": "errors",
    "Dataset": "data.dataset",
    "Discretization": "functions.discretization",
    "DivergedError": "errors",
    "Field": "functions.field",
    "Fourier": "nn.branches",
    "FunctionToVector": "models.heads",
    "GridConv": "nn.branches",
    "GridUNet": "nn.branches",
    "Head": "models.query_head",
    "IAEBlock": "nn.block",
    "IAENet": "models.iae_net",
    "InvalidInputError": "errors",
    "LatentGrid": "functions.latent_grid",
    "Model": "models.base",
    "Operator": "models.operator",
    "PointIAE": "nn.branches",
    "Projection": "functions.projection",
    "Sample": "functions.sample",
    "TrainConfig": "training.config",
    "SpectralConv": "nn.branches",
    "SpectralIAE": "nn.branches",
    "VectorToFunction": "models.heads",
    "Wavelet": "nn.branches",
    "branch": "nn.branches",
    "certify": "evaluation.certify",
    "evaluate": "evaluation.evaluate",
    "fit": "training.fit",
    "generate": "data.generate",
    "import_data": "data.import_files",
    "interpolate": "functions.interpolate",
    "load": "training.fit",
    "load_dataset": "data.dataset",
    "predict": "evaluation.predict",
    "predict_files": "reports.predict_files",
    "relative_l2": "functions.metrics",
    "write_dataset": "data.file_writer",
}

__all__ = [
    "IAE",
    "Accepts",
    "CorruptFileError",
    "Dataset",
    "Discretization",
    "DivergedError",
    "Field",
    "Fourier",
    "FunctionToVector",
    "GridConv",
    "GridUNet",
    "Head",
    "IAEBlock",
    "IAENet",
    "InvalidInputError",
    "LatentGrid",
    "Model",
    "Operator",
    "PointIAE",
    "Projection",
    "Sample",
    "SpectralConv",
    "SpectralIAE",
    "TrainConfig",
    "VectorToFunction",
    "Wavelet",
    "branch",
    "certify",
    "evaluate",
    "fit",
    "generate",
    "import_data",
    "interpolate",
    "load",
    "load_dataset",
    "predict",
    "predict_files",
    "relative_l2",
    "write_dataset",
]
__version__ = "0.2.0.dev0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'iaenet' has no attribute {name!r}")
    return getattr(import_module(f"iaenet.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

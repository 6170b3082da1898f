"""Learn maps between functions whose samples do not share a grid."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iaenet.data.array_pairs import from_arrays
    from iaenet.data.dataset import Dataset, load_dataset
    from iaenet.data.file_writer import write_dataset
    from iaenet.data.formats.csv_folder import read_csv_folder
    from iaenet.data.formats.fecgsyndb import read_fecgsyndb
    from iaenet.data.formats.hdf5 import read_hdf5
    from iaenet.data.formats.labelled_data import from_xarray
    from iaenet.data.formats.matlab import read_matlab
    from iaenet.data.formats.meshes import read_meshes
    from iaenet.data.formats.netcdf import read_netcdf
    from iaenet.data.formats.npz import read_npz
    from iaenet.data.formats.pdebench import read_pdebench
    from iaenet.data.formats.torch_tensors import read_torch
    from iaenet.data.formats.wfdb_records import read_wfdb
    from iaenet.data.formats.zarr_store import read_zarr
    from iaenet.data.generate import generate
    from iaenet.data.import_files import import_data
    from iaenet.errors import CorruptFileError, DivergedError, InvalidInputError
    from iaenet.evaluation.calibration import calibrate, load_calibration
    from iaenet.evaluation.certify import certify
    from iaenet.evaluation.evaluate import evaluate
    from iaenet.evaluation.predict import predict
    from iaenet.exporting.exported import Exported, load_exported
    from iaenet.exporting.write import export
    from iaenet.functions.derivatives import differentiable, gradient, laplacian
    from iaenet.functions.discretization import Discretization
    from iaenet.functions.field import Field
    from iaenet.functions.given_boundary import with_boundary
    from iaenet.functions.interpolate import interpolate
    from iaenet.functions.latent_grid import LatentGrid
    from iaenet.functions.metrics import relative_l2
    from iaenet.functions.projection import Projection
    from iaenet.functions.sample import Sample
    from iaenet.models.base import Accepts, Model
    from iaenet.models.check_model import check_model
    from iaenet.models.heads import FunctionToVector, VectorToFunction
    from iaenet.models.iae_net import IAENet
    from iaenet.models.operator import Operator
    from iaenet.models.query_head import Head
    from iaenet.nn.block import IAEBlock
    from iaenet.nn.branches import Fourier, GridConv, GridUNet, PointIAE, SpectralConv, SpectralIAE, Wavelet, branch
    from iaenet.nn.iae import IAE
    from iaenet.reports.predict_files import predict_files
    from iaenet.reports.predict_many import predict_many
    from iaenet.training.batches import collate
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
    "Exported": "exporting.exported",
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
    "SpectralConv": "nn.branches",
    "SpectralIAE": "nn.branches",
    "TrainConfig": "training.config",
    "VectorToFunction": "models.heads",
    "Wavelet": "nn.branches",
    "branch": "nn.branches",
    "calibrate": "evaluation.calibration",
    "certify": "evaluation.certify",
    "check_model": "models.check_model",
    "collate": "training.batches",
    "differentiable": "functions.derivatives",
    "evaluate": "evaluation.evaluate",
    "export": "exporting.write",
    "fit": "training.fit",
    "from_arrays": "data.array_pairs",
    "from_xarray": "data.formats.labelled_data",
    "generate": "data.generate",
    "gradient": "functions.derivatives",
    "import_data": "data.import_files",
    "interpolate": "functions.interpolate",
    "laplacian": "functions.derivatives",
    "load": "training.fit",
    "load_calibration": "evaluation.calibration",
    "load_dataset": "data.dataset",
    "load_exported": "exporting.exported",
    "predict": "evaluation.predict",
    "predict_files": "reports.predict_files",
    "predict_many": "reports.predict_many",
    "read_csv_folder": "data.formats.csv_folder",
    "read_fecgsyndb": "data.formats.fecgsyndb",
    "read_hdf5": "data.formats.hdf5",
    "read_matlab": "data.formats.matlab",
    "read_meshes": "data.formats.meshes",
    "read_netcdf": "data.formats.netcdf",
    "read_npz": "data.formats.npz",
    "read_pdebench": "data.formats.pdebench",
    "read_torch": "data.formats.torch_tensors",
    "read_wfdb": "data.formats.wfdb_records",
    "read_zarr": "data.formats.zarr_store",
    "relative_l2": "functions.metrics",
    "with_boundary": "functions.given_boundary",
    "write_dataset": "data.file_writer",
}

__all__ = [
    "IAE",
    "Accepts",
    "CorruptFileError",
    "Dataset",
    "Discretization",
    "DivergedError",
    "Exported",
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
    "calibrate",
    "certify",
    "check_model",
    "collate",
    "differentiable",
    "evaluate",
    "export",
    "fit",
    "from_arrays",
    "from_xarray",
    "generate",
    "gradient",
    "import_data",
    "interpolate",
    "laplacian",
    "load",
    "load_calibration",
    "load_dataset",
    "load_exported",
    "predict",
    "predict_files",
    "predict_many",
    "read_csv_folder",
    "read_fecgsyndb",
    "read_hdf5",
    "read_matlab",
    "read_meshes",
    "read_netcdf",
    "read_npz",
    "read_pdebench",
    "read_torch",
    "read_wfdb",
    "read_zarr",
    "relative_l2",
    "with_boundary",
    "write_dataset",
]
__version__ = "0.2.0.dev0"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'iaenet' has no attribute {name!r}")
    return getattr(import_module(f"iaenet.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

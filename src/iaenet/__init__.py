"""Learn maps between functions whose samples do not share a grid."""

from iaenet.block import IAE, IAEBlock
from iaenet.discretization import Discretization
from iaenet.domain import Domain, Fourier, Identity, Wavelet
from iaenet.errors import CorruptFileError, InvalidInputError
from iaenet.field import Field
from iaenet.heads import FunctionToVector, VectorToFunction
from iaenet.iae_net import IAENet
from iaenet.loss import relative_l2
from iaenet.resample import interpolate

__all__ = [
    "IAE",
    "CorruptFileError",
    "Discretization",
    "Domain",
    "Field",
    "Fourier",
    "FunctionToVector",
    "IAEBlock",
    "IAENet",
    "Identity",
    "InvalidInputError",
    "VectorToFunction",
    "Wavelet",
    "interpolate",
    "relative_l2",
]
__version__ = "0.1.0"

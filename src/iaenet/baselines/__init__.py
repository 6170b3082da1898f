"""The models that IAE-Net is compared with, all under `model(field, at=None) -> field`.

`docs/baselines.md` says what each accepts, where it comes from and where it deviates.

>>> sorted(BASELINES)[:3]
['deeponet', 'dgfno', 'fno']
"""

from iaenet.baselines.deeponet import DeepONet
from iaenet.baselines.dgfno import DgFNO
from iaenet.baselines.fno import FNO
from iaenet.baselines.interpolated import Interpolated, InterpolatedResNet, InterpolatedUNet
from iaenet.baselines.pod_deeponet import PODDeepONet
from iaenet.baselines.resnet import ResNet
from iaenet.baselines.transformer import FourierTransformer, GalerkinTransformer
from iaenet.baselines.unet import UNet
from iaenet.model import Model

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
}

__all__ = [
    "BASELINES",
    "FNO",
    "DeepONet",
    "DgFNO",
    "FourierTransformer",
    "GalerkinTransformer",
    "Interpolated",
    "InterpolatedResNet",
    "InterpolatedUNet",
    "PODDeepONet",
    "ResNet",
    "UNet",
]

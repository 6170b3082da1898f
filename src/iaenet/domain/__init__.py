"""Domains for the branches of an IAE block: the original one, frequencies, wavelets, or your own."""

from iaenet.domain.domain import Domain
from iaenet.domain.fourier import Fourier
from iaenet.domain.identity import Identity
from iaenet.domain.raster import Raster
from iaenet.domain.wavelet import Wavelet

__all__ = ["Domain", "Fourier", "Identity", "Raster", "Wavelet"]

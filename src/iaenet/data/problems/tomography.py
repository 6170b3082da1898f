"""Parallel-beam tomography of the square `[-1, 1]^2`: line integrals, and filtered back-projection.

(A f)(theta, t) = int f(x) delta(x . (cos theta, sin theta) - t) dx
f(x) = int_0^pi q(theta, x . (cos theta, sin theta)) dtheta,     q = F^-1 |k| F (A f)
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy.sparse as sparse

from iaenet.data.problems.problem import Array
from iaenet.errors import InvalidInputError


@dataclass(frozen=True)
class Scanner:
    """Views at angles `(k + 1/2) pi / views`; detector cells that fill `[-reach, reach]`, each measured at its centre.

    views: number of angles. Default 30.
    detectors: cells per view. Default 183.
    reach: half length of the detector, in half sides of the image. Default `64 sqrt(2) / 63.5`: 128 pixels of size 1 on
        `[-64, 64]` have their outer centres at 63.5, which is 1 here, and the detector spans their diagonal.

    >>> Scanner(views=2, detectors=2, reach=1.0).positions.tolist()
    [-0.5, 0.5]
    """

    views: int = 30
    detectors: int = 183
    reach: float = 64 * 2**0.5 / 63.5

    def __post_init__(self) -> None:
        if self.views < 1 or self.detectors < 2 or not 0 < self.reach < np.inf:
            raise InvalidInputError(
                f"needs views >= 1, detectors >= 2 and reach > 0, got {self.views}, {self.detectors} and {self.reach}"
            )

    @property
    def angles(self) -> Array:
        """`(k + 1/2) pi / views`, in radians."""
        return (np.arange(self.views, dtype=np.float64) + 0.5) * (np.pi / self.views)

    @property
    def cell(self) -> float:
        """Width of a detector cell, `2 reach / detectors`."""
        return 2 * self.reach / self.detectors

    @property
    def positions(self) -> Array:
        """Centres t of the detector cells."""
        return (np.arange(self.detectors, dtype=np.float64) + 0.5) * self.cell - self.reach

    def finer(self, times: int) -> "Scanner":
        """The same detector with each cell cut into `times` cells."""
        return Scanner(self.views, self.detectors * times, self.reach)


@lru_cache(maxsize=8)
def projector(scanner: Scanner, size: int) -> sparse.csr_array:
    """Joseph's line integrals `A (views detectors, size^2)` of an image whose pixel centres span `[-1, 1]^2`.

    A ray is followed along the axis it is closer to; at each pixel row that it crosses, the image is interpolated
    linearly between the two nearest centres. The image is zero beyond the outermost centres' neighbours.

    >>> scanner = Scanner(detectors=101)  # the middle ray
    >>> lengths = (projector(scanner, 256) @ np.ones(256**2)).reshape(30, 101)[:, 50]
    >>> bool(np.allclose(lengths * np.maximum(abs(np.cos(scanner.angles)), abs(np.sin(scanner.angles))), 2, rtol=0.01))
    True
    """
    if size < 2:
        raise InvalidInputError(f"an image needs at least 2 x 2 pixels, got size {size}")
    pitch = 2 / (size - 1)
    step = np.arange(size)
    blocks = []
    for cos, sin in zip(np.cos(scanner.angles), np.sin(scanner.angles), strict=True):
        along_first = abs(sin) >= abs(cos)
        along, across = (cos, sin) if along_first else (sin, cos)
        crossing = (scanner.positions[:, None] - (step * pitch - 1) * along) / across  # (detectors, size)
        position = (crossing + 1) / pitch
        lower = np.floor(position)
        pixel = lower[..., None] + np.array([0, 1])  # (detectors, size, 2)
        share = np.stack([1 - (position - lower), position - lower], axis=-1)
        inside = (pixel >= 0) & (pixel < size)
        ray, row, _ = np.nonzero(inside)
        found = pixel[inside].astype(np.intp)
        column = row * size + found if along_first else found * size + row
        values = share[inside] * (pitch / abs(across))
        blocks.append(sparse.coo_array((values, (ray, column)), shape=(scanner.detectors, size**2)))
    return sparse.csr_array(sparse.vstack(blocks))


@lru_cache(maxsize=8)
def back_projector(scanner: Scanner, size: int) -> sparse.csr_array:
    """`(pi / views) (cell / pitch^2) A^T`, `(size^2, views detectors)`: the sum over views of `q(theta, x . theta)`.

    `A^T` spreads a ray over pixels of size `pitch = 2 / (size - 1)`. When pixels are finer than detector cells, rays
    would miss some of them; then `q` is first interpolated linearly to a detector with cells below `pitch`.
    """
    pitch = 2 / (size - 1)
    fine = scanner.finer(int(np.ceil(scanner.cell / pitch - 1e-9)))
    between = np.stack([np.interp(fine.positions, scanner.positions, row) for row in np.eye(scanner.detectors)], axis=1)
    spread = projector(fine, size).T @ sparse.kron(sparse.eye_array(scanner.views), sparse.csr_array(between))
    return sparse.csr_array((np.pi / scanner.views) * (fine.cell / pitch**2) * spread)


def ram_lak(scanner: Scanner, data: Array) -> Array:
    """`q = F^-1 |k| F data` along the detector, `(views, detectors)`, padded by zeros to `2 detectors - 1`.

    >>> bool(abs(ram_lak(Scanner(views=1), np.ones((1, 183)))[0, 91]) < 0.3)  # |k| is 0 at k = 0
    True
    """
    padded = 2 * scanner.detectors - 1
    k = np.fft.rfftfreq(padded, scanner.cell)
    filtered = np.fft.irfft(k * np.fft.rfft(data, padded), padded)
    return np.asarray(filtered[:, : scanner.detectors])


def filtered_back_projection(scanner: Scanner, data: Array, size: int) -> Array:
    """Image `(size, size)` from `data (views, detectors)`.

    >>> scanner, x = Scanner(views=90), np.linspace(-1, 1, 64)
    >>> bump = np.exp(-20 * (x[:, None] ** 2 + x**2))
    >>> data = (projector(scanner, 64) @ bump.ravel()).reshape(90, 183)
    >>> bool(abs(filtered_back_projection(scanner, data, 64) - bump).max() < 0.05)
    True
    """
    if data.shape != (scanner.views, scanner.detectors):
        raise InvalidInputError(f"data must have shape ({scanner.views}, {scanner.detectors}), got {data.shape}")
    image = back_projector(scanner, size) @ ram_lak(scanner, data).ravel()
    return np.asarray(image.reshape(size, size))

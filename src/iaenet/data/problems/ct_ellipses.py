"""Computed tomography: from the filtered back-projection of noisy data to the image of random ellipses."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from iaenet.data.problems.problem import Array, Channel, Sample
from iaenet.data.problems.tomography import Scanner, filtered_back_projection, projector
from iaenet.errors import InvalidInputError
from iaenet.functions.discretization import Discretization


@dataclass(frozen=True)
class CTEllipses:
    """`FBP(A f + noise mean|A f| xi) -> f`, f a sum of random ellipses on `[-1, 1]^2`, xi white.

        f(x) = sum_i v_i [x inside ellipse i],    Poisson(mean_ellipses) ellipses, each with
        v = (U - 0.3) Exp(contrast),  semi-axes Exp(semi_axis),  centre U - 1/2 in each coordinate,  angle 2 pi U

    A resolution is s: the image has s x s pixels whose centres span the square exactly. The scan is the same for every
    s in units of the square: the ellipses are rendered at s, projected from those pixels, disturbed by the same white
    numbers, and back-projected to those pixels. So the data of s carry the rendering error of s, as measured data of a
    coarser object would, while angles and detector cells stay.

    mean_ellipses: mean number of ellipses. Default 100.
    contrast: mean of the exponential factor of a value. Default 0.3.
    semi_axis: mean semi-axis, in half sides of the image. Default 0.2.
    noise: standard deviation of the noise, in units of the mean of |data|. Default 0.05.
    views: angles `(k + 1/2) pi / views`. Default 30.
    detectors: detector cells per view. Default 183.
    reach: half length of the detector, in half sides of the image. Default `64 sqrt(2) / 63.5`.

    >>> pair = CTEllipses().record(np.random.default_rng(0), [64])[0][64]
    >>> pair.input.shape, pair.output.shape
    ((4096, 1), (4096, 1))
    """

    mean_ellipses: float = 100
    contrast: float = 0.3
    semi_axis: float = 0.2
    noise: float = 0.05
    views: int = 30
    detectors: int = 183
    reach: float = 64 * 2**0.5 / 63.5

    name: ClassVar[str] = "ct_ellipses"
    dim: ClassVar[int] = 2
    inputs: ClassVar[tuple[Channel, ...]] = (Channel("fbp"),)
    outputs: ClassVar[tuple[Channel, ...]] = (Channel("phantom"),)

    def __post_init__(self) -> None:
        for option in ("mean_ellipses", "contrast", "semi_axis", "noise"):
            value = getattr(self, option)
            if not 0 <= value < np.inf or (option == "semi_axis" and value == 0):
                raise InvalidInputError(f"{option} must be finite and not negative (semi_axis positive), got {value}")
        _ = self.scanner  # refuses a bad scan here, not in the first record

    @property
    def windows(self) -> int:
        """1: records are single samples."""
        return 1

    @property
    def scanner(self) -> Scanner:
        """The scan, the same for every resolution."""
        return Scanner(self.views, self.detectors, self.reach)

    def record(self, rng: np.random.Generator, resolutions: Sequence[int]) -> list[dict[int, Sample]]:
        """One image and its reconstruction at each size of `resolutions`."""
        ellipses = self.ellipses(rng)
        white = rng.standard_normal((self.views, self.detectors))
        samples = {}
        for size in resolutions:
            image = render(ellipses, size)
            data = (projector(self.scanner, size) @ image.ravel()).reshape(self.views, self.detectors)
            data += self.noise * np.mean(np.abs(data)) * white
            reconstruction = filtered_back_projection(self.scanner, data, size)
            at = _pixels(size)
            samples[size] = Sample(reconstruction.reshape(-1, 1), image.reshape(-1, 1), at, at)
        return [samples]

    def ellipses(self, rng: np.random.Generator) -> Array:
        """Rows `(value, semi-axis, semi-axis, x, y, angle)` of one image.

        >>> CTEllipses(mean_ellipses=0).ellipses(np.random.default_rng(0)).shape
        (0, 6)
        """
        count = int(rng.poisson(self.mean_ellipses))
        value = (rng.random(count) - 0.3) * rng.exponential(self.contrast, count)
        axes = rng.exponential(self.semi_axis, (2, count))
        centre = rng.random((2, count)) - 0.5
        angle = 2 * np.pi * rng.random(count)
        return np.stack([value, *axes, *centre, angle], axis=1)


def render(ellipses: Array, size: int) -> Array:
    """Sum `(size, size)` of the `ellipses (k, 6)` at pixel centres; a centre on the rim is inside.

    >>> render(np.array([[2.0, 1.0, 0.5, 0.0, 0.0, 0.0]]), 5)[:, 2].tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0]
    """
    centres = np.linspace(-1, 1, size)
    image = np.zeros((size, size))
    for value, a, b, x, y, angle in ellipses:
        cos, sin = np.cos(angle), np.sin(angle)
        half = np.hypot(a * cos, b * sin), np.hypot(a * sin, b * cos)  # of the bounding box
        rows, columns = (
            slice(*np.searchsorted(centres, (c - reach * (1 + 1e-9), c + reach * (1 + 1e-9))))
            for c, reach in zip((x, y), half, strict=True)
        )
        dx, dy = centres[rows, None] - x, centres[None, columns] - y
        inside = ((dx * cos + dy * sin) / a) ** 2 + ((dy * cos - dx * sin) / b) ** 2 <= 1
        image[rows, columns] += value * inside
    return image


@lru_cache(maxsize=16)
def _pixels(size: int) -> Discretization:
    return Discretization.uniform((size, size), bounds=[(-1, 1)] * 2)

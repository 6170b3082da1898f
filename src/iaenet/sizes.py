"""How large IAE-Net is, by name."""

from typing import Any

from iaenet.discretization import Periodic

WORTH = 0.2  # what the best linear map leaves of a sample, as a share of its size, for it to help (docs/research.md)
QUICK = 1024  # coefficients of an input up to which a preset has a linear path: the fit takes seconds
FOURIER = {"domains": ("fourier",)}
RASTER = {"rasters": (24,), "post_blocks": 0}
# Sizes by dimension (3 stands for 3 and more). docs/research.md says why `small` has no branch on the points.
PRESETS: dict[str, dict[int, dict[str, Any]]] = {
    "small": {
        1: {"width": 64, "latent": 32, "blocks": 2, "modes": 24, "post_modes": 16, "linear_path": 24, **FOURIER},
        2: {"latent": 16, "blocks": 3, "modes": 12, "direct": 6, "harmonics": 3, **RASTER, **FOURIER},
        3: {"width": 16, "latent": 6, "blocks": 3, "modes": 4, "post_modes": 4, "harmonics": 2, **FOURIER},
    },
    "base": {
        1: {"width": 64, "latent": 64, "rank": 64, "blocks": 4, "modes": 24, "post_modes": 16},
        2: {"latent": 16, "rank": 128, "blocks": 4, "modes": 16, "direct": 8, "post_modes": 12, "harmonics": 3},
        3: {"width": 20, "latent": 8, "rank": 128, "blocks": 4, "modes": 4, "post_modes": 4, "harmonics": 2},
    },
}


def sizes_of(preset: str, channels: int, dim: int, periodic: Periodic) -> dict[str, Any]:
    """The options of a preset for inputs of so many channels.

    >>> sizes_of("small", 1, 2, periodic=True)["modes"], sizes_of("small", 1, 2, periodic=False)["modes"]
    (7, 12)
    """
    sizes = dict(PRESETS[preset][min(dim, 3)])
    wraps = periodic if isinstance(periodic, bool) else any(periodic)
    if dim > 1 and wraps:
        # Periods are twice as long as half periods: half as many of them make a band. Tables grow with their square.
        sizes["modes"] = sizes["modes"] // 2 + 1
    if channels * (2 * sizes.get("linear_path", 0) + 1) > QUICK:
        sizes["linear_path"] = 0
    return sizes

"""How large IAE-Net is, by name, on a given grid."""

from typing import Any

from iaenet.errors import InvalidInputError
from iaenet.nn.branches import Branch, Fourier, GridConv, PointIAE, SpectralConv, SpectralIAE
from iaenet.nn.transform import Grid

NAMES = ("small", "base")


def preset_sizes(preset: str, grid: Grid) -> dict[str, Any]:
    """The options of a preset on a grid, which may hold fewer harmonics than the preset would take.

    >>> preset_sizes("small", Grid((64,), (True,)))["branches"]
    [SpectralIAE(basis=Fourier(modes=24), latent=32, groups=1, channel_mlp=True, depth=1), SpectralConv(modes=24)]
    """
    if preset not in NAMES:
        raise InvalidInputError(f"no preset {preset!r}; there are {', '.join([*NAMES, 'published'])}")
    dim = len(grid.shape)
    finest = min(grid.shape)
    wraps = dim > 1 and any(grid.periodic)
    branches: list[Branch]

    def fourier(modes: int) -> Fourier:
        # Periods are twice as long as half periods: half as many of them make a band. Maps grow with their square.
        return Fourier(modes // 2 + 1 if wraps else modes)

    if preset == "small" and dim == 1:
        branches = [SpectralIAE(fourier(24), latent=32), SpectralConv(24)]
        return {"width": 64, "blocks": 2, "branches": branches, "post": 16, "linear_start": "auto"}
    if preset == "small" and dim == 2:
        branches = [SpectralIAE(fourier(12), latent=256), SpectralConv(6), GridConv(min(24, finest))]
        return {"width": 32, "blocks": 3, "branches": branches, "post": 0}
    if preset == "small":
        branches = [SpectralIAE(fourier(4), latent=216), SpectralConv(4)]
        return {"width": 16, "blocks": 3, "branches": branches, "post": 4}
    if dim == 1:
        branches = [PointIAE(latent=64, rank=64), SpectralIAE(fourier(24), latent=64), SpectralConv(24)]
        return {"width": 64, "blocks": 4, "branches": branches, "post": 16}
    if dim == 2:
        branches = [PointIAE(latent=16, rank=128, harmonics=3), SpectralIAE(fourier(16), latent=256), SpectralConv(8)]
        return {"width": 32, "blocks": 4, "branches": branches, "post": 12}
    branches = [PointIAE(latent=8, rank=128, harmonics=2), SpectralIAE(fourier(4), latent=512), SpectralConv(4)]
    return {"width": 20, "blocks": 4, "branches": branches, "post": 4}

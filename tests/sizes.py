"""Small networks for tests."""

from typing import Any


def sizes(
    *, width: int = 8, blocks: int = 1, latent: int = 8, rank: int = 8, modes: int = 4, dim: int = 1, **options: Any
) -> dict[str, Any]:
    """Options of an IAE-Net with the paper's two branches and a spectral convolution, as names and numbers."""
    branches = [
        {"name": "point-iae", "latent": latent, "rank": rank},
        {"name": "spectral-iae", "basis": {"name": "fourier", "modes": modes}, "latent": latent**dim},
        {"name": "spectral-conv", "modes": modes},
    ]
    return {"width": width, "blocks": blocks, "branches": branches, **options}

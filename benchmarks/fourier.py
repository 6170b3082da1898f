"""Narrow-band Fourier analysis and synthesis: products with trigonometric functions against FFTs, in one run.

    python -m benchmarks.fourier

Forward and backward through `synthesise(analyse(a))`, channels last, one thread, best of several rounds.
"""

import time

import torch
from iaenet.geometry import geometry_of
from torch import Tensor

from iaenet import Discretization
from iaenet.functions.basis import Trigonometric

CASES = [((1024,), 20, 64, 24), ((1024,), 20, 64, 16), ((64,), 20, 32, 24), ((8192,), 2, 64, 24)]
CASES += [((64, 64), 4, 32, 12), ((81, 81), 4, 32, 20), ((141, 141), 4, 64, 12), ((256, 256), 1, 32, 12)]


def by_fft(a: Tensor, shape: tuple[int, ...], modes: int) -> Tensor:
    b, n, c = a.shape
    axes = tuple(range(1, len(shape) + 1))
    spectrum = torch.fft.rfftn(a.reshape(b, *shape, c), dim=axes, norm="forward")
    kept = torch.zeros_like(spectrum)
    corners = [(slice(0, modes + 1),)]
    if len(shape) == 2:
        corners = [(slice(0, modes + 1), slice(0, modes + 1)), (slice(-modes, None), slice(0, modes + 1))]
    for corner in corners:
        kept[(slice(None), *corner)] = spectrum[(slice(None), *corner)]
    return torch.fft.irfftn(kept, s=shape, dim=axes, norm="forward").reshape(b, n, c)


def main(rounds: int = 7) -> None:
    torch.set_num_threads(1)
    print("| grid | batch | channels | modes | product ms | FFT ms | FFT / product |\n|---|---|---|---|---|---|---|")
    for shape, b, c, modes in CASES:
        geometry = geometry_of(Discretization.uniform(shape, periodic=True), torch.float32)
        basis = Trigonometric(modes)
        a = torch.randn(b, geometry.n, c, requires_grad=True)
        gradient = torch.randn(b, geometry.n, c)
        ways = {
            "product": lambda: geometry.synthesise(basis, geometry.analyse(basis, a)),  # noqa: B023
            "fft": lambda: by_fft(a, shape, modes),  # noqa: B023
        }
        torch.testing.assert_close(ways["product"](), ways["fft"](), atol=1e-4, rtol=1e-4)
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(rounds):
            for name, way in ways.items():
                start = time.perf_counter()
                way().backward(gradient)
                best[name] = min(best[name], time.perf_counter() - start)
        size = " x ".join(str(s) for s in shape)
        product, fft = 1e3 * best["product"], 1e3 * best["fft"]
        print(f"| {size} | {b} | {c} | {modes} | {product:.1f} | {fft:.1f} | {fft / product:.1f} |")


if __name__ == "__main__":
    main()

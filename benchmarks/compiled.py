"""Does `torch.compile` pay on this machine, and what does bfloat16 cost? One thread, CPU seconds, best of five.

python -m benchmarks.compiled [--compile]
"""

import argparse
import time

import torch

from iaenet import Discretization, Field, IAENet, relative_l2

CASES = {
    "1-D, 256 points, small": ("small", (256,), 20),
    "1-D, 256 points, base": ("base", (256,), 20),
    "2-D, 32 x 32, small": ("small", (32, 32), 8),
}


def waves(shape: tuple[int, ...], batch: int) -> Field:
    """Random smooth periodic functions."""
    grid = Discretization.uniform(shape, periodic=True)
    generator = torch.Generator().manual_seed(0)
    shift = torch.rand(batch, 1, len(shape), generator=generator, dtype=torch.float64)
    angles = 2 * torch.pi * (grid.points + shift)
    return Field(grid, (angles.sin() + 0.5 * (2 * angles).cos()).prod(-1, keepdim=True).float())


def seconds(step) -> float:
    step()
    found = []
    for _ in range(5):
        begin = time.process_time()
        step()
        found.append(time.process_time() - begin)
    return min(found)


def main(compiled: bool) -> None:
    torch.set_num_threads(1)
    for name, (preset, shape, batch) in CASES.items():
        torch.manual_seed(0)
        field = waves(shape, batch)
        model = IAENet.from_preset(preset, in_channels=1, out_channels=1, dim=len(shape), periodic=True, grid=shape)

        def step(network, field=field):
            relative_l2(network(field), field).sum().backward()

        plain = seconds(lambda model=model, step=step: step(model))
        with torch.no_grad():
            exact = model(field)
            with torch.autocast("cpu", torch.bfloat16):
                rounded = relative_l2(model(field), exact).mean().item()
        text = f"{name}: step {1e3 * plain:.1f} ms; bf16 differs by {rounded:.1e}"
        if compiled:
            begin = time.process_time()
            network = torch.compile(model)
            step(network)
            first = time.process_time() - begin
            later = seconds(lambda network=network, step=step: step(network))
            text += f"; compiled {plain / later:.2f} times as fast, after {first:.0f} s"
        print(text, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", action="store_true", help="compile, too, which takes a minute")
    main(parser.parse_args().compile)
